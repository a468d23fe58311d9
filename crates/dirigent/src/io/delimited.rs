//! `.csv` and `.tsv`: text cells, with or without a header.
//!
//! The first line is a header if none of its cells is a number and the second line has one.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::Table;

use super::data_set::Loaded;
use super::labels::TruthBuilder;
use super::records::{self, Record, Records, text};
use super::selection::{Chosen, ColumnNames, Selection};
use super::source::{self, quoted};

/// Reads a table; the labels, if asked for, are added to `truth`.
pub(crate) fn read(path: &Path, delimiter: u8, selection: &Selection, truth: &mut TruthBuilder) -> Result<Loaded> {
    let mut reader = Records::open(path, delimiter)?;
    let (mut first, mut record) = (Record::default(), Record::default());
    if !reader.read(&mut first)? {
        return Err(source::empty(path).into());
    }
    let mut more = reader.read(&mut record)?;
    let columns = column_names(path, &first, more.then_some(&record))?;
    let chosen = selection.choose(path, &columns)?;
    let mut rows = Rows { path, chosen: &chosen, from_header: columns.has_header(), delimiter, cells: Vec::new() };
    if !columns.has_header() {
        rows.push(&first, truth)?;
    }
    while more {
        rows.push(&record, truth)?;
        more = reader.read(&mut record)?;
    }
    if rows.cells.is_empty() {
        let error = InputError::in_file(path, "zero rows: there is nothing below the header");
        return Err(error.hint("was it written to the end?").into());
    }
    let table = Table::from_f64(chosen.columns.len(), rows.cells);
    Ok(Loaded { table, column_names: columns.has_header().then_some(chosen.names) })
}

/// What the columns are called, from the first lines alone.
pub(crate) fn columns(path: &Path, delimiter: u8) -> Result<ColumnNames> {
    let mut reader = Records::open(path, delimiter)?;
    let (mut first, mut second) = (Record::default(), Record::default());
    if !reader.read(&mut first)? {
        return Err(source::empty(path).into());
    }
    let more = reader.read(&mut second)?;
    column_names(path, &first, more.then_some(&second))
}

fn column_names(path: &Path, first: &Record, second: Option<&Record>) -> Result<ColumnNames> {
    let has_number = |record: &Record| record.cells.iter().any(|cell| number(cell).is_some());
    if has_number(first) || second.is_some_and(|second| !has_number(second)) {
        return Ok(ColumnNames::numbered(first.cells.len()));
    }
    let name = |cell| text(path, first.line, cell).map(String::from);
    Ok(ColumnNames::of_header(first.cells.iter().map(name).collect::<Result<_, _>>()?))
}

fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell.trim_ascii()).ok()?.parse().ok()
}

/// The chosen cells as they come in.
struct Rows<'a> {
    path: &'a Path,
    chosen: &'a Chosen,
    from_header: bool,
    delimiter: u8,
    cells: Vec<f64>,
}

impl Rows<'_> {
    fn push(&mut self, record: &Record, truth: &mut TruthBuilder) -> Result<()> {
        for (column, &ix) in self.chosen.columns.iter().enumerate() {
            match number(&record.cells[ix]) {
                Some(number) if number.is_finite() => self.cells.push(number),
                _ => return Err(self.not_a_number(record, column, ix).into()),
            }
        }
        if let Some(ix) = self.chosen.label {
            truth.push(records::label(self.path, record, ix)?);
        }
        Ok(())
    }

    fn not_a_number(&self, record: &Record, column: usize, ix: usize) -> InputError {
        let (cell, name) = (record.cells[ix].trim_ascii(), &self.chosen.names[column]);
        let at = |problem: String| InputError::in_file(self.path, problem).at_line(record.line).at_column(name);
        if is_missing(cell) {
            let found = if cell.is_empty() { "an empty cell".into() } else { quoted(cell) };
            let error = at(format!("found {found}, expected a number: missing values are not supported yet"));
            return error.hint(format!("take the row out, or leave the column out with --exclude {name}"));
        }
        if number(cell).is_some() {
            let error = at(format!("found {}, expected a finite number", quoted(cell)));
            return error.hint(format!("take the row out, or leave the column out with --exclude {name}"));
        }
        let error = match text(self.path, record.line, cell) {
            Ok(_) => at(format!("found {}, expected a number", quoted(cell))),
            Err(error) => error.at_column(name),
        };
        error.hint(self.way_out(record, cell, name))
    }

    fn way_out(&self, record: &Record, cell: &[u8], name: &str) -> String {
        let looks_cut = |separator: u8| self.delimiter != separator && cell.contains(&separator);
        if record.cells.len() == 1 && (looks_cut(b';') || looks_cut(b'\t') || looks_cut(b',')) {
            return "cells must be separated by commas in .csv, by tabs in .tsv".into();
        }
        let mut hint = format!("leave it out with --exclude {name}, or read it as labels with --label-column {name}");
        if !self.from_header && self.cells.len() < self.chosen.columns.len() {
            hint += "; if the first line is a header, none of its names may be a number";
        }
        hint
    }
}

fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&str; 6] = ["na", "n/a", "nan", "null", "none", "?"];
    cell.is_empty() || WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::Truth;
    use crate::io::test_files::{damaged, open, opens_or_explains, rows};

    fn named(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn a_header_is_a_first_line_without_numbers_above_a_line_with_one() {
        let names = |text: &str| {
            let data = open("t.csv", text, &Selection { exclude: vec![], ..Selection::default() }).unwrap();
            (data.column_names().map(<[String]>::to_vec), data.n_rows())
        };
        assert_eq!(names("a,b\n1,2\n3,4\n"), (named(&["a", "b"]), 2));
        assert_eq!(names("1,2\n3,4\n"), (None, 2));
        assert_eq!(names("1,2"), (None, 1));
        assert_eq!(names("\u{feff}\"a b\", c ,\r\n1,2,3\r\n"), (named(&["a b", "c", "3"]), 1));
    }

    #[test]
    fn numbers_come_in_many_shapes() {
        let text = " 1e5,+3, .5\n-2.5E-1,\"7\",0\n";
        let data = open("t.csv.gz", text, &Selection::default()).unwrap();
        assert_eq!(rows(&data), [[1e5, 3.0, 0.5], [-0.25, 7.0, 0.0]]);
        let data = open("t.tsv", text.replace(',', "\t"), &Selection::default()).unwrap();
        assert_eq!(rows(&data), [[1e5, 3.0, 0.5], [-0.25, 7.0, 0.0]]);
    }

    #[test]
    fn what_is_not_chosen_may_be_anything() {
        let text = b"id,x,when,kind,y\nM\xfcller,1,\"a, \"\"b\"\"\n\",cat,2\n,3,,dog,4\nz,5,NaN, cat ,6\n";
        let exclude = vec!["id".into(), "when".into()];
        let selection = Selection { exclude, label_column: Some("kind".into()), ..Selection::default() };
        let data = open("t.csv", text, &selection).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(data.column_names(), named(&["x", "y"]).as_deref());
        let names = named(&["cat", "dog"]).unwrap();
        assert_eq!(data.truth(), Some(&Truth { labels: vec![0, 1, 0], names }));
        let data = open("t.csv", text, &Selection { columns: named(&["y", "x"]), ..Selection::default() }).unwrap();
        assert_eq!(rows(&data)[0], [2.0, 1.0]);
    }

    #[test]
    fn columns_without_a_header_go_by_number() {
        let selection = Selection { columns: named(&["2"]), label_column: Some("3".into()), exclude: vec![] };
        let data = open("t.csv", "1,2,a\n3,4,b\n", &selection).unwrap();
        assert_eq!((rows(&data), data.column_names()), (vec![vec![2.0], vec![4.0]], None));
        assert_eq!(data.truth().unwrap().names, ["a", "b"]);
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(file in damaged(b"x,\"y\"\n1,\"2\"\n3.5,-4e3\n\n5,6\n".to_vec())) {
            opens_or_explains("t.csv", &file);
            opens_or_explains("t.tsv.gz", &file);
        }

        #[test]
        fn numbers_survive_the_way_through_text(cells in proptest::collection::vec(-1e300..1e300f64, 1..20)) {
            let text: String = cells.iter().map(|cell| format!("{cell:?},1\n")).collect();
            let data = open("t.csv", text, &Selection::default()).unwrap();
            let read: Vec<f64> = rows(&data).iter().map(|row| row[0]).collect();
            prop_assert_eq!(read, cells);
        }
    }
}
