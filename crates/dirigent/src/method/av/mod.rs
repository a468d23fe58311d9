//! AV of the paper's comparison: auxiliary-variable parallel Gibbs. Every cluster is on one worker,
//! with all its rows.
//!
//! The state is the partition, the worker of each cluster, and α. A cycle:
//!
//! - workers: a collapsed sweep over the clusters and rows they hold, with concentration α/M: exact
//!   given who holds what;
//! - every cluster goes, with its rows, to a worker drawn again. P(partition, workers) = α^K
//!   Γ(α)/Γ(α+n) Π Γ(n_k) · M^−K, so the uniform draw is the exact conditional, and there is
//!   nothing to accept or reject;
//! - coordinator: it passes the rows on, unread, and draws α | K, n (unless it is fixed).
//!
//! Rows carry their place in the input, and a worker sweeps them in that order: an order that
//! depended on the clusters would make the sweep inexact. As an option a worker also merges its own
//! clusters wherever that is more probable; a merge without a reverse, which is not exact.
//!
//! A lost worker takes rows with it that no other node has: the run ends with an error.

mod held;
mod ledger;
pub mod message;
mod shard;

pub use self::held::HeldRows;
pub use self::ledger::AvLedger;
pub use self::shard::{AvMemory, AvShard, AvWorkerOptions};

use self::message::{AvPush, AvReply};
use super::cgs::Outcome;
use super::rounds::{self, RoundsOptions};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::protocol::{Coordinator, FinalComponents, Method, Worker, WorkerKind};
use crate::rows::Shard;

/// AV.
#[derive(Debug, Clone, PartialEq)]
pub struct Av;

/// The node that passes clusters on.
pub type AvCoordinator = Coordinator<Av>;
/// The worker that begins with a shard.
pub type AvWorker = Worker<Av>;

impl Method for Av {
    type Push = AvPush;
    type Reply = AvReply;
    type Shared = FinalComponents;
    type ShardOptions = AvWorkerOptions;
    type Shard = AvShard;
    type Ledger = AvLedger;

    const ROWS_STAY: bool = false;

    fn is_joining(push: &AvPush) -> bool {
        matches!(push, AvPush::Join { .. })
    }
}

/// What a run of AV needs beside its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct AvOptions {
    /// What all methods in rounds need.
    pub rounds: RoundsOptions,
    /// Whether workers merge their own clusters wherever that is more probable: faster, but no
    /// longer exact.
    pub merges: bool,
}

/// Runs AV over shards, which are the workers' first rows in order.
pub fn run(
    shards: &[Shard],
    model: &Model,
    options: &AvOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let (n_workers, merges) = (options.rounds.coordinator.n_workers, options.merges);
    let kind = |first_row| WorkerKind::Av(AvWorkerOptions { n_workers, first_row: first_row as u64, merges });
    rounds::run::<Av>(&kind, shards, model, &options.rounds, truth, observer)
}
