//! Every fast scorer against its slow twin: the conditional of a row, in total variation, over
//! random states.

pub(super) mod columns;
pub(super) mod full;
mod halves;
mod overlaps;

use proptest::prelude::*;

use super::batch::{BatchSampler, Scorer};
use super::gaussian_narrow::GaussianNarrowScorer;
use super::gaussian_wide::GaussianWideScorer;
use super::multinomial::MultinomialScorer;
use super::reference::conditional;
use super::vmf::VmfScorer;
use super::{Kernel, Sampler};
use crate::family::{Conjugate, Family, GaussianFixed, Multinomial, OwnedRow, VonMisesFisher, table_of_rows};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{Row, Shard};
use crate::special::log_sum_exp;
use crate::stats::{Stats, Sums};

pub(super) const BOUND: f64 = 1e-5;

/// A state to test on: components (some empty), and a row that is in one of them.
pub(super) struct State<F> {
    pub(super) family: F,
    pub(super) components: Vec<Stats>,
    pub(super) row: OwnedRow,
    pub(super) n_columns: usize,
    pub(super) own: usize,
}

/// Empty, tiny and huge, as it comes.
pub(super) fn random_count(rng: &mut Stream) -> i64 {
    [0, 1, 2, 10, 1_000, 1_000_000][rng.below(6)]
}

pub(super) fn gaussian_state(n_columns: usize, n_components: usize, spread: f64, seed: u64) -> State<GaussianFixed> {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let family = GaussianFixed {
        noise_sd: 2.0,
        mean_sd: 2.0 * spread,
        prior_mean: vec![0.5; n_columns],
        offset: vec![if seed.is_multiple_of(2) { 0.5 } else { 0.0 }; n_columns],
    };
    let mut centres: Vec<Vec<f64>> = Vec::new();
    let mut components = Vec::new();
    for ix in 0..n_components {
        // every third is a near twin of the one before: then a row is torn between the two
        let centre: Vec<f64> = if ix % 3 == 2 {
            centres[ix - 1].iter().map(|x| x + 0.01 * rng.normal()).collect()
        } else {
            (0..n_columns).map(|_| family.mean_sd * rng.normal()).collect()
        };
        let twin_count = components.last().map_or(1, |stats: &Stats| stats.count);
        let count = if ix % 6 == 5 { twin_count } else { random_count(&mut rng) }.max(i64::from(ix == 0));
        let mut stats = family.empty_stats();
        if count > 0 {
            let sd = family.noise_sd * (count as f64).sqrt();
            let sums = centre.iter().map(|x| count as f64 * x + sd * rng.normal()).collect();
            stats = Stats { count, sums: Sums::Dense(sums) };
        }
        components.push(stats);
        centres.push(centre);
    }
    let occupied: Vec<usize> = (0..n_components).filter(|&ix| components[ix].count > 0).collect();
    let own = occupied[rng.below(occupied.len())];
    let row: Vec<f64> = centres[own]
        .iter()
        .zip(&family.offset)
        .map(|(centre, offset)| centre + offset + family.noise_sd * rng.normal())
        .collect();
    State { family, components, row: OwnedRow::Numbers(row), n_columns, own }
}

pub(super) fn multinomial_state(n_words: usize, n_components: usize, smoothing: f64, seed: u64) -> State<Multinomial> {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let family = Multinomial { smoothing, n_words };
    let document = |rng: &mut Stream, length: usize, first: usize| {
        let mut words: Vec<u32> =
            (0..length).map(|_| ((first + rng.below(7) * rng.below(7)) % n_words) as u32).collect();
        words.sort_unstable();
        OwnedRow::Counts(words.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect())
    };
    let mut components = Vec::new();
    for ix in 0..n_components {
        let count = random_count(&mut rng).min(10).max(i64::from(ix == 0));
        let documents: Vec<OwnedRow> = (0..count).map(|_| document(&mut rng, 30, ix * 3)).collect();
        let table = table_of_rows(n_words, &documents);
        let mut stats = family.empty_stats();
        (0..count as usize).for_each(|row_ix| family.add_row(table.row(row_ix), &mut stats));
        if rng.below(4) == 0 {
            // huge, all the same
            let copies = stats.clone();
            (0..2_000).for_each(|_| stats.add(&copies));
        }
        components.push(stats);
    }
    let own = (0..n_components).rev().find(|&ix| components[ix].count > 0).expect("the first is not empty");
    let length = 1 + rng.below(400);
    let row = document(&mut rng, length, own * 3);
    State { family, components, row, n_columns: n_words, own }
}

/// A direction of this many columns, uniform on the sphere.
fn random_direction(n_columns: usize, rng: &mut Stream) -> Vec<f64> {
    let mut direction: Vec<f64> = (0..n_columns).map(|_| rng.normal()).collect();
    normalise(&mut direction);
    direction
}

fn normalise(direction: &mut [f64]) {
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    direction.iter_mut().for_each(|x| *x /= length);
}

pub(super) fn vmf_state(n_columns: usize, n_components: usize, concentration: f64, seed: u64) -> State<VonMisesFisher> {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let prior_strength = [0.0, 0.3 * concentration, 20.0][rng.below(3)];
    let family =
        VonMisesFisher { concentration, prior_direction: random_direction(n_columns, &mut rng), prior_strength };
    // as single precision rounds them
    let row_of = |centre: &Vec<f64>, rng: &mut Stream| {
        let OwnedRow::Numbers(row) = family.sample_row(centre, Row::F64(&[]), rng) else { unreachable!() };
        row.iter().map(|x| f64::from(*x as f32)).collect::<Vec<f64>>()
    };
    let mut centres: Vec<Vec<f64>> = Vec::new();
    let mut components = Vec::new();
    for ix in 0..n_components {
        // every third is a near twin of the one before: then a row is torn between the two
        let mut centre = if ix % 3 == 2 { centres[ix - 1].clone() } else { random_direction(n_columns, &mut rng) };
        if ix % 3 == 2 {
            let width = 0.03 / (concentration * n_columns as f64).sqrt();
            centre.iter_mut().for_each(|x| *x += width * rng.normal());
            normalise(&mut centre);
        }
        let twin_count = components.last().map_or(1, |stats: &Stats| stats.count);
        let count = if ix % 6 == 5 { twin_count } else { random_count(&mut rng) }.max(i64::from(ix == 0));
        let mut stats = family.empty_stats();
        for _ in 0..count.min(10) {
            family.add_row(Row::F64(&row_of(&centre, &mut rng)), &mut stats);
        }
        if count > 10 {
            let sums = stats.dense().iter().map(|sum| sum * count as f64 / 10.0).collect();
            stats = Stats { count, sums: Sums::Dense(sums) };
        }
        components.push(stats);
        centres.push(centre);
    }
    let occupied: Vec<usize> = (0..n_components).filter(|&ix| components[ix].count > 0).collect();
    let own = occupied[rng.below(occupied.len())];
    let row = OwnedRow::Numbers(row_of(&centres[own], &mut rng));
    State { family, components, row, n_columns, own }
}

impl<F: Family> State<F> {
    /// The total variation between the conditionals of the fast scorer and of the slow twin.
    pub(super) fn distance<S: Scorer<Family = F>>(&self, scorer: S, kernel: Kernel) -> f64 {
        let shard = Shard::of_table(table_of_rows(self.n_columns, std::slice::from_ref(&self.row)));
        let alpha = 1.3;
        let mut with_row = self.components.clone();
        self.family.add_row(shard.row(0), &mut with_row[self.own]);
        let mut exact = Vec::new();
        conditional(&self.family, shard.row(0), &self.components, alpha, &mut exact);
        let total = log_sum_exp(&exact);
        let mut sampler = BatchSampler::new(scorer, shard, kernel);
        sampler.load(&with_row);
        sampler.set_labels(vec![self.own as u32]);
        let fast = sampler.conditional(0, alpha);
        let n = self.components.len();
        assert!(fast[n..fast.len() - 1].iter().all(|&p| p == 0.0), "free slots have no weight");
        let fast = fast[..n].iter().chain(fast.last());
        0.5 * exact.iter().zip(fast).map(|(log, p)| (libm::exp(log - total) - p).abs()).sum::<f64>()
    }
}

pub(super) fn kernels() -> Vec<Kernel> {
    let all = [Kernel::Portable, Kernel::Avx2, Kernel::Avx512, Kernel::Neon];
    all.into_iter().filter(|kernel| kernel.is_available()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn narrow_gaussian_equals_its_twin(d in 1usize..=8, k in 1usize..=300, spread in 0.3f64..12.0, seed: u64) {
        let state = gaussian_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = match d {
                1 => state.distance(GaussianNarrowScorer::<1>::new(state.family.clone()), kernel),
                2 => state.distance(GaussianNarrowScorer::<2>::new(state.family.clone()), kernel),
                3 => state.distance(GaussianNarrowScorer::<3>::new(state.family.clone()), kernel),
                4 => state.distance(GaussianNarrowScorer::<4>::new(state.family.clone()), kernel),
                _ => state.distance(GaussianNarrowScorer::<8>::new(state.family.clone()), kernel),
            };
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn wide_gaussian_equals_its_twin(d in 1usize..=512, k in 1usize..=200, spread in 0.3f64..4.0, seed: u64) {
        let state = gaussian_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = state.distance(GaussianWideScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn multinomial_equals_its_twin(v in 2usize..=400, k in 1usize..=60, log_smoothing in -7.0f64..2.0, seed: u64) {
        let state = multinomial_state(v, k, libm::exp(log_smoothing), seed);
        for kernel in kernels() {
            let distance = state.distance(MultinomialScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn long_documents_over_few_words_equal_their_twin(v in 2usize..=30, k in 1usize..=60, log_smoothing in -7.0f64..2.0, seed: u64) {
        let mut state = multinomial_state(v, k, libm::exp(log_smoothing), seed);
        if seed.is_multiple_of(2) {
            // large components, where nothing is near the prior
            for stats in &mut state.components {
                stats.count *= 1_000;
                let Sums::Dense(sums) = &mut stats.sums else { panic!("these are dense") };
                sums.iter_mut().for_each(|sum| *sum *= 1_000.0);
            }
        }
        for kernel in kernels() {
            let distance = state.distance(MultinomialScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn directions_equal_their_twin(d in 2usize..=512, k in 1usize..=200, log_tau in -3.0f64..9.0, seed: u64) {
        let state = vmf_state(d, k, libm::exp(log_tau), seed);
        for kernel in kernels() {
            let distance = state.distance(VmfScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn directions_in_few_columns_equal_their_twin(d in 2usize..=12, k in 1usize..=100, log_tau in -3.0f64..9.0, seed: u64) {
        let state = vmf_state(d, k, libm::exp(log_tau), seed);
        for kernel in kernels() {
            let distance = state.distance(VmfScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }
}

/// Weights are first taken relative to the row's own component, which fails when that is hopeless.
#[test]
fn a_row_far_from_its_own_component_equals_its_twin() {
    for d in [2, 48] {
        let mut state = gaussian_state(d, 40, 12.0, 5);
        for own in (0..40).filter(|&own| state.components[own].count > 0).collect::<Vec<_>>() {
            state.own = own;
            for kernel in kernels() {
                let distance = match d {
                    2 => state.distance(GaussianNarrowScorer::<2>::new(state.family.clone()), kernel),
                    _ => state.distance(GaussianWideScorer::new(state.family.clone()), kernel),
                };
                assert!(distance < BOUND, "D = {d}, own {own}, {kernel}: {distance}");
            }
        }
    }
}

/// Rows about other components, and opposite to their own.
#[test]
fn a_row_far_from_its_own_direction_equals_its_twin() {
    for (d, concentration) in [(2, 30.0), (3, 5000.0), (64, 300.0), (384, 2000.0)] {
        let mut state = vmf_state(d, 40, concentration, 5);
        for own in (0..40).filter(|&own| state.components[own].count > 0).collect::<Vec<_>>() {
            state.own = own;
            let along: Vec<f64> = state.components[own].dense().iter().map(|x| -x).collect();
            for opposite in [false, true] {
                if opposite {
                    let mut row = along.clone();
                    normalise(&mut row);
                    state.row = OwnedRow::Numbers(row);
                }
                for kernel in kernels() {
                    let distance = state.distance(VmfScorer::new(state.family.clone()), kernel);
                    assert!(distance < BOUND, "D = {d}, own {own}, {kernel}: {distance}");
                }
            }
        }
    }
}

#[test]
fn words_beyond_sixteen_bits_equal_their_twin() {
    let mut state = multinomial_state(60, 20, 0.5, 6);
    for (ix, stats) in state.components.iter_mut().enumerate() {
        let times = [1, 3_000, 100_000][ix % 3];
        stats.count *= times;
        let Sums::Dense(sums) = &mut stats.sums else { panic!("these are dense") };
        sums.iter_mut().for_each(|sum| *sum *= times as f64);
    }
    for kernel in kernels() {
        let distance = state.distance(MultinomialScorer::new(state.family.clone()), kernel);
        assert!(distance < BOUND, "{kernel}: {distance}");
    }
}

/// Most of its slots are far below the best, and a count is beyond every table.
#[test]
fn a_document_that_repeats_a_word_ten_thousand_times_equals_its_twin() {
    for (own_count, words) in [(3, vec![(0, 10_000), (4, 1)]), (2_000, vec![(1, 300), (2, 5_000), (3, 40)])] {
        let mut state = multinomial_state(12, 20, 0.05, 8);
        let table = table_of_rows(12, &[OwnedRow::Counts(words.clone())]);
        (0..own_count).for_each(|_| state.family.add_row(table.row(0), &mut state.components[state.own]));
        state.row = OwnedRow::Counts(words);
        for own in (0..20).filter(|&own| state.components[own].count > 0).collect::<Vec<_>>() {
            state.own = own;
            for kernel in kernels() {
                let distance = state.distance(MultinomialScorer::new(state.family.clone()), kernel);
                assert!(distance < BOUND, "own {own}, {kernel}: {distance}");
            }
        }
    }
}

#[test]
fn five_thousand_components_equal_their_twin() {
    for (d, seed) in [(2, 1), (48, 2), (512, 3)] {
        let state = gaussian_state(d, 5000, 1.0, seed);
        let distance = match d {
            2 => state.distance(GaussianNarrowScorer::<2>::new(state.family.clone()), Kernel::best()),
            _ => state.distance(GaussianWideScorer::new(state.family.clone()), Kernel::best()),
        };
        assert!(distance < BOUND, "D = {d}: {distance}");
    }
    for (d, concentration, seed) in [(3, 100.0, 5), (48, 10.0, 6), (512, 600.0, 7)] {
        let state = vmf_state(d, 5000, concentration, seed);
        let distance = state.distance(VmfScorer::new(state.family.clone()), Kernel::best());
        assert!(distance < BOUND, "directions, D = {d}: {distance}");
    }
    let state = multinomial_state(1000, 5000, 0.1, 4);
    let distance = state.distance(MultinomialScorer::new(state.family.clone()), Kernel::best());
    assert!(distance < BOUND, "multinomial: {distance}");
}
