//! Fits that grow: batches of rows that come one after another, and models that were fitted apart.
//!
//! A component is the sum of the pieces that batches contributed to it, so a batch can leave exactly and models can be added up. `batch` sweeps new rows against
//! the pieces of earlier ones, `history` keeps the pieces, `settle` merges and splits components by their pieces, `lineage` follows clusters from one update
//! to the next, and `joining` adds up models.

mod batch;
mod convert;
mod entropy;
mod history;
mod joining;
mod lineage;
mod settle;

pub(crate) use batch::{Batch, sweep_batch};
pub(crate) use convert::convert_history;
pub(crate) use entropy::generated_rows;
pub use history::Forget;
pub(crate) use history::{History, Piece, PieceBatch};
pub(crate) use joining::{Common, common_model, join};
pub use lineage::{ClusterEvent, EventKind};
pub(crate) use lineage::{Lineage, NewCluster};
pub(crate) use settle::settle;
