//! Pairs of rows: a table of two columns of row numbers, counted from 0.

use std::path::Path;

use crate::error::{InputError, Result};

use super::Format;
use super::records::{Record, Records, text};
use super::source::{self, quoted};

/// Two rows, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPair {
    /// One.
    pub a: usize,
    /// The other.
    pub b: usize,
}

/// Reads a `.csv` (or `.tsv`) of pairs of rows below `n_rows`. A first line without numbers is a header.
pub fn read_pairs(path: &Path, n_rows: usize) -> Result<Vec<RowPair>> {
    let delimiter = if matches!(Format::of_path(path), Ok(Format::Tsv)) { b'\t' } else { b',' };
    let mut records = Records::open(path, delimiter)?;
    let mut record = Record::default();
    let (mut pairs, mut is_first) = (Vec::new(), true);
    while records.read(&mut record)? {
        if record.cells.len() != 2 {
            let problem = format!("found {} columns, expected two: pairs of rows", record.cells.len());
            let hint = "write one pair a line, such as 0,17";
            return Err(InputError::in_file(path, problem).at_line(record.line).hint(hint).into());
        }
        let is_header = is_first && record.cells.iter().all(|cell| row_number(cell).is_none());
        is_first = false;
        if !is_header {
            let row = |column_ix| row(path, &record, column_ix, n_rows);
            pairs.push(RowPair { a: row(0)?, b: row(1)? });
        }
    }
    if pairs.is_empty() {
        return Err(source::empty(path).into());
    }
    Ok(pairs)
}

fn row_number(cell: &[u8]) -> Option<usize> {
    std::str::from_utf8(cell.trim_ascii()).ok()?.parse().ok()
}

fn row(path: &Path, record: &Record, column_ix: usize, n_rows: usize) -> Result<usize, InputError> {
    text(path, record.line, &record.cells[column_ix])?;
    row_number(&record.cells[column_ix]).filter(|row_ix| *row_ix < n_rows).ok_or_else(|| {
        let found = quoted(&record.cells[column_ix]);
        let problem = format!("found {found}, expected a row from 0 to {}", n_rows - 1);
        let error = InputError::in_file(path, problem).at_line(record.line).at_column((column_ix + 1).to_string());
        error.hint("rows are counted from 0, as in labels.csv")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::Files;

    fn read(name: &str, contents: &str) -> Result<Vec<RowPair>> {
        let files = Files::new();
        read_pairs(&files.write(name, contents), 10)
    }

    #[test]
    fn a_header_is_optional() {
        let expected = [RowPair { a: 0, b: 9 }, RowPair { a: 3, b: 3 }];
        assert_eq!(read("p.csv", "0,9\n3, 3\n").unwrap(), expected);
        assert_eq!(read("p.csv", "row_a,row_b\n0,9\n3,3\n").unwrap(), expected);
        assert_eq!(read("p.tsv.gz", "a\tb\n0\t9\n3\t3\n").unwrap(), expected);
    }

    #[test]
    fn a_mistake_is_named_by_line_and_column() {
        let error = |contents: &str| read("p.csv", contents).unwrap_err().to_string();
        assert!(error("0,1\n2,10\n").contains("line 2, column 2: found \"10\", expected a row from 0 to 9"));
        assert!(error("0,1\nx,y\n").contains("line 2, column 1"));
        assert!(error("0,-1\n").contains("line 1, column 2"));
        assert!(error("0,1,2\n").contains("found 3 columns"));
        assert!(error("a,b\n").contains("empty"));
        assert!(error("").contains("empty"));
    }
}
