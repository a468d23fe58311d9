//! SliceMR: the exact slice sampler, on any number of workers and any engine.
//!
//! It mixes slowly from a poor start, because large components seldom split or merge: best started where a faster method has ended
//! (`finish.rs`).

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::cgs::{Draws, Observer, Outcome};
use super::distributed::{Collector, Engine, Resumed, Watching, saved_nodes};
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::RunTotals;
use crate::engine::simulated::Respawn;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::node::{SliceCoordinator, SliceCoordinatorOptions, SliceWorker};
use crate::posterior::horizon::{Cycles, Ending};
use crate::rows::Shard;
use crate::stats::Stats;
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
    /// Seconds on the engine's clock after which the run ends, at the border of a cycle.
    pub time_limit: Option<f64>,
}

/// Runs the slice sampler over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    options: &SliceOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let coordinator_options = SliceCoordinatorOptions {
        shows_labels: truth.is_some() || options.draws.is_some() || observer.watches_states(),
        n_kept: options.draws.map_or(0, Draws::n_cycles),
        ..options.coordinator.clone()
    };
    let interrupt = observer.interrupt();
    let saved = saved_nodes(observer.take_saved(), shards.len())?;
    let watching = Watching {
        chain: options.coordinator.chain,
        draws: options.draws,
        time_limit: options.time_limit,
        shows_labels: coordinator_options.shows_labels,
    };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let mut nodes = Nodes {
        shards,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: options.start.as_deref(),
        first_rows: collector.first_rows.clone(),
        options: coordinator_options,
        ending: Rc::clone(&collector.ending),
        workers: Vec::new(),
        n_restarts: 0,
        interrupt,
        resumed: None,
    };
    let mut coordinator = match &saved {
        Some(saved) => SliceCoordinator::resume(nodes.options.clone(), &saved.coordinator)?,
        None => SliceCoordinator::new(nodes.options.clone()),
    };
    if let (Some(saved), Some(plan)) = (saved, coordinator.plan()) {
        nodes.resumed = Some(Resumed { plan: plan.clone(), workers: collector.resume(saved) });
    }
    let n_workers = nodes.options.n_workers;
    let totals = options.engine.run(&mut coordinator, n_workers, &mut nodes, &mut collector)?;
    let (outcome, ids) = collector.finish()?;
    let mut components: HashMap<ComponentId, Stats> = coordinator.components().into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}

/// Makes nodes, and makes them again.
struct Nodes<'a> {
    shards: &'a [Shard],
    kernel: Kernel,
    start: Option<&'a [u32]>,
    first_rows: Vec<usize>,
    options: SliceCoordinatorOptions,
    /// As it was foreseen by a coordinator that was lost.
    ending: Rc<Cell<Option<Ending>>>,
    /// The workers that a new coordinator will find.
    workers: Vec<ShardId>,
    n_restarts: u32,
    interrupt: Interrupt,
    /// Where the run goes on from a checkpoint.
    resumed: Option<Resumed>,
}

impl Respawn<SliceCoordinator, SliceWorker> for Nodes<'_> {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<SliceWorker> {
        let shard = self.shards[shard_id as usize].clone();
        let worker = match (checkpoint, &self.resumed, self.start) {
            (Some(checkpoint), _, _) => SliceWorker::restore(shard_id, shard, self.kernel, &checkpoint)?,
            (None, Some(resumed), _) => {
                let plan = resumed.plan.clone();
                SliceWorker::resume(shard_id, shard, self.kernel, plan, resumed.worker(shard_id))?
            }
            (None, None, None) => SliceWorker::new(shard_id, shard, self.kernel),
            (None, None, Some(start)) => {
                let n_components = start.iter().max().map_or(0, |largest| largest + 1);
                let first_row = self.first_rows[shard_id as usize];
                let labels = start[first_row..first_row + shard.n_rows()].to_vec();
                SliceWorker::start_from(shard_id, shard, self.kernel, labels, n_components)
            }
        };
        Ok(worker.interrupted_by(self.interrupt.clone()))
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<SliceCoordinator> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let plan = self.options.plan(&Survey::of_all(first), self.kernel)?;
        let cycles = self.ending.get().map_or(self.options.cycles, |ending| Cycles::Fixed(ending.last_cycle));
        let options = SliceCoordinatorOptions { cycles, ..self.options.clone() };
        Ok(SliceCoordinator::rebuild(options, plan, &self.workers, self.n_restarts))
    }
}
