//! The fast scorer of directions: a matrix product with the scaled resultants, then Debye's
//! expansion lane by lane.
//!
//! The product is in single precision, and so is what follows from it ([`super::vmf_panel`]).
//! Components whose resultant may become so short that the expansion is too coarse, which in few
//! columns are those of few rows, are scored in double precision, as is everything that changes
//! within a batch.

use std::ops::Range;

use super::batch::{Scorer, mask};
use super::component_halves::{ComponentHalves, LocalComponent};
use super::kernel::{Arithmetic, LANES, log};
use super::tile::{TILE, tile};
use super::unit_rows::UnitRows;
use super::vmf_component::{Directions, VmfComponent};
use super::vmf_panel::{DirectionPanel, NEAR};
use crate::family::{Conjugate, VonMisesFisher};
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Rows of a batch: their tiles and scores stay in the second-level cache.
const BATCH: usize = 8 * TILE;

/// The share above which weights are recomputed in double precision, so that all others together
/// are off by 4e-6 at most: a log-weight is as large as τ, and is known to some 2e-7 of that.
pub(super) fn refine_above(concentration: f64, n_slots: usize) -> f64 {
    let error = 2e-7 * (concentration + 10.0);
    (4e-6 / (error * n_slots as f64)).min(0.02)
}

/// Scores rows of length 1 against directions.
pub(crate) struct VmfScorer {
    shared: Directions,
    counts: Vec<i64>,
    slots: Vec<VmfComponent>,
    /// Slots that are scored in double precision.
    is_near: Vec<bool>,
    /// 2τt/s² in single precision: panels of [`LANES`] slots, column after column.
    table: Vec<[f32; LANES]>,
    panels: Vec<DirectionPanel>,
    /// Slots whose part of the table is out of date.
    stale: Vec<usize>,
    is_stale: Vec<bool>,
    halves: ComponentHalves<VmfComponent>,
    batch: UnitRows,
}

impl VmfScorer {
    pub(crate) fn new(family: VonMisesFisher) -> Self {
        Self {
            shared: Directions::new(family),
            counts: Vec::new(),
            slots: Vec::new(),
            is_near: Vec::new(),
            table: Vec::new(),
            panels: Vec::new(),
            stale: Vec::new(),
            is_stale: Vec::new(),
            halves: ComponentHalves::default(),
            batch: UnitRows::default(),
        }
    }

    fn n_columns(&self) -> usize {
        self.shared.family.n_columns()
    }

    /// Whether a row may take the slot to where single precision is too coarse.
    fn is_near(&self, slot: usize) -> bool {
        // a row may be longer than 1 by what its file has rounded
        let shortest = self.slots[slot].place.square.sqrt() - 1.01 * self.shared.family.concentration;
        self.shared.bessel.order().powi(2) + shortest.max(0.0).powi(2) < NEAR * NEAR
    }

    /// Brings the table up to date with the slots that changed.
    fn refresh_table(&mut self) {
        while let Some(slot) = self.stale.pop() {
            self.is_stale[slot] = false;
            self.write_table(slot);
        }
    }

    fn write_table(&mut self, slot: usize) {
        let (ix, lane, n_columns) = (slot / LANES, slot % LANES, self.n_columns());
        let is_free = self.counts[slot] == 0;
        self.is_near[slot] = !is_free && self.is_near(slot);
        let (panel, component) = (&mut self.panels[ix], &self.slots[slot]);
        let scale = if is_free || self.is_near[slot] {
            panel.clear(lane);
            0.0
        } else {
            let log_count = log(self.counts[slot] as f64);
            panel.write(lane, log_count, self.shared.bessel.order(), &component.place, self.shared.family.concentration)
        };
        let table = &mut self.table[ix * n_columns..(ix + 1) * n_columns];
        for (vector, sum) in table.iter_mut().zip(&component.sums) {
            vector[lane] = (scale * sum) as f32;
        }
    }

    /// Free slots up to a number of panels, beyond those there are.
    fn resize(&mut self, n_panels: usize) {
        let n_slots = n_panels * LANES;
        let shared = &self.shared;
        self.slots.resize_with(n_slots, || VmfComponent::empty(shared));
        self.counts.resize(n_slots, 0);
        self.is_near.resize(n_slots, false);
        self.is_stale.resize(n_slots, false);
        self.table.resize(n_panels * self.shared.family.n_columns(), [0.0; LANES]);
        self.panels.resize(n_panels, DirectionPanel::FREE);
    }

    /// Adds or takes out a row.
    #[inline(always)]
    fn change(&mut self, in_batch: usize, slot: usize, sign: i64) {
        self.counts[slot] += sign;
        self.slots[slot].change(&self.shared, self.batch.row(in_batch), sign);
        if !self.is_stale[slot] {
            self.is_stale[slot] = true;
            self.stale.push(slot);
        }
    }

    /// The product of the batch with all panels, in tiles, and what follows from it.
    #[inline(always)]
    fn multiply<A: Arithmetic>(&self, n_rows: usize, scores: &mut [[f32; LANES]]) {
        let (n_columns, n_panels, order) = (self.n_columns(), self.panels.len(), self.shared.bessel.order() as f32);
        for (ix, panel) in self.panels.iter().enumerate() {
            let means = &self.table[ix * n_columns..(ix + 1) * n_columns];
            for (tile_ix, x) in self.batch.tiles().enumerate() {
                let first = tile_ix * TILE;
                let gains = tile::<A>(x, means, &[0.0; LANES], &panel.scales, &self.batch.squares(tile_ix));
                for (row, gains) in gains.iter().take(n_rows - first).enumerate() {
                    scores[(first + row) * n_panels + ix] = panel.score::<A>(order, *gains);
                }
            }
        }
    }

    /// Scores the slots that single precision is too coarse for.
    fn score_near(&self, n_rows: usize, scores: &mut [[f32; LANES]]) {
        let n_panels = self.panels.len();
        for slot in (0..self.slots.len()).filter(|&slot| self.is_near[slot]) {
            for in_batch in 0..n_rows {
                let log_weight = self.log_weight(in_batch, slot);
                scores[in_batch * n_panels + slot / LANES][slot % LANES] = log_weight as f32;
            }
        }
    }
}

impl Scorer for VmfScorer {
    type Family = VonMisesFisher;

    const BATCH: usize = BATCH;

    fn family(&self) -> &VonMisesFisher {
        &self.shared.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(refine_above(self.shared.family.concentration, self.slots.len()))
    }

    fn load(&mut self, components: &[Stats]) {
        self.slots.clear();
        self.resize(0);
        self.slots.extend(components.iter().map(|stats| VmfComponent::of(&self.shared, stats)));
        self.resize(components.len().max(1).div_ceil(LANES));
        self.stale.clear();
        self.is_stale.fill(false);
        for (slot, stats) in components.iter().enumerate() {
            self.counts[slot] = stats.count;
            self.write_table(slot);
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn grow(&mut self) {
        self.resize(self.panels.len() + 1 + self.panels.len() / 8);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        self.refresh_table();
        self.batch.read(shard, rows.clone());
        self.multiply::<A>(rows.len(), scores);
        self.score_near(rows.len(), scores);
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 0 {
            return f64::NEG_INFINITY;
        }
        self.slots[slot].log_weight(&self.shared, self.batch.row(in_batch), false)
    }

    #[inline(always)]
    fn log_weight_without(&self, in_batch: usize, slot: usize) -> f64 {
        if self.counts[slot] == 1 {
            return f64::NEG_INFINITY;
        }
        self.slots[slot].log_weight(&self.shared, self.batch.row(in_batch), true)
    }

    #[inline(always)]
    fn log_weight_new(&self, in_batch: usize) -> f64 {
        self.shared.log_weight_new(self.batch.row(in_batch))
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, _in_batch: usize) -> f64 {
        self.shared.log_height
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
        self.halves.log_weights(&self.shared, self.batch.row(in_batch), slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.shared, self.batch.row(in_batch), slot, half, sign);
    }
}
