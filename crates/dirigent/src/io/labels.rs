//! Labels: a class for each row, as numbers or as text.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{InputError, Result};

use super::records::{self, Record, Records, text};
use super::source::{self, Lines};
use super::{Format, npy};

/// A class for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// The classes, numbered in order of first appearance.
    pub labels: Vec<u32>,
    /// What the file calls each class.
    pub names: Vec<String>,
}

impl Truth {
    /// The labels as the file numbers them; `None` if one is not a number below `limit`.
    pub fn numbers(&self, limit: usize) -> Option<Vec<u32>> {
        let number = |name: &String| name.parse::<u32>().ok().filter(|&number| (number as usize) < limit);
        let numbers: Vec<u32> = self.names.iter().map(number).collect::<Option<_>>()?;
        Some(self.labels.iter().map(|&label| numbers[label as usize]).collect())
    }
}

/// Numbers labels as they come.
#[derive(Debug, Default)]
pub(crate) struct TruthBuilder {
    labels: Vec<u32>,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl TruthBuilder {
    /// Appends the label of the next row.
    pub(crate) fn push(&mut self, name: &str) {
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.names.len()).expect("fewer than 2³² different labels fit in memory");
                self.numbers.insert(name.into(), number);
                self.names.push(name.into());
                number
            }
        };
        self.labels.push(number);
    }

    /// All labels so far.
    pub(crate) fn finish(self) -> Truth {
        Truth { labels: self.labels, names: self.names }
    }
}

/// Reads a label file: an `.npy` of whole numbers, text with one label a line, or a `.csv` with a column named `label`
/// (such as the `labels.csv` of a run). Each also as `.gz`.
pub fn read_labels(path: &Path) -> Result<Truth> {
    let mut truth = TruthBuilder::default();
    match Format::of_path(path) {
        Ok(Format::Npy) => npy::read_labels(path, &mut truth)?,
        Ok(Format::Csv) => read_column(path, b',', &mut truth)?,
        Ok(Format::Tsv) => read_column(path, b'\t', &mut truth)?,
        Ok(Format::Parquet | Format::Npz) => {
            let error = InputError::in_file(path, "labels are not read from .parquet and .npz");
            return Err(error
                .hint("save them as .npy, or as text with one label a line; or give `label_column` of the data")
                .into());
        }
        Ok(Format::Docword | Format::Svmlight | Format::MatrixMarket) | Err(_) => read_lines(path, &mut truth)?,
    }
    if truth.labels.is_empty() {
        return Err(source::empty(path).into());
    }
    Ok(truth.finish())
}

fn read_lines(path: &Path, truth: &mut TruthBuilder) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let (mut number, mut blank_line) = (0, None);
    while let Some(line) = lines.advance()? {
        number += 1;
        let label = text(path, number, line)?;
        match blank_line {
            // blank lines at the end are harmless
            _ if label.is_empty() => blank_line = blank_line.or(Some(number)),
            None => truth.push(label),
            Some(blank_line) => {
                let error = InputError::in_file(path, "found an empty line, expected a label").at_line(blank_line);
                return Err(error.hint("give every row a label, one a line").into());
            }
        }
    }
    Ok(())
}

fn read_column(path: &Path, delimiter: u8, truth: &mut TruthBuilder) -> Result<()> {
    let mut records = Records::open(path, delimiter)?;
    let mut record = Record::default();
    if !records.read(&mut record)? {
        return Ok(());
    }
    let header = record.cells.iter().position(|cell| cell.trim_ascii() == b"label");
    let column = match header {
        Some(column) => column,
        None if record.cells.len() == 1 => 0,
        None => {
            let problem = format!("found {} columns and none named label, expected labels", record.cells.len());
            let hint = "give one label a line, or name the column of labels `label` in the first line";
            return Err(InputError::in_file(path, problem).at_line(record.line).hint(hint).into());
        }
    };
    if header.is_none() && records.n_leading_blanks() > 0 {
        let error = InputError::in_file(path, "found an empty line, expected a label").at_line(1);
        return Err(error.hint("give every row a label, one a line").into());
    }
    let mut more = header.is_none() || records.read(&mut record)?;
    while more {
        truth.push(records::label(path, &record, column)?);
        more = records.read(&mut record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;
    use crate::io::test_files::{Files, damaged, npy};

    fn read(name: &str, contents: impl AsRef<[u8]>) -> Result<Truth> {
        let files = Files::new();
        read_labels(&files.write(name, contents))
    }

    fn truth(labels: &[u32], names: &[&str]) -> Truth {
        Truth { labels: labels.to_vec(), names: names.iter().map(|name| name.to_string()).collect() }
    }

    #[test]
    fn labels_are_numbered_in_order_of_appearance() {
        let expected = truth(&[0, 1, 0, 2], &["7", "3", "12"]);
        assert_eq!(read("t.txt", "7\n3\n 7\r\n12\n\n").unwrap(), expected);
        assert_eq!(read("t.labels.gz", "7\n3\n7\n12").unwrap(), expected);
        assert_eq!(read("t.csv", "7\n3\n7\n12\n").unwrap(), expected);
        assert_eq!(read("t.txt", "Smith, John\nlabel\n").unwrap(), truth(&[0, 1], &["Smith, John", "label"]));
    }

    #[test]
    fn arrays_of_whole_numbers_are_labels() {
        let numbers = [7, 3, 7, 12];
        let expected = truth(&[0, 1, 0, 2], &["7", "3", "12"]);
        let ints: Vec<u8> = numbers.iter().flat_map(|&n: &i32| n.to_le_bytes()).collect();
        let floats: Vec<u8> = numbers.iter().flat_map(|&n| f64::from(n).to_be_bytes()).collect();
        assert_eq!(read("t.npy", npy("'<i4'", false, "(4,)", &ints)).unwrap(), expected);
        assert_eq!(read("t.npy.gz", npy("'>f8'", false, "(4, 1)", &floats)).unwrap(), expected);
        assert_eq!(read("t.npy", npy("'|i1'", false, "(2,)", &[0, 255])).unwrap(), truth(&[0, 1], &["0", "-1"]));
    }

    #[test]
    fn the_label_column_of_a_run_is_found() {
        let text = "row,label,certainty\n0,4,0.5\n1,2,1\n2,4,0.75\n";
        assert_eq!(read("labels.csv", text).unwrap(), truth(&[0, 1, 0], &["4", "2"]));
        assert_eq!(read("labels.tsv.gz", text.replace(',', "\t")).unwrap(), truth(&[0, 1, 0], &["4", "2"]));
        assert_eq!(read("one.csv", "label\na\nb\n").unwrap(), truth(&[0, 1], &["a", "b"]));
    }

    fn explains(name: &str, contents: &[u8]) {
        match read(name, contents) {
            Ok(truth) => assert!(!truth.labels.is_empty()),
            Err(Error::Input(error)) => assert!(!error.problem.is_empty()),
            Err(error) => panic!("not the user's mistake: {error}"),
        }
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(
            text in damaged(b"row,label\n1,\"a\"\n2,b\n".to_vec()),
            array in damaged(npy("'<i4'", false, "(4,)", &[1; 16])),
        ) {
            for name in ["t.txt", "t.csv", "t.tsv.gz"] {
                explains(name, &text);
            }
            explains("t.npy", &array);
        }
    }
}
