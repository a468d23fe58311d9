//! Files that appear under their name only when they are whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What a file's name ends in while it is being written.
pub const PARTIAL: &str = ".partial";

/// A file under a temporary name. [`PendingFile::finish`] gives it its own; dropped before that, it
/// is removed.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl PendingFile {
    /// Creates the temporary file beside `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(partial(path)).map_err(|source| Error::io("cannot create", path, source))?;
        Ok(Self { path: path.to_path_buf(), writer: Some(BufWriter::with_capacity(1 << 16, file)) })
    }

    /// Takes up again a file that was left behind, cut to its first `length` bytes.
    pub fn reopen(path: &Path, length: u64) -> Result<Self> {
        let cut = || {
            // a run that was killed in its last moments may have given the file its name already
            if !partial(path).exists() && path.exists() {
                fs::rename(path, partial(path))?;
            }
            let mut file = OpenOptions::new().read(true).write(true).open(partial(path))?;
            let found = file.metadata()?.len();
            if found < length {
                return Err(io::Error::other(format!("it has {found} bytes, at least {length} are needed")));
            }
            file.set_len(length)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = cut().map_err(|source| Error::io("cannot go on with", &partial(path), source))?;
        Ok(Self { path: path.to_path_buf(), writer: Some(BufWriter::with_capacity(1 << 16, file)) })
    }

    /// Makes sure that all that was written so far survives whatever happens.
    pub fn sync(&mut self) -> Result<()> {
        let writer = self.writer();
        let synced = writer.flush().and_then(|()| writer.get_ref().sync_data());
        synced.map_err(|source| self.error(source))
    }

    /// Leaves the file under its temporary name, to be taken up again.
    pub fn leave(mut self) -> Result<()> {
        let synced = self.sync();
        self.writer = None;
        synced
    }

    /// Gives the file its name, replacing an older one.
    pub fn finish(mut self) -> Result<()> {
        let writer = self.writer.take().expect("a file is finished once");
        let renamed = writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|_| fs::rename(partial(&self.path), &self.path));
        renamed.map_err(|source| {
            let _ = fs::remove_file(partial(&self.path));
            self.error(source)
        })
    }

    /// Writes over the first bytes, then goes on at the end.
    pub fn rewrite_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        let writer = self.writer();
        writer.seek(SeekFrom::Start(0))?;
        writer.write_all(bytes)?;
        writer.seek(SeekFrom::End(0)).map(|_| ())
    }

    /// What went wrong, with the file's name.
    pub fn error(&self, source: io::Error) -> Error {
        Error::io("cannot write", &self.path, source)
    }

    fn writer(&mut self) -> &mut BufWriter<File> {
        self.writer.as_mut().expect("the file is not finished")
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

impl Seek for PendingFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.writer().seek(position)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // the file is given up: its buffer need not reach the disk
            drop(writer.into_parts());
            let _ = fs::remove_file(partial(&self.path));
        }
    }
}

/// Writes a whole file by `fill`, so that no reader ever sees half of it.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut PendingFile) -> io::Result<()>) -> Result<()> {
    let mut file = PendingFile::create(path)?;
    fill(&mut file).map_err(|source| file.error(source))?;
    file.finish()
}

/// The name of `path` while it is being written.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PARTIAL);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let mut file = PendingFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        assert!(!path.exists());
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(!partial(&path).exists());
    }

    #[test]
    fn a_file_that_was_left_goes_on_behind_what_is_kept_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let mut file = PendingFile::create(&path).unwrap();
        file.write_all(b"kept, then lost").unwrap();
        file.leave().unwrap();
        let mut file = PendingFile::reopen(&path, 4).unwrap();
        file.write_all(b" and more").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept and more");
        PendingFile::reopen(&path, 4).unwrap().finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        let error = PendingFile::reopen(&path, 5).unwrap_err();
        assert!(error.to_string().ends_with("it has 4 bytes, at least 5 are needed"), "{error}");
    }

    #[test]
    fn a_file_given_up_leaves_nothing_behind_and_spares_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let failed = write_file(&path, |_| Err(io::Error::other("the disk is full")));
        assert_eq!(failed.unwrap_err().to_string(), format!("cannot write {}: the disk is full", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(!partial(&path).exists());
    }
}
