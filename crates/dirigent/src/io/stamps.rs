//! Files that are mapped while they are fitted, and whether somebody has changed them since they were opened.
//!
//! A file that is cut while it is mapped ends the process when a page that is gone is touched; nothing can be said then. What is noticed
//! before that is told.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::time::SystemTime;

use super::data_set::DataSet;
use super::remote::FetchedFile;
use crate::error::{Error, InputError, Result};

/// A mapped file as it was opened.
#[derive(Debug, Clone)]
pub(crate) struct FileStamp {
    name: PathBuf,
    file: PathBuf,
    identity: Option<Identity>,
    length: u64,
    modified: Option<SystemTime>,
}

/// Device and number of a file, which stay with it whatever it is called.
type Identity = (u64, u64);

impl FileStamp {
    /// The file as it is now.
    pub(crate) fn of(found: &FetchedFile) -> Result<Self> {
        let now = fs::metadata(&found.file).map_err(|source| Error::io("reading", &found.file, source))?;
        let (name, file) = (found.name.clone(), found.file.clone());
        Ok(Self { name, file, identity: identity(&now), length: now.len(), modified: now.modified().ok() })
    }

    /// Refuses another length; returns whether the date is new, which is kept. A file that was removed, or replaced as a whole, is still mapped as
    /// it was.
    fn has_new_date(&mut self) -> Result<bool, InputError> {
        let Ok(now) = fs::metadata(&self.file) else { return Ok(false) };
        if identity(&now) != self.identity {
            return Ok(false);
        }
        if now.len() != self.length {
            return Err(self.changed(&format!("its length changed to {} bytes, {} before", now.len(), self.length)));
        }
        let before = std::mem::replace(&mut self.modified, now.modified().ok());
        Ok(self.modified != before)
    }

    fn changed(&self, how: &str) -> InputError {
        let problem = format!("the file was changed while it was fitted: {how}");
        let hint = "fit it again; to add data during a fit, write a new file and rename it";
        InputError::in_file(&self.name, problem).hint(hint)
    }
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}

/// Whoever looks, during a fit, whether the files of its rows are as they were.
#[derive(Debug)]
pub struct FileWatch<'a> {
    data: &'a DataSet,
    fingerprint: String,
    stamps: Vec<FileStamp>,
}

impl<'a> FileWatch<'a> {
    pub(crate) fn new(data: &'a DataSet, fingerprint: &str, stamps: Vec<FileStamp>) -> Self {
        Self { data, fingerprint: fingerprint.to_owned(), stamps }
    }

    /// Fails if a mapped file has another length, or another date and other contents.
    pub fn check(&mut self) -> Result<()> {
        let mut touched = None;
        for stamp in &mut self.stamps {
            if stamp.has_new_date()? {
                touched = Some(&*stamp);
            }
        }
        match touched {
            Some(stamp) if self.data.fingerprint() != self.fingerprint => {
                Err(stamp.changed("its contents changed").into())
            }
            _ => Ok(()),
        }
    }
}
