//! The exact slice sampler as map and reduce: SliceMR of the paper's comparison.
//!
//! The state is the labels and α. A round, which leaves their posterior as it is:
//!
//! - coordinator: components without rows are dropped; α | K, n (unless it is fixed); (π_1..π_K, π_rest) ~ Dirichlet(n_1..n_K, α); φ_k from its
//!   posterior; π_rest is broken by sticks Beta(1, α), each with parameters from the prior, until what is left is below every row's slice;
//! - workers: each row's slice is u = π_z U, and its new component is drawn ∝ 1[π_k ≥ u] f(x|φ_k).
//!
//! One round trip: with its statistics a worker sends, for each component, the smallest U its rows will use in the *next* round, so the
//! coordinator knows the smallest slice as soon as it has drawn π. Uniforms come from streams named by (shard, round) and are drawn
//! again when they are used. Two short cuts that look right are not: sticks Beta(1+n_k, α+Σ_{l>k}n_l) for components that were
//! relabelled by dropping empty ones, and sticks that end at the smallest slice of the round before (`tests/slice_exactness.rs` shows both).
//!
//! Between a round's labels and the next round's draw, splits and merges of whole components may be tried (`attempt.rs`), which are ours, not the
//! paper's: sweeps alone seldom change large components.
//!
//! From a cold start no row is in a component: the first round's sticks are broken until they leave less than one row, and rows are seated
//! by weight and likelihood. A worker that comes back without memory is seated likewise, among the components there are.

mod attempt;
mod census;
mod coordinator;
mod draw;
mod sides;
#[cfg(test)]
mod tests;
mod worker;

pub use self::coordinator::SliceCoordinator;
pub use self::worker::SliceWorker;
