//! The one sweep algorithm: exact collapsed Gibbs in batches.
//!
//! A batch of rows is scored against the components as they stand at its start, which a scorer does
//! at the speed of a matrix product. Then the rows are taken one by one. Only components that
//! gained or lost a row within the batch are stale; their scores are recomputed in double precision
//! from the current statistics. A row's own component is scored with the row taken out, without
//! touching any statistics: a row that stays writes nothing. So every draw is from the exact
//! collapsed conditional.

use std::ops::Range;

use super::draw::{Draw, SlotChoice};
use super::halves::{LocalHalves, RowHalves, RowPlace};
use super::kernel::{self, Arithmetic, Kernel, LANES, Task};
use super::overlaps::{Count, Overlaps};
use super::predict::{self, NewComponent, Prediction};
use super::{Assignment, Sampler, SweepInfo, UNASSIGNED, reference};
use crate::family::{Conjugate as _, Family};
use crate::halves::Half;
use crate::interrupt::Interrupt;
use crate::rng::Stream;
use crate::rows::{Row, Shard};
use crate::stats::Stats;

/// Scores rows against all slots of a family's components. Log-weights are log(n_k · predictive_k)
/// up to a constant of the row.
pub(crate) trait Scorer: Send {
    type Family: Family;

    /// Rows that are scored together. With 1 nothing is ever stale.
    const BATCH: usize;

    fn family(&self) -> &Self::Family;

    /// The share of the total above which a weight is recomputed in double precision, where single
    /// precision is too coarse.
    fn refine_above(&self) -> Option<f64> {
        None
    }

    /// Takes over the components, slot by slot; slots up to the next multiple of [`LANES`] are
    /// empty.
    fn load(&mut self, components: &[Stats]);

    /// Rows in each slot; 0 is a free slot. The length is a multiple of [`LANES`].
    fn counts(&self) -> &[i64];

    /// Adds free slots, a multiple of [`LANES`] and a share of those there are: every growth ends a
    /// batch.
    fn grow(&mut self);

    /// Makes `rows` the current batch and scores each against all slots; −∞ for free ones, and for
    /// the row's own.
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]);

    /// The current log-weight of a slot for a row of the batch; −∞ for a free slot.
    fn log_weight(&self, in_batch: usize, slot: usize) -> f64;

    /// Whether the score of a slot is only a bound, because the slot is hopeless;
    /// [`Scorer::log_weight`] is exact all the same.
    #[inline(always)]
    fn is_bound(&self, slot: usize) -> bool {
        let _ = slot;
        false
    }

    /// The log-weight of the row's own slot with the row taken out; −∞ if it is alone there.
    fn log_weight_without(&self, in_batch: usize, slot: usize) -> f64;

    /// The log-predictive of the row under an empty component.
    fn log_weight_new(&self, in_batch: usize) -> f64;

    /// No less than [`Scorer::log_weight_new`], where that is cheaper to know.
    #[inline(always)]
    fn log_weight_new_at_most(&self, in_batch: usize) -> f64 {
        self.log_weight_new(in_batch)
    }

    /// What the log-weights of a row leave out because all of them have it: with it they are logs
    /// of n_k · predictive_k.
    fn log_left_out(&self, row: Row<'_>, in_batch: usize) -> f64 {
        self.family().log_predictive(row, &self.family().empty_stats()) - self.log_weight_new(in_batch)
    }

    fn insert(&mut self, in_batch: usize, slot: usize);

    fn remove(&mut self, in_batch: usize, slot: usize);

    /// Takes over the statistics of both halves, where they are known, of the loaded slots.
    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]);

    /// Rows in both halves of a slot.
    fn half_counts(&self, slot: usize) -> [i64; 2];

    /// Log-weights of both halves, as [`Scorer::log_weight`]; the row is taken out of one. Without
    /// ln n for an empty half.
    fn log_half_weights(&self, in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2];

    /// Adds the row to a half (`sign` 1) or takes it out (−1).
    fn change_half(&mut self, in_batch: usize, slot: usize, half: Half, sign: i64);
}

/// Takes each row's own slot out of its scores.
#[inline(always)]
pub(crate) fn mask(own: &[u32], scores: &mut [[f32; LANES]]) {
    let n_vectors = scores.len() / own.len();
    for (&own, scores) in own.iter().zip(scores.chunks_exact_mut(n_vectors)) {
        if own != UNASSIGNED {
            scores[own as usize / LANES][own as usize % LANES] = f32::NEG_INFINITY;
        }
    }
}

/// A sampler that sweeps in batches.
pub(crate) struct BatchSampler<S> {
    scorer: S,
    shard: Shard,
    labels: Vec<u32>,
    halves: RowHalves,
    kernel: Kernel,
    buffers: Buffers,
    pub(super) overlaps: Overlaps,
    interrupt: Interrupt,
    /// What labels may point at while the scorer holds nothing.
    n_slots_before_rest: usize,
}

/// Reused from batch to batch: the sweep allocates nothing.
#[derive(Default)]
struct Buffers {
    /// Row after row of the batch, all slots.
    scores: Vec<[f32; LANES]>,
    /// Vectors of scores a row.
    n_vectors: usize,
    draw: Draw,
    /// Slots that changed within the batch.
    stale: Vec<usize>,
    is_stale: Vec<bool>,
    /// Slots that a birth may take, the smallest last.
    free: Vec<usize>,
    /// Slots that were loaded: they keep their component through the sweep, even if it loses all
    /// its rows.
    n_loaded: usize,
}

impl<S: Scorer> BatchSampler<S> {
    pub(crate) fn new(scorer: S, shard: Shard, kernel: Kernel) -> Self {
        let labels = vec![UNASSIGNED; shard.n_rows()];
        let halves = RowHalves::new(labels.len());
        let interrupt = Interrupt::new();
        let (buffers, overlaps) = (Buffers::default(), Overlaps::default());
        Self { scorer, shard, labels, halves, kernel, buffers, overlaps, interrupt, n_slots_before_rest: 0 }
    }

    fn n_slots(&self) -> usize {
        self.scorer.counts().len().max(self.n_slots_before_rest)
    }

    /// Makes one row the current batch.
    #[cfg(test)]
    fn open_row(&mut self, row_ix: usize) {
        struct ScoreOne<'a, S>(&'a mut BatchSampler<S>, usize);
        impl<S: Scorer> Task for ScoreOne<'_, S> {
            type Output = ();
            #[inline(always)]
            fn run<A: Arithmetic>(self) {
                let BatchSampler { scorer, shard, labels, buffers, .. } = self.0;
                let row = self.1..self.1 + 1;
                buffers.open_batch::<A, S>(scorer, shard, row.clone(), &labels[row]);
            }
        }
        kernel::run(self.kernel, ScoreOne(self, row_ix));
    }

    /// The probability of the left half of a slot for a row that is taken out of a half of it, as
    /// the sweep draws from, and the rows in both halves.
    #[cfg(test)]
    pub(crate) fn half_conditional(
        &mut self,
        row_ix: usize,
        slot: usize,
        taken_out: Option<Half>,
        alpha: f64,
    ) -> (f64, [i64; 2]) {
        self.open_row(row_ix);
        let odds = super::halves::odds_of_right(&self.scorer, 0, slot, taken_out, 0.5 * alpha);
        (1.0 / (1.0 + odds), self.scorer.half_counts(slot))
    }

    /// The conditional of one row given all others, as the sweep draws from: slots, then a new
    /// component.
    #[cfg(test)]
    pub(crate) fn conditional(&mut self, row_ix: usize, alpha: f64) -> Vec<f64> {
        self.open_row(row_ix);
        let own = self.labels[row_ix];
        let log_weight_own = self.buffers.refresh(&self.scorer, 0, own);
        let log_weight_new = libm::log(alpha) + self.scorer.log_weight_new(0);
        struct Weigh<'a>(&'a mut Draw, &'a [[f32; LANES]], f64, f64);
        impl Task for Weigh<'_> {
            type Output = ();
            #[inline(always)]
            fn run<A: Arithmetic>(self) {
                self.0.weigh::<A>(self.1, self.2, self.3);
            }
        }
        let Buffers { draw, scores, n_vectors, .. } = &mut self.buffers;
        kernel::run(self.kernel, Weigh(draw, &scores[..*n_vectors], log_weight_own, log_weight_new));
        if let Some(share) = self.scorer.refine_above() {
            draw.refine(share, |slot| self.scorer.log_weight(0, slot));
        }
        draw.probabilities((own != UNASSIGNED).then_some(own as usize))
    }
}

impl Buffers {
    /// Scores a batch.
    #[inline(always)]
    fn open_batch<A: Arithmetic, S: Scorer>(&mut self, scorer: &mut S, shard: &Shard, rows: Range<usize>, own: &[u32]) {
        let n_slots = scorer.counts().len();
        self.n_vectors = n_slots / LANES;
        let n_scores = rows.len() * self.n_vectors;
        if self.scores.len() < n_scores {
            self.scores.resize(n_scores, [0.0; LANES]);
        }
        self.draw.resize(self.n_vectors);
        scorer.score::<A>(shard, rows, own, &mut self.scores[..n_scores]);
        if S::BATCH > 1 {
            self.stale.drain(..).for_each(|slot| self.is_stale[slot] = false);
            self.is_stale.resize(n_slots, false);
        }
    }

    /// The scores of one row of the batch.
    #[inline(always)]
    fn row(&mut self, in_batch: usize) -> &mut [[f32; LANES]] {
        &mut self.scores[in_batch * self.n_vectors..(in_batch + 1) * self.n_vectors]
    }

    /// Puts right what is stale in a row's scores, its own component excepted, whose log-weight
    /// without the row is returned: most rows stay, so the draw asks for it first.
    #[inline(always)]
    fn refresh<S: Scorer>(&mut self, scorer: &S, in_batch: usize, own: u32) -> f64 {
        for ix in 0..self.stale.len() {
            let slot = self.stale[ix];
            if slot != own as usize {
                let log_weight = scorer.log_weight(in_batch, slot) as f32;
                self.row(in_batch)[slot / LANES][slot % LANES] = log_weight;
            }
        }
        if own == UNASSIGNED { f64::NEG_INFINITY } else { scorer.log_weight_without(in_batch, own as usize) }
    }

    #[inline(always)]
    fn mark<S: Scorer>(&mut self, slot: usize) {
        if S::BATCH > 1 && !self.is_stale[slot] {
            self.is_stale[slot] = true;
            self.stale.push(slot);
        }
    }
}

/// A sweep, to be compiled for every kernel.
struct Sweep<'a, S> {
    sampler: &'a mut BatchSampler<S>,
    alpha: f64,
    rng: &'a mut Stream,
}

impl<S: Scorer> Task for Sweep<'_, S> {
    type Output = SweepInfo;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> SweepInfo {
        let BatchSampler { scorer, shard, labels, halves, buffers, overlaps, interrupt, .. } = self.sampler;
        overlaps.clear(buffers.n_loaded);
        let (log_alpha, half_alpha) = (libm::log(self.alpha), 0.5 * self.alpha);
        buffers.free.clear();
        buffers.free.extend((buffers.n_loaded..scorer.counts().len()).rev().filter(|&slot| scorer.counts()[slot] == 0));
        let mut info = SweepInfo::default();
        let mut first_row = 0;
        while first_row < labels.len() && !interrupt.is_raised() {
            let rows = first_row..(first_row + S::BATCH).min(labels.len());
            buffers.open_batch::<A, S>(scorer, shard, rows.clone(), &labels[rows.clone()]);
            let n_slots = scorer.counts().len();
            // when the table has grown the scores no longer fit, and the rest of the batch is
            // scored again
            while first_row < rows.end && scorer.counts().len() == n_slots {
                let in_batch = first_row - rows.start;
                let own = labels[first_row];
                let label = &mut labels[first_row];
                take_row::<A, S>(scorer, buffers, overlaps, in_batch, label, log_alpha, self.rng, &mut info);
                if halves.is_on() {
                    let place = RowPlace { row_ix: first_row, in_batch, row: shard.row(first_row) };
                    halves.place(scorer, place, own, *label, half_alpha, overlaps, self.rng);
                }
                first_row += 1;
            }
        }
        info
    }
}

/// Draws one row's component and moves the row there.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn take_row<A: Arithmetic, S: Scorer>(
    scorer: &mut S,
    buffers: &mut Buffers,
    overlaps: &mut Overlaps,
    in_batch: usize,
    label: &mut u32,
    log_alpha: f64,
    rng: &mut Stream,
    info: &mut SweepInfo,
) {
    let own = *label;
    let (log_weight_own, uniform) = (buffers.refresh(scorer, in_batch, own), rng.uniform());
    let scores = &buffers.scores[in_batch * buffers.n_vectors..(in_batch + 1) * buffers.n_vectors];
    let log_new_at_most = log_alpha + scorer.log_weight_new_at_most(in_batch);
    let others = Draw::others_at_most::<A>(scores, log_weight_own, log_new_at_most);
    // infinitely many others times a uniform of 0 is no number: then the row is drawn
    let surely_stays = uniform * (1.0 + others) < 1.0;
    let count = overlaps.count(surely_stays, others, uniform);
    if surely_stays && count == Count::No {
        return;
    }
    let log_weight_new = log_alpha + scorer.log_weight_new(in_batch);
    buffers.draw.weigh::<A>(scores, log_weight_own, log_weight_new);
    if let Some(share) = scorer.refine_above() {
        buffers.draw.refine(share, |slot| scorer.log_weight(in_batch, slot));
    }
    let choice = buffers.draw.pick(uniform);
    if count != Count::No {
        buffers.draw.count_overlaps::<A>(choice, own, count, overlaps);
    }
    if choice == SlotChoice::Own {
        return;
    }
    if own != UNASSIGNED {
        if choice == SlotChoice::New && scorer.counts()[own as usize] == 1 {
            // alone before, alone again
            return;
        }
        scorer.remove(in_batch, own as usize);
        buffers.mark::<S>(own as usize);
        if scorer.counts()[own as usize] == 0 && own as usize >= buffers.n_loaded {
            buffers.free.push(own as usize);
        }
    }
    let slot = match choice {
        SlotChoice::Slot(slot) => slot,
        SlotChoice::Own => unreachable!("a row that stays has returned"),
        SlotChoice::New => {
            info.births += 1;
            buffers.free_slot(scorer)
        }
    };
    scorer.insert(in_batch, slot);
    buffers.mark::<S>(slot);
    *label = slot as u32;
    info.moved += 1;
}

impl Buffers {
    #[cold]
    fn free_slot<S: Scorer>(&mut self, scorer: &mut S) -> usize {
        if self.free.is_empty() {
            let n_before = scorer.counts().len();
            scorer.grow();
            self.free.extend((n_before..scorer.counts().len()).rev());
            if S::BATCH > 1 {
                self.is_stale.resize(scorer.counts().len(), false);
            }
        }
        self.free.pop().expect("a table that has grown has free slots")
    }
}

/// Argmax of a whole shard, to be compiled for every kernel.
struct Assign<'a, S> {
    sampler: &'a mut BatchSampler<S>,
}

/// No scorer has larger batches.
const MOST_ROWS: usize = 64;

impl<S: Scorer> Task for Assign<'_, S> {
    type Output = Vec<Assignment>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Vec<Assignment> {
        let BatchSampler { scorer, shard, buffers, .. } = self.sampler;
        let n_rows = shard.n_rows();
        let mut assignments = Vec::with_capacity(n_rows);
        for first_row in (0..n_rows).step_by(S::BATCH) {
            let rows = first_row..(first_row + S::BATCH).min(n_rows);
            buffers.open_batch::<A, S>(scorer, shard, rows.clone(), &[UNASSIGNED; MOST_ROWS][..rows.len()]);
            // a plain loop: within an iterator's closure the kernel's instructions may be lost
            for in_batch in 0..rows.len() {
                assignments.push(predict::assign_row::<A, S>(scorer, in_batch, buffers.row(in_batch)));
            }
        }
        assignments
    }
}

/// What is to be known of any rows, to be compiled for every kernel.
struct Predict<'a, S> {
    sampler: &'a mut BatchSampler<S>,
    shard: &'a Shard,
    alpha: f64,
    probabilities: Option<&'a mut Vec<f64>>,
}

impl<S: Scorer> Task for Predict<'_, S> {
    type Output = Vec<Prediction>;

    #[inline(always)]
    fn run<A: Arithmetic>(mut self) -> Vec<Prediction> {
        let BatchSampler { scorer, buffers, .. } = self.sampler;
        let n_rows = self.shard.n_rows();
        let prior = NewComponent::new(self.alpha, scorer.counts());
        let n_components = buffers.n_loaded;
        if let Some(probabilities) = &mut self.probabilities {
            probabilities.reserve(n_rows * (n_components + 1));
        }
        let mut predictions = Vec::with_capacity(n_rows);
        for first_row in (0..n_rows).step_by(S::BATCH) {
            let rows = first_row..(first_row + S::BATCH).min(n_rows);
            buffers.open_batch::<A, S>(scorer, self.shard, rows.clone(), &[UNASSIGNED; MOST_ROWS][..rows.len()]);
            for in_batch in 0..rows.len() {
                let row = self.shard.row(first_row + in_batch);
                let probabilities = self.probabilities.as_deref_mut().map(|all| (all, n_components));
                let scores = buffers.row(in_batch);
                predictions.push(predict::predict_row::<A, S>(scorer, row, in_batch, scores, &prior, probabilities));
            }
        }
        predictions
    }
}

/// How probable the components are for any rows, to be compiled for every kernel.
struct LogShares<'a, S> {
    sampler: &'a mut BatchSampler<S>,
    shard: &'a Shard,
}

impl<S: Scorer> Task for LogShares<'_, S> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Vec<f32> {
        let BatchSampler { scorer, buffers, .. } = self.sampler;
        let (n_rows, n_components) = (self.shard.n_rows(), buffers.n_loaded);
        let mut log_shares = Vec::with_capacity(n_rows * n_components);
        for first_row in (0..n_rows).step_by(S::BATCH) {
            let rows = first_row..(first_row + S::BATCH).min(n_rows);
            buffers.open_batch::<A, S>(scorer, self.shard, rows.clone(), &[UNASSIGNED; MOST_ROWS][..rows.len()]);
            for in_batch in 0..rows.len() {
                let scores = buffers.row(in_batch);
                predict::log_shares_of_row(scorer, in_batch, scores, n_components, &mut log_shares);
            }
        }
        log_shares
    }
}

impl<S: Scorer> Sampler for BatchSampler<S> {
    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn set_labels(&mut self, labels: Vec<u32>) {
        assert_eq!(labels.len(), self.shard.n_rows(), "one label a row");
        self.halves = RowHalves::new(labels.len());
        self.labels = labels;
    }

    fn halves(&self) -> &[Option<Half>] {
        &self.halves.labels
    }

    fn set_halves(&mut self, halves: Vec<Option<Half>>) {
        assert_eq!(halves.len(), self.labels.len(), "one half a row");
        self.halves.labels = halves;
    }

    fn load(&mut self, components: &[Stats]) {
        self.scorer.load(components);
        self.scorer.load_halves(&[]);
        self.halves.load(Vec::new());
        self.buffers.n_loaded = components.len();
        self.n_slots_before_rest = 0;
    }

    fn rest(&mut self) {
        self.n_slots_before_rest = self.n_slots();
        self.scorer.load(&[]);
        self.scorer.load_halves(&[]);
    }

    fn load_halves(&mut self, halves: Vec<LocalHalves>) {
        assert_eq!(halves.len(), self.buffers.n_loaded, "one for each loaded slot");
        let known = self.halves.load(halves);
        self.scorer.load_halves(&known);
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
        let kernel = self.kernel;
        kernel::run(kernel, Sweep { sampler: self, alpha, rng })
    }

    fn contributions(&self) -> Vec<Stats> {
        reference::contributions(self.scorer.family(), &self.shard, &self.labels, self.n_slots())
    }

    fn half_contributions(&self) -> Vec<[Stats; 2]> {
        let (family, halves) = (self.scorer.family(), &self.halves.labels);
        reference::half_contributions(family, &self.shard, &self.labels, halves, self.n_slots())
    }

    fn assign(&mut self, components: &[Stats]) -> Vec<Assignment> {
        self.scorer.load(components);
        kernel::run(self.kernel, Assign { sampler: self })
    }

    fn predict(&mut self, rows: &Shard, alpha: f64, probabilities: Option<&mut Vec<f64>>) -> Vec<Prediction> {
        kernel::run(self.kernel, Predict { sampler: self, shard: rows, alpha, probabilities })
    }

    fn log_shares(&mut self, rows: &Shard) -> Vec<f32> {
        kernel::run(self.kernel, LogShares { sampler: self, shard: rows })
    }

    fn sum_log_base(&self) -> f64 {
        self.shard.rows().map(|row| self.scorer.family().log_base_measure(row)).sum()
    }
}
