//! SliceMR: the exact slice sampler, on any number of workers and any engine; and the exact finish of a faster method.
//!
//! Delayed synchronisation is an approximation, a slice sampler is none: with it, states are drawn from the posterior itself. It mixes
//! slowly from a poor start, because large components seldom split or merge; so a faster method finds the state to start from
//! ([`draw_from`]), and the draws explore around it.

use super::cgs::{Draws, Observer, Outcome};
use super::distributed::{Collector, Engine};
use crate::consolidate::ShardId;
use crate::engine::simulated::{self, Respawn};
use crate::engine::{RunTotals, threads};
use crate::error::Result;
use crate::node::{Node, SliceCoordinator, SliceCoordinatorOptions, SliceWorker};
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// What a run of the slice sampler needs beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceOptions {
    /// The sampler.
    pub coordinator: SliceCoordinatorOptions,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// Where the nodes run.
    pub engine: Engine,
    /// Labels to begin with, one a row; without them the first cycle seats the rows by components from the prior.
    pub start: Option<Vec<u32>>,
}

/// Runs the slice sampler over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    options: &SliceOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let shows_labels = truth.is_some() || options.draws.is_some();
    let coordinator_options = SliceCoordinatorOptions { shows_labels, ..options.coordinator.clone() };
    let mut collector = Collector::new(shards, coordinator_options.cycles, options.draws, truth, observer);
    let mut nodes = Nodes {
        shards,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: options.start.as_deref(),
        first_rows: collector.first_rows.clone(),
        options: coordinator_options,
        workers: Vec::new(),
        n_restarts: 0,
    };
    let mut coordinator = SliceCoordinator::new(nodes.options.clone());
    let workers = (0..nodes.options.n_workers).map(|shard_id| nodes.worker(shard_id, None));
    let totals = match &options.engine {
        Engine::Threads(n_threads) => {
            let workers = workers.map(|worker| Ok(Box::new(worker?) as Box<dyn Node>)).collect::<Result<_>>()?;
            threads::run(&mut coordinator, workers, *n_threads, &mut collector)?
        }
        Engine::Simulated(simulation) => {
            let workers = workers.collect::<Result<_>>()?;
            simulated::run(&mut coordinator, workers, simulation, &mut nodes, &mut collector)?
        }
    };
    Ok((collector.finish()?, totals))
}

/// The exact finish: draws from the posterior, beginning with a state that a faster method has found. The first `n_discarded` cycles are
/// not kept; `options.coordinator.cycles`, `draws` and `start` are set by the other arguments. α of every cycle is in what the observer
/// is told of it.
pub fn draw_from(
    shards: &[Shard],
    state: Vec<u32>,
    n_discarded: u64,
    draws: Draws,
    options: &SliceOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let cycles = n_discarded + draws.n_draws as u64 * draws.thin;
    let coordinator = SliceCoordinatorOptions { cycles, ..options.coordinator.clone() };
    let options = SliceOptions { coordinator, draws: Some(draws), engine: options.engine.clone(), start: Some(state) };
    run(shards, &options, truth, observer)
}

/// Cycles of an exact finish to discard after `cycles` of a faster method: it must forget where that ended.
pub fn cycles_to_discard(cycles: u64) -> u64 {
    (cycles / 10).max(100)
}

/// Makes nodes, and makes them again.
struct Nodes<'a> {
    shards: &'a [Shard],
    kernel: Kernel,
    start: Option<&'a [u32]>,
    first_rows: Vec<usize>,
    options: SliceCoordinatorOptions,
    /// The workers that a new coordinator will find.
    workers: Vec<ShardId>,
    n_restarts: u32,
}

impl Respawn<SliceCoordinator, SliceWorker> for Nodes<'_> {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<SliceWorker> {
        let shard = self.shards[shard_id as usize].clone();
        match (checkpoint, self.start) {
            (Some(checkpoint), _) => SliceWorker::restore(shard_id, shard, self.kernel, &checkpoint),
            (None, None) => Ok(SliceWorker::new(shard_id, shard, self.kernel)),
            (None, Some(start)) => {
                let n_components = start.iter().max().map_or(0, |largest| largest + 1);
                let first_row = self.first_rows[shard_id as usize];
                let labels = start[first_row..first_row + shard.n_rows()].to_vec();
                Ok(SliceWorker::start_from(shard_id, shard, self.kernel, labels, n_components))
            }
        }
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<SliceCoordinator> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let plan = self.options.plan(&Survey::of_all(first), self.kernel)?;
        Ok(SliceCoordinator::rebuild(self.options.clone(), plan, &self.workers, self.n_restarts))
    }
}
