//! SubC: a sampler whose components are split into sub-clusters, on any number of workers and any engine. It is biased: `docs/baselines.md`.

use super::cgs::Outcome;
use super::crew::Succession;
use super::drive::Pair;
use super::rounds::{self, InRounds, RoundsOptions, succeeding};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::model::Model;
use crate::node::{RoundsCoordinatorOptions, SubcCoordinator, WorkerKind, keeps_no_checkpoints};
use crate::observer::Observer;
use crate::rows::Shard;
use crate::stats::Stats;

/// Runs SubC over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run(|options| Subc { options, model }, shards, options, truth, observer)
}

struct Subc<'a> {
    options: RoundsCoordinatorOptions,
    model: &'a Model,
}

impl Pair for Subc<'_> {
    type Coordinator = SubcCoordinator;

    fn coordinator(&self) -> SubcCoordinator {
        SubcCoordinator::new(self.options.clone(), self.model.clone())
    }

    fn resume(&self, _checkpoint: &[u8]) -> Result<(SubcCoordinator, Plan)> {
        Err(keeps_no_checkpoints("SubC"))
    }

    fn rebuild(&self, succession: &Succession<'_>) -> Result<SubcCoordinator> {
        let (options, plan) = succeeding(&self.options, self.model, succession);
        Ok(SubcCoordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    }

    fn worker(&self, _first_row: usize) -> WorkerKind {
        WorkerKind::Subc
    }
}

impl InRounds for Subc<'_> {
    fn components(&self, coordinator: &SubcCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components()
    }
}
