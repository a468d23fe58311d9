//! AV: the auxiliary-variable sampler, in which clusters travel between workers, on any number of workers and any engine. Exact, unless workers merge
//! their own clusters.

use super::cgs::{Observer, Outcome};
use super::rounds::{self, Pair};
use super::slice::SliceOptions;
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::node::{AvCoordinator, AvWorkerOptions, SliceCoordinatorOptions, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;

/// What a run of AV needs beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct AvOptions {
    /// What all methods in rounds need.
    pub rounds: SliceOptions,
    /// Whether workers merge their own clusters wherever that is more probable: faster, but no longer exact.
    pub merges: bool,
}

/// Runs AV over shards, which are the workers' first rows in order.
pub fn run(
    shards: &[Shard],
    options: &AvOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let pair = Av { n_workers: options.rounds.coordinator.n_workers, merges: options.merges };
    rounds::run(&pair, shards, &options.rounds, truth, observer)
}

struct Av {
    n_workers: u32,
    merges: bool,
}

impl Pair for Av {
    type Coordinator = AvCoordinator;

    fn coordinator(&self, options: SliceCoordinatorOptions) -> AvCoordinator {
        AvCoordinator::new(options)
    }

    fn rebuild(&self, _: SliceCoordinatorOptions, _: Plan, _: &[ShardId], _: u32) -> Result<AvCoordinator> {
        Err(AvCoordinator::lost("the coordinator"))
    }

    fn worker(&self, first_row: usize) -> WorkerKind {
        let (n_workers, merges) = (self.n_workers, self.merges);
        WorkerKind::Av(AvWorkerOptions { n_workers, first_row: first_row as u64, merges })
    }

    fn components(&self, coordinator: &AvCoordinator) -> Vec<(ComponentId, Stats)> {
        coordinator.components().to_vec()
    }
}
