//! Where rows lie that are not read where they are: objects that were fetched from a store, tables that are too large for the memory.

use std::env;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::memory;
use crate::error::InputError;

/// What a command is told about files that are made on the way to the rows, and about memory.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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

    /// Refuses a table that would need more memory than there is, before it is read.
    pub(crate) fn check_table(&self, path: &Path, n_bytes: u64) -> Result<(), InputError> {
        let hint = "choose fewer columns with `columns`, write it as .npy of <f4 or <f8, which is mapped, or as .parquet, which is put into a file";
        let checked = self.check_room("the table", n_bytes, hint);
        checked.map_err(|error| InputError { file: Some(path.into()), ..error })
    }

    /// Refuses what would need more memory than there is, before it is tried; `hint` is a way out beside more memory.
    pub fn check_room(&self, what: &str, n_bytes: u64, hint: &str) -> Result<(), InputError> {
        match self.memory() {
            Some(memory) if n_bytes > memory => {
                let problem = format!("{what} needs {} of memory, {} may be used", amount(n_bytes), amount(memory));
                let hint = format!("{hint}; if more memory may be used than is free now, say `memory`");
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

/// Bytes, for people.
pub fn amount(n_bytes: u64) -> String {
    let in_units = |bits: u32| n_bytes as f64 / (1u64 << bits) as f64;
    match n_bytes {
        0x4000_0000.. => format!("{:.1} GiB", in_units(30)),
        0x10_0000.. => format!("{:.1} MiB", in_units(20)),
        0x400.. => format!("{:.1} KiB", in_units(10)),
        _ => format!("{n_bytes} bytes"),
    }
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
        let error = with(Spill::Never).check_table(Path::new("d.csv"), 3 << 29).unwrap_err().to_string();
        assert_eq!(error, "d.csv: the table needs 1.5 GiB of memory, 1000 bytes may be used");
        assert!(with(Spill::Never).check_table(Path::new("d.csv"), 1000).is_ok());
        assert_eq!([1 << 20, 1 << 10].map(amount), ["1.0 MiB", "1.0 KiB"]);
        assert!(with(Spill::Always).spills(1) && !with(Spill::Never).spills(u64::MAX));
    }
}
