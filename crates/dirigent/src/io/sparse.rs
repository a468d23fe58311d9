//! Sparse rows of numbers, before it is known what they are: counts, or measurements of which most are zero.
//!
//! They are counts if every value of every file is a whole number and none is negative. Otherwise zeros are written out, and the table is a
//! dense one. How many columns there are, and whether they are numbered from 0 or from 1, is also a matter of all files.

use crate::error::{InputError, Result};
use crate::rows::{CountTable, Table};

/// More columns have no numbers.
pub(crate) const MOST_COLUMNS: u64 = 1 << 31;
/// Empty rows cost memory without costing a line, so there may only be so many: these …
const FREE_ROWS: u64 = 1_000_000;
/// … and so many more an entry.
const ROWS_AN_ENTRY: u64 = 1000;
/// Zeros that are written out cost memory, too: so many cells are free (a GiB) …
const FREE_CELLS: usize = 1 << 27;
/// … and so many more an entry.
const CELLS_AN_ENTRY: usize = 8;

/// The sparse rows of one file.
#[derive(Debug)]
pub(crate) struct SparseRows {
    width: MatrixWidth,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// How many columns there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatrixWidth {
    /// So many, as the file says; they are numbered from 0.
    Declared(usize),
    /// As the largest number says, of all files. Numbers begin at 1 unless one of them is 0.
    Found,
}

/// What is wrong with an entry; the reader knows where it stands.
pub(crate) struct Twice {
    /// The column, as the file numbers it.
    pub(crate) column: u32,
}

impl SparseRows {
    /// No rows yet, of so many columns, numbered from 0.
    pub(crate) fn of_width(n_columns: usize) -> Self {
        Self::new(MatrixWidth::Declared(n_columns))
    }

    /// No rows yet, of columns that are numbered from 0 or 1.
    pub(crate) fn of_unknown_width() -> Self {
        Self::new(MatrixWidth::Found)
    }

    fn new(width: MatrixWidth) -> Self {
        Self { width, starts: vec![0], columns: Vec::new(), values: Vec::new() }
    }

    /// Appends a row of entries, which are left sorted. Zeros are not kept; no column may be there twice.
    pub(crate) fn push_row(&mut self, entries: &mut [(u32, f64)]) -> Result<(), Twice> {
        if !entries.is_sorted_by_key(|entry| entry.0) {
            entries.sort_unstable_by_key(|entry| entry.0);
        }
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Twice { column: pair[0].0 });
        }
        for &(column, value) in entries.iter().filter(|entry| entry.1 != 0.0) {
            self.columns.push(column);
            self.values.push(value);
        }
        self.starts.push(self.columns.len());
        Ok(())
    }

    /// The number of rows.
    pub(crate) fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether every value is a count.
    pub(crate) fn is_counts(&self) -> bool {
        self.values.iter().all(|value| count(*value).is_some())
    }

    /// Whether columns are numbered from 0, as far as this file tells. `None` where the file says it for itself.
    pub(crate) fn has_column_zero(&self) -> Option<bool> {
        (self.width == MatrixWidth::Found).then(|| self.columns.contains(&0))
    }

    /// How many columns the file says there are.
    pub(crate) fn declared(&self) -> Option<usize> {
        match self.width {
            MatrixWidth::Declared(n_columns) => Some(n_columns),
            MatrixWidth::Found => None,
        }
    }

    /// How many columns there must be at least.
    pub(crate) fn n_columns_seen(&self, zero_based: bool) -> usize {
        let last = self.columns.iter().max().map_or(0, |&last| last as usize);
        match self.width {
            MatrixWidth::Declared(n_columns) => n_columns,
            MatrixWidth::Found => last + usize::from(zero_based && !self.columns.is_empty()),
        }
    }

    fn row(&self, row_ix: usize, zero_based: bool) -> impl Iterator<Item = (usize, f64)> + '_ {
        let first = usize::from(self.width == MatrixWidth::Found && !zero_based);
        let entries = self.starts[row_ix]..self.starts[row_ix + 1];
        entries.map(move |ix| (self.columns[ix] as usize - first, self.values[ix]))
    }

    /// As counts, which they are.
    pub(crate) fn into_counts(self, n_columns: usize, zero_based: bool) -> Table {
        let mut table = CountTable::new(n_columns);
        for row_ix in 0..self.n_rows() {
            let entries = self.row(row_ix, zero_based);
            table.push_row(entries.map(|(column, value)| (column as u32, value as u32)));
        }
        Table::Counts(table)
    }

    /// How many cells there are with all zeros, which must not be too many.
    pub(crate) fn n_cells(&self, n_columns: usize) -> Result<usize, InputError> {
        check_cells(self.n_rows(), n_columns, self.columns.len())
    }

    /// With all zeros, row after row.
    pub(crate) fn into_cells(self, n_columns: usize, zero_based: bool) -> Result<Vec<f64>, InputError> {
        let mut cells = vec![0.0; self.n_cells(n_columns)?];
        for (row_ix, row) in cells.chunks_exact_mut(n_columns).enumerate() {
            self.row(row_ix, zero_based).for_each(|(column, value)| row[column] = value);
        }
        Ok(cells)
    }
}

/// The number of cells of a dense table, which must not be out of proportion to what the file holds.
pub(crate) fn check_cells(n_rows: usize, n_columns: usize, n_entries: usize) -> Result<usize, InputError> {
    let most = FREE_CELLS.max(n_entries.saturating_mul(CELLS_AN_ENTRY));
    n_rows.checked_mul(n_columns).filter(|cells| *cells <= most).ok_or_else(|| {
        let problem = format!(
            "sparse rows that are no counts are written out with their zeros, but {n_rows} × {n_columns} cells for {n_entries} entries are \
             too many"
        );
        InputError::new(problem).hint("reduce the columns first (by a truncated SVD, say) and save a dense array as .npy")
    })
}

/// Whether a file may have so many rows for its entries.
pub(crate) fn check_rows(n_rows: u64, n_entries: u64) -> Result<(), InputError> {
    if n_rows <= FREE_ROWS.saturating_add(n_entries.saturating_mul(ROWS_AN_ENTRY)) {
        return Ok(());
    }
    let problem = format!("found {n_rows} rows after {n_entries} entries: too many empty ones");
    Err(InputError::new(problem).hint("number the rows without gaps"))
}

/// A value as a count.
pub(crate) fn count(value: f64) -> Option<u32> {
    (value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0).then_some(value as u32)
}
