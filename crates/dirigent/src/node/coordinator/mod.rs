//! The coordinator: it owns the pool and decides which pieces belong together. It never sees a row.
//!
//! Two schedules. Synchronous: when every member has pushed, first all contributions are entered, then the births in (worker, birth number)
//! order, then all are answered. Asynchronous: as soon as nothing else has come, those who have pushed are answered, one or several together;
//! then the pool is refined. So a coordinator that is slower than its workers has less to do for each of them.

mod checking;
mod cycle;
mod memory;
pub(super) use memory::answers;
mod options;

pub use self::options::{Consolidation, CoordinatorOptions, FirstAlpha, Joins, Schedule};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hellos::{Gathered, Hellos};
use super::{Address, Event, Frame, Node, Outbox};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, ShardId, pooled};
use crate::error::Result;
use crate::family::Conjugate;
use crate::message::codec::{Message, decode_between, encode};
use crate::message::{Decoded, Hello, Overlap, Plan, Push, Stamp, Told};
use crate::model::Model;
use crate::posterior::horizon::Horizon;
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct Coordinator {
    options: CoordinatorOptions,
    hellos: Hellos,
    model: Model,
    plan: Option<Plan>,
    pool: Pool,
    members: BTreeMap<ShardId, Member>,
    /// The components as they were last told, each with the version since which it is so.
    told: BTreeMap<ComponentId, (Told, u64)>,
    /// Whom a synchronous cycle waits for.
    awaited: BTreeSet<ShardId>,
    /// Pushes that wait: for those of the others, or until nothing more comes.
    waiting: BTreeMap<ShardId, (Stamp, Push)>,
    /// Set until a coordinator that was lost has heard from everyone again.
    is_rebuilding: bool,
    /// Set for one that goes on from a checkpoint: its first word is what it said last.
    is_resumed: bool,
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
    /// When it will be over.
    horizon: Horizon,
    wants_stop: bool,
    /// Pushes absorbed at the last idle step.
    n_absorbed_at_idle: u64,
    /// Pushes that the cycles closed so far have taken.
    n_absorbed_at_close: u64,
    /// Whether the last common answer has been given; whoever comes later is answered at once.
    has_closed: bool,
    /// How far components overlapped in the last sweep of each worker, and which ones it names.
    overlaps: BTreeMap<ShardId, (Arc<[ComponentId]>, Overlap)>,
    /// Whom the last answer was sent to.
    released: BTreeSet<ShardId>,
}

/// A worker that has pushed.
struct Member {
    incarnation: u32,
    sequence: u64,
    sum_log_base: f64,
    /// The answer to its last push, to be sent again if asked again.
    reply: Option<Frame>,
    /// The components of the snapshot in that answer.
    ids: Arc<[ComponentId]>,
}

impl Coordinator {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: CoordinatorOptions, model: Model) -> Self {
        Self {
            alpha: options.alpha.start(),
            awaited: (0..options.n_workers).collect(),
            hellos: Hellos::default(),
            model,
            plan: None,
            pool: Pool::new(0).keeping_halves(options.splits),
            members: BTreeMap::new(),
            told: BTreeMap::new(),
            waiting: BTreeMap::new(),
            // labels to start from are recalled as those of a lost coordinator are
            is_rebuilding: options.has_start,
            is_resumed: false,
            version: 0,
            cycle: 0,
            n_absorbed: 0,
            n_incarnations: 0,
            gone: BTreeMap::new(),
            since_report: ConsolidateInfo::default(),
            moved: 0,
            horizon: Horizon::new(options.cycles, options.n_kept),
            wants_stop: false,
            n_absorbed_at_idle: 0,
            n_absorbed_at_close: 0,
            has_closed: false,
            overlaps: BTreeMap::new(),
            released: BTreeSet::new(),
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    // public for the tests only
    #[doc(hidden)]
    pub fn rebuild(options: CoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let awaited = workers.iter().copied().collect();
        let pool = Pool::new(n_restarts).keeping_halves(options.splits);
        // above whatever the one before can have handed out
        let n_incarnations = n_restarts << 24;
        let new = Self::new(options, plan.model.clone());
        Self { plan: Some(plan), pool, awaited, is_rebuilding: true, n_incarnations, ..new }
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The components as they were last told: after the last answer, the model that labels were read from.
    pub fn told(&self) -> impl Iterator<Item = (ComponentId, &Stats)> {
        self.told.iter().map(|(id, (told, _))| (*id, &told.total))
    }

    /// The plan, once there is one.
    // public for the tests only
    #[doc(hidden)]
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Which push of each member has been absorbed last, and the answer to it.
    // public for the tests only
    #[doc(hidden)]
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

    fn new_incarnation(&mut self) -> u32 {
        self.n_incarnations += 1;
        self.n_incarnations
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let stats_len = self.plan.as_ref().map(|plan| plan.model.conjugate().stats_len());
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, stats_len)?;
        match message {
            Message::Hello(hello) => self.on_hello(stamp, hello, out),
            Message::Push(push) => self.on_push(stamp, push, out).map_err(|refusal| refusal.of(from)),
            _ => Ok(()),
        }
    }

    fn on_hello(&mut self, stamp: Stamp, hello: Hello, out: &mut Outbox) -> Result<()> {
        let gathered =
            self.hellos.take_in(stamp.shard, hello, &self.model, self.plan.is_some(), self.options.n_workers)?;
        if self.plan.is_some() {
            self.send_plan(stamp.shard, out);
        } else if let Some(Gathered { workers, n_rows, kernel }) = gathered {
            self.plan = Some(self.options.plan(&self.model, n_rows, kernel));
            workers.into_iter().for_each(|shard| self.send_plan(shard, out));
        }
        Ok(())
    }

    fn send_plan(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.new_incarnation(), sequence: 0 };
        let plan = self.plan.clone().expect("there is a plan");
        out.send(Address::Worker(shard), encode(stamp, &Message::Plan(plan)));
    }

    /// Next number: absorb. Same number: the same reply again. Anything else is from another life.
    fn on_push(&mut self, stamp: Stamp, push: Push, out: &mut Outbox) -> Decoded<()> {
        if self.waiting.get(&stamp.shard).is_some_and(|(waiting, _)| *waiting == stamp) {
            return Ok(());
        }
        let member = self.members.get(&stamp.shard);
        let is_next = match member {
            Some(member) if member.incarnation == stamp.incarnation => {
                if stamp.sequence == member.sequence {
                    if let Some(reply) = &member.reply {
                        out.send(Address::Worker(stamp.shard), reply.clone());
                    }
                    return Ok(());
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
            return Ok(());
        }
        self.check_push(stamp, &push)?;
        self.awaited.insert(stamp.shard);
        // what waits of an earlier life is no longer true
        self.waiting.remove(&stamp.shard);
        if !self.is_in_step() && self.is_closing() && push.joining.is_some() {
            // the others wait to end together, and it has yet to sweep
            self.absorb(BTreeMap::from([(stamp.shard, (stamp, push))]), out);
        } else {
            self.waiting.insert(stamp.shard, (stamp, push));
            if self.is_in_step() || self.is_closing() {
                self.close_cycle_if_all_have_come(out);
            }
        }
        Ok(())
    }

    /// Whether all members push before any is answered.
    fn is_in_step(&self) -> bool {
        self.options.schedule == Schedule::Sync || self.is_rebuilding
    }

    /// Whether the next common answer is the last one. Under an asynchronous schedule too, workers end together: their labels are then
    /// in one vocabulary, that of the last snapshot.
    fn is_closing(&self) -> bool {
        self.wants_stop || self.cycle + 1 >= self.horizon.last_cycle()
    }

    fn send_rejoin(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.new_incarnation(), sequence: 0 };
        out.send(Address::Worker(shard), encode(stamp, &Message::Rejoin));
    }

    fn on_lost(&mut self, shard: ShardId, out: &mut Outbox) {
        self.hellos.forget(shard);
        self.gone.insert(shard, self.n_incarnations);
        self.awaited.remove(&shard);
        self.waiting.remove(&shard);
        self.overlaps.remove(&shard);
        if self.members.remove(&shard).is_some() {
            self.pool.take_out(shard);
            let family = family_of(&self.plan);
            self.pool.settle(family);
        }
        out.is_done = self.is_done();
        self.close_cycle_if_all_have_come(out);
    }
}

/// For each so many components, idle steps are one more cycle apart: the table of their pairs takes 50 ms for a thousand.
const COMPONENTS_A_CYCLE: u64 = 100;

/// The family of the plan, on which all work on the pool depends. Borrows the plan alone.
fn family_of(plan: &Option<Plan>) -> &dyn Conjugate {
    plan.as_ref().expect("there is a plan before there is anything to pool").model.conjugate()
}

impl Node for Coordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => {
                if self.is_rebuilding && self.plan.is_some() {
                    self.awaited.clone().into_iter().for_each(|shard| self.send_rejoin(shard, out));
                }
                if self.is_resumed {
                    let answers =
                        self.members.iter().filter_map(|(shard, member)| Some((*shard, member.reply.clone()?)));
                    answers.for_each(|(shard, answer)| out.send(Address::Worker(shard), answer));
                    out.is_done = self.is_done();
                }
                Ok(())
            }
            Event::Frame { from, frame } => self.on_frame(from, &frame, out),
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

    /// Answers whoever has pushed at its own pace. If nobody has, one batch of merge and split moves. It begins with a table of all pairs, so it waits until
    /// every member has pushed once more, and longer when there are many components.
    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        if self.answer_who_waits(out) {
            return Ok(true);
        }
        let cycles_apart = 1 + self.told.len() as u64 / COMPONENTS_A_CYCLE;
        // with splits, components that should be one or two are found at the close of a cycle
        let is_due = !self.options.splits
            && self.n_absorbed >= self.n_absorbed_at_idle + self.members.len() as u64 * cycles_apart;
        if !self.is_in_step() && is_due && !self.members.is_empty() && !self.is_closing() {
            self.n_absorbed_at_idle = self.n_absorbed;
            self.version += 1;
            let mut rng = self.stream(self.cycle);
            let family = family_of(&self.plan);
            self.since_report += pooled::refine(&mut self.pool, pooled::DEFAULT_MOVES, family, self.alpha, &mut rng);
        }
        Ok(false)
    }

    fn checkpoint(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.memory()).expect("a checkpoint is plain data")
    }
}
