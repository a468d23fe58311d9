//! The survey: mergeable summaries of a shard, from which priors and the offset are chosen. No row leaves its worker.

use serde::{Deserialize, Serialize};

use crate::rows::{Row, Shard};

/// How far from 1 the squared length of a row may be that is meant to have length 1.
const UNIT: f64 = 1e-4;

/// What is known of the data before the first cycle.
///
/// ```
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
///
/// // every worker looks at its own rows; together they know what one would who had all
/// let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 2.0, 4.0, 6.0]));
/// let survey = Survey::of(&rows.part(0..1)).merge(&Survey::of(&rows.part(1..4)));
/// assert_eq!(survey.n_rows, 4);
/// assert!((survey.means()[0] - 3.0).abs() < 1e-12 && (survey.pooled_sd() - 5f64.sqrt()).abs() < 1e-12);
/// ```
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
///
/// ```
/// use dirigent::rows::{CountTable, Shard, Table};
/// use dirigent::survey::{CellSummary, Survey};
///
/// let mut documents = CountTable::new(1000);
/// documents.push_row([(3, 2), (17, 1)]);
/// documents.push_row([(3, 4)]);
/// let survey = Survey::of(&Shard::of_table(Table::Counts(documents)));
/// assert_eq!(survey.cells, CellSummary::Counts { n_entries: 3, n_words: 7 });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CellSummary {
    /// Dense rows.
    Numbers {
        /// One summary a column.
        columns: Vec<ColumnSummary>,
        /// The smallest and the largest ‖x‖² of a row without missing cells.
        squared_lengths: [f64; 2],
    },
    /// Sparse counts.
    Counts {
        /// Stored entries.
        n_entries: u64,
        /// Words in all, repeats included.
        n_words: u64,
    },
}

/// The moments and the range of one column.
///
/// ```
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
///
/// let rows = Shard::of_table(Table::from_f64(2, vec![1.0, 0.0, 3.5, 1.0, f64::NAN, 1.0]));
/// let survey = Survey::of(&rows);
/// let [height, is_member] = survey.columns() else { panic!("two columns") };
/// assert_eq!((height.n, height.min, height.max, height.sd()), (2, 1.0, 3.5, 1.25));
/// assert!(is_member.is_binary() && !height.is_whole);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// The number of cells that are not missing.
    pub n: u64,
    /// The mean.
    pub mean: f64,
    /// Σ (x − mean)².
    pub squares: f64,
    /// The smallest number.
    pub min: f64,
    /// The largest number.
    pub max: f64,
    /// Whether all numbers are whole.
    pub is_whole: bool,
}

impl Survey {
    /// Looks at every row of a shard once.
    ///
    /// ```
    /// use dirigent::rows::{Shard, Table};
    /// use dirigent::survey::Survey;
    ///
    /// let rows = Shard::of_table(Table::from_f64(2, vec![0.0, 5.0, 2.0, 5.0]));
    /// let survey = Survey::of(&rows);
    /// assert_eq!((survey.n_rows, survey.means()), (2, vec![1.0, 5.0]));
    /// ```
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
            (
                CellSummary::Numbers { columns: a, squared_lengths: [shortest, longest] },
                CellSummary::Numbers { columns: b, squared_lengths: [others_shortest, others_longest] },
            ) => CellSummary::Numbers {
                columns: a.iter().zip(b).map(|(a, b)| a.merge(b)).collect(),
                squared_lengths: [shortest.min(*others_shortest), longest.max(*others_longest)],
            },
            (
                &CellSummary::Counts { n_entries, n_words },
                &CellSummary::Counts { n_entries: more_entries, n_words: more_words },
            ) => CellSummary::Counts { n_entries: n_entries + more_entries, n_words: n_words + more_words },
            _ => panic!("shards of one data set have the same kind of rows"),
        };
        Self { n_rows: self.n_rows + other.n_rows, n_columns: self.n_columns, cells }
    }

    /// The columns of dense rows.
    pub fn columns(&self) -> &[ColumnSummary] {
        match &self.cells {
            CellSummary::Numbers { columns, .. } => columns,
            CellSummary::Counts { .. } => panic!("counts have no column summaries"),
        }
    }

    /// The mean of each column.
    pub fn means(&self) -> Vec<f64> {
        self.columns().iter().map(|column| column.mean).collect()
    }

    /// The root mean variance of the columns.
    pub fn pooled_sd(&self) -> f64 {
        let squares: f64 = self.columns().iter().map(|column| column.squares).sum();
        (squares / (self.n_rows as f64 * self.n_columns as f64)).sqrt()
    }

    /// Whether all rows have length 1, up to the rounding of single precision.
    pub fn has_unit_rows(&self) -> bool {
        match self.cells {
            CellSummary::Numbers { squared_lengths: [shortest, longest], .. } => {
                shortest > 1.0 - UNIT
                    && longest < 1.0 + UNIT
                    && self.columns().iter().all(|column| column.n == self.n_rows)
            }
            CellSummary::Counts { .. } => false,
        }
    }
}

impl ColumnSummary {
    /// The standard deviation; 1 for a column that has none of its own.
    pub fn sd(&self) -> f64 {
        let sd = (self.squares / self.n as f64).sqrt();
        if sd > 0.0 && sd.is_finite() { sd } else { 1.0 }
    }

    /// Whether there are zeros and ones, and nothing else.
    pub fn is_binary(&self) -> bool {
        self.is_whole && self.min == 0.0 && self.max == 1.0
    }

    fn merge(&self, other: &Self) -> Self {
        if self.n == 0 {
            return *other;
        }
        if other.n == 0 {
            return *self;
        }
        let (n, n_other) = (self.n as f64, other.n as f64);
        let (gap, total) = (other.mean - self.mean, n + n_other);
        Self {
            n: self.n + other.n,
            mean: self.mean + gap * (n_other / total),
            squares: self.squares + other.squares + gap * gap * (n / total) * n_other,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            is_whole: self.is_whole && other.is_whole,
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

/// A column as its cells come in: sums about the first of them, because raw squares cancel far from the origin.
#[derive(Clone)]
struct Running {
    n: u64,
    shift: f64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
    is_whole: bool,
}

impl Running {
    const EMPTY: Self =
        Self { n: 0, shift: 0.0, sum: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY, is_whole: true };

    #[inline(always)]
    fn see(&mut self, x: f64) {
        if x.is_nan() {
            return;
        }
        if self.n == 0 {
            self.shift = x;
        }
        let shifted = x - self.shift;
        self.n += 1;
        self.sum += shifted;
        self.squares += shifted * shifted;
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        self.is_whole &= x == x.trunc();
    }

    fn summary(&self) -> ColumnSummary {
        let Self { n, min, max, is_whole, .. } = *self;
        let mean_shifted = if n > 0 { self.sum / n as f64 } else { 0.0 };
        let squares = if n > 0 { (self.squares - self.sum * self.sum / n as f64).max(0.0) } else { 0.0 };
        ColumnSummary { n, mean: self.shift + mean_shifted, squares, min, max, is_whole }
    }
}

fn survey_numbers(shard: &Shard) -> CellSummary {
    fn see<T: Copy + Into<f64>>(columns: &mut [Running], numbers: &[T]) -> f64 {
        let mut squared_length = 0.0;
        for (column, &x) in columns.iter_mut().zip(numbers) {
            let x = x.into();
            column.see(x);
            squared_length += x * x;
        }
        squared_length
    }
    let mut columns = vec![Running::EMPTY; shard.n_columns()];
    let (mut shortest, mut longest) = (f64::INFINITY, f64::NEG_INFINITY);
    for row in shard.rows() {
        let squared_length = match row {
            Row::F32(numbers) => see(&mut columns, numbers),
            Row::F64(numbers) => see(&mut columns, numbers),
            Row::Counts(_) => panic!("rows of one kind"),
        };
        // a row with missing cells is NaN, and neither the shortest nor the longest
        shortest = shortest.min(squared_length);
        longest = longest.max(squared_length);
    }
    let columns = columns.iter().map(Running::summary).collect();
    CellSummary::Numbers { columns, squared_lengths: [shortest, longest] }
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
