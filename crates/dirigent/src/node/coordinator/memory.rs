//! A coordinator put away at the border of a cycle, and taken up again.
//!
//! Under a synchronous schedule it goes on exactly: the ledger, what was told, and the answers that no worker has heard yet are as they were. Answers are
//! sent again with a snapshot that says everything, which gives a receiver the same as the differences it missed. Under an asynchronous
//! schedule answers are of many versions, and workers are asked for everything instead, as by a coordinator in another's place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Coordinator, CoordinatorOptions, Member, Schedule};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, PoolMemory, ShardId, fits};
use crate::error::{InputError, Result};
use crate::halves::Halves;
use crate::message::codec::decode_reply_alone;
use crate::message::{Plan, Reply, Told};
use crate::node::{Address, Frame};
use crate::posterior::horizon::Horizon;

/// All that a coordinator knows between two cycles.
#[derive(Serialize, Deserialize)]
pub(super) struct Memory {
    plan: Plan,
    pool: PoolMemory,
    members: BTreeMap<ShardId, MemberMemory>,
    told: Vec<(ComponentId, Told, u64)>,
    awaited: BTreeSet<ShardId>,
    alpha: f64,
    version: u64,
    cycle: u64,
    n_absorbed: u64,
    n_absorbed_at_idle: u64,
    n_incarnations: u32,
    gone: BTreeMap<ShardId, u32>,
    since_report: ConsolidateInfo,
    moved: u64,
    horizon: Horizon,
    has_closed: bool,
    released: BTreeSet<ShardId>,
}

#[derive(Serialize, Deserialize)]
struct MemberMemory {
    incarnation: u32,
    sequence: u64,
    sum_log_base: f64,
    /// The answer without its snapshot.
    answer: Option<Vec<u8>>,
}

impl Coordinator {
    /// What is to be remembered; nothing before there is a plan.
    pub(super) fn memory(&self) -> Option<Memory> {
        let member = |(shard, member): (&ShardId, &Member)| {
            let answer = member.reply.as_ref().map(|frame| frame.own.to_vec());
            let Member { incarnation, sequence, sum_log_base, .. } = *member;
            (*shard, MemberMemory { incarnation, sequence, sum_log_base, answer })
        };
        Some(Memory {
            plan: self.plan.clone()?,
            pool: self.pool.memory(),
            members: self.members.iter().map(member).collect(),
            told: self.told.iter().map(|(id, (told, since))| (*id, told.clone(), *since)).collect(),
            awaited: self.awaited.clone(),
            alpha: self.alpha,
            version: self.version,
            cycle: self.cycle,
            n_absorbed: self.n_absorbed,
            n_absorbed_at_idle: self.n_absorbed_at_idle,
            n_incarnations: self.n_incarnations,
            gone: self.gone.clone(),
            since_report: self.since_report,
            moved: self.moved,
            horizon: self.horizon.clone(),
            has_closed: self.has_closed,
            released: self.released.clone(),
        })
    }

    /// A coordinator that goes on from a checkpoint, together with its workers. The options may ask for more cycles than before. With another number of
    /// workers they join anew, with the rows that they are dealt.
    pub fn resume(options: CoordinatorOptions, checkpoint: &[u8]) -> Result<Self> {
        let memory = Memory::read(checkpoint)?;
        let has_other_workers = !memory.members.keys().copied().eq(0..options.n_workers);
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
        if !memory.told.iter().all(|(_, told, _)| is_of(told, family)) {
            return Err(another_run().into());
        }
        let pool = Pool::recall(memory.pool, family).ok_or_else(another_run)?;
        let new = Self::new(options, memory.plan.model.clone());
        let mut coordinator = Self {
            pool,
            told: memory.told.into_iter().map(|(id, told, since)| (id, (told, since))).collect(),
            awaited: memory.awaited,
            is_rebuilding: false,
            is_resumed: true,
            alpha: memory.alpha,
            version: memory.version,
            cycle: memory.cycle,
            n_absorbed: memory.n_absorbed,
            n_absorbed_at_idle: memory.n_absorbed_at_idle,
            n_absorbed_at_close: memory.n_absorbed,
            n_incarnations: memory.n_incarnations,
            gone: memory.gone,
            since_report: memory.since_report,
            moved: memory.moved,
            horizon,
            has_closed: memory.has_closed,
            released: memory.released,
            plan: Some(memory.plan),
            ..new
        };
        let snapshot = coordinator.snapshot_since(0, coordinator.has_closed);
        let ids: Arc<[ComponentId]> = coordinator.told.keys().copied().collect();
        for (shard, MemberMemory { incarnation, sequence, sum_log_base, answer }) in memory.members {
            let reply = answer.map(|own| Frame { own: own.into(), shared: Some(snapshot.clone()) });
            let ids = Arc::clone(&ids);
            coordinator.members.insert(shard, Member { incarnation, sequence, sum_log_base, reply, ids });
        }
        Ok(coordinator)
    }
}

impl Memory {
    fn read(checkpoint: &[u8]) -> Result<Self> {
        let memory: Option<Self> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of the coordinator cannot be read: {error}")))?;
        Ok(memory.ok_or_else(another_run)?)
    }
}

/// What each worker was about to be told at the border of a checkpoint.
pub(in crate::node) fn answers(checkpoint: &[u8]) -> Result<BTreeMap<ShardId, Reply>> {
    let answer = |(shard, member): (ShardId, MemberMemory)| {
        let reply = member.answer.as_deref().map(decode_reply_alone).transpose();
        let reply = reply.map_err(|refusal| refusal.of(Address::Coordinator))?;
        Ok(reply.map(|reply| (shard, reply)))
    };
    Memory::read(checkpoint)?.members.into_iter().map(answer).filter_map(Result::transpose).collect()
}

fn is_of(told: &Told, family: &dyn crate::family::Conjugate) -> bool {
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
