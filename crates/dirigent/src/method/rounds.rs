//! Methods in rounds: all workers in step, on any engine. SliceMR, SubC and AV.

use std::collections::HashMap;
use std::marker::PhantomData;

use super::cgs::{Draws, Outcome};
use super::collector::Watching;
use super::consolidated::Engine;
use super::crew::Succession;
use super::drive::{Driven, Launch, Pair, drive, other_workers, saved_nodes};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::message::Plan;
use crate::protocol::{Coordinator, RoundMethod, RoundsCoordinatorOptions, WorkerKind, rows_lost};
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

/// The nodes of a method in rounds.
struct RoundNodes<'a, M> {
    options: RoundsCoordinatorOptions,
    model: &'a Model,
    /// The worker whose first row, among all, is this one.
    kind: &'a dyn Fn(usize) -> WorkerKind,
    method: PhantomData<M>,
}

impl<M: RoundMethod> Pair for RoundNodes<'_, M> {
    type Coordinator = Coordinator<M>;

    fn coordinator(&self) -> Coordinator<M> {
        Coordinator::new(self.options.clone(), self.model.clone())
    }

    fn resume(&self, checkpoint: &[u8]) -> Result<(Coordinator<M>, Plan)> {
        let coordinator = Coordinator::resume(self.options.clone(), checkpoint)?;
        let plan = coordinator.plan().cloned().expect("a checkpoint has a plan");
        Ok((coordinator, plan))
    }

    fn rebuild(&self, succession: &Succession<'_>) -> Result<Coordinator<M>> {
        if !M::ROWS_STAY {
            return Err(rows_lost("the coordinator"));
        }
        let plan = self.options.plan(self.model, succession.n_rows, succession.kernel);
        let cycles = succession.cycles(self.options.cycles);
        let options = RoundsCoordinatorOptions { cycles, ..self.options.clone() };
        Ok(Coordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    }

    fn worker(&self, first_row: usize) -> WorkerKind {
        (self.kind)(first_row)
    }
}

/// Runs a method over shards, which are the workers' rows in order; `kind` is the worker whose first row, among all, is this one.
pub(super) fn run<M: RoundMethod>(
    kind: impl Fn(usize) -> WorkerKind,
    shards: &[Shard],
    model: &Model,
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
    let nodes: RoundNodes<'_, M> = RoundNodes { options: coordinator, model, kind: &kind, method: PhantomData };
    let Driven { coordinator, outcome, ids, totals, .. } = drive(&nodes, launch, truth, observer)?;
    let mut components: HashMap<ComponentId, Stats> = coordinator.components().into_iter().collect();
    let components = ids.iter().filter_map(|id| components.remove(id)).collect();
    Ok((Outcome { components, ..outcome }, totals))
}
