//! What a worker is made from, wherever it is made: plain data, that an engine can carry to another machine.

use serde::{Deserialize, Serialize};

use super::{AvCoordinator, AvWorker, AvWorkerOptions, Node, SliceWorker, SubcWorker, Worker};
use crate::consolidate::ShardId;
use crate::error::{InputError, Result};
use crate::interrupt::Interrupt;
use crate::message::Plan;
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
    /// A label for each of its rows, the same numbers as other workers have, and how many there are for all rows.
    Labels(Vec<u32>, u32),
    /// The checkpoint of an earlier life: it joins anew.
    Restored(Vec<u8>),
    /// The checkpoint of a border at which all nodes go on, under this plan.
    Resumed(Box<Plan>, Vec<u8>),
}

impl WorkerSpec {
    /// The same worker after its life has ended, with the last checkpoint that is to be had.
    #[must_use]
    pub(crate) fn again(self, checkpoint: Option<Vec<u8>>) -> Self {
        let start = match (checkpoint, self.start) {
            (Some(checkpoint), _) | (None, WorkerStart::Resumed(_, checkpoint)) => WorkerStart::Restored(checkpoint),
            (None, start) => start,
        };
        Self { start, ..self }
    }

    /// The worker of these rows.
    pub(crate) fn make(self, id: ShardId, shard: Shard, interrupt: Interrupt) -> Result<Box<dyn Node>> {
        use WorkerStart::{Labels, Restored, Resumed, Rows};
        let kernel = self.kernel.unwrap_or_else(Kernel::best);
        Ok(match self.kind {
            WorkerKind::Consolidated => Box::new(
                match self.start {
                    Rows => Worker::new(id, shard, kernel),
                    Labels(labels, _) => Worker::start_from(id, shard, kernel, &labels),
                    Restored(checkpoint) => Worker::restore(id, shard, kernel, &checkpoint)?,
                    Resumed(plan, checkpoint) => Worker::resume(id, shard, kernel, *plan, &checkpoint)?,
                }
                .interrupted_by(interrupt),
            ),
            WorkerKind::Slice => Box::new(
                match self.start {
                    Rows => SliceWorker::new(id, shard, kernel),
                    Labels(labels, n_components) => SliceWorker::start_from(id, shard, kernel, labels, n_components),
                    Restored(checkpoint) => SliceWorker::restore(id, shard, kernel, &checkpoint)?,
                    Resumed(plan, checkpoint) => SliceWorker::resume(id, shard, kernel, *plan, &checkpoint)?,
                }
                .interrupted_by(interrupt),
            ),
            WorkerKind::Subc => Box::new(match self.start {
                Rows => SubcWorker::new(id, shard, kernel),
                Labels(labels, n_components) => SubcWorker::start_from(id, shard, kernel, labels, n_components),
                Restored(checkpoint) => SubcWorker::restore(id, shard, kernel, &checkpoint)?,
                Resumed(..) => return Err(keeps_no_checkpoints("SubC")),
            }),
            WorkerKind::Av(options) => Box::new(match self.start {
                Rows => AvWorker::new(id, shard, kernel, options, None),
                Labels(labels, _) => AvWorker::new(id, shard, kernel, options, Some(labels)),
                Restored(_) => return Err(AvCoordinator::lost(&format!("worker {id}"))),
                Resumed(..) => return Err(keeps_no_checkpoints("AV")),
            }),
        })
    }
}

/// Of a method whose nodes cannot go on from a checkpoint.
pub(crate) fn keeps_no_checkpoints(method: &str) -> crate::error::Error {
    InputError::new(format!("{method} keeps no checkpoints")).into()
}
