//! Keeps a run alive: checkpoints while it goes on, and one more when a signal ends it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use dirigent::checkpoint::Saved;
use dirigent::checkpoint::folder::{Checkpoint, Files, Folder};
use dirigent::interrupt::Interrupt;
use dirigent::run_dir::write_json;
use dirigent::{Error, InputError, Result};

use crate::said::Said;
use crate::signals;

/// Seconds between checkpoints, unless the user says.
const USUAL_SECONDS: f64 = 60.0;

/// What was said when the run was started, beside its checkpoints.
pub(crate) const COMMAND: &str = "command.json";

/// Locked by the process that is at work on the run.
const LOCK: &str = "lock";

/// Who keeps a run's checkpoints.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// `None` for a run that keeps none.
    folder: Option<Folder>,
    /// Held as long as the run goes on, however it ends.
    _lock: Option<File>,
    apart: Duration,
    last: Instant,
    interrupt: Interrupt,
    resumed: Option<Checkpoint>,
}

impl Keeper {
    /// For a run that keeps nothing. A signal ends it all the same at the next border or earlier, so that its record says how it ended.
    pub(crate) fn none() -> Self {
        Self { interrupt: signals::watch(), ..Self::of_watched_run() }
    }

    /// For a run that another program watches: it keeps nothing, and signals are that program's.
    pub(crate) fn of_watched_run() -> Self {
        let (apart, interrupt) = (Duration::MAX, Interrupt::new());
        Self { folder: None, _lock: None, apart, last: Instant::now(), interrupt, resumed: None }
    }

    /// For a run that begins: checkpoints of an earlier one in the same folder are removed.
    pub(crate) fn begin(run: &Path, said: &Said, every: Option<f64>) -> Result<Self> {
        let mut folder = Folder::of_run(run)?;
        let lock_file = lock(run, &folder)?;
        folder.clear()?;
        write_json(&folder.path().join(COMMAND), said)?;
        Ok(Self::new(folder, lock_file, every, None))
    }

    /// For a run that goes on, from a checkpoint where there is one.
    pub(crate) fn go_on(run: &Path, every: Option<f64>, resumed: Option<Checkpoint>) -> Result<Self> {
        let folder = Folder::of_run(run)?;
        let lock = lock(run, &folder)?;
        Ok(Self::new(folder, lock, every, resumed))
    }

    fn new(folder: Folder, lock: File, every: Option<f64>, resumed: Option<Checkpoint>) -> Self {
        let apart = Duration::try_from_secs_f64(every.unwrap_or(USUAL_SECONDS)).unwrap_or(Duration::MAX);
        let (folder, interrupt) = (Some(folder), signals::watch());
        Self { folder, _lock: Some(lock), apart, last: Instant::now(), interrupt, resumed }
    }

    /// Whether there is something to go on from when the run breaks off now.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.folder.as_ref().is_some_and(Folder::has_any)
    }

    /// What ends the run.
    pub(crate) fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Where the files of a run that goes on stood.
    pub(crate) fn files(&self) -> Option<&Files> {
        self.resumed.as_ref().map(|checkpoint| &checkpoint.files)
    }

    /// What the run goes on from.
    pub(crate) fn take_saved(&mut self) -> Option<Saved> {
        self.resumed.take().map(|checkpoint| checkpoint.saved)
    }

    /// Whether it is time for another checkpoint.
    pub(crate) fn is_due(&self) -> bool {
        self.folder.is_some() && self.last.elapsed() >= self.apart
    }

    /// Puts a checkpoint away.
    pub(crate) fn keep(&mut self, saved: Saved, files: Files) -> Result<()> {
        if let Some(folder) = &mut self.folder {
            folder.write(Checkpoint { saved, files })?;
        }
        // from its end: where writing takes longer than the time between two, the run must still get on
        self.last = Instant::now();
        Ok(())
    }

    /// The run has ended. Where it will not go on, because it has settled or there is nothing to go on from, nothing is left of what was kept.
    pub(crate) fn end(&self, run: &Path, has_settled: bool) -> Result<()> {
        if has_settled || !self.has_checkpoint() { forget(run) } else { Ok(()) }
    }
}

/// Removes what was kept of a run, and nothing else.
pub(crate) fn forget(run: &Path) -> Result<()> {
    let mut folder = Folder::of_run(run)?;
    if !folder.path().exists() {
        return Ok(());
    }
    folder.clear()?;
    for name in [COMMAND, LOCK] {
        let path = folder.path().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("cannot remove", &path, error));
            }
            _ => {}
        }
    }
    // it stays if somebody has put something else there
    let _ = fs::remove_dir(folder.path());
    Ok(())
}

/// Makes sure that no other process works on the run. The system lets go of the lock when the process ends, whatever ends it.
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
