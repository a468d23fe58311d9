//! SubC: a sampler whose components are split into sub-clusters, on any number of workers and any engine. It is biased: `docs/baselines.md`.

use super::cgs::{Observer, Outcome};
use super::rounds::{self, Pair};
use super::slice::SliceOptions;
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::node::{SliceCoordinatorOptions, SubcCoordinator, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;

/// Runs SubC over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    options: &SliceOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run(&Subc, shards, options, truth, observer)
}

struct Subc;

impl Pair for Subc {
    type Coordinator = SubcCoordinator;

    fn coordinator(&self, options: SliceCoordinatorOptions) -> SubcCoordinator {
        SubcCoordinator::new(options)
    }

    fn rebuild(
        &self,
        options: SliceCoordinatorOptions,
        plan: Plan,
        workers: &[ShardId],
        n_restarts: u32,
    ) -> Result<SubcCoordinator> {
        Ok(SubcCoordinator::rebuild(options, plan, workers, n_restarts))
    }

    fn worker(&self, _first_row: usize) -> WorkerKind {
        WorkerKind::Subc
    }

    fn components(&self, coordinator: &SubcCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components()
    }
}
