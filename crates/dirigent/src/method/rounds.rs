//! The driver of methods in rounds: all workers in step, on any engine. A method is a [`Pair`] of nodes.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::cgs::{Draws, Observer, Outcome};
use super::distributed::{Collector, Watching};
use super::slice::SliceOptions;
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::RunTotals;
use crate::engine::simulated::Respawn;
use crate::error::Result;
use crate::message::Plan;
use crate::node::{Node, SliceCoordinatorOptions};
use crate::posterior::horizon::{Cycles, Ending};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// How the two nodes of a method are made.
pub(super) trait Pair {
    type Coordinator: Node;
    type Worker: Node + 'static;

    fn coordinator(&self, options: SliceCoordinatorOptions) -> Self::Coordinator;

    /// A coordinator in place of one that was lost.
    fn rebuild(
        &self,
        options: SliceCoordinatorOptions,
        plan: Plan,
        workers: &[ShardId],
        n_restarts: u32,
    ) -> Result<Self::Coordinator>;

    fn worker(&self, seat: Seat) -> Result<Self::Worker>;

    /// The final components and their statistics.
    fn components(&self, coordinator: &Self::Coordinator) -> Vec<(ComponentId, Stats)>;
}

/// What a worker begins with.
pub(super) struct Seat {
    pub(super) shard_id: ShardId,
    pub(super) shard: Shard,
    pub(super) kernel: Kernel,
    /// Its first row among all.
    pub(super) first_row: usize,
    /// The labels of its rows, and how many there are for all rows.
    pub(super) start: Option<(Vec<u32>, u32)>,
    /// Of an earlier life.
    pub(super) checkpoint: Option<Vec<u8>>,
}

/// Runs a method over shards, which are the workers' rows in order.
pub(super) fn run(
    pair: &impl Pair,
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
    let watching = Watching {
        chain: options.coordinator.chain,
        draws: options.draws,
        time_limit: options.time_limit,
        shows_labels: coordinator_options.shows_labels,
    };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let mut nodes = Nodes {
        pair,
        shards,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: options.start.as_deref(),
        first_rows: collector.first_rows.clone(),
        options: coordinator_options,
        ending: Rc::clone(&collector.ending),
        workers: Vec::new(),
        n_restarts: 0,
    };
    let mut coordinator = pair.coordinator(nodes.options.clone());
    let n_workers = nodes.options.n_workers;
    let totals = options.engine.run(&mut coordinator, n_workers, &mut nodes, &mut collector)?;
    let (outcome, ids) = collector.finish()?;
    let mut components: HashMap<ComponentId, Stats> = pair.components(&coordinator).into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}

/// Makes nodes, and makes them again.
struct Nodes<'a, P> {
    pair: &'a P,
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
}

impl<P: Pair> Respawn<P::Coordinator, P::Worker> for Nodes<'_, P> {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<P::Worker> {
        let (shard, first_row) = (self.shards[shard_id as usize].clone(), self.first_rows[shard_id as usize]);
        let start = self.start.map(|start| {
            let n_components = start.iter().max().map_or(0, |largest| largest + 1);
            (start[first_row..first_row + shard.n_rows()].to_vec(), n_components)
        });
        self.pair.worker(Seat { shard_id, shard, kernel: self.kernel, first_row, start, checkpoint })
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<P::Coordinator> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let plan = self.options.plan(&Survey::of_all(first), self.kernel)?;
        let cycles = self.ending.get().map_or(self.options.cycles, |ending| Cycles::Fixed(ending.last_cycle));
        let options = SliceCoordinatorOptions { cycles, ..self.options.clone() };
        self.pair.rebuild(options, plan, &self.workers, self.n_restarts)
    }
}
