//! The header of an `.npy` file: type, order and shape.
//!
//! A strict parser of the one dictionary that NumPy writes. (A parser of all Python literals takes time exponential in the
//! depth of brackets, and multiplies the lengths of the shape without looking.)

use std::io::Read;
use std::path::Path;

use crate::error::{InputError, Result};

use crate::io::source;

/// Far above what NumPy writes for plain numbers (about 128 bytes).
const LONGEST_HEADER: usize = 64 << 10;
const NUMBERS: &str = "whole or floating-point numbers (i1 to i8, u1 to u8, f4, f8)";

/// What an `.npy` file says about its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NpyHeader {
    /// How a cell is stored.
    pub(super) number: Number,
    /// Whether columns are stored one after the other, instead of rows.
    pub(super) fortran_order: bool,
    /// The lengths, as claimed.
    pub(super) shape: Vec<u64>,
    /// Bytes before the first cell.
    pub(super) data_start: usize,
}

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// Signed, unsigned or floating.
    pub(super) kind: Kind,
    /// Bytes.
    pub(super) width: usize,
    /// The most significant byte comes first.
    pub(super) big_endian: bool,
}

/// The kinds of numbers that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `i1`, `i2`, `i4`, `i8`.
    Signed,
    /// `u1`, `u2`, `u4`, `u8`.
    Unsigned,
    /// `f4`, `f8`.
    Float,
}

/// Reads the header and leaves the reader at the first cell.
pub(super) fn read(path: &Path, reader: &mut dyn Read) -> Result<NpyHeader> {
    let prefix = take(path, reader, 8)?;
    if prefix.is_empty() {
        return Err(source::empty(path).into());
    }
    if !prefix.starts_with(b"\x93NUMPY") {
        let error = InputError::in_file(path, "does not begin as an .npy file does, expected \\x93NUMPY");
        let zipped = "it is zipped: let its name end in .npy.gz";
        let hint = if prefix.starts_with(b"\x1f\x8b") { zipped } else { "write it with numpy.save" };
        return Err(error.hint(hint).into());
    }
    let width = match prefix.get(6..8) {
        Some([1, 0]) => 2,
        Some([2 | 3, 0]) => 4,
        Some([major, minor]) => {
            let problem = format!("found version {major}.{minor} of the .npy format, expected 1.0, 2.0 or 3.0");
            return Err(InputError::in_file(path, problem).hint("write it with numpy.save").into());
        }
        _ => return Err(cut(path)),
    };
    let text = read_text(path, reader, width)?;
    let (descr, fortran_order, shape) = parse(&text).map_err(|problem| {
        InputError::in_file(path, format!("the header {problem}")).hint("write it with numpy.save")
    })?;
    let number = number(path, &descr)?;
    Ok(NpyHeader { number, fortran_order, shape, data_start: 8 + width + text.len() })
}

fn read_text(path: &Path, reader: &mut dyn Read, width: usize) -> Result<String> {
    let length = take(path, reader, width)?;
    if length.len() < width {
        return Err(cut(path));
    }
    let length = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > LONGEST_HEADER {
        let problem = format!("the header claims {length} bytes, expected at most {LONGEST_HEADER}");
        return Err(InputError::in_file(path, problem).hint("write it with numpy.save").into());
    }
    let text = take(path, reader, length)?;
    if text.len() < length {
        return Err(cut(path));
    }
    String::from_utf8(text).map_err(|_| InputError::in_file(path, "the header is not UTF-8 text").into())
}

fn take(path: &Path, reader: &mut dyn Read, n_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; n_bytes];
    let found = source::read_up_to(reader, &mut bytes).map_err(|error| source::read_error(path, error))?;
    bytes.truncate(found);
    Ok(bytes)
}

fn cut(path: &Path) -> crate::Error {
    InputError::in_file(path, "truncated: the file ends inside its header").hint("copy or write it again").into()
}

/// (type, Fortran order, shape), or what is wrong.
fn parse(text: &str) -> Result<(String, bool, Vec<u64>), String> {
    let mut rest = Cursor { text };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    let broken = || "is not the dictionary that NumPy writes".to_string();
    rest.eat("{").ok_or_else(broken)?;
    while rest.eat("}").is_none() {
        let key = rest.quoted().ok_or_else(broken)?;
        rest.eat(":").ok_or_else(broken)?;
        match key {
            "descr" if rest.eat("[").is_some() => {
                return Err(format!("says that cells have several fields (a structured array), expected {NUMBERS}"));
            }
            "descr" => descr = Some(rest.quoted().ok_or_else(broken)?.to_string()),
            "fortran_order" => {
                let no = rest.eat("False").map(|()| false);
                fortran_order = Some(no.or_else(|| rest.eat("True").map(|()| true)).ok_or_else(broken)?);
            }
            "shape" => shape = Some(rest.lengths().ok_or("has no shape of whole numbers below 2⁶⁴")?),
            _ => return Err(format!("has the unknown key {}", source::quoted(key.as_bytes()))),
        }
        let goes_on = rest.eat(",").is_some() || rest.text.trim_start().starts_with('}');
        goes_on.then_some(()).ok_or_else(broken)?;
    }
    match (descr, fortran_order, shape) {
        (Some(descr), Some(fortran_order), Some(shape)) => Ok((descr, fortran_order, shape)),
        _ => Err("lacks one of the keys descr, fortran_order and shape".into()),
    }
}

struct Cursor<'a> {
    text: &'a str,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, token: &str) -> Option<()> {
        self.text = self.text.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn quoted(&mut self) -> Option<&'a str> {
        let quote = if self.eat("'").is_some() { '\'' } else { self.eat("\"").map(|()| '"')? };
        let (quoted, rest) = self.text.split_once(quote)?;
        self.text = rest;
        Some(quoted)
    }

    fn lengths(&mut self) -> Option<Vec<u64>> {
        self.eat("(")?;
        let (lengths, rest) = self.text.split_once(')')?;
        self.text = rest;
        let lengths = lengths.trim().strip_suffix(',').unwrap_or(lengths).trim();
        if lengths.is_empty() {
            return Some(Vec::new());
        }
        // Python 2 wrote long integers as 70000L
        lengths.split(',').map(|length| length.trim().trim_end_matches('L').parse().ok()).collect()
    }
}

fn number(path: &Path, descr: &str) -> Result<Number> {
    let wrong = |what: &str, hint: &str| {
        let problem = format!("found cells of type {}{what}, expected {NUMBERS}", source::quoted(descr.as_bytes()));
        Err(InputError::in_file(path, problem).hint(hint).into())
    };
    let plain = "save plain numbers: numpy.save(path, array.astype(numpy.float64))";
    let (order, rest) = descr.split_at_checked(1).unwrap_or(("", descr));
    let (kind, width) = rest.split_at_checked(1).unwrap_or(("", rest));
    let kind = match (kind, width) {
        ("f", "4" | "8") => Kind::Float,
        ("i", "1" | "2" | "4" | "8") => Kind::Signed,
        ("u", "1" | "2" | "4" | "8") => Kind::Unsigned,
        ("O", _) => return wrong(" (Python objects)", plain),
        ("b", _) => return wrong(" (true or false)", "save numbers: numpy.save(path, array.astype(numpy.uint8))"),
        ("S" | "U" | "a", _) => return wrong(" (text)", plain),
        _ => return wrong("", plain),
    };
    if !matches!((order, width), ("<" | ">", _) | ("|", "1")) {
        return wrong(" of no stated byte order", plain);
    }
    let width = width.parse().expect("one of the digits above");
    Ok(Number { kind, width, big_endian: order == ">" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, bool, Vec<u64>)> {
        parse(text).ok()
    }

    #[test]
    fn headers_of_every_numpy_are_understood() {
        let expected = Some(("<f8".to_string(), false, vec![3, 4]));
        assert_eq!(parsed("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }      \n"), expected);
        assert_eq!(parsed("{\"shape\":(3L,4L,),\"descr\":\"<f8\",\"fortran_order\":False}"), expected);
        let one = parsed("{'descr': '|u1', 'fortran_order': True, 'shape': (5,), }");
        assert_eq!(one, Some(("|u1".to_string(), true, vec![5])));
        let single = parsed("{'descr': '<f8', 'fortran_order': False, 'shape': (), }").unwrap();
        assert!(single.2.is_empty());
    }

    #[test]
    fn broken_headers_are_refused() {
        let whole = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
        for cut in 0..whole.len() {
            assert_eq!(parsed(&whole[..cut]), None, "cut after {cut}");
        }
        assert_eq!(parsed(&whole.replace("(3,", "(-3,")), None);
        assert_eq!(parsed(&whole.replace("(3,", "(18446744073709551616,")), None);
        assert_eq!(parsed(&whole.replace("(3,", "(3,,")), None);
        assert_eq!(parsed(&whole.replace("False", "0")), None);
        assert_eq!(parsed(&"[".repeat(60_000)), None);
    }
}
