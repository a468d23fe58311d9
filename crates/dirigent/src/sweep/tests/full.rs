//! Gaussians with full covariances: the fast scorers against their slow twin.

use proptest::prelude::*;

use super::halves::{HALF_BOUND, check_conservation};
use super::{BOUND, State, kernels, random_count};
use crate::family::{Conjugate, Family, GaussianFull, OwnedRow, table_of_rows};
use crate::model::Model;
use crate::rng::{Role, Seed, Stream};
use crate::rows::{Shard, Table};
use crate::stats::{Stats, Sums};
use crate::sweep::full_narrow::FullNarrowScorer;
use crate::sweep::full_wide::FullWideScorer;
use crate::sweep::{Kernel, sampler};

/// A prior under which columns depend on one another.
pub(in crate::sweep) fn full_family(n: usize, offset: f64, scale: f64) -> GaussianFull {
    let upper = (0..n).flat_map(|i| (i..n).map(move |j| if i == j { 1.0 } else { 0.3 / (1 + j - i) as f64 }));
    GaussianFull {
        offset: vec![offset; n],
        scale: vec![scale; n],
        prior_mean: vec![offset + 0.2 * scale; n],
        prior_rows: 0.2,
        degrees: n as f64 + 1.5,
        prior_scale: upper.collect(),
    }
}

/// Components of all sizes and shapes, some empty, and a row that is in one of them.
pub(in crate::sweep) fn full_state(n: usize, n_components: usize, spread: f64, seed: u64) -> State<GaussianFull> {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let family = full_family(n, if seed.is_multiple_of(2) { 0.5 } else { 0.0 }, [1.0, 0.25][rng.below(2)]);
    let mut laws: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut components = Vec::new();
    for ix in 0..n_components {
        // every third is a near twin of the one before: then a row is torn between the two
        let law = if ix % 3 == 2 {
            let (centre, widths) = &laws[ix - 1];
            (centre.iter().map(|x| x + 0.01 * rng.normal()).collect(), widths.clone())
        } else {
            let centre = (0..n).map(|_| spread * rng.normal()).collect();
            (centre, (0..n).map(|_| libm::exp(0.7 * rng.normal())).collect())
        };
        let count = random_count(&mut rng).max(i64::from(ix == 0));
        components.push(component(&family, &law, count, &mut rng));
        laws.push(law);
    }
    let occupied: Vec<usize> = (0..n_components).filter(|&ix| components[ix].count > 0).collect();
    let own = occupied[rng.below(occupied.len())];
    let row = draw_row(&family, &laws[own], &mut rng);
    State { family, components, row, n_columns: n, own }
}

/// A row about a centre: every column drags the next along.
fn draw_row(family: &GaussianFull, (centre, widths): &(Vec<f64>, Vec<f64>), rng: &mut Stream) -> OwnedRow {
    let mut before = 0.0;
    let numbers = (0..centre.len()).map(|i| {
        before = widths[i] * (0.6 * rng.normal() + 0.8 * before);
        family.offset[i] + family.scale[i] * (centre[i] + before)
    });
    OwnedRow::Numbers(numbers.collect())
}

/// This many rows; of huge ones some, many times.
fn component(family: &GaussianFull, law: &(Vec<f64>, Vec<f64>), count: i64, rng: &mut Stream) -> Stats {
    let n_drawn = if count > 10 { 100.max(2 * family.n_columns() as i64) } else { count };
    let rows: Vec<OwnedRow> = (0..n_drawn).map(|_| draw_row(family, law, rng)).collect();
    let mut stats = family.empty_stats();
    if count == 0 {
        return stats;
    }
    let table = table_of_rows(family.n_columns(), &rows);
    (0..rows.len()).for_each(|ix| family.add_row(table.row(ix), &mut stats));
    let Sums::Dense(sums) = &mut stats.sums else { panic!("these are dense") };
    sums.iter_mut().for_each(|sum| *sum *= count as f64 / n_drawn as f64);
    stats.count = count;
    stats
}

/// Runs the expression with the narrow scorer for this many columns.
macro_rules! with_narrow {
    ($d:expr, $family:expr, $scorer:ident => $code:expr) => {
        match $d {
            1 => with_narrow!(@ 1, $family, $scorer => $code),
            2 => with_narrow!(@ 2, $family, $scorer => $code),
            3 => with_narrow!(@ 3, $family, $scorer => $code),
            4 => with_narrow!(@ 4, $family, $scorer => $code),
            _ => with_narrow!(@ 8, $family, $scorer => $code),
        }
    };
    (@ $n:literal, $family:expr, $scorer:ident => $code:expr) => {{
        let $scorer = || FullNarrowScorer::<$n>::new($family.clone());
        $code
    }};
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn narrow_full_gaussian_equals_its_twin(d in 1usize..=8, k in 1usize..=100, spread in 0.3f64..30.0, seed: u64) {
        let state = full_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = with_narrow!(d, state.family, scorer => state.distance(scorer(), kernel));
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn wide_full_gaussian_equals_its_twin(d in 1usize..=100, k in 1usize..=40, spread in 0.1f64..10.0, seed: u64) {
        let state = full_state(d, k, spread, seed);
        for kernel in kernels() {
            let distance = state.distance(FullWideScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn halves_of_full_gaussians_equal_their_twin(d in 1usize..=40, k in 1usize..=12, spread in 0.3f64..10.0, seed: u64) {
        let state = full_state(d, k, spread, seed);
        for kernel in kernels() {
            let wide = state.half_distance(|| FullWideScorer::new(state.family.clone()), kernel);
            prop_assert!(wide < HALF_BOUND, "{kernel}: {wide}");
        }
        let narrow_d = 1 + d % 8;
        let state = full_state(narrow_d, k, spread, seed);
        for kernel in kernels() {
            let narrow = with_narrow!(narrow_d, state.family, scorer => state.half_distance(scorer, kernel));
            prop_assert!(narrow < HALF_BOUND, "{kernel}: {narrow}");
        }
    }
}

/// A component a thousandth as wide as it is far from the offset, and its twin beside it: singles
/// alone could not tell them apart.
#[test]
fn narrow_components_far_out_equal_their_twin() {
    for (d, far) in [(2, 1e3), (2, 1e5), (8, 1e4), (20, 1e4)] {
        let mut rng = Seed::new(9).stream(Role::Observer, 0, 0);
        let family = full_family(d, 0.0, 1.0);
        let law = |shift: f64| (vec![far + shift; d], vec![1.0; d]);
        let components: Vec<Stats> =
            [0.0, 0.1, 50.0].iter().map(|shift| component(&family, &law(*shift), 1000, &mut rng)).collect();
        let row = draw_row(&family, &law(0.0), &mut rng);
        let state = State { family, components, row, n_columns: d, own: 0 };
        for kernel in kernels() {
            let distance = match d {
                2 => state.distance(FullNarrowScorer::<2>::new(state.family.clone()), kernel),
                8 => state.distance(FullNarrowScorer::<8>::new(state.family.clone()), kernel),
                _ => state.distance(FullWideScorer::new(state.family.clone()), kernel),
            };
            assert!(distance < BOUND, "D = {d}, {far} out, {kernel}: {distance}");
        }
    }
}

#[test]
fn after_sweeps_the_halves_of_full_gaussians_are_those_of_the_labels() {
    for kernel in kernels() {
        let (narrow, wide) = (full_family(2, 0.5, 2.0), full_family(11, 0.5, 2.0));
        let like = |n: usize| OwnedRow::Numbers(vec![0.0; n]);
        check_conservation(&narrow, &like(2), || FullNarrowScorer::<2>::new(narrow.clone()), kernel);
        check_conservation(&wide, &like(11), || FullWideScorer::new(wide.clone()), kernel);
    }
}

/// Duplicates, columns that depend on one another, more columns than rows: every sweep ends with
/// every row in a component.
#[test]
fn awkward_rows_are_swept_without_a_panic() {
    let mut rng = Seed::new(4).stream(Role::Observer, 0, 0);
    for (n_columns, n_rows) in [(1, 400), (3, 3000), (10, 3), (12, 300)] {
        for kind in 0..4 {
            let mut cells = Vec::new();
            for row in 0..n_rows {
                let x = rng.normal();
                cells.extend((0..n_columns).map(|column| match kind {
                    0 => 7.0,
                    1 => x * (column + 1) as f64,
                    2 => f64::from(row % 5) * 1e3,
                    _ => 1e8 + x * f64::from(u8::from(column == 0)),
                }));
            }
            let shard = Shard::of_table(Table::from_f64(n_columns, cells));
            for psi0 in [1.0, 1e-8] {
                let mut family = full_family(n_columns, 0.0, 1.0);
                family.prior_scale.iter_mut().for_each(|entry| *entry *= psi0);
                let model = Model::GaussianFull(family);
                let mut sampler = sampler(&model, shard.clone(), Kernel::best());
                sampler.load(&[]);
                for cycle in 0..3 {
                    sampler.sweep(1.0, &mut Seed::new(1).stream(Role::Sweep, 0, cycle));
                    let components = sampler.contributions();
                    assert_eq!(components.iter().map(|stats| stats.count).sum::<i64>(), i64::from(n_rows));
                    sampler.load(&components);
                }
                let components = sampler.contributions();
                let sum: f64 = components.iter().map(|stats| model.conjugate().log_normalizer(stats)).sum();
                assert!(sum.is_finite(), "D = {n_columns}, kind {kind}, psi0 {psi0}");
            }
        }
    }
}
