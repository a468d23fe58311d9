//! Writes NumPy's `.npy`, version 1, little endian, C order: one item after another, the shape
//! known from the start, or at most shortened.

use std::io::Write as _;
use std::path::Path;

use super::pending::PendingFile;
use crate::error::{InputError, Result};

/// A number that an `.npy` file can hold.
pub trait NpyNumber: Copy {
    /// NumPy's name of the type.
    const DESCR: &'static str;
    /// Appends its bytes.
    fn put(self, bytes: &mut Vec<u8>);
}

impl NpyNumber for i32 {
    const DESCR: &'static str = "<i4";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl NpyNumber for f32 {
    const DESCR: &'static str = "<f4";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl NpyNumber for i64 {
    const DESCR: &'static str = "<i8";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl NpyNumber for f64 {
    const DESCR: &'static str = "<f8";
    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

/// An `.npy` file that is being written.
#[derive(Debug)]
pub struct NpyWriter<T> {
    file: PendingFile,
    shape: Vec<usize>,
    remaining: usize,
    bytes: Vec<u8>,
    number: std::marker::PhantomData<T>,
}

impl<T: NpyNumber> NpyWriter<T> {
    /// Creates the file and writes its header.
    pub fn create(path: &Path, shape: &[usize]) -> Result<Self> {
        let mut file = PendingFile::create(path)?;
        file.write_all(&header(T::DESCR, shape, 0)).map_err(|source| file.error(source))?;
        let (shape, remaining) = (shape.to_vec(), shape.iter().product());
        Ok(Self { file, shape, remaining, bytes: Vec::new(), number: std::marker::PhantomData })
    }

    /// Takes up again a file that was left behind, with the first `n_entries` along its first axis.
    pub fn reopen(path: &Path, shape: &[usize], n_entries: usize) -> Result<Self> {
        let header = header(T::DESCR, shape, 0);
        let entry: usize = shape.iter().skip(1).product();
        let written = n_entries.checked_mul(entry).filter(|_| shape.first().is_some_and(|length| n_entries <= *length));
        let Some(written) = written else {
            let problem = format!("was to hold {:?} entries, but {n_entries} are said to be there", shape.first());
            return Err(InputError::in_file(path, problem).into());
        };
        let length = header.len() as u64 + written as u64 * std::mem::size_of::<T>() as u64;
        let (shape, remaining) = (shape.to_vec(), shape.iter().product::<usize>() - written);
        let mut file = PendingFile::reopen(path, length)?;
        // the shape that was said first is that of now, or it would be another run
        file.rewrite_start(&header).map_err(|source| file.error(source))?;
        Ok(Self { file, shape, remaining, bytes: Vec::new(), number: std::marker::PhantomData })
    }

    /// Makes sure that all that was written so far survives whatever happens.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    /// Leaves the file under its temporary name, to be taken up again.
    pub fn leave(self) -> Result<()> {
        self.file.leave()
    }

    /// Appends items.
    pub fn write(&mut self, items: impl IntoIterator<Item = T>) -> Result<()> {
        self.bytes.clear();
        for item in items {
            item.put(&mut self.bytes);
            self.remaining = self.remaining.checked_sub(1).expect("no more items than the shape says");
            if self.bytes.len() >= 1 << 16 {
                self.flush_bytes()?;
            }
        }
        self.flush_bytes()
    }

    /// Gives the file its name. All items of the shape must have been written.
    pub fn finish(self) -> Result<()> {
        assert_eq!(self.remaining, 0, "an array must be whole");
        self.file.finish()
    }

    /// The same for an array that has come out shorter along its first axis than was said. Whole
    /// entries must have been written.
    pub fn finish_short(mut self) -> Result<()> {
        let entry: usize = self.shape.iter().skip(1).product();
        if self.remaining > 0 {
            assert!(self.remaining.is_multiple_of(entry), "entries must be whole");
            let length = header(T::DESCR, &self.shape, 0).len();
            self.shape[0] -= self.remaining / entry;
            let header = header(T::DESCR, &self.shape, length);
            self.file.rewrite_start(&header).map_err(|source| self.file.error(source))?;
        }
        self.file.finish()
    }

    fn flush_bytes(&mut self) -> Result<()> {
        self.file.write_all(&self.bytes).map_err(|source| self.file.error(source))?;
        self.bytes.clear();
        Ok(())
    }
}

impl NpyWriter<i32> {
    /// Appends labels, which are far fewer than 2³¹ kinds.
    pub fn write_labels(&mut self, labels: &[u32]) -> Result<()> {
        self.write(labels.iter().map(|&label| i32::try_from(label).expect("a label fits 31 bits")))
    }
}

/// Writes a labelling.
pub fn write_labels(path: &Path, labels: &[u32]) -> Result<()> {
    let mut file = NpyWriter::create(path, &[labels.len()])?;
    file.write_labels(labels)?;
    file.finish()
}

/// Magic, version, the length of the dictionary, the dictionary; padded so that the items start at
/// a multiple of 64, and not before `length`.
pub(super) fn header(descr: &str, shape: &[usize], length: usize) -> Vec<u8> {
    let shape: String = shape.iter().map(|length| format!("{length},")).collect();
    let mut dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let padded = (10 + dictionary.len() + 1).next_multiple_of(64).max(length);
    dictionary.push_str(&" ".repeat(padded - 11 - dictionary.len()));
    dictionary.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(dictionary.len()).expect("a short dictionary").to_le_bytes());
    bytes.extend_from_slice(dictionary.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_reader_reads_it_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut file = NpyWriter::create(&path, &[2, 3]).unwrap();
        file.write([1.5f32, -2.0, 3.0]).unwrap();
        file.write([4.0, 5.0, 6.25]).unwrap();
        file.finish().unwrap();
        let read = npyz::NpyFile::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!((read.shape(), read.order()), (&[2, 3][..], npyz::Order::C));
        assert_eq!(read.into_vec::<f32>().unwrap(), [1.5, -2.0, 3.0, 4.0, 5.0, 6.25]);

        let labels: Vec<u32> = (0..40_000).collect();
        write_labels(&path, &labels).unwrap();
        let read = npyz::NpyFile::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(read.shape(), [40_000]);
        assert!(read.into_vec::<i32>().unwrap().into_iter().eq(0..40_000));
    }

    #[test]
    fn an_array_may_come_out_shorter_than_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        // the longest first axes make the header longer than the true one needs
        for (said, written) in [(3, 3), (3, 2), (1000, 0), (usize::MAX / 64, 5)] {
            let mut file = NpyWriter::create(&path, &[said, 2]).unwrap();
            file.write(0..2 * written).unwrap();
            file.finish_short().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let read = npyz::NpyFile::new(&bytes[..]).unwrap();
            assert_eq!(read.shape(), [written as u64, 2]);
            assert!(read.into_vec::<i32>().unwrap().into_iter().eq(0..2 * written));
        }
    }

    #[test]
    fn an_array_that_was_left_goes_on_behind_its_first_entries() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut file = NpyWriter::create(&path, &[4, 2]).unwrap();
        file.write(0..6).unwrap();
        file.leave().unwrap();
        let mut file = NpyWriter::<i32>::reopen(&path, &[4, 2], 2).unwrap();
        file.write([7, 8]).unwrap();
        file.finish_short().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let read = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(read.shape(), [3, 2]);
        assert_eq!(read.into_vec::<i32>().unwrap(), [0, 1, 2, 3, 7, 8]);
        assert!(NpyWriter::<i32>::reopen(&path, &[4, 2], 5).is_err());
        assert!(NpyWriter::<i32>::reopen(&path, &[4, 2], 4).is_err());
    }

    #[test]
    fn items_start_at_a_multiple_of_64() {
        for shape in [&[][..], &[1], &[12_345, 678], &[usize::MAX, 1, 2, 3]] {
            let header = header("<f4", shape, 0);
            assert_eq!(header.len() % 64, 0);
            assert_eq!(usize::from(header[8]) + 256 * usize::from(header[9]) + 10, header.len());
        }
    }
}
