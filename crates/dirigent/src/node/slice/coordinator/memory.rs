//! The coordinator of the slice sampler put away at the border of a cycle, and taken up again: with the draw that no worker has heard yet.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Column, SliceCoordinator};
use crate::consolidate::{ComponentId, ShardId, fits};
use crate::error::{InputError, Result};
use crate::message::Plan;
use crate::node::RoundsCoordinatorOptions;
use crate::node::rounds::{Gathering, MembersMemory, Progress};
use crate::posterior::horizon::Horizon;

/// All that the coordinator knows between two cycles.
#[derive(Serialize, Deserialize)]
struct Memory {
    plan: Plan,
    members: MembersMemory,
    columns: BTreeMap<ShardId, Column>,
    live: BTreeSet<ComponentId>,
    alpha: f64,
    cycle: u64,
    round: u64,
    epoch: u32,
    last_id: u64,
    horizon: Horizon,
    has_closed: bool,
}

impl SliceCoordinator {
    /// Nothing before there is a plan.
    pub(super) fn remember(&self) -> Vec<u8> {
        let memory = self.plan().map(|plan| Memory {
            plan: plan.clone(),
            members: self.gathering.members_memory(),
            columns: self.columns.clone(),
            live: self.live.clone(),
            alpha: self.progress.alpha,
            cycle: self.progress.cycle,
            round: self.round,
            epoch: self.epoch,
            last_id: self.last_id,
            horizon: self.progress.horizon().clone(),
            has_closed: self.progress.has_closed(),
        });
        postcard::to_stdvec(&memory).expect("a checkpoint is plain data")
    }

    /// A coordinator that goes on from a checkpoint, together with its workers. The options may ask for more cycles than before.
    pub fn resume(options: RoundsCoordinatorOptions, checkpoint: &[u8]) -> Result<Self> {
        let memory: Option<Memory> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of the coordinator cannot be read: {error}")))?;
        let is_ours = |memory: &Memory| {
            let family = memory.plan.model.conjugate();
            let mut contributions = memory.columns.values().flat_map(|column| &column.contributions);
            memory.members.shards().eq(0..options.n_workers)
                && contributions.all(|contribution| fits(&contribution.stats, family))
        };
        let memory = memory
            .filter(is_ours)
            .ok_or_else(|| InputError::new("the checkpoint of the coordinator is of another run"))?;
        let horizon = memory.horizon.going_on(options.cycles, options.n_kept);
        let new = Self::new(options, memory.plan.model.clone());
        Ok(Self {
            gathering: Gathering::resumed(memory.plan, memory.members),
            progress: Progress::resumed(memory.cycle, memory.alpha, horizon, memory.has_closed),
            columns: memory.columns,
            live: memory.live,
            round: memory.round,
            epoch: memory.epoch,
            last_id: memory.last_id,
            is_resumed: true,
            border: Some(checkpoint.to_vec()),
            ..new
        })
    }
}
