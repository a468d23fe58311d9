//! SubC of the paper's comparison: a Gibbs sampler whose components keep two sub-clusters, into
//! which they are split, as map and reduce.
//!
//! The state is the labels, the half (sub-cluster) of each row, and α. A cycle:
//!
//! - coordinator: α | K, n (unless it is fixed); (π_1..π_K, π_rest) ~ Dirichlet(n_1..n_K, α), the
//!   rest unused; φ_k from its posterior; the weights of a component's halves ~ Dirichlet(n_l +
//!   α/2, n_r + α/2), and the parameters of each;
//! - workers: z ∝ π_k f(x|φ_k), then the half of the row, by the weights and parameters of the
//!   halves;
//! - coordinator: every component is proposed to be split into its halves, one random pair to be
//!   merged (`moves.rs`).
//!
//! A component that was split has new halves: a fair coin draws them in the cycle that follows, and
//! only after the one thereafter, when they were drawn by parameters of their own, it may be split
//! again. So one round trip a cycle is enough.
//!
//! No row opens a component by itself and the ratios of splits and merges treat their reverse moves
//! loosely, as published: the method is biased towards too few components
//! (`tests/baseline_exactness.rs` has figures). Where the original sends labels to the coordinator,
//! here statistics travel and nothing else.
//!
//! From a cold start all rows are in one component.

mod ledger;
pub mod message;
mod moves;
mod shard;

pub use self::ledger::SubcLedger;
pub use self::shard::{SubcMemory, SubcShard};

use self::message::{SubcPush, SubcReply};
use super::cgs::Outcome;
use super::rounds::{self, RoundsOptions};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::{Coordinator, Method, Worker, WorkerKind};
use crate::rows::Shard;

/// SubC.
#[derive(Debug, Clone, PartialEq)]
pub struct Subc;

/// The node that owns the statistics.
pub type SubcCoordinator = Coordinator<Subc>;
/// The worker of a shard.
pub type SubcWorker = Worker<Subc>;

impl Method for Subc {
    type Push = SubcPush;
    type Reply = ();
    type Shared = SubcReply;
    type ShardOptions = ();
    type Shard = SubcShard;
    type Ledger = SubcLedger;

    fn is_joining(push: &SubcPush) -> bool {
        push.joining.is_some()
    }
}

/// Runs SubC over shards, which are the workers' rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &RoundsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    rounds::run::<Subc>(&|_| WorkerKind::Subc, shards, model, options, truth, observer)
}
