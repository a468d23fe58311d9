//! SubC of the paper's comparison: a Gibbs sampler whose components keep two sub-clusters, into which they are split, as map and reduce.
//!
//! The state is the labels, the half (sub-cluster) of each row, and α. A cycle:
//!
//! - coordinator: α | K, n (unless it is fixed); (π_1..π_K, π_rest) ~ Dirichlet(n_1..n_K, α), the rest unused; φ_k from its posterior; the weights
//!   of a component's halves ~ Dirichlet(n_l + α/2, n_r + α/2), and the parameters of each;
//! - workers: z ∝ π_k f(x|φ_k), then the half of the row, by the weights and parameters of the halves;
//! - coordinator: every component is proposed to be split into its halves, one random pair to be merged (`moves.rs`).
//!
//! A component that was split has new halves: a fair coin draws them in the cycle that follows, and only after the one thereafter, when they were
//! drawn by parameters of their own, it may be split again. So one round trip a cycle is enough.
//!
//! No row opens a component by itself and the ratios of splits and merges treat their reverse moves loosely, as published: the method is biased towards too
//! few components (`tests/baseline_exactness.rs` has figures). Where the original sends labels to the coordinator, here statistics travel and
//! nothing else.
//!
//! From a cold start all rows are in one component.

mod coordinator;
mod moves;
mod worker;

pub use self::coordinator::SubcCoordinator;
pub use self::worker::SubcWorker;
