//! The nodes of a run, as its driver makes them: what each worker begins with, and who succeeds a
//! coordinator that is lost.

use std::cell::Cell;
use std::rc::Rc;

use crate::consolidate::ShardId;
use crate::engine::simulated::Respawn;
use crate::error::Result;
use crate::family::OwnFamily;
use crate::interrupt::Interrupt;
use crate::posterior::horizon::{Cycles, Ending};
use crate::protocol::message::Plan;
use crate::protocol::{Node, WorkerKind, WorkerSpec, WorkerStart};
use crate::rows::Shard;
use crate::sweep::Kernel;

/// Makes workers, and makes them again.
pub(super) struct Crew<'a> {
    pub(super) shards: &'a [Shard],
    /// The first row of each.
    pub(super) first_rows: &'a [usize],
    pub(super) kind: &'a dyn Fn(ShardId) -> WorkerKind,
    pub(super) kernel: Option<Kernel>,
    pub(super) start: Option<StartLabels<'a>>,
    /// Where the run resumes from a checkpoint.
    pub(super) resumed: Option<ResumePoint>,
    /// Whether workers that go on join again: under an asynchronous schedule there is no border
    /// that all share.
    pub(super) joins_anew: bool,
    pub(super) interrupt: Interrupt,
    /// The family, if it is from outside the crate.
    pub(super) own_family: Option<&'a OwnFamily>,
}

impl Crew<'_> {
    /// What a worker is made from, in its first life.
    pub(super) fn spec(&self, id: ShardId) -> WorkerSpec {
        let start = match (&self.resumed, self.start) {
            (Some(resumed), _) if self.joins_anew => WorkerStart::Restored(resumed.worker(id).to_vec()),
            (Some(resumed), _) => WorkerStart::ResumePoint(Box::new(resumed.plan.clone()), resumed.worker(id).to_vec()),
            (None, None) => WorkerStart::Rows,
            (None, Some(StartLabels { labels, n_components })) => {
                let first_row = self.first_rows[id as usize];
                let labels = &labels[first_row..first_row + self.shards[id as usize].n_rows()];
                WorkerStart::Labels(labels.to_vec(), n_components)
            }
        };
        WorkerSpec { kind: (self.kind)(id), kernel: self.kernel, start, own_family: self.own_family.cloned() }
    }

    /// A worker here.
    pub(super) fn worker(&self, id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<Box<dyn Node>> {
        let spec = self.spec(id);
        let spec = if checkpoint.is_some() { spec.again(checkpoint) } else { spec };
        spec.make(id, self.shards[id as usize].clone(), self.interrupt.clone())
    }
}

/// Labels to begin with.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartLabels<'a> {
    /// One a row.
    labels: &'a [u32],
    /// All are below.
    n_components: u32,
}

impl<'a> StartLabels<'a> {
    pub(super) fn of(labels: &'a [u32]) -> Self {
        Self { labels, n_components: labels.iter().max().map_or(0, |largest| largest + 1) }
    }
}

/// What workers resume from.
pub(super) struct ResumePoint {
    pub(super) plan: Plan,
    pub(super) workers: Vec<Vec<u8>>,
}

impl ResumePoint {
    fn worker(&self, id: ShardId) -> &[u8] {
        &self.workers[id as usize]
    }
}

/// Makes all nodes of a run, and makes them again.
pub(super) struct NodeMaker<'a, C> {
    pub(super) crew: Crew<'a>,
    pub(super) n_workers: u32,
    /// The end of the run, as it was first foreseen.
    pub(super) ending: Rc<Cell<Option<Ending>>>,
    pub(super) successor: &'a dyn Fn(&Succession<'_>) -> Result<C>,
    /// The workers that a new coordinator will find.
    workers: Vec<ShardId>,
    n_restarts: u32,
}

impl<'a, C> NodeMaker<'a, C> {
    pub(super) fn new(
        crew: Crew<'a>,
        n_workers: u32,
        ending: &Rc<Cell<Option<Ending>>>,
        successor: &'a dyn Fn(&Succession<'_>) -> Result<C>,
    ) -> Self {
        Self { crew, n_workers, ending: Rc::clone(ending), successor, workers: Vec::new(), n_restarts: 0 }
    }
}

/// What the successor of a coordinator knows.
pub(super) struct Succession<'a> {
    /// Rows that the run began with.
    pub(super) n_rows: u64,
    pub(super) kernel: Kernel,
    pub(super) workers: &'a [ShardId],
    pub(super) n_restarts: u32,
    ending: Option<Ending>,
}

impl Succession<'_> {
    /// An end that was foreseen stays; otherwise the successor waits for a stationary chain from
    /// scratch.
    pub(super) fn cycles(&self, usual: Cycles) -> Cycles {
        self.ending.map_or(usual, |ending| Cycles::Fixed(ending.last_cycle))
    }
}

impl<C: Node> Respawn<C, Box<dyn Node>> for NodeMaker<'_, C> {
    fn worker(&mut self, id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<Box<dyn Node>> {
        self.crew.worker(id, checkpoint)
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<C> {
        self.n_restarts += 1;
        (self.successor)(&Succession {
            n_rows: self.crew.shards[..self.n_workers as usize].iter().map(|shard| shard.n_rows() as u64).sum(),
            kernel: self.crew.kernel.unwrap_or_else(Kernel::best),
            workers: &self.workers,
            n_restarts: self.n_restarts,
            ending: self.ending.get(),
        })
    }
}
