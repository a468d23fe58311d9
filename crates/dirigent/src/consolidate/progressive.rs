//! Algorithm 1: progressive consolidation.
//!
//! Births come one by one; each is merged into component k with probability ∝ ρ(S_k, S') or stays a
//! component of its own with weight 1.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::sketches::Sketches;
use super::{MergeRatio, PieceKey, Pool, WeighedStats, by_words};
use crate::family::Conjugate;
use crate::rng::Stream;
use crate::stats::Stats;

/// What consolidation did; the algorithm never reads it back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// Births whose ratios are computed together.
const BATCH: usize = 32;

struct Birth {
    key: PieceKey,
    set: WeighedStats,
    /// log ρ with every component.
    log_weights: Vec<f64>,
}

/// Takes births into a settled pool, in the given order.
pub fn absorb(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    match family.word_index(&mut births.iter().map(|(_, stats)| stats)) {
        Some(index) => by_words::absorb(pool, births, index, family, alpha, rng),
        None => absorb_in_batches(pool, births, family, alpha, rng),
    }
}

/// For any family.
pub(super) fn absorb_in_batches(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    let ratio = MergeRatio::new(family, alpha);
    let mut info = ConsolidateInfo { births: births.len() as u64, ..ConsolidateInfo::default() };
    let weigh = |(key, stats)| Birth { key, set: WeighedStats::new(family, stats), log_weights: Vec::new() };
    let mut births = births.into_iter().map(weigh);
    loop {
        let batch: VecDeque<Birth> = births.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            return info;
        }
        info.merges += absorb_batch(pool, batch, &ratio, rng);
    }
}

/// Components that a birth is compared with, where only near ones are.
const NEAREST: usize = 16;

/// The same for many births and components, beyond the paper: each birth is compared with the
/// components near it only. Documents, whose sketch does not tell well enough what is near, are
/// compared with all by their words.
pub fn absorb_near(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    if family.has_counts() {
        return absorb(pool, births, family, alpha, rng);
    }
    let ratio = MergeRatio::new(family, alpha);
    let mut info = ConsolidateInfo { births: births.len() as u64, ..ConsolidateInfo::default() };
    let mut sketches = Sketches::default();
    let mut ids = Vec::new();
    for (id, total) in pool.live() {
        sketches.set(ids.len(), &family.sketch(&total.stats));
        ids.push(id);
    }
    for (key, stats) in births {
        let near = sketches.nearest(&family.sketch(&stats), NEAREST, None);
        let birth = WeighedStats::new(family, stats);
        let log_ratio = |ix: &usize| ratio.log(pool.total(ids[*ix]).expect("it has rows"), &birth);
        let log_weights: Vec<f64> = near.iter().map(log_ratio).chain([0.0]).collect();
        let chosen = near.get(rng.categorical(&log_weights)).copied().unwrap_or(ids.len());
        if chosen < ids.len() {
            info.merges += 1;
        } else {
            ids.push(pool.mint());
        }
        pool.enter(key, Some(birth.stats), ids[chosen]);
        pool.settle(family);
        sketches.set(chosen, &family.sketch(&pool.total(ids[chosen]).expect("it has rows").stats));
    }
    info
}

/// One by one, but the components are gone through once for the ratios with all of them. Returns
/// how many were merged.
fn absorb_batch(pool: &mut Pool, mut batch: VecDeque<Birth>, ratio: &MergeRatio<'_>, rng: &mut Stream) -> u64 {
    let (mut ids, mut n_merged) = (Vec::new(), 0);
    for (id, total) in pool.live() {
        set_ratios(&mut batch, ids.len(), total, ratio);
        ids.push(id);
    }
    while let Some(Birth { key, set, mut log_weights }) = batch.pop_front() {
        log_weights.push(0.0);
        let choice = rng.categorical(&log_weights);
        if choice < ids.len() {
            n_merged += 1;
        } else {
            ids.push(pool.mint());
        }
        pool.enter(key, Some(set.stats), ids[choice]);
        pool.settle(ratio.family);
        set_ratios(&mut batch, choice, pool.total(ids[choice]).expect("it has rows"), ratio);
    }
    n_merged
}

/// Sets log ρ of all births with one component, which may be a new one.
fn set_ratios(batch: &mut VecDeque<Birth>, component_ix: usize, total: &WeighedStats, ratio: &MergeRatio<'_>) {
    for birth in batch {
        birth.log_weights.resize(birth.log_weights.len().max(component_ix + 1), 0.0);
        birth.log_weights[component_ix] = ratio.log(total, &birth.set);
    }
}
