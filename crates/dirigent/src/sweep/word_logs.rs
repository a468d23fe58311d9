//! Long documents over few words: ln z and 1/z of every word in every slot, z = γ + n, kept until
//! the word changes there.
//!
//! ln Γ(z+c) − ln Γ(z) = c ln z + Σ_p (−1)^{p+1} S_p / (p z^p) with S_p = Σ_{j<c} j^p: a few
//! multiplications a word and slot, however often the document has the word. Where the slot hardly
//! has the word the series does not serve; a bound stands in for it, and only slots that it leaves
//! a chance are computed exactly, from a table ([`super::rising`]).

use super::document::Document;
use super::kernel::log;
use super::length_table::evaluate;
use super::steps::CountStep;
use super::word_table::WordTable;

/// Slots that are summed together.
pub(super) const WIDTH: usize = 8;
/// Words times slots, at most: more would not stay in the cache.
const MOST_CELLS: usize = 1 << 15;

/// Logarithms and inverses of all words in all slots.
pub(super) struct WordLogs {
    smoothing: f64,
    /// Vectors of [`WIDTH`] slots a word.
    n_vectors: usize,
    cells: Vec<LogCells>,
}

/// Those of a word in [`WIDTH`] slots.
#[derive(Clone, Copy)]
struct LogCells {
    logs: [f64; WIDTH],
    inverses: [f64; WIDTH],
}

/// Whether logarithms are worth keeping: documents repeat their words, and there are few words and
/// slots.
pub(super) fn are_worth_it(n_words: usize, n_slots: usize, n_documents: i64, n_tokens: i64) -> bool {
    n_words * n_slots <= MOST_CELLS && n_documents > 0 && n_tokens as f64 >= n_words as f64 * n_documents as f64
}

impl WordLogs {
    /// Those of a table with room for `n_slots`.
    pub(super) fn new(smoothing: f64, words: &WordTable, n_slots: usize) -> Self {
        let n_vectors = n_slots.div_ceil(WIDTH);
        let cells = (0..words.n_words()).flat_map(|word| (0..n_vectors).map(move |vector| (word, vector)));
        let cells = cells.map(|(word, vector)| {
            let mut cells = LogCells { logs: [0.0; WIDTH], inverses: [0.0; WIDTH] };
            for lane in 0..WIDTH {
                let z = smoothing + f64::from(words.get(word as u32, vector * WIDTH + lane));
                (cells.logs[lane], cells.inverses[lane]) = (log(z), 1.0 / z);
            }
            cells
        });
        Self { smoothing, n_vectors, cells: cells.collect() }
    }

    /// Adds what the words of a document weigh in `WIDTH` slots to `sums`, or a bound of it:
    /// returns for each slot of how many words it is only a bound.
    #[inline(always)]
    pub(super) fn add_rises(&self, document: &Document, vector: usize, sums: &mut [f64; WIDTH]) -> [f64; WIDTH] {
        let (mut total, mut n_bounds) = (*sums, [0.0; WIDTH]);
        for (&word, &count) in document.words.iter().zip(&document.counts) {
            let CountStep { largest_inverse, bound, rising, .. } = *document.steps.of(count);
            let LogCells { logs, inverses } = &self.cells[word as usize * self.n_vectors + vector];
            let count = f64::from(count);
            for lane in 0..WIDTH {
                let rise = count * logs[lane] + evaluate(&rising, inverses[lane]);
                let is_bound = inverses[lane] > largest_inverse;
                total[lane] += if is_bound { bound } else { rise };
                n_bounds[lane] += if is_bound { 1.0 } else { 0.0 };
            }
        }
        *sums = total;
        n_bounds
    }

    /// What the words of a document weigh in a slot, exactly; `OUT`: with the document taken out of
    /// it.
    #[inline(always)]
    pub(super) fn rise<const OUT: bool>(&self, document: &Document, words: &WordTable, slot: usize) -> f64 {
        let (vector, lane) = (slot / WIDTH, slot % WIDTH);
        let mut sum = 0.0;
        for (&word, &count) in document.words.iter().zip(&document.counts) {
            let step = document.steps.of(count);
            let cells = &self.cells[word as usize * self.n_vectors + vector];
            let inverse = cells.inverses[lane];
            sum += if inverse <= step.largest_inverse {
                let series = if OUT { &step.falling } else { &step.rising };
                f64::from(count) * cells.logs[lane] + evaluate(series, inverse)
            } else {
                let all = words.get(word, slot);
                let others = if OUT { all - count } else { all };
                document.rising.between(others, others.saturating_add(count))
            };
        }
        sum
    }

    /// Takes over what a slot of the table has of a document's words now.
    #[inline(always)]
    pub(super) fn refresh(&mut self, document: &Document, words: &WordTable, slot: usize) {
        let (vector, lane) = (slot / WIDTH, slot % WIDTH);
        // several at once: a logarithm alone is mostly waiting
        for words_of_document in document.words.chunks(WIDTH) {
            let mut z = [1.0; WIDTH];
            for (z, &word) in z.iter_mut().zip(words_of_document) {
                *z = self.smoothing + f64::from(words.get(word, slot));
            }
            // a plain loop: within a closure the kernel's instructions may be lost
            let (mut logs, mut inverses) = ([0.0; WIDTH], [0.0; WIDTH]);
            for ix in 0..WIDTH {
                logs[ix] = log(z[ix]);
                inverses[ix] = 1.0 / z[ix];
            }
            for (ix, &word) in words_of_document.iter().enumerate() {
                let cells = &mut self.cells[word as usize * self.n_vectors + vector];
                (cells.logs[lane], cells.inverses[lane]) = (logs[ix], inverses[ix]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::CountRow;

    #[test]
    fn logarithms_follow_the_table_and_bounds_are_told() {
        let (smoothing, n_slots) = (0.2, 16);
        let mut table = WordTable::new(3, 1);
        let mut logs = WordLogs::new(smoothing, &table, n_slots);
        let mut document = Document::new(smoothing);
        document.read(CountRow { words: &[0, 2], counts: &[5, 40] });
        document.prepare_steps();
        for slot in [1, 9, 1, 1] {
            document.change(&mut table, slot, 1);
            logs.refresh(&document, &table, slot);
        }
        let fresh = WordLogs::new(smoothing, &table, n_slots);
        for slot in [0, 1, 9] {
            let factors = [(0, 5), (2, 40)].into_iter().flat_map(|(word, count)| (0..count).map(move |j| (word, j)));
            let exact: f64 = factors.map(|(word, j)| libm::log(smoothing + f64::from(table.get(word, slot) + j))).sum();
            assert!((logs.rise::<false>(&document, &table, slot) - exact).abs() < 1e-8, "slot {slot}");
            assert_eq!(
                logs.rise::<false>(&document, &table, slot),
                fresh.rise::<false>(&document, &table, slot),
                "slot {slot}"
            );
        }
        let mut sums = [0.0; WIDTH];
        let n_bounds = logs.add_rises(&document, 0, &mut sums);
        assert_eq!(n_bounds[..2], [2.0, 2.0], "three documents are few");
        assert!(sums[1] >= logs.rise::<false>(&document, &table, 1));
        (0..60).for_each(|_| document.change(&mut table, 1, 1));
        logs.refresh(&document, &table, 1);
        let mut sums = [0.0; WIDTH];
        assert_eq!(logs.add_rises(&document, 0, &mut sums)[1], 0.0);
        assert!((sums[1] - logs.rise::<false>(&document, &table, 1)).abs() < 1e-9);
    }

    #[test]
    fn logarithms_are_kept_for_long_documents_over_few_words() {
        assert!(are_worth_it(100, 16, 1_000, 500_000));
        assert!(!are_worth_it(100, 16, 1_000, 99_999) && !are_worth_it(100, 16, 0, 0));
        assert!(!are_worth_it(10_000, 160, 1_000, 100_000_000), "a large table");
    }
}
