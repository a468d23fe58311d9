//! The slow twin: collapsed Gibbs as the paper writes it, in double precision, for any family.

use std::sync::Arc;

use super::halves::{LocalHalves, draw_half, side};
use super::kernel::Separate;
use super::overlaps::{Count, Overlaps};
use super::{Assignment, Prediction, Sampler, SweepInfo, UNASSIGNED};
use crate::family::Family;
use crate::halves::Half;
use crate::interrupt::Interrupt;
use crate::rng::Stream;
use crate::rows::{Row, Shard};
use crate::special::log_sum_exp;
use crate::stats::Stats;

/// The reference sampler of a family.
#[derive(Debug)]
pub struct Reference<F: ?Sized> {
    family: Arc<F>,
    shard: Shard,
    labels: Vec<u32>,
    components: Vec<Stats>,
    half_labels: Vec<Option<Half>>,
    /// Of the loaded slots.
    halves: Vec<LocalHalves>,
    /// Slots that were loaded keep their component, even if it loses all its rows.
    n_loaded: usize,
    overlaps: Overlaps,
    interrupt: Interrupt,
}

impl<F: Family + ?Sized> Reference<F> {
    /// A sampler with all rows unassigned and no components.
    pub fn new(family: impl Into<Arc<F>>, shard: Shard) -> Self {
        let labels = vec![UNASSIGNED; shard.n_rows()];
        let half_labels = vec![None; labels.len()];
        Self {
            family: family.into(),
            shard,
            labels,
            components: Vec::new(),
            half_labels,
            halves: Vec::new(),
            n_loaded: 0,
            overlaps: Overlaps::default(),
            interrupt: Interrupt::new(),
        }
    }

    fn sweep_row(&mut self, row_ix: usize, alpha: f64, log_weights: &mut Vec<f64>, rng: &mut Stream) -> SweepInfo {
        let row = self.shard.row(row_ix);
        let own = self.labels[row_ix];
        let mut was_alone = false;
        if own != UNASSIGNED {
            let stats = &mut self.components[own as usize];
            self.family.remove_row(row, stats);
            was_alone = stats.count == 0;
            if was_alone {
                // exactly empty, not empty up to rounding
                *stats = self.family.empty_stats();
            }
        }
        conditional(&*self.family, row, &self.components, alpha, log_weights);
        let mut choice = rng.categorical(log_weights);
        if self.overlaps.is_on() {
            count_overlaps(log_weights, choice, &mut self.overlaps);
        }
        let born = choice == self.components.len();
        if born {
            // a row that was alone and opens a component again has not moved
            choice =
                if was_alone { own as usize } else { free_slot(&*self.family, &mut self.components, self.n_loaded) };
        }
        self.family.add_row(row, &mut self.components[choice]);
        self.labels[row_ix] = choice as u32;
        self.place_in_half(row_ix, own as usize, choice, alpha, rng);
        SweepInfo { moved: u64::from(choice as u32 != own), births: u64::from(born && !was_alone) }
    }
}

impl<F: Family + ?Sized> Reference<F> {
    fn place_in_half(&mut self, row_ix: usize, own: usize, slot: usize, alpha: f64, rng: &mut Stream) {
        let (family, row) = (&*self.family, self.shard.row(row_ix));
        if let (Some(half), Some(LocalHalves::Known(halves))) = (self.half_labels[row_ix], self.halves.get_mut(own)) {
            family.remove_row(row, &mut halves[half.ix()]);
        }
        self.half_labels[row_ix] = match self.halves.get_mut(slot) {
            None | Some(LocalHalves::None) => None,
            Some(LocalHalves::Fresh(cut)) => Some(side(family, row, cut, rng)),
            Some(LocalHalves::Known(halves)) => {
                let [left, right] = halves.each_ref().map(|stats| log_half_weight(family, row, stats, alpha));
                let odds = libm::exp(right - left);
                let half = draw_half(odds, rng);
                if self.overlaps.is_on() {
                    self.overlaps.add_half(slot, if half == Half::Left { odds } else { 1.0 / odds });
                }
                family.add_row(row, &mut halves[half.ix()]);
                Some(half)
            }
        };
    }
}

/// Counts the overlaps of a row's chosen slot with all others; the last weight is that of a new
/// component.
fn count_overlaps(log_weights: &[f64], choice: usize, overlaps: &mut Overlaps) {
    overlaps.add_certainty(libm::exp(log_sum_exp(log_weights) - log_weights[choice]), Count::Once);
    if !overlaps.counts(choice) {
        return;
    }
    let slots = &log_weights[..log_weights.len() - 1];
    for (slot, log_weight) in slots.iter().enumerate() {
        if slot != choice && *log_weight > f64::NEG_INFINITY {
            overlaps.add_pair(choice, slot, libm::exp(log_weight - log_weights[choice]));
        }
    }
    overlaps.add_row::<Separate>(choice, &[], 1.0, 1.0, Count::Once);
}

/// log of (n + α/2) · predictive: what a half weighs.
pub(crate) fn log_half_weight<F: Family + ?Sized>(family: &F, row: Row<'_>, stats: &Stats, alpha: f64) -> f64 {
    libm::log(stats.count as f64 + 0.5 * alpha) + family.log_predictive(row, stats)
}

fn free_slot<F: Family + ?Sized>(family: &F, components: &mut Vec<Stats>, n_loaded: usize) -> usize {
    let free = (n_loaded..components.len()).find(|&slot| components[slot].count == 0);
    free.unwrap_or_else(|| {
        components.push(family.empty_stats());
        components.len() - 1
    })
}

/// Logs of n_k · predictive_k, −∞ for an empty slot; the last one is α · predictive of the empty
/// component.
pub(crate) fn conditional<F: Family + ?Sized>(
    family: &F,
    row: Row<'_>,
    components: &[Stats],
    alpha: f64,
    log_weights: &mut Vec<f64>,
) {
    log_weights.clear();
    log_weights.extend(components.iter().map(|stats| log_weight(family, row, stats)));
    log_weights.push(libm::log(alpha) + family.log_predictive(row, &family.empty_stats()));
}

fn log_weight<F: Family + ?Sized>(family: &F, row: Row<'_>, stats: &Stats) -> f64 {
    if stats.count == 0 {
        return f64::NEG_INFINITY;
    }
    libm::log(stats.count as f64) + family.log_predictive(row, stats)
}

/// The statistics of a shard's rows by label, in row order; sparse where they are counts, as they
/// travel.
pub fn contributions<F: Family + ?Sized>(family: &F, shard: &Shard, labels: &[u32], n_slots: usize) -> Vec<Stats> {
    if family.has_counts() {
        return sparse_sums(family, shard, labels.iter().map(|&label| label as usize), n_slots);
    }
    let mut stats = vec![family.empty_stats(); n_slots];
    for_rows(family, labels, n_slots, |row_ix| {
        if labels[row_ix] != UNASSIGNED {
            family.add_row(shard.row(row_ix), &mut stats[labels[row_ix] as usize]);
        }
    });
    stats
}

/// Dense sums longer than this are added to one component at a time: all of them together would not
/// stay in the cache.
const LONG_SUMS: usize = 2048;

/// Sees all rows in an order good for adding up: each component's in their own order, so that its
/// sums are the same to the last bit.
fn for_rows<F: Family + ?Sized>(family: &F, labels: &[u32], n_slots: usize, see: impl FnMut(usize)) {
    if family.stats_len() <= LONG_SUMS || n_slots < 2 {
        return (0..labels.len()).for_each(see);
    }
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by_key(|row_ix| labels[*row_ix]);
    order.into_iter().for_each(see);
}

/// The statistics of sets of documents, of which `sets` names that of each row (one beyond the last
/// is none), only what is not zero held. One set after another: all of them with every word would
/// be gigabytes.
fn sparse_sums<F: Family + ?Sized>(
    family: &F,
    shard: &Shard,
    sets: impl Iterator<Item = usize>,
    n_sets: usize,
) -> Vec<Stats> {
    let mut rows: Vec<(usize, usize)> = sets.enumerate().map(|(row_ix, set)| (set, row_ix)).collect();
    rows.retain(|(set, _)| *set < n_sets);
    rows.sort_unstable();
    let (mut stats, mut sums) = (vec![Stats::empty_counts(); n_sets], family.empty_stats());
    for of_set in rows.chunk_by(|a, b| a.0 == b.0) {
        of_set.iter().for_each(|(_, row_ix)| family.add_row(shard.row(*row_ix), &mut sums));
        stats[of_set[0].0] = sums.to_sparse();
        // whole numbers: nothing is left behind
        of_set.iter().for_each(|(_, row_ix)| family.remove_row(shard.row(*row_ix), &mut sums));
    }
    stats
}

/// The same, the halves of each slot apart; rows that are in no half count as left.
pub(crate) fn half_contributions<F: Family + ?Sized>(
    family: &F,
    shard: &Shard,
    labels: &[u32],
    halves: &[Option<Half>],
    n_slots: usize,
) -> Vec<[Stats; 2]> {
    if family.has_counts() {
        let set = |(&label, half): (&u32, &Option<Half>)| (label as usize).saturating_mul(2) + half.map_or(0, Half::ix);
        let mut halves = sparse_sums(family, shard, labels.iter().zip(halves).map(set), 2 * n_slots).into_iter();
        return std::iter::from_fn(|| Some([halves.next()?, halves.next()?])).collect();
    }
    let mut stats: Vec<[Stats; 2]> = (0..n_slots).map(|_| [family.empty_stats(), family.empty_stats()]).collect();
    for_rows(family, labels, n_slots, |row_ix| {
        if labels[row_ix] != UNASSIGNED {
            let half = halves[row_ix].map_or(0, Half::ix);
            family.add_row(shard.row(row_ix), &mut stats[labels[row_ix] as usize][half]);
        }
    });
    stats
}

impl<F: Family + ?Sized> Sampler for Reference<F> {
    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn set_labels(&mut self, labels: Vec<u32>) {
        assert_eq!(labels.len(), self.shard.n_rows(), "one label a row");
        self.half_labels = vec![None; labels.len()];
        self.labels = labels;
    }

    fn halves(&self) -> &[Option<Half>] {
        &self.half_labels
    }

    fn set_halves(&mut self, halves: Vec<Option<Half>>) {
        assert_eq!(halves.len(), self.labels.len(), "one half a row");
        self.half_labels = halves;
    }

    fn load_halves(&mut self, halves: Vec<LocalHalves>) {
        let dense = |stats: Stats| stats.to_dense(self.family.stats_len());
        let dense_halves = |halves| match halves {
            LocalHalves::Known(stats) => LocalHalves::Known(stats.map(dense)),
            other => other,
        };
        self.halves = halves.into_iter().map(dense_halves).collect();
    }

    fn load(&mut self, components: &[Stats]) {
        // sparse statistics are good for travelling, dense ones for looking up
        self.components = components.iter().map(|stats| stats.to_dense(self.family.stats_len())).collect();
        self.halves.clear();
        self.n_loaded = components.len();
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    fn count_overlaps(&mut self, is_on: bool) {
        self.overlaps.switch(is_on);
    }

    fn overlaps(&self) -> &Overlaps {
        &self.overlaps
    }

    fn sweep(&mut self, alpha: f64, rng: &mut Stream) -> SweepInfo {
        self.overlaps.clear(self.n_loaded);
        let mut log_weights = Vec::new();
        let mut total = SweepInfo::default();
        for row_ix in 0..self.shard.n_rows() {
            if self.interrupt.is_raised() {
                break;
            }
            let info = self.sweep_row(row_ix, alpha, &mut log_weights, rng);
            total.moved += info.moved;
            total.births += info.births;
        }
        total
    }

    fn contributions(&self) -> Vec<Stats> {
        contributions(&*self.family, &self.shard, &self.labels, self.components.len())
    }

    fn half_contributions(&self) -> Vec<[Stats; 2]> {
        half_contributions(&*self.family, &self.shard, &self.labels, &self.half_labels, self.components.len())
    }

    fn assign(&mut self, components: &[Stats]) -> Vec<Assignment> {
        let assign_row = |row| {
            let log_weights: Vec<f64> = components.iter().map(|stats| log_weight(&*self.family, row, stats)).collect();
            let mut best = 0;
            for (ix, log_weight) in log_weights.iter().enumerate() {
                if *log_weight > log_weights[best] {
                    best = ix;
                }
            }
            let certainty = libm::exp(log_weights[best] - log_sum_exp(&log_weights)) as f32;
            Assignment { label: best as u32, certainty }
        };
        self.shard.rows().map(assign_row).collect()
    }

    fn predict(&mut self, rows: &Shard, alpha: f64, mut probabilities: Option<&mut Vec<f64>>) -> Vec<Prediction> {
        let n_rows: i64 = self.components.iter().map(|stats| stats.count).sum();
        let mut log_weights = Vec::new();
        let mut predict_row = |row| {
            conditional(&*self.family, row, &self.components, alpha, &mut log_weights);
            let (log_total, (log_weight_new, of_components)) =
                (log_sum_exp(&log_weights), log_weights.split_last().expect("the new component is there"));
            let best = (0..of_components.len()).rev().max_by(|&a, &b| of_components[a].total_cmp(&of_components[b]));
            let label = best.expect("there is a component");
            if let Some(probabilities) = &mut probabilities {
                probabilities.extend(log_weights.iter().map(|log_weight| libm::exp(log_weight - log_total)));
            }
            Prediction {
                label: label as u32,
                certainty: libm::exp(of_components[label] - log_sum_exp(of_components)) as f32,
                p_new: libm::exp(log_weight_new - log_total),
                log_density: log_total - libm::log(n_rows as f64 + alpha),
            }
        };
        rows.rows().map(&mut predict_row).collect()
    }

    fn log_shares(&mut self, rows: &Shard) -> Vec<f32> {
        let of_row = |row| {
            let log_weights: Vec<f64> =
                self.components.iter().map(|stats| log_weight(&*self.family, row, stats)).collect();
            let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            log_weights.into_iter().map(move |log_weight| (log_weight - largest) as f32)
        };
        rows.rows().flat_map(of_row).collect()
    }

    fn sum_log_base(&self) -> f64 {
        self.shard.rows().map(|row| self.family.log_base_measure(row)).sum()
    }
}
