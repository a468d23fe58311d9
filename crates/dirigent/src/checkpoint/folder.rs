//! Checkpoints on disk: the folder `checkpoint` of a run.
//!
//! A checkpoint is a part for the run, a part for each worker, and a manifest with the length and
//! the checksum of each part. The manifest is renamed last: with it the parts become one
//! checkpoint. The one before stays until the next but one is whole, so that a damaged one can be
//! passed over. Numbers rise; a file begins with the number of its checkpoint.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{RunState, Stage};
use crate::error::{Error, InputError, Result};
use crate::method::best::BestState;
use crate::run_dir::write_json;

/// The name of the folder within the run folder.
pub const FOLDER: &str = "checkpoint";

/// Another number: another layout of what is written here.
const FORMAT: u32 = 1;

/// A run between two cycles, and where its files stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The run.
    pub saved: RunState,
    /// Its files.
    pub files: Files,
}

/// Where the files of a run stood.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// Bytes of `trace.csv`.
    pub trace_bytes: u64,
    /// States in `draws.npy`.
    pub n_draws: usize,
    /// The best state so far, where it is asked for.
    pub best: Option<BestState>,
    /// Seconds that the run has taken.
    pub seconds: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The version of this software that wrote it.
    version: String,
    /// For people: which chain, from 1, and how many cycles of it.
    chain: u16,
    cycle: u64,
    parts: Vec<StoredPart>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredPart {
    file: String,
    bytes: u64,
    crc32: u32,
}

/// What a folder of checkpoints holds.
#[derive(Debug)]
pub struct FoundCheckpoint {
    /// The newest checkpoint that is whole, if any is.
    pub checkpoint: Option<Checkpoint>,
    /// Why newer ones were passed over.
    pub passed_over: Vec<String>,
}

/// The folder of a run's checkpoints.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The number of the next checkpoint.
    next: u64,
}

impl Folder {
    /// The folder of a run, which need not be there yet.
    pub fn of_run(run: &Path) -> Result<Self> {
        let path = run.join(FOLDER);
        let next = numbers(&path)?.last().map_or(1, |last| last + 1);
        Ok(Self { path, next })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a checkpoint, whole or not.
    pub fn has_any(&self) -> bool {
        self.next > 1
    }

    /// Writes a checkpoint and removes what is older than the one before it. One that cannot be
    /// written leaves nothing behind: its parts would take the room that the record of the failure
    /// needs.
    pub fn write(&mut self, checkpoint: Checkpoint) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|source| Error::io("cannot create", &self.path, source))?;
        let (this, before) = (self.next, self.next - 1);
        if let Err(error) = self.write_files(checkpoint) {
            self.remove(|number| number == this);
            return Err(error);
        }
        self.remove(|number| number < before);
        self.next += 1;
        Ok(())
    }

    fn write_files(&self, mut checkpoint: Checkpoint) -> Result<()> {
        let (chain, cycle) = checkpoint.saved.place();
        let workers = match &mut checkpoint.saved.stage {
            Stage::Nodes(nodes) => std::mem::take(&mut nodes.workers),
            Stage::Start | Stage::Chain(_) => Vec::new(),
        };
        let run = postcard::to_stdvec(&(&checkpoint.saved, &checkpoint.files)).expect("a checkpoint is plain data");
        let mut parts = vec![self.write_part("run", &run)?];
        for (worker, bytes) in workers.iter().enumerate() {
            parts.push(self.write_part(&format!("worker-{worker}"), bytes)?);
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        write_json(&self.manifest(self.next), &Manifest { format: FORMAT, version, chain, cycle, parts })
    }

    fn write_part(&self, name: &str, bytes: &[u8]) -> Result<StoredPart> {
        let file = format!("{:08}-{name}.part", self.next);
        let path = self.path.join(&file);
        let written = File::create(&path).and_then(|mut out| out.write_all(bytes).and_then(|()| out.sync_all()));
        written.map_err(|source| Error::io("cannot write", &path, source))?;
        Ok(StoredPart { file, bytes: bytes.len() as u64, crc32: crc32fast::hash(bytes) })
    }

    fn manifest(&self, number: u64) -> PathBuf {
        self.path.join(format!("{number:08}.json"))
    }

    /// Removes checkpoints by their number. Best effort: what cannot be removed now is removed with
    /// the next checkpoint.
    fn remove(&self, is_to_go: impl Fn(u64) -> bool) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            if number_of(&path).is_some_and(&is_to_go) {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// For people: the chain, from 1, and the cycles of it at the newest checkpoint that is whole.
    pub fn newest(&self) -> Option<(u16, u64)> {
        Some(self.read().ok()?.checkpoint?.saved.place())
    }

    /// The newest checkpoint that is whole. One of another format is rejected, not passed over: the
    /// run would begin again and overwrite it.
    pub fn read(&self) -> Result<FoundCheckpoint> {
        let mut found = FoundCheckpoint { checkpoint: None, passed_over: Vec::new() };
        for number in numbers(&self.path)?.into_iter().rev() {
            Self::check_format(&self.manifest(number))?;
            match self.read_one(number) {
                Ok(checkpoint) => {
                    found.checkpoint = Some(checkpoint);
                    break;
                }
                Err(error) => found.passed_over.push(error.to_string()),
            }
        }
        Ok(found)
    }

    /// Rejects a manifest that says that it has another format. One that says nothing is damaged.
    fn check_format(manifest: &Path) -> Result<()> {
        let text = fs::read(manifest).unwrap_or_default();
        let said: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        match said["format"].as_u64() {
            Some(format) if format != u64::from(FORMAT) => {
                let problem = format!("found format {format} of the checkpoint, expected {FORMAT}");
                let version = said["version"].as_str().unwrap_or("unknown");
                let hint = format!("resume it with the version that wrote it ({version})");
                Err(InputError::in_file(manifest, problem).hint(hint).into())
            }
            _ => Ok(()),
        }
    }

    fn read_one(&self, number: u64) -> Result<Checkpoint> {
        let path = self.manifest(number);
        let text = fs::read(&path).map_err(|source| Error::io("cannot read", &path, source))?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| damaged(&path, format!("is no manifest: {error}")))?;
        let Some((run, workers)) = manifest.parts.split_first() else { return Err(damaged(&path, "has no parts")) };
        let (mut saved, files): (RunState, Files) = decode(&self.path.join(&run.file), &self.read_part(run)?)?;
        let workers: Vec<Vec<u8>> = workers.iter().map(|part| self.read_part(part)).collect::<Result<_>>()?;
        match &mut saved.stage {
            Stage::Nodes(nodes) => nodes.workers = workers,
            _ if workers.is_empty() => {}
            _ => return Err(damaged(&path, "has parts of workers, but the run has none")),
        }
        Ok(Checkpoint { saved, files })
    }

    fn read_part(&self, part: &StoredPart) -> Result<Vec<u8>> {
        let path = self.path.join(&part.file);
        if Path::new(&part.file).components().count() != 1 {
            return Err(damaged(&path, "is not in the folder of checkpoints"));
        }
        let bytes = fs::read(&path).map_err(|source| Error::io("cannot read", &path, source))?;
        if bytes.len() as u64 != part.bytes {
            return Err(damaged(&path, format!("has {} bytes, expected {}", bytes.len(), part.bytes)));
        }
        if crc32fast::hash(&bytes) != part.crc32 {
            return Err(damaged(&path, "was changed: its checksum does not fit"));
        }
        Ok(bytes)
    }

    /// Removes all checkpoints, as after a run that has ended; what else is in the folder stays.
    pub fn clear(&mut self) -> Result<()> {
        fs::create_dir_all(&self.path).map_err(|source| Error::io("cannot create", &self.path, source))?;
        self.remove(|_| true);
        self.next = 1;
        // one that is left would be taken for this run's
        match numbers(&self.path)?.first() {
            None => Ok(()),
            Some(number) => {
                let left = io::Error::other("an old checkpoint cannot be removed");
                Err(Error::io("cannot replace", &self.manifest(*number), left))
            }
        }
    }
}

fn decode<T: for<'a> Deserialize<'a>>(path: &Path, bytes: &[u8]) -> Result<T> {
    let unreadable = |error: &dyn std::fmt::Display| damaged(path, format!("cannot be read: {error}"));
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(|error| unreadable(&error))?;
    if rest.is_empty() { Ok(value) } else { Err(unreadable(&"there is more than there should be")) }
}

fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    InputError::in_file(path, problem).into()
}

/// The numbers of all manifests, rising.
fn numbers(path: &Path) -> Result<Vec<u64>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| Error::io("cannot read the folder", path, source))?,
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let manifests = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut numbers: Vec<u64> = manifests.filter_map(|path| number_of(&path)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The number that a file of a checkpoint begins with.
fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.get(..8)?.parse().ok()
}

#[cfg(test)]
mod tests;
