//! `.csv` and `.tsv`: text cells, with or without a header.
//!
//! A cell is a number, a date, a text, or missing; all cells of a column together tell what it holds.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::Table;

use super::columns::{ColumnKind, FileColumns, Names};
use super::header_line;
use super::labels::TruthBuilder;
use super::levels::Origin;
use super::number::number;
use super::records::{self, Record, Records, text};
use super::selection::{ColumnNames, FileSelection, Header, Selection};
use super::source::{Lines, quoted};

/// Reads a table; the labels, if asked for, are added to `truth`.
pub(crate) fn read(
    path: &Path,
    delimiter: u8,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
) -> Result<Table> {
    let delimiter = found_delimiter(path, delimiter)?;
    let mut reader = Records::open(path, delimiter)?;
    let mut beginning = header_line::read(path, &mut reader, selection.header)?;
    let has_header = beginning.columns.has_header();
    let chosen = selection.choose(path, &beginning.columns)?;
    let names = Names { names: &chosen.names, has_header };
    columns.begin(path, chosen.columns.len(), Some(names), &chosen.text)?;
    let mut rows = Rows { path, chosen: &chosen, delimiter, columns, cells: Vec::new() };
    if !has_header && beginning.columns.len() == 1 {
        rows.push_missing(reader.n_leading_blanks());
    }
    for record in beginning.rows.drain(..) {
        rows.push(&record, truth)?;
    }
    let mut record = Record::default();
    while reader.read(&mut record)? {
        rows.push(&record, truth)?;
    }
    if rows.cells.is_empty() {
        let error = InputError::in_file(path, "zero rows: there is nothing below the header");
        return Err(error.hint("was it written to the end? If the first line is a row, say `header` no").into());
    }
    rows.cells.shrink_to_fit();
    Ok(Table::from_f64(chosen.columns.len(), rows.cells))
}

/// What the columns are called, from the first lines alone.
pub(crate) fn columns(path: &Path, delimiter: u8, header: Header) -> Result<ColumnNames> {
    let delimiter = found_delimiter(path, delimiter)?;
    Ok(header_line::read(path, &mut Records::open(path, delimiter)?, header)?.columns)
}

/// What separates the cells: in a `.csv` whose first line has no comma, semicolons or tabs if it has these.
fn found_delimiter(path: &Path, delimiter: u8) -> Result<u8> {
    let mut lines = Lines::open(path)?;
    while let Some(line) = lines.advance()? {
        if !line.is_empty() {
            let other = [b';', b'\t'].into_iter().find(|other| line.contains(other));
            let is_open = delimiter == b',' && !line.contains(&delimiter);
            return Ok(other.filter(|_| is_open).unwrap_or(delimiter));
        }
    }
    Ok(delimiter)
}

/// Whether a cell, without surrounding spaces, says that there is nothing.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&str; 6] = ["na", "n/a", "nan", "null", "none", "?"];
    cell.is_empty() || WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()))
}

/// The chosen cells as they come in.
struct Rows<'a> {
    path: &'a Path,
    chosen: &'a FileSelection,
    delimiter: u8,
    columns: &'a mut FileColumns,
    cells: Vec<f64>,
}

impl Rows<'_> {
    fn push(&mut self, record: &Record, truth: &mut TruthBuilder) -> Result<()> {
        for (column, &ix) in self.chosen.columns.iter().enumerate() {
            let cell = self.cell(record, column, record.cells[ix].trim_ascii())?;
            if cell.is_nan() {
                self.columns.add_missing(column, 1);
            }
            self.cells.push(cell);
        }
        if let Some(ix) = self.chosen.label {
            truth.push(records::label(self.path, record, ix)?);
        }
        Ok(())
    }

    /// Rows of a table of one column.
    fn push_missing(&mut self, n_rows: u64) {
        self.columns.add_missing(0, n_rows);
        self.cells.extend((0..n_rows).map(|_| f64::NAN));
    }

    /// What the table holds for a cell: the number, the number of the level, NaN for nothing.
    fn cell(&mut self, record: &Record, column: usize, cell: &[u8]) -> Result<f64> {
        let kind = self.columns.kind(column);
        if matches!(kind, ColumnKind::Unknown | ColumnKind::Number) {
            match number(cell) {
                Some(number) if number.is_finite() => {
                    *kind = ColumnKind::Number;
                    self.columns.add_digits(column, cell);
                    return Ok(number);
                }
                Some(number) if number.is_infinite() => return Err(self.infinite(record, column, cell).into()),
                Some(_) => return Ok(f64::NAN),
                None if matches!(kind, ColumnKind::Unknown) && looks_cut(record, cell, self.delimiter) => {
                    return Err(self.cut(record, column, cell).into());
                }
                None => {}
            }
        }
        if is_missing(cell) {
            return Ok(f64::NAN);
        }
        let name = &self.chosen.names[column];
        let text = text(self.path, record.line, cell).map_err(|error| error.at_column(name))?;
        Ok(self.columns.take_text(column, text, Origin::Found)?)
    }

    fn infinite(&self, record: &Record, column: usize, cell: &[u8]) -> InputError {
        let name = &self.chosen.names[column];
        let hint = format!("leave the cell empty, or leave the column out with `exclude` {name}");
        let problem = format!("found {}, expected a finite number", quoted(cell));
        InputError::in_file(self.path, problem).at_line(record.line).at_column(name).hint(hint)
    }

    fn cut(&self, record: &Record, column: usize, cell: &[u8]) -> InputError {
        let problem = format!("found {}, expected a number or a text", quoted(cell));
        let error = InputError::in_file(self.path, problem).at_line(record.line).at_column(&self.chosen.names[column]);
        error.hint("cells must be separated by commas in .csv, by tabs in .tsv")
    }
}

/// Whether a row of a single cell seems to have others, separated in another way.
fn looks_cut(record: &Record, cell: &[u8], delimiter: u8) -> bool {
    let has = |separator: u8| delimiter != separator && cell.contains(&separator);
    record.cells.len() == 1 && (has(b';') || has(b'\t') || has(b','))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::test_files::{Files, damaged, open, opens_or_explains, rows};
    use crate::io::{DataSet, Truth};

    fn named(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| name.to_string()).collect())
    }

    #[test]
    fn a_header_names_the_columns() {
        let names = |text: &str| {
            let data = open("t.csv", text, &Selection::default()).unwrap();
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
    fn empty_cells_and_words_for_nothing_are_missing() {
        let text = "x,y,z\n1,,na\nN/A,NaN,?\n null ,-nan,\"\"\nNone,4,5\n";
        let data = open("t.csv", text, &Selection::default()).unwrap();
        let found: Vec<Vec<Option<f64>>> =
            rows(&data).iter().map(|row| row.iter().map(|cell| (!cell.is_nan()).then_some(*cell)).collect()).collect();
        assert_eq!(found[0], [Some(1.0), None, None]);
        assert_eq!(found[1..3], [[None; 3]; 2]);
        assert_eq!(found[3], [None, Some(4.0), Some(5.0)]);
        assert_eq!(data.missing(), [3, 3, 3]);
    }

    #[test]
    fn a_blank_line_in_a_single_column_is_a_missing_cell() {
        let missing = |text: &str| {
            let data = open("t.csv", text, &Selection::default()).unwrap();
            (rows(&data).iter().map(|row| row[0].is_nan()).collect::<Vec<_>>(), data.missing())
        };
        assert_eq!(missing("x\n1\n\n2\n\n"), (vec![false, true, false], vec![1]));
        assert_eq!(missing("\n\nx\n1\n"), (vec![false], vec![0]), "above a header there are no rows");
        assert_eq!(missing("\n\n7\n1\n"), (vec![true, true, false, false], vec![2]));
        assert_eq!(missing("x,y\n1,2\n\n3,4\n"), (vec![false, false], vec![0, 0]));
    }

    #[test]
    fn texts_are_levels_in_order_of_appearance() {
        let text = "x,kind,y\n1, cat ,?\n2,dog,\n3,,up\n4,cat,7\n5,dog,down\n";
        let data = open("t.csv", text, &Selection::default()).unwrap();
        let cells: Vec<f64> = rows(&data).concat();
        assert_eq!([cells[1], cells[4], cells[10]], [0.0, 1.0, 0.0]);
        assert!(cells[7].is_nan() && cells[2].is_nan() && cells[8] == 0.0 && cells[11] == 1.0, "{cells:?}");
        assert_eq!(data.levels(), [None, named(&["cat", "dog"]), named(&["up", "7", "down"])]);
        assert_eq!(data.missing(), [0, 1, 2]);
    }

    #[test]
    fn numbers_are_levels_where_somebody_says_so() {
        let selection = Selection { text_columns: vec!["b".into()], ..Selection::default() };
        let data = open("t.csv", "a,b\n1,5\n2,05\n3,5\n4,NA\n", &selection).unwrap();
        assert_eq!(data.levels(), [None, named(&["5", "05"])]);
        assert_eq!(rows(&data)[..3], [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]);
    }

    #[test]
    fn codes_are_levels_and_keep_their_zeros() {
        let text = "x,zip,n\n1,98101,7\n2,01234,10\n3,,0\n4,98101,7\n";
        let data = open("t.csv", text, &Selection::default()).unwrap();
        assert_eq!(data.levels(), [None, named(&["98101", "01234"]), None]);
        assert_eq!([rows(&data)[0][1], rows(&data)[1][1], rows(&data)[3][1]], [0.0, 1.0, 0.0]);
        assert!(rows(&data)[2][1].is_nan() && data.missing() == [0, 1, 0]);
        assert_eq!(rows(&data)[1][2], 10.0);
    }

    #[test]
    fn codes_of_several_files_are_levels_of_one_column() {
        let files = Files::new();
        let parts = [files.write("a.csv", "zip\n98101\n11111\n"), files.write("b.csv", "zip\n01234\n11111\n")];
        let data = DataSet::open(&parts, &Selection::default()).unwrap();
        assert_eq!(data.levels(), [named(&["98101", "11111", "01234"])]);
        assert_eq!(rows(&data).concat(), [0.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn too_many_codes_are_identifiers() {
        let text: String = (0..40).map(|n| format!("{n:04},{}\n", n % 3)).collect();
        let data = open("t.csv", text, &Selection::default()).unwrap();
        assert_eq!((data.levels(), rows(&data)[17][0]), ([None].as_slice(), 2.0));
        assert!(data.left_out()[0].why.contains("40 different texts"), "{:?}", data.left_out());
    }

    #[test]
    fn columns_without_a_header_go_by_number() {
        let selection = Selection { columns: named(&["2"]), label_column: Some("3".into()), ..Selection::default() };
        let data = open("t.csv", "1,2,a\n3,4,b\n", &selection).unwrap();
        assert_eq!((rows(&data), data.column_names()), (vec![vec![2.0], vec![4.0]], None));
        assert_eq!(data.truth().unwrap().names, ["a", "b"]);
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(file in damaged(b"x,\"y\",z\n1,\"2\",a\n3.5,,b\n\n5,6,\"a\"\n".to_vec())) {
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
