//! Opening a file and reading its bytes or lines, unzipped where its name ends in `.gz`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, InputError, Result};

/// No honest line is longer; a zipped file of zeros is one endless line.
const LONGEST_LINE: usize = 64 << 20;
const BUFFER: usize = 128 << 10;

/// The file at `path`, which is there, readable, a file and not empty, and its length in bytes.
pub(crate) fn open(path: &Path) -> Result<(File, u64)> {
    let metadata = fs::metadata(path).map_err(|error| open_error(path, &error))?;
    if metadata.is_dir() {
        return Err(InputError::in_file(path, "is a folder, expected a file").into());
    }
    // opening a named pipe would wait for ever
    if !metadata.is_file() {
        let error = InputError::in_file(path, "is not a regular file");
        return Err(error.hint("write the data to a file first").into());
    }
    let file = File::open(path).map_err(|error| open_error(path, &error))?;
    if metadata.len() == 0 {
        return Err(empty(path).into());
    }
    Ok((file, metadata.len()))
}

/// A stream of the file's bytes, unzipped if need be.
pub(crate) fn reader(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(BUFFER, open(path)?.0);
    if !is_zipped(path) {
        return Ok(Box::new(file));
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file))))
}

/// Whether the name says that the file is zipped.
pub(crate) fn is_zipped(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// A file without contents.
pub(crate) fn empty(path: &Path) -> InputError {
    InputError::in_file(path, "the file is empty, expected data").hint("was it written to the end?")
}

/// What to say when reading failed midway: a damaged archive is the user's, a failing disk the system's.
pub(crate) fn read_error(path: &Path, error: io::Error) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    if is_zipped(path) && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
        let problem = format!("not a whole gzip file: {error}");
        return InputError::in_file(path, problem).hint("copy it again, or test it with `gzip -t`").into();
    }
    Error::io("reading", path, error)
}

/// Fills the buffer as far as the stream goes; returns how far.
pub(crate) fn read_up_to(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Text from a file as a message shows it: in quotes, short, without control characters.
pub(crate) fn quoted(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN)]);
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("\"{}{rest}\"", shown.escape_debug())
}

/// "1 cell", "2 cells".
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A text file line by line, as bytes: what is not UTF-8 may stand in a column that nobody reads.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self { path: path.into(), reader: reader(path)?, line: Vec::new(), number: 0 })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// A mistake on the current line.
    pub(crate) fn error(&self, problem: impl Into<String>) -> InputError {
        InputError::in_file(&self.path, problem).at_line(self.number)
    }

    /// A mistake found in the current line, unless it names a row.
    pub(crate) fn place(&self, error: InputError) -> InputError {
        let error = InputError { file: Some(self.path.clone()), ..error };
        if error.row.is_none() { error.at_line(self.number) } else { error }
    }

    /// The next line without its end.
    pub(crate) fn advance(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let mut bounded = (&mut self.reader).take(LONGEST_LINE as u64 + 1);
        let n_bytes = bounded.read_until(b'\n', &mut self.line).map_err(|error| read_error(&self.path, error))?;
        if n_bytes == 0 {
            return Ok(None);
        }
        self.number += 1;
        if n_bytes > LONGEST_LINE {
            return Err(self.too_long().into());
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // spreadsheets mark UTF-8 by these three bytes
        let mark: &[u8] = if self.number == 1 { b"\xef\xbb\xbf" } else { b"" };
        Ok(Some(line.strip_prefix(mark).unwrap_or(line)))
    }

    /// Appends a line break and the next line to a record that goes on; whether there was one.
    pub(crate) fn append_to(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        if record.len() > LONGEST_LINE {
            return Err(self.too_long().into());
        }
        let Some(line) = self.advance()? else { return Ok(false) };
        record.push(b'\n');
        record.extend_from_slice(line);
        Ok(true)
    }

    fn too_long(&self) -> InputError {
        let problem = format!("found a line of more than {} MiB, expected a line of text", LONGEST_LINE >> 20);
        self.error(problem).hint("is this a text file, and is every quote closed?")
    }
}

/// The way out where nothing is found.
pub(crate) fn where_to_look(path: &Path) -> &'static str {
    if path.is_absolute() { "check the path" } else { "check the path; it is taken from the current folder" }
}

fn open_error(path: &Path, error: &io::Error) -> InputError {
    match error.kind() {
        io::ErrorKind::NotFound => InputError::in_file(path, "no such file").hint(where_to_look(path)),
        io::ErrorKind::PermissionDenied => {
            InputError::in_file(path, "no permission to read it").hint("check the file's owner and mode")
        }
        _ => InputError::in_file(path, format!("cannot be opened: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_any_usual_way_and_carry_no_mark() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.txt");
        fs::write(&path, b"\xef\xbb\xbfa\r\n\nb\n\xef\xbb\xbfc").unwrap();
        let mut lines = Lines::open(&path).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.advance().unwrap() {
            found.push(line.to_vec());
        }
        assert_eq!(found, [b"a".to_vec(), b"".to_vec(), b"b".to_vec(), b"\xef\xbb\xbfc".to_vec()]);
        assert_eq!(lines.number(), 4);
    }

    #[test]
    fn quotes_are_short_and_printable() {
        assert_eq!(quoted(b"a\x1bb"), "\"a\\u{1b}b\"");
        assert_eq!(quoted("é".repeat(500).as_bytes()), format!("\"{}…\"", "é".repeat(40)));
    }
}
