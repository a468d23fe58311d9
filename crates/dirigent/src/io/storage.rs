//! Where rows lie that are not read where they are: objects that were fetched from a store, tables that are too large for the memory.

use std::env;
use std::path::PathBuf;

use super::memory;
use crate::error::InputError;

/// What a command is told about files that are made on the way to the rows, and about memory.
///
/// ```
/// use dirigent::io::Storage;
///
/// // a gigabyte may be used
/// let storage = Storage { memory: Some(1 << 30), ..Storage::default() };
/// assert!(storage.check_room(500_000_000).is_ok());
/// assert!(storage.check_room(5_000_000_000).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Storage {
    /// The folder for such files; if not given, `dirigent` in the usual place of this system for caches.
    pub cache_dir: Option<PathBuf>,
    /// When a table is put into a file there.
    pub spill: Spill,
    /// Bytes of memory that may be used; if not given, what is free now.
    pub memory: Option<u64>,
}

/// When a table that was unpacked lies in a file that is mapped, not in memory.
///
/// ```
/// use dirigent::io::{Spill, Storage};
///
/// let storage = Storage { spill: Spill::Never, ..Storage::default() };
/// assert_ne!(storage.spill, Spill::default(), "by default it depends on the size of the table");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spill {
    /// Where it would need more than half of the memory.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Storage {
    /// The folder for what may be made again at any time. Nothing where the system has no usual place.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(|| usual_place().map(|folder| folder.join("dirigent")))
    }

    /// The memory that may be used, as far as that can be known.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.memory.or_else(memory::free)
    }

    /// Refuses what would need more memory than there is, before it is tried.
    pub fn check_room(&self, n_bytes: u64) -> Result<(), InputError> {
        match self.memory() {
            Some(memory) if n_bytes > memory => {
                let problem = format!("needs {} of memory, {} may be used", gigabytes(n_bytes), gigabytes(memory));
                let hint = "choose fewer columns with --columns, write it as .npy of <f4 or <f8, which is mapped, or as .parquet, which is put into a file; if more memory may be used than is free now, say --memory";
                Err(InputError::new(problem).hint(hint))
            }
            _ => Ok(()),
        }
    }

    /// Whether a table of so many bytes goes to a file.
    pub(crate) fn spills(&self, n_bytes: u64) -> bool {
        match self.spill {
            Spill::Always => true,
            Spill::Never => false,
            Spill::Auto => self.memory().is_some_and(|memory| n_bytes > memory / 2),
        }
    }
}

fn gigabytes(n_bytes: u64) -> String {
    format!("{:.1} GiB", n_bytes as f64 / f64::from(1 << 30))
}

fn usual_place() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    if cfg!(windows) {
        return folder("LOCALAPPDATA");
    }
    let in_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(in_home)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_spilled_where_it_would_need_more_than_half_of_the_memory() {
        let with = |spill| Storage { spill, memory: Some(1000), ..Storage::default() };
        assert!(with(Spill::Auto).spills(501) && !with(Spill::Auto).spills(500));
        let error = with(Spill::Never).check_room(3 << 30).unwrap_err().to_string();
        assert!(error.starts_with("needs 3.0 GiB of memory"), "{error}");
        assert!(with(Spill::Never).check_room(1000).is_ok());
        assert!(with(Spill::Always).spills(1) && !with(Spill::Never).spills(u64::MAX));
    }
}
