//! Consolidation: the coordinator's side of the paper, on statistics alone.
//!
//! The [`Pool`] holds what every worker has contributed, piece by piece, and who owns each piece.
//! [`progressive`] (Algorithm 1), [`pooled`] (with Algorithm 2 in [`restricted`]) and [`hungarian`]
//! decide which pieces belong together: they change owners, never statistics.

mod by_words;
mod entropy;
pub mod hungarian;
pub mod merges;
mod pair_table;
mod pool;
pub mod pooled;
pub mod progressive;
mod ratio;
pub mod restricted;
mod sketches;
pub mod splits;
#[cfg(test)]
mod timing;

pub use entropy::LabelEntropy;
pub use pool::{ComponentId, Piece, PieceKey, PieceName, Pool, ShardId, Trial};
pub(crate) use pool::{PoolMemory, fits};
pub use ratio::{MergeRatio, WeighedStats, log_merge_ratio};
pub(crate) use sketches::{Sketches, squared_distance};
