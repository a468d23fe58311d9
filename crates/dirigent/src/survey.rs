//! The survey: mergeable summaries of a shard, from which priors and the offset are chosen. No row
//! leaves its worker.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

use crate::rows::{Row, Shard};

/// How far from 1 the squared length of a row may be that is meant to have length 1.
const UNIT: f64 = 1e-4;

/// The largest whole number of a column of few values.
const FEW_VALUES: f64 = 10.0;
/// With fewer rows for each value between the smallest and the largest, a column is one of numbers.
const ROWS_PER_VALUE: f64 = 10.0;

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
    /// Dense rows.
    Numbers {
        /// One summary a column.
        columns: Vec<ColumnSummary>,
        /// The smallest and the largest ‖x‖² of a row without missing cells.
        squared_lengths: [f64; 2],
    },
    /// Sparse counts.
    Counts(CountsSummary),
}

/// Sums over documents. They are whole numbers, or rounded so that adding them is exact: the order
/// of shards does not matter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CountsSummary {
    /// Stored entries.
    pub n_entries: u64,
    /// Words in all, repeats included.
    pub n_words: u64,
    /// Words of documents that have at least two.
    pub n_words_with_others: u64,
    /// Σ c (c − 1) / (n − 1) over the entries c of documents of n words, at least two; each
    /// document rounded to a multiple of 2⁻¹².
    pub repeats: f64,
    /// The words that occur, in rising order, and how often.
    pub word_totals: Vec<(u32, u64)>,
}

/// The moments and the range of one column.
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
    /// The number that most cells hold, if there is one; else any.
    pub common: f64,
    /// At least this many cells hold it. Nearly all that do are counted if rows are in no order.
    pub n_common: u64,
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
            (
                CellSummary::Numbers { columns: a, squared_lengths: [shortest, longest] },
                CellSummary::Numbers { columns: b, squared_lengths: [others_shortest, others_longest] },
            ) => CellSummary::Numbers {
                columns: a.iter().zip(b).map(|(a, b)| a.merge(b)).collect(),
                squared_lengths: [shortest.min(*others_shortest), longest.max(*others_longest)],
            },
            (CellSummary::Counts(a), CellSummary::Counts(b)) => CellSummary::Counts(a.merge(b)),
            _ => panic!("shards of one data set have the same kind of rows"),
        };
        Self { n_rows: self.n_rows + other.n_rows, n_columns: self.n_columns, cells }
    }

    /// The columns of dense rows.
    pub fn columns(&self) -> &[ColumnSummary] {
        match &self.cells {
            CellSummary::Numbers { columns, .. } => columns,
            CellSummary::Counts(_) => panic!("counts have no column summaries"),
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
            CellSummary::Counts(_) => false,
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

    /// Whether there are several whole numbers from 0 to 10, and nothing else, with rows enough to
    /// learn the share of each: codes, ratings, small counts.
    pub fn is_few_valued(&self) -> bool {
        let is_few = self.is_whole && self.min >= 0.0 && self.min < self.max && self.max <= FEW_VALUES;
        is_few && self.n as f64 >= ROWS_PER_VALUE * (self.max - self.min + 1.0)
    }

    /// Whether more than half of the cells hold the same number.
    pub fn is_mostly_one_number(&self) -> bool {
        2 * self.n_common > self.n
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
        let (common, n_common) = if self.common == other.common {
            (self.common, self.n_common + other.n_common)
        } else if self.n_common >= other.n_common {
            (self.common, self.n_common)
        } else {
            (other.common, other.n_common)
        };
        Self {
            n: self.n + other.n,
            mean: self.mean + gap * (n_other / total),
            squares: self.squares + other.squares + gap * gap * (n / total) * n_other,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            is_whole: self.is_whole && other.is_whole,
            common,
            n_common,
        }
    }
}

impl CountsSummary {
    /// The design effect of words that repeat within documents: how many words tell as much as one
    /// would if all were drawn independently. 1 if a word does not repeat within documents more
    /// often than between them.
    pub fn design_effect(&self, n_rows: u64) -> f64 {
        if self.n_words_with_others == 0 {
            return 1.0;
        }
        let n_words = self.n_words as f64;
        let share = |&(_, total): &(u32, u64)| total as f64 / n_words;
        let between: f64 = self.word_totals.iter().map(share).map(|share| share * share).sum();
        let within = self.repeats / self.n_words_with_others as f64;
        // a single word repeats always, and means nothing
        let correlation = if between < 1.0 { (within - between) / (1.0 - between) } else { 0.0 };
        1.0 + correlation.max(0.0) * (n_words / n_rows as f64 - 1.0).max(0.0)
    }

    fn merge(&self, other: &Self) -> Self {
        Self {
            n_entries: self.n_entries + other.n_entries,
            n_words: self.n_words + other.n_words,
            n_words_with_others: self.n_words_with_others + other.n_words_with_others,
            repeats: self.repeats + other.repeats,
            word_totals: merge_totals(&self.word_totals, &other.word_totals),
        }
    }
}

/// The totals of two lists together, each in rising order of words.
fn merge_totals(a: &[(u32, u64)], b: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut merged = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    while let (Some(&(word, total)), Some(&(other_word, other_total))) = (a.peek(), b.peek()) {
        let first = word.min(other_word);
        let of_a = a.next_if(|(word, _)| *word == first).map_or(0, |_| total);
        let of_b = b.next_if(|(word, _)| *word == first).map_or(0, |_| other_total);
        merged.push((first, of_a + of_b));
    }
    merged.extend(a.chain(b));
    merged
}

/// Multiples of one over this are added without rounding.
const REPEAT_STEPS: f64 = 4096.0;

fn survey_counts(shard: &Shard) -> CellSummary {
    let mut summary = CountsSummary::default();
    // a vocabulary may be much larger than the words that occur
    let mut totals: HashMap<u32, u64, BuildHasherDefault<WordHasher>> = HashMap::default();
    for row in shard.rows() {
        let Row::Counts(row) = row else { panic!("rows of one kind") };
        let n_words = row.total();
        summary.n_entries += row.words.len() as u64;
        summary.n_words += n_words;
        if n_words > 1 {
            let pairs: f64 = row.counts.iter().map(|&count| f64::from(count) * (f64::from(count) - 1.0)).sum();
            summary.n_words_with_others += n_words;
            summary.repeats += (REPEAT_STEPS * pairs / (n_words - 1) as f64).round() / REPEAT_STEPS;
        }
        for (word, count) in row.iter() {
            *totals.entry(word).or_default() += u64::from(count);
        }
    }
    summary.word_totals = totals.into_iter().collect();
    summary.word_totals.sort_unstable();
    CellSummary::Counts(summary)
}

/// Spreads the numbers of words: these come from files, but a slow table is all that bad ones can
/// bring about.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// A column as its cells come in: sums about the first of them, because raw squares cancel far from
/// the origin.
#[derive(Clone)]
struct Running {
    n: u64,
    shift: f64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
    is_whole: bool,
    /// Boyer and Moore's candidate for the number of most cells, its lead over all others, and its
    /// cells since it became the candidate.
    common: f64,
    lead: u64,
    n_common: u64,
}

impl Running {
    const EMPTY: Self = Self {
        n: 0,
        shift: 0.0,
        sum: 0.0,
        squares: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
        is_whole: true,
        common: 0.0,
        lead: 0,
        n_common: 0,
    };

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
        if x == self.common {
            self.lead += 1;
            self.n_common += 1;
        } else if self.lead > 0 {
            self.lead -= 1;
        } else {
            (self.common, self.lead, self.n_common) = (x, 1, 1);
        }
    }

    fn summary(&self) -> ColumnSummary {
        let Self { n, min, max, is_whole, common, n_common, .. } = *self;
        let mean_shifted = if n > 0 { self.sum / n as f64 } else { 0.0 };
        let squares = if n > 0 { (self.squares - self.sum * self.sum / n as f64).max(0.0) } else { 0.0 };
        ColumnSummary { n, mean: self.shift + mean_shifted, squares, min, max, is_whole, common, n_common }
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
    use crate::rows::{CountTable, Table};
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

    #[test]
    fn the_number_of_most_cells_is_found_in_any_order_of_shards() {
        // 0.48 in two thirds of the first column, in a third of the second
        let cells = |row: usize| match row % 3 {
            0 => [row as f64, 0.48],
            _ => [0.48, row as f64],
        };
        let rows = Shard::of_table(Table::from_f64(2, (0..300).flat_map(cells).collect()));
        let [a, b, c] = [0..100, 100..101, 101..300].map(|range| Survey::of(&rows.part(range)));
        for survey in [Survey::of(&rows), a.merge(&b).merge(&c), c.merge(&b).merge(&a)] {
            let [often, seldom] = survey.columns() else { panic!("two columns") };
            assert!(often.is_mostly_one_number() && often.common == 0.48 && often.n_common <= 200);
            assert!(!seldom.is_mostly_one_number() && seldom.n_common <= 100);
        }
        let missing = Survey::of(&Shard::of_table(Table::from_f64(1, vec![f64::NAN; 3])));
        assert!(!missing.columns()[0].is_mostly_one_number());
    }

    fn documents(n_words: usize, rows: &[&[(u32, u32)]]) -> Shard {
        let mut table = CountTable::new(n_words);
        rows.iter().for_each(|row| table.push_row(row.iter().copied()));
        Shard::of_table(Table::Counts(table))
    }

    fn counts(survey: Survey) -> CountsSummary {
        match survey.cells {
            CellSummary::Counts(counts) => counts,
            CellSummary::Numbers { .. } => panic!("documents"),
        }
    }

    #[test]
    fn surveys_of_documents_merge_exactly_in_any_order() {
        let rows: Vec<Vec<(u32, u32)>> = (0..50u32)
            .map(|row| (row % 4..5).map(|word| (7 * word + row % 7, 1 + (row * word) % 5)).collect())
            .collect();
        let rows: Vec<&[(u32, u32)]> = rows.iter().map(Vec::as_slice).collect();
        let all = documents(60, &rows);
        let shards = [0..0, 0..1, 1..20, 20..33, 33..50].map(|rows| Survey::of(&all.part(rows)));
        let forward = shards.iter().cloned().reduce(|a, b| a.merge(&b)).unwrap();
        let backward = shards.iter().rev().cloned().reduce(|a, b| a.merge(&b)).unwrap();
        assert_eq!((&forward, &backward), (&Survey::of(&all), &Survey::of(&all)));
    }

    #[test]
    fn the_sums_of_three_documents_are_those_by_hand() {
        // words 3 + 1, 2 and 1: the pairs of equal words are 6 of 12 and 2 of 2
        let counts = counts(Survey::of(&documents(3, &[&[(0, 3), (1, 1)], &[(2, 2)], &[(1, 1)]])));
        assert_eq!((counts.n_entries, counts.n_words, counts.n_words_with_others), (4, 7, 6));
        assert_eq!((counts.repeats, counts.word_totals.as_slice()), (4.0, [(0, 3), (1, 2), (2, 2)].as_slice()));
        // A = 4/6, Q = (9 + 4 + 4)/49, r = (A − Q)/(1 − Q), D = 1 + r (7/3 − 1)
        let (within, between) = (4.0 / 6.0, 17.0 / 49.0);
        let by_hand = 1.0 + (within - between) / (1.0 - between) * (7.0 / 3.0 - 1.0);
        assert!((counts.design_effect(3) - by_hand).abs() < 1e-15);
    }

    #[test]
    fn words_that_cannot_repeat_have_no_design_effect() {
        let effect = |n_words, rows: &[&[(u32, u32)]]| {
            counts(Survey::of(&documents(n_words, rows))).design_effect(rows.len() as u64)
        };
        assert_eq!(effect(9, &[&[], &[], &[]]), 1.0, "no words");
        assert_eq!(effect(9, &[&[(3, 1)], &[(8, 1)], &[]]), 1.0, "documents of one word");
        assert_eq!(effect(1, &[&[(0, 5)], &[(0, 2)]]), 1.0, "a vocabulary of one word");
    }
}
