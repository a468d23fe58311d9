//! What the ledger speaks of: ids, names, pieces and trials.

use serde::{Deserialize, Serialize};

use crate::halves::Half;
use crate::stats::Stats;

/// The number of a shard, which is that of its worker.
pub type ShardId = u32;

/// A component's identity: minted by the coordinator, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComponentId {
    /// Raised when a coordinator is rebuilt.
    pub epoch: u32,
    /// Counts within the epoch.
    pub number: u64,
}

/// A piece as its worker names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PieceName {
    /// A component of the worker's last snapshot.
    Component(ComponentId),
    /// A component the worker opened; numbers are never reused.
    Birth(u64),
}

/// A piece in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PieceKey {
    /// Whose rows.
    pub shard: ShardId,
    /// Its worker's name for it.
    pub name: PieceName,
    /// The half as its worker names it; left where it tells no halves apart.
    pub half: Half,
}

impl PieceKey {
    /// A piece that is not told apart into halves.
    pub fn whole(shard: ShardId, name: PieceName) -> Self {
        Self { shard, name, half: Half::Left }
    }
}

/// What the ledger knows of a piece.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Piece {
    /// `None` for a piece without rows.
    pub stats: Option<Stats>,
    /// The component it belongs to.
    pub owner: ComponentId,
    /// The half of its owner that it counts in; `None` while it is in none of the current
    /// generation.
    pub half: Option<Half>,
    /// The generation of its name's halves that its worker was told.
    pub told: Option<u32>,
}

/// How far a component has come in trying to split.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Trial {
    /// Counts the halves it has had.
    pub generation: u32,
    /// Whether it keeps halves at present.
    pub is_on: bool,
    /// Cycles since the generation began, or since it rests.
    pub age: u32,
    /// Generations in a row that have led to nothing.
    pub n_failures: u32,
    /// log ρ(left, right) at the last look, if there has been one.
    pub log_ratio: Option<f64>,
}
