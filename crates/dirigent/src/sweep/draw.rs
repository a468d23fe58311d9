//! Drawing a slot from its log-weights: no logarithm, no store of a running sum, short chains of dependent additions.
//!
//! The order in which a draw by inversion passes the slots is free. The row's own component comes first: most rows stay, and then
//! nothing else is looked at. The others are passed lane by lane: first the lane is found from [`LANES`] sums, then the block
//! within the lane, then the slot within the block. A new component comes last.

use super::kernel::{Arithmetic, LANES, exp};

/// Vectors of one block.
const BLOCK: usize = 8;

/// The weights of one row; buffers are reused from row to row.
#[derive(Debug, Default)]
pub(crate) struct Draw {
    /// exp(log-weight − largest) of every slot.
    weights: Vec<[f32; LANES]>,
    /// Sums of every block's lanes.
    block_sums: Vec<[f32; LANES]>,
    /// Sums of whole lanes.
    lane_sums: [f64; LANES],
    own: f64,
    new: f64,
    largest: f64,
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Own,
    Slot(usize),
    New,
}

impl Draw {
    /// Turns log-weights into weights. The row's own slot has no weight among the slots.
    #[inline(always)]
    pub(crate) fn weigh<A: Arithmetic>(&mut self, log_weights: &[[f32; LANES]], log_own: f64, log_new: f64) {
        let largest = largest(log_weights).max(log_own.max(log_new) as f32);
        self.largest = f64::from(largest);
        self.own = f64::from(exp::<A>((log_own - self.largest) as f32));
        self.new = f64::from(exp::<A>((log_new - self.largest) as f32));
        self.weights.resize(log_weights.len(), [0.0; LANES]);
        self.block_sums.resize(log_weights.len().div_ceil(BLOCK), [0.0; LANES]);
        let mut lane_sums = [0.0; LANES];
        let blocks = log_weights.chunks(BLOCK).zip(self.weights.chunks_mut(BLOCK)).zip(&mut self.block_sums);
        for ((logs, weights), block_sum) in blocks {
            let mut sum = [0.0f32; LANES];
            for (log, weight) in logs.iter().zip(weights) {
                for lane in 0..LANES {
                    weight[lane] = exp::<A>(log[lane] - largest);
                    sum[lane] += weight[lane];
                }
            }
            *block_sum = sum;
            for lane in 0..LANES {
                lane_sums[lane] += f64::from(sum[lane]);
            }
        }
        self.lane_sums = lane_sums;
    }

    #[inline(always)]
    fn total(&self) -> f64 {
        self.lane_sums.iter().sum::<f64>() + self.own + self.new
    }

    /// Recomputes the weights above a share of the total from exact log-weights.
    #[inline(always)]
    pub(crate) fn refine(&mut self, share: f64, log_weight: impl Fn(usize) -> f64) {
        let threshold = (share * self.total()) as f32;
        for block in 0..self.block_sums.len() {
            if self.block_sums[block].iter().any(|&sum| sum > threshold) {
                self.refine_block(block, threshold, &log_weight);
            }
        }
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
                    *weight = libm::exp(log_weight(vector * LANES + lane) - self.largest) as f32;
                }
                sum += *weight;
            }
            self.lane_sums[lane] += f64::from(sum) - f64::from(self.block_sums[block][lane]);
            self.block_sums[block][lane] = sum;
        }
    }

    /// Draws with probability proportional to the weights; `uniform` is on [0, 1).
    #[inline(always)]
    pub(crate) fn pick(&self, uniform: f64) -> Choice {
        let target = uniform * self.total();
        if target < self.own { Choice::Own } else { self.find(target - self.own) }
    }

    /// The slot at which the running sum passes `target`.
    #[inline(always)]
    fn find(&self, target: f64) -> Choice {
        let mut rest = target;
        let Some(lane) = pass(self.lane_sums.iter().copied(), &mut rest) else {
            // rounding may pass the end although a new component has no weight
            return if self.new > 0.0 { Choice::New } else { self.heaviest() };
        };
        let block = pass(self.block_sums.iter().map(|sums| f64::from(sums[lane])), &mut rest);
        let vectors = block.map(|block| block * BLOCK..(block * BLOCK + BLOCK).min(self.weights.len()));
        let found = vectors.and_then(|vectors| {
            let first = vectors.start;
            pass(self.weights[vectors].iter().map(|weights| f64::from(weights[lane])), &mut rest).map(|ix| first + ix)
        });
        // a crumb of rounding at the end of a block: less than 1e-6 of the mass, and the heaviest can carry it
        found.map_or_else(|| self.heaviest(), |vector| Choice::Slot(vector * LANES + lane))
    }

    #[cold]
    fn heaviest(&self) -> Choice {
        let weights = self.weights.as_flattened();
        let heaviest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b]));
        match heaviest {
            Some(slot) if f64::from(weights[slot]) > self.own => Choice::Slot(slot),
            _ => Choice::Own,
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
        let total = self.total();
        weights.iter().map(|weight| weight / total).collect()
    }
}

/// The first index at which the running sum exceeds `rest`, which is lowered by what was passed.
#[inline(always)]
fn pass(sums: impl Iterator<Item = f64>, rest: &mut f64) -> Option<usize> {
    for (ix, sum) in sums.enumerate() {
        if *rest < sum {
            return Some(ix);
        }
        *rest -= sum;
    }
    None
}

#[inline(always)]
fn largest(log_weights: &[[f32; LANES]]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for logs in log_weights {
        for lane in 0..LANES {
            lanes[lane] = if logs[lane] > lanes[lane] { logs[lane] } else { lanes[lane] };
        }
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}
