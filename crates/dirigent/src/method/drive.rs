//! Drives a [`Pair`] of nodes: makes them, runs them on an engine and collects what is only looked at. All methods but collapsed Gibbs.

use super::cgs::Outcome;
use super::collector::{Collector, Watching};
use super::consolidated::Engine;
use super::crew::{Crew, Nodes, Resumed, Start, Succession};
use crate::checkpoint::{NodesState, Saved, Stage};
use crate::consolidate::ComponentId;
use crate::engine::RunTotals;
use crate::error::{InputError, Result};
use crate::observer::Observer;
use crate::protocol::message::Plan;
use crate::protocol::{Node, WorkerKind};
use crate::rows::Shard;
use crate::sweep::Kernel;

/// How the two nodes of a method are made.
pub(super) trait Pair {
    type Coordinator: Node;

    fn coordinator(&self) -> Self::Coordinator;

    /// A coordinator that goes on from a checkpoint, and the plan it goes on with.
    fn resume(&self, checkpoint: &[u8]) -> Result<(Self::Coordinator, Plan)>;

    /// A coordinator in place of one that was lost.
    fn rebuild(&self, succession: &Succession<'_>) -> Result<Self::Coordinator>;

    /// The worker whose first row, among all, is this one.
    fn worker(&self, first_row: usize) -> WorkerKind;
}

/// A run that is to begin, or to go on.
pub(super) struct Launch<'a> {
    /// The workers' rows in order.
    pub(super) shards: &'a [Shard],
    /// Workers that take part from the beginning.
    pub(super) n_workers: u32,
    pub(super) kernel: Option<Kernel>,
    pub(super) engine: &'a Engine,
    /// Labels to begin with, one a row.
    pub(super) start: Option<&'a [u32]>,
    /// What to go on from.
    pub(super) saved: Option<NodesState>,
    /// Whether workers that go on join anew: where there is no border that all share.
    pub(super) joins_anew: bool,
    pub(super) watching: Watching,
}

/// A run that has ended.
pub(super) struct Driven<C> {
    pub(super) coordinator: C,
    /// But for the components' statistics.
    pub(super) outcome: Outcome,
    /// The components, in the order of their numbers.
    pub(super) ids: Vec<ComponentId>,
    pub(super) totals: RunTotals,
    pub(super) n_rows_in_last_cycle: u64,
}

/// Runs a pair of nodes until they are done.
pub(super) fn drive<P: Pair>(
    pair: &P,
    launch: Launch<'_>,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<Driven<P::Coordinator>> {
    let interrupt = observer.interrupt();
    let mut collector = Collector::new(launch.shards, launch.watching, truth, observer);
    let first_rows = collector.first_rows.clone();
    let kind = |id| pair.worker(first_rows[id as usize]);
    let (mut coordinator, resumed) = match launch.saved {
        Some(saved) => {
            let (coordinator, plan) = pair.resume(&saved.coordinator)?;
            (coordinator, Some(Resumed { plan, workers: collector.resume(saved) }))
        }
        None => (pair.coordinator(), None),
    };
    let crew = Crew {
        shards: launch.shards,
        first_rows: &first_rows,
        kind: &kind,
        kernel: launch.kernel,
        start: launch.start.map(Start::of),
        resumed,
        joins_anew: launch.joins_anew,
        interrupt,
    };
    let successor = |succession: &Succession<'_>| pair.rebuild(succession);
    let mut nodes = Nodes::new(crew, launch.n_workers, &collector.ending, &successor);
    let totals = launch.engine.run(&mut coordinator, &mut nodes, &mut collector)?;
    let n_rows_in_last_cycle = collector.n_rows_in_last_cycle();
    let (outcome, ids) = collector.finish()?;
    Ok(Driven { coordinator, outcome, ids, totals, n_rows_in_last_cycle })
}

/// The state of nodes that go on.
pub(super) fn saved_nodes(saved: Option<Saved>) -> Result<Option<NodesState>> {
    match saved.map(|saved| saved.stage) {
        None | Some(Stage::Start) => Ok(None),
        Some(Stage::Nodes(nodes)) => Ok(Some(nodes)),
        Some(Stage::Chain(_)) => Err(InputError::new("the checkpoint is of another method").into()),
    }
}

/// Of a run that cannot go on with another number of workers.
pub(super) fn other_workers(before: usize, now: usize, what: &str) -> InputError {
    InputError::new(format!("{what} goes on with the workers it had: {now} are not {before}"))
        .hint(format!("resume it with {before} workers"))
}
