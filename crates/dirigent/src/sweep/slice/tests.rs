//! Every fast scorer against its slow twin: the law of a row's component, in total variation, over
//! random states.

use proptest::prelude::*;

use super::batch::{BatchSliceSampler, SliceScorer};
use super::columns::ColumnsSlice;
use super::full_narrow::FullNarrowSlice;
use super::full_wide::FullWideSlice;
use super::gaussian_narrow::GaussianNarrowSlice;
use super::gaussian_wide::GaussianWideSlice;
use super::multinomial::MultinomialSlice;
use super::reference::log_conditional;
use super::vmf::VmfSlice;
use super::*;
use crate::family::{Family, GaussianFixed, GaussianFull, Multinomial, OwnedRow, VonMisesFisher, table_of_rows};
use crate::rng::{Role, Seed};
use crate::special::log_sum_exp;
use crate::sweep::tests::columns;

const BOUND: f64 = 1e-5;

fn stream(seed: u64) -> Stream {
    Seed::new(seed).stream(Role::Observer, 0, 0)
}

/// Components from the prior, every third a near twin of the one before (then a row is torn between
/// the two), with falling weights.
fn components<F: Family>(family: &F, n_components: usize, twins: f64, rng: &mut Stream) -> DrawnComponents {
    let mut parameters: Vec<f64> = Vec::new();
    for ix in 0..n_components {
        let length = family.parameters_len();
        let next = if ix % 3 == 2 {
            parameters[parameters.len() - length..].iter().map(|x| x + twins * rng.normal()).collect()
        } else {
            family.sample_parameters(&family.empty_stats(), rng)
        };
        parameters.extend(next);
    }
    let mut weights: Vec<f64> = rng.log_dirichlet(&vec![0.5; n_components]).into_iter().map(libm::exp).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    DrawnComponents { weights, parameters }
}

/// The largest distance over all kernels, from an own component or from none.
fn distance<F: Family, S: SliceScorer>(
    family: &F,
    scorer: impl Fn() -> S,
    components: &DrawnComponents,
    row: &OwnedRow,
    n_columns: usize,
    own: u32,
    uniform: f64,
) -> f64 {
    let shard = Shard::of_table(table_of_rows(n_columns, std::slice::from_ref(row)));
    let logs = log_conditional(family, shard.row(0), own, components, uniform);
    let total = log_sum_exp(&logs);
    let exact: Vec<f64> = logs.iter().map(|log| libm::exp(log - total)).collect();
    let kernels = [Kernel::Portable, Kernel::Avx2, Kernel::Avx512, Kernel::Neon];
    kernels
        .into_iter()
        .filter(|kernel| kernel.is_available())
        .map(|kernel| {
            let mut sampler = BatchSliceSampler::new(scorer(), shard.clone(), kernel);
            sampler.set_labels(vec![own]);
            let law = sampler.conditional(0, components, uniform);
            0.5 * law.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum::<f64>()
        })
        .fold(0.0, f64::max)
}

fn own_or_none(rng: &mut Stream, n_components: usize) -> u32 {
    if rng.below(4) == 0 { UNASSIGNED } else { rng.below(n_components) as u32 }
}

fn gaussian_distance<S: SliceScorer>(
    scorer: impl Fn(GaussianFixed) -> S,
    n_columns: usize,
    n_components: usize,
    seed: u64,
) -> f64 {
    let mut rng = stream(seed);
    let family = GaussianFixed {
        noise_sd: 2.0,
        mean_sd: [2.0, 20.0][rng.below(2)],
        prior_mean: vec![0.5; n_columns],
        offset: vec![0.25; n_columns],
    };
    let components = components(&family, n_components, 0.01, &mut rng);
    let own = own_or_none(&mut rng, n_components);
    let centre = if own == UNASSIGNED { 0 } else { own as usize };
    let mean = components.parameters[centre * n_columns..(centre + 1) * n_columns].to_vec();
    let OwnedRow::Numbers(row) = family.sample_row(&mean, crate::rows::Row::F64(&[]), &mut rng) else { unreachable!() };
    let uniform = rng.uniform_positive().powi(8);
    let row = OwnedRow::Numbers(row);
    distance(&family, || scorer(family.clone()), &components, &row, n_columns, own, uniform)
}

fn full_distance<S: SliceScorer>(
    scorer: impl Fn(GaussianFull) -> S,
    n_columns: usize,
    n_components: usize,
    seed: u64,
) -> f64 {
    let mut rng = stream(seed);
    let family = crate::sweep::tests::full::full_family(n_columns, 0.5, [1.0, 3.0][rng.below(2)]);
    let components = components(&family, n_components, 0.0001, &mut rng);
    let own = own_or_none(&mut rng, n_components);
    let centre = if own == UNASSIGNED { 0 } else { own as usize };
    let length = family.parameters_len();
    let params = components.parameters[centre * length..(centre + 1) * length].to_vec();
    let row = family.sample_row(&params, crate::rows::Row::F64(&[]), &mut rng);
    let uniform = rng.uniform_positive().powi(8);
    distance(&family, || scorer(family.clone()), &components, &row, n_columns, own, uniform)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn narrow_gaussian_slices_agree_with_their_twin(n_components in 1usize..70, seed: u64) {
        prop_assert!(gaussian_distance(GaussianNarrowSlice::<2>::new, 2, n_components, seed) < BOUND);
        prop_assert!(gaussian_distance(GaussianNarrowSlice::<8>::new, 5, n_components, seed) < BOUND);
    }

    #[test]
    fn wide_gaussian_slices_agree_with_their_twin(n_columns in 9usize..150, n_components in 1usize..70, seed: u64) {
        prop_assert!(gaussian_distance(GaussianWideSlice::new, n_columns, n_components, seed) < BOUND);
    }

    #[test]
    fn full_gaussian_slices_agree_with_their_twin(n_columns in 9usize..60, n_components in 1usize..70, seed: u64) {
        prop_assert!(full_distance(FullNarrowSlice::<2>::new, 2, n_components, seed) < BOUND);
        prop_assert!(full_distance(FullNarrowSlice::<8>::new, 5, n_components, seed) < BOUND);
        prop_assert!(full_distance(FullWideSlice::new, n_columns, n_components, seed) < BOUND);
    }

    #[test]
    fn multinomial_slices_agree_with_their_twin(n_components in 1usize..70, length in 0u32..400, seed: u64) {
        let mut rng = stream(seed);
        let family = Multinomial { smoothing: [0.05, 1.0][rng.below(2)], n_words: 200 };
        let components = components(&family, n_components, 0.001, &mut rng);
        let own = own_or_none(&mut rng, n_components);
        let centre = if own == UNASSIGNED { 0 } else { own as usize };
        let params = components.parameters[centre * 200..(centre + 1) * 200].to_vec();
        let like = crate::rows::Row::Counts(crate::rows::CountRow { words: &[0], counts: &[length] });
        let row = family.sample_row(&params, like, &mut rng);
        let uniform = rng.uniform_positive().powi(8);
        let scorer = || MultinomialSlice::new(family.clone());
        prop_assert!(distance(&family, scorer, &components, &row, 200, own, uniform) < BOUND);
    }

    #[test]
    fn slices_of_directions_agree_with_their_twin(
        n_columns in 2usize..150, n_components in 1usize..70, log_tau in -3.0f64..9.0, seed: u64,
    ) {
        let mut rng = stream(seed);
        let mut prior_direction = vec![0.0; n_columns];
        prior_direction[n_columns / 2] = 1.0;
        let concentration = libm::exp(log_tau);
        let family = VonMisesFisher { concentration, prior_direction, prior_strength: [0.0, 30.0][rng.below(2)] };
        let twins = 0.03 / (concentration * n_columns as f64).sqrt();
        let components = components(&family, n_components, twins, &mut rng);
        let own = own_or_none(&mut rng, n_components);
        let centre = if own == UNASSIGNED { 0 } else { own as usize };
        let mean = components.parameters[centre * n_columns..(centre + 1) * n_columns].to_vec();
        let row = family.sample_row(&mean, crate::rows::Row::F64(&[]), &mut rng);
        let uniform = rng.uniform_positive().powi(8);
        let scorer = || VmfSlice::new(family.clone());
        prop_assert!(distance(&family, scorer, &components, &row, n_columns, own, uniform) < BOUND);
    }

    #[test]
    fn column_slices_agree_with_their_twin(kind in 0usize..5, d in 1usize..=40, n_components in 1usize..70, seed: u64) {
        let mut rng = stream(seed);
        let family = columns::family(kind, d, seed);
        let components = components(&family, n_components, 0.001, &mut rng);
        let own = own_or_none(&mut rng, n_components);
        let centre = if own == UNASSIGNED { 0 } else { own as usize };
        let length = crate::family::Conjugate::parameters_len(&family);
        let params = components.parameters[centre * length..(centre + 1) * length].to_vec();
        let row = columns::row_with_holes(&family, &params, &mut rng);
        let uniform = rng.uniform_positive().powi(8);
        let scorer = || ColumnsSlice::new(family.clone());
        prop_assert!(distance(&family, scorer, &components, &row, d, own, uniform) < BOUND);
    }
}

#[test]
fn a_draw_stays_within_its_slice_and_follows_its_law() {
    let family = GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.0], offset: vec![0.0] };
    let n_rows = 40_000;
    let shard = Shard::of_table(crate::rows::Table::from_f64(1, vec![0.3; n_rows]));
    let model = Model::GaussianFixed(family);
    let components = DrawnComponents { weights: vec![0.5, 0.3, 0.2], parameters: vec![0.0, 1.0, 0.5] };
    let mut laws = Vec::new();
    for mut sampler in [slice_sampler(&model, shard.clone(), Kernel::best()), reference_slice_sampler(&model, shard)] {
        sampler.set_labels(vec![1; n_rows]);
        sampler.draw_labels(&components, &mut stream(1), &mut stream(2));
        let mut counts = [0.0; 3];
        for (ix, &label) in sampler.labels().iter().enumerate() {
            counts[label as usize] += 1.0 / n_rows as f64;
            if ix == 0 {
                assert!(0.3 * stream(1).uniform_positive() <= components.weights[label as usize]);
            }
        }
        laws.push(counts);
    }
    // two thirds of the slices are below 0.2; 5 standard errors of a difference: false alarm below
    // 1e-6
    for (fast, slow) in laws[0].iter().zip(&laws[1]) {
        assert!((fast - slow).abs() < 5.0 * (0.5 / n_rows as f64).sqrt(), "{laws:?}");
    }
    assert!(laws[0][2] > 0.1);
}

#[test]
fn smallest_uniforms_are_those_the_draw_will_read() {
    let labels = [0, 2, 0, UNASSIGNED, 2];
    let uniforms: Vec<f64> = {
        let mut slices = stream(3);
        (0..5).map(|_| slices.uniform_positive()).collect()
    };
    let smallest = smallest_uniforms(&labels, 3, &mut stream(3));
    assert_eq!(smallest, [uniforms[0].min(uniforms[2]), 1.0, uniforms[1].min(uniforms[4])]);
}
