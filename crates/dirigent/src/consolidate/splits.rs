//! Splits: beyond the paper. A component is split into its halves with probability min(1, 1/ρ(left, right)).
//!
//! Every component keeps halves for a *trial* of a few cycles. A trial that leads to nothing is followed by a rest, each longer than the one
//! before, and then by new halves from another cut: a settled component costs next to nothing, and one that changes is tried again at once,
//! because a merge begins anew.

use super::progressive::ConsolidateInfo;
use super::{ComponentId, MergeRatio, PieceKey, Pool, ShardId, Trial};
use crate::family::Conjugate;
use crate::halves::Half;
use crate::rng::Stream;

/// Cycles that halves are kept for: one to cut, the others to draw.
const TRIAL: u32 = 5;
/// Cycles of the longest rest.
const LONGEST_REST: u32 = 16;

/// Puts the pieces of a shard that came without a half of the current generation (births, and what was said of an older one) whole into
/// one, drawn by ρ(half, piece); an empty half weighs 1.
pub fn place(pool: &mut Pool, shard: ShardId, family: &dyn Conjugate, alpha: f64, rng: &mut Stream) {
    let ratio = MergeRatio::new(family, alpha);
    let is_outside = |(key, piece): (PieceKey, &super::Piece)| {
        (piece.stats.is_some() && piece.half.is_none()).then_some((key, piece.owner))
    };
    let outside: Vec<(PieceKey, ComponentId)> = pool.pieces_of(shard).filter_map(is_outside).collect();
    for (key, owner) in outside {
        let halves = pool.half_totals(owner);
        if halves.iter().all(Option::is_none) {
            continue;
        }
        let stats = pool.piece(key).and_then(|piece| piece.stats.clone()).expect("it has rows");
        let piece = super::Weighed::new(family, stats);
        let log_weights = halves.map(|half| half.map_or(0.0, |half| ratio.log(half, &piece)));
        let half = Half::BOTH[rng.categorical(&log_weights)];
        pool.set_half(key, half);
        pool.settle(family);
    }
}

/// Proposes to split every component that can be. The pairs that came of it are returned.
pub fn propose(
    pool: &mut Pool,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> Vec<(ComponentId, ComponentId)> {
    let ratio = MergeRatio::new(family, alpha);
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).filter(|id| pool.is_splittable(*id)).collect();
    let mut children = Vec::new();
    for id in ids {
        let [Some(left), Some(right)] = pool.half_totals(id) else { continue };
        if libm::log(rng.uniform_positive()) < -ratio.log(left, right) {
            children.push(pool.split_into_halves(id, family));
        }
    }
    children
}

/// Lets a cycle pass: trials that have taken long enough end in a rest, rests end in a new trial.
pub fn age(pool: &mut Pool) {
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).collect();
    for id in ids {
        let trial = pool.trial(id);
        pool.set_trial(id, after_a_cycle(trial));
    }
}

fn after_a_cycle(trial: Trial) -> Trial {
    let Trial { generation, is_on, age, n_failures } = trial;
    let age = age + 1;
    match is_on {
        true if age > TRIAL => Trial { generation, is_on: false, age: 0, n_failures: n_failures + 1 },
        false if age >= rest_after(n_failures) => Trial { generation: generation + 1, is_on: true, age: 0, n_failures },
        _ => Trial { age, ..trial },
    }
}

/// 1, 2, 4, … cycles.
fn rest_after(n_failures: u32) -> u32 {
    1u32.checked_shl(n_failures.saturating_sub(1)).map_or(LONGEST_REST, |rest| rest.min(LONGEST_REST))
}

/// Counts what splits and merges did.
pub fn info(n_splits: usize, n_merges: usize) -> ConsolidateInfo {
    ConsolidateInfo { births: 0, merges: n_merges as u64, splits: n_splits as u64 }
}
