//! Engines: driver loops that move frames between nodes and know nothing of what is in them.
//!
//! [`threads`] runs the workers on this machine's cores; [`simulated`] runs them on a virtual
//! clock, with a network that may be slow, lose or double frames, and nodes that crash; [`remote`]
//! runs them wherever a transport outside this library takes bytes to. What an engine promises to
//! every method:
//!
//! - a node receives one event at a time, [`Event::Start`](crate::protocol::Event::Start) first;
//! - what a worker says to the driver in an event reaches the driver before the coordinator sees
//!   anything of that event, so labels are there when the report they belong to arrives;
//! - when nothing waits for the coordinator any more, it is offered one idle step after the frames
//!   it was told, and another as long as it asks for it: it may leave answers for then;
//! - the run ends when every node has said that it is done and nothing is in flight.

mod call;
mod desk;
mod meter;
pub mod remote;
mod roll;
pub mod simulated;
pub mod threads;
#[cfg(test)]
mod toys;

pub(crate) use self::call::Stopwatch;

use std::io;

use serde::{Deserialize, Serialize};

use crate::checkpoint::NodesState;
use crate::consolidate::ShardId;
use crate::error::{Error, Result};
use crate::protocol::Frame;
use crate::trace::CycleInfo;

/// Whoever runs the nodes: it looks on, collects what is only looked at, and may ask for an end.
pub trait Driver {
    /// A cycle is complete. Bytes, messages and compute times are those since the previous report;
    /// `vi` is the driver's to fill.
    fn on_report(&mut self, info: CycleInfo) -> Result<()>;

    /// A worker has sent something to look at. It counts as `observed_bytes`.
    fn on_frame(&mut self, from: ShardId, frame: Frame) -> Result<()>;

    /// The coordinator has sent something to look at. Unless a driver expects that, it is an error.
    fn on_coordinator_frame(&mut self, frame: Frame) -> Result<()> {
        Err(failed("the driver", format!("expects no frame of the coordinator, got one of {} bytes", frame.n_bytes())))
    }

    /// Whether the run should end at the next border of a cycle. Asked after every event of the
    /// coordinator and every idle step, with the seconds since the run began on the engine's clock:
    /// a virtual one where there is one.
    fn wants_stop(&mut self, seconds: f64) -> bool {
        let _ = seconds;
        false
    }

    /// Whether the run should break off: at once, not at the border of a cycle.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether the nodes' state is wanted at the border that has just been reached. An engine that
    /// cannot tell it does not ask.
    fn wants_checkpoint(&mut self) -> bool {
        false
    }

    /// The nodes' state at a border, because it was wanted, or because the run breaks off and this
    /// was the last border; `None` if there was none.
    fn on_checkpoint(&mut self, nodes: Option<NodesState>) -> Result<()> {
        let _ = nodes;
        Ok(())
    }

    /// A notice for the person who waits for the run: a worker was lost, or has come back.
    fn on_notice(&mut self, text: &str) {
        let _ = text;
    }

    /// What was counted before, where nodes resume from a checkpoint. What the coordinator says
    /// first was counted then.
    fn totals_before(&mut self) -> Option<RunTotals> {
        None
    }
}

/// What one worker did in a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// Rows it swept, each as often as it was swept.
    pub swept_rows: u64,
    /// Bytes of the algorithm, to it and from it.
    pub bytes: u64,
    /// Bytes it sent only to be looked at.
    pub observed_bytes: u64,
    /// Time it computed: on the virtual clock where there is one.
    pub seconds: f64,
    /// How often it was made again after a crash.
    pub restarts: u64,
}

/// What a run did, from its first event to its last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTotals {
    /// By number of the worker, those that were lost or joined included.
    pub workers: Vec<WorkerTotals>,
    /// Time the coordinator computed: on the virtual clock where there is one.
    pub coordinator_seconds: f64,
    /// Wall time.
    pub seconds: f64,
    /// Time on the virtual clock, where there is one.
    pub virtual_seconds: Option<f64>,
    /// Bytes of the algorithm: every frame once per receiver, its shared part included.
    pub bytes: u64,
    /// Frames of the algorithm.
    pub messages: u64,
    /// Bytes sent only to be looked at.
    pub observed_bytes: u64,
    /// Frames that a simulated network lost and the engine sent again (counted above only once).
    pub resent: u64,
    /// Frames that a simulated network delivered twice (counted above only once).
    pub doubled: u64,
}

impl RunTotals {
    /// Both runs, one after the other.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let n_workers = self.workers.len().max(other.workers.len());
        self.workers.resize(n_workers, WorkerTotals::default());
        for (worker, more) in self.workers.iter_mut().zip(&other.workers) {
            worker.swept_rows += more.swept_rows;
            worker.bytes += more.bytes;
            worker.observed_bytes += more.observed_bytes;
            worker.seconds += more.seconds;
            worker.restarts += more.restarts;
        }
        let virtual_seconds = [self.virtual_seconds, other.virtual_seconds].into_iter().flatten();
        Self {
            workers: self.workers,
            coordinator_seconds: self.coordinator_seconds + other.coordinator_seconds,
            seconds: self.seconds + other.seconds,
            virtual_seconds: virtual_seconds.reduce(|one, more| one + more),
            bytes: self.bytes + other.bytes,
            messages: self.messages + other.messages,
            observed_bytes: self.observed_bytes + other.observed_bytes,
            resent: self.resent + other.resent,
            doubled: self.doubled + other.doubled,
        }
    }
}

/// A run that failed through no fault of the user's.
fn failed(who: &str, what: impl Into<String>) -> Error {
    Error::Io { doing: who.to_owned(), source: io::Error::other(what.into()) }
}
