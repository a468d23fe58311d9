//! Tables whose columns are independent within a component, each with a law of its own: numbers,
//! zeros and ones, counts, levels.
//!
//! Statistics are those of the columns, one after another; a column that has missing cells keeps
//! one number more, how many of its cells are there. A missing cell is NaN, and the likelihood has
//! no factor for it: that is exact, not a guess of what it might have been.

mod bernoulli;
mod categorical;
mod cut;
mod description;
mod law;
pub(crate) mod normal;
mod poisson;
#[cfg(test)]
mod tests;

pub use law::ColumnLaw;
pub(crate) use poisson::LARGEST_COUNT;

use law::{Law as _, with_law};
use normal::{Normal, NormalProducts};
use serde::{Deserialize, Serialize};

use super::{Conjugate, Family, OwnedRow};
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::stats::{Stats, Sums};

/// The weights of priors of levels, zeros and ones, and counts that are tried. Never lighter than
/// the usual one: components of few rows seem to lack levels by chance.
const WEIGHTS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// A product of column laws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    /// What it is called.
    pub kind: ColumnsKind,
    /// The columns, in the order of the table.
    pub columns: Vec<Column>,
}

/// What a product of column laws is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnsKind {
    /// Gaussians of diagonal covariance: all columns are numbers.
    Diagonal,
    /// All columns are zeros and ones.
    Bernoulli,
    /// All columns are counts.
    Poisson,
    /// All columns are levels.
    Categorical,
    /// Columns of several kinds.
    Mixed,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The law of its cells.
    pub law: ColumnLaw,
    /// Whether any of its cells is missing.
    pub has_missing: bool,
}

impl Column {
    /// The length of its sums.
    pub fn stats_len(&self) -> usize {
        with_law!(&self.law, law => law.stats_len()) + usize::from(self.has_missing)
    }

    /// How many of its cells are there, given the sums of the column.
    #[inline]
    fn n_present(&self, count: i64, sums: &[f64]) -> f64 {
        if self.has_missing { sums[sums.len() - 1] } else { count as f64 }
    }
}

/// A column with what a set of rows leaves behind of it.
#[derive(Clone, Copy)]
struct ColumnOf<'a> {
    column: &'a Column,
    /// How many cells are there.
    n: f64,
    sums: &'a [f64],
}

impl Columns {
    fn columns_of<'a>(&'a self, stats: &'a Stats) -> impl Iterator<Item = ColumnOf<'a>> + 'a {
        let mut rest = stats.dense();
        self.columns.iter().map(move |column| {
            let sums;
            (sums, rest) = rest.split_at(column.stats_len());
            ColumnOf { column, n: column.n_present(stats.count, sums), sums }
        })
    }

    /// For each column, the weight of its prior, as a multiple of the present one, at which
    /// components are most probable.
    pub(crate) fn likeliest_weights(&self, components: &[&Stats]) -> Vec<f64> {
        let mut log_evidence = vec![[0.0; WEIGHTS.len()]; self.columns.len()];
        for stats in components {
            for (column, of_weights) in self.columns_of(stats).zip(&mut log_evidence) {
                if matches!(column.column.law, ColumnLaw::Normal { .. }) {
                    continue;
                }
                for (log_evidence, weight) in of_weights.iter_mut().zip(WEIGHTS) {
                    *log_evidence += with_law!(&column.column.law.weighed(weight), law => {
                        law.log_normalizer(column.n, column.sums) - law.log_normalizer(0.0, &vec![0.0; law.stats_len()])
                    });
                }
            }
        }
        let likeliest = |of_weights: &[f64; WEIGHTS.len()]| {
            // of equals the lightest
            let best = (1..WEIGHTS.len()).fold(0, |best, ix| if of_weights[ix] > of_weights[best] { ix } else { best });
            WEIGHTS[best]
        };
        log_evidence.iter().map(likeliest).collect()
    }

    fn accumulate_cells<T: Copy + Into<f64>>(&self, cells: &[T], sign: f64, sums: &mut [f64]) {
        let mut rest = sums;
        for (column, &x) in self.columns.iter().zip(cells) {
            let sums;
            (sums, rest) = rest.split_at_mut(column.stats_len());
            let x: f64 = x.into();
            if x.is_nan() {
                continue;
            }
            with_law!(&column.law, law => law.accumulate(x, sign, sums));
            if column.has_missing {
                sums[sums.len() - 1] += sign;
            }
        }
    }

    /// The parameters of each column.
    fn split_parameters<'a>(&'a self, parameters: &'a [f64]) -> impl Iterator<Item = (&'a Column, &'a [f64])> + 'a {
        let mut rest = parameters;
        self.columns.iter().map(move |column| {
            let of_column;
            (of_column, rest) = rest.split_at(with_law!(&column.law, law => law.parameters_len()));
            (column, of_column)
        })
    }
}

/// The cells of a dense row.
#[inline(always)]
fn cells(row: Row<'_>) -> impl Iterator<Item = f64> + '_ {
    let (singles, doubles): (&[f32], &[f64]) = match row {
        Row::F32(numbers) => (numbers, &[]),
        Row::F64(numbers) => (&[], numbers),
        Row::Counts(_) => panic!("columns have dense rows"),
    };
    singles.iter().map(|&x| f64::from(x)).chain(doubles.iter().copied())
}

impl Conjugate for Columns {
    fn n_columns(&self) -> usize {
        self.columns.len()
    }

    fn stats_len(&self) -> usize {
        self.columns.iter().map(Column::stats_len).sum()
    }

    fn parameters_len(&self) -> usize {
        self.columns.iter().map(|column| with_law!(&column.law, law => law.parameters_len())).sum()
    }

    /// The sum of the columns'; logs of columns of numbers by products.
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        let (mut normals, mut sum) = (NormalProducts::NONE, 0.0);
        for ColumnOf { column, n, sums } in self.columns_of(stats) {
            match column.law {
                ColumnLaw::Normal { offset, scale, prior_mean, prior_rows, shape, rate } => {
                    let law = Normal { offset, scale, prior_mean, prior_rows, shape, rate };
                    normals.add(law.posterior(n, sums));
                }
                _ => sum += with_law!(&column.law, law => law.log_normalizer(n, sums)),
            }
        }
        sum + normals.log_normalizer()
    }

    fn could_be(&self, stats: &Stats) -> bool {
        self.columns_of(stats).all(|ColumnOf { column, n, sums }| {
            (0.0..=stats.count as f64).contains(&n) && with_law!(&column.law, law => law.could_be(n, sums))
        })
    }

    /// The parameters of the columns, one after another.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let mut parameters = Vec::with_capacity(self.parameters_len());
        for ColumnOf { column, n, sums } in self.columns_of(stats) {
            with_law!(&column.law, law => law.sample_parameters(n, sums, rng, &mut parameters));
        }
        parameters
    }

    /// Means, or square roots of probabilities, of the columns.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        let mut sketch = Vec::new();
        for ColumnOf { column, n, sums } in self.columns_of(stats) {
            with_law!(&column.law, law => law.sketch(n, sums, &mut sketch));
        }
        sketch
    }

    fn cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        self.draw_cut(stats, rng)
    }
}

impl Family for Columns {
    /// The parameters of the columns, one after another.
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        stats.count += sign;
        let Sums::Dense(sums) = &mut stats.sums else { panic!("columns have dense sums") };
        match row {
            Row::F32(numbers) => self.accumulate_cells(numbers, sign as f64, sums),
            Row::F64(numbers) => self.accumulate_cells(numbers, sign as f64, sums),
            Row::Counts(_) => panic!("columns have dense rows"),
        }
    }

    fn log_base_measure(&self, row: Row<'_>) -> f64 {
        let present = self.columns.iter().zip(cells(row)).filter(|(_, x)| !x.is_nan());
        present.map(|(column, x)| with_law!(&column.law, law => law.log_base_measure(x))).sum()
    }

    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        let present = self.columns_of(stats).zip(cells(row)).filter(|(_, x)| !x.is_nan());
        let of_column =
            |(ColumnOf { column, n, sums }, x)| with_law!(&column.law, law => law.log_predictive(x, n, sums));
        present.map(of_column).sum()
    }

    fn side(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        self.side_of_cut(row, cut)
    }

    fn log_likelihood(&self, row: Row<'_>, parameters: &[f64]) -> f64 {
        let present = self.split_parameters(parameters).zip(cells(row)).filter(|(_, x)| !x.is_nan());
        present.map(|((column, parameters), x)| with_law!(&column.law, law => law.log_likelihood(x, parameters))).sum()
    }

    /// Which cells are missing is not modelled: those of `like` are.
    fn sample_row(&self, parameters: &[f64], like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        let is_missing: Vec<bool> = match like {
            Row::Counts(_) => Vec::new(),
            dense => cells(dense).map(f64::is_nan).collect(),
        };
        let cell = |(column_ix, (column, parameters)): (usize, (&Column, &[f64]))| {
            if is_missing.get(column_ix) == Some(&true) {
                return f64::NAN;
            }
            with_law!(&column.law, law => law.sample_cell(parameters, rng))
        };
        OwnedRow::Numbers(self.split_parameters(parameters).enumerate().map(cell).collect())
    }
}
