//! Columns of every law and of all laws, with and without missing cells, against the slow twin.

use proptest::prelude::*;

use super::halves::{HALF_BOUND, check_conservation};
use super::{BOUND, State, kernels, random_count};
use crate::family::{Column, ColumnLaw, Columns, ColumnsKind, Conjugate, Family, OwnedRow, table_of_rows};
use crate::rng::{Role, Seed, Stream};
use crate::rows::Row;
use crate::stats::{Stats, Sums};
use crate::sweep::columns::ColumnsScorer;

/// Priors and missing cells as they come; kind 4 mixes the laws.
pub(in crate::sweep) fn family(kind: usize, n_columns: usize, seed: u64) -> Columns {
    let mut rng = Seed::new(seed).stream(Role::Observer, 1, 0);
    // most tables have one prior for all columns, some have one for each
    let (has_one_prior, has_holes) = (rng.below(2) == 0, rng.below(2) == 0);
    let mut prior = [0.3, 2.0, 1.0];
    let mut column = || {
        if !has_one_prior {
            prior = prior.map(|x| [x, 0.5, 1.0, 3.0][rng.below(4)]);
        }
        let law = match if kind == 4 { rng.below(4) } else { kind } {
            0 => ColumnLaw::Normal {
                offset: 5.0,
                scale: 2.0,
                prior_mean: 5.5,
                prior_rows: 0.1 * prior[0],
                shape: prior[1],
                rate: 0.2 * prior[2],
            },
            1 => ColumnLaw::Bernoulli { a: prior[0], b: prior[1] },
            2 => ColumnLaw::Poisson { shape: prior[0], rate: 0.1 * prior[2] },
            _ => ColumnLaw::Categorical { smoothing: prior[0], n_levels: 1 + rng.below(9) },
        };
        Column { law, has_missing: has_holes && rng.below(2) == 0 }
    };
    let columns = (0..n_columns).map(|_| column()).collect();
    Columns { kind: ColumnsKind::Mixed, columns }
}

/// A drawn row, a third of the cells missing where they may be.
pub(in crate::sweep) fn row_with_holes(family: &Columns, parameters: &[f64], rng: &mut Stream) -> OwnedRow {
    let hole = |column: &Column| if column.has_missing && rng.below(3) == 0 { f64::NAN } else { 0.0 };
    let like: Vec<f64> = family.columns.iter().map(hole).collect();
    family.sample_row(parameters, Row::F64(&like), rng)
}

/// Components of a few rows; every third is a near twin of the one before, and some have each row
/// very often.
pub(in crate::sweep) fn state(family: Columns, n_components: usize, seed: u64) -> State<Columns> {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let n_columns = family.columns.len();
    let mut components: Vec<Stats> = Vec::new();
    let mut parameters: Vec<Vec<f64>> = Vec::new();
    for ix in 0..n_components {
        let is_twin = ix % 3 == 2;
        let drawn = family.sample_parameters(&family.empty_stats(), &mut rng);
        parameters.push(if is_twin { parameters[ix - 1].clone() } else { drawn });
        let mut stats = if is_twin { components[ix - 1].clone() } else { family.empty_stats() };
        let n_rows = random_count(&mut rng).min(10).max(i64::from(ix == 0));
        for _ in 0..n_rows {
            let row = row_with_holes(&family, &parameters[ix], &mut rng);
            family.add_row(table_of_rows(n_columns, &[row]).row(0), &mut stats);
        }
        if rng.below(3) == 0 && stats.count < 1_000_000 {
            let times = [10, 1_000, 100_000][rng.below(3)];
            stats.count *= times;
            let Sums::Dense(sums) = &mut stats.sums else { panic!("these are dense") };
            sums.iter_mut().for_each(|sum| *sum *= times as f64);
        }
        components.push(stats);
    }
    let occupied: Vec<usize> = (0..n_components).filter(|&ix| components[ix].count > 0).collect();
    let own = occupied[rng.below(occupied.len())];
    let row = row_with_holes(&family, &parameters[own], &mut rng);
    State { family, components, row, n_columns, own }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::default() })]

    #[test]
    fn columns_equal_their_twin(kind in 0usize..5, d in 1usize..=80, k in 1usize..=150, seed: u64) {
        let state = state(family(kind, d, seed), k, seed);
        for kernel in kernels() {
            let distance = state.distance(ColumnsScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < BOUND, "{kernel}: {distance}");
        }
    }

    #[test]
    fn halves_of_columns_equal_their_twin(kind in 0usize..5, d in 1usize..=40, k in 1usize..=12, seed: u64) {
        let state = state(family(kind, d, seed), k, seed);
        for kernel in kernels() {
            let distance = state.half_distance(|| ColumnsScorer::new(state.family.clone()), kernel);
            prop_assert!(distance < HALF_BOUND, "{kernel}: {distance}");
        }
    }
}

#[test]
fn after_sweeps_the_halves_of_columns_are_those_of_the_labels() {
    // components are close to one another, so that rows stay with those that are loaded
    let laws = [
        ColumnLaw::Normal { offset: 1.0, scale: 2.0, prior_mean: 3.0, prior_rows: 1.5, shape: 8.0, rate: 4.0 },
        ColumnLaw::Bernoulli { a: 4.0, b: 3.0 },
        ColumnLaw::Poisson { shape: 20.0, rate: 3.0 },
        ColumnLaw::Categorical { smoothing: 5.0, n_levels: 4 },
    ];
    for kind in 0..5 {
        let law = |ix: usize| if kind == 4 { laws[ix % 4] } else { laws[kind] };
        let columns = (0..7).map(|ix| Column { law: law(ix), has_missing: ix >= 4 }).collect();
        let family = Columns { kind: ColumnsKind::Mixed, columns };
        let like = OwnedRow::Numbers([0.0, 0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0].to_vec());
        for kernel in kernels() {
            check_conservation(&family, &like, || ColumnsScorer::new(family.clone()), kernel);
        }
    }
}

/// Means that are up to 10⁸ standard deviations from the offset: where singles are too coarse,
/// doubles decide.
#[test]
fn sharp_clusters_far_from_the_offset_equal_their_twin() {
    for sd in [1e-2, 1e-4, 1e-6, 1e-8] {
        let law = |shape| ColumnLaw::Normal {
            offset: 0.0,
            scale: 1.0,
            prior_mean: 0.0,
            prior_rows: 0.01,
            shape,
            rate: shape * sd * sd,
        };
        let column = |ix| Column { law: law(if ix < 5 { 2.0 } else { 3.0 }), has_missing: ix == 7 };
        let family = Columns { kind: ColumnsKind::Diagonal, columns: (0..8).map(column).collect() };
        for seed in 0..20 {
            let mut rng = Seed::new(seed).stream(Role::Observer, 2, 0);
            let rows: Vec<OwnedRow> = (0..200)
                .map(|ix| {
                    // neighbours overlap
                    let centre = 1.0 + 3.0 * f64::from(ix % 20 / 2) + sd * f64::from(ix % 2);
                    OwnedRow::Numbers((0..8).map(|_| centre + sd * rng.normal()).collect())
                })
                .collect();
            let table = table_of_rows(8, &rows);
            let mut components = vec![family.empty_stats(); 20];
            (0..199).for_each(|ix| family.add_row(table.row(ix), &mut components[ix % 20]));
            let state = State { family: family.clone(), components, row: rows[199].clone(), n_columns: 8, own: 19 };
            for kernel in kernels() {
                let distance = state.distance(ColumnsScorer::new(family.clone()), kernel);
                assert!(distance < BOUND, "sd {sd}, {kernel}: {distance}");
            }
        }
    }
}

#[test]
fn rows_out_of_this_world_equal_their_twin() {
    let mut state = state(family(0, 48, 7), 60, 7);
    for far in [1e3, 1e9, 1e18, 1e30, 1e50] {
        let OwnedRow::Numbers(numbers) = &state.row else { panic!("dense rows") };
        state.row = OwnedRow::Numbers(numbers.iter().map(|x| far * x.signum()).collect());
        for kernel in kernels() {
            let distance = state.distance(ColumnsScorer::new(state.family.clone()), kernel);
            assert!(distance < BOUND, "{far}, {kernel}: {distance}");
        }
    }
}

#[test]
fn enormous_counts_equal_their_twin() {
    for (shape, rate) in [(0.5, 1e-3), (2.0, 1e-5), (100.0, 1e-2)] {
        let column = |ix| Column { law: ColumnLaw::Poisson { shape, rate }, has_missing: ix == 3 };
        let family = Columns { kind: ColumnsKind::Poisson, columns: (0..4).map(column).collect() };
        for seed in 0..20 {
            let state = state(family.clone(), 40, seed);
            for kernel in kernels() {
                let distance = state.distance(ColumnsScorer::new(family.clone()), kernel);
                assert!(distance < BOUND, "{shape}, {rate}, {kernel}: {distance}");
            }
        }
    }
}
