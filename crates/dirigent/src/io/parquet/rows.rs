//! From the columns of a Parquet file to the rows of a table.

use crate::error::{InputError, Result};
use crate::io::CellFormat;
use crate::io::cells::{self, Cell};
use crate::io::columns::{ColumnKind, FileColumns};
use crate::io::levels::Origin;
use crate::io::source;
use crate::io::spill::CellWriter;
use crate::rows::Cells;

use super::leaf::Batch;
use super::schema::{Field, LeafKind};
use super::{File, Source};

/// The cells so far.
pub(super) struct ParquetRows<'a, T> {
    file: &'a File<'a>,
    columns: &'a mut FileColumns,
    /// Those that are not in the file.
    cells: Vec<T>,
    spilled: Option<CellWriter<T>>,
    n_columns: usize,
    /// Rows of which every column was put.
    n_rows: usize,
}

impl<'a, T: Cell> ParquetRows<'a, T> {
    /// No rows yet.
    pub(super) fn new(
        file: &'a File<'a>,
        columns: &'a mut FileColumns,
        n_columns: usize,
        spilled: Option<CellWriter<T>>,
    ) -> Self {
        Self { file, columns, cells: Vec::new(), spilled, n_columns, n_rows: 0 }
    }

    /// The number of rows, without those of the batch that is being put.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Ends a batch, of which every column was put.
    pub(super) fn end_batch(&mut self, n_rows: usize) -> Result<()> {
        self.n_rows += n_rows;
        if let Some(spilled) = &mut self.spilled {
            spilled.write(&self.cells)?;
            self.cells.clear();
        }
        Ok(())
    }

    /// Where the cells of the batch that is being put begin.
    fn first_cell(&self) -> usize {
        if self.spilled.is_some() { 0 } else { self.n_rows * self.n_columns }
    }

    /// All cells, row after row.
    pub(super) fn into_cells(mut self) -> Result<Cells<T>> {
        if let Some(spilled) = self.spilled {
            return spilled.finish();
        }
        self.cells.shrink_to_fit();
        Ok(Cells::Owned(self.cells))
    }

    /// Puts the elements that are wanted of a column's next rows where they belong.
    pub(super) fn put(&mut self, source: &Source, field: &Field, batch: &Batch, n_rows: usize) -> Result<()> {
        // grows with what was read, not with what is claimed
        self.cells.resize(self.first_cell() + n_rows * self.n_columns, T::of_level(0.0));
        if field.is_list {
            return self.put_lists(source, field, batch);
        }
        for &(_, column) in &source.targets {
            if field.kind == LeafKind::Text {
                self.put_texts(field, batch, column)?;
            } else {
                self.put_numbers(field, batch.numbers.iter().copied(), column)?;
            }
        }
        Ok(())
    }

    fn put_lists(&mut self, source: &Source, field: &Field, batch: &Batch) -> Result<()> {
        let length = source.length;
        // where the list of each row begins
        let mut starts = Vec::with_capacity(batch.lengths.len());
        let mut start = 0;
        for (ix, found) in batch.lengths.iter().enumerate() {
            if found.is_some_and(|found| found != length) {
                let found = source::counted(found.unwrap_or(0), "element");
                let problem = format!("found a list of {found}, expected {length} as in the first row");
                let error = InputError::in_file(self.file.path, problem).at_row(self.n_rows + ix + 1);
                return Err(error
                    .at_column(&field.name)
                    .hint("the lists of one column must have the same length")
                    .into());
            }
            starts.push(found.map(|_| start));
            start += found.unwrap_or(0);
        }
        for &(element_ix, column) in &source.targets {
            let number = |start: &Option<usize>| start.map_or(f64::NAN, |start| batch.numbers[start + element_ix]);
            self.put_numbers(field, starts.iter().map(number), column)?;
        }
        Ok(())
    }

    fn put_numbers(&mut self, field: &Field, numbers: impl ExactSizeIterator<Item = f64>, column: usize) -> Result<()> {
        let (n_columns, first_row, n_rows) = (self.n_columns, self.n_rows, numbers.len());
        let first_cell = self.first_cell();
        let cells = self.cells[first_cell + column..].iter_mut().step_by(n_columns);
        let (mut n_missing, mut infinite) = (0, None);
        if let ColumnKind::Text(levels) = self.columns.kind(column) {
            for (cell, number) in cells.zip(numbers) {
                let level = if number.is_nan() { Some(f64::NAN) } else { levels.number(&cells::name(number)) };
                let Some(level) = level else { return Err(self.columns.too_many_levels(column).into()) };
                n_missing += u64::from(level.is_nan());
                *cell = T::of_level(level);
            }
        } else {
            for (ix, (cell, number)) in cells.zip(numbers).enumerate() {
                n_missing += u64::from(number.is_nan());
                if number.is_infinite() {
                    infinite = infinite.or(Some((ix, number)));
                }
                *cell = T::of_number(number);
            }
            if n_missing < n_rows as u64 && matches!(self.columns.kind(column), ColumnKind::Unknown) {
                *self.columns.kind(column) = match field.kind {
                    LeafKind::Integer { format, .. } if format != CellFormat::Number => ColumnKind::fixed(format),
                    _ => ColumnKind::Number,
                };
            }
        }
        self.columns.add_missing(column, n_missing);
        let Some((ix, number)) = infinite else { return Ok(()) };
        let error = InputError::in_file(self.file.path, format!("found {number}, expected a finite number"));
        let hint =
            format!("write nothing or NaN for a missing value, or leave the column out with `exclude` {}", field.name);
        Err(error.at_row(first_row + ix + 1).at_column(&field.name).hint(hint).into())
    }

    fn put_texts(&mut self, field: &Field, batch: &Batch, column: usize) -> Result<()> {
        let (n_columns, first_row) = (self.n_columns, self.n_rows);
        let first_cell = self.first_cell();
        let cells = self.cells[first_cell + column..].iter_mut().step_by(n_columns);
        let mut n_missing = 0;
        for (ix, (cell, text)) in cells.zip(&batch.texts).enumerate() {
            let mut level = f64::NAN;
            if let Some(text) = text {
                let text = self.file.text(field, text.data(), first_row + ix)?;
                if matches!(self.columns.kind(column), ColumnKind::Number) {
                    let problem =
                        format!("found {}, expected a number as in the files before", source::quoted(text.as_bytes()));
                    let error = InputError::in_file(self.file.path, problem).at_row(first_row + ix + 1);
                    let hint = format!("leave it out with `exclude` {}", field.name);
                    return Err(error.at_column(&field.name).hint(hint).into());
                }
                level = self.columns.take_text(column, text, Origin::Declared)?;
            }
            n_missing += u64::from(level.is_nan());
            *cell = T::of_number(level);
        }
        self.columns.add_missing(column, n_missing);
        Ok(())
    }
}
