//! Pages of a stored column. The library makes room for what a page claims to hold before it opens it, so claims that cannot be true are refused here, when it asks for the header of a page;
//! likewise those of the end of a file.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::column::reader::{ColumnReader, get_column_reader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::file::serialized_reader::SerializedPageReader;
use bytes::Bytes;

use super::thrift::{is_sound, signed};

/// What is checked is within so many bytes of a header.
const HEAD: u64 = 32;
/// Bytes that sign the end of a file of which parts are encrypted.
const SIGNATURE: u64 = 28;
/// How a field of a header begins that is an integer, the next one after the field before.
const NEXT_INTEGER: u8 = 0x15;
/// How the header of a dictionary begins: three fields after the checksum, or four after the sizes.
const DICTIONARY: [u8; 2] = [0x3c, 0x4c];
/// The type of a page that is a dictionary.
const IS_DICTIONARY: i64 = 2;

/// Reads a stored column.
pub(super) fn column(file: &File, chunk: &ColumnChunkMetaData, n_rows: usize) -> Result<ColumnReader> {
    let file = file.try_clone()?;
    let pages = Pages { n_bytes: file.metadata()?.len(), file, most_times: most_times(chunk.compression()) };
    let reader = SerializedPageReader::new(Arc::new(pages), chunk, n_rows, None)?;
    Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(reader)))
}

/// The record at the end of a file; its length and four letters come after it. A file without them is no Parquet file, as the library says.
pub(super) fn check_end(file: &File) -> Result<()> {
    let Some(end) = file.metadata()?.len().checked_sub(8) else { return Ok(()) };
    let tail = file.get_bytes(end, 8)?;
    let Some(length) = tail.strip_suffix(b"PAR1").and_then(|length| length.first_chunk()) else { return Ok(()) };
    let length = u64::from(u32::from_le_bytes(*length));
    let Some(start) = end.checked_sub(length) else { return Ok(()) };
    let mut n_left = length;
    let record = file.get_read(start)?.take(length).bytes().map_while(std::io::Result::ok);
    let is_sound = is_sound(record.inspect(|_| n_left -= 1), length);
    // the library does not look at types, so one that is damaged shows in where the record ends
    if is_sound && [0, SIGNATURE].contains(&n_left) { Ok(()) } else { Err(refused("the end of the file is damaged")) }
}

/// How many times its bytes a page can hold: snappy copies 64 bytes by 3, deflate 258 by 2 bits, Zstandard 128 KB by 4.
fn most_times(compression: Compression) -> i64 {
    match compression {
        Compression::UNCOMPRESSED => 1,
        Compression::SNAPPY => 22,
        Compression::GZIP(_) => 1032,
        _ => 1 << 15,
    }
}

struct Pages {
    file: File,
    n_bytes: u64,
    most_times: i64,
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.n_bytes
    }
}

impl ChunkReader for Pages {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let n_bytes = HEAD.min(self.n_bytes.saturating_sub(start));
        let head = self.file.get_bytes(start, n_bytes as usize)?;
        let claim = Claim::of(&head).ok_or_else(|| refused("the header of a page is not as writers write it"))?;
        let header = self.file.get_read(start)?.bytes().map_while(std::io::Result::ok);
        if !is_sound(header, self.n_bytes) || !claim.is_possible(self.most_times) {
            return Err(refused("a page claims to hold more than it can"));
        }
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.n_bytes) {
            return Err(refused("a page is longer than the file"));
        }
        self.file.get_bytes(start, length)
    }
}

fn refused(why: &str) -> ParquetError {
    ParquetError::General(why.into())
}

/// What the header of a page says of its size.
#[derive(Debug, PartialEq)]
struct Claim {
    n_opened: i64,
    n_stored: i64,
    /// Values of a dictionary.
    n_values: Option<i64>,
}

impl Claim {
    /// A header is a record in the compact form of Thrift, of which only the first fields are looked at.
    fn of(head: &[u8]) -> Option<Self> {
        let mut head = head.iter().copied();
        let kind = next_integer(&mut head)?;
        let (n_opened, n_stored) = (next_integer(&mut head)?, next_integer(&mut head)?);
        let is_dictionary = kind == IS_DICTIONARY;
        let n_values = if is_dictionary { Some(dictionary_values(head)?) } else { None };
        Some(Self { n_opened, n_stored, n_values })
    }

    /// The values of a dictionary that can be read have four bytes at least.
    fn is_possible(&self, most_times: i64) -> bool {
        let fits = self.n_opened <= self.n_stored.saturating_mul(most_times);
        self.n_opened >= 0 && fits && self.n_values.is_none_or(|n_values| n_values <= self.n_opened / 4)
    }
}

fn dictionary_values(mut head: impl Iterator<Item = u8>) -> Option<i64> {
    let mut begin = head.next()?;
    if begin == NEXT_INTEGER {
        let _checksum = signed(&mut head)?;
        begin = head.next()?;
    }
    if DICTIONARY.contains(&begin) { next_integer(&mut head) } else { None }
}

fn next_integer(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    if bytes.next()? == NEXT_INTEGER { signed(bytes) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_cannot_be_true_are_told_from_those_that_can() {
        // a page of 100 bytes in 50, and a dictionary of 25 values with a checksum
        let page = [0x15, 0, 0x15, 0xc8, 1, 0x15, 100, 0x2c];
        let dictionary = [0x15, 4, 0x15, 0xc8, 1, 0x15, 100, 0x15, 0xff, 0xff, 3, 0x3c, 0x15, 50];
        let claim = Claim::of(&page).unwrap();
        assert_eq!(claim, Claim { n_opened: 100, n_stored: 50, n_values: None });
        assert!(claim.is_possible(2) && !claim.is_possible(1));
        let claim = Claim::of(&dictionary).unwrap();
        assert_eq!(claim.n_values, Some(25));
        assert!(claim.is_possible(2) && !Claim { n_values: Some(26), ..claim }.is_possible(2));
        assert!(!Claim { n_opened: -1, n_stored: 50, n_values: None }.is_possible(2));
        (0..7).for_each(|end| assert_eq!(Claim::of(&page[..end]), None));
        (0..14).for_each(|end| assert_eq!(Claim::of(&dictionary[..end]), None));
    }
}
