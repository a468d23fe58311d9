//! Drawing a slot from its log-weights: no logarithm, no store of a running sum, short chains of
//! dependent additions.
//!
//! The order in which a draw by inversion passes the slots is free. The row's own component comes
//! first: most rows stay, and then nothing else is looked at. The others are passed lane by lane:
//! first the lane is found from [`LANES`] sums, then the block within the lane, then the slot
//! within the block. A new component comes last.

use super::UNASSIGNED;
use super::kernel::{Arithmetic, LANES, exp, lanes};
use super::overlaps::{Count, Overlaps};

/// Vectors of one block.
const BLOCK: usize = 8;

/// Weights this large are too close to overflow: 2¹⁰⁰.
const TOO_LARGE: f64 = (1u128 << 100) as f64;

/// Odds to what weighs less would be beyond singles. Such a slot is drawn only by a row that is far
/// from everything.
const LEAST_WEIGHT: f64 = 1e-30;

/// Beyond 2²⁸ singles are 32 apart: what is computed relative to them may be off by as many nats.
const TOO_COARSE: f64 = (1u64 << 28) as f64;

/// The weights of one row; buffers are reused from row to row.
#[derive(Debug, Default)]
pub(crate) struct Draw {
    /// exp(log-weight − reference) of every slot.
    weights: Vec<[f32; LANES]>,
    /// Sums of every block's lanes.
    block_sums: Vec<[f32; LANES]>,
    /// Sums of whole lanes.
    lane_sums: [f64; LANES],
    own: f64,
    new: f64,
    total: f64,
    reference: f64,
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotChoice {
    Own,
    Slot(usize),
    New,
}

impl Draw {
    /// Makes room for the weights of this many vectors of slots.
    #[inline(always)]
    pub(crate) fn resize(&mut self, n_vectors: usize) {
        if self.weights.len() != n_vectors {
            self.weights.resize(n_vectors, [0.0; LANES]);
            self.block_sums.resize(n_vectors.div_ceil(BLOCK), [0.0; LANES]);
        }
    }

    /// A bound of what all others weigh together, in units of the row's own component; infinite for
    /// a row without one. Told from the largest alone, with one exponential instead of one per
    /// slot: most rows stay however the weight of the others is spread. `log_new` may be a bound
    /// from above.
    #[inline(always)]
    pub(crate) fn others_at_most<A: Arithmetic>(log_weights: &[[f32; LANES]], log_own: f64, log_new: f64) -> f64 {
        if log_own == f64::NEG_INFINITY {
            return f64::INFINITY;
        }
        // twice what they can weigh: singles are rounded
        let n_others = (2 * (log_weights.len() * LANES + 1)) as f64;
        let largest = f64::from(largest(log_weights)).max(log_new);
        n_others * f64::from(exp::<A>((largest - log_own) as f32))
    }

    /// What was drawn, counted: its probability among all, and how much more the other slots weigh.
    /// `own` is the row's slot before.
    #[inline(always)]
    pub(crate) fn count_overlaps<A: Arithmetic>(
        &self,
        choice: SlotChoice,
        own: u32,
        count: Count,
        overlaps: &mut Overlaps,
    ) {
        let (slot, weight) = match choice {
            SlotChoice::Own => (own as usize, self.own),
            SlotChoice::Slot(slot) => (slot, f64::from(self.weights[slot / LANES][slot % LANES])),
            // a birth has no overlap that others could know of
            SlotChoice::New => return overlaps.add_certainty(self.total / self.new, count),
        };
        let is_sound = weight >= LEAST_WEIGHT && self.total.is_finite();
        if !is_sound {
            return;
        }
        let inverse = 1.0 / weight;
        let total = self.total * inverse;
        overlaps.add_certainty(total, count);
        if overlaps.counts(slot) {
            if choice != SlotChoice::Own && own != UNASSIGNED {
                overlaps.add_pair(slot, own as usize, self.own * inverse);
            }
            // the slot's own weight, if the row has moved there, is in a lane that is never read
            overlaps.add_row::<A>(slot, &self.weights, inverse as f32, total, count);
        }
    }

    /// Turns log-weights into weights. The row's own slot has no weight among the slots.
    ///
    /// Weights are relative to the row's own component: it was drawn there, so that is seldom far
    /// from the largest, and a search for the largest is saved. Where it is far, or there is none,
    /// weights are relative to the largest.
    #[inline(always)]
    pub(crate) fn weigh<A: Arithmetic>(&mut self, log_weights: &[[f32; LANES]], log_own: f64, log_new: f64) {
        if log_own > f64::NEG_INFINITY {
            self.weigh_relative::<A>(log_weights, log_own, log_new, log_own as f32);
            if self.total < TOO_LARGE {
                return;
            }
        }
        let reference = largest(log_weights).max(log_own.max(log_new) as f32);
        self.weigh_relative::<A>(log_weights, log_own, log_new, reference);
        if self.total.is_nan() || self.total == 0.0 {
            self.weigh_in_singles::<A>(log_weights, log_own, log_new, reference);
        }
    }

    /// Weighs a row that is so far from everything that rounding the largest to single precision
    /// has lost it: what is no slot is rounded in the same way, and singles end at −3·10³⁸, so that
    /// the row keeps its place, or begins a component of its own.
    #[cold]
    fn weigh_in_singles<A: Arithmetic>(
        &mut self,
        log_weights: &[[f32; LANES]],
        log_own: f64,
        log_new: f64,
        reference: f32,
    ) {
        let single = |log: f64| if log > f64::NEG_INFINITY { f64::from((log as f32).max(f32::MIN)) } else { log };
        self.weigh_relative::<A>(log_weights, single(log_own), single(log_new), reference.max(f32::MIN));
    }

    #[inline(always)]
    fn weigh_relative<A: Arithmetic>(
        &mut self,
        log_weights: &[[f32; LANES]],
        log_own: f64,
        log_new: f64,
        reference: f32,
    ) {
        self.reference = f64::from(reference);
        self.own = f64::from(exp::<A>((log_own - self.reference) as f32));
        self.new = f64::from(exp::<A>((log_new - self.reference) as f32));
        let blocks = log_weights.chunks(BLOCK).zip(self.weights.chunks_mut(BLOCK)).zip(&mut self.block_sums);
        for ((logs, weights), block_sum) in blocks {
            let mut sum = [0.0f32; LANES];
            for (&logs, weights) in logs.iter().zip(weights) {
                // by value: what goes through memory within the loop is not kept in registers
                let exps: [f32; LANES] = lanes(|lane| exp::<A>(logs[lane] - reference));
                sum = lanes(|lane| sum[lane] + exps[lane]);
                *weights = exps;
            }
            *block_sum = sum;
        }
        // in a loop of its own: doubles in the loop above would halve the width of its vectors
        let mut lane_sums = [0.0; LANES];
        for sums in &self.block_sums {
            for lane in 0..LANES {
                lane_sums[lane] += f64::from(sums[lane]);
            }
        }
        self.lane_sums = lane_sums;
        self.total = add_up(lane_sums) + (self.own + self.new);
    }

    /// Recomputes the weights above a share of the total from exact log-weights; not those of a row
    /// so far from everything that the reference itself is rounded by more than exponentials bear.
    #[inline(always)]
    pub(crate) fn refine(&mut self, share: f64, log_weight: impl Fn(usize) -> f64) {
        if self.reference.abs() > TOO_COARSE {
            return;
        }
        let threshold = (share * self.total) as f32;
        for block in 0..self.block_sums.len() {
            if largest(&self.block_sums[block..=block]) > threshold {
                self.refine_block(block, threshold, &log_weight);
            }
        }
        self.total = add_up(self.lane_sums) + (self.own + self.new);
    }

    fn refine_block(&mut self, block: usize, threshold: f32, log_weight: &impl Fn(usize) -> f64) {
        let vectors = block * BLOCK..(block * BLOCK + BLOCK).min(self.weights.len());
        for lane in 0..LANES {
            if self.block_sums[block][lane] <= threshold {
                continue;
            }
            let mut sum = 0.0;
            for vector in vectors.clone() {
                let weight = &mut self.weights[vector][lane];
                if *weight > threshold {
                    *weight = libm::exp(log_weight(vector * LANES + lane) - self.reference) as f32;
                }
                sum += *weight;
            }
            self.lane_sums[lane] += f64::from(sum) - f64::from(self.block_sums[block][lane]);
            self.block_sums[block][lane] = sum;
        }
    }

    /// Whether nothing has any weight: all log-weights are beyond what singles can hold.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0.0
    }

    /// Gives one slot all the weight, where nothing has any.
    #[cold]
    pub(crate) fn give_all(&mut self, slot: usize) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        self.weights[vector][lane] = 1.0;
        self.block_sums[vector / BLOCK][lane] = 1.0;
        (self.lane_sums[lane], self.total) = (1.0, 1.0);
    }

    /// Draws with probability proportional to the weights; `uniform` is on [0, 1).
    #[inline(always)]
    pub(crate) fn pick(&self, uniform: f64) -> SlotChoice {
        let target = uniform * self.total;
        if target < self.own { SlotChoice::Own } else { self.find(target - self.own) }
    }

    /// The slot at which the running sum passes `target`.
    #[inline(always)]
    fn find(&self, target: f64) -> SlotChoice {
        let (lane, mut rest) = pass(self.lane_sums, target);
        if lane == LANES {
            // rounding may pass the end although a new component has no weight
            return if self.new > 0.0 { SlotChoice::New } else { self.heaviest() };
        }
        for (block, weights) in self.weights.chunks(BLOCK).enumerate() {
            let sum = f64::from(self.block_sums[block][lane]);
            if rest < sum {
                let mut of_lane = [0.0; BLOCK];
                of_lane.iter_mut().zip(weights).for_each(|(weight, weights)| *weight = f64::from(weights[lane]));
                let (vector, _) = pass(of_lane, rest);
                // a crumb of rounding at the end: less than 1e-6 of the mass, and the heaviest can carry it
                let is_crumb = vector == BLOCK;
                return if is_crumb {
                    self.heaviest()
                } else {
                    SlotChoice::Slot((block * BLOCK + vector) * LANES + lane)
                };
            }
            rest -= sum;
        }
        self.heaviest()
    }

    #[cold]
    fn heaviest(&self) -> SlotChoice {
        let weights = self.weights.as_flattened();
        let heaviest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        match heaviest {
            Some(slot) if f64::from(weights[slot]) > self.own => SlotChoice::Slot(slot),
            _ => SlotChoice::Own,
        }
    }

    /// The probabilities of all slots, then of a new component.
    #[cfg(test)]
    pub(crate) fn probabilities(&self, own: Option<usize>) -> Vec<f64> {
        let mut weights: Vec<f64> = self.weights.as_flattened().iter().map(|&weight| f64::from(weight)).collect();
        if let Some(own) = own {
            weights[own] = self.own;
        }
        weights.push(self.new);
        weights.iter().map(|weight| weight / self.total).collect()
    }
}

/// The first index at which the running sum exceeds `target`, or `N`; and what is left of `target`
/// there.
#[inline(always)]
fn pass<const N: usize>(sums: [f64; N], target: f64) -> (usize, f64) {
    let mut rest = target;
    for (ix, sum) in sums.into_iter().enumerate() {
        if rest < sum {
            return (ix, rest);
        }
        rest -= sum;
    }
    (N, rest)
}

/// A sum by halves: short chains of additions.
#[inline(always)]
fn add_up(mut sums: [f64; LANES]) -> f64 {
    let mut n = LANES / 2;
    while n > 0 {
        for ix in 0..n {
            sums[ix] += sums[ix + n];
        }
        n /= 2;
    }
    sums[0]
}

#[inline(always)]
fn largest(log_weights: &[[f32; LANES]]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for logs in log_weights {
        for lane in 0..LANES {
            lanes[lane] = if logs[lane] > lanes[lane] { logs[lane] } else { lanes[lane] };
        }
    }
    let mut n = LANES / 2;
    while n > 0 {
        for ix in 0..n {
            lanes[ix] = if lanes[ix + n] > lanes[ix] { lanes[ix + n] } else { lanes[ix] };
        }
        n /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Fused;
    use super::*;
    use crate::rng::{Role, Seed};

    #[test]
    fn a_row_that_surely_stays_is_one_that_would_have_been_drawn_to_stay() {
        let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
        let (mut draw, mut n_sure) = (Draw::default(), 0);
        draw.resize(3);
        for _ in 0..20_000 {
            let spread = 10.0 * rng.uniform();
            let mut some = || (spread * rng.normal() - 6.0) as f32;
            let log_weights: Vec<[f32; LANES]> = (0..3).map(|_| [(); LANES].map(|()| some())).collect();
            let (log_own, log_new) = (f64::from(some()) + 8.0, f64::from(some()));
            let uniform = rng.uniform();
            if uniform * (1.0 + Draw::others_at_most::<Fused>(&log_weights, log_own, log_new)) < 1.0 {
                n_sure += 1;
                draw.weigh::<Fused>(&log_weights, log_own, log_new);
                assert_eq!(draw.pick(uniform), SlotChoice::Own);
            }
        }
        assert!((1_000..19_000).contains(&n_sure), "{n_sure} of 20,000 rows");
        let nowhere = [[f32::NEG_INFINITY; LANES]; 3];
        let others = Draw::others_at_most::<Fused>(&nowhere, f64::NEG_INFINITY, 0.0);
        assert_eq!(others, f64::INFINITY, "a row without a component does not stay");
    }
}
