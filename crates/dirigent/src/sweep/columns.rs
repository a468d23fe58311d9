//! The fast scorer of tables whose columns have a law each: products over the columns, one
//! logarithm a component.
//!
//! log w = ln n + Σ log-predictives of the cells that are there. A table of all slots in single
//! precision (`table.rs`) gives the scores; posteriors in double precision (`local.rs`) are what it
//! is written from, and what decides is computed from them again. A row is scored against the
//! current table, so nothing is ever stale (a batch is one row); a row that moves rewrites two
//! slots.

pub(super) mod cells;
pub(super) mod layout;
mod local;
mod score;
mod table;

use std::ops::Range;

use self::cells::ColumnCells;
use self::local::{Local, SharedColumns};
use self::table::ColumnTable;
use super::batch::{Scorer, mask};
use super::component_halves::{ComponentHalves, LocalComponent as _};
use super::kernel::{Arithmetic, LANES, lanes};
use crate::family::Columns;
use crate::halves::Half;
use crate::rows::Shard;
use crate::stats::Stats;

/// Vectors of slots that are scored together.
const PANEL: usize = 2;
/// Weights with a larger share are recomputed in double precision.
const REFINE_ABOVE: f64 = 0.001;
/// The same where means are this many standard deviations from the offset that scores are coarse.
const REFINE_ABOVE_IF_SHARP: f64 = 1e-7;
const SHARP: f64 = 300.0;
/// Single precision says nothing any more.
const TOO_SHARP: f64 = 1e6;

/// Scores rows against components of independent columns.
pub(crate) struct ColumnsScorer {
    family: Columns,
    shared: SharedColumns,
    counts: Vec<i64>,
    locals: Vec<Local>,
    table: ColumnTable,
    row: ColumnCells,
    /// Of the current row, in double precision.
    log_weights: Vec<[f64; LANES]>,
    /// The largest of them: scores are relative to it.
    reference: f64,
    halves: ComponentHalves<Local>,
}

impl ColumnsScorer {
    pub(crate) fn new(family: Columns) -> Self {
        let shared = SharedColumns::new(&family);
        Self {
            table: ColumnTable::new(&shared.layout),
            shared,
            counts: Vec::new(),
            locals: Vec::new(),
            row: ColumnCells::default(),
            log_weights: Vec::new(),
            reference: 0.0,
            halves: ComponentHalves::default(),
            family,
        }
    }

    fn resize(&mut self, n_vectors: usize) {
        self.counts.resize(n_vectors * LANES, 0);
        self.locals.resize(n_vectors * LANES, self.shared.empty.clone());
        self.table.resize(n_vectors);
        self.log_weights.resize(n_vectors, [0.0; LANES]);
    }

    fn change(&mut self, slot: usize, sign: i64) {
        self.counts[slot] += sign;
        self.locals[slot].change(&self.shared, &self.row, sign);
        self.table.write(slot, &self.locals[slot], &self.shared.layout);
    }

    /// The log-weights of all slots.
    #[inline(always)]
    fn weigh<A: Arithmetic>(&mut self) {
        let (n_vectors, factors_before_split) = (self.table.n_vectors(), self.table.factors_before_split());
        let mut first = 0;
        while first + PANEL <= n_vectors {
            let of_panel = self.table.score::<A, PANEL>(&self.row, first, factors_before_split);
            self.log_weights[first..first + PANEL].copy_from_slice(&of_panel);
            first += PANEL;
        }
        if first < n_vectors {
            self.log_weights[first] = self.table.score::<A, 1>(&self.row, first, factors_before_split)[0];
        }
    }

    /// Recomputes what single precision could not hold, or everything.
    #[cold]
    fn weigh_in_double(&mut self, everything: bool) {
        for slot in 0..self.counts.len() {
            let log_weight = &mut self.log_weights[slot / LANES][slot % LANES];
            if !self.table.is_taken(slot) {
                *log_weight = f64::NEG_INFINITY;
            } else if everything || !log_weight.is_finite() {
                *log_weight = self.locals[slot].log_weight(&self.shared, &self.row, false);
            }
        }
    }
}

/// The largest of the log-weights, and whether one of them is no number, or not finite for a slot
/// that is taken.
#[inline(always)]
fn survey(log_weights: &[[f64; LANES]], counts: &[i64]) -> (f64, bool) {
    let (mut largest, mut is_bad) = ([f64::NEG_INFINITY; LANES], [false; LANES]);
    for (&log_weights, counts) in log_weights.iter().zip(counts.as_chunks::<LANES>().0) {
        let (before, was_bad) = (largest, is_bad);
        largest = lanes(|lane| if log_weights[lane] > before[lane] { log_weights[lane] } else { before[lane] });
        is_bad = lanes(|lane| was_bad[lane] | ((counts[lane] > 0) & !log_weights[lane].is_finite()));
    }
    (largest.into_iter().fold(f64::NEG_INFINITY, f64::max), is_bad.into_iter().any(|is_bad| is_bad))
}

impl Scorer for ColumnsScorer {
    type Family = Columns;

    const BATCH: usize = 1;

    fn family(&self) -> &Columns {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(if self.table.sharpness > SHARP { REFINE_ABOVE_IF_SHARP } else { REFINE_ABOVE })
    }

    fn load(&mut self, components: &[Stats]) {
        let n_vectors = components.len().max(1).div_ceil(LANES);
        self.counts.clear();
        self.counts.extend(components.iter().map(|stats| stats.count));
        self.locals.clear();
        self.locals.extend(components.iter().map(|stats| Local::of(&self.shared, stats)));
        self.table.clear();
        self.resize(n_vectors);
        for (slot, local) in self.locals.iter().enumerate() {
            self.table.write(slot, local, &self.shared.layout);
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn grow(&mut self) {
        let n_vectors = self.table.n_vectors();
        self.resize(n_vectors + 1 + n_vectors / 8);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        self.row.read(shard.row(rows.start), &self.shared.layout);
        if self.row.is_odd || self.table.sharpness > TOO_SHARP {
            self.weigh_in_double(true);
        } else {
            self.weigh::<A>();
        }
        let (mut largest, is_bad) = survey(&self.log_weights, &self.counts);
        if is_bad {
            self.weigh_in_double(false);
            largest = survey(&self.log_weights, &self.counts).0;
        }
        self.reference = if largest.is_finite() { largest } else { 0.0 };
        for (scores, log_weights) in scores.iter_mut().zip(&self.log_weights) {
            let reference = self.reference;
            *scores = lanes(|lane| (log_weights[lane] - reference) as f32);
        }
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, _in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 0 {
            return f64::NEG_INFINITY;
        }
        self.locals[slot].log_weight(&self.shared, &self.row, false) - self.reference
    }

    #[inline(always)]
    fn log_weight_without(&self, _in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 1 {
            return f64::NEG_INFINITY;
        }
        self.locals[slot].log_weight(&self.shared, &self.row, true) - self.reference
    }

    #[inline(always)]
    fn log_weight_new(&self, _in_batch: usize) -> f64 {
        self.shared.empty.log_weight(&self.shared, &self.row, false) - self.reference
    }

    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1);
    }

    fn remove(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, -1);
    }

    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]) {
        self.halves.load(&self.shared, halves);
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    fn log_half_weights(&self, _in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(&self.shared, &self.row, slot, taken_out)
    }

    fn change_half(&mut self, _in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.shared, &self.row, slot, half, sign);
    }
}
