//! Rows that are in memory already, under the rules that files are read by: the same cells give the same data set.

use std::path::Path;
use std::sync::Arc;

use super::{DataSet, is_counts};
use crate::error::{InputError, Result};
use crate::io::columns::{ColumnKind, FileColumns, Names};
use crate::io::levels::{Levels, Origin};
use crate::io::selection::ColumnNames;
use crate::io::{CellFormat, FittedColumns, Selection, left_out, source};
use crate::rows::Table;

/// What messages call rows that have no file.
const NAME: &str = "X";

/// Rows in memory: what one file would hold. Cheap to clone.
#[derive(Debug, Clone)]
pub enum MemoryRows {
    /// Numbers or counts, row by row; NaN is a missing cell.
    Table(Arc<Table>),
    /// Numbers and text, column by column; all columns have the same length.
    Columns(Arc<[MemoryColumn]>),
}

/// A column in memory.
#[derive(Debug)]
pub enum MemoryColumn {
    /// Numbers; NaN is a missing cell.
    Numbers(Vec<f64>),
    /// Text, also if it looks like numbers; a missing cell is nothing. Dates in text are dates.
    Text(Vec<Option<String>>),
    /// Levels, whatever they look like; a missing cell is nothing.
    Levels(Vec<Option<String>>),
    /// Dates as days since 1970-01-01; NaN is a missing cell.
    Dates(Vec<f64>),
    /// Durations in days; NaN is a missing cell.
    Durations(Vec<f64>),
}

impl MemoryColumn {
    /// The number of cells.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Numbers(cells) | Self::Dates(cells) | Self::Durations(cells) => cells.len(),
            Self::Text(cells) | Self::Levels(cells) => cells.len(),
        }
    }
}

impl MemoryColumn {
    fn has_values(&self) -> bool {
        match self {
            Self::Numbers(cells) | Self::Dates(cells) | Self::Durations(cells) => {
                cells.iter().any(|cell| !cell.is_nan())
            }
            Self::Text(cells) | Self::Levels(cells) => cells.iter().any(Option::is_some),
        }
    }
}

impl MemoryRows {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Table(table) => table.n_rows(),
            Self::Columns(columns) => columns.first().map_or(0, MemoryColumn::n_rows),
        }
    }

    /// The number of columns.
    pub fn n_columns(&self) -> usize {
        match self {
            Self::Table(table) => table.n_columns(),
            Self::Columns(columns) => columns.len(),
        }
    }

    fn is_counts(&self) -> bool {
        matches!(self, Self::Table(table) if is_counts(table))
    }
}

impl DataSet {
    /// A table in memory. A missing cell is NaN.
    pub fn of_table(name: &str, table: Table) -> Self {
        let missing = missing_of(&table);
        let levels = vec![None; missing.len()];
        Self { tables: vec![Arc::new(table)], missing, levels, ..Self::without_rows(name.into()) }
    }

    /// Rows in memory, laid end to end, with the names of their columns where they have some.
    pub fn of_memory(parts: &[MemoryRows], names: Option<&[String]>, selection: &Selection) -> Result<Self> {
        Self::of_memory_with(parts, names, selection, &mut FileColumns::default())
    }

    fn of_memory_with(
        parts: &[MemoryRows],
        names: Option<&[String]>,
        selection: &Selection,
        columns: &mut FileColumns,
    ) -> Result<Self> {
        refuse_labels(selection)?;
        loop {
            let asked = selection.without(columns.left_out());
            let mut data = Self::without_rows("array".into());
            for part in parts.iter().filter(|part| part.n_rows() > 0) {
                data.add_memory(part, names, &asked, columns)?;
            }
            if data.tables.is_empty() {
                return Err(InputError::in_file(NAME, "zero rows").hint("give at least one row").into());
            }
            if data.is_counts() {
                data.column_names = names.map(<[String]>::to_vec);
                return Ok(data);
            }
            if columns.restarts() {
                continue;
            }
            let tables: Vec<&Table> = data.tables.iter().map(|table| &**table).collect();
            let left_out = if columns.is_of_fit() { Vec::new() } else { left_out::find(columns, &tables, selection)? };
            if left_out.is_empty() {
                data.take_columns(columns);
                return Ok(data);
            }
            columns.leave_out(left_out);
        }
    }

    fn add_memory(
        &mut self,
        part: &MemoryRows,
        names: Option<&[String]>,
        selection: &Selection,
        columns: &mut FileColumns,
    ) -> Result<()> {
        let (first, found) = (self.tables.first().map(|table| is_counts(table)), part.is_counts());
        if first.is_some_and(|expected| expected != found) {
            let error = InputError::in_file(NAME, "some parts are sparse counts, others dense rows");
            return Err(error.hint("give all rows in one way").into());
        }
        if found {
            selection.refuse_columns(Path::new(NAME), "sparse counts")?;
        }
        if selection.is_everything()
            && let MemoryRows::Table(table) = part
        {
            let header = names.map(|names| Names { names, has_header: true });
            columns.begin(Path::new(NAME), part.n_columns(), header, &[])?;
            (0..part.n_columns()).for_each(|column| columns.set_of_array(column));
            self.tables.push(if found { Arc::clone(table) } else { checked(table, names, columns)? });
            return Ok(());
        }
        let all_names = match names {
            Some(names) => ColumnNames::of_header(names.to_vec()),
            None => ColumnNames::numbered(part.n_columns()),
        };
        let chosen = selection.choose(Path::new(NAME), &all_names)?;
        let header = Names { names: &chosen.names, has_header: names.is_some() };
        columns.begin(Path::new(NAME), chosen.columns.len(), Some(header), &chosen.text)?;
        let table = match part {
            MemoryRows::Columns(cells) => {
                let cells: Vec<&MemoryColumn> = chosen.columns.iter().map(|&ix| &cells[ix]).collect();
                joined(&cells, Some(&chosen.names), columns)?
            }
            MemoryRows::Table(table) => {
                (0..chosen.columns.len()).for_each(|column| columns.set_of_array(column));
                let cells: Vec<MemoryColumn> =
                    chosen.columns.iter().map(|&ix| MemoryColumn::Numbers(cells_of_column(table, ix))).collect();
                joined(&cells.iter().collect::<Vec<_>>(), Some(&chosen.names), columns)?
            }
        };
        self.tables.push(Arc::new(table));
        Ok(())
    }
}

impl FittedColumns {
    /// Rows in memory with the columns of the fit, in the same order. A text that the fit has not seen is a missing cell; also returns what
    /// there is to say about that.
    pub fn of_memory(&self, parts: &[MemoryRows], names: Option<&[String]>) -> Result<(DataSet, Vec<String>)> {
        let (mut selection, mut notes) = (Selection::default(), Vec::new());
        if let (Some(fitted), Some(found)) = (&self.names, names) {
            (selection, notes) = self.find_by_name(Path::new(NAME), fitted, found)?;
            if fitted == found {
                selection = Selection::default();
            }
        } else if let Some(part) = parts.iter().find(|part| part.n_columns() != self.n_columns) {
            selection = self.find_by_number(Path::new(NAME), ColumnNames::numbered(part.n_columns()).names())?;
        }
        let mut columns = FileColumns::of_fit(self);
        let data = DataSet::of_memory_with(parts, names, &selection, &mut columns)?;
        columns.check_values()?;
        notes.extend(columns.notes());
        Ok((data, notes))
    }
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

fn refuse_labels(selection: &Selection) -> Result<(), InputError> {
    match selection.label_column {
        Some(_) => Err(InputError::new("`label_column` is for files, and these rows are in memory")
            .hint("give the labels as `truth`, and leave their column out with `exclude`")),
        None => Ok(()),
    }
}

/// A table whose cells were looked at, with levels where a column holds text.
fn checked(table: &Arc<Table>, names: Option<&[String]>, columns: &mut FileColumns) -> Result<Arc<Table>> {
    if columns.has_text() {
        let column = |ix| MemoryColumn::Numbers(cells_of_column(table, ix));
        let cells: Vec<_> = (0..table.n_columns()).map(column).collect();
        return joined(&cells.iter().collect::<Vec<_>>(), names, columns).map(Arc::new);
    }
    match &**table {
        Table::F32 { n_columns, cells } => check_cells(cells.as_slice(), *n_columns, names, columns)?,
        Table::F64 { n_columns, cells } => check_cells(cells.as_slice(), *n_columns, names, columns)?,
        Table::Counts(_) => {}
    }
    Ok(Arc::clone(table))
}

fn check_cells<T: Copy + Into<f64>>(
    cells: &[T],
    n_columns: usize,
    names: Option<&[String]>,
    columns: &mut FileColumns,
) -> Result<()> {
    let mut present = vec![false; n_columns];
    for (row_ix, row) in cells.chunks_exact(n_columns).enumerate() {
        // without an early way out the compiler uses vector instructions
        if row.iter().fold(true, |all, &cell| all & cell.into().is_finite()) {
            present.fill(true);
            continue;
        }
        for (column_ix, &cell) in row.iter().enumerate() {
            let cell: f64 = cell.into();
            check_finite(cell, row_ix, column_ix, names)?;
            if cell.is_nan() {
                columns.add_missing(column_ix, 1);
            } else {
                present[column_ix] = true;
            }
        }
    }
    for (column_ix, _) in present.iter().enumerate().filter(|(_, is_present)| **is_present) {
        if matches!(columns.kind(column_ix), ColumnKind::Unknown) {
            *columns.kind(column_ix) = ColumnKind::Number;
        }
    }
    Ok(())
}

fn cells_of_column(table: &Table, column_ix: usize) -> Vec<f64> {
    match table {
        Table::F32 { n_columns, cells } => {
            cells.as_slice().iter().skip(column_ix).step_by(*n_columns).map(|&cell| cell.into()).collect()
        }
        Table::F64 { n_columns, cells } => {
            cells.as_slice().iter().skip(column_ix).step_by(*n_columns).copied().collect()
        }
        Table::Counts(_) => unreachable!("counts have no columns of text"),
    }
}

/// The columns as a table, row after row.
fn joined(parts: &[&MemoryColumn], names: Option<&[String]>, columns: &mut FileColumns) -> Result<Table> {
    let (n_rows, n_columns) = (parts[0].n_rows(), parts.len());
    if let Some(part) = parts.iter().find(|part| part.n_rows() != n_rows) {
        let problem = format!("a column has {} cells, the first one {n_rows}", part.n_rows());
        return Err(InputError::in_file(NAME, problem).hint("give columns of the same length").into());
    }
    let mut cells = vec![f64::NAN; n_rows * n_columns];
    for (column_ix, part) in parts.iter().enumerate() {
        let kind = columns.kind(column_ix);
        if matches!(kind, ColumnKind::Unknown) && part.has_values() {
            match part {
                MemoryColumn::Dates(_) => *kind = ColumnKind::fixed(CellFormat::YearFirst),
                MemoryColumn::Durations(_) => *kind = ColumnKind::fixed(CellFormat::Duration),
                MemoryColumn::Levels(_) => *kind = ColumnKind::Text(Box::new(Levels::new(Origin::Categories))),
                MemoryColumn::Numbers(_) | MemoryColumn::Text(_) => {}
            }
        }
        for row_ix in 0..n_rows {
            let cell = match part {
                MemoryColumn::Numbers(numbers) | MemoryColumn::Dates(numbers) | MemoryColumn::Durations(numbers) => {
                    number(numbers[row_ix], row_ix, column_ix, names, columns)?
                }
                MemoryColumn::Text(texts) | MemoryColumn::Levels(texts) => match &texts[row_ix] {
                    Some(text) => level(text, row_ix, column_ix, names, columns)?,
                    None => f64::NAN,
                },
            };
            if cell.is_nan() {
                columns.add_missing(column_ix, 1);
            }
            cells[row_ix * n_columns + column_ix] = cell;
        }
    }
    Ok(Table::from_f64(n_columns, cells))
}

/// A number, or its level where the column holds text.
fn number(
    cell: f64,
    row_ix: usize,
    column_ix: usize,
    names: Option<&[String]>,
    columns: &mut FileColumns,
) -> Result<f64> {
    check_finite(cell, row_ix, column_ix, names)?;
    if cell.is_nan() {
        return Ok(cell);
    }
    match columns.kind(column_ix) {
        // -0 and 0 are one level
        ColumnKind::Text(levels) => {
            let text = if cell == 0.0 { "0".to_owned() } else { cell.to_string() };
            Ok(levels.number(&text).ok_or_else(|| columns.too_many_levels(column_ix))?)
        }
        kind => {
            if matches!(kind, ColumnKind::Unknown) {
                *kind = ColumnKind::Number;
            }
            Ok(cell)
        }
    }
}

/// The level of a text; where the column is one of numbers, the number it says.
fn level(
    text: &str,
    row_ix: usize,
    column_ix: usize,
    names: Option<&[String]>,
    columns: &mut FileColumns,
) -> Result<f64> {
    if matches!(columns.kind(column_ix), ColumnKind::Number) {
        return match text.trim().parse() {
            Ok(cell) => number(cell, row_ix, column_ix, names, columns),
            Err(_) => {
                let found = source::quoted(text.as_bytes());
                Err(in_cell(row_ix, column_ix, names, format!("found {found}, expected a number")).into())
            }
        };
    }
    Ok(columns.take_text(column_ix, text, Origin::Declared)?)
}

fn check_finite(cell: f64, row_ix: usize, column_ix: usize, names: Option<&[String]>) -> Result<(), InputError> {
    if cell.is_infinite() {
        let error = in_cell(row_ix, column_ix, names, format!("found {cell}, expected a finite number"));
        return Err(error.hint("write NaN for a missing value"));
    }
    Ok(())
}

fn in_cell(row_ix: usize, column_ix: usize, names: Option<&[String]>, problem: String) -> InputError {
    let column = names.map_or_else(|| (column_ix + 1).to_string(), |names| names[column_ix].clone());
    InputError::in_file(NAME, problem).at_row(row_ix + 1).at_column(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::{Files, rows};

    fn text(cells: &[&str]) -> MemoryColumn {
        MemoryColumn::Text(cells.iter().map(|cell| (!cell.is_empty()).then(|| (*cell).to_owned())).collect())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_table_in_memory_is_the_same_data_as_its_file() {
        let files = Files::new();
        let file = files.write("t.csv", "x,colour\n1.5,red\n,blue\n3,red\n4,\n");
        let read = DataSet::open(&[file], &Selection::default()).unwrap();
        let columns = [MemoryColumn::Numbers(vec![1.5, f64::NAN, 3.0, 4.0]), text(&["red", "blue", "red", ""])];
        let parts = [MemoryRows::Columns(columns.into())];
        let held = DataSet::of_memory(&parts, Some(&names(&["x", "colour"])), &Selection::default()).unwrap();
        assert_eq!(held.fingerprint(), read.fingerprint());
        assert_eq!((held.column_names(), held.levels()), (read.column_names(), read.levels()));
        assert_eq!((held.missing(), held.n_rows()), (vec![1, 1], 4));
    }

    #[test]
    fn batches_are_laid_end_to_end_and_empty_ones_passed_over() {
        let part = |cells: &[f64]| MemoryRows::Table(Arc::new(Table::from_f64(2, cells.to_vec())));
        let parts = [part(&[]), part(&[1.0, 2.0]), part(&[f64::NAN, 4.0, 5.0, 6.0])];
        let data = DataSet::of_memory(&parts, None, &Selection::default()).unwrap();
        assert_eq!((data.n_rows(), data.missing()), (3, vec![1, 0]));
        assert_eq!(rows(&data)[2], [5.0, 6.0]);
        assert!(DataSet::of_memory(&parts[..1], None, &Selection::default()).is_err());
    }

    #[test]
    fn cells_that_cannot_be_meant_are_named() {
        let of = |columns: Vec<MemoryColumn>| {
            let parts = [MemoryRows::Columns(columns.into())];
            DataSet::of_memory(&parts, Some(&names(&["a", "b"])), &Selection::default()).unwrap_err().to_string()
        };
        let numbers = |cells: &[f64]| MemoryColumn::Numbers(cells.to_vec());
        let error = of(vec![numbers(&[1.0, 2.0]), numbers(&[3.0, f64::INFINITY])]);
        assert_eq!(error, "X, row 2, column b: found inf, expected a finite number");
        assert!(of(vec![numbers(&[1.0, 2.0]), numbers(&[3.0])]).contains("has 1 cells"));
        let array = MemoryRows::Table(Arc::new(Table::from_f32(1, vec![1.0, f32::NEG_INFINITY])));
        let error = DataSet::of_memory(&[array], None, &Selection::default()).unwrap_err();
        assert_eq!(error.to_string(), "X, row 2, column 1: found -inf, expected a finite number");
    }

    #[test]
    fn numbers_are_levels_where_the_column_is_text() {
        let selection = Selection { text_columns: names(&["2"]), ..Selection::default() };
        let array = MemoryRows::Table(Arc::new(Table::from_f64(2, vec![1.0, 7.0, 2.0, -0.0, 3.0, 7.0, 4.0, 0.0])));
        let data = DataSet::of_memory(&[array], None, &selection).unwrap();
        assert_eq!(data.levels()[1], Some(names(&["7", "0"])));
        assert_eq!(rows(&data), [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]]);
        let choice = Selection { exclude: names(&["2"]), ..Selection::default() };
        let array = MemoryRows::Table(Arc::new(Table::from_f64(2, vec![1.0, 7.0])));
        assert_eq!(rows(&DataSet::of_memory(&[array], None, &choice).unwrap()), [[1.0]]);
    }

    #[test]
    fn text_of_digits_is_text() {
        for cells in [&["20", "10", "20", "5"][..], &["01234", "98101", "01234", "1"], &["a", "1", "2", "1"]] {
            let parts = [MemoryRows::Columns([text(cells)].into())];
            let data = DataSet::of_memory(&parts, None, &Selection::default()).unwrap();
            assert_eq!(data.levels()[0].as_ref().unwrap().first().map(String::as_str), Some(cells[0]));
        }
    }

    #[test]
    fn levels_of_a_fit_are_found_again() {
        let fitted = FittedColumns {
            n_columns: 2,
            names: None,
            selection: Selection::default(),
            levels: vec![None, Some(names(&["red", "blue"]))],
            formats: Vec::new(),
            left_out: Vec::new(),
            numbered_from_zero: false,
        };
        let part = |columns: Vec<MemoryColumn>| [MemoryRows::Columns(columns.into())];
        let columns = vec![text(&["1", "2.5"]), text(&["blue", "green"])];
        let (data, notes) = fitted.of_memory(&part(columns), None).unwrap();
        assert_eq!(rows(&data)[0], [1.0, 1.0]);
        assert!(rows(&data)[1][1].is_nan() && notes.len() == 1, "{notes:?}");
        let wrong = fitted.of_memory(&part(vec![text(&["1"])]), None).unwrap_err().to_string();
        assert_eq!(wrong, "X: found 1 column, but the model was fitted to 2");
        let wrong = fitted.of_memory(&part(vec![text(&["one"]), text(&["red"])]), None).unwrap_err().to_string();
        assert_eq!(wrong, "X, column 1: found \"one\", expected numbers as in the fit");
    }
}
