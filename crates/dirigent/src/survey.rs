//! The survey: mergeable summaries of a shard, from which priors and the offset are chosen. No row leaves its worker.

use serde::{Deserialize, Serialize};

use crate::rows::{Row, Shard};

/// What is known of the data before the first cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The number of rows.
    pub n_rows: u64,
    /// Columns, or words of the vocabulary.
    pub n_columns: usize,
    /// What the rows are made of.
    pub cells: CellSummary,
}

/// A summary of dense columns or of counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CellSummary {
    /// One summary a column.
    Numbers(Vec<ColumnSummary>),
    /// Sparse counts.
    Counts {
        /// Stored entries.
        n_entries: u64,
        /// Words in all, repeats included.
        n_words: u64,
    },
}

/// The moments and the range of one column.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// The mean.
    pub mean: f64,
    /// Σ (x − mean)².
    pub squares: f64,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
}

impl Survey {
    /// Looks at every row of a shard once.
    pub fn of(shard: &Shard) -> Self {
        let cells = if shard.is_counts() { survey_counts(shard) } else { survey_numbers(shard) };
        Self { n_rows: shard.n_rows() as u64, n_columns: shard.n_columns(), cells }
    }

    /// The survey of shards together, put together in their order.
    pub fn of_all(shards: &[Shard]) -> Self {
        shards.iter().map(Self::of).reduce(|all, survey| all.merge(&survey)).expect("there is a shard")
    }

    /// The survey of two shards together.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let cells = match (&self.cells, &other.cells) {
            (CellSummary::Numbers(a), CellSummary::Numbers(b)) => CellSummary::Numbers(
                a.iter().zip(b).map(|(a, b)| a.merge(self.n_rows as f64, b, other.n_rows as f64)).collect(),
            ),
            (
                &CellSummary::Counts { n_entries, n_words },
                &CellSummary::Counts { n_entries: more_entries, n_words: more_words },
            ) => CellSummary::Counts { n_entries: n_entries + more_entries, n_words: n_words + more_words },
            _ => panic!("shards of one data set have the same kind of rows"),
        };
        Self { n_rows: self.n_rows + other.n_rows, n_columns: self.n_columns, cells }
    }

    /// The mean of each column.
    pub fn means(&self) -> Vec<f64> {
        match &self.cells {
            CellSummary::Numbers(columns) => columns.iter().map(|column| column.mean).collect(),
            CellSummary::Counts { .. } => panic!("counts have no column means"),
        }
    }

    /// The root mean variance of the columns.
    pub fn pooled_sd(&self) -> f64 {
        match &self.cells {
            CellSummary::Numbers(columns) => {
                let squares: f64 = columns.iter().map(|column| column.squares).sum();
                (squares / (self.n_rows as f64 * self.n_columns as f64)).sqrt()
            }
            CellSummary::Counts { .. } => panic!("counts have no column variances"),
        }
    }
}

impl ColumnSummary {
    fn merge(&self, n: f64, other: &Self, n_other: f64) -> Self {
        if n == 0.0 {
            return *other;
        }
        if n_other == 0.0 {
            return *self;
        }
        let (gap, total) = (other.mean - self.mean, n + n_other);
        Self {
            mean: self.mean + gap * (n_other / total),
            squares: self.squares + other.squares + gap * gap * (n / total) * n_other,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

fn survey_counts(shard: &Shard) -> CellSummary {
    let (mut n_entries, mut n_words) = (0, 0);
    for row in shard.rows() {
        let Row::Counts(row) = row else { panic!("rows of one kind") };
        n_entries += row.words.len() as u64;
        n_words += row.total();
    }
    CellSummary::Counts { n_entries, n_words }
}

/// Sums about the first row, because raw squares cancel far from the origin.
fn survey_numbers(shard: &Shard) -> CellSummary {
    #[derive(Clone)]
    struct Running {
        shift: f64,
        sum: f64,
        squares: f64,
        min: f64,
        max: f64,
    }
    fn see<T: Copy + Into<f64>>(columns: &mut Vec<Running>, numbers: &[T]) {
        if columns.is_empty() {
            let start = |&x: &T| Running { shift: x.into(), sum: 0.0, squares: 0.0, min: x.into(), max: x.into() };
            columns.extend(numbers.iter().map(start));
        }
        for (column, &x) in columns.iter_mut().zip(numbers) {
            let x = x.into();
            let shifted = x - column.shift;
            column.sum += shifted;
            column.squares += shifted * shifted;
            column.min = column.min.min(x);
            column.max = column.max.max(x);
        }
    }
    let mut columns: Vec<Running> = Vec::new();
    for row in shard.rows() {
        match row {
            Row::F32(numbers) => see(&mut columns, numbers),
            Row::F64(numbers) => see(&mut columns, numbers),
            Row::Counts(_) => panic!("rows of one kind"),
        }
    }
    let n = shard.n_rows() as f64;
    let nothing = ColumnSummary { mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY };
    let finish = |column: &Running| ColumnSummary {
        mean: column.shift + column.sum / n,
        squares: (column.squares - column.sum * column.sum / n).max(0.0),
        min: column.min,
        max: column.max,
    };
    let summaries =
        if columns.is_empty() { vec![nothing; shard.n_columns()] } else { columns.iter().map(finish).collect() };
    CellSummary::Numbers(summaries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Table;
    use std::sync::Arc;

    #[test]
    fn shards_merge_to_the_whole_even_far_from_the_origin() {
        let cells: Vec<f64> = (0..40).map(|i| 1e9 + f64::from(i * i % 17)).collect();
        let tables = [Arc::new(Table::from_f64(2, cells))];
        let whole = Survey::of(&Shard::of_tables(&tables, 0..20));
        let [a, b, c] = [0..0, 0..7, 7..20].map(|rows| Survey::of(&Shard::of_tables(&tables, rows)));
        let merged = a.merge(&b).merge(&c);
        assert_eq!(merged.n_rows, 20);
        assert!((merged.pooled_sd() - whole.pooled_sd()).abs() < 1e-6 * whole.pooled_sd());
        let gap = merged.means().iter().zip(whole.means()).map(|(m, w)| (m - w).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-6);
    }
}
