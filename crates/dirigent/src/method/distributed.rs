//! Prog, Pooled, Hung and Async, the paper's methods, each a consolidation and a schedule, on any engine; and Dirigent, which also splits and merges.
//!
//! The driver here makes the nodes, runs them on an engine and collects what is only looked at: labels for VI, draws and the result.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use serde::Serialize;

use crate::checkpoint::{NodesState, Saved, Stage};
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::remote::Remote;
use crate::engine::simulated::{self, Simulation};
use crate::engine::{Driver, RunTotals, threads};
use crate::error::{Error, InputError, Result};
use crate::family::log_joint;
use crate::interrupt::Interrupt;
use crate::message::codec::{Message, decode_between};
use crate::method::cgs::{Draws, Observer, Outcome};
use crate::method::crew::{Crew, Nodes, Resumed, Succession};
use crate::metrics;
use crate::node::{Address, Coordinator, CoordinatorOptions, Frame, Node, Schedule, WorkerKind, deal_anew};
use crate::posterior::horizon::{Ending, StoppedBecause};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::reference_sampler;
use crate::trace::CycleInfo;

/// Where the nodes run.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// On so many threads of this machine.
    Threads(usize),
    /// On a virtual cluster.
    Simulated(Box<Simulation>),
    /// On other machines, or in other processes.
    Remote(Remote),
}

impl Engine {
    /// Runs a coordinator and its workers.
    pub(super) fn run<C: Node>(
        &self,
        coordinator: &mut C,
        nodes: &mut Nodes<'_, C>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawsFrom {
    /// The method itself: fast, but an approximation where workers know of one another only once a cycle.
    Fast,
    /// The slice sampler, which takes over where the method has ended: exact.
    Exact,
}

/// What a distributed run needs beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct DistributedOptions {
    /// The method.
    pub coordinator: CoordinatorOptions,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// Where the nodes run.
    pub engine: Engine,
    /// Labels to begin with, one a row.
    pub start: Option<Vec<u32>>,
    /// What draws are states of.
    pub draws_from: DrawsFrom,
    /// Seconds on the engine's clock after which the run ends, at the border of a cycle.
    pub time_limit: Option<f64>,
}

/// Runs a method over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    options: &DistributedOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let coordinator_options = CoordinatorOptions {
        shows_labels: truth.is_some() || options.draws.is_some() || observer.watches_states(),
        has_start: options.start.is_some(),
        n_kept: options.draws.map_or(0, Draws::n_cycles),
        ..options.coordinator.clone()
    };
    let interrupt = observer.interrupt();
    let saved = saved_nodes(observer.take_saved())?;
    let has_other_workers = saved.as_ref().is_some_and(|saved| saved.workers.len() != shards.len());
    let saved = saved.map(|saved| dealt_to(shards, saved, &options.draws)).transpose()?;
    let watching = Watching { chain: options.coordinator.chain, draws: options.draws, time_limit: options.time_limit };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let crew = Crew {
        shards,
        first_rows: collector.first_rows.clone(),
        kind: &|_| WorkerKind::Consolidated,
        kernel: coordinator_options.kernel,
        start: options.start.as_deref(),
        resumed: None,
        joins_anew: coordinator_options.schedule == Schedule::Async || has_other_workers,
        interrupt,
    };
    let successor = |succession: Succession<'_>| {
        let plan = coordinator_options.plan(&succession.survey, succession.kernel)?;
        let cycles = succession.cycles(coordinator_options.cycles);
        let options = CoordinatorOptions { cycles, ..coordinator_options.clone() };
        Ok(Coordinator::rebuild(options, plan, succession.workers, succession.n_restarts))
    };
    let mut nodes = Nodes::new(crew, coordinator_options.n_workers, &collector.ending, &successor);
    let mut coordinator = match &saved {
        Some(saved) => Coordinator::resume(coordinator_options.clone(), &saved.coordinator)?,
        None => Coordinator::new(coordinator_options.clone()),
    };
    if let (Some(saved), Some(plan)) = (saved, coordinator.plan()) {
        nodes.crew.resumed = Some(Resumed { plan: plan.clone(), workers: collector.resume(saved) });
    }
    let totals = options.engine.run(&mut coordinator, &mut nodes, &mut collector)?;
    let n_rows = collector.n_rows_in_last_cycle();
    let (mut outcome, ids) = collector.finish()?;
    outcome.components = final_components(&coordinator, shards, &outcome.state, &ids);
    if n_rows < outcome.state.len() as u64 {
        outcome.log_joint = log_joint_of_all_rows(&coordinator, shards, &outcome);
    }
    Ok((outcome, totals))
}

/// Where the last cycle was one of a sample, its log-joint is not that of the state, which all rows are in.
fn log_joint_of_all_rows(coordinator: &Coordinator, shards: &[Shard], outcome: &Outcome) -> f64 {
    let model = &coordinator.plan().expect("a run that has ended had a plan").model;
    let sum_log_base = shards.iter().map(|shard| reference_sampler(model, shard.clone()).sum_log_base()).sum();
    log_joint(model.conjugate(), outcome.components.iter(), outcome.alpha, sum_log_base)
}

/// The statistics of the final components, in the order of their numbers: those of the last snapshot, from which labels were read. Where that does not hold
/// exactly the rows of the state (a worker came or went after it), those of the state itself.
fn final_components(coordinator: &Coordinator, shards: &[Shard], state: &[u32], ids: &[ComponentId]) -> Vec<Stats> {
    let told: HashMap<ComponentId, &Stats> = coordinator.told().collect();
    let mut sizes = vec![0; ids.len()];
    state.iter().for_each(|&label| sizes[label as usize] += 1);
    let in_snapshot = |(id, size): (&ComponentId, &i64)| told.get(id).copied().filter(|stats| stats.count == *size);
    let components: Option<Vec<&Stats>> = ids.iter().zip(&sizes).map(in_snapshot).collect();
    if let Some(components) = components {
        return components.into_iter().cloned().collect();
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

/// What a collector is to look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watching {
    pub(super) chain: u16,
    pub(super) draws: Option<Draws>,
    pub(super) time_limit: Option<f64>,
}

/// Collects what is only looked at.
pub(super) struct Collector<'a> {
    /// The first row of each shard.
    pub(super) first_rows: Vec<usize>,
    chain: u16,
    draws: Option<Draws>,
    time_limit: Option<f64>,
    /// As it was first foreseen, whichever coordinator did.
    pub(super) ending: Rc<Cell<Option<Ending>>>,
    truth: Option<&'a [u32]>,
    observer: &'a mut dyn Observer,
    /// The component of each row, as last shown.
    state: Vec<Option<ComponentId>>,
    /// The most probable component of each row and its probability, as last shown.
    assigned: Vec<Option<(ComponentId, f32)>>,
    /// A cycle whose labels are still to come.
    pending: Option<CycleInfo>,
    last: Option<CycleInfo>,
    interrupt: Interrupt,
    /// What was counted before, where the run goes on from a checkpoint, until the engine asks.
    totals_before: Option<RunTotals>,
    goes_on: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        shards: &[Shard],
        watching: Watching,
        truth: Option<&'a [u32]>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let interrupt = observer.interrupt();
        let mut n_rows = 0;
        let first_rows = shards
            .iter()
            .map(|shard| {
                let first = n_rows;
                n_rows += shard.n_rows();
                first
            })
            .collect();
        Self {
            first_rows,
            chain: watching.chain,
            draws: watching.draws,
            time_limit: watching.time_limit,
            ending: Rc::default(),
            truth,
            observer,
            state: vec![None; n_rows],
            assigned: vec![None; n_rows],
            pending: None,
            last: None,
            interrupt,
            totals_before: None,
            goes_on: false,
        }
    }

    /// Goes on from a border; the workers' states are left over.
    pub(super) fn resume(&mut self, saved: NodesState) -> Vec<Vec<u8>> {
        self.pending = saved.pending;
        (self.totals_before, self.goes_on) = (Some(saved.totals), true);
        saved.workers
    }

    /// Passes on the cycle whose labels have come by now.
    fn pass_on(&mut self) -> Result<()> {
        let Some(mut info) = self.pending.take() else { return Ok(()) };
        // rows of workers that are away, or have not yet swept, count as one group of their own
        let is_kept = self.draws.is_some_and(|draws| draws.keeps(info.cycle, info.ending));
        if self.truth.is_some() || is_kept {
            let state = numbered_by_size(&self.state);
            info.vi = self.truth.map(|truth| metrics::compare(&state, truth).vi);
            if is_kept {
                self.observer.on_draw(&state)?;
            }
        }
        self.observer.on_cycle(&info)?;
        let state = &self.state;
        self.observer.on_state(&info, &|| numbered_by_size(state));
        self.last = Some(info);
        Ok(())
    }

    /// Takes in the labels of these rows.
    fn take_in(&mut self, rows: impl IntoIterator<Item = usize> + Clone, shown: &crate::message::ShownLabels) {
        let id_of = |label: &u32| shown.components.get(*label as usize).copied();
        for (row_ix, label) in rows.clone().into_iter().zip(&shown.labels) {
            self.state[row_ix] = id_of(label);
        }
        let Some((labels, certainty)) = &shown.assignments else { return };
        for ((row_ix, label), certainty) in rows.into_iter().zip(labels).zip(certainty) {
            self.assigned[row_ix] = id_of(label).map(|id| (id, *certainty));
        }
    }

    /// Rows that took part in the last cycle.
    fn n_rows_in_last_cycle(&self) -> u64 {
        self.pending.as_ref().or(self.last.as_ref()).map_or(0, |info| info.n_rows)
    }

    /// What came out but for the components' statistics, and the ids of the components in the order of their numbers.
    pub(super) fn finish(mut self) -> Result<(Outcome, Vec<ComponentId>)> {
        self.pass_on()?;
        let missing = self.assigned.iter().filter(|assigned| assigned.is_none()).count();
        if missing > 0 {
            let problem = format!("{missing} rows have no label: their workers were lost and did not return");
            return Err(Error::Io { doing: "the run".to_owned(), source: std::io::Error::other(problem) });
        }
        let last = self.last.unwrap_or_default();
        // a row whose worker joined at the very end has not been swept: its state is its most probable component
        let assigned: Vec<(ComponentId, f32)> = self.assigned.into_iter().flatten().collect();
        let swept = self.state.iter().zip(&assigned).map(|(state, (id, _))| Some(state.unwrap_or(*id)));
        let state_ids: Vec<Option<ComponentId>> = swept.collect();
        let state = numbered_by_size(&state_ids);
        let numbers: HashMap<Option<ComponentId>, u32> = state_ids.into_iter().zip(state.iter().copied()).collect();
        let k = numbers.len();
        // every component of the last snapshot has rows, so it has a number
        let label = |(id, _): &(ComponentId, f32)| numbers.get(&Some(*id)).copied().expect("a component with rows");
        let mut ids: Vec<(u32, ComponentId)> =
            numbers.iter().filter_map(|(id, number)| Some((*number, (*id)?))).collect();
        ids.sort_unstable();
        let outcome = Outcome {
            labels: assigned.iter().map(label).collect(),
            certainty: assigned.iter().map(|(_, certainty)| *certainty).collect(),
            state,
            k,
            components: Vec::new(),
            log_joint: last.log_joint,
            alpha: last.alpha,
            cycles: last.cycle,
            stopped_because: match last.ending {
                Some(ending) if ending.last_cycle <= last.cycle => ending.because,
                _ => StoppedBecause::TimeLimit,
            },
        };
        Ok((outcome, ids.into_iter().map(|(_, id)| id).collect()))
    }
}

impl Driver for Collector<'_> {
    fn on_report(&mut self, info: CycleInfo) -> Result<()> {
        self.pass_on()?;
        self.ending.set(self.ending.get().or(info.ending));
        self.pending = Some(CycleInfo { chain: self.chain + 1, ending: self.ending.get(), ..info });
        Ok(())
    }

    fn wants_stop(&mut self, seconds: f64) -> bool {
        self.time_limit.is_some_and(|limit| seconds >= limit)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.observer.wants_checkpoint()
    }

    fn on_checkpoint(&mut self, nodes: Option<NodesState>) -> Result<()> {
        let stage = match nodes {
            Some(nodes) => Stage::Nodes(NodesState { pending: self.pending.clone(), ..nodes }),
            // what it went on from is where it still is
            None if self.goes_on => return Ok(()),
            None => Stage::Start,
        };
        self.observer.on_checkpoint(stage.into())
    }

    fn on_notice(&mut self, text: &str) {
        self.observer.on_notice(text);
    }

    fn totals_before(&mut self) -> Option<RunTotals> {
        self.totals_before.take()
    }

    fn on_frame(&mut self, from: ShardId, frame: Frame) -> Result<()> {
        match decode_between(&frame, Address::Worker(from), Address::Driver, None)? {
            (_, Message::ShownLabels(shown)) => self.take_in(self.first_rows[from as usize].., &shown),
            (_, Message::ShownRows(shown)) => {
                self.take_in(shown.rows.iter().map(|row_ix| *row_ix as usize), &shown.labels);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The state of nodes that go on.
pub(super) fn saved_nodes(saved: Option<Saved>) -> Result<Option<NodesState>> {
    match saved.map(|saved| saved.stage) {
        None | Some(Stage::Start) => Ok(None),
        Some(Stage::Nodes(nodes)) => Ok(Some(nodes)),
        Some(Stage::Chain(_)) => Err(InputError::new("the checkpoint is of another method").into()),
    }
}

/// The same state for the workers of these shards. It need not have been theirs, unless states were kept: those are of the last cycles of one run.
fn dealt_to(shards: &[Shard], saved: NodesState, draws: &Option<Draws>) -> Result<NodesState> {
    if saved.workers.len() == shards.len() {
        return Ok(saved);
    }
    if draws.is_some() {
        return Err(other_workers(saved.workers.len(), shards.len(), "a run with --draws").into());
    }
    let workers = deal_anew(&saved.coordinator, &saved.workers, shards)?;
    Ok(NodesState { workers, ..saved })
}

/// Of a run that cannot go on with another number of workers.
pub(super) fn other_workers(before: usize, now: usize, what: &str) -> InputError {
    InputError::new(format!("{what} goes on with the workers it had: {now} are not {before}"))
        .hint(format!("resume it with {before} workers"))
}

/// Components numbered by falling size, ties by id.
fn numbered_by_size(state: &[Option<ComponentId>]) -> Vec<u32> {
    let mut sizes = HashMap::new();
    for id in state {
        *sizes.entry(*id).or_insert(0u64) += 1;
    }
    let mut ids: Vec<_> = sizes.iter().map(|(id, size)| (std::cmp::Reverse(*size), *id)).collect();
    ids.sort_unstable();
    let numbers: HashMap<_, _> = ids.iter().enumerate().map(|(number, (_, id))| (*id, number as u32)).collect();
    state.iter().map(|id| numbers[id]).collect()
}
