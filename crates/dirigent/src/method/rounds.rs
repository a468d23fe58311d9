//! The driver of methods in rounds: all workers in step, on any engine. A method is a [`Pair`] of nodes.

use std::collections::HashMap;

use super::cgs::{Draws, Observer, Outcome};
use super::collector::{Collector, Watching};
use super::crew::{Crew, Nodes, Succession};
use super::slice::SliceOptions;
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::node::{Node, SliceCoordinatorOptions, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;

/// How the two nodes of a method are made.
pub(super) trait Pair {
    type Coordinator: Node;

    fn coordinator(&self, options: SliceCoordinatorOptions) -> Self::Coordinator;

    /// A coordinator in place of one that was lost.
    fn rebuild(
        &self,
        options: SliceCoordinatorOptions,
        plan: Plan,
        workers: &[ShardId],
        n_restarts: u32,
    ) -> Result<Self::Coordinator>;

    /// The worker whose first row, among all, is this one.
    fn worker(&self, first_row: usize) -> WorkerKind;

    /// The final components and their statistics.
    fn components(&self, coordinator: &Self::Coordinator) -> Vec<(ComponentId, Stats)>;
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
    let interrupt = observer.interrupt();
    let watching = Watching {
        chain: options.coordinator.chain,
        draws: options.draws,
        time_limit: options.time_limit,
        shows_labels: coordinator_options.shows_labels,
    };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let first_rows = collector.first_rows.clone();
    let crew = Crew {
        shards,
        first_rows: first_rows.clone(),
        kind: &|id| pair.worker(first_rows[id as usize]),
        kernel: coordinator_options.kernel,
        start: options.start.as_deref(),
        resumed: None,
        joins_anew: false,
        interrupt,
    };
    let successor = |succession: Succession<'_>| {
        let plan = coordinator_options.plan(&succession.survey, succession.kernel)?;
        let cycles = succession.cycles(coordinator_options.cycles);
        let options = SliceCoordinatorOptions { cycles, ..coordinator_options.clone() };
        pair.rebuild(options, plan, succession.workers, succession.n_restarts)
    };
    let mut nodes = Nodes::new(crew, coordinator_options.n_workers, &collector.ending, &successor);
    let mut coordinator = pair.coordinator(coordinator_options.clone());
    let totals = options.engine.run(&mut coordinator, &mut nodes, &mut collector)?;
    let (outcome, ids) = collector.finish()?;
    let mut components: HashMap<ComponentId, Stats> = pair.components(&coordinator).into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}
