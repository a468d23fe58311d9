//! SliceMR: the exact slice sampler, on any number of workers and any engine.
//!
//! It mixes slowly from a poor start, because large components seldom split or merge: best started where a faster method has ended
//! (`finish.rs`).

use std::collections::HashMap;

use super::cgs::{Draws, Observer, Outcome};
use super::collector::{Collector, Watching};
use super::crew::{Crew, Nodes, Resumed, Succession};
use super::distributed::{Engine, other_workers, saved_nodes};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::node::{SliceCoordinator, SliceCoordinatorOptions, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;

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
    let saved = saved_nodes(observer.take_saved())?;
    if let Some(before) = saved.as_ref().map(|saved| saved.workers.len()).filter(|before| *before != shards.len()) {
        return Err(other_workers(before, shards.len(), "the slice sampler").into());
    }
    let watching = Watching {
        chain: options.coordinator.chain,
        draws: options.draws,
        time_limit: options.time_limit,
        shows_labels: coordinator_options.shows_labels,
    };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let crew = Crew {
        shards,
        first_rows: collector.first_rows.clone(),
        kind: &|_| WorkerKind::Slice,
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
        Ok(SliceCoordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    };
    let mut nodes = Nodes::new(crew, coordinator_options.n_workers, &collector.ending, &successor);
    let mut coordinator = match &saved {
        Some(saved) => SliceCoordinator::resume(coordinator_options.clone(), &saved.coordinator)?,
        None => SliceCoordinator::new(coordinator_options.clone()),
    };
    if let (Some(saved), Some(plan)) = (saved, coordinator.plan()) {
        nodes.crew.resumed = Some(Resumed { plan: plan.clone(), workers: collector.resume(saved) });
    }
    let totals = options.engine.run(&mut coordinator, &mut nodes, &mut collector)?;
    let (outcome, ids) = collector.finish()?;
    let mut components: HashMap<ComponentId, Stats> = coordinator.components().into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}
