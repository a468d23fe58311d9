//! Methods in rounds: all workers in step, on any engine. SliceMR, SubC and AV.

use std::collections::HashMap;

use super::cgs::{Draws, Outcome};
use super::collector::Watching;
use super::crew::Succession;
use super::distributed::Engine;
use super::drive::{Driven, Launch, Pair, drive, other_workers, saved_nodes};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::message::Plan;
use crate::model::Model;
use crate::node::RoundsCoordinatorOptions;
use crate::observer::Observer;
use crate::rows::Shard;
use crate::stats::Stats;

/// What a run of a method in rounds needs beside its rows. By default nothing is kept but the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundsOptions {
    /// The sampler.
    pub coordinator: RoundsCoordinatorOptions,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// Where the nodes run.
    pub engine: Engine,
    /// Labels to begin with, one a row; without them each method has its own way to begin.
    pub start: Option<Vec<u32>>,
    /// Seconds on the engine's clock after which the run ends, at the border of a cycle.
    pub time_limit: Option<f64>,
}

/// A pair of nodes in rounds.
pub(super) trait InRounds: Pair {
    /// The final components and their statistics.
    fn components(&self, coordinator: &Self::Coordinator) -> Vec<(ComponentId, Stats)>;
}

/// Runs a method over shards, which are the workers' rows in order; `pair` makes its nodes, given what the coordinator is told.
pub(super) fn run<P: InRounds>(
    pair: impl FnOnce(RoundsCoordinatorOptions) -> P,
    shards: &[Shard],
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let coordinator = RoundsCoordinatorOptions {
        shows_labels: truth.is_some() || options.draws.is_some() || observer.watches_states(),
        n_kept: options.draws.map_or(0, Draws::n_cycles),
        ..options.coordinator.clone()
    };
    let saved = saved_nodes(observer.take_saved())?;
    if let Some(before) = saved.as_ref().map(|saved| saved.workers.len()).filter(|before| *before != shards.len()) {
        return Err(other_workers(before, shards.len(), "this method").into());
    }
    let launch = Launch {
        shards,
        n_workers: coordinator.n_workers,
        kernel: coordinator.kernel,
        engine: &options.engine,
        start: options.start.as_deref(),
        saved,
        joins_anew: false,
        watching: Watching {
            chain: coordinator.chain,
            draws: options.draws,
            time_limit: options.time_limit,
            shows_labels: coordinator.shows_labels,
        },
    };
    let pair = pair(coordinator);
    let Driven { coordinator, outcome, ids, totals, .. } = drive(&pair, launch, truth, observer)?;
    let mut components: HashMap<ComponentId, Stats> = pair.components(&coordinator).into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}

/// What the successor of a coordinator is told, and its plan.
pub(super) fn succeeding(
    options: &RoundsCoordinatorOptions,
    model: &Model,
    succession: &Succession<'_>,
) -> (RoundsCoordinatorOptions, Plan) {
    let plan = options.plan(model, succession.n_rows, succession.kernel);
    (RoundsCoordinatorOptions { cycles: succession.cycles(options.cycles), ..options.clone() }, plan)
}
