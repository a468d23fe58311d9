//! Prog, Pooled, Hung and Async, the paper's methods, each a consolidation and a schedule, on any engine; and Dirigent, which also splits and merges.
//!
//! The driver here makes the nodes, runs them on an engine and collects what is only looked at: labels for VI, draws and the result.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use serde::Serialize;

use crate::checkpoint::{NodesState, Saved, Stage};
use crate::consolidate::{ComponentId, ShardId};
use crate::engine::simulated::{self, Respawn, Simulation};
use crate::engine::{Driver, RunTotals, threads};
use crate::error::{Error, InputError, Result};
use crate::family::log_joint;
use crate::interrupt::Interrupt;
use crate::message::Plan;
use crate::message::codec::{Message, decode};
use crate::method::cgs::{Draws, Observer, Outcome};
use crate::metrics;
use crate::node::{Coordinator, CoordinatorOptions, Frame, Node, Schedule, Worker};
use crate::posterior::horizon::{Cycles, Ending, StoppedBecause};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::survey::Survey;
use crate::sweep::{Kernel, reference_sampler};
use crate::trace::CycleInfo;

/// Where the nodes run.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// On so many threads of this machine.
    Threads(usize),
    /// On a virtual cluster.
    Simulated(Box<Simulation>),
}

impl Engine {
    /// Runs a coordinator and as many workers, which `nodes` makes.
    pub(super) fn run<C: Node, W: Node + 'static>(
        &self,
        coordinator: &mut C,
        n_workers: u32,
        nodes: &mut dyn Respawn<C, W>,
        driver: &mut dyn Driver,
    ) -> Result<RunTotals> {
        let workers: Vec<W> = (0..n_workers).map(|shard_id| nodes.worker(shard_id, None)).collect::<Result<_>>()?;
        match self {
            Self::Threads(n_threads) => {
                let workers = workers.into_iter().map(|worker| Box::new(worker) as Box<dyn Node>).collect();
                threads::run(coordinator, workers, *n_threads, driver)
            }
            Self::Simulated(simulation) => simulated::run(coordinator, workers, simulation, nodes, driver),
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
    let saved = saved_nodes(observer.take_saved(), shards.len())?;
    let watching = Watching {
        chain: options.coordinator.chain,
        draws: options.draws,
        time_limit: options.time_limit,
        shows_labels: coordinator_options.shows_labels,
    };
    let mut collector = Collector::new(shards, watching, truth, observer);
    let mut nodes = Nodes {
        shards,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: options.start.as_deref(),
        first_rows: collector.first_rows.clone(),
        options: coordinator_options,
        ending: Rc::clone(&collector.ending),
        workers: Vec::new(),
        n_restarts: 0,
        interrupt,
        resumed: None,
    };
    let mut coordinator = match &saved {
        Some(saved) => Coordinator::resume(nodes.options.clone(), &saved.coordinator)?,
        None => Coordinator::new(nodes.options.clone()),
    };
    if let (Some(saved), Some(plan)) = (saved, coordinator.plan()) {
        nodes.resumed = Some(Resumed { plan: plan.clone(), workers: collector.resume(saved) });
    }
    let n_workers = nodes.options.n_workers;
    let totals = options.engine.run(&mut coordinator, n_workers, &mut nodes, &mut collector)?;
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

/// Makes nodes, and makes them again.
struct Nodes<'a> {
    shards: &'a [Shard],
    kernel: Kernel,
    start: Option<&'a [u32]>,
    first_rows: Vec<usize>,
    options: CoordinatorOptions,
    /// As the collector knows it.
    ending: Rc<Cell<Option<Ending>>>,
    /// The workers that a new coordinator will find.
    workers: Vec<ShardId>,
    n_restarts: u32,
    interrupt: Interrupt,
    /// Where the run goes on from a checkpoint.
    resumed: Option<Resumed>,
}

/// What workers go on from.
pub(super) struct Resumed {
    pub(super) plan: Plan,
    pub(super) workers: Vec<Vec<u8>>,
}

impl Resumed {
    pub(super) fn worker(&self, shard: ShardId) -> &[u8] {
        &self.workers[shard as usize]
    }
}

impl Respawn<Coordinator, Worker> for Nodes<'_> {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<Worker> {
        let shard = self.shards[shard_id as usize].clone();
        let worker = match (checkpoint, &self.resumed, self.start) {
            (Some(checkpoint), _, _) => Worker::restore(shard_id, shard, self.kernel, &checkpoint)?,
            (None, Some(resumed), _) => match self.options.schedule {
                Schedule::Sync => {
                    let plan = resumed.plan.clone();
                    Worker::resume(shard_id, shard, self.kernel, plan, resumed.worker(shard_id))?
                }
                Schedule::Async => Worker::restore(shard_id, shard, self.kernel, resumed.worker(shard_id))?,
            },
            (None, None, None) => Worker::new(shard_id, shard, self.kernel),
            (None, None, Some(start)) => {
                let first_row = self.first_rows[shard_id as usize];
                let labels = &start[first_row..first_row + shard.n_rows()];
                Worker::start_from(shard_id, shard, self.kernel, labels)
            }
        };
        Ok(worker.interrupted_by(self.interrupt.clone()))
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<Coordinator> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let plan = self.options.plan(&Survey::of_all(first), self.kernel)?;
        // an end that was foreseen stays; otherwise the successor waits for a stationary chain from scratch
        let cycles = self.ending.get().map_or(self.options.cycles, |ending| Cycles::Fixed(ending.last_cycle));
        let options = CoordinatorOptions { cycles, ..self.options.clone() };
        Ok(Coordinator::rebuild(options, plan, &self.workers, self.n_restarts))
    }
}

/// What a collector is to look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watching {
    pub(super) chain: u16,
    pub(super) draws: Option<Draws>,
    pub(super) time_limit: Option<f64>,
    /// Whether workers show their labels after every cycle.
    pub(super) shows_labels: bool,
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
    shows_labels: bool,
    /// The cycle that was reported last: its labels are still to come.
    pending: Option<CycleInfo>,
    /// Whether it was passed on all the same, because no labels will come.
    is_passed_on: bool,
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
            shows_labels: watching.shows_labels,
            pending: None,
            is_passed_on: false,
            last: None,
            interrupt,
            totals_before: None,
            goes_on: false,
        }
    }

    /// Goes on from a border; the workers' states are left over.
    pub(super) fn resume(&mut self, saved: NodesState) -> Vec<Vec<u8>> {
        // a checkpoint is taken after what could be passed on was
        (self.pending, self.is_passed_on) = (saved.pending, !self.shows_labels);
        (self.totals_before, self.goes_on) = (Some(saved.totals), true);
        saved.workers
    }

    /// Passes on the cycle whose labels have come by now, unless it was.
    fn close_pending(&mut self) -> Result<()> {
        let Some(info) = self.pending.take() else { return Ok(()) };
        let info = if std::mem::take(&mut self.is_passed_on) { info } else { self.pass_on(info)? };
        self.last = Some(info);
        Ok(())
    }

    fn pass_on(&mut self, mut info: CycleInfo) -> Result<CycleInfo> {
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
        Ok(info)
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
        self.close_pending()?;
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
        self.close_pending()?;
        self.ending.set(self.ending.get().or(info.ending));
        let mut info = CycleInfo { chain: self.chain + 1, ending: self.ending.get(), ..info };
        if !self.shows_labels {
            info = self.pass_on(info)?;
            self.is_passed_on = true;
        }
        self.pending = Some(info);
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

    fn totals_before(&mut self) -> Option<RunTotals> {
        self.totals_before.take()
    }

    fn on_frame(&mut self, from: ShardId, frame: Frame) -> Result<()> {
        match decode(&frame, None)? {
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
pub(super) fn saved_nodes(saved: Option<Saved>, n_workers: usize) -> Result<Option<NodesState>> {
    match saved.map(|saved| saved.stage) {
        None | Some(Stage::Start) => Ok(None),
        Some(Stage::Nodes(nodes)) if nodes.workers.len() == n_workers => Ok(Some(nodes)),
        Some(_) => Err(InputError::new("the checkpoint is of another method or of other workers").into()),
    }
}

/// Components numbered by falling size, ties by id.
pub(super) fn numbered_by_size(state: &[Option<ComponentId>]) -> Vec<u32> {
    let mut sizes = HashMap::new();
    for id in state {
        *sizes.entry(*id).or_insert(0u64) += 1;
    }
    let mut ids: Vec<_> = sizes.iter().map(|(id, size)| (std::cmp::Reverse(*size), *id)).collect();
    ids.sort_unstable();
    let numbers: HashMap<_, _> = ids.iter().enumerate().map(|(number, (_, id))| (*id, number as u32)).collect();
    state.iter().map(|id| numbers[id]).collect()
}
