//! The exact slice sampler as map and reduce: SliceMR of the paper's comparison.
//!
//! The state is the labels and α. A round, which leaves their posterior as it is:
//!
//! - coordinator: components without rows are dropped; α | K, n (unless it is fixed); (π_1..π_K,
//!   π_rest) ~ Dirichlet(n_1..n_K, α); φ_k from its posterior; π_rest is broken by sticks Beta(1,
//!   α), each with parameters from the prior, until what is left is below every row's slice;
//! - workers: each row's slice is u = π_z U, and its new component is drawn ∝ 1[π_k ≥ u] f(x|φ_k).
//!
//! One round trip: with its statistics a worker sends, for each component, the smallest U its rows
//! will use in the *next* round, so the coordinator knows the smallest slice as soon as it has
//! drawn π. Uniforms come from streams named by (shard, round) and are drawn again when they are
//! used. Two short cuts that look right are not: sticks Beta(1+n_k, α+Σ_{l>k}n_l) for components
//! that were relabelled by dropping empty ones, and sticks that end at the smallest slice of the
//! round before (`tests/slice_exactness.rs` shows both).
//!
//! Between a round's labels and the next round's draw, splits and merges of whole components may be
//! tried (`attempt.rs`), which are ours, not the paper's: sweeps alone seldom change large
//! components.
//!
//! From a cold start no row is in a component: the first round's sticks are broken until they leave
//! less than one row, and rows are seated by weight and likelihood. A worker that comes back
//! without memory is seated likewise, among the components there are.

mod attempt;
mod census;
mod draw;
mod ledger;
pub mod message;
pub mod move_message;
mod moves;
mod shard;
mod sides;
#[cfg(test)]
mod tests;

pub use self::ledger::SliceLedger;
pub use self::message::SliceWord;
use self::message::{SliceHead, SliceReply};
pub use self::shard::{SliceMemory, SliceShard};

use super::cgs::Outcome;
use super::rounds::{self, RoundsOptions};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::{Coordinator, Method, Worker, WorkerKind};
use crate::rows::Shard;

/// SliceMR.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice;

/// The node that owns the statistics.
pub type SliceCoordinator = Coordinator<Slice>;
/// The worker of a shard.
pub type SliceWorker = Worker<Slice>;

impl Method for Slice {
    type Push = SliceWord;
    type Reply = SliceHead;
    type Shared = SliceReply;
    type ShardOptions = ();
    type Shard = SliceShard;
    type Ledger = SliceLedger;

    fn is_joining(push: &SliceWord) -> bool {
        matches!(push, SliceWord::Push(push) if push.joining.is_some())
    }
}

/// Runs the slice sampler over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run::<Slice>(&|_| WorkerKind::Slice, shards, model, options, truth, observer)
}
