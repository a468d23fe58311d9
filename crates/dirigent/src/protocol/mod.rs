//! What all methods share: a worker that owns a shard and its labels, a coordinator that owns
//! statistics, and what they say to each other.
//!
//! A node has no clock, no thread, no socket and no file. It receives events and puts what it wants
//! said into an [`Outbox`]; an engine moves the frames, which are opaque to it. So all methods run
//! on all engines, and a test can drive any schedule of events.
//!
//! ```text
//! worker: Hello ─► coordinator: Plan ─► worker: push (full) ─► coordinator: reply ─► worker: sweep, push ─► … ─► reply (last)
//! ```

mod checks;
pub mod codec;
mod coordinator;
pub(crate) mod envelope;
mod final_components;
mod gathering;
mod hellos;
mod ids;
mod labels;
mod members;
pub mod message;
mod method;
mod options;
mod progress;
mod rejection;
mod row_list;
mod spec;
pub(crate) mod wire;
mod worker;

pub(crate) use checks::{check_alpha, check_count, check_ids, check_joining, check_last, check_stats, check_told};
pub use coordinator::Coordinator;
pub(crate) use coordinator::saved_answers;
pub use final_components::FinalComponents;
pub use gathering::{Gathering, PushContext};
pub(crate) use ids::IdMint;
pub(crate) use labels::{assigned, by_final_number, labels_fit, renamed, starting_ids};
pub use method::{Cause, Ledger, Method, Response, Round, ShardContext, ShardState};
pub use options::CoordinatorOptions;
pub use progress::Progress;
pub(crate) use rejection::require;
pub use rejection::{Decoded, Rejection};
pub use row_list::RowList;
pub(crate) use spec::{WorkerKind, WorkerSpec, WorkerStart};
pub use worker::Worker;
pub(crate) use worker::{WorkerCheckpoint, rows_lost};

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::ShardId;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::posterior::horizon::Ending;

/// Where a frame goes to or comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The node that owns the statistics.
    Coordinator,
    /// The node that owns a shard.
    Worker(ShardId),
    /// The process that runs the nodes. It collects what is only looked at (labels, samples) and is no part
    /// of the algorithm.
    Driver,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coordinator => f.write_str("the coordinator"),
            Self::Worker(shard) => write!(f, "worker {shard}"),
            Self::Driver => f.write_str("the driver"),
        }
    }
}

/// Bytes on their way: a part of its own and, where several receivers get the same, a shared one
/// that was encoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// For this receiver only.
    pub own: Arc<[u8]>,
    /// The same for all receivers.
    pub shared: Option<Arc<[u8]>>,
}

impl Frame {
    /// A frame without a shared part.
    pub fn new(own: Vec<u8>) -> Self {
        Self { own: own.into(), shared: None }
    }

    /// Its length on the wire.
    pub fn n_bytes(&self) -> u64 {
        (self.own.len() + self.shared.as_ref().map_or(0, |shared| shared.len())) as u64
    }
}

/// What a node receives.
#[derive(Debug, Clone)]
pub enum Event {
    /// A frame has arrived. Frames may come late, twice or never.
    Frame {
        /// Who sent it.
        from: Address,
        /// What it says.
        frame: Frame,
    },
    /// The node itself begins (every node receives it once, first).
    Start,
    /// A worker is gone for now (for the coordinator).
    Lost(ShardId),
    /// The user wants the run to end at the next border of a cycle (for the coordinator).
    Stop,
}

/// What a coordinator reports of a cycle; the algorithm never reads it back.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CycleReport {
    /// The number of the cycle, from 1. Under an asynchronous schedule: every worker has pushed
    /// once more on average.
    pub cycle: u64,
    /// The log-joint of the state.
    pub log_joint: f64,
    /// The log-joint before splits and merges, and the entropy of the labels: an estimate of the
    /// evidence, where it is counted.
    pub log_evidence: Option<f64>,
    /// Rows that take part.
    pub n_rows: u64,
    /// Components with rows.
    pub k: usize,
    /// The α of the cycle, and of its log-joint.
    pub alpha: f64,
    /// Rows that changed their component.
    pub moved: u64,
    /// Components that workers opened.
    pub births: u64,
    /// Births or components that were merged.
    pub merges: u64,
    /// Components that were split.
    pub splits: u64,
    /// Splits and merges that were judged by a Metropolis-Hastings ratio, accepted or not.
    pub attempts: u64,
    /// The end of the run, once it is foreseen.
    pub ending: Option<Ending>,
}

/// What a node wants said and done.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Frames to send, in order.
    pub frames: Vec<(Address, Frame)>,
    /// Cycles that were completed.
    pub reports: Vec<CycleReport>,
    /// Rows that were swept: the work done, for engines that simulate a clock.
    pub swept_rows: u64,
    /// Whether the node has nothing more to do.
    pub is_done: bool,
}

impl Outbox {
    /// Sends a frame.
    pub fn send(&mut self, to: Address, frame: Frame) {
        self.frames.push((to, frame));
    }
}

/// One side of a method.
pub trait Node: Send {
    /// Takes in an event. What can be expected of a network (late, doubled, lost frames) is no
    /// error. After an [`Error::BadFrame`] the node is as it was before, and its sender is to be
    /// treated as lost; any other error ends the run.
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()>;

    /// One bounded step while nothing waits (steps, never a duration): answers that were left for
    /// when there is time, or refinement. Whether another one is worth it now.
    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        let _ = out;
        Ok(false)
    }

    /// Enough to make the node again.
    fn checkpoint(&self) -> Vec<u8>;

    /// The same of the moment before the last answer reached it, for a run that breaks off: what
    /// has been done since is not counted. `None` if it has had no answer yet.
    fn checkpoint_before_answer(&self) -> Option<Vec<u8>> {
        None
    }
}

impl<N: Node + ?Sized> Node for Box<N> {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        (**self).on(event, out)
    }

    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        (**self).idle(out)
    }

    fn checkpoint(&self) -> Vec<u8> {
        (**self).checkpoint()
    }

    fn checkpoint_before_answer(&self) -> Option<Vec<u8>> {
        (**self).checkpoint_before_answer()
    }
}
