//! The fast scorer of spherical Gaussians with few columns: distances, a row at a time.
//!
//! With κ = κ₀ + n and mean μ = (κ₀m₀ + Σx)/κ (all about the offset), log w = [ln n − D/2 ln((κ+1)/κ)] − κ/2σ²(κ+1) ‖x − μ‖². A few
//! columns cost nothing beside the draw, so each row is scored against the current table and nothing is ever stale.

use std::ops::Range;

use super::batch::Scorer;
use super::kernel::{Arithmetic, LANES};
use super::log_base::LogBases;
use crate::family::{Conjugate, GaussianFixed};
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Scores rows of few columns against spherical Gaussians.
pub(crate) struct GaussianNarrowScorer {
    family: GaussianFixed,
    n_columns: usize,
    prior_rows: f64,
    prior_mean: Vec<f64>,
    /// 1/2σ².
    half_precision: f64,
    log_bases: LogBases,
    counts: Vec<i64>,
    /// κ₀m₀ + Σx, `n_columns` numbers a slot.
    sums: Vec<f64>,
    /// Means in single precision: vectors of slots, column after column.
    means: Vec<[f32; LANES]>,
    /// ln n − D/2 ln((κ+1)/κ), −∞ for a free slot.
    constants: Vec<[f32; LANES]>,
    /// κ/2σ²(κ+1).
    scales: Vec<[f32; LANES]>,
    /// The current row about the offset.
    row: Vec<f64>,
}

impl GaussianNarrowScorer {
    pub(crate) fn new(family: GaussianFixed) -> Self {
        let n_columns = family.stats_len();
        Self {
            n_columns,
            prior_rows: family.prior_rows(),
            prior_mean: family.centred_prior_mean().collect(),
            half_precision: 0.5 * family.noise_sd.powi(-2),
            log_bases: LogBases::new(&family),
            counts: Vec::new(),
            sums: Vec::new(),
            means: Vec::new(),
            constants: Vec::new(),
            scales: Vec::new(),
            row: vec![0.0; n_columns],
            family,
        }
    }

    /// The log-weight of a component of `count` rows whose sums are the slot's less `taken_out` times the row.
    #[inline(always)]
    fn log_weight_of(&self, slot: usize, count: i64, taken_out: f64) -> f64 {
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let rows = self.prior_rows + count as f64;
        let sums = &self.sums[slot * self.n_columns..(slot + 1) * self.n_columns];
        let inverse = 1.0 / rows;
        let distance: f64 =
            self.row.iter().zip(sums).map(|(x, sum)| (x - (sum - taken_out * x) * inverse).powi(2)).sum();
        self.log_bases.of(count) - self.scale(rows) * distance
    }

    #[inline(always)]
    fn scale(&self, rows: f64) -> f64 {
        self.half_precision * rows / (rows + 1.0)
    }

    #[inline(always)]
    fn change(&mut self, slot: usize, sign: f64) {
        self.counts[slot] += sign as i64;
        let sums = &mut self.sums[slot * self.n_columns..(slot + 1) * self.n_columns];
        for (sum, x) in sums.iter_mut().zip(&self.row) {
            *sum += sign * x;
        }
        self.write_table(slot);
    }

    #[inline(always)]
    fn write_table(&mut self, slot: usize) {
        let (vector, lane, count) = (slot / LANES, slot % LANES, self.counts[slot]);
        if count == 0 {
            self.free(slot);
            return;
        }
        let rows = self.prior_rows + count as f64;
        let inverse = 1.0 / rows;
        for column in 0..self.n_columns {
            self.means[vector * self.n_columns + column][lane] =
                (self.sums[slot * self.n_columns + column] * inverse) as f32;
        }
        self.constants[vector][lane] = self.log_bases.of(count) as f32;
        self.scales[vector][lane] = self.scale(rows) as f32;
    }

    /// Leaves exactly the prior, not the prior up to rounding.
    #[cold]
    fn free(&mut self, slot: usize) {
        self.constants[slot / LANES][slot % LANES] = f32::NEG_INFINITY;
        for (sum, mean) in self.sums[slot * self.n_columns..].iter_mut().zip(&self.prior_mean) {
            *sum = self.prior_rows * mean;
        }
    }

    #[inline(always)]
    fn read(&mut self, row: Row<'_>) {
        match row {
            Row::F32(numbers) => self.family.centre(numbers, &mut self.row),
            Row::F64(numbers) => self.family.centre(numbers, &mut self.row),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        }
    }
}

impl Scorer for GaussianNarrowScorer {
    type Family = GaussianFixed;

    fn family(&self) -> &GaussianFixed {
        &self.family
    }

    #[inline(always)]
    fn batch(&self) -> usize {
        1
    }

    fn load(&mut self, components: &[Stats]) {
        self.counts.clear();
        self.sums.clear();
        self.means.clear();
        self.constants.clear();
        self.scales.clear();
        while self.counts.len() < components.len().max(1) {
            self.grow();
        }
        for (slot, stats) in components.iter().enumerate() {
            self.counts[slot] = stats.count;
            let sums = &mut self.sums[slot * self.n_columns..];
            sums.iter_mut().zip(stats.dense()).for_each(|(sum, of_rows)| *sum += of_rows);
        }
        self.log_bases.prepare(&self.counts);
        (0..components.len()).for_each(|slot| self.write_table(slot));
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn grow(&mut self) {
        let first = self.counts.len();
        self.counts.resize(first + LANES, 0);
        self.sums.resize((first + LANES) * self.n_columns, 0.0);
        self.means.resize((first / LANES + 1) * self.n_columns, [0.0; LANES]);
        self.constants.push([f32::NEG_INFINITY; LANES]);
        self.scales.push([0.0; LANES]);
        (first..first + LANES).for_each(|slot| self.free(slot));
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, scores: &mut [[f32; LANES]]) {
        self.read(shard.row(rows.start));
        for (vector, scores) in scores.iter_mut().enumerate() {
            let means = &self.means[vector * self.n_columns..(vector + 1) * self.n_columns];
            let mut distances = [0.0f32; LANES];
            for (x, means) in self.row.iter().zip(means) {
                let x = *x as f32;
                for lane in 0..LANES {
                    let difference = x - means[lane];
                    distances[lane] = A::mul_add(difference, difference, distances[lane]);
                }
            }
            let (constants, scales) = (&self.constants[vector], &self.scales[vector]);
            for lane in 0..LANES {
                scores[lane] = A::mul_add(-scales[lane], distances[lane], constants[lane]);
            }
        }
    }

    #[inline(always)]
    fn log_weight(&self, _in_batch: usize, slot: usize) -> f64 {
        self.log_weight_of(slot, self.counts[slot], 0.0)
    }

    #[inline(always)]
    fn log_weight_without(&self, _in_batch: usize, slot: usize) -> f64 {
        self.log_weight_of(slot, self.counts[slot] - 1, 1.0)
    }

    #[inline(always)]
    fn log_weight_new(&self, _in_batch: usize) -> f64 {
        let distance: f64 = self.row.iter().zip(&self.prior_mean).map(|(x, mean)| (x - mean).powi(2)).sum();
        self.log_bases.of(0) - self.scale(self.prior_rows) * distance
    }

    #[inline(always)]
    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1.0);
    }

    #[inline(always)]
    fn remove(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, -1.0);
    }
}
