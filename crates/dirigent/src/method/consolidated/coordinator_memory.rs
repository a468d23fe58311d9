//! A coordinator put away at the border of a cycle, and taken up again.
//!
//! Under a synchronous schedule it goes on exactly: the ledger, what was told, and the answers that no worker has heard yet are as they were. Answers are
//! sent again with a snapshot that says everything, which gives a receiver the same as the differences it missed. Under an asynchronous
//! schedule answers are of many versions, and workers are asked for everything instead, as by a coordinator in another's place.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::coordinator::ConsolidatedColumn;
use super::{ConsolidatedCoordinator, CoordinatorOptions, Schedule};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, PoolMemory, ShardId, fits};
use crate::error::{InputError, Result};
use crate::halves::Halves;
use crate::method::consolidated::message::decode_reply_alone;
use crate::method::consolidated::message::{ComponentSnapshot, Reply};
use crate::posterior::horizon::Horizon;
use crate::protocol::Address;
use crate::protocol::Gathering;
use crate::protocol::MembersMemory;
use crate::protocol::message::Plan;

/// All that a coordinator knows between two cycles.
#[derive(Serialize, Deserialize)]
pub(super) struct LedgerMemory {
    plan: Plan,
    pool: PoolMemory,
    members: MembersMemory,
    /// Σ log h(x) over the rows of each worker.
    sums_log_base: BTreeMap<ShardId, f64>,
    told: Vec<(ComponentId, ComponentSnapshot, u64)>,
    alpha: f64,
    version: u64,
    cycle: u64,
    n_absorbed: u64,
    n_absorbed_at_idle: u64,
    since_report: ConsolidateInfo,
    moved: u64,
    horizon: Horizon,
    has_closed: bool,
}

impl ConsolidatedCoordinator {
    /// What is to be remembered; nothing before there is a plan.
    pub(super) fn memory(&self) -> Option<LedgerMemory> {
        Some(LedgerMemory {
            plan: self.gathering.plan()?.clone(),
            pool: self.pool.memory(),
            members: self.gathering.members().memory(false),
            sums_log_base: self.columns.iter().map(|(shard, column)| (*shard, column.sum_log_base)).collect(),
            told: self.told.iter().map(|(id, (told, since))| (*id, told.clone(), *since)).collect(),
            alpha: self.alpha,
            version: self.version,
            cycle: self.cycle,
            n_absorbed: self.n_absorbed,
            n_absorbed_at_idle: self.n_absorbed_at_idle,
            since_report: self.since_report,
            moved: self.moved,
            horizon: self.horizon.clone(),
            has_closed: self.has_closed,
        })
    }

    /// A coordinator that goes on from a checkpoint, together with its workers. The options may ask for more cycles than before. With another number of
    /// workers they join anew, with the rows that they are dealt.
    pub fn resume(options: CoordinatorOptions, checkpoint: &[u8]) -> Result<Self> {
        let memory = LedgerMemory::read(checkpoint)?;
        let has_other_workers = !memory.members.shards().eq(0..options.n_workers);
        let horizon = memory.horizon.clone().going_on(options.cycles, options.n_kept);
        if memory.has_closed && horizon.last_cycle() > memory.cycle {
            return Err(too_late().into());
        }
        if options.schedule == Schedule::Async || has_other_workers {
            let workers: Vec<ShardId> = (0..options.n_workers).collect();
            let n_restarts = memory.pool.epoch() + 1;
            let cycle = memory.cycle;
            return Ok(Self { horizon, cycle, ..Self::rebuild(options, memory.plan, &workers, n_restarts) });
        }
        let family = memory.plan.model.conjugate();
        if !memory.members.shards().eq(memory.sums_log_base.keys().copied()) {
            return Err(another_run().into());
        }
        if !memory.told.iter().all(|(_, told, _)| is_of(told, family)) {
            return Err(another_run().into());
        }
        let pool = Pool::recall(memory.pool, family).ok_or_else(another_run)?;
        let new = Self::new(options, memory.plan.model.clone());
        let mut coordinator = Self {
            pool,
            told: memory.told.into_iter().map(|(id, told, since)| (id, (told, since))).collect(),
            is_rebuilding: false,
            is_resumed: true,
            alpha: memory.alpha,
            version: memory.version,
            cycle: memory.cycle,
            n_absorbed: memory.n_absorbed,
            n_absorbed_at_idle: memory.n_absorbed_at_idle,
            n_absorbed_at_close: memory.n_absorbed,
            since_report: memory.since_report,
            moved: memory.moved,
            horizon,
            has_closed: memory.has_closed,
            gathering: Gathering::resumed(memory.plan, memory.members),
            ..new
        };
        let snapshot = coordinator.snapshot_since(0, coordinator.has_closed);
        let ids: Arc<[ComponentId]> = coordinator.told.keys().copied().collect();
        coordinator.gathering.members_mut().share(&snapshot);
        let column = |(shard, sum_log_base)| (shard, ConsolidatedColumn { sum_log_base, ids: Arc::clone(&ids) });
        coordinator.columns = memory.sums_log_base.into_iter().map(column).collect();
        Ok(coordinator)
    }
}

impl LedgerMemory {
    fn read(checkpoint: &[u8]) -> Result<Self> {
        let memory: Option<Self> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of the coordinator cannot be read: {error}")))?;
        Ok(memory.ok_or_else(another_run)?)
    }
}

/// What each worker was about to be told at the border of a checkpoint.
pub(crate) fn answers(checkpoint: &[u8]) -> Result<BTreeMap<ShardId, Reply>> {
    let answer = |(shard, answer): (ShardId, &[u8])| {
        let reply = decode_reply_alone(answer).map_err(|rejection| rejection.of(Address::Coordinator))?;
        Ok((shard, reply))
    };
    LedgerMemory::read(checkpoint)?.members.answers().map(answer).collect()
}

fn is_of(told: &ComponentSnapshot, family: &dyn crate::family::Conjugate) -> bool {
    let halves: &[_] = match &told.halves {
        Halves::Known { stats, .. } => stats,
        Halves::Resting | Halves::Fresh { .. } => &[],
    };
    fits(&told.total, family) && halves.iter().all(|stats| fits(stats, family))
}

/// Of a coordinator that has given its last answers.
fn too_late() -> InputError {
    InputError::new("the run had done its last cycle when it was interrupted: it cannot be made longer")
        .hint("resume it as it was")
}

fn another_run() -> InputError {
    InputError::new("the checkpoint of the coordinator is of another run")
}
