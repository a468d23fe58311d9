//! The fast scorer of documents: running products of counts, one logarithm a component at the end.
//!
//! log w = ln n + Σ_w Σ_{j<c_w} ln(γ + n_w + j) − [ln Γ(z+L) − ln Γ(z)], z = Vγ + all words of the component, L the document's length.
//! The counts lie word by word, all slots beside one another. Each word of a document, each repeat too, multiplies a row of that table into
//! a running product in single precision, whose exponents are split off before they can overflow. Counts are whole numbers, so
//! nothing drifts. A document is scored against the current table, so nothing is ever stale (a batch is one row).

use std::ops::Range;

use super::batch::Scorer;
use super::kernel::{Arithmetic, LANES, log};
use crate::family::Multinomial;
use crate::rows::{Row, Shard};
use crate::special::log_gamma;
use crate::stats::{Stats, Sums};

/// Vectors of slots whose products are held in registers together.
const PANEL: usize = 2;
/// From here on Stirling's series is exact to 1e-10.
const STIRLING: f64 = 8.0;

/// Scores documents against multinomial components.
pub(crate) struct MultinomialScorer {
    family: Multinomial,
    slots: Slots,
    document: Document,
    /// Log-weights of the current document in double precision.
    log_weights: Vec<[f64; LANES]>,
    /// The largest of them: scores are relative to it.
    reference: f64,
}

/// The components.
#[derive(Default)]
struct Slots {
    counts: Vec<i64>,
    /// Word after word, the counts of all slots.
    table: Vec<[i32; LANES]>,
    /// An upper bound of the table.
    largest: i32,
    /// ln n, −∞ for a free slot.
    log_counts: Vec<[f64; LANES]>,
    /// z = Vγ + all words.
    totals: Vec<[f64; LANES]>,
    /// ln z.
    log_totals: Vec<[f64; LANES]>,
}

/// The current row.
#[derive(Default)]
struct Document {
    /// (word, count).
    entries: Vec<(u32, u32)>,
    /// (word, γ + j) for each word and each repeat j.
    tokens: Vec<(u32, f32)>,
}

impl MultinomialScorer {
    pub(crate) fn new(family: Multinomial) -> Self {
        Self { family, slots: Slots::default(), document: Document::default(), log_weights: Vec::new(), reference: 0.0 }
    }

    fn n_vectors(&self) -> usize {
        self.slots.log_counts.len()
    }

    /// How many factors a product in single precision can take after its exponent was split off.
    fn factors_before_split(&self) -> usize {
        let longest = self.document.entries.iter().map(|&(_, count)| count).max().unwrap_or(0);
        let largest = self.family.smoothing + f64::from(self.slots.largest) + f64::from(longest);
        let bits_up = libm::log2(largest.max(2.0));
        let bits_down = -libm::log2(self.family.smoothing.min(0.5));
        (125.0 / bits_up.max(bits_down)) as usize
    }

    fn read(&mut self, row: Row<'_>) {
        let Row::Counts(row) = row else { panic!("a multinomial has rows of counts") };
        self.document.entries.clear();
        self.document.entries.extend(row.iter());
        self.document.tokens.clear();
        for (word, count) in row.iter() {
            let repeats = (0..count).map(|repeat| (word, (self.family.smoothing + f64::from(repeat)) as f32));
            self.document.tokens.extend(repeats);
        }
    }

    /// ln Π (γ + n_w + j) of a panel of slots, as exponents and mantissas.
    #[inline(always)]
    fn products(&self, first_vector: usize, factors: usize) -> [([f32; LANES], [i32; LANES]); PANEL] {
        let n_vectors = self.n_vectors();
        let mut products = [[1.0f32; LANES]; PANEL];
        let mut exponents = [[0i32; LANES]; PANEL];
        for tokens in self.document.tokens.chunks(factors) {
            for &(word, addend) in tokens {
                let start = word as usize * n_vectors + first_vector;
                for (product, counts) in products.iter_mut().zip(&self.slots.table[start..start + PANEL]) {
                    for lane in 0..LANES {
                        product[lane] *= counts[lane] as f32 + addend;
                    }
                }
            }
            for (product, exponent) in products.iter_mut().zip(&mut exponents) {
                for lane in 0..LANES {
                    let bits = product[lane].to_bits();
                    exponent[lane] += (bits >> 23) as i32 - 127;
                    product[lane] = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
                }
            }
        }
        std::array::from_fn(|vector| (products[vector], exponents[vector]))
    }

    /// ln Γ(z+L) − ln Γ(z) for a vector of slots.
    #[inline(always)]
    fn head(&self, vector: usize, length: f64) -> [f64; LANES] {
        let (totals, log_totals) = (&self.slots.totals[vector], &self.slots.log_totals[vector]);
        let mut head = [0.0; LANES];
        if self.family.total_smoothing() < STIRLING {
            for lane in 0..LANES {
                head[lane] = log_gamma(totals[lane] + length) - log_gamma(totals[lane]);
            }
            return head;
        }
        for lane in 0..LANES {
            let z = totals[lane];
            let log_ratio = log((z + length) / z);
            let leading = length * (log_totals[lane] + log_ratio - 1.0) + (z - 0.5) * log_ratio;
            head[lane] = leading + stirling_rest(z + length) - stirling_rest(z);
        }
        head
    }

    /// The log-weight of one slot if it held `count` documents, from the current document's words less `taken_out` times itself.
    fn log_weight_of(&self, slot: usize, count: i64, taken_out: u32) -> f64 {
        if count == 0 {
            return f64::NEG_INFINITY;
        }
        let (vector, lane, n_vectors) = (slot / LANES, slot % LANES, self.n_vectors());
        let mut product = LogProduct::default();
        for &(word, count) in &self.document.entries {
            let others = self.slots.table[word as usize * n_vectors + vector][lane] as u32 - taken_out * count;
            let first = self.family.smoothing + f64::from(others);
            (0..count).for_each(|repeat| product.multiply(first + f64::from(repeat)));
        }
        let length = self.document.tokens.len() as f64;
        let total = self.slots.totals[vector][lane] - f64::from(taken_out) * length;
        let head = log_gamma(total + length) - log_gamma(total);
        libm::log(count as f64) + product.log() - head - self.reference
    }

    fn change(&mut self, slot: usize, sign: i32) {
        let (vector, lane, n_vectors) = (slot / LANES, slot % LANES, self.n_vectors());
        for &(word, count) in &self.document.entries {
            let cell = &mut self.slots.table[word as usize * n_vectors + vector][lane];
            *cell += sign * count as i32;
            self.slots.largest = self.slots.largest.max(*cell);
        }
        self.slots.counts[slot] += i64::from(sign);
        self.slots.totals[vector][lane] += f64::from(sign) * self.document.tokens.len() as f64;
        self.refresh_logs(slot);
    }

    fn refresh_logs(&mut self, slot: usize) {
        let (vector, lane, count) = (slot / LANES, slot % LANES, self.slots.counts[slot]);
        if count == 0 {
            // exactly the prior, not the prior up to rounding
            self.slots.totals[vector][lane] = self.family.total_smoothing();
        }
        self.slots.log_counts[vector][lane] = if count > 0 { libm::log(count as f64) } else { f64::NEG_INFINITY };
        self.slots.log_totals[vector][lane] = libm::log(self.slots.totals[vector][lane]);
    }

    /// A table for `n_vectors` vectors of slots, with the counts there were.
    fn resize(&mut self, n_vectors: usize) {
        let (before, n_words) = (self.n_vectors(), self.family.n_words);
        let mut table = vec![[0; LANES]; n_words * n_vectors];
        if before > 0 {
            for (new, old) in table.chunks_exact_mut(n_vectors).zip(self.slots.table.chunks_exact(before)) {
                new[..before].copy_from_slice(old);
            }
        }
        let total = self.family.total_smoothing();
        self.slots.table = table;
        self.slots.counts.resize(n_vectors * LANES, 0);
        self.slots.log_counts.resize(n_vectors, [f64::NEG_INFINITY; LANES]);
        self.slots.totals.resize(n_vectors, [total; LANES]);
        self.slots.log_totals.resize(n_vectors, [libm::log(total); LANES]);
        self.log_weights.resize(n_vectors, [0.0; LANES]);
    }
}

/// Stirling's series beyond (z − ½) ln z − z + ½ ln 2π.
#[inline(always)]
fn stirling_rest(z: f64) -> f64 {
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0))))
}

/// The logarithm of a long product in double precision.
struct LogProduct {
    product: f64,
    log: f64,
}

impl Default for LogProduct {
    fn default() -> Self {
        Self { product: 1.0, log: 0.0 }
    }
}

impl LogProduct {
    #[inline(always)]
    fn multiply(&mut self, factor: f64) {
        self.product *= factor;
        if !(1e-200..1e200).contains(&self.product) {
            self.log += libm::log(self.product);
            self.product = 1.0;
        }
    }

    fn log(&self) -> f64 {
        self.log + libm::log(self.product)
    }
}

impl Scorer for MultinomialScorer {
    type Family = Multinomial;

    fn batch(&self) -> usize {
        1
    }

    fn family(&self) -> &Multinomial {
        &self.family
    }

    fn load(&mut self, components: &[Stats]) {
        self.slots = Slots::default();
        self.resize(components.len().max(1).div_ceil(LANES).next_multiple_of(PANEL));
        let (n_vectors, n_words) = (self.n_vectors(), self.family.n_words);
        for (slot, stats) in components.iter().enumerate() {
            let (vector, lane) = (slot / LANES, slot % LANES);
            self.slots.counts[slot] = stats.count;
            let mut write = |word: usize, count: i64| {
                if word == n_words {
                    self.slots.totals[vector][lane] = self.family.total_smoothing() + count as f64;
                } else {
                    let count = i32::try_from(count).expect("a word occurs at most 2³¹ times in a component");
                    self.slots.table[word * n_vectors + vector][lane] = count;
                    self.slots.largest = self.slots.largest.max(count);
                }
            };
            match &stats.sums {
                Sums::Dense(sums) => sums.iter().enumerate().for_each(|(word, &count)| write(word, count as i64)),
                Sums::Counts(entries) => entries.iter().for_each(|&(word, count)| write(word as usize, count)),
            }
            self.refresh_logs(slot);
        }
    }

    fn counts(&self) -> &[i64] {
        &self.slots.counts
    }

    fn grow(&mut self) {
        // a growing table is copied, so it grows by a share of itself
        let more = (self.n_vectors() / 8).max(1).next_multiple_of(PANEL);
        self.resize(self.n_vectors() + more);
    }

    #[inline(always)]
    fn score<A: Arithmetic>(&mut self, shard: &Shard, rows: Range<usize>, scores: &mut [[f32; LANES]]) {
        self.read(shard.row(rows.start));
        let factors = self.factors_before_split();
        let length = self.document.tokens.len() as f64;
        let mut largest = [f64::NEG_INFINITY; LANES];
        for first_vector in (0..self.n_vectors()).step_by(PANEL) {
            let products = self.products(first_vector, factors);
            for (ix, (mantissas, exponents)) in products.iter().enumerate() {
                let vector = first_vector + ix;
                let head = self.head(vector, length);
                let (log_counts, log_weights) = (&self.slots.log_counts[vector], &mut self.log_weights[vector]);
                for lane in 0..LANES {
                    let log_product =
                        f64::from(exponents[lane]) * std::f64::consts::LN_2 + log(f64::from(mantissas[lane]));
                    log_weights[lane] = log_counts[lane] + log_product - head[lane];
                    largest[lane] = if log_weights[lane] > largest[lane] { log_weights[lane] } else { largest[lane] };
                }
            }
        }
        let reference = largest.into_iter().fold(f64::NEG_INFINITY, f64::max);
        self.reference = if reference.is_finite() { reference } else { 0.0 };
        for (scores, log_weights) in scores.iter_mut().zip(&self.log_weights) {
            for lane in 0..LANES {
                scores[lane] = (log_weights[lane] - self.reference) as f32;
            }
        }
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
        let mut product = LogProduct::default();
        self.document.tokens.iter().for_each(|&(_, addend)| product.multiply(f64::from(addend)));
        let total = self.family.total_smoothing();
        let head = log_gamma(total + self.document.tokens.len() as f64) - log_gamma(total);
        product.log() - head - self.reference
    }

    fn insert(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, 1);
    }

    fn remove(&mut self, _in_batch: usize, slot: usize) {
        self.change(slot, -1);
    }
}
