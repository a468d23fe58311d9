//! Keeps a run alive: checkpoints while it goes on, and one more when a signal ends it.

use std::path::Path;
use std::time::{Duration, Instant};

use dirigent::Result;
use dirigent::checkpoint::Saved;
use dirigent::checkpoint::folder::{Checkpoint, Files, Folder};
use dirigent::interrupt::Interrupt;
use dirigent::run_dir::write_json;

use crate::said::Said;
use crate::signals;

/// Seconds between checkpoints, unless the user says.
const USUAL_SECONDS: f64 = 60.0;

/// What was said when the run was started, beside its checkpoints.
pub(crate) const COMMAND: &str = "command.json";

/// Who keeps a run's checkpoints.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// `None` for a run that keeps none.
    folder: Option<Folder>,
    apart: Duration,
    last: Instant,
    interrupt: Interrupt,
    resumed: Option<Checkpoint>,
}

impl Keeper {
    /// For a run that keeps nothing, and that a signal ends as it ends any command.
    pub(crate) fn none() -> Self {
        let (apart, interrupt) = (Duration::MAX, Interrupt::new());
        Self { folder: None, apart, last: Instant::now(), interrupt, resumed: None }
    }

    /// For a run that begins: checkpoints of an earlier one in the same folder are removed.
    pub(crate) fn begin(run: &Path, said: &Said, every: Option<f64>) -> Result<Self> {
        let mut folder = Folder::of_run(run)?;
        folder.clear()?;
        write_json(&folder.path().join(COMMAND), said)?;
        Ok(Self::new(folder, every, None))
    }

    /// For a run that goes on, from a checkpoint where there is one.
    pub(crate) fn go_on(run: &Path, every: Option<f64>, resumed: Option<Checkpoint>) -> Result<Self> {
        Ok(Self::new(Folder::of_run(run)?, every, resumed))
    }

    fn new(folder: Folder, every: Option<f64>, resumed: Option<Checkpoint>) -> Self {
        let apart = Duration::try_from_secs_f64(every.unwrap_or(USUAL_SECONDS)).unwrap_or(Duration::MAX);
        Self { folder: Some(folder), apart, last: Instant::now(), interrupt: signals::watch(), resumed }
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

    /// A run that has settled will not go on: its checkpoints are removed.
    pub(crate) fn forget(&mut self) -> Result<()> {
        self.folder.as_mut().map_or(Ok(()), Folder::clear)
    }
}
