//! Matrix Market `.mtx`: a matrix as text, its entries one a line (`coordinate`) or all cells (`array`, column after column).
//!
//! Memory grows with the entries that are there, never with those that are claimed.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::{Cells, Table};

use super::columns::FileColumns;
use super::data_set::Loaded;
use super::grid::Grid;
use super::labels::TruthBuilder;
use super::number::number;
use super::selection::Selection;
use super::source::{self, Lines, quoted};
use super::sparse::{self, MOST_COLUMNS, SparseRows};

const LAYOUT: &str = "the file begins with `%%MatrixMarket matrix coordinate real general`, then `rows columns entries`, then \
                      `row column value`, one a line, counted from 1";
const WRITE: &str = "write it with scipy.io.mmwrite(path, matrix, symmetry=\"general\")";
const MOST_ROWS: u64 = (1 << 32) - 2;

/// Reads a matrix; the labels of a dense one, if asked for, are added to `truth`.
pub(crate) fn read(
    path: &Path,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
) -> Result<Loaded> {
    let mut lines = Lines::open(path)?;
    let head = Head::read(&mut lines)?;
    if head.is_array {
        return Ok(Loaded::Table(read_array(&mut lines, &head, selection, columns, truth)?));
    }
    selection.refuse_columns(path, "sparse rows")?;
    selection.refuse_labels(path)?;
    Ok(Loaded::Sparse(read_entries(&mut lines, &head)?))
}

/// The number of columns, where they can be chosen from: in a dense matrix.
pub(crate) fn n_columns(path: &Path) -> Result<Option<usize>> {
    let head = Head::read(&mut Lines::open(path)?)?;
    Ok(head.is_array.then_some(head.n_columns as usize))
}

/// What stands before the first entry.
struct Head {
    is_array: bool,
    /// Entries have no value: each is a 1.
    is_pattern: bool,
    n_rows: u64,
    n_columns: u64,
    n_entries: u64,
}

impl Head {
    fn read(lines: &mut Lines) -> Result<Self> {
        let Some(banner) = lines.advance()?.map(<[u8]>::to_ascii_lowercase) else {
            return Err(source::empty(lines.path()).into());
        };
        let words: Vec<&[u8]> = words(&banner).collect();
        let wrong = |problem: String, hint: &str| Err(lines.error(problem).hint(hint).into());
        let &[b"%%matrixmarket", object, layout, field, symmetry] = words.as_slice() else {
            return wrong(format!("found {}, expected %%MatrixMarket and four words", quoted(&banner)), LAYOUT);
        };
        if object != b"matrix" {
            return wrong(format!("found the object {}, expected a matrix", quoted(object)), LAYOUT);
        }
        let is_array = match layout {
            b"coordinate" => false,
            b"array" => true,
            _ => return wrong(format!("found the format {}, expected coordinate or array", quoted(layout)), LAYOUT),
        };
        let is_pattern = match field {
            b"real" | b"double" | b"integer" => false,
            b"pattern" if !is_array => true,
            _ => return wrong(format!("found the field {}, expected real, integer or pattern", quoted(field)), WRITE),
        };
        if symmetry != b"general" {
            let problem = format!("found the symmetry {}, expected general: every entry written out", quoted(symmetry));
            return wrong(problem, WRITE);
        }
        let [n_rows, n_columns, n_entries] = Self::sizes(lines, is_array)?;
        Ok(Self { is_array, is_pattern, n_rows, n_columns, n_entries })
    }

    /// The first line that is neither a comment nor blank.
    fn sizes(lines: &mut Lines, is_array: bool) -> Result<[u64; 3]> {
        let line = loop {
            let Some(line) = lines.advance()? else {
                return Err(InputError::in_file(lines.path(), "the file ends before its sizes").hint(LAYOUT).into());
            };
            if !is_comment(line) {
                break line.to_vec();
            }
        };
        let numbers: Option<Vec<u64>> = words(&line).map(whole).collect();
        let (n_rows, n_columns, n_entries) = match (numbers.as_deref(), is_array) {
            (Some(&[n_rows, n_columns, n_entries]), false) => (n_rows, n_columns, n_entries),
            (Some(&[n_rows, n_columns]), true) => {
                let n_cells = n_rows.checked_mul(n_columns);
                (n_rows, n_columns, n_cells.ok_or_else(|| lines.error("more cells than can be counted").hint(LAYOUT))?)
            }
            _ => {
                let expected = if is_array { "rows and columns" } else { "rows, columns and entries" };
                let problem = format!("found {}, expected whole numbers: {expected}", quoted(&line));
                return Err(lines.error(problem).hint(LAYOUT).into());
            }
        };
        for (what, found, most) in [("rows", n_rows, MOST_ROWS), ("columns", n_columns, MOST_COLUMNS)] {
            if found == 0 || found > most {
                let problem = format!("found {found} {what}, expected 1 to {most}");
                return Err(lines.error(problem).hint("was the right matrix saved?").into());
            }
        }
        Ok([n_rows, n_columns, n_entries])
    }

    fn check_end(&self, lines: &Lines, n_found: u64) -> Result<(), InputError> {
        if n_found == self.n_entries {
            return Ok(());
        }
        let problem = format!("truncated: found {n_found} entries, expected {} as the sizes say", self.n_entries);
        Err(InputError::in_file(lines.path(), problem).hint("copy or write the file again"))
    }

    fn check_room(&self, lines: &Lines, n_found: u64) -> Result<(), InputError> {
        if n_found < self.n_entries {
            return Ok(());
        }
        let problem = format!("found one more entry, expected {} as the sizes say", self.n_entries);
        Err(lines.error(problem).hint(LAYOUT))
    }
}

#[derive(Clone, Copy)]
struct MatrixEntry {
    row: u32,
    column: u32,
    value: f64,
}

fn read_entries(lines: &mut Lines, head: &Head) -> Result<SparseRows> {
    let mut entries: Vec<MatrixEntry> = Vec::new();
    while let Some(line) = lines.advance()? {
        if is_comment(line) {
            continue;
        }
        let entry = entry(line, head).map_err(|error| lines.place(error))?;
        head.check_room(lines, entries.len() as u64)?;
        entries.push(entry);
    }
    head.check_end(lines, entries.len() as u64)?;
    let in_file = |error| InputError { file: Some(lines.path().into()), ..error };
    sparse::check_rows(head.n_rows, entries.len() as u64).map_err(in_file)?;
    if !entries.is_sorted_by_key(|entry| entry.row) {
        entries.sort_unstable_by_key(|entry| (entry.row, entry.column));
    }
    rows_of(lines.path(), &entries, head)
}

/// Entries in order of their rows as rows.
fn rows_of(path: &Path, entries: &[MatrixEntry], head: &Head) -> Result<SparseRows> {
    let mut rows = SparseRows::of_width(head.n_columns as usize);
    let (mut rest, mut row) = (entries, Vec::new());
    for number in 0..head.n_rows as u32 {
        let (of_row, others) = rest.split_at(rest.iter().take_while(|entry| entry.row == number).count());
        rest = others;
        row.clear();
        row.extend(of_row.iter().map(|entry| (entry.column, entry.value)));
        rows.push_row(&mut row).map_err(|twice| {
            let error = InputError::in_file(path, "found the entry twice, expected it once");
            let column = u64::from(twice.column) + 1;
            error.at_row(number as usize + 1).at_column(column.to_string()).hint("add the values up in one line")
        })?;
    }
    Ok(rows)
}

fn entry(line: &[u8], head: &Head) -> Result<MatrixEntry, InputError> {
    let mut words = words(line);
    let (row, column, value) = (words.next(), words.next(), words.next());
    let is_whole = value.is_some() != head.is_pattern && words.next().is_none();
    let (Some(row), Some(column), true) = (row, column, is_whole) else {
        let expected = if head.is_pattern { "row and column" } else { "row, column and value" };
        return Err(InputError::new(format!("found {}, expected {expected}", quoted(line))).hint(LAYOUT));
    };
    let position = |what: &str, word: &[u8], most: u64| {
        whole(word).filter(|number| (1..=most).contains(number)).map(|number| number as u32 - 1).ok_or_else(|| {
            let problem = format!("found the {what} {}, expected 1 to {most} as the sizes say", quoted(word));
            InputError::new(problem).hint(LAYOUT)
        })
    };
    let row = position("row", row, head.n_rows)?;
    let column = position("column", column, head.n_columns)?;
    Ok(MatrixEntry { row, column, value: value.map_or(Ok(1.0), finite)? })
}

fn read_array(
    lines: &mut Lines,
    head: &Head,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
) -> Result<Table> {
    let mut cells: Vec<f64> = Vec::new();
    while let Some(line) = lines.advance()? {
        if is_comment(line) {
            continue;
        }
        let cell = finite(line.trim_ascii()).map_err(|error| lines.place(error))?;
        head.check_room(lines, cells.len() as u64)?;
        cells.push(cell);
    }
    head.check_end(lines, cells.len() as u64)?;
    let (n_rows, n_columns) = (head.n_rows as usize, head.n_columns as usize);
    let grid = Grid { path: lines.path(), n_rows, n_columns, by_column: true };
    grid.table(Cells::Owned(cells), selection, columns, truth)
}

/// A value; NaN is a missing one.
fn finite(word: &[u8]) -> Result<f64, InputError> {
    number(word).filter(|value| !value.is_infinite()).ok_or_else(|| {
        InputError::new(format!("found the value {}, expected a finite number", quoted(word))).hint(LAYOUT)
    })
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn whole(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_none_or(|first| *first == b'%')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::test_files::{damaged, open, opens_or_explains, rows};

    const COORDINATE: &str = "%%MatrixMarket matrix coordinate real general\n% note\n\n3 2 3\n3 1 5\n1 2 7\n1 1 1\n";
    const ARRAY: &str = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3.5\n-4\n";

    fn explained(text: &str) -> String {
        let error = open("t.mtx", text, &Selection::default()).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    }

    #[test]
    fn entries_come_in_any_order_and_cells_by_column() {
        let data = open("t.mtx", COORDINATE, &Selection::default()).unwrap();
        assert!(data.is_counts());
        assert_eq!(rows(&data), [[1.0, 7.0], [0.0, 0.0], [5.0, 0.0]]);
        let data = open("t.mtx.gz", ARRAY, &Selection::default()).unwrap();
        assert_eq!(rows(&data), [[1.0, 3.5], [2.0, -4.0]]);
        let halves = COORDINATE.replace(" 5\n", " 0.5\n");
        assert_eq!(rows(&open("t.mtx", halves, &Selection::default()).unwrap())[2], [0.5, 0.0]);
        let pattern = "%%matrixmarket MATRIX Coordinate Pattern General\n1 3 2\n1 1\n1 3\n";
        assert_eq!(rows(&open("t.mtx", pattern, &Selection::default()).unwrap()), [[1.0, 0.0, 1.0]]);
    }

    #[test]
    fn other_matrices_are_refused() {
        let of = |banner: &str| explained(&COORDINATE.replace("coordinate real general", banner));
        assert!(of("coordinate complex general").contains("found the field \"complex\""));
        assert!(of("coordinate real symmetric").contains("expected general"));
        assert!(of("array pattern general").contains("found the field \"pattern\""));
        assert!(of("sparse real general").contains("expected coordinate or array"));
        assert!(explained("1 2 3\n").contains("expected %%MatrixMarket"));
    }

    #[test]
    fn mistakes_are_named_by_line() {
        let with = |from: &str, to: &str| explained(&COORDINATE.replace(from, to));
        assert!(with("1 2 7\n", "1 3 7\n").contains("line 6: found the column \"3\", expected 1 to 2"));
        assert!(with("3 1 5\n", "0 1 5\n").contains("line 5: found the row \"0\", expected 1 to 3"));
        assert!(with("1 2 7\n", "1 2 inf\n").contains("line 6: found the value \"inf\""));
        assert!(with("1 2 7\n", "1 2\n").contains("expected row, column and value"));
        assert!(with("1 2 7\n", "1 1 7\n").contains("t.mtx, row 1, column 1: found the entry twice"));
        assert!(with("1 1 1\n", "").contains("truncated: found 2 entries, expected 3"));
        assert!(with("1 1 1\n", "1 1 1\n2 2 2\n").contains("line 8: found one more entry"));
        assert!(with("3 2 3\n", "3 2\n").contains("rows, columns and entries"));
        assert!(with("3 2 3\n", "4000000000 2 3\n").contains("too many empty"));
        assert!(with("3 2 3\n", "0 2 3\n").contains("found 0 rows"));
        assert!(with("3 2 3\n", "3 4294967296 3\n").contains("found 4294967296 columns"));
        assert!(with("3 2 3\n", "18446744073709551616 2 3\n").contains("expected whole numbers"));
        let claims = ARRAY.replace("2 2\n", "4000000000 2000000000\n");
        assert!(explained(&claims).contains("truncated: found 4 entries"));
        assert!(explained(&ARRAY.replace("-4\n", "")).contains("truncated: found 3 entries, expected 4"));
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(
            sparse in damaged(COORDINATE.as_bytes().to_vec()),
            dense in damaged(ARRAY.as_bytes().to_vec()),
        ) {
            opens_or_explains("t.mtx", &sparse);
            opens_or_explains("t.mtx.gz", &dense);
        }
    }
}
