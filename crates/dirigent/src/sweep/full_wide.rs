//! The fast scorer of Gaussians with full covariances and many columns: a vector of rows times one
//! triangle after another.
//!
//! A batch is one vector of rows. The triangles are read once a batch, at a speed that any cache
//! has, and few components change within it: each of those costs a triangle in double precision for
//! every row that is left.

use std::ops::Range;

use super::batch::{Scorer, mask};
use super::component_halves::{ComponentHalves, LocalComponent};
use super::full_component::{FullComponent, SharedPrior};
use super::full_narrow::weigh;
use super::full_shape::Wide;
use super::full_tiles::{RowVector, Tiles};
use super::kernel::{Arithmetic, LANES, lanes, quick_log};
use crate::cholesky::diagonal;
use crate::family::{Conjugate, GaussianFull};
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Weights with a larger share are recomputed in double precision.
const REFINE_ABOVE: f64 = 0.001;

/// How far above all others a row's own log-weight must be to be left in single precision.
const CLEAR: f64 = 15.0;
/// What must be left of the determinant without the row then.
const MUCH_LEFT: f64 = 0.1;

/// Scores rows against Gaussians with full covariances.
pub(crate) struct FullWideScorer {
    shared: SharedPrior,
    n_columns: usize,
    empty: FullComponent<Wide>,
    /// The diagonal of the prior's W, where the rest of it is zeros.
    prior_roots: Option<Vec<f64>>,
    components: Vec<FullComponent<Wide>>,
    counts: Vec<i64>,
    tiles: Tiles,
    /// Constant and exponent of each slot, in single precision.
    weights: Vec<(f32, f32)>,
    /// Slots whose part of the table is out of date.
    stale: Vec<usize>,
    is_stale: Vec<bool>,
    /// The rows of the current batch after offset and scale.
    rows: Vec<f64>,
    vector: RowVector,
    log_news: [f64; LANES],
    /// Log-weights of the rows' own slots without them, where those are clearly the rows' slots.
    clear: [Option<f64>; LANES],
    halves: ComponentHalves<FullComponent<Wide>>,
}

impl FullWideScorer {
    pub(crate) fn new(family: GaussianFull) -> Self {
        let (n_columns, is_diagonal) = (family.n_columns(), family.has_diagonal_prior());
        let shared = SharedPrior::new(family);
        let empty = FullComponent::<Wide>::empty(&shared);
        let roots = || (0..n_columns).map(|i| empty.shape.whitening[diagonal(i)]).collect();
        Self {
            prior_roots: is_diagonal.then(roots),
            empty,
            n_columns,
            components: Vec::new(),
            counts: Vec::new(),
            tiles: Tiles::new(n_columns),
            weights: Vec::new(),
            stale: Vec::new(),
            is_stale: Vec::new(),
            rows: vec![0.0; LANES * n_columns],
            vector: RowVector::new(n_columns),
            log_news: [0.0; LANES],
            clear: [None; LANES],
            halves: ComponentHalves::default(),
            shared,
        }
    }

    #[inline(always)]
    fn row(&self, in_batch: usize) -> &[f64] {
        &self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns]
    }

    #[inline(always)]
    fn change(&mut self, in_batch: usize, slot: usize, sign: i64) {
        let row = &self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
        self.components[slot].change(&self.shared, row, sign);
        self.counts[slot] = self.components[slot].count();
        if !self.is_stale[slot] {
            self.is_stale[slot] = true;
            self.stale.push(slot);
        }
    }

    /// Brings the table up to date with the slots that changed.
    fn refresh_table(&mut self) {
        while let Some(slot) = self.stale.pop() {
            self.is_stale[slot] = false;
            if self.counts[slot] > 0 {
                self.write_table(slot);
            }
        }
    }

    fn write_table(&mut self, slot: usize) {
        let component = &self.components[slot];
        let (constant, exponent, weight) = component.weigh(&self.shared);
        self.tiles.write(slot, &component.shape.mean, &component.shape.whitening, weight.sqrt());
        self.weights[slot] = (constant as f32, exponent as f32);
    }

    /// Free slots up to a number of vectors.
    fn resize(&mut self, n_vectors: usize) {
        let n_slots = n_vectors * LANES;
        self.counts.resize(n_slots, 0);
        self.components.resize(n_slots, self.empty.clone());
        self.weights.resize(n_slots, (f32::NEG_INFINITY, 0.0));
        self.is_stale.resize(n_slots, false);
        self.tiles.resize(n_slots);
    }

    /// The log-weight of a row's own slot without it, from its square in single precision, unless
    /// another could come near it: where every other has less than e⁻¹⁵ of its weight, its last
    /// digits decide nothing.
    #[inline(always)]
    fn clear_log_weight(&self, in_batch: usize, own: u32, square: f32, scores: &[[f32; LANES]]) -> Option<f64> {
        let count = *self.counts.get(own as usize)?;
        let component = &self.components[own as usize];
        let left = component.left(&self.shared, f64::from(square) / component.weigh(&self.shared).2);
        if count < 2 || left.is_nan() || left < MUCH_LEFT {
            return None;
        }
        let log_weight = component.log_weight_of_left(&self.shared, left);
        let largest = scores.iter().fold([f32::NEG_INFINITY; LANES], |largest, scores| {
            lanes(|lane| if scores[lane] > largest[lane] { scores[lane] } else { largest[lane] })
        });
        let largest = largest.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let others = f64::from(largest).max(self.log_news[in_batch]);
        (log_weight - others > CLEAR).then_some(log_weight)
    }

    /// The log-predictive of a row under an empty component.
    #[inline(always)]
    fn compute_log_new(&self, in_batch: usize) -> f64 {
        let (row, mean) = (self.row(in_batch), &self.empty.shape.mean);
        let Some(roots) = &self.prior_roots else { return self.empty.log_weight(&self.shared, row, false) };
        let (constant, exponent, weight) = self.empty.weigh(&self.shared);
        let whitened = row.iter().zip(mean).zip(roots).map(|((x, mean), root)| (x - mean) * root);
        constant - exponent * quick_log(1.0 + weight * whitened.map(|y| y * y).sum::<f64>())
    }

    /// Reads the rows of a batch.
    #[inline(always)]
    fn gather(&mut self, shard: &Shard, rows: Range<usize>) {
        for (in_batch, row_ix) in rows.enumerate() {
            let row = &mut self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
            self.shared.family.read(shard.row(row_ix), row);
            self.vector.write(in_batch, row);
            self.log_news[in_batch] = self.compute_log_new(in_batch);
        }
    }
}

impl Scorer for FullWideScorer {
    type Family = GaussianFull;

    const BATCH: usize = LANES;

    fn family(&self) -> &GaussianFull {
        &self.shared.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(REFINE_ABOVE)
    }

    fn load(&mut self, components: &[Stats]) {
        let counts: Vec<i64> = components.iter().map(|stats| stats.count).collect();
        self.shared.prepare(&counts);
        self.empty = FullComponent::empty(&self.shared);
        self.stale.clear();
        self.resize(0);
        self.resize(components.len().max(1).div_ceil(LANES));
        for (slot, stats) in components.iter().enumerate().filter(|(_, stats)| stats.count > 0) {
            self.components[slot] = FullComponent::of(&self.shared, stats);
            self.counts[slot] = stats.count;
            self.write_table(slot);
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn grow(&mut self) {
        let n_vectors = self.counts.len() / LANES;
        self.resize(n_vectors + 1 + n_vectors / 8);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        self.refresh_table();
        self.gather(shard, rows.clone());
        let (n_vectors, length) = (self.counts.len() / LANES, self.tiles.length());
        let mut own_squares = [0.0f32; LANES];
        for slot in 0..self.counts.len() {
            let of_slot = if self.counts[slot] == 0 {
                [f32::NEG_INFINITY; LANES]
            } else {
                let squares = self.tiles.squares::<A>(slot, length, &mut self.vector);
                own.iter()
                    .enumerate()
                    .filter(|(_, own)| **own == slot as u32)
                    .for_each(|(row, _)| own_squares[row] = squares[row]);
                let (constant, exponent) = self.weights[slot];
                lanes(|lane| weigh::<A>(squares[lane], constant, exponent))
            };
            for (in_batch, score) in of_slot.iter().take(rows.len()).enumerate() {
                scores[in_batch * n_vectors + slot / LANES][slot % LANES] = *score;
            }
        }
        mask(own, scores);
        for (in_batch, scores) in scores.chunks_exact(n_vectors).enumerate() {
            self.clear[in_batch] = self.clear_log_weight(in_batch, own[in_batch], own_squares[in_batch], scores);
        }
    }

    #[inline(always)]
    fn log_weight(&self, in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 0 {
            return f64::NEG_INFINITY;
        }
        self.components[slot].log_weight(&self.shared, self.row(in_batch), false)
    }

    #[inline(always)]
    fn log_weight_without(&self, in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 1 {
            return f64::NEG_INFINITY;
        }
        // a birth within the batch may be as near as the row's own
        if self.stale.is_empty()
            && let Some(log_weight) = self.clear[in_batch]
        {
            return log_weight;
        }
        self.components[slot].log_weight(&self.shared, self.row(in_batch), true)
    }

    #[inline(always)]
    fn log_weight_new(&self, in_batch: usize) -> f64 {
        self.log_news[in_batch]
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, _in_batch: usize) -> f64 {
        self.shared.log_unit
    }

    #[inline(always)]
    fn insert(&mut self, in_batch: usize, slot: usize) {
        self.change(in_batch, slot, 1);
    }

    #[inline(always)]
    fn remove(&mut self, in_batch: usize, slot: usize) {
        self.change(in_batch, slot, -1);
    }

    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]) {
        self.halves.load(&self.shared, halves);
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    #[inline(always)]
    fn log_half_weights(&self, in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(&self.shared, self.row(in_batch), slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, in_batch: usize, slot: usize, half: Half, sign: i64) {
        let row = &self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
        self.halves.change(&self.shared, row, slot, half, sign);
    }
}
