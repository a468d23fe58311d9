//! SliceMR: the exact slice sampler, on any number of workers and any engine.
//!
//! It mixes slowly from a poor start, because large components seldom split or merge unless such moves are tried beside the sweeps: best started
//! where a faster method has ended (`finish.rs`). Without labels to start from, the first cycle seats the rows by components from the prior.

use super::cgs::Outcome;
use super::crew::Succession;
use super::drive::Pair;
use super::rounds::{self, InRounds, RoundsOptions, succeeding};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::model::Model;
use crate::node::{RoundsCoordinatorOptions, SliceCoordinator, WorkerKind};
use crate::observer::Observer;
use crate::rows::Shard;
use crate::stats::Stats;

/// Runs the slice sampler over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run(|options| Slice { options, model }, shards, options, truth, observer)
}

struct Slice<'a> {
    options: RoundsCoordinatorOptions,
    model: &'a Model,
}

impl Pair for Slice<'_> {
    type Coordinator = SliceCoordinator;

    fn coordinator(&self) -> SliceCoordinator {
        SliceCoordinator::new(self.options.clone(), self.model.clone())
    }

    fn resume(&self, checkpoint: &[u8]) -> Result<(SliceCoordinator, Plan)> {
        let coordinator = SliceCoordinator::resume(self.options.clone(), checkpoint)?;
        let plan = coordinator.plan().cloned().expect("a checkpoint has a plan");
        Ok((coordinator, plan))
    }

    fn rebuild(&self, succession: &Succession<'_>) -> Result<SliceCoordinator> {
        let (options, plan) = succeeding(&self.options, self.model, succession);
        Ok(SliceCoordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    }

    fn worker(&self, _first_row: usize) -> WorkerKind {
        WorkerKind::Slice
    }
}

impl InRounds for Slice<'_> {
    fn components(&self, coordinator: &SliceCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components()
    }
}
