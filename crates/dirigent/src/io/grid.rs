//! A grid of numbers without names: the columns that are asked for, the labels, and what must hold of every cell.
//!
//! For the formats that hold arrays. Columns are called by their numbers from 1.

use std::fmt::Display;
use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::{Cells, Table};

use super::cells::{self, Cell, first_not_finite};
use super::columns::{ColumnKind, FileColumns};
use super::labels::TruthBuilder;
use super::selection::{ColumnNames, FileSelection, Selection};

/// Beyond this a double no longer tells whole numbers apart.
pub(crate) const LARGEST_LABEL: f64 = (1u64 << 53) as f64;

/// The shape of a grid, which its cells bear out.
pub(crate) struct Grid<'a> {
    pub(crate) path: &'a Path,
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
    /// Whether cells come column after column.
    pub(crate) by_column: bool,
}

impl Grid<'_> {
    /// The table of the chosen columns; the labels, if asked for, are added to `truth`. Cells that are all asked for are not copied.
    pub(crate) fn table<T: Cell>(
        &self,
        cells: Cells<T>,
        selection: &Selection,
        columns: &mut FileColumns,
        truth: &mut TruthBuilder,
    ) -> Result<Table> {
        let (mut table, chosen) = if selection.is_everything() && !self.is_by_column() {
            (cells, None)
        } else {
            let chosen = selection.choose(self.path, &ColumnNames::numbered(self.n_columns))?;
            self.push_labels(cells.as_slice(), &chosen, truth)?;
            (Cells::Owned(self.arrange(cells.as_slice(), &chosen.columns)), Some(chosen))
        };
        let n_columns = chosen.as_ref().map_or(self.n_columns, |chosen| chosen.columns.len());
        columns.begin(self.path, n_columns, None, chosen.as_ref().map_or(&[], |chosen| &chosen.text))?;
        let mut is_whole = first_not_finite(table.as_slice()).is_none();
        let infinite = |cells: &[T]| cells.iter().position(|cell| cell.to_f64().is_infinite());
        if let Some(ix) = (!is_whole).then(|| infinite(table.as_slice())).flatten() {
            let (row_ix, column_ix) = (ix / n_columns, ix % n_columns);
            let name = chosen.map_or_else(|| (column_ix + 1).to_string(), |chosen| chosen.names[column_ix].clone());
            return Err(self.infinite(table.as_slice()[ix], row_ix, name).into());
        }
        if columns.has_text() {
            table = Cells::Owned(with_levels(table.as_slice(), n_columns, columns)?);
            is_whole = first_not_finite(table.as_slice()).is_none();
        }
        let mut missing = vec![0; n_columns];
        if !is_whole {
            for row in table.as_slice().chunks_exact(n_columns) {
                row.iter().zip(&mut missing).for_each(|(cell, missing)| *missing += u64::from(!cell.is_finite()));
            }
        }
        for (column, missing) in missing.into_iter().enumerate() {
            columns.add_missing(column, missing);
            if missing < self.n_rows as u64 && matches!(columns.kind(column), ColumnKind::Unknown) {
                *columns.kind(column) = ColumnKind::Number;
            }
        }
        Ok(T::table(n_columns, table))
    }

    /// Whether the order of the cells is another one than that of a table.
    pub(crate) fn is_by_column(&self) -> bool {
        self.by_column && self.n_columns > 1 && self.n_rows > 1
    }

    fn position(&self, row_ix: usize, column_ix: usize) -> usize {
        if self.is_by_column() { column_ix * self.n_rows + row_ix } else { row_ix * self.n_columns + column_ix }
    }

    /// The chosen columns, row after row.
    fn arrange<T: Cell>(&self, cells: &[T], columns: &[usize]) -> Vec<T> {
        let mut rows = Vec::with_capacity(self.n_rows * columns.len());
        for row_ix in 0..self.n_rows {
            rows.extend(columns.iter().map(|&column_ix| cells[self.position(row_ix, column_ix)]));
        }
        rows
    }

    fn push_labels<T: Cell>(&self, cells: &[T], chosen: &FileSelection, truth: &mut TruthBuilder) -> Result<()> {
        let Some(column_ix) = chosen.label else { return Ok(()) };
        for row_ix in 0..self.n_rows {
            let label = cells[self.position(row_ix, column_ix)];
            if !label.is_finite() || label.to_f64().abs() >= LARGEST_LABEL {
                let error = InputError::in_file(self.path, format!("found {label}, expected a label below 2⁵³"));
                return Err(error.at_row(row_ix + 1).at_column((column_ix + 1).to_string()).into());
            }
            truth.push(&cells::name(label));
        }
        Ok(())
    }

    fn infinite(&self, cell: impl Display, row_ix: usize, column: String) -> InputError {
        let hint = format!("write NaN for a missing value, or leave the column out with `exclude` {column}");
        let problem = format!("found {cell}, expected a finite number");
        InputError::in_file(self.path, problem).at_row(row_ix + 1).at_column(column).hint(hint)
    }
}

/// The cells, in text columns with the number of the level instead of the number that was its text.
fn with_levels<T: Cell>(cells: &[T], n_columns: usize, columns: &mut FileColumns) -> Result<Vec<T>> {
    let mut cells = cells.to_vec();
    for row in cells.chunks_exact_mut(n_columns) {
        for (column, cell) in row.iter_mut().enumerate() {
            if let ColumnKind::Text(levels) = columns.kind(column)
                && cell.is_finite()
            {
                let level = levels.number(&cells::name(*cell)).ok_or_else(|| columns.too_many_levels(column))?;
                *cell = T::of_level(level);
            }
        }
    }
    Ok(cells)
}
