//! The fast scorer of documents: running products of counts, one logarithm a component at the end.
//!
//! log w = ln n + Σ_w Σ_{j<c_w} ln(γ + n_w + j) − [ln Γ(z+L) − ln Γ(z)], z = Vγ + all words of the component, L the document's length.
//! Each word of a document, each repeat too, multiplies a row of the [`WordTable`] into a running product in single precision, whose exponents are
//! split off before they can overflow; a word that occurs many times is added as one logarithm ([`super::run`]). Counts are whole numbers, so nothing drifts. A document is scored against the current table, so
//! nothing is ever stale (a batch is one row).

use std::f64::consts::LN_2;
use std::ops::Range;

use super::batch::{Scorer, mask};
use super::document::Document;
use super::kernel::{Arithmetic, LANES, lanes, log_mantissa, prefetch};
use super::length_table::{LengthTable, STIRLING, evaluate, stirling};
use super::multinomial_halves::MultinomialHalves;
use super::word_table::WordTable;
use crate::family::Multinomial;
use crate::halves::Half;
use crate::rows::{Row, Shard};
use crate::special::log_gamma;
use crate::stats::Stats;

/// Vectors of slots whose products are held in registers together.
const PANEL: usize = 5;

/// Scores documents against multinomial components.
pub(crate) struct MultinomialScorer {
    family: Multinomial,
    lengths: LengthTable,
    slots: Slots,
    halves: MultinomialHalves,
    document: Document,
    /// Π (γ + n_w + j) of the current document: mantissas (later their logarithms) and exponents.
    mantissas: Vec<[f32; LANES]>,
    exponents: Vec<[i32; LANES]>,
    /// Its log-weights in double precision.
    log_weights: Vec<[f64; LANES]>,
    /// The largest of them: scores are relative to it.
    reference: f64,
}

/// The components.
#[derive(Default)]
struct Slots {
    counts: Vec<i64>,
    words: WordTable,
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
            slots: Slots::default(),
            halves: MultinomialHalves::default(),
            document: Document::new(family.smoothing),
            mantissas: Vec::new(),
            exponents: Vec::new(),
            log_weights: Vec::new(),
            reference: 0.0,
            family,
        }
    }

    /// How many factors a product in single precision can take after its exponent was split off.
    fn factors_before_split(&self) -> usize {
        let largest = self.family.smoothing.ceil() as u64
            + u64::from(self.slots.words.largest())
            + u64::from(self.document.longest_run);
        let bits_up = 1 + largest.max(1).ilog2();
        // γ = 2^−x lies between 2^−(x+1) and 2^−x of its exponent's bits
        let bits_down = 1023 - (self.family.smoothing.min(1.0).to_bits() >> 52) as i64;
        (125 / bits_down.max(i64::from(bits_up))).max(1) as usize
    }

    /// The products of all slots.
    #[inline(always)]
    fn multiply(&mut self, next: &[u32]) {
        let (n_vectors, factors) = (self.mantissas.len(), self.factors_before_split());
        let mut first = 0;
        while first < n_vectors {
            self.prefetch_panel(next, first);
            first += match n_vectors - first {
                PANEL.. => self.multiply_panel::<PANEL>(first, factors),
                2.. => self.multiply_panel::<2>(first, factors),
                _ => self.multiply_panel::<1>(first, factors),
            };
        }
    }

    /// Asks for what the next document will read: the table is larger than the caches.
    #[inline(always)]
    fn prefetch_panel(&self, next: &[u32], first_vector: usize) {
        for &word in next {
            let row = self.slots.words.narrow_row(word);
            for vectors in row[first_vector..].chunks(2).take(PANEL.div_ceil(2)) {
                prefetch(&vectors[0]);
            }
        }
    }

    /// The products of `P` vectors of slots; returns how many those are.
    #[inline(always)]
    fn multiply_panel<const P: usize>(&mut self, first_vector: usize, factors: usize) -> usize {
        let (words, document) = (&self.slots.words, &self.document);
        let mut products = [[1.0f32; LANES]; P];
        let mut exponents = [[0i32; LANES]; P];
        for tokens in [&document.narrow, &document.narrow_repeats] {
            for tokens in tokens.chunks(factors) {
                for token in tokens {
                    let counts = words.narrow(token.word, first_vector);
                    multiply_in(&mut products, counts, token.addend, f32::from);
                }
                split(&mut products, &mut exponents);
            }
        }
        for tokens in document.wide.chunks(factors) {
            for token in tokens {
                let counts = words.wide(token.word, first_vector);
                multiply_in(&mut products, counts, token.addend, |count| count as f32);
            }
            split(&mut products, &mut exponents);
        }
        self.mantissas[first_vector..first_vector + P].copy_from_slice(&products);
        self.exponents[first_vector..first_vector + P].copy_from_slice(&exponents);
        P
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

    /// Adds what words that occur many times weigh.
    #[inline(always)]
    fn add_runs(&mut self) {
        let smoothing = self.family.smoothing;
        for run in &self.document.runs {
            for (vector, log_weights) in self.log_weights.iter_mut().enumerate() {
                let counts = self.slots.words.counts(run.word, vector);
                let before = *log_weights;
                *log_weights = lanes(|lane| before[lane] + run.log_rise_of_large(smoothing + f64::from(counts[lane])));
                for lane in 0..LANES {
                    let z = smoothing + f64::from(counts[lane]);
                    if !run.is_large(z) && before[lane] > f64::NEG_INFINITY {
                        log_weights[lane] = before[lane] + run.log_rise(&self.document.rising, counts[lane]);
                    }
                }
            }
        }
    }

    /// The log-weight of one slot if it held `count` documents, from the current document's words less `taken_out` times itself.
    fn log_weight_of(&self, slot: usize, count: i64, taken_out: u32) -> f64 {
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let length = self.document.length;
        let total = self.slots.totals[slot / LANES][slot % LANES] - f64::from(taken_out) * length as f64;
        libm::log(count as f64) + self.document.log_product(&self.slots.words, slot, taken_out)
            - self.lengths.log_rise(length, total)
            - self.reference
    }

    fn change(&mut self, slot: usize, sign: i32) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        self.document.change(&mut self.slots.words, slot, sign);
        self.slots.counts[slot] += i64::from(sign);
        self.slots.totals[vector][lane] += f64::from(sign) * self.document.length as f64;
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
        self.mantissas.resize(n_vectors, [0.0; LANES]);
        self.exponents.resize(n_vectors, [0; LANES]);
        self.log_weights.resize(n_vectors, [0.0; LANES]);
    }
}

/// The smallest z of a component that is not empty.
#[inline(always)]
fn smallest_total(slots: &Slots) -> f64 {
    let mut smallest = [f64::INFINITY; LANES];
    for (&totals, &log_counts) in slots.totals.iter().zip(&slots.log_counts) {
        smallest = lanes(|lane| {
            let is_smaller = (totals[lane] < smallest[lane]) & (log_counts[lane] >= 0.0);
            if is_smaller { totals[lane] } else { smallest[lane] }
        });
    }
    smallest.into_iter().fold(f64::INFINITY, f64::min)
}

/// The largest of the log-weights, 0 if there is none.
#[inline(always)]
fn largest(log_weights: &[[f64; LANES]]) -> f64 {
    let mut largest = [f64::NEG_INFINITY; LANES];
    for &log_weights in log_weights {
        let before = largest;
        largest = lanes(|lane| if log_weights[lane] > before[lane] { log_weights[lane] } else { before[lane] });
    }
    let largest = largest.into_iter().fold(f64::NEG_INFINITY, f64::max);
    if largest > f64::NEG_INFINITY { largest } else { 0.0 }
}

/// Multiplies a row of counts, plus γ and the repeats, into the products.
#[inline(always)]
fn multiply_in<T: Copy, const P: usize>(
    products: &mut [[f32; LANES]; P],
    counts: &[[T; LANES]; P],
    addend: f32,
    to_single: impl Fn(T) -> f32,
) {
    for vector in 0..P {
        for lane in 0..LANES {
            products[vector][lane] *= to_single(counts[vector][lane]) + addend;
        }
    }
}

/// Splits the exponents off the products.
#[inline(always)]
fn split<const P: usize>(products: &mut [[f32; LANES]; P], exponents: &mut [[i32; LANES]; P]) {
    for (product, exponent) in products.iter_mut().zip(exponents) {
        for lane in 0..LANES {
            let bits = product[lane].to_bits();
            exponent[lane] += (bits >> 23) as i32 - 127;
            product[lane] = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
        }
    }
}

impl Scorer for MultinomialScorer {
    type Family = Multinomial;

    const BATCH: usize = 1;

    fn family(&self) -> &Multinomial {
        &self.family
    }

    fn load(&mut self, components: &[Stats]) {
        let (n_words, n_vectors) = (self.family.n_words, components.len().max(1).div_ceil(LANES));
        self.slots = Slots { words: WordTable::new(n_words, n_vectors), ..Slots::default() };
        self.resize(n_vectors);
        for (slot, stats) in components.iter().enumerate() {
            self.slots.counts[slot] = stats.count;
            let n_words_in = self.slots.words.write(slot, stats);
            self.slots.totals[slot / LANES][slot % LANES] = self.family.total_smoothing() + n_words_in as f64;
            self.refresh_logs(slot);
        }
    }

    #[inline(always)]
    fn counts(&self) -> &[i64] {
        &self.slots.counts
    }

    fn grow(&mut self) {
        let n_vectors = self.mantissas.len();
        let more = n_vectors + 1 + n_vectors / 8;
        self.slots.words.resize(more);
        self.resize(more);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, own: &[u32], scores: &mut [[f32; LANES]]) {
        let Row::Counts(row) = shard.row(rows.start) else { panic!("a multinomial has rows of counts") };
        let next = if rows.end < shard.n_rows() { shard.row(rows.end) } else { Row::Counts(row) };
        let Row::Counts(next) = next else { panic!("a multinomial has rows of counts") };
        self.document.read(row, &self.slots.words);
        self.lengths.prepare(self.document.length);
        self.multiply(next.words);
        self.weigh_heads();
        self.add_runs();
        for mantissas in &mut self.mantissas {
            for mantissa in mantissas {
                *mantissa = log_mantissa::<A>(*mantissa);
            }
        }
        for ((log_weights, &logs), &exponents) in self.log_weights.iter_mut().zip(&self.mantissas).zip(&self.exponents)
        {
            let heads = *log_weights;
            *log_weights = lanes(|lane| heads[lane] + f64::from(exponents[lane]) * LN_2 + f64::from(logs[lane]));
        }
        self.reference = largest(&self.log_weights);
        for (scores, log_weights) in scores.iter_mut().zip(&self.log_weights) {
            let reference = self.reference;
            *scores = lanes(|lane| (log_weights[lane] - reference) as f32);
        }
        mask(own, scores);
    }

    #[inline(always)]
    fn log_weight(&self, _in_batch: usize, slot: usize) -> f64 {
        self.log_weight_of(slot, self.slots.counts[slot], 0)
    }

    #[inline(always)]
    fn log_weight_without(&self, _in_batch: usize, slot: usize) -> f64 {
        self.log_weight_of(slot, self.slots.counts[slot] - 1, 1)
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
        self.halves.load(halves, &self.family);
    }

    #[inline(always)]
    fn half_counts(&self, slot: usize) -> [i64; 2] {
        self.halves.counts(slot)
    }

    fn log_half_weights(&self, _in_batch: usize, slot: usize, taken_out: Option<Half>) -> [f64; 2] {
        self.halves.log_weights(&self.document, &self.lengths, slot, taken_out)
    }

    fn change_half(&mut self, _in_batch: usize, slot: usize, half: Half, sign: i64) {
        self.halves.change(&self.document, slot, half, sign);
    }
}
