//! Cells of a table in a file without a name: it is mapped instead of held in memory, and gone when the process is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;
use std::path::PathBuf;

use super::mapped::MappedNumbers;
use super::storage::Storage;
use crate::error::{Error, InputError, Result};
use crate::rows::Cells;

/// Cells that are written one after another.
pub(crate) struct CellWriter<T> {
    path: PathBuf,
    file: BufWriter<File>,
    n_bytes: usize,
    cells: PhantomData<T>,
}

impl<T: bytemuck::Pod> CellWriter<T> {
    /// An empty file in the cache.
    pub(crate) fn create(storage: &Storage) -> Result<Self> {
        let Some(folder) = storage.cache_folder().map(|cache| cache.join("spill")) else {
            let error = InputError::new("there is no folder for a table that is larger than the memory");
            return Err(error.hint("name a folder with `cache_dir`").into());
        };
        let (file, path) =
            create_in(&folder).map_err(|source| Error::io("cannot create a file in", &folder, source))?;
        // where a file that is open cannot be removed, it is left behind
        let _ = fs::remove_file(&path);
        Ok(Self { path, file: BufWriter::new(file), n_bytes: 0, cells: PhantomData })
    }

    /// Appends cells.
    pub(crate) fn write(&mut self, cells: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(cells);
        self.n_bytes += bytes.len();
        self.file.write_all(bytes).map_err(|source| self.failed(source))
    }

    /// All cells, mapped.
    pub(crate) fn finish(mut self) -> Result<Cells<T>> {
        self.file.flush().map_err(|source| self.failed(source))?;
        match MappedNumbers::new(self.file.get_ref(), 0..self.n_bytes) {
            Ok(Some(mapped)) => Ok(Cells::Mapped(mapped)),
            Ok(None) => Err(self.failed(io::Error::other("it was cut"))),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::io("cannot put a table that is larger than the memory into", &self.path, source)
    }
}

/// A file that nobody else has.
fn create_in(folder: &std::path::Path) -> io::Result<(File, PathBuf)> {
    fs::create_dir_all(folder)?;
    let mut number = 0u64;
    loop {
        let path = folder.join(format!("table-{}-{number}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}
