//! The fast scorer of spherical Gaussians with few columns: distances, a row at a time.
//!
//! With κ = κ₀ + n and mean μ = (κ₀m₀ + Σx)/κ (all about the offset), log w = [ln n − D/2
//! ln((κ+1)/κ)] − κ/2σ²(κ+1) ‖x − μ‖². A few columns cost nothing beside the draw, so each row is
//! scored against the current table and nothing is ever stale.
//!
//! The number of columns is part of the type, so that loops over them unroll; columns beyond those
//! of the data are zeros and add nothing to any distance.

use std::f64::consts::PI;
use std::ops::Range;

use super::batch::{Scorer, mask};
use super::gaussian_halves::{GaussianHalves, SharedNoise};
use super::gaussian_unit::Unit;
use super::kernel::{Arithmetic, LANES, lanes};
use super::log_base::LogBases;
use crate::family::{Conjugate, GaussianFixed};
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Scores rows of at most `D` columns against spherical Gaussians.
pub(crate) struct GaussianNarrowScorer<const D: usize> {
    family: GaussianFixed,
    prior_rows: f64,
    prior_mean: [f64; D],
    /// 1/2σ².
    half_precision: f64,
    unit: Unit,
    /// Constant and scale of an empty component.
    weigh_empty: (f64, f64),
    log_bases: LogBases,
    /// Rows of each slot.
    counts: Vec<i64>,
    /// κ₀m₀ + Σx of each slot.
    sums: Vec<[f64; D]>,
    table: Vec<DistancePanel<D>>,
    /// The current row about the offset.
    row: [f64; D],
    halves: GaussianHalves,
}

/// What a vector of slots is scored by, in single precision and in units of about σ.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct DistancePanel<const D: usize> {
    /// Column after column.
    means: [[f32; LANES]; D],
    /// ln n − D/2 ln((κ+1)/κ), −∞ for a free slot.
    constants: [f32; LANES],
    /// κ/2σ²(κ+1).
    scales: [f32; LANES],
}

impl<const D: usize> DistancePanel<D> {
    // a scale of 0 would make no number of an infinite distance
    const FREE: Self = Self { means: [[0.0; LANES]; D], constants: [f32::NEG_INFINITY; LANES], scales: [1.0; LANES] };

    #[inline(always)]
    fn score<A: Arithmetic>(&self, row: &[f32; D]) -> [f32; LANES] {
        let mut distances = [0.0f32; LANES];
        for (&x, &means) in row.iter().zip(&self.means) {
            for lane in 0..LANES {
                let difference = x - means[lane];
                distances[lane] = A::mul_add(difference, difference, distances[lane]);
            }
        }
        let (constants, scales) = (self.constants, self.scales);
        lanes(|lane| A::mul_add(-scales[lane], distances[lane], constants[lane]))
    }
}

/// κ/2σ²(κ+1).
#[inline(always)]
fn scale(half_precision: f64, rows: f64) -> f64 {
    half_precision * rows / (rows + 1.0)
}

impl<const D: usize> GaussianNarrowScorer<D> {
    pub(crate) fn new(family: GaussianFixed) -> Self {
        assert!(family.stats_len() <= D, "{} columns for {D}", family.stats_len());
        let mut prior_mean = [0.0; D];
        prior_mean.iter_mut().zip(family.centred_prior_mean()).for_each(|(padded, mean)| *padded = mean);
        let (prior_rows, half_precision) = (family.prior_rows(), 0.5 * family.noise_sd.powi(-2));
        let log_bases = LogBases::new(&family);
        Self {
            prior_rows,
            prior_mean,
            half_precision,
            unit: Unit::of(&family),
            weigh_empty: (log_bases.of(0), scale(half_precision, prior_rows)),
            log_bases,
            counts: Vec::new(),
            sums: Vec::new(),
            table: Vec::new(),
            row: [0.0; D],
            halves: GaussianHalves::default(),
            family,
        }
    }

    /// The log-weight of a component of `count` rows whose sums are the slot's less `taken_out`
    /// times the row.
    #[inline(always)]
    fn log_weight_of(&self, slot: usize, count: i64, taken_out: f64) -> f64 {
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let rows = self.prior_rows + count as f64;
        let (sums, inverse) = (&self.sums[slot], 1.0 / rows);
        let mut distance = 0.0;
        for (x, sum) in self.row.iter().zip(sums) {
            let difference = x - (sum - taken_out * x) * inverse;
            distance += difference * difference;
        }
        self.log_bases.of(count) - scale(self.half_precision, rows) * distance
    }

    #[inline(always)]
    fn change(&mut self, slot: usize, sign: f64) {
        self.counts[slot] += sign as i64;
        for (sum, x) in self.sums[slot].iter_mut().zip(&self.row) {
            *sum += sign * x;
        }
        self.write_table(slot);
    }

    #[inline(always)]
    fn write_table(&mut self, slot: usize) {
        let (panel, lane, count) = (&mut self.table[slot / LANES], slot % LANES, self.counts[slot]);
        if count == 0 {
            self.free(slot);
            return;
        }
        let rows = self.prior_rows + count as f64;
        let (sums, inverse) = (&self.sums[slot], 1.0 / rows);
        for (means, sum) in panel.means.iter_mut().zip(sums) {
            means[lane] = self.unit.length(sum * inverse);
        }
        panel.constants[lane] = self.log_bases.of(count) as f32;
        panel.scales[lane] = self.unit.per_square(scale(self.half_precision, rows));
    }

    /// Leaves exactly the prior, not the prior up to rounding.
    #[cold]
    fn free(&mut self, slot: usize) {
        self.table[slot / LANES].constants[slot % LANES] = f32::NEG_INFINITY;
        self.sums[slot] = self.prior_sum();
    }

    fn prior_sum(&self) -> [f64; D] {
        self.prior_mean.map(|mean| self.prior_rows * mean)
    }

    /// Free slots up to a number of vectors.
    fn resize(&mut self, n_vectors: usize) {
        let n_slots = n_vectors * LANES;
        self.counts.resize(n_slots, 0);
        self.sums.resize(n_slots, self.prior_sum());
        self.table.resize(n_vectors, DistancePanel::FREE);
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

impl<const D: usize> Scorer for GaussianNarrowScorer<D> {
    type Family = GaussianFixed;

    const BATCH: usize = 1;

    fn family(&self) -> &GaussianFixed {
        &self.family
    }

    fn load(&mut self, components: &[Stats]) {
        self.resize(0);
        self.resize(components.len().max(1).div_ceil(LANES));
        for (slot, stats) in components.iter().enumerate() {
            self.counts[slot] = stats.count;
            self.sums[slot].iter_mut().zip(stats.dense()).for_each(|(sum, of_rows)| *sum += of_rows);
        }
        self.log_bases.prepare(&self.counts);
        (0..components.len()).for_each(|slot| self.write_table(slot));
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn grow(&mut self) {
        self.resize(self.table.len() + 1 + self.table.len() / 8);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        self.read(shard.row(rows.start));
        let row = self.row.map(|x| self.unit.length(x));
        for (scores, panel) in scores.iter_mut().zip(&self.table) {
            *scores = panel.score::<A>(&row);
        }
        mask(own, scores);
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
        self.weigh_empty.0 - self.weigh_empty.1 * distance
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, _in_batch: usize) -> f64 {
        0.5 * self.family.stats_len() as f64 * libm::log(self.half_precision / PI)
    }

    #[inline(always)]
    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1.0);
    }

    #[inline(always)]
    fn remove(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, -1.0);
    }

    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]) {
        self.halves.load(halves, &self.prior_sum());
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    #[inline(always)]
    fn log_half_weights(&self, _in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        let shared = SharedNoise {
            prior_rows: self.prior_rows,
            half_precision: self.half_precision,
            log_bases: &self.log_bases,
        };
        self.halves.log_weights(shared, &self.row, slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, _in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.row, slot, half, sign);
    }
}
