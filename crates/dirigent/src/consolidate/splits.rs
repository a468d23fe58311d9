//! Splits: beyond the paper. A component is split into its halves with log-probability min(0, −log ρ(left, right) − L(left, right)).
//!
//! Every component keeps halves for a *trial* of a few cycles, longer as long as ρ falls. A trial that leads to nothing is followed by a rest, each
//! longer than the one before, and then by new halves from another cut: a settled component costs next to nothing, and one that has
//! changed is tried again at once, because a merge begins anew.

use super::progressive::ConsolidateInfo;
use super::{ComponentId, LabelEntropy, MergeRatio, PieceKey, Pool, ShardId, Trial};
use crate::family::Conjugate;
use crate::halves::Half;
use crate::rng::Stream;

/// Cycles that halves are kept for at least: one to cut, the others to draw. A component that was tried in vain is tried for fewer.
const SHORTEST_FIRST_TRIAL: u32 = 3;
const SHORTEST_TRIAL: u32 = 2;
/// A trial goes on while log ρ is below this part of what it was a cycle before.
const PROGRESS: f64 = 0.9;
/// Cycles of the first rest and of the longest; each is so many times longer than the one before.
const FIRST_REST: u32 = 2;
const LONGER: u32 = 4;
const LONGEST_REST: u32 = 32;
/// A rest lasts no longer than a cycle for so many components: where there are few, trials cost little, and one that is wrong is much of the model.
const COMPONENTS_A_CYCLE: usize = 8;

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
        let piece = super::WeighedStats::new(family, stats);
        let log_weights = halves.map(|half| half.map_or(0.0, |half| ratio.log(half, &piece)));
        let half = Half::BOTH[rng.categorical(&log_weights)];
        pool.set_half(key, half);
        pool.settle(family);
    }
}

/// Proposes to split every component that can be, with log-probability min(0, −log ρ − L) of its halves. The pairs that came of it are returned.
pub fn propose(
    pool: &mut Pool,
    entropy: &LabelEntropy,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> Vec<(ComponentId, ComponentId)> {
    let ratio = MergeRatio::new(family, alpha);
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).filter(|id| pool.is_splittable(*id)).collect();
    let mut children = Vec::new();
    for id in ids {
        let [Some(left), Some(right)] = pool.half_totals(id) else { continue };
        if libm::log(rng.uniform_positive()) < -ratio.log(left, right) - entropy.of_halves(id) {
            children.push(pool.split_into_halves(id, family));
        }
    }
    children
}

/// Lets a cycle pass: trials that get nowhere end in a rest, rests end in a new trial.
pub fn age(pool: &mut Pool, entropy: &LabelEntropy, family: &dyn Conjugate, alpha: f64) {
    let ratio = MergeRatio::new(family, alpha);
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).collect();
    let longest_rest = longest_rest(ids.len());
    for id in ids {
        let log_ratio = match pool.half_totals(id) {
            [Some(left), Some(right)] => Some(ratio.log(left, right) + entropy.of_halves(id)),
            _ => None,
        };
        pool.set_trial(id, after_a_cycle(pool.trial(id), log_ratio, longest_rest));
    }
}

/// `log_ratio` is log ρ(left, right), if both have rows.
fn after_a_cycle(trial: Trial, log_ratio: Option<f64>, longest_rest: u32) -> Trial {
    let age = trial.age + 1;
    if trial.is_on {
        let makes_progress = match (trial.log_ratio, log_ratio) {
            (Some(before), Some(now)) => now < PROGRESS * before,
            _ => false,
        };
        let shortest = if trial.n_failures == 0 { SHORTEST_FIRST_TRIAL } else { SHORTEST_TRIAL };
        let is_over = age >= shortest && !makes_progress;
        let n_failures = trial.n_failures + u32::from(is_over);
        return Trial { is_on: !is_over, age: if is_over { 0 } else { age }, n_failures, log_ratio, ..trial };
    }
    let rests_on = age < rest_after(trial.n_failures).min(longest_rest);
    let generation = trial.generation + u32::from(!rests_on);
    Trial { generation, is_on: !rests_on, age: if rests_on { age } else { 0 }, log_ratio: None, ..trial }
}

/// 2, 8, 32, 128, … cycles.
fn rest_after(n_failures: u32) -> u32 {
    FIRST_REST.saturating_mul(LONGER.saturating_pow(n_failures.saturating_sub(1)))
}

fn longest_rest(n_components: usize) -> u32 {
    ((n_components / COMPONENTS_A_CYCLE) as u32).clamp(FIRST_REST, LONGEST_REST)
}

/// Counts what splits and merges did.
pub(crate) fn info(n_splits: usize, n_merges: usize) -> ConsolidateInfo {
    ConsolidateInfo { births: 0, merges: n_merges as u64, splits: n_splits as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each cycle whether halves are kept, given log ρ at its end.
    fn run(log_ratios: impl IntoIterator<Item = Option<f64>>, n_components: usize) -> Vec<bool> {
        let mut trial = Trial { is_on: true, ..Trial::default() };
        let mut step = |log_ratio| {
            let was_on = trial.is_on;
            trial = after_a_cycle(trial, log_ratio, longest_rest(n_components));
            was_on
        };
        log_ratios.into_iter().map(&mut step).collect()
    }

    #[test]
    fn trials_that_get_nowhere_are_short_and_their_rests_grow() {
        for (n_components, expected) in [(1000, [2, 8, 32, 32]), (40, [2, 5, 5, 5]), (1, [2, 2, 2, 2])] {
            let on = run(vec![Some(100.0); 100], n_components);
            let lengths: Vec<(bool, usize)> = on.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
            let rests: Vec<usize> = lengths.iter().filter(|(is_on, _)| !is_on).map(|(_, length)| *length).collect();
            assert_eq!(rests[..4], expected, "{n_components} components");
            let trials: Vec<usize> = lengths.iter().filter(|(is_on, _)| *is_on).map(|(_, length)| *length).collect();
            assert_eq!(trials[..4], [3, 2, 2, 2]);
        }
    }

    #[test]
    fn a_trial_goes_on_while_halves_part() {
        assert_eq!(run((0..12).map(|cycle| Some(1000.0 * 0.8f64.powi(cycle))), 1000), [true; 12]);
        assert_eq!(rest_after(100), u32::MAX);
    }
}
