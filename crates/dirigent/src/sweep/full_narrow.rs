//! The fast scorer of Gaussians with full covariances and few columns: whitened distances, a row at
//! a time.
//!
//! As in [`super::gaussian_narrow`], a few columns cost nothing beside the draw, so each row is
//! scored against the current table and nothing is ever stale. The number of columns is part of the
//! type; columns beyond those of the data are zeros.

use std::ops::Range;

use super::batch::{Scorer, mask};
use super::component_halves::{ComponentHalves, LocalComponent};
use super::full_component::{FullComponent, SharedPrior};
use super::full_panel::{Panel, SplitRow};
use super::full_shape::Narrow;
use super::kernel::{Arithmetic, LANES, lanes, log_one_plus};
use crate::family::{Conjugate, GaussianFull};
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Weights with a larger share are recomputed in double precision.
const REFINE_ABOVE: f64 = 0.001;

/// Scores rows of at most `D` columns against Gaussians with full covariances.
pub(crate) struct FullNarrowScorer<const D: usize> {
    shared: SharedPrior,
    empty: FullComponent<Narrow<D>>,
    components: Vec<FullComponent<Narrow<D>>>,
    counts: Vec<i64>,
    table: Vec<WeighedPanel<D>>,
    /// The current row after offset and scale.
    row: [f64; D],
    halves: ComponentHalves<FullComponent<Narrow<D>>>,
}

/// What a vector of slots is scored by, in single precision.
#[derive(Clone, Copy)]
struct WeighedPanel<const D: usize> {
    panel: Panel<D>,
    /// −∞ for a free slot.
    constants: [f32; LANES],
    exponents: [f32; LANES],
}

impl<const D: usize> WeighedPanel<D> {
    const FREE: Self = Self { panel: Panel::EMPTY, constants: [f32::NEG_INFINITY; LANES], exponents: [0.0; LANES] };

    #[inline(always)]
    fn score<A: Arithmetic>(&self, row: &SplitRow<D>) -> [f32; LANES] {
        let (squares, constants, exponents) = (self.panel.squares::<A>(row), self.constants, self.exponents);
        lanes(|lane| weigh::<A>(squares[lane], constants[lane], exponents[lane]))
    }
}

/// A log-weight in single precision. What overflows has no weight: were all to overflow, doubles
/// would be asked.
#[inline(always)]
pub(super) fn weigh<A: Arithmetic>(square: f32, constant: f32, exponent: f32) -> f32 {
    let score = A::mul_add(-exponent, log_one_plus::<A>(square), constant);
    if square < f32::MAX { score } else { f32::NEG_INFINITY }
}

impl<const D: usize> FullNarrowScorer<D> {
    pub(crate) fn new(family: GaussianFull) -> Self {
        assert!(family.n_columns() <= D, "{} columns for {D}", family.n_columns());
        let shared = SharedPrior::new(family);
        Self {
            empty: FullComponent::empty(&shared),
            components: Vec::new(),
            counts: Vec::new(),
            table: Vec::new(),
            row: [0.0; D],
            halves: ComponentHalves::default(),
            shared,
        }
    }

    #[inline(always)]
    fn change(&mut self, slot: usize, sign: i64) {
        self.components[slot].change(&self.shared, &self.row, sign);
        self.write_table(slot);
    }

    #[inline(always)]
    fn write_table(&mut self, slot: usize) {
        let (component, lane) = (&self.components[slot], slot % LANES);
        let entry = &mut self.table[slot / LANES];
        self.counts[slot] = component.count();
        if component.count() == 0 {
            entry.constants[lane] = f32::NEG_INFINITY;
            return;
        }
        let (constant, exponent, weight) = component.weigh(&self.shared);
        entry.panel.write(lane, &component.shape.mean, &component.shape.whitening, weight.sqrt());
        entry.constants[lane] = constant as f32;
        entry.exponents[lane] = exponent as f32;
    }

    /// Free slots up to a number of vectors.
    fn resize(&mut self, n_vectors: usize) {
        let n_slots = n_vectors * LANES;
        self.counts.resize(n_slots, 0);
        self.components.resize(n_slots, self.empty.clone());
        self.table.resize(n_vectors, WeighedPanel::FREE);
    }
}

impl<const D: usize> Scorer for FullNarrowScorer<D> {
    type Family = GaussianFull;

    const BATCH: usize = 1;

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
        self.resize(0);
        self.resize(components.len().max(1).div_ceil(LANES));
        for (slot, stats) in components.iter().enumerate().filter(|(_, stats)| stats.count > 0) {
            self.components[slot] = FullComponent::of(&self.shared, stats);
            self.write_table(slot);
        }
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
        self.shared.family.read(shard.row(rows.start), &mut self.row);
        let row = SplitRow::of(&self.row);
        for (scores, panel) in scores.iter_mut().zip(&self.table) {
            *scores = panel.score::<A>(&row);
        }
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, _in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 0 {
            return f64::NEG_INFINITY;
        }
        self.components[slot].log_weight(&self.shared, &self.row, false)
    }

    #[inline(always)]
    fn log_weight_without(&self, _in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 1 {
            return f64::NEG_INFINITY;
        }
        self.components[slot].log_weight(&self.shared, &self.row, true)
    }

    #[inline(always)]
    fn log_weight_new(&self, _in_batch: usize) -> f64 {
        self.empty.log_weight(&self.shared, &self.row, false)
    }

    #[inline(always)]
    fn log_weight_new_at_most(&self, _in_batch: usize) -> f64 {
        let (at_the_mean, _, _) = self.empty.weigh(&self.shared);
        at_the_mean
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, _in_batch: usize) -> f64 {
        self.shared.log_unit
    }

    #[inline(always)]
    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1);
    }

    #[inline(always)]
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

    #[inline(always)]
    fn log_half_weights(&self, _in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(&self.shared, &self.row, slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, _in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.shared, &self.row, slot, half, sign);
    }
}
