//! Data sets of rows that are in memory already.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{InputError, Result};
use crate::rows::Table;

use super::{DataSet, is_counts, source};

impl DataSet {
    /// Rows in memory. A missing cell is NaN.
    pub fn of_table(name: &str, table: Table) -> Self {
        let missing = missing_of(&table);
        let levels = vec![None; missing.len()];
        Self { tables: vec![Arc::new(table)], missing, levels, ..Self::without_rows(name.into()) }
    }

    /// Rows in memory, in several tables that are laid end to end, with names for their columns where they have some. A missing cell is NaN.
    ///
    /// Refused are tables that differ in their columns, tables without rows, cells that are infinite, and names that do not fit.
    pub fn from_tables(name: &str, tables: Vec<Table>, column_names: Option<Vec<String>>) -> Result<Self> {
        let mut data = Self { column_names, ..Self::without_rows(name.into()) };
        for table in tables {
            data.check_alike(&table)?;
            let missing = missing_of(&table);
            data.missing.resize(missing.len(), 0);
            data.missing.iter_mut().zip(missing).for_each(|(all, missing)| *all += missing);
            data.tables.push(Arc::new(table));
        }
        data.levels = vec![None; data.missing.len()];
        if data.tables.is_empty() || data.n_rows() == 0 {
            return Err(InputError::new("zero rows").hint("give at least one row").into());
        }
        data.check_names()?;
        data.check_finite()?;
        Ok(data)
    }

    fn check_alike(&self, table: &Table) -> Result<(), InputError> {
        let what = |table: &Table| {
            let kind = if is_counts(table) { "counts" } else { "numbers" };
            format!("{} of {kind}", source::counted(table.n_columns(), "column"))
        };
        match self.tables.first().map(|first| (what(first), what(table))) {
            Some((expected, found)) if expected != found => {
                let number = self.tables.len() + 1;
                let problem = format!("table {number}: found {found}, expected {expected} as in the first table");
                Err(InputError::new(problem).hint("the tables of one data set have the same columns"))
            }
            _ => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), InputError> {
        let Some(names) = &self.column_names else { return Ok(()) };
        if names.len() != self.n_columns() {
            let problem = format!("found {} column names, expected {}", names.len(), self.n_columns());
            return Err(InputError::new(problem).hint("name every column, or none"));
        }
        let mut seen = HashSet::new();
        match names.iter().find(|name| !seen.insert(name.as_str())) {
            Some(twice) => {
                let error = InputError::new(format!("two columns are named {twice:?}"));
                Err(error.hint("give each column its own name"))
            }
            None => Ok(()),
        }
    }

    fn check_finite(&self) -> Result<(), InputError> {
        let mut first_row = 0;
        for table in &self.tables {
            if let Some((row_ix, column_ix)) = first_infinite(table) {
                let problem = "found an infinite number, expected a finite one".to_owned();
                return Err(self
                    .in_cell(first_row + row_ix, column_ix, problem)
                    .hint("write NaN for a missing value, or leave the row or the column out"));
            }
            first_row += table.n_rows();
        }
        Ok(())
    }
}

fn first_infinite(table: &Table) -> Option<(usize, usize)> {
    let ix = match table {
        Table::F32 { cells, .. } => cells.as_slice().iter().position(|cell| cell.is_infinite())?,
        Table::F64 { cells, .. } => cells.as_slice().iter().position(|cell| cell.is_infinite())?,
        Table::Counts(_) => return None,
    };
    Some((ix / table.n_columns(), ix % table.n_columns()))
}

fn missing_of(table: &Table) -> Vec<u64> {
    let count = |is_missing: &dyn Fn(usize) -> bool| {
        let n_columns = table.n_columns();
        let mut missing = vec![0; n_columns];
        (0..table.n_rows() * n_columns).filter(|&ix| is_missing(ix)).for_each(|ix| missing[ix % n_columns] += 1);
        missing
    };
    match table {
        Table::F32 { cells, .. } => count(&|ix| cells.as_slice()[ix].is_nan()),
        Table::F64 { cells, .. } => count(&|ix| cells.as_slice()[ix].is_nan()),
        Table::Counts(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::rows;
    use crate::rows::CountTable;

    fn names(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn tables_are_laid_end_to_end_with_their_names() {
        let tables = vec![Table::from_f32(2, vec![1.0, f32::NAN]), Table::from_f64(2, vec![3.0, 4.0, 5.0, f64::NAN])];
        let data = DataSet::from_tables("t", tables, names(&["x", "y"])).unwrap();
        assert_eq!((data.n_rows(), data.missing(), data.levels().len()), (3, vec![0, 2], 2));
        assert_eq!(
            (rows(&data)[1].as_slice(), data.column_names().unwrap().join(",")),
            (&[3.0, 4.0][..], "x,y".into())
        );
    }

    #[test]
    fn tables_that_do_not_belong_together_are_refused() {
        let refused = |tables: Vec<Table>, column_names, part: &str| {
            let error = DataSet::from_tables("t", tables, column_names).unwrap_err();
            assert!(error.to_string().contains(part) && error.hint().is_some(), "{error}");
        };
        let two = || Table::from_f64(2, vec![1.0, 2.0]);
        refused(vec![], None, "zero rows");
        refused(vec![Table::from_f64(2, vec![])], None, "zero rows");
        refused(vec![two(), Table::from_f64(1, vec![1.0])], None, "table 2: found 1 column of numbers, expected 2");
        refused(vec![two(), Table::Counts(CountTable::new(2))], None, "found 2 columns of counts");
        refused(vec![two()], names(&["x"]), "found 1 column names, expected 2");
        refused(vec![two()], names(&["x", "x"]), "two columns are named \"x\"");
        let infinite = Table::from_f32(2, vec![0.0, f32::NEG_INFINITY]);
        refused(vec![two(), infinite], names(&["x", "y"]), "row 2, column y: found an infinite");
    }
}
