//! `.svm`, `.libsvm`, `.svmlight`: sparse rows of text, `label column:value column:value … # comment`.
//!
//! The first word of a line is its label and no data. Columns are numbered from 1, unless the number 0 occurs. What LETOR files say of queries
//! (`qid:7`) is passed over.

use std::path::Path;

use crate::error::{InputError, Result};

use super::cells;
use super::labels::TruthBuilder;
use super::number::number;
use super::selection::Selection;
use super::source::{self, Lines, quoted};
use super::sparse::{MOST_COLUMNS, SparseRows};

/// What the labels are called as a column.
pub(crate) const LABEL_COLUMN: &str = "label";
const LAYOUT: &str = "a line is `label column:value column:value …`, such as `1 3:0.5 7:2`";

/// Reads sparse rows; the labels, if asked for, are added to `truth`.
pub(crate) fn read(path: &Path, selection: &Selection, truth: &mut TruthBuilder) -> Result<SparseRows> {
    let wants_labels = check_selection(path, selection)?;
    let mut lines = Lines::open(path)?;
    let mut rows = SparseRows::of_unknown_width();
    let mut entries = Vec::new();
    while let Some(line) = lines.advance()? {
        let label = match parse(line, &mut entries) {
            Ok(Some(label)) => label,
            Ok(None) => continue,
            Err(error) => return Err(lines.place(error).into()),
        };
        let added = rows.push_row(&mut entries);
        if wants_labels {
            match std::str::from_utf8(label) {
                Ok(label) => push_label(label, truth),
                Err(_) => {
                    let problem = format!("found the label {}, expected UTF-8 text", quoted(label));
                    return Err(lines.error(problem).hint("convert the file to UTF-8").into());
                }
            }
        }
        if let Err(twice) = added {
            let error = lines.error("found the column twice in one row, expected it once");
            return Err(error.at_column(twice.column.to_string()).hint("add the values up").into());
        }
    }
    if rows.n_rows() == 0 {
        return Err(source::empty(path).into());
    }
    Ok(rows)
}

fn check_selection(path: &Path, selection: &Selection) -> Result<bool, InputError> {
    selection.refuse_columns(path, "sparse rows")?;
    match selection.label_column.as_deref() {
        None => Ok(false),
        Some(LABEL_COLUMN) => Ok(true),
        Some(other) => {
            let error = InputError::in_file(path, format!("there is no label column {other:?}"));
            Err(error
                .hint(format!("the first word of each line is called {LABEL_COLUMN}: `label_column` {LABEL_COLUMN}")))
        }
    }
}

/// The label of a line, whose entries are left in `entries`; nothing for a line without a row.
fn parse<'a>(line: &'a [u8], entries: &mut Vec<(u32, f64)>) -> Result<Option<&'a [u8]>, InputError> {
    entries.clear();
    let end = line.iter().position(|byte| *byte == b'#').unwrap_or(line.len());
    let mut words = line[..end].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(label) = words.next() else { return Ok(None) };
    if label.contains(&b':') {
        let problem = format!("found {}, expected the label of the row", quoted(label));
        return Err(InputError::new(problem).hint(format!("{LAYOUT}; write 0 where there is no label")));
    }
    for word in words {
        if !word.starts_with(b"qid:") {
            entries.push(entry(word)?);
        }
    }
    Ok(Some(label))
}

fn entry(word: &[u8]) -> Result<(u32, f64), InputError> {
    let colon = word.iter().position(|byte| *byte == b':');
    let Some((column, value)) = colon.map(|colon| (&word[..colon], &word[colon + 1..])) else {
        return Err(InputError::new(format!("found {}, expected column:value", quoted(word))).hint(LAYOUT));
    };
    let is_number = (1..=10).contains(&column.len()) && column.iter().all(u8::is_ascii_digit);
    let digits = column.iter().map(|digit| u64::from(digit - b'0'));
    let column_ix = is_number.then(|| digits.fold(0, |number, digit| 10 * number + digit));
    let Some(column_ix) = column_ix.filter(|column_ix| *column_ix < MOST_COLUMNS) else {
        let problem = format!("found the column {}, expected a whole number below {MOST_COLUMNS}", quoted(column));
        return Err(InputError::new(problem).hint(LAYOUT));
    };
    match number(value) {
        Some(value) if !value.is_infinite() => Ok((column_ix as u32, value)),
        Some(_) => {
            let error = InputError::new(format!("found {}, expected a finite number", quoted(value)));
            Err(error.at_column(column_ix.to_string()).hint("write nan for a missing value, or leave the entry out"))
        }
        None => {
            let error = InputError::new(format!("found {}, expected a number", quoted(value)));
            Err(error.at_column(column_ix.to_string()).hint(LAYOUT))
        }
    }
}

/// `+1`, `1` and `1.0` are one class.
fn push_label(label: &str, truth: &mut TruthBuilder) {
    match number(label.as_bytes()).filter(|number| number.is_finite()) {
        Some(number) => truth.push(&cells::name(number)),
        None => truth.push(label),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::test_files::{damaged, open, opens_or_explains, rows};

    fn explained(text: impl AsRef<[u8]>) -> String {
        let error = open("t.svm", text, &Selection::default()).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    }

    #[test]
    fn columns_begin_at_one_unless_zero_occurs() {
        let data = |text: &str| rows(&open("t.svm", text, &Selection::default()).unwrap());
        assert_eq!(data("1 1:5 3:7\n0 2:2\n"), [[5.0, 0.0, 7.0], [0.0, 2.0, 0.0]]);
        assert_eq!(data("1 0:5 2:7\n0 1:2\n"), [[5.0, 0.0, 7.0], [0.0, 2.0, 0.0]]);
        assert_eq!(data("# note\n\n+1 3:2 1:0 2:1 # more\r\n-1\n"), [[0.0, 1.0, 2.0], [0.0; 3]], "in any order");
        assert_eq!(data("3 qid:7 1:0.5 2:-1e-3\n"), [[0.5, -0.001]]);
    }

    #[test]
    fn values_that_are_no_counts_make_a_dense_table_with_missing_cells() {
        let data = open("t.svm", "1 1:nan 2:2\n2 2:1\n", &Selection::default()).unwrap();
        assert!(!data.is_counts());
        assert_eq!((data.missing(), rows(&data)[1].as_slice()), (vec![1, 0], &[0.0, 1.0][..]));
        assert!(!open("t.svm", "1 1:4294967296\n", &Selection::default()).unwrap().is_counts());
        assert!(open("t.svm", "1 1:4294967295\n", &Selection::default()).unwrap().is_counts());
    }

    #[test]
    fn labels_are_classes_however_they_are_written() {
        let selection = Selection { label_column: Some("label".into()), ..Selection::default() };
        let data = open("t.svm", "+1 1:1\n-1 1:1\n1.0 2:1\na,b 1:1\n", &selection).unwrap();
        assert_eq!(data.truth().unwrap().labels, [0, 1, 0, 2]);
        assert_eq!(data.truth().unwrap().names, ["1", "-1", "a,b"]);
    }

    #[test]
    fn mistakes_are_named_by_line_and_column() {
        assert!(explained("1 1:2\n1 x:2\n").contains("t.svm, line 2: found the column \"x\""));
        assert!(explained("1 1:2\n1 3:x\n").contains("line 2, column 3: found \"x\", expected a number"));
        assert!(explained("1 3:inf\n").contains("line 1, column 3: found \"inf\", expected a finite number"));
        assert!(explained("1 1\n").contains("expected column:value"));
        assert!(explained("1:2 2:3\n").contains("expected the label"));
        assert!(explained("1 2:3 1:1 2:3\n").contains("line 1, column 2: found the column twice"));
        assert!(explained("1 2147483648:1\n").contains("below 2147483648"));
        assert!(explained("1 99999999999999999999:1\n").contains("below 2147483648"));
        assert!(explained("# only a note\n\n").contains("empty"));
        assert!(explained("1\n0\n").contains("zero columns"));
    }

    #[test]
    fn zeros_are_not_written_out_beyond_measure() {
        let error = explained("1 2147483646:0.5\n");
        assert!(error.contains("1 × 2147483646 cells for 1 entries are too many"), "{error}");
        assert_eq!(open("t.svm", "1 2147483646:5\n", &Selection::default()).unwrap().n_columns(), 2_147_483_646);
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(file in damaged(b"# c\n1 1:2 3:4\n-1 2:0.5 3:1 # x\n2\n0 qid:3 1:1\n".to_vec())) {
            opens_or_explains("t.svm", &file);
            opens_or_explains("t.libsvm.gz", &file);
        }
    }
}
