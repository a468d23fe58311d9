//! The coordinator: it owns the pool and decides which pieces belong together. It never sees a row.
//!
//! Two schedules. Synchronous: when every member has pushed, first all contributions are entered, then the births in (worker, birth number)
//! order, then all are answered. Asynchronous: as soon as nothing else has come, those who have pushed are answered, one or several together;
//! then the pool is refined. So a coordinator that is slower than its workers has less to do for each of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::message::{ComponentSnapshot, Overlap, Push};
use super::options::{CoordinatorOptions, Schedule};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, ShardId, pooled};
use crate::error::Result;
use crate::model::Model;
use crate::posterior::horizon::Horizon;
use crate::protocol::codec::{Message, decode_between};
use crate::protocol::message::{Plan, Stamp};
use crate::protocol::{Address, Decoded, Event, Frame, Gathering, Node, Outbox};
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct ConsolidatedCoordinator {
    pub(super) options: CoordinatorOptions,
    pub(super) gathering: Gathering<Push>,
    pub(super) pool: Pool,
    /// What is known of each worker that has pushed.
    pub(super) columns: BTreeMap<ShardId, ConsolidatedColumn>,
    /// The components as they were last told, each with the version since which it is so.
    pub(super) told: BTreeMap<ComponentId, (ComponentSnapshot, u64)>,
    /// Set until a coordinator that was lost has heard from everyone again.
    pub(super) is_rebuilding: bool,
    /// Set for one that goes on from a checkpoint: its first word is what it said last.
    pub(super) is_resumed: bool,
    pub(super) alpha: f64,
    pub(super) version: u64,
    pub(super) cycle: u64,
    /// Pushes absorbed so far under an asynchronous schedule.
    pub(super) n_absorbed: u64,
    /// What happened since the last report.
    pub(super) since_report: ConsolidateInfo,
    pub(super) moved: u64,
    /// When it will be over.
    pub(super) horizon: Horizon,
    pub(super) wants_stop: bool,
    /// Pushes absorbed at the last idle step.
    pub(super) n_absorbed_at_idle: u64,
    /// Pushes that the cycles closed so far have taken.
    pub(super) n_absorbed_at_close: u64,
    /// Whether the last common answer has been given; whoever comes later is answered at once.
    pub(super) has_closed: bool,
    /// How far components overlapped in the last sweep of each worker, and which ones it names.
    pub(super) overlaps: BTreeMap<ShardId, (Arc<[ComponentId]>, Overlap)>,
}

/// What is known of a worker beside its pieces.
pub(super) struct ConsolidatedColumn {
    pub(super) sum_log_base: f64,
    /// The components of the snapshot in the answer to its last push.
    pub(super) ids: Arc<[ComponentId]>,
}

impl ConsolidatedCoordinator {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: CoordinatorOptions, model: Model) -> Self {
        Self {
            alpha: options.alpha.start(),
            gathering: Gathering::new(options.n_workers, model),
            pool: Pool::new(0).keeping_halves(options.splits),
            columns: BTreeMap::new(),
            told: BTreeMap::new(),
            // labels to start from are recalled as those of a lost coordinator are
            is_rebuilding: options.has_start,
            is_resumed: false,
            version: 0,
            cycle: 0,
            n_absorbed: 0,
            since_report: ConsolidateInfo::default(),
            moved: 0,
            horizon: Horizon::new(options.cycles, options.n_kept),
            wants_stop: false,
            n_absorbed_at_idle: 0,
            n_absorbed_at_close: 0,
            has_closed: false,
            overlaps: BTreeMap::new(),
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    // public for the tests only
    #[doc(hidden)]
    pub fn rebuild(options: CoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let new = Self::new(options, plan.model.clone());
        let pool = Pool::new(n_restarts).keeping_halves(new.options.splits);
        Self { gathering: Gathering::again(plan, workers, n_restarts), pool, is_rebuilding: true, ..new }
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
        self.gathering.plan()
    }

    /// Which push of each member has been absorbed last, and the answer to it.
    // public for the tests only
    #[doc(hidden)]
    pub fn absorbed(&self) -> impl Iterator<Item = (Stamp, Option<&Frame>)> {
        self.gathering.members().answered_pushes()
    }

    /// The pool, for tests that merge and split at the worst moment.
    #[cfg(test)]
    pub(super) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, self.gathering.stats_len())?;
        match message {
            Message::Hello(hello) => {
                let plan = |model: &Model, n_rows, kernel| self.options.plan(model, n_rows, kernel);
                self.gathering.on_hello(stamp, hello, plan, out)
            }
            Message::Push(push) => self.on_push(stamp, push, out).map_err(|rejection| rejection.of(from)),
            _ => Ok(()),
        }
    }

    fn on_push(&mut self, stamp: Stamp, push: Push, out: &mut Outbox) -> Decoded<()> {
        let is_joining = push.joining.is_some();
        if !self.gathering.is_next(stamp, is_joining, out) {
            return Ok(());
        }
        self.check_push(stamp, &push)?;
        // at the end the others wait to end together, and who joins has yet to sweep
        let is_alone = !self.is_in_step() && self.is_closing() && is_joining;
        self.gathering.members_mut().wait(stamp, push);
        if is_alone {
            let pushes = self.gathering.members_mut().take_of(stamp.shard);
            self.absorb(pushes, out);
        } else if self.is_in_step() || self.is_closing() {
            self.close_cycle_if_all_have_come(out);
        }
        Ok(())
    }

    /// Whether all members push before any is answered.
    pub(super) fn is_in_step(&self) -> bool {
        self.options.schedule == Schedule::Sync || self.is_rebuilding
    }

    /// Whether the next common answer is the last one. Under an asynchronous schedule too, workers end together: their labels are then
    /// in one vocabulary, that of the last snapshot.
    pub(super) fn is_closing(&self) -> bool {
        self.wants_stop || self.cycle + 1 >= self.horizon.last_cycle()
    }

    fn on_lost(&mut self, shard: ShardId, out: &mut Outbox) {
        self.gathering.forget(shard);
        self.overlaps.remove(&shard);
        if self.columns.remove(&shard).is_some() {
            self.pool.take_out(shard);
            self.pool.settle(self.gathering.family());
        }
        out.is_done = self.is_done();
        self.close_cycle_if_all_have_come(out);
    }
}

/// For each so many components, idle steps are one more cycle apart: the table of their pairs takes 50 ms for a thousand.
const COMPONENTS_A_CYCLE: u64 = 100;

impl Node for ConsolidatedCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => {
                if self.is_rebuilding && self.gathering.plan().is_some() {
                    self.gathering.ask_all(out);
                }
                if self.is_resumed {
                    self.gathering.answer_again(out);
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
            && self.n_absorbed >= self.n_absorbed_at_idle + self.columns.len() as u64 * cycles_apart;
        if !self.is_in_step() && is_due && !self.columns.is_empty() && !self.is_closing() {
            self.n_absorbed_at_idle = self.n_absorbed;
            self.version += 1;
            let mut rng = self.stream(self.cycle);
            let family = self.gathering.family();
            self.since_report += pooled::refine(&mut self.pool, pooled::DEFAULT_MOVES, family, self.alpha, &mut rng);
        }
        Ok(false)
    }

    fn checkpoint(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.memory()).expect("a checkpoint is plain data")
    }
}
