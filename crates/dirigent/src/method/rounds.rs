//! Methods whose workers are all in step, on any engine: SliceMR, SubC and AV.

use std::collections::HashMap;

use super::cgs::{Draws, Outcome};
use super::consolidated::Engine;
use super::drive::{FinishedRun, Launch, drive, other_workers, saved_nodes};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::{CoordinatorOptions, Method, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;

/// What a run of a method in rounds needs beside its rows. By default nothing is kept but the
/// result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundsOptions {
    /// The sampler.
    pub coordinator: CoordinatorOptions,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// Where the nodes run.
    pub engine: Engine,
    /// Labels to begin with, one a row; without them each method has its own way to begin.
    pub start: Option<Vec<u32>>,
    /// Seconds on the engine's clock after which the run ends, at the border of a cycle.
    pub time_limit: Option<f64>,
}

/// Runs a method over shards, which are the workers' rows in order; `kind` is the worker whose
/// first row, among all, is this one.
pub(super) fn run<M: Method>(
    kind: &dyn Fn(usize) -> WorkerKind,
    shards: &[Shard],
    model: &Model,
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let saved = saved_nodes(observer.take_saved())?;
    if let Some(before) = saved.as_ref().map(|saved| saved.workers.len()).filter(|before| *before != shards.len()) {
        return Err(other_workers(before, shards.len(), "this method").into());
    }
    let launch = Launch {
        shards,
        model,
        options: &options.coordinator,
        kind,
        engine: &options.engine,
        start: options.start.as_deref(),
        draws: options.draws,
        time_limit: options.time_limit,
        saved,
        joins_anew: false,
    };
    let FinishedRun { coordinator, outcome, ids, totals, .. } = drive::<M>(launch, truth, observer)?;
    let mut components: HashMap<ComponentId, Stats> = coordinator.components().into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}
