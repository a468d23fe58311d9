//! A checkpoint of a worker: the labels and what they stand for. Everything else can be made again.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, PieceName};
use crate::halves::Half;
use crate::rows::Shard;
use crate::sweep::UNASSIGNED;

/// A worker between a push and its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ConsolidatedMemory {
    pub(crate) names: Vec<PieceName>,
    /// One a row.
    pub(crate) labels: Vec<u32>,
    /// The half that each of them is in; empty if none is in one.
    pub(crate) halves: Vec<Option<Half>>,
    /// The generation of each slot's halves, of those that keep some.
    pub(crate) generations: Vec<Option<u32>>,
    pub(crate) next_birth: u64,
    pub(crate) base_version: u64,
    pub(crate) cycle: u64,
    pub(crate) alpha: f64,
}

impl ConsolidatedMemory {
    /// Labels to begin with, the same numbers as the other workers'.
    pub(super) fn start(labels: &[u32]) -> Self {
        let name = |number: &u32| PieceName::Component(ComponentId { epoch: 0, number: u64::from(*number) + 1 });
        let used: BTreeSet<u32> = labels.iter().copied().collect();
        let slots: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
        let labels = labels.iter().map(|label| slots[label]).collect();
        Self { names: used.iter().map(name).collect(), labels, alpha: 1.0, ..Self::default() }
    }

    pub(super) fn is_of(&self, shard: &Shard) -> bool {
        let n_labels = self.labels.len();
        n_labels == shard.n_rows()
            && self.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < self.names.len())
            && (self.halves.is_empty() || self.halves.len() == n_labels)
            && self.generations.len() <= self.names.len()
    }
}
