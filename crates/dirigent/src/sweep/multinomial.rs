//! The fast scorer of documents.
//!
//! log w = ln n + Σ_w Σ_{j<c_w} ln(γ + n_w + j) − [ln Γ(z+L) − ln Γ(z)], z = Vγ + all words of the
//! component, L the document's length. What the words weigh is a running product ([`WordProducts`])
//! or, for long documents over few words, a sum of logarithms that are kept ([`word_logs`]). Counts
//! are whole numbers, so nothing drifts. A document is scored against the current table, so nothing
//! is ever stale (a batch is one row).

use std::ops::Range;

use super::UNASSIGNED;
use super::batch::{Scorer, mask};
use super::document::Document;
use super::kernel::{Arithmetic, LANES, lanes};
use super::length_table::{LengthTable, STIRLING, evaluate, stirling};
use super::multinomial_halves::MultinomialHalves;
use super::word_logs::{self, WIDTH};
use super::word_products::WordProducts;
use super::words::Words;
use crate::family::Multinomial;
use crate::halves::Half;
use crate::rows::{CountRow, Row, Shard};
use crate::special::log_gamma;
use crate::stats::Stats;

/// A slot that is so much below the best weighs nothing, in nats: the draw is in single precision.
const HOPELESS: f64 = 150.0;

/// Scores documents against multinomial components.
pub(crate) struct MultinomialScorer {
    family: Multinomial,
    lengths: LengthTable,
    slots: WordSlots,
    halves: MultinomialHalves,
    document: Document,
    products: WordProducts,
    /// The log-weights of the current document in double precision.
    log_weights: Vec<[f64; LANES]>,
    /// The largest of them: scores are relative to it.
    reference: f64,
    /// How many words of it have only a bound in a slot.
    n_bounds: Vec<[f64; WIDTH]>,
    /// Its own slot, and its log-weight there with the document taken out, not relative to
    /// anything; while nothing has changed.
    own: Option<(usize, f64)>,
}

/// The components.
#[derive(Default)]
struct WordSlots {
    counts: Vec<i64>,
    /// No slot from here on has had a document.
    n_used: usize,
    words: Words,
    /// ln n, −∞ for a free slot.
    log_counts: Vec<[f64; LANES]>,
    /// z = Vγ + all words.
    totals: Vec<[f64; LANES]>,
    /// ln z.
    log_totals: Vec<[f64; LANES]>,
    /// 1/z.
    inverse_totals: Vec<[f64; LANES]>,
}

impl MultinomialScorer {
    pub(crate) fn new(family: Multinomial) -> Self {
        Self {
            lengths: LengthTable::new(family.total_smoothing()),
            slots: WordSlots::default(),
            halves: MultinomialHalves::default(),
            document: Document::new(family.smoothing),
            products: WordProducts::default(),
            n_bounds: Vec::new(),
            own: None,
            log_weights: Vec::new(),
            reference: 0.0,
            family,
        }
    }

    /// Log-weights of all slots, up to the products: ln n − [ln Γ(z+L) − ln Γ(z)].
    #[inline(always)]
    fn weigh_heads(&mut self) {
        let (slots, length) = (&self.slots, self.document.length as f64);
        let heads = self.log_weights.iter_mut().zip(&slots.log_counts).zip(&slots.log_totals);
        let heads = heads.zip(&slots.totals).zip(&slots.inverse_totals);
        let polynomial = self.lengths.polynomial(self.document.length, smallest_total(slots));
        let z_empty = self.family.total_smoothing();
        for ((((log_weights, &log_counts), &log_totals), &totals), &inverses) in heads {
            let rest: [f64; LANES] = match &polynomial {
                Some(coefficients) => lanes(|lane| evaluate(coefficients, inverses[lane])),
                None if z_empty >= STIRLING => lanes(|lane| stirling(totals[lane], length)),
                None => {
                    lanes(|lane| log_gamma(totals[lane] + length) - log_gamma(totals[lane]) - length * log_totals[lane])
                }
            };
            *log_weights = lanes(|lane| log_counts[lane] - length * log_totals[lane] - rest[lane]);
        }
    }

    /// What the words weigh, by products.
    #[inline(always)]
    fn multiply<A: Arithmetic>(&mut self, row: CountRow<'_>, next: CountRow<'_>) {
        let (document, table) = (&mut self.document, &self.slots.words.table);
        document.list_tokens(row, table);
        self.products.multiply(document, table, next.words);
        self.products.add_to::<A>(&mut self.log_weights, document, table);
        self.own = None;
        let largest = largest(&self.log_weights);
        self.reference = if largest > f64::NEG_INFINITY { largest } else { 0.0 };
    }

    /// The same by logarithms that are kept. Where there are bounds among them, slots that these
    /// leave a chance are weighed exactly.
    #[inline(always)]
    fn sum_logs(&mut self, own: u32) {
        let n_vectors = self.slots.n_used.div_ceil(WIDTH);
        self.document.prepare_steps();
        if let Some(logs) = &self.slots.words.logs {
            let weights = self.log_weights.as_flattened_mut().as_chunks_mut::<WIDTH>().0.iter_mut();
            for (vector, (weights, n_bounds)) in weights.zip(&mut self.n_bounds).enumerate().take(n_vectors) {
                *n_bounds = logs.add_rises(&self.document, vector, weights);
            }
        }
        self.own = None;
        if own != UNASSIGNED {
            let (slot, log_weight) = (own as usize, self.weigh(own as usize, true));
            self.own = Some((slot, log_weight));
            self.log_weights[slot / LANES][slot % LANES] = log_weight;
            self.n_bounds[slot / WIDTH][slot % WIDTH] = 0.0;
        }
        let weights = self.log_weights.as_flattened().as_chunks::<WIDTH>().0;
        let mut best = largest_but_bounds(&weights[..n_vectors], &self.n_bounds);
        for vector in 0..n_vectors {
            let hopeless = best - HOPELESS;
            let (weights, n_bounds) =
                (self.log_weights.as_flattened().as_chunks::<WIDTH>().0[vector], self.n_bounds[vector]);
            let has_chance = |lane: usize| (n_bounds[lane] > 0.0) & (weights[lane] > hopeless);
            if (0..WIDTH).fold(false, |any, lane| any | has_chance(lane)) {
                for lane in (0..WIDTH).filter(|&lane| has_chance(lane)) {
                    let exact = self.weigh(vector * WIDTH + lane, false);
                    self.log_weights.as_flattened_mut()[vector * WIDTH + lane] = exact;
                    best = best.max(exact);
                }
            }
        }
        self.reference = if best > f64::NEG_INFINITY { best } else { 0.0 };
    }

    /// The log-weight of one slot, or with the document taken out of it, not relative to anything.
    #[inline(always)]
    fn weigh(&self, slot: usize, is_out: bool) -> f64 {
        let count = self.slots.counts[slot] - i64::from(is_out);
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let length = self.document.length;
        let out = if is_out { length as f64 } else { 0.0 };
        let total = self.slots.totals[slot / LANES][slot % LANES] - out;
        libm::log(count as f64) + self.slots.words.log_rise(&self.document, slot, is_out)
            - self.lengths.log_rise(length, total)
    }

    fn change(&mut self, slot: usize, sign: i32) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        self.slots.words.change(&self.document, slot, sign);
        self.slots.counts[slot] += i64::from(sign);
        self.slots.n_used = self.slots.n_used.max(slot + 1);
        self.slots.totals[vector][lane] += f64::from(sign) * self.document.length as f64;
        self.own = None;
        self.refresh_logs(slot);
    }

    fn refresh_logs(&mut self, slot: usize) {
        let (vector, lane, count) = (slot / LANES, slot % LANES, self.slots.counts[slot]);
        if count == 0 {
            // exactly the prior, not the prior up to rounding
            self.slots.totals[vector][lane] = self.family.total_smoothing();
        }
        let total = self.slots.totals[vector][lane];
        self.slots.log_counts[vector][lane] = if count > 0 { libm::log(count as f64) } else { f64::NEG_INFINITY };
        self.slots.log_totals[vector][lane] = libm::log(total);
        self.slots.inverse_totals[vector][lane] = 1.0 / total;
    }

    /// Free slots up to a number of vectors, beyond those there are.
    fn resize(&mut self, n_vectors: usize) {
        let total = self.family.total_smoothing();
        self.slots.counts.resize(n_vectors * LANES, 0);
        self.slots.log_counts.resize(n_vectors, [f64::NEG_INFINITY; LANES]);
        self.slots.totals.resize(n_vectors, [total; LANES]);
        self.slots.log_totals.resize(n_vectors, [libm::log(total); LANES]);
        self.slots.inverse_totals.resize(n_vectors, [1.0 / total; LANES]);
        self.products.resize(n_vectors);
        self.n_bounds.resize(n_vectors * LANES / WIDTH, [0.0; WIDTH]);
        self.log_weights.resize(n_vectors, [0.0; LANES]);
    }
}

/// The smallest z of a component that is not empty.
#[inline(always)]
fn smallest_total(slots: &WordSlots) -> f64 {
    let mut smallest = [f64::INFINITY; LANES];
    for (&totals, &log_counts) in slots.totals.iter().zip(&slots.log_counts) {
        smallest = lanes(|lane| {
            let is_smaller = (totals[lane] < smallest[lane]) & (log_counts[lane] >= 0.0);
            if is_smaller { totals[lane] } else { smallest[lane] }
        });
    }
    smallest.into_iter().fold(f64::INFINITY, f64::min)
}

/// The largest of the log-weights.
#[inline(always)]
fn largest(log_weights: &[[f64; LANES]]) -> f64 {
    let mut largest = [f64::NEG_INFINITY; LANES];
    for &log_weights in log_weights {
        let before = largest;
        largest = lanes(|lane| if log_weights[lane] > before[lane] { log_weights[lane] } else { before[lane] });
    }
    largest.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The largest of those that are not bounds.
#[inline(always)]
fn largest_but_bounds(log_weights: &[[f64; WIDTH]], n_bounds: &[[f64; WIDTH]]) -> f64 {
    let mut largest = [f64::NEG_INFINITY; WIDTH];
    for (log_weights, n_bounds) in log_weights.iter().zip(n_bounds) {
        for lane in 0..WIDTH {
            let is_larger = (log_weights[lane] > largest[lane]) & (n_bounds[lane] == 0.0);
            largest[lane] = if is_larger { log_weights[lane] } else { largest[lane] };
        }
    }
    largest.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

impl Scorer for MultinomialScorer {
    type Family = Multinomial;

    const BATCH: usize = 1;

    fn family(&self) -> &Multinomial {
        &self.family
    }

    fn load(&mut self, components: &[Stats]) {
        let (n_words, n_vectors) = (self.family.n_words, components.len().max(1).div_ceil(LANES));
        self.slots = WordSlots { words: Words::new(self.family.smoothing, n_words, n_vectors), ..WordSlots::default() };
        self.resize(n_vectors);
        let (mut n_documents, mut n_tokens) = (0, 0);
        for (slot, stats) in components.iter().enumerate() {
            self.slots.counts[slot] = stats.count;
            let n_words_in = self.slots.words.table.write(slot, stats);
            self.slots.totals[slot / LANES][slot % LANES] = self.family.total_smoothing() + n_words_in as f64;
            self.refresh_logs(slot);
            n_documents += stats.count;
            n_tokens += n_words_in;
        }
        self.slots.n_used = components.len();
        self.own = None;
        if word_logs::are_worth_it(n_words, n_vectors * LANES, n_documents, n_tokens) {
            self.slots.words.keep_logs();
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.slots.counts
    }

    fn grow(&mut self) {
        let n_vectors = self.log_weights.len();
        let more = n_vectors + 1 + n_vectors / 8;
        self.slots.words.resize(more);
        self.resize(more);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        let Row::Counts(row) = shard.row(rows.start) else { panic!("a multinomial has rows of counts") };
        let next = if rows.end < shard.n_rows() { shard.row(rows.end) } else { Row::Counts(row) };
        let Row::Counts(next) = next else { panic!("a multinomial has rows of counts") };
        self.document.read(row);
        self.lengths.prepare(self.document.length);
        self.weigh_heads();
        if self.slots.words.logs.is_some() {
            self.sum_logs(own[0]);
        } else {
            self.multiply::<A>(row, next);
        }
        for (scores, log_weights) in scores.iter_mut().zip(&self.log_weights) {
            let reference = self.reference;
            *scores = lanes(|lane| (log_weights[lane] - reference) as f32);
        }
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, _in_batch: usize, slot: usize) -> f64 {
        self.weigh(slot, false) - self.reference
    }

    #[inline(always)]
    fn is_bound(&self, slot: usize) -> bool {
        self.slots.words.logs.is_some() && self.n_bounds[slot / WIDTH][slot % WIDTH] > 0.0
    }

    #[inline(always)]
    fn log_weight_without(&self, _in_batch: usize, slot: usize) -> f64 {
        match self.own {
            Some((own, log_weight)) if own == slot => log_weight - self.reference,
            _ => self.weigh(slot, true) - self.reference,
        }
    }

    #[inline(always)]
    fn log_weight_new(&self, _in_batch: usize) -> f64 {
        self.document.log_product_of_empty - self.lengths.of_empty(self.document.length) - self.reference
    }

    #[inline(always)]
    fn log_left_out(&self, _row: Row<'_>, _in_batch: usize) -> f64 {
        self.reference
    }

    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1);
    }

    fn remove(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, -1);
    }

    fn load_halves(&mut self, halves: &[Option<[Stats; 2]>]) {
        self.halves.load(halves, &self.family, self.slots.words.logs.is_some());
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    #[inline(always)]
    fn log_half_weights(&self, _in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(&self.document, &self.lengths, slot, taken_out)
    }

    #[inline(always)]
    fn change_half(&mut self, _in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.document, slot, half, sign);
    }
}
