//! The ledger: it owns the pool and decides which pieces belong together. It never sees a row.
//!
//! Two schedules. Synchronous: when every member has pushed, first all contributions are entered,
//! then the births in (worker, birth number) order, then all are answered. Asynchronous: as soon as
//! nothing else has come, workers that have pushed are answered, one or several together; then the
//! pool is refined. So a coordinator that is slower than its workers has less to do for each of
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::Schedule;
use super::ledger_memory::LedgerMemory;
use super::message::{ComponentSnapshot, Push, SweepOverlap};
use super::{Consolidated, ConsolidatedCoordinator};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, ShardId, pooled};
use crate::error::Result;
use crate::family::Conjugate;
use crate::protocol::message::Stamp;
use crate::protocol::{Cause, CoordinatorOptions, Decoded, Ledger, PushContext, Round};
use crate::stats::Stats;

/// What a ledger of these methods works with.
pub(super) type Work<'a> = Round<'a, Consolidated>;

/// The pool, and what workers know of it.
#[derive(Deserialize)]
#[serde(from = "LedgerMemory")]
pub struct ConsolidatedLedger {
    pub(super) pool: Pool,
    /// What is known of each worker that has pushed.
    pub(super) columns: BTreeMap<ShardId, ConsolidatedColumn>,
    /// The components as they were last sent, each with the version since which it is so.
    pub(super) told: BTreeMap<ComponentId, (ComponentSnapshot, u64)>,
    pub(super) version: u64,
    /// Pushes absorbed so far under an asynchronous schedule.
    pub(super) n_absorbed: u64,
    /// What happened since the last report.
    pub(super) since_report: ConsolidateInfo,
    pub(super) moved: u64,
    /// Pushes absorbed at the last idle step.
    pub(super) n_absorbed_at_idle: u64,
    /// Pushes that the cycles closed so far have taken.
    pub(super) n_absorbed_at_close: u64,
    /// How far components overlapped in the last sweep of each worker, and which ones it names.
    pub(super) overlaps: BTreeMap<ShardId, (Arc<[ComponentId]>, SweepOverlap)>,
    /// What a checkpoint held, until it is restored.
    pub(super) saved: Option<LedgerMemory>,
}

/// What is known of a worker beside its pieces.
pub(super) struct ConsolidatedColumn {
    pub(super) sum_log_base: f64,
    /// The components of the snapshot in the answer to its last push.
    pub(super) ids: Arc<[ComponentId]>,
}

// public for the tests only
#[doc(hidden)]
impl ConsolidatedCoordinator {
    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.ledger.pool
    }

    /// The pool, for tests that merge and split at the worst moment.
    #[cfg(test)]
    pub(super) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.ledger.pool
    }
}

/// Whether all members push before any is answered.
pub(super) fn is_in_step(round: &Work<'_>) -> bool {
    round.options.schedule == Schedule::Sync || round.progress.is_rebuilding
}

/// Per this many components, idle steps are one more cycle apart: the table of their pairs
/// takes 50 ms for a thousand.
const COMPONENTS_A_CYCLE: u64 = 100;

impl Ledger<Consolidated> for ConsolidatedLedger {
    fn new(options: &CoordinatorOptions, n_restarts: u32) -> Self {
        Self {
            pool: Pool::new(n_restarts).keeping_halves(options.splits),
            columns: BTreeMap::new(),
            told: BTreeMap::new(),
            version: 0,
            n_absorbed: 0,
            since_report: ConsolidateInfo::default(),
            moved: 0,
            n_absorbed_at_idle: 0,
            n_absorbed_at_close: 0,
            overlaps: BTreeMap::new(),
            saved: None,
        }
    }

    fn restore(&mut self, options: &CoordinatorOptions, family: &dyn Conjugate) -> bool {
        let Some(restored) = self.saved.take().and_then(|saved| saved.restored(options, family)) else { return false };
        *self = restored;
        true
    }

    fn epoch(&self) -> u32 {
        self.pool.epoch()
    }

    /// Answers are sent again with a snapshot that says everything, which gives a receiver the same
    /// as the differences it missed.
    fn prepare_answers(&mut self, round: &mut Work<'_>) {
        let snapshot = self.snapshot_since(0, round.progress.has_closed(), round.gathering.family());
        round.gathering.members_mut().share(&snapshot);
    }

    fn check(&self, stamp: Stamp, push: &Push, context: &PushContext<'_>) -> Decoded<()> {
        self.check_push(stamp, push, context)
    }

    /// In step, all once all have come. At their own pace, those that wait once nothing else does;
    /// but in the last cycle workers end together, so that their labels are in one vocabulary, that
    /// of the last snapshot.
    fn ready(&self, cause: Cause, round: &mut Work<'_>) -> Vec<(Stamp, Push)> {
        let (is_in_step, is_closing) = (is_in_step(round), round.progress.is_closing());
        let members = round.gathering.members_mut();
        if !is_in_step {
            let taken = match cause {
                // the others wait to end together, and a worker that joins has yet to sweep
                Cause::Joined(shard) if is_closing => members.take_of(shard),
                Cause::Joined(_) | Cause::Pushed if !is_closing => return Vec::new(),
                Cause::Idle => members.take(|push| !is_closing || push.joining.is_some()),
                Cause::Joined(_) | Cause::Pushed | Cause::Lost => Vec::new(),
            };
            if !taken.is_empty() {
                return taken;
            }
        } else if cause == Cause::Idle {
            return Vec::new();
        }
        let all_here = if is_in_step {
            members.all_awaited_wait()
        } else {
            members.all_joined_wait() && members.waiting().all(|push| push.joining.is_none())
        };
        if all_here { members.take(|_| true) } else { Vec::new() }
    }

    fn recall(&mut self, pushes: &[(Stamp, Push)], round: &mut Work<'_>) {
        self.recall_from(pushes, round);
    }

    fn absorb(&mut self, pushes: Vec<(Stamp, Push)>, round: &mut Work<'_>) -> Result<()> {
        self.absorb_all(pushes, round);
        Ok(())
    }

    fn lose(&mut self, shard: ShardId, round: &mut Work<'_>) {
        self.overlaps.remove(&shard);
        if self.columns.remove(&shard).is_some() {
            self.pool.take_out(shard);
            self.pool.settle(round.gathering.family());
        }
    }

    /// One batch of merge and split moves. It begins with a table of all pairs, so it waits until
    /// every member has pushed once more, and longer when there are many components. With splits,
    /// components that should be one or two are found at the close of a cycle.
    fn idle(&mut self, round: &mut Work<'_>) {
        let cycles_apart = 1 + self.told.len() as u64 / COMPONENTS_A_CYCLE;
        let is_due = !round.options.splits
            && self.n_absorbed >= self.n_absorbed_at_idle + self.columns.len() as u64 * cycles_apart;
        if !is_in_step(round) && is_due && !self.columns.is_empty() && !round.progress.is_closing() {
            self.n_absorbed_at_idle = self.n_absorbed;
            self.version += 1;
            let mut rng = self.stream(round.progress.cycle, round);
            let (family, alpha) = (round.gathering.family(), round.progress.alpha);
            self.since_report += pooled::refine(&mut self.pool, pooled::DEFAULT_MOVES, family, alpha, &mut rng);
        }
    }

    /// As they were last sent: after the last answer, the model that labels were read from.
    fn components(&self, _family: &dyn Conjugate) -> Vec<(ComponentId, Stats)> {
        self.told.iter().map(|(id, (told, _))| (*id, told.total.clone())).collect()
    }
}
