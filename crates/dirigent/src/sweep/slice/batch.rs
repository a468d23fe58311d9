//! The one fast algorithm: a batch of rows is scored in single precision, each row against the
//! prefix its slice allows; what decides is recomputed in double precision.

use std::ops::Range;

use super::{DrawnComponents, SliceSampler, n_allowed, sides};
use crate::family::Family;
use crate::interrupt::Interrupt;
use crate::rng::Stream;
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::draw::{Draw, SlotChoice};
use crate::sweep::kernel::{self, Arithmetic, Kernel, LANES, Task};
use crate::sweep::{UNASSIGNED, reference};

/// Scores rows against drawn components by log f(x|φ), up to a constant of the row.
pub(super) trait SliceScorer: Send {
    type Family: Family;

    /// Rows that are scored together.
    const BATCH: usize;

    fn family(&self) -> &Self::Family;

    /// The share of the total above which a weight is recomputed in double precision, where single
    /// precision is too coarse.
    fn refine_above(&self) -> Option<f64>;

    /// Takes over the parameters, one component after another.
    fn load(&mut self, parameters: &[f64]);

    /// Makes `rows` the current batch and scores each at least against its first `n_allowed`
    /// components. A row's scores are `n_vectors` apart; beyond the components there are, they may
    /// be anything.
    fn score<A: Arithmetic>(
        &mut self,
        shard: &Shard,
        rows: Range<usize>,
        n_allowed: &[usize],
        n_vectors: usize,
        scores: &mut [[f32; LANES]],
    );

    /// The same in double precision, of one component.
    fn log_likelihood(&self, in_batch: usize, component: usize) -> f64;
}

/// A slice sampler that scores in batches.
pub(super) struct BatchSliceSampler<S> {
    scorer: S,
    shard: Shard,
    labels: Vec<u32>,
    kernel: Kernel,
    buffers: SliceBuffers,
    interrupt: Interrupt,
}

/// Reused from batch to batch: the hot path allocates nothing.
#[derive(Default)]
struct SliceBuffers {
    scores: Vec<[f32; LANES]>,
    n_vectors: usize,
    n_allowed: Vec<usize>,
    /// Logs of the components' weights, by which rows without a component are seated.
    log_weights: Vec<f64>,
    draw: Draw,
}

impl<S: SliceScorer> BatchSliceSampler<S> {
    pub(super) fn new(scorer: S, shard: Shard, kernel: Kernel) -> Self {
        let labels = vec![UNASSIGNED; shard.n_rows()];
        Self { scorer, shard, labels, kernel, buffers: SliceBuffers::default(), interrupt: Interrupt::new() }
    }

    /// The law that a row's component is drawn from.
    #[cfg(test)]
    pub(super) fn conditional(&mut self, row_ix: usize, components: &DrawnComponents, uniform: f64) -> Vec<f64> {
        struct WeighSlice<'a, S>(&'a mut BatchSliceSampler<S>, usize, usize);
        impl<S: SliceScorer> Task for WeighSlice<'_, S> {
            type Output = ();
            #[inline(always)]
            fn run<A: Arithmetic>(self) {
                let BatchSliceSampler { scorer, shard, labels, buffers, .. } = self.0;
                buffers.n_allowed = vec![self.2];
                buffers.score::<A, S>(scorer, shard, self.1..self.1 + 1);
                buffers.weigh::<A, S>(scorer, 0, labels[self.1]);
            }
        }
        let own = self.labels[row_ix];
        self.scorer.load(&components.parameters);
        self.buffers.load(components);
        let n_allowed = n_allowed(&components.weights, own, uniform);
        kernel::run(self.kernel, WeighSlice(self, row_ix, n_allowed));
        let mut law = self.buffers.draw.probabilities((own != UNASSIGNED).then_some(own as usize));
        law.resize(components.weights.len(), 0.0);
        law
    }
}

impl SliceBuffers {
    fn load(&mut self, components: &DrawnComponents) {
        self.n_vectors = components.weights.len().div_ceil(LANES);
        self.log_weights.clear();
        self.log_weights.extend(components.weights.iter().map(|weight| libm::log(*weight)));
    }

    #[inline(always)]
    fn score<A: Arithmetic, S: SliceScorer>(&mut self, scorer: &mut S, shard: &Shard, rows: Range<usize>) {
        let n_scores = rows.len() * self.n_vectors;
        if self.scores.len() < n_scores {
            self.scores.resize(n_scores, [0.0; LANES]);
        }
        scorer.score::<A>(shard, rows, &self.n_allowed, self.n_vectors, &mut self.scores[..n_scores]);
    }

    /// Weighs the components a row may be drawn to.
    #[inline(always)]
    fn weigh<A: Arithmetic, S: SliceScorer>(&mut self, scorer: &S, in_batch: usize, own: u32) {
        let n_allowed = self.n_allowed[in_batch];
        let n_vectors = n_allowed.div_ceil(LANES);
        let scores = &mut self.scores[in_batch * self.n_vectors..][..n_vectors];
        scores.as_flattened_mut()[n_allowed..].fill(f32::NEG_INFINITY);
        self.draw.resize(n_vectors);
        if own == UNASSIGNED {
            return self.weigh_seats::<A, S>(scorer, in_batch);
        }
        scores[own as usize / LANES][own as usize % LANES] = f32::NEG_INFINITY;
        let log_own = scorer.log_likelihood(in_batch, own as usize);
        self.draw.weigh::<A>(scores, log_own, f64::NEG_INFINITY);
        if let Some(share) = scorer.refine_above() {
            self.draw.refine(share, |component| scorer.log_likelihood(in_batch, component));
        }
    }

    /// The same for a row without a component: all of them, by weight and likelihood.
    #[inline(always)]
    fn weigh_seats<A: Arithmetic, S: SliceScorer>(&mut self, scorer: &S, in_batch: usize) {
        let scores = &mut self.scores[in_batch * self.n_vectors..][..self.n_vectors];
        for (score, log_weight) in scores.as_flattened_mut().iter_mut().zip(&self.log_weights) {
            *score += *log_weight as f32;
        }
        self.draw.weigh::<A>(scores, f64::NEG_INFINITY, f64::NEG_INFINITY);
        let log_weight = |component| self.log_weights[component] + scorer.log_likelihood(in_batch, component);
        if let Some(share) = scorer.refine_above() {
            self.draw.refine(share, log_weight);
        }
        if self.draw.is_empty() {
            let nearest = (0..self.log_weights.len()).max_by(|&a, &b| log_weight(a).total_cmp(&log_weight(b)));
            self.draw.give_all(nearest.expect("there are components"));
        }
    }
}

/// A draw of all labels, to be compiled for every kernel.
struct DrawLabels<'a, S> {
    sampler: &'a mut BatchSliceSampler<S>,
    weights: &'a [f64],
    slices: &'a mut Stream,
    rng: &'a mut Stream,
}

impl<S: SliceScorer> Task for DrawLabels<'_, S> {
    type Output = u64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> u64 {
        let BatchSliceSampler { scorer, shard, labels, buffers, interrupt, .. } = self.sampler;
        let n_rows = labels.len();
        let mut moved = 0;
        for first_row in (0..n_rows).step_by(S::BATCH) {
            if interrupt.is_raised() {
                break;
            }
            let rows = first_row..(first_row + S::BATCH).min(n_rows);
            buffers.n_allowed.clear();
            for &own in &labels[rows.clone()] {
                buffers.n_allowed.push(n_allowed(self.weights, own, self.slices.uniform_positive()));
            }
            buffers.score::<A, S>(scorer, shard, rows.clone());
            for (in_batch, label) in labels[rows].iter_mut().enumerate() {
                buffers.weigh::<A, S>(scorer, in_batch, *label);
                if let SlotChoice::Slot(component) = buffers.draw.pick(self.rng.uniform()) {
                    *label = component as u32;
                    moved += 1;
                }
            }
        }
        moved
    }
}

impl<S: SliceScorer> SliceSampler for BatchSliceSampler<S> {
    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn set_labels(&mut self, labels: Vec<u32>) {
        assert_eq!(labels.len(), self.shard.n_rows(), "one label a row");
        self.labels = labels;
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    fn draw_labels(&mut self, components: &DrawnComponents, slices: &mut Stream, rng: &mut Stream) -> u64 {
        let weights = &components.weights;
        assert!(!weights.is_empty() && weights.is_sorted_by(|a, b| a >= b), "components by falling weight");
        self.scorer.load(&components.parameters);
        self.buffers.load(components);
        let kernel = self.kernel;
        kernel::run(kernel, DrawLabels { sampler: self, weights, slices, rng })
    }

    fn contributions(&self, n_components: usize) -> Vec<Stats> {
        reference::contributions(self.scorer.family(), &self.shard, &self.labels, n_components)
    }

    fn log_odds(&self, rows: &[usize], parameters: &[f64]) -> Vec<f64> {
        sides::log_odds(self.scorer.family(), &self.shard, rows, parameters)
    }

    fn statistics(&self, rows: &[usize]) -> Stats {
        sides::statistics(self.scorer.family(), &self.shard, rows)
    }

    fn sum_log_base(&self) -> f64 {
        self.shard.rows().map(|row| self.scorer.family().log_base_measure(row)).sum()
    }
}
