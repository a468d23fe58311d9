//! Documents of few repeats, or over many words: running products of counts, one logarithm a slot
//! at the end.
//!
//! Each word of a document, each repeat too, multiplies a row of the [`WordTable`] into a running
//! product in single precision, whose exponents are split off before they can overflow; a word that
//! occurs many times is added as one logarithm ([`super::run`]).

use std::f64::consts::LN_2;

use super::document::Document;
use super::kernel::{Arithmetic, LANES, lanes, log_mantissa, prefetch};
use super::word_table::WordTable;

/// Vectors of slots whose products are held in registers together.
const PANEL: usize = 5;

/// Π (γ + n_w + j) of the current document in all slots.
#[derive(Default)]
pub(super) struct WordProducts {
    /// Mantissas, later their logarithms.
    mantissas: Vec<[f32; LANES]>,
    exponents: Vec<[i32; LANES]>,
}

impl WordProducts {
    /// Makes room for this many vectors of slots.
    pub(super) fn resize(&mut self, n_vectors: usize) {
        self.mantissas.resize(n_vectors, [0.0; LANES]);
        self.exponents.resize(n_vectors, [0; LANES]);
    }

    /// The products of all slots.
    #[inline(always)]
    pub(super) fn multiply(&mut self, document: &Document, words: &WordTable, next: &[u32]) {
        let (n_vectors, factors) = (self.mantissas.len(), factors_before_split(document, words));
        let mut first = 0;
        while first < n_vectors {
            prefetch_panel(words, next, first);
            first += match n_vectors - first {
                PANEL.. => self.multiply_panel::<PANEL>(document, words, first, factors),
                2.. => self.multiply_panel::<2>(document, words, first, factors),
                _ => self.multiply_panel::<1>(document, words, first, factors),
            };
        }
    }

    /// The products of `P` vectors of slots; returns how many those are.
    #[inline(always)]
    fn multiply_panel<const P: usize>(
        &mut self,
        document: &Document,
        words: &WordTable,
        first_vector: usize,
        factors: usize,
    ) -> usize {
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

    /// Adds their logarithms, and what words that occur many times weigh.
    #[inline(always)]
    pub(super) fn add_to<A: Arithmetic>(
        &mut self,
        log_weights: &mut [[f64; LANES]],
        document: &Document,
        words: &WordTable,
    ) {
        add_runs(log_weights, document, words);
        for mantissas in &mut self.mantissas {
            for mantissa in mantissas {
                *mantissa = log_mantissa::<A>(*mantissa);
            }
        }
        for ((log_weights, &logs), &exponents) in log_weights.iter_mut().zip(&self.mantissas).zip(&self.exponents) {
            let heads = *log_weights;
            *log_weights = lanes(|lane| heads[lane] + f64::from(exponents[lane]) * LN_2 + f64::from(logs[lane]));
        }
    }
}

/// How many factors a product in single precision can take after its exponent was split off.
fn factors_before_split(document: &Document, words: &WordTable) -> usize {
    let largest = document.smoothing().ceil() as u64 + u64::from(words.largest()) + u64::from(document.longest_run);
    let bits_up = 1 + largest.max(1).ilog2();
    // γ = 2^−x lies between 2^−(x+1) and 2^−x of its exponent's bits
    let bits_down = 1023 - (document.smoothing().min(1.0).to_bits() >> 52) as i64;
    (125 / bits_down.max(i64::from(bits_up))).max(1) as usize
}

/// Asks for what the next document will read: the table is larger than the caches.
#[inline(always)]
fn prefetch_panel(words: &WordTable, next: &[u32], first_vector: usize) {
    for &word in next {
        let row = words.narrow_row(word);
        for vectors in row[first_vector..].chunks(2).take(PANEL.div_ceil(2)) {
            prefetch(&vectors[0]);
        }
    }
}

/// Adds what words that occur many times weigh.
#[inline(always)]
fn add_runs(log_weights: &mut [[f64; LANES]], document: &Document, words: &WordTable) {
    let smoothing = document.smoothing();
    for run in &document.runs {
        for (vector, log_weights) in log_weights.iter_mut().enumerate() {
            let counts = words.counts(run.word, vector);
            let before = *log_weights;
            *log_weights = lanes(|lane| before[lane] + run.log_rise_of_large(smoothing + f64::from(counts[lane])));
            for lane in 0..LANES {
                let z = smoothing + f64::from(counts[lane]);
                if !run.is_large(z) && before[lane] > f64::NEG_INFINITY {
                    log_weights[lane] = before[lane] + run.log_rise(&document.rising, counts[lane]);
                }
            }
        }
    }
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
