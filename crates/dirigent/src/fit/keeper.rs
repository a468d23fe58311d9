//! Checkpoints of a run: when they are written, and who may work on the run.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::checkpoint::RunState;
use crate::checkpoint::folder::{Checkpoint, Files, Folder};
use crate::error::{Error, InputError, Result};

/// Seconds between checkpoints, unless the user says.
const USUAL_SECONDS: f64 = 60.0;

/// Locked by the process that works on the run.
const LOCK: &str = "lock";

/// Keeps the checkpoints of a run.
#[derive(Debug)]
pub(super) struct Keeper {
    /// `None` for a run that keeps none.
    folder: Option<Folder>,
    /// Held until the run ends, however it ends.
    _lock: Option<File>,
    apart: Duration,
    last: Instant,
    resumed: Option<Checkpoint>,
}

impl Keeper {
    /// For a run that keeps nothing.
    pub(super) fn none() -> Self {
        Self { folder: None, _lock: None, apart: Duration::MAX, last: Instant::now(), resumed: None }
    }

    /// For a run that begins: checkpoints of an earlier one in the same folder are removed.
    pub(super) fn begin(run: &Path, every: Option<f64>) -> Result<Self> {
        let mut folder = Folder::of_run(run)?;
        let lock_file = lock(run, &folder)?;
        folder.clear()?;
        Ok(Self::new(folder, lock_file, every, None))
    }

    /// For a run that resumes, from a checkpoint if there is one.
    pub(super) fn resume(run: &Path, every: Option<f64>, resumed: Option<Checkpoint>) -> Result<Self> {
        let folder = Folder::of_run(run)?;
        let lock = lock(run, &folder)?;
        Ok(Self::new(folder, lock, every, resumed))
    }

    fn new(folder: Folder, lock: File, every: Option<f64>, resumed: Option<Checkpoint>) -> Self {
        let apart = Duration::try_from_secs_f64(every.unwrap_or(USUAL_SECONDS)).unwrap_or(Duration::MAX);
        Self { folder: Some(folder), _lock: Some(lock), apart, last: Instant::now(), resumed }
    }

    /// Whether there is something to resume from if the run breaks off now.
    pub(super) fn has_checkpoint(&self) -> bool {
        self.folder.as_ref().is_some_and(Folder::has_any)
    }

    /// Where the files of a resumed run stood.
    pub(super) fn files(&self) -> Option<&Files> {
        self.resumed.as_ref().map(|checkpoint| &checkpoint.files)
    }

    /// What the run resumes from.
    pub(super) fn take_saved(&mut self) -> Option<RunState> {
        self.resumed.take().map(|checkpoint| checkpoint.saved)
    }

    /// Whether it is time for another checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.folder.is_some() && self.last.elapsed() >= self.apart
    }

    /// Writes a checkpoint.
    pub(super) fn keep(&mut self, saved: RunState, files: Files) -> Result<()> {
        if let Some(folder) = &mut self.folder {
            folder.write(Checkpoint { saved, files })?;
        }
        // from its end: if writing takes longer than the time between two, the run must still make progress
        self.last = Instant::now();
        Ok(())
    }

    /// The run has ended. If it will not be resumed, because it has settled or there is nothing to
    /// resume from, its checkpoints are removed.
    pub(super) fn end(&self, run: &Path, has_settled: bool) -> Result<()> {
        if has_settled || !self.has_checkpoint() { forget(run) } else { Ok(()) }
    }
}

/// Removes the checkpoints of a run, and nothing else.
pub(super) fn forget(run: &Path) -> Result<()> {
    let mut folder = Folder::of_run(run)?;
    if !folder.path().exists() {
        return Ok(());
    }
    folder.clear()?;
    let path = folder.path().join(LOCK);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("cannot remove", &path, error)),
        _ => {}
    }
    // it stays if it holds somebody else's files
    let _ = fs::remove_dir(folder.path());
    Ok(())
}

/// Makes sure that no other process works on the run. The system releases the lock when the process
/// ends, whatever ends it.
fn lock(run: &Path, folder: &Folder) -> Result<File> {
    let path = folder.path().join(LOCK);
    let failed = |source| Error::io("cannot lock", &path, source);
    fs::create_dir_all(folder.path()).map_err(failed)?;
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let hint = "wait for its end, or interrupt it first";
            Err(InputError::in_file(run, "another process is at work on this run").hint(hint).into())
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
