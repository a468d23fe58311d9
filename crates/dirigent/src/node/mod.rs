//! Nodes: every method is a pair, a worker that owns a shard and its labels, and a coordinator that owns statistics.
//!
//! A node has no clock, no thread, no socket and no file. It is told events and puts what it wants said into an [`Outbox`]; an engine
//! moves the frames, which are opaque to it. So all methods run on all engines, and a test can drive any schedule of events.

mod av;
mod checks;
// public for the tests only
#[doc(hidden)]
pub mod conservation;
mod coordinator;
mod deal;
mod hellos;
mod life;
mod rounds;
mod slice;
mod spec;
mod subc;
#[cfg(test)]
mod tests;
mod worker;

pub use coordinator::{Consolidation, Coordinator, CoordinatorOptions, FirstAlpha, Joins, Schedule};
pub(crate) use deal::{components_at_border, deal_anew};
pub use rounds::RoundsCoordinatorOptions;
pub(crate) use spec::{WorkerKind, WorkerSpec, WorkerStart, keeps_no_checkpoints};
pub use worker::{RowLabel, Worker};

// public for the tests only
#[doc(hidden)]
pub use av::{AvCoordinator, AvWorker, AvWorkerOptions};
#[doc(hidden)]
pub use slice::{SliceCoordinator, SliceWorker};
#[doc(hidden)]
pub use subc::{SubcCoordinator, SubcWorker};

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::ShardId;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::posterior::horizon::Ending;

/// Where a frame goes to or comes from.
///
/// ```
/// use dirigent::node::Address;
///
/// assert_eq!(Address::Coordinator.to_string(), "the coordinator");
/// assert_eq!(Address::Worker(3).to_string(), "worker 3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The node that owns the statistics.
    Coordinator,
    /// The node that owns a shard.
    Worker(ShardId),
    /// Whoever runs the nodes: it collects what is only looked at (labels, samples) and is no part of the algorithm.
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

/// Bytes on their way: a part of its own and, where several receivers get the same, a shared one that was encoded once.
///
/// ```
/// use dirigent::node::Frame;
///
/// let own = Frame::new(vec![0; 100]);
/// let answer = Frame { shared: Some(vec![0; 5_000].into()), ..own.clone() };
/// assert_eq!((own.n_bytes(), answer.n_bytes()), (100, 5_100));
/// ```
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

/// What a node is told.
///
/// ```
/// use dirigent::node::{Coordinator, CoordinatorOptions, Event, Node as _, Outbox};
///
/// // a coordinator has nothing to say before its workers have spoken
/// let mut coordinator = Coordinator::new(CoordinatorOptions::default());
/// let mut out = Outbox::default();
/// coordinator.on(Event::Start, &mut out)?;
/// assert!(out.frames.is_empty() && !out.is_done);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Event {
    /// A frame has arrived. Frames may come late, twice or never.
    Frame {
        /// Who sent it.
        from: Address,
        /// What it says.
        frame: Frame,
    },
    /// The node itself begins (told to every node once, first).
    Start,
    /// A worker is gone for now (told to the coordinator).
    Lost(ShardId),
    /// The user wants the run to end at the next border of a cycle (told to the coordinator).
    Stop,
}

/// What a coordinator reports of a cycle; the algorithm never reads it back.
///
/// ```
/// use dirigent::node::CycleReport;
///
/// let reports = [-90.0, -60.0, -61.5].map(|log_joint| CycleReport { log_joint, ..CycleReport::default() });
/// let best = reports.iter().map(|report| report.log_joint).fold(f64::NEG_INFINITY, f64::max);
/// assert_eq!(best, -60.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CycleReport {
    /// The number of the cycle, from 1. Under an asynchronous schedule: every worker has pushed once more on average.
    pub cycle: u64,
    /// The log-joint of the state.
    pub log_joint: f64,
    /// The log-joint before splits and merges, and the entropy of the labels: an estimate of the evidence, where it is counted.
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
///
/// ```
/// use dirigent::node::{Event, Node as _, Outbox, Worker};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::sweep::Kernel;
///
/// // the first word of a worker is its hello
/// let mut worker = Worker::new(0, Shard::of_table(Table::from_f64(1, vec![0.0, 9.0])), Kernel::best());
/// let mut out = Outbox::default();
/// worker.on(Event::Start, &mut out)?;
/// assert_eq!((out.frames.len(), out.swept_rows, out.is_done), (1, 0, false));
/// # Ok::<(), dirigent::Error>(())
/// ```
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
///
/// ```
/// use dirigent::Result;
/// use dirigent::node::{Address, Event, Frame, Node, Outbox};
///
/// /// A node that sends back whatever it is told, twice.
/// struct Echo;
///
/// impl Node for Echo {
///     fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
///         if let Event::Frame { from, frame } = event {
///             out.send(from, frame.clone());
///             out.send(from, frame);
///         }
///         Ok(())
///     }
///
///     fn checkpoint(&self) -> Vec<u8> {
///         Vec::new()
///     }
/// }
///
/// let mut out = Outbox::default();
/// Echo.on(Event::Frame { from: Address::Worker(3), frame: Frame::new(vec![1, 2]) }, &mut out)?;
/// assert_eq!(out.frames.len(), 2);
/// assert!(out.frames.iter().all(|(to, frame)| *to == Address::Worker(3) && frame.n_bytes() == 2));
/// # Ok::<(), dirigent::Error>(())
/// ```
pub trait Node: Send {
    /// Takes in an event. What can be expected of a network (late, doubled, lost frames) is no error. After an [`Error::BadFrame`] the node is
    /// as it was before, and its sender is to be treated as lost; any other error ends the run.
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()>;

    /// One bounded step while nothing waits (steps, never a duration): answers that were left for when there is time, or refinement. Whether another one is
    /// worth it now.
    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        let _ = out;
        Ok(false)
    }

    /// Enough to make the node again.
    fn checkpoint(&self) -> Vec<u8>;

    /// The same of the moment before the last answer reached it, for a run that breaks off: what has been done since is not counted. `None` if
    /// it has had no answer yet.
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
