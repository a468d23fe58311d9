//! Documents: log f = Σ_w c_w ln p_w, one row of a table a word.
//!
//! From each word's row its largest entry is taken out: that is the same for all components, and
//! what is left is small for those that matter, so that single precision loses little.

use std::ops::Range;

use super::batch::SliceScorer;
use crate::family::Multinomial;
use crate::rows::{Row, Shard};
use crate::sweep::kernel::{Arithmetic, LANES};

/// Vectors of components whose sums are held in registers together.
const PANEL: usize = 4;
/// Weights with a larger share are recomputed in double precision.
const REFINE_ABOVE: f64 = 0.001;

/// Scores documents against the probabilities of the words.
pub(super) struct MultinomialSlice {
    family: Multinomial,
    /// ln p, word after word of a component, as it was drawn.
    log_probabilities: Vec<f64>,
    /// The largest of each word's ln p.
    largest: Vec<f64>,
    /// ln p less the largest in single precision: all components of a word, then the next word.
    table: Vec<[f32; LANES]>,
    n_vectors: usize,
    /// The current document.
    words: Vec<(u32, u32)>,
}

impl MultinomialSlice {
    pub(super) fn new(family: Multinomial) -> Self {
        let (log_probabilities, largest, table, words) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { family, log_probabilities, largest, table, n_vectors: 0, words }
    }

    /// The sums of `P` vectors of components.
    #[inline(always)]
    fn sum<A: Arithmetic, const P: usize>(&self, first_vector: usize) -> [[f32; LANES]; P] {
        let mut sums = [[0.0f32; LANES]; P];
        for &(word, count) in &self.words {
            let row = &self.table[word as usize * self.n_vectors + first_vector..][..P];
            let count = count as f32;
            for (sums, logs) in sums.iter_mut().zip(row) {
                for lane in 0..LANES {
                    sums[lane] = A::mul_add(count, logs[lane], sums[lane]);
                }
            }
        }
        sums
    }
}

impl SliceScorer for MultinomialSlice {
    type Family = Multinomial;

    const BATCH: usize = 1;

    fn family(&self) -> &Multinomial {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(REFINE_ABOVE)
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_words = self.family.n_words;
        self.n_vectors = (parameters.len() / n_words).div_ceil(LANES);
        self.log_probabilities.clear();
        self.log_probabilities.extend_from_slice(parameters);
        self.largest.clear();
        self.largest.resize(n_words, f64::NEG_INFINITY);
        for of_component in parameters.chunks_exact(n_words) {
            self.largest.iter_mut().zip(of_component).for_each(|(largest, log)| *largest = largest.max(*log));
        }
        self.table.resize(n_words * self.n_vectors, [0.0; LANES]);
        // a vector of components at a time: a table of many words is written in order
        for (vector, of_vector) in parameters.chunks(n_words * LANES).enumerate() {
            for word in 0..n_words {
                let entries = &mut self.table[word * self.n_vectors + vector];
                for (entry, of_component) in entries.iter_mut().zip(of_vector.chunks_exact(n_words)) {
                    *entry = (of_component[word] - self.largest[word]) as f32;
                }
            }
        }
    }

    #[inline(always)]
    fn score<A: Arithmetic>(
        &mut self,
        shard: &Shard,
        rows: Range<usize>,
        n_allowed: &[usize],
        _n_vectors: usize,
        scores: &mut [[f32; LANES]],
    ) {
        let Row::Counts(row) = shard.row(rows.start) else { panic!("a multinomial has rows of counts") };
        self.words.clear();
        self.words.extend(row.iter());
        let n_vectors = n_allowed[0].div_ceil(LANES);
        let mut first = 0;
        while first < n_vectors {
            if n_vectors - first >= PANEL {
                scores[first..first + PANEL].copy_from_slice(&self.sum::<A, PANEL>(first));
                first += PANEL;
            } else {
                scores[first] = self.sum::<A, 1>(first)[0];
                first += 1;
            }
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, _in_batch: usize, component: usize) -> f64 {
        let of_component = &self.log_probabilities[component * self.family.n_words..];
        let of_word = |&(word, count): &(u32, u32)| {
            f64::from(count) * (of_component[word as usize] - self.largest[word as usize])
        };
        self.words.iter().map(of_word).sum()
    }
}
