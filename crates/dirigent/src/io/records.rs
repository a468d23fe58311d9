//! Records of separated cells, each with the line where it begins.
//!
//! Lines are counted here and not by the `csv` crate, whose count is behind after blank lines and `\r\n`; the crate takes
//! quoted records apart.

use std::ops::{Index, Range};
use std::path::Path;

use crate::error::{InputError, Result};

use super::source::{Lines, counted, quoted};

/// One record.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The line where it begins, from 1.
    pub(crate) line: u64,
    /// Its cells, without the quotes around them.
    pub(crate) cells: RecordCells,
}

/// The cells of a record, in one piece of text.
#[derive(Debug, Default)]
pub(crate) struct RecordCells {
    text: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl RecordCells {
    /// The number of cells.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// All cells.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|place| &self.text[place.clone()])
    }

    fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    fn push(&mut self, cell: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(cell);
        self.places.push(start..self.text.len());
    }

    /// Takes a line apart. Whether it could be done: a line with quotes has to be looked at more closely.
    fn split(&mut self, line: &[u8], delimiter: u8) -> bool {
        self.clear();
        self.text.extend_from_slice(line);
        let mut start = 0;
        for (ix, &byte) in line.iter().enumerate() {
            if byte == b'"' {
                return false;
            }
            if byte == delimiter {
                self.places.push(start..ix);
                start = ix + 1;
            }
        }
        self.places.push(start..line.len());
        true
    }
}

impl Index<usize> for RecordCells {
    type Output = [u8];

    fn index(&self, ix: usize) -> &[u8] {
        &self.text[self.places[ix].clone()]
    }
}

/// The records of a file, all with the same number of cells.
///
/// Blank lines are passed over. In a table of one column they are empty cells, unless they come before the first record or after the last.
pub(crate) struct Records {
    lines: Lines,
    delimiter: u8,
    /// A record with quotes, before and after it is taken apart.
    text: Vec<u8>,
    quoted: csv::ByteRecord,
    n_cells: Option<usize>,
    n_leading_blanks: u64,
    /// Blank lines that are still to be given out as empty cells, before the record that was read behind them.
    blanks: Range<u64>,
    behind_blanks: Option<Record>,
}

impl Records {
    /// The records of the file at `path`.
    pub(crate) fn open(path: &Path, delimiter: u8) -> Result<Self> {
        let lines = Lines::open(path)?;
        let (text, quoted) = (Vec::new(), csv::ByteRecord::new());
        Ok(Self {
            lines,
            delimiter,
            text,
            quoted,
            n_cells: None,
            n_leading_blanks: 0,
            blanks: 0..0,
            behind_blanks: None,
        })
    }

    /// The blank lines before the first record.
    pub(crate) fn n_leading_blanks(&self) -> u64 {
        self.n_leading_blanks
    }

    /// Reads the next record; whether there was one.
    pub(crate) fn read(&mut self, record: &mut Record) -> Result<bool> {
        if self.behind_blanks.is_none() && !self.read_ahead(record)? {
            return Ok(false);
        }
        if let Some(line) = self.blanks.next() {
            record.line = line;
            record.cells.clear();
            record.cells.push(b"");
        } else if let Some(behind) = self.behind_blanks.take() {
            *record = behind;
        }
        Ok(true)
    }

    /// Reads the next record that is no blank line, and puts it aside where blank lines come first.
    fn read_ahead(&mut self, record: &mut Record) -> Result<bool> {
        let after = self.lines.number() + 1;
        let is_split;
        loop {
            let Some(line) = self.lines.advance()? else { return Ok(false) };
            if line.iter().any(|byte| *byte != b' ') {
                is_split = record.cells.split(line, self.delimiter);
                if !is_split {
                    self.text.clear();
                    self.text.extend_from_slice(line);
                }
                break;
            }
        }
        record.line = self.lines.number();
        if !is_split {
            self.split_quoted(record)?;
        }
        self.check_length(record)?;
        match self.n_cells {
            None => (self.n_cells, self.n_leading_blanks) = (Some(record.cells.len()), record.line - after),
            Some(1) if record.line > after => {
                self.blanks = after..record.line;
                self.behind_blanks = Some(std::mem::take(record));
            }
            Some(_) => {}
        }
        Ok(true)
    }

    fn split_quoted(&mut self, record: &mut Record) -> Result<()> {
        let mut place = TextPlace::CellStart.after(&self.text, self.delimiter);
        while place == TextPlace::Quoted {
            let looked_at = self.text.len();
            if !self.lines.append_to(&mut self.text)? {
                let problem = "a quote is opened and never closed";
                let error = InputError::in_file(self.lines.path(), problem).at_line(record.line);
                return Err(error.hint("close it, or write \"\" for a quote inside quotes").into());
            }
            place = place.after(&self.text[looked_at..], self.delimiter);
        }
        let mut builder = csv::ReaderBuilder::new();
        // the record is known to end where the text ends, whatever carriage returns are in it
        builder.has_headers(false).delimiter(self.delimiter).terminator(csv::Terminator::Any(b'\n'));
        let mut reader = builder.from_reader(self.text.as_slice());
        reader.read_byte_record(&mut self.quoted).expect("bytes in memory can be read");
        record.cells.clear();
        self.quoted.iter().for_each(|cell| record.cells.push(cell));
        Ok(())
    }

    fn check_length(&self, record: &Record) -> Result<(), InputError> {
        let (found, expected) = (record.cells.len(), self.n_cells.unwrap_or(record.cells.len()));
        if found == expected {
            return Ok(());
        }
        let problem = format!("found {}, expected {expected} as in the first line", counted(found, "cell"));
        let error = InputError::in_file(self.lines.path(), problem).at_line(record.line);
        Err(error.hint("put cells that contain the separator in quotes"))
    }
}

/// Where a scan for quotes stands. A quote opens a cell only at its beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    CellStart,
    Bare,
    Quoted,
    /// After a quote inside quotes: the end, or the first half of a doubled one.
    Closing,
}

impl TextPlace {
    fn after(self, text: &[u8], delimiter: u8) -> Self {
        text.iter().fold(self, |place, &byte| match (place, byte) {
            (Self::Quoted, b'"') => Self::Closing,
            (Self::Quoted, _) | (Self::Closing | Self::CellStart, b'"') => Self::Quoted,
            (_, byte) if byte == delimiter => Self::CellStart,
            _ => Self::Bare,
        })
    }
}

/// The cell without surrounding spaces; it must be UTF-8.
pub(crate) fn text<'a>(path: &Path, line: u64, cell: &'a [u8]) -> Result<&'a str, InputError> {
    std::str::from_utf8(cell.trim_ascii()).map_err(|_| {
        let problem = format!("found {}, which is not UTF-8, expected UTF-8 text", quoted(cell));
        InputError::in_file(path, problem).at_line(line).hint("convert the file to UTF-8")
    })
}

/// The label in a column of a record.
pub(crate) fn label<'a>(path: &Path, record: &'a Record, column_ix: usize) -> Result<&'a str, InputError> {
    let label = text(path, record.line, &record.cells[column_ix])?;
    if label.is_empty() {
        let error = InputError::in_file(path, "found an empty cell, expected a label").at_line(record.line);
        return Err(error.at_column((column_ix + 1).to_string()).hint("give every row a label"));
    }
    Ok(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Result<Vec<(u64, Vec<String>)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let (mut records, mut record) = (Records::open(&path, b',')?, Record::default());
        let mut found = Vec::new();
        while records.read(&mut record)? {
            let cells = record.cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
            found.push((record.line, cells.collect()));
        }
        Ok(found)
    }

    fn row(line: u64, cells: [&str; 2]) -> (u64, Vec<String>) {
        (line, cells.map(String::from).to_vec())
    }

    #[test]
    fn lines_are_counted_past_blank_lines_carriage_returns_and_quoted_breaks() {
        let found = records("a,b\r\n\r\n\n1,\"x\r\n\"\"y\"\"\n\"\r\n3,4").unwrap();
        assert_eq!(found, [row(1, ["a", "b"]), row(4, ["1", "x\n\"y\"\n"]), row(7, ["3", "4"])]);
    }

    #[test]
    fn a_quote_inside_a_bare_cell_is_a_quote() {
        let found = records("5\" pipe,1\n\"a,b\"c,2\n\"\",\"3\r\"\n").unwrap();
        assert_eq!(found, [row(1, ["5\" pipe", "1"]), row(2, ["a,bc", "2"]), row(3, ["", "3\r"])]);
    }

    #[test]
    fn a_blank_line_is_an_empty_cell_only_in_a_single_column_and_between_others() {
        assert_eq!(records("1\n2\n\n\n").unwrap().len(), 2);
        let one = |line, cell: &str| (line, vec![cell.to_owned()]);
        let found = records("\n1\n\n  \n2\n\n3\n\n").unwrap();
        assert_eq!(found, [one(2, "1"), one(3, ""), one(4, ""), one(5, "2"), one(6, ""), one(7, "3")]);
        let error = records("1\n\n2,3\n").unwrap_err().to_string();
        assert!(error.contains("line 3: found 2 cells, expected 1"), "{error}");
    }

    #[test]
    fn an_open_quote_over_many_lines_is_found_in_linear_time() {
        let error = records(&format!("1,\"{}", "\n".repeat(2_000_000))).unwrap_err().to_string();
        assert!(error.contains("line 1: a quote is opened and never closed"), "{error}");
    }
}
