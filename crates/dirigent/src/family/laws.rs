//! The laws every family must obey. A failing law names the function to suspect.

use super::{Family, OwnedRow, log_marginal, table_of_rows};
use crate::rng::{Role, Seed, Stream};
use crate::rows::{CountRow, Row};
use crate::stats::{Stats, Sums};

/// Tests that the family obeys all laws.
macro_rules! laws {
    ($family:expr) => {
        #[test]
        fn add_and_remove_are_inverse() {
            laws::add_and_remove_are_inverse(&$family);
        }
        #[test]
        fn rows_have_statistics_that_rows_can_have() {
            laws::rows_have_statistics_that_rows_can_have(&$family);
        }
        #[test]
        fn merging_is_associative_and_commutative() {
            laws::merging_is_associative_and_commutative(&$family);
        }
        #[test]
        fn overlap_is_what_the_union_gains() {
            laws::overlap_is_what_the_union_gains(&$family);
        }
        #[test]
        fn predictive_is_a_ratio_of_marginals() {
            laws::predictive_is_a_ratio_of_marginals(&$family);
        }
        #[test]
        fn predictives_multiply_to_the_marginal_in_any_order() {
            laws::predictives_multiply_to_the_marginal_in_any_order(&$family);
        }
        #[test]
        fn likelihoods_average_to_the_predictive() {
            laws::likelihoods_average_to_the_predictive(&$family);
        }
        #[test]
        fn sampled_rows_have_the_predictive_law() {
            laws::sampled_rows_have_the_predictive_law(&$family);
        }
    };
}
pub(super) use laws;

fn stream(number: u64) -> Stream {
    Seed::new(number).stream(Role::Observer, 0, 0)
}

/// What rows are drawn like: five words, for a family of counts.
const LIKE: Row<'static> = Row::Counts(CountRow { words: &[0], counts: &[5] });

/// Rows of a few components drawn from the prior.
pub(super) fn draw_rows<F: Family>(family: &F, n_rows: usize, seed: u64) -> Vec<OwnedRow> {
    let mut rng = stream(seed);
    let params: Vec<_> = (0..3).map(|_| family.sample_parameters(&family.empty_stats(), &mut rng)).collect();
    (0..n_rows).map(|row_ix| family.sample_row(&params[row_ix % 3], LIKE, &mut rng)).collect()
}

fn n_columns(row: &OwnedRow) -> usize {
    match row {
        OwnedRow::Numbers(numbers) => numbers.len(),
        OwnedRow::Counts(_) => 1 << 20,
    }
}

/// The statistics of the rows, and Σ log h(x).
pub(super) fn summarise<F: Family>(family: &F, rows: &[OwnedRow]) -> (Stats, f64) {
    let table = table_of_rows(rows.first().map_or(1, n_columns), rows);
    let mut stats = family.empty_stats();
    let mut sum_log_base = 0.0;
    for row_ix in 0..rows.len() {
        family.add_row(table.row(row_ix), &mut stats);
        sum_log_base += family.log_base_measure(table.row(row_ix));
    }
    (stats, sum_log_base)
}

pub(super) fn assert_close(actual: f64, expected: f64, suspect: &str) {
    let close = (actual - expected).abs() <= 1e-9 * (1.0 + expected.abs());
    assert!(close, "{actual} is not {expected}: suspect {suspect}");
}

fn assert_stats_close(actual: &Stats, expected: &Stats, suspect: &str) {
    assert_eq!(actual.count, expected.count, "suspect {suspect}");
    match (&actual.sums, &expected.sums) {
        (Sums::Dense(a), Sums::Dense(b)) => a.iter().zip(b).for_each(|(a, b)| assert_close(*a, *b, suspect)),
        (a, b) => assert_eq!(a, b, "suspect {suspect}"),
    }
}

pub(super) fn add_and_remove_are_inverse<F: Family>(family: &F) {
    for seed in 0..20 {
        let rows = draw_rows(family, 8, seed);
        let (all, _) = summarise(family, &rows);
        let (first_five, _) = summarise(family, &rows[..5]);
        let table = table_of_rows(n_columns(&rows[0]), &rows);
        let mut rest = all.clone();
        (5..8).for_each(|row_ix| family.remove_row(table.row(row_ix), &mut rest));
        assert_stats_close(&rest, &first_five, "remove_row");
    }
}

pub(super) fn rows_have_statistics_that_rows_can_have<F: Family>(family: &F) {
    for seed in 0..20 {
        let rows = draw_rows(family, 8, seed);
        for n_rows in 0..8 {
            let dense = summarise(family, &rows[..n_rows]).0;
            let stats = if family.has_counts() { dense.to_sparse() } else { dense };
            assert!(family.could_be(&stats), "suspect could_be: {stats:?}");
        }
        let (mut stats, _) = summarise(family, &rows);
        if let Sums::Dense(sums) = &mut stats.sums {
            sums[0] = f64::NAN;
        }
        assert!(!family.could_be(&stats), "suspect could_be: {stats:?}");
    }
}

pub(super) fn merging_is_associative_and_commutative<F: Family>(family: &F) {
    for seed in 0..20 {
        let rows = draw_rows(family, 12, seed);
        let [a, b, c] = [0, 4, 8].map(|start| summarise(family, &rows[start..start + 4]).0);
        let (whole, _) = summarise(family, &rows);
        assert_stats_close(&a.union(&b), &b.union(&a), "Stats::add");
        assert_stats_close(&a.union(&b).union(&c), &a.union(&b.union(&c)), "Stats::add");
        assert_stats_close(&a.union(&b).union(&c), &whole, "add_row");
        let mut difference = whole;
        difference.subtract(&c);
        assert_stats_close(&difference, &a.union(&b), "Stats::subtract");
    }
}

/// The same sums, held sparsely where the family counts.
fn sparse_twin<F: Family>(family: &F, rows: &[OwnedRow]) -> Option<Stats> {
    let mut sparse = Stats::empty_counts();
    let OwnedRow::Counts(_) = rows.first()? else { return None };
    let table = table_of_rows(n_columns(&rows[0]), rows);
    (0..rows.len()).for_each(|row_ix| family.add_row(table.row(row_ix), &mut sparse));
    Some(sparse)
}

/// Dense and sparse statistics in any mixture; the union itself is the reference.
pub(super) fn overlap_is_what_the_union_gains<F: Family>(family: &F) {
    let empty = family.log_normalizer(&family.empty_stats());
    assert_close(family.log_normalizer_empty(), empty, "log_normalizer_empty");
    for seed in 0..20 {
        let rows = draw_rows(family, 12, seed);
        let (first, rest) = rows.split_at(1 + seed as usize % 11);
        let [a, b] = [first, rest].map(|rows| summarise(family, rows).0);
        let union = family.log_normalizer(&a.union(&b));
        let apart = family.log_normalizer(&a) + family.log_normalizer(&b) - empty;
        for a in [Some(a), sparse_twin(family, first)].iter().flatten() {
            for b in [Some(b.clone()), sparse_twin(family, rest)].iter().flatten() {
                assert_close(family.log_overlap(a, b, apart), union - apart, "log_overlap");
            }
        }
        let [a, b] = [first, rest].map(|rows| summarise(family, rows).0);
        assert_close(family.log_normalizer_of_union(&a, &b), union, "log_normalizer_of_union");
    }
}

pub(super) fn predictive_is_a_ratio_of_marginals<F: Family>(family: &F) {
    for seed in 0..20 {
        let rows = draw_rows(family, 7, seed);
        let table = table_of_rows(n_columns(&rows[0]), &rows);
        for n_before in 0..7 {
            let (before, base_before) = summarise(family, &rows[..n_before]);
            let (after, base_after) = summarise(family, &rows[..=n_before]);
            let ratio = log_marginal(family, &after, base_after) - log_marginal(family, &before, base_before);
            assert_close(family.log_predictive(table.row(n_before), &before), ratio, "log_predictive");
        }
    }
}

pub(super) fn predictives_multiply_to_the_marginal_in_any_order<F: Family>(family: &F) {
    for seed in 0..20 {
        let mut rows = draw_rows(family, 7, seed);
        let (stats, sum_log_base) = summarise(family, &rows);
        let marginal = log_marginal(family, &stats, sum_log_base);
        for shuffle in 0..3 {
            stream(shuffle).shuffle(&mut rows);
            let table = table_of_rows(n_columns(&rows[0]), &rows);
            let mut seen = family.empty_stats();
            let mut product = 0.0;
            for row_ix in 0..rows.len() {
                product += family.log_predictive(table.row(row_ix), &seen);
                family.add_row(table.row(row_ix), &mut seen);
            }
            assert_close(product, marginal, "log_predictive or add_row");
        }
    }
}

/// The mean of f̄(x|S)/f̄(x|S') over x drawn from S' is 1, where S' is S without a row (so the
/// ratio is mild). 5 standard errors: false alarm below 1e-6.
pub(super) fn sampled_rows_have_the_predictive_law<F: Family>(family: &F) {
    let rows = draw_rows(family, 6, 11);
    let (all, _) = summarise(family, &rows);
    let (fewer, _) = summarise(family, &rows[..5]);
    let mut rng = stream(12);
    let n_draws = 20_000;
    let ratios: Vec<f64> = (0..n_draws)
        .map(|_| {
            let params = family.sample_parameters(&all, &mut rng);
            let row = family.sample_row(&params, LIKE, &mut rng);
            let table = table_of_rows(n_columns(&row), std::slice::from_ref(&row));
            libm::exp(family.log_predictive(table.row(0), &fewer) - family.log_predictive(table.row(0), &all))
        })
        .collect();
    let mean = ratios.iter().sum::<f64>() / f64::from(n_draws);
    let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(n_draws);
    let bound = 5.0 * (variance / f64::from(n_draws)).sqrt();
    assert!((mean - 1.0).abs() < bound, "mean {mean} ± {bound}: suspect sample_parameters or sample_row");
}

/// The mean of f(x|φ)/f̄(x|S) over φ drawn from S is 1. 5 standard errors: false alarm below 1e-6.
pub(super) fn likelihoods_average_to_the_predictive<F: Family>(family: &F) {
    let rows = draw_rows(family, 6, 13);
    let (stats, _) = summarise(family, &rows);
    let table = table_of_rows(n_columns(&rows[0]), &rows);
    let log_predictive = family.log_predictive(table.row(0), &stats);
    let mut rng = stream(14);
    let n_draws = 20_000;
    let ratios: Vec<f64> = (0..n_draws)
        .map(|_| {
            let parameters = family.sample_parameters(&stats, &mut rng);
            assert_eq!(parameters.len(), family.parameters_len(), "suspect parameters_len");
            libm::exp(family.log_likelihood(table.row(0), &parameters) - log_predictive)
        })
        .collect();
    let mean = ratios.iter().sum::<f64>() / f64::from(n_draws);
    let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(n_draws);
    let bound = 5.0 * (variance / f64::from(n_draws)).sqrt();
    assert!((mean - 1.0).abs() < bound, "mean {mean} ± {bound}: suspect sample_parameters or log_likelihood");
}
