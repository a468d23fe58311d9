//! The fast scorer of spherical Gaussians with many columns: a matrix product with the weights
//! folded in.
//!
//! With κ = κ₀ + n and t = κ₀m₀ + Σx (all about the offset), and −‖x‖²/2σ² left out because it is
//! the same for all components,
//!
//! log w = [ln n − D/2 ln((κ+1)/κ) − s‖t‖²/κ] + s(2 x·t + ‖x‖²), s = 1/2σ²(κ+1):
//!
//! a constant and a scale for each slot, and a product with the scaled sums. The table of these is
//! in single precision; t, ‖t‖² and everything that changes within a batch are in double precision.
//! A row that is very far from the offset is weighed by distances, in double precision.

use std::f64::consts::PI;
use std::ops::Range;

use super::batch::{Scorer, mask};
use super::gaussian_halves::{self, GaussianHalves, SharedNoise};
use super::gaussian_unit::Unit;
use super::kernel::{Arithmetic, LANES};
use super::log_base::LogBases;
use super::tile::{CHUNK, TILE, tile};
use crate::family::{Conjugate, GaussianFixed};
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::special::dot;
use crate::stats::Stats;

/// Rows of a batch: their tiles and scores stay in the second-level cache.
const BATCH: usize = 8 * TILE;
/// Weights with a larger share are recomputed in double precision; the more columns, the coarser
/// single precision is.
const REFINE_ABOVE: f64 = 0.02;
const REFINE_ABOVE_MANY_COLUMNS: f64 = 0.001;

/// Scores rows against spherical Gaussians.
pub(crate) struct GaussianWideScorer {
    family: GaussianFixed,
    n_columns: usize,
    prior_rows: f64,
    /// 1/2σ².
    half_precision: f64,
    unit: Unit,
    /// κ₀m₀ and its square.
    prior_sum: Vec<f64>,
    prior_square: f64,
    /// Constant and scale of an empty component.
    weigh_empty: (f64, f64),
    log_bases: LogBases,
    slots: GaussianSlots,
    halves: GaussianHalves,
    batch: RowBatch,
}

/// The components, slot by slot.
#[derive(Default)]
struct GaussianSlots {
    counts: Vec<i64>,
    /// t, `n_columns` numbers a slot.
    sums: Vec<f64>,
    /// ‖t‖².
    squares: Vec<f64>,
    constants: Vec<f64>,
    scales: Vec<f64>,
    /// 2st in single precision, in units of about σ: panels of [`LANES`] slots, column after
    /// column.
    table: Vec<[f32; LANES]>,
    /// Constants in single precision, −∞ for a free slot.
    table_constants: Vec<[f32; LANES]>,
    table_scales: Vec<[f32; LANES]>,
    /// Slots whose part of the table is out of date.
    stale: Vec<usize>,
    is_stale: Vec<bool>,
}

impl GaussianSlots {
    /// No slots, but room for as many as there were.
    fn clear(&mut self) {
        let Self { counts, sums, squares, constants, scales, table, table_constants, table_scales, stale, is_stale } =
            self;
        counts.clear();
        [sums, squares, constants, scales].into_iter().for_each(Vec::clear);
        [table, table_constants, table_scales].into_iter().for_each(Vec::clear);
        stale.clear();
        is_stale.clear();
    }
}

/// The rows of the current batch, about the offset.
#[derive(Default)]
struct RowBatch {
    rows: Vec<f64>,
    squares: Vec<f64>,
    /// Whether a row is too far for products.
    are_far: Vec<bool>,
    prior_dots: Vec<f64>,
    /// In tiles of [`TILE`] rows, column after column.
    tiles: Vec<[f32; TILE]>,
}

impl GaussianWideScorer {
    pub(crate) fn new(family: GaussianFixed) -> Self {
        let prior_rows = family.prior_rows();
        let prior_sum: Vec<f64> = family.centred_prior_mean().map(|mean| prior_rows * mean).collect();
        let mut scorer = Self {
            n_columns: family.stats_len(),
            prior_rows,
            half_precision: 0.5 * family.noise_sd.powi(-2),
            unit: Unit::of(&family),
            prior_square: dot(&prior_sum, &prior_sum),
            prior_sum,
            weigh_empty: (0.0, 0.0),
            log_bases: LogBases::new(&family),
            slots: GaussianSlots::default(),
            halves: GaussianHalves::default(),
            batch: RowBatch::default(),
            family,
        };
        scorer.weigh_empty = scorer.weigh(0, scorer.prior_square);
        scorer
    }

    /// Constant and scale of a component of `count` rows and a given ‖t‖².
    #[inline(always)]
    fn weigh(&self, count: i64, square: f64) -> (f64, f64) {
        let rows = self.prior_rows + count as f64;
        let scale = self.half_precision / (rows + 1.0);
        (self.log_bases.of(count) - scale * square / rows, scale)
    }

    #[inline(always)]
    fn row(&self, in_batch: usize) -> &[f64] {
        &self.batch.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns]
    }

    #[inline(always)]
    fn dot(&self, in_batch: usize, slot: usize) -> f64 {
        dot(self.row(in_batch), self.sums(slot))
    }

    /// Recomputes what depends on the slot's count and sums.
    #[inline(always)]
    fn refresh_slot(&mut self, slot: usize) {
        let sums = &self.slots.sums[slot * self.n_columns..(slot + 1) * self.n_columns];
        let square = dot(sums, sums);
        self.slots.squares[slot] = square;
        (self.slots.constants[slot], self.slots.scales[slot]) = self.weigh(self.slots.counts[slot], square);
    }

    /// Brings the table up to date with the slots that changed.
    fn refresh_table(&mut self) {
        while let Some(slot) = self.slots.stale.pop() {
            self.slots.is_stale[slot] = false;
            self.write_table(slot);
        }
    }

    fn write_table(&mut self, slot: usize) {
        let (panel, lane, n_columns) = (slot / LANES, slot % LANES, self.n_columns);
        let slots = &mut self.slots;
        let is_free = slots.counts[slot] == 0;
        let scale = if is_free { 0.0 } else { slots.scales[slot] };
        let table = &mut slots.table[panel * n_columns..(panel + 1) * n_columns];
        for (vector, sum) in table.iter_mut().zip(&slots.sums[slot * n_columns..]) {
            vector[lane] = self.unit.per_length(2.0 * scale * sum);
        }
        slots.table_scales[panel][lane] = self.unit.per_square(scale);
        slots.table_constants[panel][lane] = if is_free { f32::NEG_INFINITY } else { slots.constants[slot] as f32 };
    }

    /// Free slots up to a number of panels, beyond those there are.
    fn resize(&mut self, n_panels: usize) {
        let (slots, n_slots) = (&mut self.slots, n_panels * LANES);
        for _ in slots.counts.len()..n_slots {
            slots.sums.extend_from_slice(&self.prior_sum);
        }
        slots.counts.resize(n_slots, 0);
        slots.is_stale.resize(n_slots, false);
        for per_slot in [&mut slots.squares, &mut slots.constants, &mut slots.scales] {
            per_slot.resize(n_slots, 0.0);
        }
        slots.table.resize(n_panels * self.n_columns, [0.0; LANES]);
        slots.table_constants.resize(n_panels, [f32::NEG_INFINITY; LANES]);
        slots.table_scales.resize(n_panels, [0.0; LANES]);
    }

    /// Adds or takes out a row.
    #[inline(always)]
    fn change(&mut self, in_batch: usize, slot: usize, sign: f64) {
        let n_columns = self.n_columns;
        self.slots.counts[slot] += sign as i64;
        let row = &self.batch.rows[in_batch * n_columns..(in_batch + 1) * n_columns];
        let sums = &mut self.slots.sums[slot * n_columns..(slot + 1) * n_columns];
        if self.slots.counts[slot] == 0 {
            // exactly the prior, not the prior up to rounding
            sums.copy_from_slice(&self.prior_sum);
        } else {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += sign * x);
        }
        self.refresh_slot(slot);
        if !self.slots.is_stale[slot] {
            self.slots.is_stale[slot] = true;
            self.slots.stale.push(slot);
        }
    }

    /// Copies the rows of a batch about the offset, in double precision and in tiles of single
    /// precision.
    #[inline(always)]
    fn gather(&mut self, shard: &Shard, rows: Range<usize>) {
        let n_columns = self.n_columns;
        let batch = &mut self.batch;
        batch.rows.resize(rows.len() * n_columns, 0.0);
        batch.tiles.resize(rows.len().div_ceil(TILE) * n_columns, [0.0; TILE]);
        batch.squares.clear();
        batch.are_far.clear();
        batch.prior_dots.clear();
        for (in_batch, row_ix) in rows.enumerate() {
            let row = &mut batch.rows[in_batch * n_columns..(in_batch + 1) * n_columns];
            match shard.row(row_ix) {
                Row::F32(numbers) => self.family.centre(numbers, row),
                Row::F64(numbers) => self.family.centre(numbers, row),
                Row::Counts(_) => panic!("a Gaussian has dense rows"),
            }
            let tile = &mut batch.tiles[in_batch / TILE * n_columns..];
            tile.iter_mut().zip(&*row).for_each(|(column, x)| column[in_batch % TILE] = self.unit.length(*x));
            let square = dot(row, row);
            batch.squares.push(square);
            batch.are_far.push(self.unit.is_far(square));
            let prior_dot = if self.prior_square == 0.0 { 0.0 } else { dot(row, &self.prior_sum) };
            batch.prior_dots.push(prior_dot);
        }
    }

    /// The product of the batch with all panels, in tiles.
    #[inline(always)]
    fn multiply<A: Arithmetic>(&self, n_rows: usize, scores: &mut [[f32; LANES]]) {
        let (n_columns, n_panels, slots) = (self.n_columns, self.slots.table_constants.len(), &self.slots);
        for panel in 0..n_panels {
            let means = &slots.table[panel * n_columns..(panel + 1) * n_columns];
            let (constants, scales) = (&slots.table_constants[panel], &slots.table_scales[panel]);
            for (tile_ix, x) in self.batch.tiles.chunks_exact(n_columns).enumerate() {
                let first = tile_ix * TILE;
                let mut row_squares = [0.0; TILE];
                for (single, square) in row_squares.iter_mut().zip(&self.batch.squares[first..]) {
                    *single = self.unit.square(*square);
                }
                let sums = tile::<A>(x, means, constants, scales, &row_squares);
                for (row, sums) in sums.iter().take(n_rows - first).enumerate() {
                    scores[(first + row) * n_panels + panel] = *sums;
                }
            }
        }
    }

    /// ln n − D/2 ln((κ+1)/κ) − κ/2σ²(κ+1) ‖x − μ‖² of a component of these sums, less `taken_out`
    /// times the row. Nothing is left out.
    #[cold]
    fn log_weight_by_distance(&self, in_batch: usize, sums: &[f64], count: i64, taken_out: f64) -> f64 {
        gaussian_halves::log_weight(self.shared(), self.row(in_batch), sums, count, taken_out)
    }

    fn shared(&self) -> SharedNoise<'_> {
        SharedNoise { prior_rows: self.prior_rows, half_precision: self.half_precision, log_bases: &self.log_bases }
    }

    #[inline(always)]
    fn sums(&self, slot: usize) -> &[f64] {
        &self.slots.sums[slot * self.n_columns..(slot + 1) * self.n_columns]
    }

    /// Weighs rows that are too far for the product.
    #[inline(always)]
    fn weigh_far_rows(&self, scores: &mut [[f32; LANES]]) {
        let n_panels = self.slots.table_constants.len();
        for (in_batch, scores) in scores.chunks_exact_mut(n_panels).enumerate() {
            if self.batch.are_far[in_batch] {
                let scores = scores.as_flattened_mut().iter_mut().enumerate();
                scores.for_each(|(slot, score)| *score = self.log_weight(in_batch, slot) as f32);
            }
        }
    }
}

impl Scorer for GaussianWideScorer {
    type Family = GaussianFixed;

    const BATCH: usize = BATCH;

    fn family(&self) -> &GaussianFixed {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(if self.n_columns <= CHUNK { REFINE_ABOVE } else { REFINE_ABOVE_MANY_COLUMNS })
    }

    fn load(&mut self, components: &[Stats]) {
        self.slots.clear();
        self.resize(components.len().max(1).div_ceil(LANES));
        for (slot, stats) in components.iter().enumerate() {
            self.slots.counts[slot] = stats.count;
            let sums = &mut self.slots.sums[slot * self.n_columns..(slot + 1) * self.n_columns];
            sums.iter_mut().zip(stats.dense()).for_each(|(sum, of_rows)| *sum += of_rows);
        }
        self.log_bases.prepare(&self.slots.counts);
        for slot in 0..components.len() {
            self.refresh_slot(slot);
            self.write_table(slot);
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.slots.counts
    }

    fn grow(&mut self) {
        let n_panels = self.slots.table_constants.len();
        self.resize(n_panels + 1 + n_panels / 8);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        self.refresh_table();
        self.gather(shard, rows.clone());
        self.multiply::<A>(rows.len(), scores);
        self.weigh_far_rows(scores);
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, in_batch: usize, slot: usize) -> f64 {
        if self.slots.counts[slot] == 0 {
            return f64::NEG_INFINITY;
        }
        if self.batch.are_far[in_batch] {
            return self.log_weight_by_distance(in_batch, self.sums(slot), self.slots.counts[slot], 0.0);
        }
        let linear = 2.0 * self.dot(in_batch, slot) + self.batch.squares[in_batch];
        self.slots.constants[slot] + self.slots.scales[slot] * linear
    }

    #[inline(always)]
    fn log_weight_without(&self, in_batch: usize, slot: usize) -> f64 {
        let count = self.slots.counts[slot] - 1;
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        if self.batch.are_far[in_batch] {
            return self.log_weight_by_distance(in_batch, self.sums(slot), self.slots.counts[slot], 1.0);
        }
        let (dot, row_square) = (self.dot(in_batch, slot), self.batch.squares[in_batch]);
        let (constant, scale) = self.weigh(count, self.slots.squares[slot] - 2.0 * dot + row_square);
        constant + scale * (2.0 * dot - row_square)
    }

    #[inline(always)]
    fn log_weight_new(&self, in_batch: usize) -> f64 {
        if self.batch.are_far[in_batch] {
            return self.log_weight_by_distance(in_batch, &self.prior_sum, 0, 0.0);
        }
        let (constant, scale) = self.weigh_empty;
        constant + scale * (2.0 * self.batch.prior_dots[in_batch] + self.batch.squares[in_batch])
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, in_batch: usize) -> f64 {
        let log_height = 0.5 * self.n_columns as f64 * libm::log(self.half_precision / PI);
        if self.batch.are_far[in_batch] {
            return log_height;
        }
        log_height - self.half_precision * self.batch.squares[in_batch]
    }

    #[inline(always)]
    fn insert(&mut self, in_batch: usize, slot: usize) {
        self.change(in_batch, slot, 1.0);
    }

    #[inline(always)]
    fn remove(&mut self, in_batch: usize, slot: usize) {
        self.change(in_batch, slot, -1.0);
    }

    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]) {
        self.halves.load(halves, &self.prior_sum);
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    #[inline(always)]
    fn log_half_weights(&self, in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(self.shared(), self.row(in_batch), slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, in_batch: usize, slot: usize, half: Half, sign: i64) {
        let row = &self.batch.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
        self.halves.change(row, slot, half, sign);
    }
}
