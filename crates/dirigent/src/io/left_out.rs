//! Columns that say nothing about clusters and are left out: identifiers, free text, columns that are empty or always the same.
//!
//! Only tables with types of their own are looked at, not arrays. A column that the user names in `columns` or `column_families` is kept.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::columns::{ColumnKind, FileColumns};
use super::levels::FEW_CELLS;
use super::selection::Selection;
use super::source::quoted;
use crate::error::InputError;
use crate::rows::Table;

/// A column that is not fitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name or, without a header, its number in the file.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// Names that a warning lists.
const SHOWN: usize = 12;

/// The columns to leave out, once all rows were read.
pub(crate) fn find(
    columns: &FileColumns,
    tables: &[&Table],
    selection: &Selection,
) -> Result<Vec<LeftOut>, InputError> {
    let n_columns = columns.kinds().len();
    let numbers = Numbers::of(columns, tables);
    // what must go, and what may stay if nothing else does
    let (mut useless, mut dull) = (Vec::new(), Vec::new());
    for (column, kind) in columns.kinds().iter().enumerate() {
        let name = columns.name(column);
        let is_kept = columns.is_of_array(column) || selection.keeps(&name);
        let out = |why: String| LeftOut { name: name.clone(), why };
        match kind {
            ColumnKind::Text(levels) if levels.has_too_many() && is_kept => return Err(columns.too_many_levels(column)),
            _ if is_kept => {}
            ColumnKind::Unknown => useless.push(out("every cell is missing".into())),
            ColumnKind::Text(levels) if levels.are_too_many() => {
                useless.push(out(format!("an identifier or free text: {}", levels.described())));
            }
            ColumnKind::Text(levels) if levels.names().len() < 2 => {
                let only = levels.names().first().map(|name| quoted(name.as_bytes())).unwrap_or_default();
                dull.push(out(format!("every cell is {only}")));
            }
            ColumnKind::Text(_) => {}
            _ => dull.extend(numbers.why_dull(column, &name).map(out)),
        }
    }
    if n_columns > 0 && useless.len() == n_columns {
        let error = InputError::new(format!("no column is left to fit: {}", listed(&useless)));
        return Err(error.hint("name the columns to fit with `columns`"));
    }
    // rows that are all alike are rows, too
    if useless.len() + dull.len() < n_columns {
        useless.extend(dull);
    }
    Ok(useless)
}

/// What there is to say of the columns that are left out.
pub(crate) fn warning(columns: &[LeftOut]) -> Option<String> {
    let n_columns = match columns.len() {
        0 => return None,
        1 => "1 column is".to_owned(),
        n => format!("{n} columns are"),
    };
    Some(format!("{n_columns} left out: {}; `columns` or `column_families` keeps a column", listed(columns)))
}

fn listed(columns: &[LeftOut]) -> String {
    let shown = columns.iter().take(SHOWN).map(|LeftOut { name, why }| format!("{name} ({why})"));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if columns.len() > SHOWN {
        text += &format!(" and {} more", columns.len() - SHOWN);
    }
    text
}

/// What is looked for in columns of numbers.
struct Numbers<'a> {
    tables: &'a [&'a Table],
    n_rows: usize,
    columns: Vec<NumberColumn>,
}

#[derive(Clone, Copy)]
struct NumberColumn {
    /// The first number.
    first: f64,
    is_constant: bool,
    /// Whether each number is one more than that of the row before.
    is_counting: bool,
}

impl<'a> Numbers<'a> {
    fn of(columns: &FileColumns, tables: &'a [&'a Table]) -> Self {
        let new = NumberColumn { first: f64::NAN, is_constant: true, is_counting: true };
        let n_rows = tables.iter().map(|table| table.n_rows()).sum();
        let mut numbers = Self { tables, n_rows, columns: vec![new; columns.kinds().len()] };
        let is_open = |column: usize| {
            let kind = &columns.kinds()[column];
            let is_number = matches!(kind, ColumnKind::Number | ColumnKind::Formatted(_) | ColumnKind::Fixed(_));
            is_number && !columns.is_of_array(column)
        };
        let mut open: Vec<usize> = (0..columns.kinds().len()).filter(|column| is_open(*column)).collect();
        let mut row_ix = 0;
        for table in tables {
            for table_row in 0..table.n_rows() {
                if open.is_empty() {
                    return numbers;
                }
                let of_row = row_ix as f64;
                open.retain(|&column| numbers.columns[column].add(cell(table, table_row, column), of_row));
                row_ix += 1;
            }
        }
        numbers
    }

    fn why_dull(&self, column: usize, name: &str) -> Option<String> {
        let NumberColumn { first, is_constant, is_counting } = self.columns[column];
        let is_long = self.n_rows as u64 > FEW_CELLS;
        if first.is_nan() {
            Some("every cell is missing".into())
        } else if is_constant {
            Some(format!("every cell is {first}"))
        } else if is_counting && is_long && (first == 0.0 || first == 1.0) {
            Some("it numbers the rows".into())
        } else if is_long && is_name_of_identifier(name) && self.are_distinct(column) {
            Some("an identifier: every row has its own number".into())
        } else {
            None
        }
    }

    /// Whether the column holds whole numbers, another one in each row.
    fn are_distinct(&self, column: usize) -> bool {
        let mut seen = HashSet::new();
        let mut cells =
            self.tables.iter().flat_map(|table| (0..table.n_rows()).map(move |row_ix| cell(table, row_ix, column)));
        cells.all(|cell| cell.fract() == 0.0 && seen.insert(cell.to_bits()))
    }
}

impl NumberColumn {
    /// Looks at the next cell; whether there is still something to find out.
    fn add(&mut self, cell: f64, row: f64) -> bool {
        if cell.is_nan() {
            self.is_counting = false;
            return self.is_constant;
        }
        if self.first.is_nan() {
            self.first = cell;
        }
        self.is_constant &= cell == self.first;
        self.is_counting &= cell == self.first + row;
        self.is_constant || self.is_counting
    }
}

fn cell(table: &Table, row_ix: usize, column: usize) -> f64 {
    match table {
        Table::F32 { n_columns, cells } => cells.as_slice()[row_ix * n_columns + column].into(),
        Table::F64 { n_columns, cells } => cells.as_slice()[row_ix * n_columns + column],
        Table::Counts(_) => f64::NAN,
    }
}

fn is_name_of_identifier(name: &str) -> bool {
    const NAMES: [&str; 9] = ["id", "uuid", "guid", "index", "key", "rowid", "row", "identifier", "unnamed: 0"];
    let lower = name.to_lowercase();
    let is_ending = ["_id", "-id", " id", ".id", "_key", "_no", "_number"].iter().any(|ending| lower.ends_with(ending));
    NAMES.contains(&&*lower) || is_ending || lower.starts_with("id_") || name.ends_with("Id") || name.ends_with("ID")
}
