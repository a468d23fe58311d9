//! AV of the paper's comparison: auxiliary-variable parallel Gibbs. Every cluster is on one worker, with all its rows.
//!
//! The state is the partition, the worker of each cluster, and α. A cycle:
//!
//! - workers: a collapsed sweep over the clusters and rows they hold, with concentration α/M: exact given who holds what;
//! - every cluster goes, with its rows, to a worker drawn afresh. P(partition, workers) = α^K Γ(α)/Γ(α+n) Π Γ(n_k) · M^−K, so the uniform draw
//!   is the exact conditional, and there is nothing to accept or reject;
//! - coordinator: it passes the rows on, unread, and draws α | K, n (unless it is fixed).
//!
//! Rows carry their place in the input, and a worker sweeps them in that order: an order that depended on the clusters would make the
//! sweep inexact. As an option a worker also merges its own clusters wherever that is more probable; a merge without a reverse, which is not exact.
//!
//! A lost worker takes rows with it that nobody else has: the run ends with an error.

mod coordinator;
mod held;
mod worker;

pub use self::coordinator::AvCoordinator;
pub use self::worker::{AvWorker, AvWorkerOptions};
