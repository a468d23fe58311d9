//! Rows: dense numbers or sparse counts, behind one shard type.
//!
//! A [`Table`] is what one file holds (in memory, or mapped). A [`Shard`] is a run of rows of the
//! concatenated input, whatever the borders of the files: worker `w` of `M` owns the rows
//! ⌊wN/M⌋..⌊(w+1)N/M⌋.

use std::ops::Range;
use std::sync::Arc;

use crate::io::mapped::MappedNumbers;

/// One row, borrowed from its shard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// Single precision numbers.
    F32(&'a [f32]),
    /// Double precision numbers.
    F64(&'a [f64]),
    /// Sparse counts, such as the words of a document.
    Counts(CountRow<'a>),
}

/// A sparse row: `counts[i]` times the word `words[i]`; words rise strictly, counts are positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRow<'a> {
    /// Column numbers, strictly rising.
    pub words: &'a [u32],
    /// How often each occurs, at least once.
    pub counts: &'a [u32],
}

impl CountRow<'_> {
    /// All words of the row, repeats included.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// (word, count) in rising order of words.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.words.iter().copied().zip(self.counts.iter().copied())
    }
}

/// The cells of a dense table, row after row: owned, or a view of a mapped file.
#[derive(Debug)]
pub enum Cells<T> {
    /// In memory.
    Owned(Vec<T>),
    /// In a mapped file: resident only as far as the system keeps it.
    Mapped(MappedNumbers<T>),
}

impl<T: bytemuck::Pod> Cells<T> {
    /// All cells, row after row.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::Owned(cells) => cells,
            Self::Mapped(cells) => cells.as_slice(),
        }
    }
}

/// Sparse rows in compressed form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountTable {
    n_columns: usize,
    starts: Vec<usize>,
    words: Vec<u32>,
    counts: Vec<u32>,
}

impl CountTable {
    /// No rows yet, over `n_columns` words.
    pub fn new(n_columns: usize) -> Self {
        Self { n_columns, starts: vec![0], words: Vec::new(), counts: Vec::new() }
    }

    /// Appends a row. Words must rise strictly and be below `n_columns`, counts must be positive.
    pub fn push_row(&mut self, entries: impl IntoIterator<Item = (u32, u32)>) {
        let start = self.words.len();
        for (word, count) in entries {
            let rising = self.words.len() == start || self.words[self.words.len() - 1] < word;
            assert!(
                rising && (word as usize) < self.n_columns && count > 0,
                "a row of counts must be sorted and in range"
            );
            self.words.push(word);
            self.counts.push(count);
        }
        self.starts.push(self.words.len());
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row_ix: usize) -> CountRow<'_> {
        let entries = self.starts[row_ix]..self.starts[row_ix + 1];
        CountRow { words: &self.words[entries.clone()], counts: &self.counts[entries] }
    }
}

/// The rows of one file.
#[derive(Debug)]
pub enum Table {
    /// Single precision, `n_columns` cells a row.
    F32 {
        /// Cells a row.
        n_columns: usize,
        /// The numbers, row after row.
        cells: Cells<f32>,
    },
    /// Double precision, `n_columns` cells a row.
    F64 {
        /// Cells a row.
        n_columns: usize,
        /// The numbers, row after row.
        cells: Cells<f64>,
    },
    /// Sparse counts.
    Counts(CountTable),
}

impl Table {
    /// A table of doubles in memory.
    pub fn from_f64(n_columns: usize, cells: Vec<f64>) -> Self {
        assert!(n_columns > 0 && cells.len().is_multiple_of(n_columns), "a table has whole rows");
        Self::F64 { n_columns, cells: Cells::Owned(cells) }
    }

    /// A table of singles in memory.
    pub fn from_f32(n_columns: usize, cells: Vec<f32>) -> Self {
        assert!(n_columns > 0 && cells.len().is_multiple_of(n_columns), "a table has whole rows");
        Self::F32 { n_columns, cells: Cells::Owned(cells) }
    }

    /// The number of columns (for counts: the size of the vocabulary).
    pub fn n_columns(&self) -> usize {
        match self {
            Self::F32 { n_columns, .. } | Self::F64 { n_columns, .. } => *n_columns,
            Self::Counts(table) => table.n_columns,
        }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::F32 { n_columns, cells } => cells.as_slice().len() / n_columns,
            Self::F64 { n_columns, cells } => cells.as_slice().len() / n_columns,
            Self::Counts(table) => table.n_rows(),
        }
    }

    /// One row.
    #[inline]
    pub fn row(&self, row_ix: usize) -> Row<'_> {
        match self {
            Self::F32 { n_columns, cells } => Row::F32(&cells.as_slice()[row_ix * n_columns..(row_ix + 1) * n_columns]),
            Self::F64 { n_columns, cells } => Row::F64(&cells.as_slice()[row_ix * n_columns..(row_ix + 1) * n_columns]),
            Self::Counts(table) => Row::Counts(table.row(row_ix)),
        }
    }
}

/// A run of rows of the concatenated input: what one worker owns.
#[derive(Debug, Clone)]
pub struct Shard {
    n_columns: usize,
    is_counts: bool,
    n_rows: usize,
    /// Every `stride`-th row of the blocks, from `first` on.
    first: usize,
    stride: usize,
    blocks: Vec<Block>,
}

/// The part of a shard that lies in one table.
#[derive(Debug, Clone)]
struct Block {
    table: Arc<Table>,
    /// Shard row of the block's first row.
    first_row: usize,
    /// Table row of the block's first row.
    table_row: usize,
}

impl Shard {
    /// The given rows of the tables laid end to end. All tables have the same number of columns.
    pub fn of_tables(tables: &[Arc<Table>], rows: Range<usize>) -> Self {
        let n_columns = tables.first().map_or(0, |table| table.n_columns());
        let is_counts = tables.iter().any(|table| matches!(**table, Table::Counts(_)));
        let mut shard = Self { n_columns, is_counts, n_rows: 0, first: 0, stride: 1, blocks: Vec::new() };
        let mut table_start = 0;
        for table in tables {
            assert_eq!(table.n_columns(), n_columns, "tables of one data set have the same columns");
            let table_end = table_start + table.n_rows();
            let (first, last) = (rows.start.max(table_start), rows.end.min(table_end));
            if first < last {
                let table_row = first - table_start;
                shard.blocks.push(Block { table: Arc::clone(table), first_row: shard.n_rows, table_row });
                shard.n_rows += last - first;
            }
            table_start = table_end;
        }
        assert_eq!(shard.n_rows, rows.len(), "the rows asked for must exist");
        shard
    }

    /// Every `stride`-th row, the first one included, as a shard of their own.
    #[must_use]
    pub fn every(&self, stride: usize) -> Self {
        self.every_from(0, stride)
    }

    /// Every `stride`-th row from `first` on, as a shard of their own.
    #[must_use]
    pub fn every_from(&self, first: usize, stride: usize) -> Self {
        assert!(stride > 0, "a stride is at least 1");
        let n_rows = self.n_rows.saturating_sub(first).div_ceil(stride);
        Self { n_rows, first: self.first + first * self.stride, stride: self.stride * stride, ..self.clone() }
    }

    /// The given rows of this shard, as a shard of their own.
    #[must_use]
    pub fn part(&self, rows: Range<usize>) -> Self {
        assert_eq!((self.first, self.stride), (0, 1), "parts are of whole shards");
        assert!(rows.start <= rows.end && rows.end <= self.n_rows, "the rows asked for must exist");
        let ends = self.blocks.iter().skip(1).map(|block| block.first_row).chain([self.n_rows]);
        let mut part = Self { n_rows: 0, blocks: Vec::new(), ..*self };
        for (block, end) in self.blocks.iter().zip(ends) {
            let (first, last) = (rows.start.max(block.first_row), rows.end.min(end));
            if first < last {
                let table_row = block.table_row + first - block.first_row;
                part.blocks.push(Block { table: Arc::clone(&block.table), first_row: part.n_rows, table_row });
                part.n_rows += last - first;
            }
        }
        part
    }

    /// A shard of a whole table.
    pub fn of_table(table: Table) -> Self {
        let n_rows = table.n_rows();
        Self::of_tables(&[Arc::new(table)], 0..n_rows)
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns (for counts: the size of the vocabulary).
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Whether the rows are sparse counts.
    pub fn is_counts(&self) -> bool {
        self.is_counts
    }

    /// One row.
    #[inline]
    pub fn row(&self, row_ix: usize) -> Row<'_> {
        debug_assert!(row_ix < self.n_rows, "row {row_ix} of {}", self.n_rows);
        let row_ix = self.first + row_ix * self.stride;
        let block = match self.blocks.as_slice() {
            [block] => block,
            blocks => &blocks[blocks.partition_point(|block| block.first_row <= row_ix) - 1],
        };
        block.table.row(row_ix - block.first_row + block.table_row)
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> + '_ {
        (0..self.n_rows).map(|row_ix| self.row(row_ix))
    }
}

/// The rows that worker `worker` of `n_workers` owns: ⌊wN/M⌋..⌊(w+1)N/M⌋.
pub fn worker_rows(worker: usize, n_workers: usize, n_rows: usize) -> Range<usize> {
    assert!(worker < n_workers, "worker {worker} of {n_workers}");
    let border = |w: usize| (w as u128 * n_rows as u128 / n_workers as u128) as usize;
    border(worker)..border(worker + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_crosses_the_borders_of_files_and_number_types() {
        let tables = [
            Arc::new(Table::from_f32(2, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])),
            Arc::new(Table::from_f64(2, vec![])),
            Arc::new(Table::from_f64(2, vec![6.0, 7.0, 8.0, 9.0])),
        ];
        let shard = Shard::of_tables(&tables, 1..4);
        let rows: Vec<_> = shard.rows().collect();
        assert_eq!(rows, [Row::F32(&[2.0, 3.0]), Row::F32(&[4.0, 5.0]), Row::F64(&[6.0, 7.0])]);
        let part = shard.part(1..3);
        assert_eq!(part.rows().collect::<Vec<_>>(), [Row::F32(&[4.0, 5.0]), Row::F64(&[6.0, 7.0])]);
        assert_eq!(shard.every(2).rows().collect::<Vec<_>>(), [Row::F32(&[2.0, 3.0]), Row::F64(&[6.0, 7.0])]);
        assert_eq!(shard.every(5).n_rows(), 1);
        assert_eq!((part.part(1..2).row(0), part.part(1..1).n_rows()), (Row::F64(&[6.0, 7.0]), 0));
    }

    #[test]
    fn workers_own_every_row_once() {
        for (n_workers, n_rows) in [(1, 0), (3, 10), (7, 3), (20, 141_000)] {
            let mut next = 0;
            for worker in 0..n_workers {
                let rows = worker_rows(worker, n_workers, n_rows);
                assert_eq!(rows.start, next);
                next = rows.end;
            }
            assert_eq!(next, n_rows);
        }
    }

    #[test]
    fn counts_keep_their_rows() {
        let mut table = CountTable::new(5);
        table.push_row([(0, 2), (4, 1)]);
        table.push_row([]);
        let shard = Shard::of_table(Table::Counts(table));
        let Row::Counts(row) = shard.row(0) else { panic!("counts expected") };
        assert_eq!((row.total(), row.iter().collect::<Vec<_>>()), (3, vec![(0, 2), (4, 1)]));
        assert_eq!(shard.row(1), Row::Counts(CountRow { words: &[], counts: &[] }));
    }
}
