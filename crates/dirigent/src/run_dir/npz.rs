//! NumPy's `.npz`: a zip archive of `.npy` files, stored as they are.
//!
//! A reader of such an archive believes no length: an entry is read as far as it goes, and every
//! array is asked for with the shape it must have.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::npy::{NpyNumber, header};
use super::pending::write_file;
use crate::error::{Error, InputError, Result};
use crate::io::npy::{StoredArray, StoredNumbers, read_stored};
use crate::io::source;

/// An archive that is being written: in memory, because the library writes to the terminal when it
/// loses a file that it could not finish.
pub(super) struct NpzWriter {
    path: PathBuf,
    zip: ZipWriter<Cursor<Vec<u8>>>,
}

impl NpzWriter {
    /// Begins the archive.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), zip: ZipWriter::new(Cursor::default()) }
    }

    /// Adds an array; there are as many items as the shape says.
    pub(super) fn array<T: NpyNumber>(
        &mut self,
        name: &str,
        shape: &[usize],
        items: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let mut bytes = header(T::DESCR, shape, 0);
        let start = bytes.len();
        items.into_iter().for_each(|item| item.put(&mut bytes));
        let n_items: usize = shape.iter().product();
        assert_eq!(bytes.len() - start, n_items * size_of::<T>(), "an array must be whole");
        self.entry(name, &bytes)
    }

    /// Adds a short text as a single string of bytes.
    pub(super) fn text(&mut self, name: &str, text: &str) -> Result<()> {
        let mut bytes = header(&format!("|S{}", text.len()), &[], 0);
        bytes.extend_from_slice(text.as_bytes());
        self.entry(name, &bytes)
    }

    fn entry(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let is_large = u32::try_from(bytes.len()).is_err();
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(is_large);
        let started = self.zip.start_file(format!("{name}.npy"), options).map_err(io::Error::from);
        started.and_then(|()| self.zip.write_all(bytes)).map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> Error {
        Error::io("cannot write", &self.path, source)
    }

    /// Writes the file.
    pub(super) fn finish(self) -> Result<()> {
        let path = self.path;
        let archive = self.zip.finish().map_err(|error| Error::io("cannot write", &path, error.into()))?;
        write_file(&path, |file| file.write_all(archive.get_ref()))
    }
}

/// An archive that is read.
pub(super) struct NpzReader {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

const DAMAGED: &str = "the file is damaged, or was written by another program: fit the model again";

impl NpzReader {
    /// Opens the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (file, _) = source::open(path)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            InputError::in_file(path, format!("cannot be read as an .npz archive: {error}")).hint(DAMAGED)
        })?;
        Ok(Self { path: path.to_path_buf(), zip })
    }

    /// Doubles, all finite, of a given shape.
    pub(super) fn doubles(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let numbers = self.cells(name, shape)?;
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok(numbers),
            false => Err(self.wrong(name, "found a number that is not finite")),
        }
    }

    /// Doubles of a given shape, some of which may be missing.
    pub(super) fn cells(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let array = self.array(name)?;
        if !array.shape.iter().copied().eq(shape.iter().map(|&length| length as u64)) {
            return Err(self.wrong(name, format!("found the shape {:?}, expected {shape:?}", array.shape)));
        }
        match array.numbers {
            StoredNumbers::Doubles(numbers) => Ok(numbers),
            StoredNumbers::Integers(_) => Err(self.wrong(name, "found whole numbers, expected doubles")),
        }
    }

    /// Whole numbers in one dimension.
    pub(super) fn integers(&mut self, name: &str) -> Result<Vec<i64>> {
        let array = self.array(name)?;
        if array.shape.len() != 1 {
            return Err(self.wrong(name, format!("found the shape {:?}, expected one dimension", array.shape)));
        }
        match array.numbers {
            StoredNumbers::Integers(numbers) => Ok(numbers),
            StoredNumbers::Doubles(_) => Err(self.wrong(name, "found doubles, expected whole numbers")),
        }
    }

    fn array(&mut self, name: &str) -> Result<StoredArray> {
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|error| error.to_string());
        let read = entry.and_then(|mut entry| {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes)
        });
        let bytes = read.map_err(|error| self.wrong(name, format!("cannot be read: {error}")))?;
        read_stored(&self.name_of(name), &bytes)
    }

    /// What is wrong with an array.
    pub(super) fn wrong(&self, name: &str, problem: impl Into<String>) -> Error {
        InputError::in_file(self.name_of(name), problem).hint(DAMAGED).into()
    }

    fn name_of(&self, name: &str) -> PathBuf {
        format!("{}[{name}]", self.path.display()).into()
    }
}
