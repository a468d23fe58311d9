//! Files that are mapped while they are fitted, and whether somebody has changed them since they were opened.
//!
//! A file that is cut while it is mapped ends the process when a page that is gone is touched; nothing can be said then. What is noticed
//! before that is told.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::time::SystemTime;

use super::remote::Found;
use crate::error::{Error, InputError, Result};

/// A mapped file as it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    name: PathBuf,
    file: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// The file as it is now.
    pub(crate) fn of(found: &Found) -> Result<Self> {
        let metadata = fs::metadata(&found.file).map_err(|source| Error::io("reading", &found.file, source))?;
        let (name, file) = (found.name.clone(), found.file.clone());
        Ok(Self { name, file, length: metadata.len(), modified: metadata.modified().ok() })
    }

    /// Whether length and date are as they were. A file that was removed, or replaced as a whole, is still mapped as it was.
    pub(crate) fn check(&self) -> Result<(), InputError> {
        let is_same = |now: &Metadata| now.len() == self.length && now.modified().ok() == self.modified;
        match fs::metadata(&self.file) {
            Ok(now) if !is_same(&now) => {
                let problem =
                    format!("the file was changed while it was fitted: {} bytes, {} before", now.len(), self.length);
                let hint = "fit it anew; to go on writing data during a fit, write a new file and rename it";
                Err(InputError::in_file(&self.name, problem).hint(hint))
            }
            _ => Ok(()),
        }
    }
}
