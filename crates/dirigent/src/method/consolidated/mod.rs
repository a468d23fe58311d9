//! Prog, Pooled, Hung and Async, the paper's methods, each a consolidation and a schedule, on any
//! engine; and Dirigent, which also splits and merges.
//!
//! `drive.rs` makes the nodes, runs them on an engine and collects what is only looked at; here is
//! which nodes, and what comes out.

mod checking;
// public for the tests only
#[doc(hidden)]
pub mod conservation;
mod cycle;
mod deal;
mod ledger;
mod ledger_memory;
pub mod message;
mod options;
mod own;
mod shard;
mod shard_memory;
#[cfg(test)]
mod tests;

pub(crate) use self::deal::components_at_border;
use self::deal::deal_anew;
pub use self::ledger::ConsolidatedLedger;
pub use self::options::{Consolidation, FirstAlpha, Joins, Schedule};
pub use self::shard::{ConsolidatedShard, RowLabel};
pub use self::shard_memory::ConsolidatedMemory;

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::checkpoint::NodesState;
use crate::consolidate::ComponentId;
use crate::engine::remote::Remote;
use crate::engine::simulated::{self, Simulation};
use crate::engine::{Driver, RunTotals, threads};
use crate::error::Result;
use crate::family::log_joint;
use crate::method::cgs::{Draws, Outcome};
use crate::method::crew::NodeMaker;
use crate::method::drive::{FinishedRun, Launch, drive, other_workers, saved_nodes};
use crate::model::{Model, ModelOptions};
use crate::observer::Observer;
use crate::protocol::{Coordinator, CoordinatorOptions, Method, Node, Worker, WorkerKind};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::reference_sampler;

/// Prog, Pooled, Hung, Async and Dirigent.
#[derive(Debug, Clone, PartialEq)]
pub struct Consolidated;

/// The node that owns the statistics.
pub type ConsolidatedCoordinator = Coordinator<Consolidated>;
/// The worker of a shard.
pub type ConsolidatedWorker = Worker<Consolidated>;

impl Method for Consolidated {
    type Push = message::Push;
    type Reply = message::Reply;
    type Shared = message::Snapshot;
    type ShardOptions = ();
    type Shard = ConsolidatedShard;
    type Ledger = ConsolidatedLedger;

    const CAN_BE_DEALT: bool = true;

    fn is_joining(push: &message::Push) -> bool {
        push.joining.is_some()
    }
}

/// Where the nodes run.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// On this many threads of this machine.
    Threads(usize),
    /// On a virtual cluster.
    Simulated(Box<Simulation>),
    /// On other machines, or in other processes.
    Remote(Remote),
}

impl Default for Engine {
    /// One thread of this machine.
    fn default() -> Self {
        Self::Threads(1)
    }
}

impl Engine {
    /// Runs a coordinator and its workers.
    pub(super) fn run<C: Node>(
        &self,
        coordinator: &mut C,
        nodes: &mut NodeMaker<'_, C>,
        driver: &mut dyn Driver,
    ) -> Result<RunTotals> {
        let workers = 0..nodes.n_workers;
        let here = |workers: Range<u32>| workers.map(|id| nodes.crew.worker(id, None)).collect::<Result<Vec<_>>>();
        match self {
            Self::Threads(n_threads) => threads::run(coordinator, here(workers)?, *n_threads, driver),
            Self::Simulated(simulation) => {
                let workers = here(workers)?;
                simulated::run(coordinator, workers, simulation, nodes, driver)
            }
            Self::Remote(remote) => remote.run(coordinator, workers.map(|id| nodes.crew.spec(id)).collect(), driver),
        }
    }
}

/// What draws are states of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DrawsFrom {
    /// The method itself: fast, but an approximation where workers know of one another only once a
    /// cycle.
    Fast,
    /// The slice sampler, which takes over where the method has ended: exact.
    #[default]
    Exact,
}

/// What a distributed run needs beside its rows. By default nothing is kept but the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DistributedOptions {
    /// The method.
    pub coordinator: CoordinatorOptions,
    /// What the model was resolved from: the fine start tries other widths.
    pub model: ModelOptions,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// Where the nodes run.
    pub engine: Engine,
    /// Labels to begin with, one a row.
    pub start: Option<Vec<u32>>,
    /// Whether a run without such labels begins with small cells that are merged, instead of rows
    /// that are seated one after another. `None`: if the method splits and merges.
    /// [`crate::method::run`] makes the start.
    pub has_fine_start: Option<bool>,
    /// The components of cells, where they have been found already.
    pub components: Option<crate::method::start::Start>,
    /// What draws are states of.
    pub draws_from: DrawsFrom,
    /// Seconds on the engine's clock after which the run ends, at the border of a cycle.
    pub time_limit: Option<f64>,
    /// Splits and merges that the exact finish tries in a cycle; `None`: as many as usual.
    pub moves_per_cycle: Option<u8>,
}

/// Runs a method over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &DistributedOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let has_start = options.start.is_some();
    let coordinator = CoordinatorOptions { has_start, ..options.coordinator.clone() };
    let saved = saved_nodes(observer.take_saved())?;
    let has_other_workers = saved.as_ref().is_some_and(|saved| saved.workers.len() != shards.len());
    let launch = Launch {
        shards,
        model,
        options: &coordinator,
        kind: &|_| WorkerKind::Consolidated,
        engine: &options.engine,
        start: options.start.as_deref(),
        draws: options.draws,
        time_limit: options.time_limit,
        saved: saved.map(|saved| dealt_to(shards, saved, &options.draws)).transpose()?,
        joins_anew: coordinator.schedule == Schedule::Async || has_other_workers,
    };
    let driven = drive::<Consolidated>(launch, truth, observer)?;
    let FinishedRun { coordinator, mut outcome, ids, totals, n_rows_in_last_cycle } = driven;
    outcome.components = final_components(&coordinator, shards, &outcome.state, &ids);
    if n_rows_in_last_cycle < outcome.state.len() as u64 {
        outcome.log_joint = log_joint_of_all_rows(&coordinator, shards, &outcome);
    }
    Ok((outcome, totals))
}

/// If a worker was away when the last cycle was reported, the log-joint of that cycle lacks its
/// rows; the state has them.
fn log_joint_of_all_rows(coordinator: &ConsolidatedCoordinator, shards: &[Shard], outcome: &Outcome) -> f64 {
    let model = &coordinator.plan().expect("a run that has ended had a plan").model;
    let sum_log_base = shards.iter().map(|shard| reference_sampler(model, shard.clone()).sum_log_base()).sum();
    log_joint(model.conjugate(), outcome.components.iter(), outcome.alpha, sum_log_base)
}

/// The statistics of the final components, in the order of their numbers: those of the last
/// snapshot, from which labels were read. Where that does not hold exactly the rows of the state (a
/// worker came or went after it), those of the state itself.
fn final_components(
    coordinator: &ConsolidatedCoordinator,
    shards: &[Shard],
    state: &[u32],
    ids: &[ComponentId],
) -> Vec<Stats> {
    let told: HashMap<ComponentId, Stats> = coordinator.components().into_iter().collect();
    let mut sizes = vec![0; ids.len()];
    state.iter().for_each(|&label| sizes[label as usize] += 1);
    let in_snapshot = |(id, size): (&ComponentId, &i64)| told.get(id).filter(|stats| stats.count == *size).cloned();
    let components: Option<Vec<Stats>> = ids.iter().zip(&sizes).map(in_snapshot).collect();
    if let Some(components) = components {
        return components;
    }
    let plan = coordinator.plan().expect("a run that has ended had a plan");
    let mut components = vec![plan.model.conjugate().empty_stats(); ids.len()];
    let mut first_row = 0;
    for shard in shards {
        let mut sampler = reference_sampler(&plan.model, shard.clone());
        sampler.load(&components);
        sampler.set_labels(state[first_row..first_row + shard.n_rows()].to_vec());
        components.iter_mut().zip(sampler.contributions()).for_each(|(total, part)| total.add(&part));
        first_row += shard.n_rows();
    }
    components
}

/// The same state for the workers of these shards. It need not have been theirs, unless states were
/// kept: those are of the last cycles of one run.
fn dealt_to(shards: &[Shard], saved: NodesState, draws: &Option<Draws>) -> Result<NodesState> {
    if saved.workers.len() == shards.len() {
        return Ok(saved);
    }
    if draws.is_some() {
        return Err(other_workers(saved.workers.len(), shards.len(), "a run with `draws`").into());
    }
    let workers = deal_anew(&saved.coordinator, &saved.workers, shards)?;
    Ok(NodesState { workers, ..saved })
}
