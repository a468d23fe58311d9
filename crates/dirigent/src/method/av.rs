//! AV: the auxiliary-variable sampler, in which clusters travel between workers, on any number of workers and any engine. Exact, unless workers merge
//! their own clusters.

use super::cgs::Outcome;
use super::crew::Succession;
use super::drive::Pair;
use super::rounds::{self, InRounds, RoundsOptions};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::model::Model;
use crate::node::{AvCoordinator, AvWorkerOptions, RoundsCoordinatorOptions, WorkerKind, keeps_no_checkpoints};
use crate::observer::Observer;
use crate::rows::Shard;
use crate::stats::Stats;

/// What a run of AV needs beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct AvOptions {
    /// What all methods in rounds need.
    pub rounds: RoundsOptions,
    /// Whether workers merge their own clusters wherever that is more probable: faster, but no longer exact.
    pub merges: bool,
}

/// Runs AV over shards, which are the workers' first rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &AvOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let pair = |coordinator| Av { coordinator, model, merges: options.merges };
    rounds::run(pair, shards, &options.rounds, truth, observer)
}

struct Av<'a> {
    coordinator: RoundsCoordinatorOptions,
    model: &'a Model,
    merges: bool,
}

impl Pair for Av<'_> {
    type Coordinator = AvCoordinator;

    fn coordinator(&self) -> AvCoordinator {
        AvCoordinator::new(self.coordinator.clone(), self.model.clone())
    }

    fn resume(&self, _checkpoint: &[u8]) -> Result<(AvCoordinator, Plan)> {
        Err(keeps_no_checkpoints("AV"))
    }

    fn rebuild(&self, _succession: &Succession<'_>) -> Result<AvCoordinator> {
        Err(AvCoordinator::lost("the coordinator"))
    }

    fn worker(&self, first_row: usize) -> WorkerKind {
        let (n_workers, merges) = (self.coordinator.n_workers, self.merges);
        WorkerKind::Av(AvWorkerOptions { n_workers, first_row: first_row as u64, merges })
    }
}

impl InRounds for Av<'_> {
    fn components(&self, coordinator: &AvCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components().to_vec()
    }
}
