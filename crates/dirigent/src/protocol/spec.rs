//! What a worker is made from, wherever it is made: plain data, that an engine can carry to another
//! machine.

use serde::{Deserialize, Serialize};

use super::message::Plan;
use super::{Method, Node, Worker};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::family::OwnFamily;
use crate::interrupt::Interrupt;
use crate::method::av::{Av, AvWorkerOptions};
use crate::method::consolidated::Consolidated;
use crate::method::slice::Slice;
use crate::method::subc::Subc;
use crate::rows::Shard;
use crate::sweep::Kernel;

/// A worker before it has its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerSpec {
    /// Of which method.
    pub(crate) kind: WorkerKind,
    /// The best instructions to offer; without a word the machine's own.
    pub(crate) kernel: Option<Kernel>,
    /// What it begins with.
    pub(crate) start: WorkerStart,
    /// A family from outside the crate, which stays on this machine.
    #[serde(skip)]
    pub(crate) own_family: Option<OwnFamily>,
}

/// The workers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WorkerKind {
    /// Of the methods that consolidate.
    Consolidated,
    /// Of SliceMR.
    Slice,
    /// Of SubC.
    Subc,
    /// Of AV.
    Av(AvWorkerOptions),
}

/// What a worker begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum WorkerStart {
    /// Its rows alone.
    Rows,
    /// A label for each of its rows, the same numbers as other workers have, and how many there are
    /// for all rows.
    Labels(Vec<u32>, u32),
    /// The checkpoint of an earlier life: it joins again.
    Restored(Vec<u8>),
    /// The checkpoint of a border at which all nodes go on, under this plan.
    ResumePoint(Box<Plan>, Vec<u8>),
}

impl WorkerSpec {
    /// The same worker after its life has ended, with the last checkpoint that is to be had.
    #[must_use]
    pub(crate) fn again(self, checkpoint: Option<Vec<u8>>) -> Self {
        let start = match (checkpoint, self.start) {
            (Some(checkpoint), _) | (None, WorkerStart::ResumePoint(_, checkpoint)) => {
                WorkerStart::Restored(checkpoint)
            }
            (None, start) => start,
        };
        Self { start, ..self }
    }

    /// The worker of these rows.
    pub(crate) fn make(self, id: ShardId, shard: Shard, interrupt: Interrupt) -> Result<Box<dyn Node>> {
        match self.kind {
            WorkerKind::Consolidated => self.make_of::<Consolidated>(id, shard, (), interrupt),
            WorkerKind::Slice => self.make_of::<Slice>(id, shard, (), interrupt),
            WorkerKind::Subc => self.make_of::<Subc>(id, shard, (), interrupt),
            WorkerKind::Av(options) => self.make_of::<Av>(id, shard, options, interrupt),
        }
    }

    fn make_of<M: Method>(
        self,
        id: ShardId,
        shard: Shard,
        options: M::ShardOptions,
        interrupt: Interrupt,
    ) -> Result<Box<dyn Node>> {
        let worker = Worker::<M>::with_options(id, shard, self.kernel.unwrap_or_else(Kernel::best), options);
        let worker = worker.with_family(self.own_family);
        let worker = match self.start {
            WorkerStart::Rows => worker,
            WorkerStart::Labels(labels, n_components) => worker.starting_from(labels, n_components),
            WorkerStart::Restored(checkpoint) => worker.restored(&checkpoint)?,
            WorkerStart::ResumePoint(plan, checkpoint) => worker.resumed(*plan, &checkpoint)?,
        };
        Ok(Box::new(worker.interrupted_by(interrupt)))
    }
}
