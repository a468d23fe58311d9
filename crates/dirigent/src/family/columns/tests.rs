//! What the tests of all column laws share; the laws of mixed columns, and all of them with missing
//! cells.

use proptest::prelude::*;

use super::law::Law;
use super::*;
use crate::family::laws::{self, assert_close, laws};
use crate::family::{FamilyText, log_marginal, table_of_rows};
use crate::rng::{Role, Seed};

pub(super) fn stream(number: u64) -> Stream {
    Seed::new(number).stream(Role::Observer, 0, 0)
}

pub(super) fn column(law: ColumnLaw, has_missing: bool) -> Column {
    Column { law, has_missing }
}

/// The number of cells and their sums.
pub(super) fn sums_of(law: &impl Law, cells: &[f64]) -> (f64, Vec<f64>) {
    let mut sums = vec![0.0; law.stats_len()];
    cells.iter().for_each(|&x| law.accumulate(x, 1.0, &mut sums));
    (cells.len() as f64, sums)
}

/// Normaliser, predictive, draws and sketch of all beginnings of the cells.
pub(super) fn assert_finite_everywhere(law: &impl Law, cells: &[f64]) {
    for n_before in 0..cells.len() {
        let (n, sums) = sums_of(law, &cells[..n_before]);
        let mut parameters = Vec::new();
        law.sample_parameters(n, &sums, &mut stream(4), &mut parameters);
        let mut sketch = Vec::new();
        law.sketch(n, &sums, &mut sketch);
        let x = cells[n_before];
        let numbers = [
            law.log_normalizer(n, &sums),
            law.log_predictive(x, n, &sums),
            law.log_likelihood(x, &parameters),
            law.log_base_measure(x),
        ];
        assert!(numbers.iter().all(|x| x.is_finite()), "{n_before} cells, then {x}: {numbers:?}");
        assert!(parameters.iter().all(|x| x.is_finite()) && sketch.iter().all(|x| !x.is_nan()), "{parameters:?}");
    }
}

/// All laws, every other column with missing cells.
pub(super) fn mixed() -> Columns {
    let normal = |offset, shape| ColumnLaw::Normal {
        offset,
        scale: 2.0,
        prior_mean: offset + 1.0,
        prior_rows: 0.4,
        shape,
        rate: 0.6,
    };
    let laws = [
        normal(3.0, 3.2),
        normal(-1.0, 3.2),
        ColumnLaw::Bernoulli { a: 0.7, b: 1.2 },
        ColumnLaw::Bernoulli { a: 1.0, b: 0.5 },
        ColumnLaw::Poisson { shape: 3.0, rate: 0.4 },
        ColumnLaw::Poisson { shape: 2.0, rate: 0.7 },
        ColumnLaw::Categorical { smoothing: 0.3, n_levels: 4 },
        ColumnLaw::Categorical { smoothing: 1.0, n_levels: 3 },
    ];
    let columns = laws.into_iter().enumerate().map(|(ix, law)| column(law, ix % 2 == 1)).collect();
    Columns { kind: ColumnsKind::Mixed, columns }
}

/// Rows with missing cells in the columns that may have them.
fn rows_with_holes(family: &Columns, n_rows: usize, seed: u64) -> Vec<OwnedRow> {
    let mut rng = stream(seed);
    let parameters = family.sample_parameters(&family.empty_stats(), &mut rng);
    let mut row = || {
        let hole = |column: &Column| if column.has_missing && rng.uniform() < 0.4 { f64::NAN } else { 0.0 };
        let like: Vec<f64> = family.columns.iter().map(hole).collect();
        family.sample_row(&parameters, Row::F64(&like), &mut rng)
    };
    (0..n_rows).map(|_| row()).collect()
}

/// The family of one column of this one, without missing cells, and the cells of that column that
/// are there.
fn alone(family: &Columns, column_ix: usize, rows: &[OwnedRow]) -> (Columns, Vec<OwnedRow>) {
    let law = family.columns[column_ix].law;
    let single = Columns { kind: ColumnsKind::Mixed, columns: vec![column(law, false)] };
    let cell = |row: &OwnedRow| match row {
        OwnedRow::Numbers(numbers) => numbers[column_ix],
        OwnedRow::Counts(_) => unreachable!(),
    };
    let there = rows.iter().map(cell).filter(|x| !x.is_nan()).map(|x| OwnedRow::Numbers(vec![x]));
    (single, there.collect())
}

#[test]
fn a_table_with_holes_is_as_likely_as_its_columns_without_them() {
    let family = mixed();
    for seed in 0..10 {
        let rows = rows_with_holes(&family, 12, seed);
        let (stats, base) = laws::summarise(&family, &rows);
        let of_columns: f64 = (0..family.columns.len())
            .map(|column_ix| {
                let (single, there) = alone(&family, column_ix, &rows);
                let (stats, base) = laws::summarise(&single, &there);
                log_marginal(&single, &stats, base)
            })
            .sum();
        assert_close(log_marginal(&family, &stats, base), of_columns, "log_normalizer or add_row");
    }
}

#[test]
fn with_holes_predictives_multiply_to_the_marginal_and_rows_can_be_taken_out() {
    let family = mixed();
    for seed in 0..10 {
        let rows = rows_with_holes(&family, 9, seed);
        let table = table_of_rows(family.columns.len(), &rows);
        let (stats, base) = laws::summarise(&family, &rows);
        let (mut seen, mut product) = (family.empty_stats(), 0.0);
        for row_ix in 0..rows.len() {
            product += family.log_predictive(table.row(row_ix), &seen);
            family.add_row(table.row(row_ix), &mut seen);
        }
        assert_close(product, log_marginal(&family, &stats, base), "log_predictive");
        (4..9).for_each(|row_ix| family.remove_row(table.row(row_ix), &mut seen));
        let (fewer, _) = laws::summarise(&family, &rows[..4]);
        assert_eq!(seen.count, fewer.count);
        seen.dense().iter().zip(fewer.dense()).for_each(|(a, b)| assert_close(*a, *b, "remove_row"));
    }
}

/// The mean of f(x|φ)/f̄(x|S) over φ drawn from S is 1. 5 standard errors: false alarm below 1e-6.
#[test]
fn with_holes_likelihoods_average_to_the_predictive() {
    let family = mixed();
    let rows = rows_with_holes(&family, 10, 5);
    let (stats, _) = laws::summarise(&family, &rows);
    let table = table_of_rows(family.columns.len(), &rows);
    let (mut rng, n) = (stream(6), 20_000);
    let log_predictive = family.log_predictive(table.row(1), &stats);
    let mut ratio = || {
        let parameters = family.sample_parameters(&stats, &mut rng);
        libm::exp(family.log_likelihood(table.row(1), &parameters) - log_predictive)
    };
    let ratios: Vec<f64> = (0..n).map(|_| ratio()).collect();
    let mean = ratios.iter().sum::<f64>() / f64::from(n);
    let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / f64::from(n);
    assert!((mean - 1.0).abs() < 5.0 * (variance / f64::from(n)).sqrt(), "mean {mean}");
}

#[test]
fn a_row_of_nothing_but_holes_says_nothing() {
    let family = mixed();
    let (stats, _) = laws::summarise(&family, &rows_with_holes(&family, 10, 7));
    let holes = [f64::NAN; 8];
    assert_eq!(family.log_predictive(Row::F64(&holes), &stats), 0.0);
    assert_eq!(family.log_base_measure(Row::F64(&holes)), 0.0);
}

proptest! {
    #[test]
    fn cuts_are_the_same_for_whoever_cuts_and_part_rows_with_holes(seed: u64) {
        let family = mixed();
        let rows = rows_with_holes(&family, 60, seed);
        let table = table_of_rows(family.columns.len(), &rows);
        let (stats, _) = laws::summarise(&family, &rows);
        let mut n_right = 0;
        for generation in 0..20 {
            let stream = || Seed::new(seed).halves(1, 2, generation);
            let cut = family.cut(&stats, &mut stream());
            prop_assert_eq!(&cut, &family.cut(&stats, &mut stream()), "the same for whoever cuts");
            n_right += (0..60).filter(|&ix| family.side(table.row(ix), &cut) == Some(Half::Right)).count();
        }
        prop_assert!((120..=900).contains(&n_right), "{} of 1200 are right", n_right);
    }
}

/// Two clusters that differ in every other column: some cuts in 30 part them well.
#[test]
fn cuts_find_two_clusters_that_were_taken_for_one() {
    let bernoulli = ColumnLaw::Bernoulli { a: 0.5, b: 0.5 };
    let levels = ColumnLaw::Categorical { smoothing: 0.5, n_levels: 5 };
    for law in [bernoulli, levels] {
        let family = Columns { kind: ColumnsKind::Mixed, columns: vec![column(law, false); 20] };
        let mut rng = stream(9);
        let mut row = |of_second: bool| -> Vec<f64> {
            let cell = |column_ix: usize| {
                let p = if of_second && column_ix.is_multiple_of(2) { 0.85 } else { 0.15 };
                if rng.uniform() < p { 1.0 } else { 0.0 }
            };
            (0..20).map(cell).collect()
        };
        let rows: Vec<OwnedRow> = (0..400).map(|ix| OwnedRow::Numbers(row(ix % 2 == 1))).collect();
        let (stats, _) = laws::summarise(&family, &rows);
        let table = table_of_rows(20, &rows);
        let agreement = |generation: u32| {
            let cut = family.cut(&stats, &mut Seed::new(3).halves(1, 1, generation));
            let is_right = |ix: usize| family.side(table.row(ix), &cut) == Some(Half::Right);
            let n_alike = (0..400).filter(|&ix| is_right(ix) == (ix % 2 == 1)).count();
            n_alike.max(400 - n_alike)
        };
        let n_good = (0..30).filter(|&generation| agreement(generation) > 280).count();
        assert!(n_good >= 8, "{n_good} of 30 cuts part {law:?}");
    }
}

#[test]
fn laws_accept_what_they_can_explain() {
    let columns = mixed().columns;
    let accepts = |column_ix: usize, x: f64| columns[column_ix].law.accepts(x);
    assert!((0..8).all(|ix| accepts(ix, f64::NAN) && accepts(ix, 0.0) && accepts(ix, 1.0)));
    assert!(accepts(0, -1.5) && !accepts(0, f64::INFINITY));
    assert!([-1.0, 0.5, 2.0].iter().all(|&x| !accepts(2, x)));
    assert!(accepts(4, 1e6) && [-1.0, 0.5, f64::INFINITY].iter().all(|&x| !accepts(4, x)));
    assert!(accepts(6, 3.0) && [-1.0, 0.5, 4.0, f64::INFINITY].iter().all(|&x| !accepts(6, x)));
}

#[test]
fn a_model_survives_its_file_and_a_bad_one_is_told() {
    let model = crate::model::Model::Columns(mixed());
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<crate::model::Model>(&text).unwrap(), model);
    let mut bad = mixed();
    assert_eq!(bad.problem(), None);
    bad.columns[4].law = ColumnLaw::Poisson { shape: 0.0, rate: 1.0 };
    assert_eq!(bad.problem().unwrap(), "column 5: `shape` must be a positive number, got 0");
    bad.columns.clear();
    assert!(bad.problem().is_some());
    let (stats, _) = laws::summarise(&mixed(), &rows_with_holes(&mixed(), 10, 7));
    for array in mixed().arrays(&[stats.clone(), stats]) {
        assert_eq!(array.numbers.len(), array.shape.iter().product::<usize>(), "{}", array.name);
    }
}

laws!(mixed());

/// Columns that components tell apart keep the usual weight; the prior of columns that they do not
/// is heavy.
#[test]
fn priors_are_heavy_where_components_are_alike() {
    let laws = [
        ColumnLaw::Categorical { smoothing: 0.5, n_levels: 4 },
        ColumnLaw::Categorical { smoothing: 0.5, n_levels: 4 },
        ColumnLaw::Bernoulli { a: 0.5, b: 0.5 },
        ColumnLaw::Bernoulli { a: 0.5, b: 0.5 },
    ];
    let family = Columns { kind: ColumnsKind::Mixed, columns: laws.map(|law| column(law, false)).to_vec() };
    let component = |number: usize| {
        let mut stats = family.empty_stats();
        for row in 0..200 {
            let (own, any) = ((number % 4) as f64, f64::from(row % 4));
            family.add_row(Row::F64(&[own, any, (number % 2) as f64, f64::from(row % 2)]), &mut stats);
        }
        stats
    };
    let components: Vec<Stats> = (0..8).map(component).collect();
    let weights = family.likeliest_weights(&components.iter().collect::<Vec<_>>());
    assert_eq!([weights[0], weights[2]], [1.0, 1.0]);
    assert_eq!([weights[1], weights[3]], [128.0, 128.0]);
    assert_eq!(laws[1].weighed(8.0), ColumnLaw::Categorical { smoothing: 4.0, n_levels: 4 });
}
