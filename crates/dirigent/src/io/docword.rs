//! UCI `docword*.txt`: the words of documents, counted.
//!
//! Three lines with the numbers of documents, words and entries; then one entry a line, `document word count`, both ids
//! from 1, sorted by document. Memory grows with the entries that are there, never with those that are claimed.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::{CountTable, Table};

use super::selection::Selection;
use super::source::{self, Lines, quoted};
use super::sparse::{self, MOST_COLUMNS};

const MOST_DOCUMENTS: u64 = (1 << 32) - 2;

/// Reads a table of counts.
pub(crate) fn read(path: &Path, selection: &Selection) -> Result<Table> {
    selection.refuse_columns(path, "word counts")?;
    selection.refuse_labels(path)?;
    let mut lines = Lines::open(path)?;
    let claims = Claims::read(&mut lines)?;
    let mut documents =
        Documents { claims, table: CountTable::new(claims.words as usize), words: vec![], n_entries: 0 };
    while let Some(line) = lines.advance()? {
        let Some(entry) = three_numbers(line) else {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let error = explain(line);
            return Err(lines.place(error).into());
        };
        documents.push(entry).map_err(|error| lines.place(error))?;
    }
    documents.finish(path)
}

/// The three numbers at the head.
#[derive(Clone, Copy)]
struct Claims {
    documents: u64,
    words: u64,
    entries: u64,
}

impl Claims {
    fn read(lines: &mut Lines) -> Result<Self> {
        let documents = Self::number(lines, "the number of documents", 1, MOST_DOCUMENTS)?;
        let words = Self::number(lines, "the size of the vocabulary", 1, MOST_COLUMNS)?;
        let entries = Self::number(lines, "the number of entries", 0, u64::MAX)?;
        Ok(Self { documents, words, entries })
    }

    fn number(lines: &mut Lines, what: &str, least: u64, most: u64) -> Result<u64> {
        let Some(line) = lines.advance()?.map(<[u8]>::to_vec) else {
            let path = lines.path();
            let error = if lines.number() == 0 {
                source::empty(path)
            } else {
                InputError::in_file(path, format!("the file ends before {what}")).hint(LAYOUT)
            };
            return Err(error.into());
        };
        let number = std::str::from_utf8(line.trim_ascii()).ok().and_then(|text| text.parse().ok());
        match number {
            Some(0) if least > 0 => {
                let zero = if what.contains("documents") { "zero rows" } else { "zero columns" };
                Err(lines.error(format!("{zero}: {what} is 0")).hint(LAYOUT).into())
            }
            Some(number) if number <= most => Ok(number),
            Some(number) => {
                Err(lines.error(format!("found {number} as {what}, expected at most {most}")).hint(LAYOUT).into())
            }
            None => Err(lines.error(format!("found {}, expected {what}", quoted(&line))).hint(LAYOUT).into()),
        }
    }
}

const LAYOUT: &str =
    "the file begins with three lines: documents, words, entries; then one `document word count` a line";

/// The table so far and the document that is being read.
struct Documents {
    claims: Claims,
    table: CountTable,
    words: Vec<(u32, u32)>,
    n_entries: u64,
}

impl Documents {
    fn push(&mut self, [document, word, count]: [u64; 3]) -> Result<(), InputError> {
        let wrong = |column: &str, problem, hint| Err(InputError::new(problem).at_column(column).hint(hint));
        let Claims { documents, words, entries } = self.claims;
        if self.n_entries == entries {
            let problem = format!("found one more entry, expected {entries} as the third line says");
            return Err(InputError::new(problem).hint(LAYOUT));
        }
        if document == 0 || document > documents {
            return wrong("document", format!("found document {document}, expected 1 to {documents}"), LAYOUT);
        }
        let current = self.table.n_rows() as u64 + 1;
        if document < current {
            let problem = format!("found document {document} after document {current}, expected rising order");
            return wrong("document", problem, "sort the lines below the third by document");
        }
        if word == 0 || word > words {
            let hint = "word ids begin at 1 and end at the size of the vocabulary in the second line";
            return wrong("word", format!("found word {word}, expected 1 to {words}"), hint);
        }
        let Some(count) = u32::try_from(count).ok().filter(|count| *count > 0) else {
            let problem = format!("found the count {count}, expected 1 to {}", u32::MAX);
            return wrong("count", problem, "leave out words that do not occur");
        };
        self.n_entries += 1;
        self.go_to(document)?;
        self.words.push((word as u32 - 1, count));
        Ok(())
    }

    /// Closes documents until `document` is the current one.
    fn go_to(&mut self, document: u64) -> Result<(), InputError> {
        sparse::check_rows(document, self.n_entries)?;
        while self.table.n_rows() as u64 + 1 < document {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), InputError> {
        if !self.words.is_sorted() {
            self.words.sort_unstable();
        }
        if let Some(pair) = self.words.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let document = self.table.n_rows() + 1;
            let error = InputError::new(format!("document {document} lists word {} twice", pair[0].0 + 1));
            return Err(error.at_row(document).hint("add the counts up in one line"));
        }
        self.table.push_row(self.words.drain(..));
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<Table> {
        let Claims { documents, entries, .. } = self.claims;
        if self.n_entries < entries {
            let problem =
                format!("truncated: found {} entries, expected {entries} as the third line says", self.n_entries);
            return Err(InputError::in_file(path, problem).hint("copy or write the file again").into());
        }
        let in_file = |error| InputError { file: Some(path.into()), ..error };
        self.go_to(documents).and_then(|()| self.close()).map_err(in_file)?;
        Ok(Table::Counts(self.table))
    }
}

/// The fast way: exactly three whole numbers.
fn three_numbers(line: &[u8]) -> Option<[u64; 3]> {
    let mut numbers = [0; 3];
    let mut rest = line.trim_ascii_start();
    for number in &mut numbers {
        let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_whole = rest.get(n_digits).is_none_or(u8::is_ascii_whitespace);
        // 19 digits always fit
        if !(1..=19).contains(&n_digits) || !is_whole {
            return None;
        }
        *number = rest[..n_digits].iter().fold(0, |number, digit| 10 * number + u64::from(digit - b'0'));
        rest = rest[n_digits..].trim_ascii_start();
    }
    rest.is_empty().then_some(numbers)
}

/// The slow way: what is wrong with a line that is not three whole numbers.
fn explain(line: &[u8]) -> InputError {
    let cells: Vec<_> = line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()).collect();
    if cells.len() != 3 {
        let problem = format!("found {} values, expected 3: document, word and count", cells.len());
        return InputError::new(problem).hint(LAYOUT);
    }
    let is_number = |cell: &[u8]| (1..=19).contains(&cell.len()) && cell.iter().all(u8::is_ascii_digit);
    let wrong = cells.iter().position(|cell| !is_number(cell)).expect("three whole numbers need no explanation");
    let column = ["document", "word", "count"][wrong];
    let problem = format!("found {}, expected a whole number of at least 1", quoted(cells[wrong]));
    let hint = "word counts are whole numbers; a table of other numbers can be read as .csv";
    InputError::new(problem).at_column(column).hint(hint)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::test_files::{damaged, open, opens_or_explains, rows};

    const GOOD: &str = "4\n3\n4\n1 3 2\n1 1 5\n3 2 1\n3 3 4294967295\n";

    #[test]
    fn documents_that_do_not_occur_are_empty_rows() {
        for name in ["docword.t.txt", "docword.t.txt.gz"] {
            let data = open(name, GOOD, &Selection::default()).unwrap();
            let expected = [[5.0, 0.0, 2.0], [0.0; 3], [0.0, 1.0, 4_294_967_295.0], [0.0; 3]];
            assert_eq!(rows(&data), expected);
            assert!(data.is_counts());
        }
    }

    #[test]
    fn blanks_and_line_ends_do_not_matter() {
        let text = GOOD.replace('\n', " \r\n").replace(' ', " \t") + "\n \n";
        let data = open("docword.t.txt", text, &Selection::default()).unwrap();
        assert_eq!(rows(&data), rows(&open("docword.t.txt", GOOD, &Selection::default()).unwrap()));
    }

    #[test]
    fn a_corpus_of_empty_documents_is_a_corpus() {
        let data = open("docword.t.txt", "5\n2\n0\n", &Selection::default()).unwrap();
        assert_eq!((data.n_rows(), data.n_columns()), (5, 2));
    }

    #[test]
    fn claimed_documents_take_no_memory() {
        for text in ["4000000000\n2\n1\n1 1 1\n", "4000000000\n2\n2\n1 1 1\n3999999999 1 1\n"] {
            let error = open("docword.t.txt", text, &Selection::default()).unwrap_err().to_string();
            assert!(error.contains("too many empty ones"), "{error}");
        }
        let error = open("docword.t.txt", "1\n2\n18446744073709551615\n", &Selection::default()).unwrap_err();
        assert!(error.to_string().contains("truncated: found 0 entries"), "{error}");
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(file in damaged(GOOD.into())) {
            opens_or_explains("docword.t.txt", &file);
            opens_or_explains("docword.t.txt.gz", &file);
        }

        #[test]
        fn the_fast_way_agrees_with_the_standard_parser(line in "[ 0-9]{0,30}|[0-9]{18,21} 1 1|[-+.0-9 ]{0,9}") {
            let cells: Vec<&str> = line.split_ascii_whitespace().collect();
            let is_plain = |cell: &&str| cell.len() <= 19 && cell.bytes().all(|byte| byte.is_ascii_digit());
            let expected = (cells.len() == 3 && cells.iter().all(is_plain))
                .then(|| [0, 1, 2].map(|ix| cells[ix].parse().unwrap()));
            prop_assert_eq!(three_numbers(line.as_bytes()), expected);
            if expected.is_none() && !cells.is_empty() {
                explain(line.as_bytes());
            }
        }
    }
}
