//! SubC: a sampler whose components are split into sub-clusters, on any number of workers and any engine. It is biased: `docs/baselines.md`.

use super::cgs::Outcome;
use super::crew::Succession;
use super::drive::Pair;
use super::rounds::{self, InRounds, RoundsOptions, succeeding};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::node::{RoundsCoordinatorOptions, SubcCoordinator, WorkerKind, keeps_no_checkpoints};
use crate::observer::Observer;
use crate::rows::Shard;
use crate::stats::Stats;

/// Runs SubC over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run(Subc, shards, options, truth, observer)
}

struct Subc(RoundsCoordinatorOptions);

impl Pair for Subc {
    type Coordinator = SubcCoordinator;

    fn coordinator(&self) -> SubcCoordinator {
        SubcCoordinator::new(self.0.clone())
    }

    fn resume(&self, _checkpoint: &[u8]) -> Result<(SubcCoordinator, Plan)> {
        Err(keeps_no_checkpoints("SubC"))
    }

    fn rebuild(&self, succession: &Succession<'_>) -> Result<SubcCoordinator> {
        let (options, plan) = succeeding(&self.0, succession)?;
        Ok(SubcCoordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    }

    fn worker(&self, _first_row: usize) -> WorkerKind {
        WorkerKind::Subc
    }
}

impl InRounds for Subc {
    fn components(&self, coordinator: &SubcCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components()
    }
}
