//! The coordinator: it owns the pool and decides which pieces belong together. It never sees a row.
//!
//! Two schedules. Synchronous: when every member has pushed, first all contributions are entered, then the births in (worker, birth number)
//! order, then all are answered. Asynchronous: each push is absorbed on arrival and answered at once, and while nothing waits the pool is refined.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Address, CycleReport, Event, Frame, Node, Outbox};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, PieceKey, PieceName, Pool, ShardId, hungarian, pooled, progressive};
use crate::error::Result;
use crate::family::{Conjugate, log_joint};
use crate::message::codec::{Message, decode, encode, encode_reply, encode_snapshot};
use crate::message::{Hello, Plan, Push, Reply, Snapshot, Stamp};
use crate::model::{Alpha, Model, ModelOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// How births find their component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consolidation {
    /// One by one (Algorithm 1).
    Progressive,
    /// One by one, then merge and split moves over the whole pool.
    Pooled,
    /// A worker's births at once, by the best matching.
    Hungarian,
}

/// When pushes are absorbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// When all have come.
    Sync,
    /// As they come.
    Async,
}

/// What a coordinator must know to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinatorOptions {
    /// Workers that take part from the beginning.
    pub n_workers: u32,
    /// What the user said of the model.
    pub model: ModelOptions,
    /// The concentration.
    pub alpha: Alpha,
    /// How births find their component.
    pub consolidation: Consolidation,
    /// When pushes are absorbed.
    pub schedule: Schedule,
    /// Cycles to run.
    pub cycles: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Sweeps between two pushes.
    pub sweeps_per_cycle: u32,
    /// Whether workers show their labels to the driver after every cycle.
    pub shows_labels: bool,
    /// The instructions to sweep with; `None`: the best that all workers have.
    pub kernel: Option<Kernel>,
    /// Whether the workers begin with labels, the same numbers for the same components, and not with rows that are in none.
    pub has_start: bool,
}

impl CoordinatorOptions {
    /// The plan for data of which all workers' surveys together say `survey`, on machines that all have `kernel`.
    pub fn plan(&self, survey: &Survey, kernel: Kernel) -> Result<Plan> {
        Ok(Plan {
            model: Model::resolve(&self.model, survey)?,
            kernel: self.kernel.unwrap_or(kernel),
            seed: self.seed,
            sweeps_per_cycle: self.sweeps_per_cycle,
            shows_labels: self.shows_labels,
            n_rows: survey.n_rows,
        })
    }
}

/// The node that owns the statistics.
pub struct Coordinator {
    options: CoordinatorOptions,
    /// Workers that have said hello, before the plan.
    hellos: BTreeMap<ShardId, Hello>,
    plan: Option<Plan>,
    pool: Pool,
    members: BTreeMap<ShardId, Member>,
    /// Whom a synchronous cycle waits for.
    awaited: BTreeSet<ShardId>,
    /// Pushes that wait for the others.
    waiting: BTreeMap<ShardId, (Stamp, Push)>,
    /// Set until a coordinator that was lost has heard from everyone again.
    is_rebuilding: bool,
    alpha: f64,
    version: u64,
    cycle: u64,
    /// Pushes absorbed so far under an asynchronous schedule.
    n_absorbed: u64,
    n_incarnations: u32,
    /// The last incarnation a lost worker can have had: what it said may still be under way.
    gone: BTreeMap<ShardId, u32>,
    /// What happened since the last report.
    since_report: ConsolidateInfo,
    moved: u64,
    wants_stop: bool,
    may_idle: bool,
    released: BTreeSet<ShardId>,
}

/// A worker that has pushed.
struct Member {
    incarnation: u32,
    sequence: u64,
    sum_log_base: f64,
    /// The answer to its last push, to be sent again if asked again.
    reply: Option<Frame>,
}

impl Coordinator {
    /// A coordinator that waits for its workers' hellos.
    pub fn new(options: CoordinatorOptions) -> Self {
        Self {
            alpha: options.alpha.start(),
            awaited: (0..options.n_workers).collect(),
            hellos: BTreeMap::new(),
            plan: None,
            pool: Pool::new(0),
            members: BTreeMap::new(),
            waiting: BTreeMap::new(),
            // labels to start from are recalled as those of a lost coordinator are
            is_rebuilding: options.has_start,
            version: 0,
            cycle: 0,
            n_absorbed: 0,
            n_incarnations: 0,
            gone: BTreeMap::new(),
            since_report: ConsolidateInfo::default(),
            moved: 0,
            wants_stop: false,
            may_idle: false,
            released: BTreeSet::new(),
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: CoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let awaited = workers.iter().copied().collect();
        let pool = Pool::new(n_restarts);
        // above whatever the one before can have handed out
        let n_incarnations = n_restarts << 24;
        Self { plan: Some(plan), pool, awaited, is_rebuilding: true, n_incarnations, ..Self::new(options) }
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The plan, once there is one.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Which push of each member has been absorbed last, and the answer to it.
    pub fn absorbed(&self) -> impl Iterator<Item = (Stamp, Option<&Frame>)> {
        let stamp = |(shard, member): (&ShardId, &Member)| Stamp {
            shard: *shard,
            incarnation: member.incarnation,
            sequence: member.sequence,
        };
        self.members.iter().map(move |(shard, member)| (stamp((shard, member)), member.reply.as_ref()))
    }

    /// The pool, for tests that merge and split at the worst moment.
    #[cfg(test)]
    pub(super) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn family(&self) -> &dyn Conjugate {
        self.plan.as_ref().expect("there is a plan").model.conjugate()
    }

    fn new_incarnation(&mut self) -> u32 {
        self.n_incarnations += 1;
        self.n_incarnations
    }

    fn on_frame(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let stats_len = self.plan.as_ref().map(|plan| plan.model.conjugate().stats_len());
        let (stamp, message) = decode(frame, stats_len)?;
        match message {
            Message::Hello(hello) => self.on_hello(stamp, hello, out),
            Message::Push(push) => {
                self.on_push(stamp, push, out);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_hello(&mut self, stamp: Stamp, hello: Hello, out: &mut Outbox) -> Result<()> {
        if self.plan.is_some() {
            self.send_plan(stamp.shard, out);
            return Ok(());
        }
        self.hellos.insert(stamp.shard, hello);
        if self.hellos.len() == self.options.n_workers as usize {
            self.plan = Some(self.make_plan()?);
            for shard in std::mem::take(&mut self.hellos).into_keys() {
                self.send_plan(shard, out);
            }
        }
        Ok(())
    }

    fn make_plan(&self) -> Result<Plan> {
        let surveys = self.hellos.values().map(|hello| hello.survey.clone());
        let survey = surveys.reduce(|all, survey| all.merge(&survey)).expect("there is a worker");
        let common = self.hellos.values().map(|hello| hello.kernel).reduce(Kernel::common).expect("there is a worker");
        self.options.plan(&survey, common)
    }

    fn send_plan(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.new_incarnation(), sequence: 0 };
        let plan = self.plan.clone().expect("there is a plan");
        out.send(Address::Worker(shard), encode(stamp, &Message::Plan(plan)));
    }

    /// Next number: absorb. Same number: the same reply again. Anything else is from another life.
    fn on_push(&mut self, stamp: Stamp, push: Push, out: &mut Outbox) {
        if self.waiting.get(&stamp.shard).is_some_and(|(waiting, _)| *waiting == stamp) {
            return;
        }
        let member = self.members.get(&stamp.shard);
        let is_next = match member {
            Some(member) if member.incarnation == stamp.incarnation => {
                if stamp.sequence == member.sequence {
                    if let Some(reply) = &member.reply {
                        out.send(Address::Worker(stamp.shard), reply.clone());
                    }
                    return;
                }
                stamp.sequence == member.sequence + 1
            }
            Some(member) => push.joining.is_some() && stamp.incarnation > member.incarnation,
            None => push.joining.is_some() && self.gone.get(&stamp.shard).is_none_or(|gone| stamp.incarnation > *gone),
        };
        let superseded =
            self.waiting.get(&stamp.shard).is_some_and(|(waiting, _)| waiting.incarnation > stamp.incarnation);
        if superseded || !is_next {
            if member.is_none_or(|member| member.incarnation != stamp.incarnation) {
                self.send_rejoin(stamp.shard, out);
            }
            return;
        }
        self.waiting.insert(stamp.shard, (stamp, push));
        self.may_idle = true;
        if self.options.schedule == Schedule::Sync || self.is_rebuilding {
            self.awaited.insert(stamp.shard);
            self.close_cycle_if_all_have_come(out);
        } else {
            self.absorb_waiting(out);
        }
    }

    fn send_rejoin(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.new_incarnation(), sequence: 0 };
        out.send(Address::Worker(shard), encode(stamp, &Message::Rejoin));
    }

    fn close_cycle_if_all_have_come(&mut self, out: &mut Outbox) {
        let all_here = self.awaited.iter().all(|shard| self.waiting.contains_key(shard));
        if all_here && !self.waiting.is_empty() {
            self.absorb_waiting(out);
        }
    }

    /// Absorbs all pushes that wait and answers them.
    fn absorb_waiting(&mut self, out: &mut Outbox) {
        let pushes = std::mem::take(&mut self.waiting);
        if self.is_rebuilding {
            self.recall(&pushes);
        }
        let swept = pushes.values().filter(|(_, push)| push.joining.is_none()).count() as u64;
        self.n_absorbed += swept;
        self.moved += pushes.values().map(|(_, push)| push.moved).sum::<u64>();
        let stamps: Vec<Stamp> = pushes.values().map(|(stamp, _)| *stamp).collect();
        let births = self.enter(pushes);
        let before = self.cycle;
        let mut rng = self.stream(before + u64::from(swept > 0));
        self.consolidate(births, &mut rng);
        self.cycle = match self.options.schedule {
            Schedule::Sync => self.cycle + u64::from(swept > 0),
            Schedule::Async => self.n_absorbed / self.members.len().max(1) as u64,
        }
        .max(self.cycle);
        if self.cycle > before {
            self.close_cycle(&mut rng, out);
        }
        self.answer(&stamps, out);
    }

    /// The coordinator's stream is named by the cycle that closes, or under an asynchronous schedule by the number of the event.
    fn stream(&self, cycle: u64) -> Stream {
        let event = match self.options.schedule {
            Schedule::Sync => cycle,
            Schedule::Async => self.version,
        };
        Seed::new(self.options.seed).stream(Role::Coordinator, self.pool.epoch(), event)
    }

    /// Enters contributions in worker order; what is new to the pool is returned in the same order.
    fn enter(&mut self, pushes: BTreeMap<ShardId, (Stamp, Push)>) -> Vec<(PieceKey, Stats)> {
        let mut births = Vec::new();
        for (shard, (stamp, push)) in pushes {
            let key = |name| PieceKey { shard, name };
            if let Some(joining) = push.joining {
                self.pool.take_out(shard);
                let member = Member {
                    incarnation: stamp.incarnation,
                    sequence: 0,
                    sum_log_base: joining.sum_log_base,
                    reply: None,
                };
                self.members.insert(shard, member);
            }
            let member = self.members.get_mut(&shard).expect("it has joined");
            member.sequence = stamp.sequence;
            for (id, stats) in push.contributions {
                let key = key(PieceName::Component(id));
                if self.pool.knows(key) {
                    self.pool.contribute(key, stats);
                } else if self.pool.has(id) {
                    self.pool.enter(key, Some(stats), id);
                } else if stats.count > 0 {
                    births.push((key, stats));
                }
            }
            births.extend(push.births.into_iter().map(|(number, stats)| (key(PieceName::Birth(number)), stats)));
        }
        let family = self.plan.as_ref().expect("there is a plan").model.conjugate();
        self.pool.settle(family);
        births
    }

    fn consolidate(&mut self, births: Vec<(PieceKey, Stats)>, rng: &mut Stream) {
        let family = self.plan.as_ref().expect("there is a plan").model.conjugate();
        let (pool, alpha) = (&mut self.pool, self.alpha);
        self.since_report += match self.options.consolidation {
            Consolidation::Progressive => progressive::absorb(pool, births, family, alpha, rng),
            Consolidation::Pooled => pooled::absorb(pool, births, family, alpha, rng),
            Consolidation::Hungarian => hungarian::absorb(pool, births, family, alpha),
        };
    }

    /// Resamples α and reports.
    fn close_cycle(&mut self, rng: &mut Stream, out: &mut Outbox) {
        let k = self.pool.live().count();
        let n_rows = self.pool.live().map(|(_, total)| total.stats.count).sum::<i64>() as u64;
        let sum_log_base = self.members.values().map(|member| member.sum_log_base).sum();
        let log_joint =
            log_joint(self.family(), self.pool.live().map(|(_, total)| &total.stats), self.alpha, sum_log_base);
        let ConsolidateInfo { births, merges, splits } = std::mem::take(&mut self.since_report);
        out.reports.push(CycleReport {
            cycle: self.cycle,
            log_joint,
            k,
            alpha: self.alpha,
            moved: std::mem::take(&mut self.moved),
            births,
            merges,
            splits,
        });
        if self.options.alpha == Alpha::Auto {
            self.alpha = resample_alpha(self.alpha, k as u64, n_rows, rng);
        }
    }

    /// Answers pushes with one snapshot.
    fn answer(&mut self, stamps: &[Stamp], out: &mut Outbox) {
        self.version += 1;
        let components = self.pool.live().map(|(id, total)| (id, total.stats.clone())).collect();
        let snapshot = encode_snapshot(&Snapshot { version: self.version, components }, self.family().snapshot_step());
        let is_last = self.wants_stop || self.cycle >= self.options.cycles;
        for stamp in stamps {
            let renamed =
                self.pool.pieces_of(stamp.shard).filter(|(name, _, owner)| *name != PieceName::Component(*owner));
            let owners = renamed.map(|(name, _, owner)| (name, owner)).collect();
            let reply = Reply { cycle: self.cycle, alpha: self.alpha, owners, is_last };
            let frame = encode_reply(*stamp, &reply, &snapshot);
            let family = self.plan.as_ref().expect("there is a plan").model.conjugate();
            self.pool.fuse(stamp.shard, family);
            self.members.get_mut(&stamp.shard).expect("it has pushed").reply = Some(frame.clone());
            out.send(Address::Worker(stamp.shard), frame);
            if is_last {
                // nobody waits for it any more, whoever comes late is answered at once
                self.released.insert(stamp.shard);
                self.awaited.remove(&stamp.shard);
            }
        }
        out.is_done = is_last && self.members.keys().all(|shard| self.released.contains(shard));
    }

    /// Takes the live ids, α and cycle from the worker that had heard last.
    fn recall(&mut self, pushes: &BTreeMap<ShardId, (Stamp, Push)>) {
        self.is_rebuilding = false;
        let newest = pushes.values().max_by_key(|(stamp, push)| (push.base_version, std::cmp::Reverse(stamp.shard)));
        let Some((stamp, push)) = newest else { return };
        let joining = push.joining.expect("a rebuild begins with full pushes");
        (self.version, self.cycle) = (push.base_version, joining.cycle);
        self.n_absorbed = joining.cycle * pushes.len() as u64;
        if self.options.alpha == Alpha::Auto {
            self.alpha = joining.alpha;
        }
        // its vocabulary is what is alive: an empty piece of it holds each name until the contributions are entered
        let ids: Vec<ComponentId> = push.contributions.iter().map(|(id, _)| *id).collect();
        for id in ids {
            self.pool.keep_clear_of(id);
            self.pool.enter(PieceKey { shard: stamp.shard, name: PieceName::Component(id) }, None, id);
        }
    }

    fn on_lost(&mut self, shard: ShardId, out: &mut Outbox) {
        self.gone.insert(shard, self.n_incarnations);
        self.awaited.remove(&shard);
        self.waiting.remove(&shard);
        if self.members.remove(&shard).is_some() {
            self.pool.take_out(shard);
            let family = self.plan.as_ref().expect("members come after the plan").model.conjugate();
            self.pool.settle(family);
        }
        let all_released = !self.released.is_empty() && self.members.keys().all(|shard| self.released.contains(shard));
        out.is_done = all_released;
        if self.options.schedule == Schedule::Sync || self.is_rebuilding {
            self.close_cycle_if_all_have_come(out);
        }
    }
}

impl Node for Coordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => {
                if self.is_rebuilding && self.plan.is_some() {
                    self.awaited.clone().into_iter().for_each(|shard| self.send_rejoin(shard, out));
                }
                Ok(())
            }
            Event::Frame { frame, .. } => self.on_frame(&frame, out),
            Event::Lost(shard) => {
                self.on_lost(shard, out);
                Ok(())
            }
            Event::Stop => {
                self.wants_stop = true;
                Ok(())
            }
        }
    }

    /// One batch of merge and split moves, at most one between two pushes.
    fn idle(&mut self, _out: &mut Outbox) -> Result<bool> {
        if self.options.schedule == Schedule::Async && std::mem::take(&mut self.may_idle) && !self.is_rebuilding {
            self.version += 1;
            let mut rng = self.stream(self.cycle);
            let family = self.plan.as_ref().expect("there was a push").model.conjugate();
            self.since_report += pooled::refine(&mut self.pool, IDLE_MOVES, family, self.alpha, &mut rng);
        }
        Ok(false)
    }

    fn checkpoint(&self) -> Vec<u8> {
        // nothing: the workers' labels are the truth, and a new coordinator is rebuilt from their pushes
        Vec::new()
    }
}

/// Moves of one idle step.
const IDLE_MOVES: usize = 20;
