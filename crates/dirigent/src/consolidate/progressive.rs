//! Algorithm 1: progressive consolidation.
//!
//! Births come one by one; each is merged into component k with probability ∝ ρ(S_k, S') or stays a component of its own with weight 1.

use super::{PieceKey, Pool, Weighed, log_merge_ratio};
use crate::family::Conjugate;
use crate::rng::Stream;
use crate::stats::Stats;

/// What consolidation did; the algorithm never reads it back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConsolidateInfo {
    /// Births that arrived.
    pub births: u64,
    /// Births or components that were merged into another component.
    pub merges: u64,
    /// Components that were split.
    pub splits: u64,
}

impl std::ops::AddAssign for ConsolidateInfo {
    fn add_assign(&mut self, other: Self) {
        self.births += other.births;
        self.merges += other.merges;
        self.splits += other.splits;
    }
}

/// Takes births into a settled pool, in the given order.
pub fn absorb(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    let mut info = ConsolidateInfo::default();
    for (key, stats) in births {
        let birth = Weighed::new(family, stats);
        let (ids, mut log_weights): (Vec<_>, Vec<_>) =
            pool.live().map(|(id, total)| (id, log_merge_ratio(family, alpha, total, &birth))).unzip();
        log_weights.push(0.0);
        let choice = rng.categorical(&log_weights);
        let owner = ids.get(choice).copied().unwrap_or_else(|| pool.mint());
        pool.enter(key, Some(birth.stats), owner);
        pool.settle(family);
        info.births += 1;
        info.merges += u64::from(choice < ids.len());
    }
    info
}
