//! Rows of numbers as counts, and counts as rows of numbers.

use std::sync::Arc;

use crate::error::{InputError, Result};
use crate::rows::{CountTable, Row, Table};

use super::DataSet;
use crate::io::sparse;

impl DataSet {
    /// The same rows as sparse counts. Every cell must be a whole number, not negative.
    pub fn into_counts(mut self) -> Result<Self> {
        self.check_numbers("a model of counts")?;
        let mut tables = Vec::with_capacity(self.tables.len());
        for (table_ix, table) in self.tables.iter().enumerate() {
            let counted = match **table {
                Table::Counts(_) => Arc::clone(table),
                _ => Arc::new(Table::Counts(self.counted(table_ix)?)),
            };
            tables.push(counted);
        }
        self.tables = tables;
        (self.missing, self.levels) = (Vec::new(), Vec::new());
        // nothing is mapped any more
        self.stamps.clear();
        Ok(self)
    }

    fn counted(&self, table_ix: usize) -> Result<CountTable> {
        let table = &self.tables[table_ix];
        let mut counts = CountTable::new(table.n_columns());
        let mut entries: Vec<(u32, u32)> = Vec::new();
        for row_ix in 0..table.n_rows() {
            for column_ix in 0..table.n_columns() {
                let cell = match table.row(row_ix) {
                    Row::F32(cells) => f64::from(cells[column_ix]),
                    Row::F64(cells) => cells[column_ix],
                    Row::Counts(_) => unreachable!("counts are counted already"),
                };
                match (u32::try_from(column_ix), sparse::count(cell)) {
                    (Ok(_), Some(0)) => {}
                    (Ok(word), Some(count)) => entries.push((word, count)),
                    _ => return Err(self.not_a_count(table_ix, row_ix, column_ix, cell).into()),
                }
            }
            counts.push_row(entries.drain(..));
        }
        Ok(counts)
    }

    fn not_a_count(&self, table_ix: usize, row_ix: usize, column_ix: usize, cell: f64) -> InputError {
        let column = self.column_text(column_ix);
        let problem = format!("found {cell}, expected a count: a whole number from 0 to {}", u32::MAX);
        let hint = format!("leave the column out with `exclude` {column}, or choose a family for measurements");
        self.in_file(table_ix, problem).at_row(row_ix + 1).at_column(column).hint(hint)
    }

    /// The same rows as dense numbers. Sparse counts are written out with their zeros, unless they would be too many.
    pub fn into_numbers(mut self) -> Result<Self> {
        if !self.is_counts() {
            return Ok(self);
        }
        let n_columns = self.n_columns();
        let mut tables = Vec::with_capacity(self.tables.len());
        for (table_ix, table) in self.tables.iter().enumerate() {
            let rows = || (0..table.n_rows()).map(|row_ix| table.row(row_ix));
            let counts = rows().map(|row| if let Row::Counts(row) = row { row.words.len() } else { 0 });
            let n_cells = sparse::check_cells(table.n_rows(), n_columns, counts.sum());
            let mut cells =
                vec![
                    0.0;
                    n_cells
                        .map_err(|error| InputError { file: self.in_file(table_ix, String::new()).file, ..error })?
                ];
            for (row, cells) in rows().zip(cells.chunks_exact_mut(n_columns)) {
                let Row::Counts(row) = row else { unreachable!("a table of counts has rows of counts") };
                row.iter().for_each(|(word, count)| cells[word as usize] = count.into());
            }
            tables.push(Arc::new(Table::from_f64(n_columns, cells)));
        }
        self.tables = tables;
        (self.missing, self.levels) = (vec![0; n_columns], vec![None; n_columns]);
        Ok(self)
    }
}
