//! Runs a method: makes its nodes, runs them on an engine and collects what is only looked at. All
//! methods but collapsed Gibbs.

use super::cgs::{Draws, Outcome};
use super::collector::{Collector, Watching};
use super::consolidated::Engine;
use super::crew::{Crew, NodeMaker, ResumePoint, StartLabels, Succession};
use crate::checkpoint::{NodesState, RunState, Stage};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::{InputError, Result};
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::{Coordinator, CoordinatorOptions, Method, WorkerKind, rows_lost};
use crate::rows::Shard;

/// A run that is to begin, or to resume.
pub(super) struct Launch<'a> {
    /// The workers' rows in order.
    pub(super) shards: &'a [Shard],
    pub(super) model: &'a Model,
    pub(super) options: &'a CoordinatorOptions,
    /// The worker whose first row, among all, is this one.
    pub(super) kind: &'a dyn Fn(usize) -> WorkerKind,
    pub(super) engine: &'a Engine,
    /// Labels to begin with, one a row.
    pub(super) start: Option<&'a [u32]>,
    /// States to keep, if any.
    pub(super) draws: Option<Draws>,
    pub(super) time_limit: Option<f64>,
    /// What to resume from.
    pub(super) saved: Option<NodesState>,
    /// Whether workers that resume join again: where there is no border that all share.
    pub(super) joins_anew: bool,
}

/// A run that has ended.
pub(super) struct FinishedRun<M: Method> {
    pub(super) coordinator: Coordinator<M>,
    /// But for the components' statistics.
    pub(super) outcome: Outcome,
    /// The components, in the order of their numbers.
    pub(super) ids: Vec<ComponentId>,
    pub(super) totals: RunTotals,
    pub(super) n_rows_in_last_cycle: u64,
}

/// Runs the nodes of a method until they are done.
pub(super) fn drive<M: Method>(
    launch: Launch<'_>,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<FinishedRun<M>> {
    let interrupt = observer.interrupt();
    let options = CoordinatorOptions {
        shows_labels: truth.is_some() || launch.draws.is_some() || observer.watches_states(),
        n_kept: launch.draws.map_or(0, Draws::n_cycles),
        ..launch.options.clone()
    };
    let watching = Watching {
        chain: options.chain,
        draws: launch.draws,
        time_limit: launch.time_limit,
        shows_labels: options.shows_labels,
    };
    let mut collector = Collector::new(launch.shards, watching, truth, observer);
    let first_rows = collector.first_rows.clone();
    let kind = |id| (launch.kind)(first_rows[id as usize]);
    let (mut coordinator, resumed) = match launch.saved {
        Some(saved) => {
            let coordinator = Coordinator::<M>::resume(options.clone(), &saved.coordinator)?;
            let plan = coordinator.plan().cloned().expect("a checkpoint has a plan");
            (coordinator, Some(ResumePoint { plan, workers: collector.resume(saved) }))
        }
        None => (Coordinator::new(options.clone(), launch.model.clone()), None),
    };
    let crew = Crew {
        shards: launch.shards,
        first_rows: &first_rows,
        kind: &kind,
        kernel: options.kernel,
        start: launch.start.map(StartLabels::of),
        resumed,
        joins_anew: launch.joins_anew,
        interrupt,
        own_family: launch.model.own_family(),
    };
    let successor = |succession: &Succession<'_>| {
        if !M::ROWS_STAY {
            return Err(rows_lost("the coordinator"));
        }
        let plan = options.plan(launch.model, succession.n_rows, succession.kernel);
        let options = CoordinatorOptions { cycles: succession.cycles(options.cycles), ..options.clone() };
        Ok(Coordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    };
    let mut nodes = NodeMaker::new(crew, options.n_workers, &collector.ending, &successor);
    let totals = launch.engine.run(&mut coordinator, &mut nodes, &mut collector)?;
    let n_rows_in_last_cycle = collector.n_rows_in_last_cycle();
    let (outcome, ids) = collector.finish()?;
    Ok(FinishedRun { coordinator, outcome, ids, totals, n_rows_in_last_cycle })
}

/// The state of nodes that resume.
pub(super) fn saved_nodes(saved: Option<RunState>) -> Result<Option<NodesState>> {
    match saved.map(|saved| saved.stage) {
        None | Some(Stage::Start) => Ok(None),
        Some(Stage::Nodes(nodes)) => Ok(Some(nodes)),
        Some(Stage::Chain(_)) => Err(InputError::new("the checkpoint is of another method").into()),
    }
}

/// Of a run that cannot resume with another number of workers.
pub(super) fn other_workers(before: usize, now: usize, what: &str) -> InputError {
    InputError::new(format!("{what} goes on with the workers it had: {now} are not {before}"))
        .hint(format!("resume it with {before} workers"))
}
