//! The halves of multinomial components: a table of words like that of the components, with both
//! halves of a slot beside one another.

use super::document::Document;
use super::kernel::LANES;
use super::length_table::LengthTable;
use super::words::Words;
use crate::family::Multinomial;
use crate::halves::Half;
use crate::stats::Stats;

/// The statistics of all halves: those of slot s are columns 2s and 2s+1.
#[derive(Default)]
pub(super) struct MultinomialHalves {
    counts: Vec<[i64; 2]>,
    words: Words,
    /// z = Vγ + all words of a half.
    totals: Vec<[f64; 2]>,
}

impl MultinomialHalves {
    /// Takes over the halves; whether logarithms are kept is as with the components.
    pub(super) fn load(&mut self, halves: &[Option<[Stats; 2]>], family: &Multinomial, keep_logs: bool) {
        let n_vectors = (2 * halves.len()).div_ceil(LANES);
        *self = Self {
            counts: vec![[0; 2]; halves.len()],
            words: Words::new(family.smoothing, if halves.is_empty() { 0 } else { family.n_words }, n_vectors),
            totals: vec![[family.total_smoothing(); 2]; halves.len()],
        };
        for (slot, halves) in halves.iter().enumerate() {
            for (half, stats) in halves.iter().flatten().enumerate() {
                self.counts[slot][half] = stats.count;
                self.totals[slot][half] += self.words.table.write(2 * slot + half, stats) as f64;
            }
        }
        if keep_logs {
            self.words.keep_logs();
        }
    }

    #[inline(always)]
    pub(super) fn counts(&self, slot: usize) -> [i64; 2] {
        self.counts[slot]
    }

    /// Log-weights of both halves for a document, which is taken out of one; without ln n for an
    /// empty half.
    #[inline(always)]
    pub(super) fn log_weights(
        &self,
        document: &Document,
        lengths: &LengthTable,
        slot: usize,
        taken_out: Option<Half>,
    ) -> [f64; 2] {
        let mut log_weights = [0.0; 2];
        for half in Half::BOTH {
            let is_out = taken_out == Some(half);
            let count = self.counts[slot][half.ix()] - i64::from(is_out);
            let total = self.totals[slot][half.ix()] - if is_out { document.length as f64 } else { 0.0 };
            let log_count = if count > 0 { libm::log(count as f64) } else { 0.0 };
            log_weights[half.ix()] = log_count + self.words.log_rise(document, 2 * slot + half.ix(), is_out)
                - lengths.log_rise(document.length, total);
        }
        log_weights
    }

    #[inline(always)]
    pub(super) fn change(&mut self, document: &Document, slot: usize, half: Half, sign: i64) {
        self.counts[slot][half.ix()] += sign;
        self.totals[slot][half.ix()] += sign as f64 * document.length as f64;
        self.words.change(document, 2 * slot + half.ix(), sign as i32);
    }
}
