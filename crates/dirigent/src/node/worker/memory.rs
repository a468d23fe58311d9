//! A checkpoint of a worker: the labels and what they stand for. Everything else can be made again.

use serde::{Deserialize, Serialize};

use crate::consolidate::{PieceName, ShardId};
use crate::error::{InputError, Result};
use crate::halves::Half;
use crate::rows::Shard;
use crate::sweep::UNASSIGNED;

/// A worker between a push and its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::node) struct Memory {
    pub(in crate::node) names: Vec<PieceName>,
    /// One a row.
    pub(in crate::node) labels: Vec<u32>,
    /// The half that each of them is in; empty if none is in one.
    pub(in crate::node) halves: Vec<Option<Half>>,
    /// The generation of each slot's halves, of those that keep some.
    pub(in crate::node) generations: Vec<Option<u32>>,
    pub(in crate::node) next_birth: u64,
    pub(in crate::node) base_version: u64,
    pub(in crate::node) cycle: u64,
    pub(in crate::node) alpha: f64,
    /// The push that waits for its answer.
    pub(in crate::node) incarnation: u32,
    pub(in crate::node) sequence: u64,
}

impl Memory {
    pub(in crate::node) fn encode(memory: &Option<Self>) -> Vec<u8> {
        postcard::to_stdvec(memory).expect("a checkpoint is plain data")
    }

    /// Decodes the checkpoint of a worker of these rows.
    pub(super) fn decode(bytes: &[u8], shard_id: ShardId, shard: &Shard) -> Result<Option<Self>> {
        let memory = Self::read(bytes, shard_id)?;
        if !memory.as_ref().is_none_or(|memory| memory.is_of(shard)) {
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {} rows", shard.n_rows());
            return Err(InputError::new(problem).into());
        }
        Ok(memory)
    }

    /// Decodes the checkpoint of a worker, whatever rows it has.
    pub(in crate::node) fn read(bytes: &[u8], shard_id: ShardId) -> Result<Option<Self>> {
        let unreadable =
            |error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}"));
        Ok(postcard::from_bytes(bytes).map_err(unreadable)?)
    }

    fn is_of(&self, shard: &Shard) -> bool {
        let n_labels = self.labels.len();
        n_labels == shard.n_rows()
            && self.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < self.names.len())
            && (self.halves.is_empty() || self.halves.len() == n_labels)
            && self.generations.len() <= self.names.len()
    }
}
