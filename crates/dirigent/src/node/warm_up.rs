//! How a run begins: with a sample of the rows, and with more components than it will need.
//!
//! Where rows are many, seating all of them one after another is slow and badly done: the first components are made of whatever came first,
//! grow with every row, and must be taken apart again. A sample of every sixteenth row, say, has the same components; they are found in
//! cycles that cost next to nothing, and then the rest is seated where it belongs. The sample is every n-th row, so sorted rows
//! do no harm (rows that repeat with just that period would), and each stage contains the one before.
//!
//! What should be one is found and merged at once, what should be two is taken apart only after a while. So a sweep that seats new rows is
//! generous with new components: it is made with a larger α.
//!
//! Documents are another matter. The more there are, the more kinds of them there are, so a sample has not the same components, and those that it lacks
//! come slowly. And no document is like another, so that new components come by themselves: it takes less generosity.

use serde::{Deserialize, Serialize};

/// A sample is of at least so many rows.
const SMALLEST_SAMPLE: u64 = 60_000;
/// The same of documents.
const SMALLEST_SAMPLE_OF_DOCUMENTS: u64 = 250_000;
/// From stage to stage there are so many times as many rows.
const GROWTH: u32 = 4;
/// A stage takes at most so many cycles.
const LONGEST_STAGE: u64 = 12;
/// In the first sweep of the first stage α is a worker's rows over this.
const ROWS_A_BIRTH: f64 = 4.0;
/// In that of the others, where most rows have a component to go to, and always with documents, it is the rows over this.
const ROWS_A_RARE_BIRTH: f64 = 64.0;

/// Where a run is in its first cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct WarmUp {
    /// Every so manieth row takes part.
    pub(crate) stride: u32,
    /// Cycles of this stage so far.
    cycles: u64,
    last_k: usize,
}

impl WarmUp {
    /// All rows at once.
    pub(crate) const NONE: Self = Self { stride: 1, cycles: 0, last_k: 0 };

    /// For so many rows, or documents.
    pub(crate) fn new(n_rows: u64, are_documents: bool) -> Self {
        let smallest = if are_documents { SMALLEST_SAMPLE_OF_DOCUMENTS } else { SMALLEST_SAMPLE };
        let mut stride = 1;
        while n_rows / u64::from(stride * GROWTH) >= smallest && stride < 1 << 28 {
            stride *= GROWTH;
        }
        Self { stride, ..Self::NONE }
    }

    /// In the middle of a run.
    pub(crate) fn resume(stride: u32) -> Self {
        Self { stride, cycles: 1, ..Self::NONE }
    }

    /// Whether all rows take part.
    pub(crate) fn is_over(&self) -> bool {
        self.stride == 1
    }

    /// Whether the coming cycle is the first of its stage.
    pub(crate) fn has_new_rows(&self) -> bool {
        self.cycles == 0
    }

    /// α for a sweep that seats new rows of so many; whether there are components they may go to, and whether they are documents.
    pub(crate) fn generous_alpha(alpha: f64, n_rows: f64, has_components: bool, are_documents: bool) -> f64 {
        alpha.max(n_rows / if has_components || are_documents { ROWS_A_RARE_BIRTH } else { ROWS_A_BIRTH })
    }

    /// A cycle has ended with so many components, after so many splits and merges. A stage ends when hardly anything changes any more.
    pub(crate) fn close_cycle(&mut self, k: usize, n_changes: u64) {
        self.cycles += 1;
        let is_settled = self.cycles > 1 && k.abs_diff(self.last_k) <= 1 + k / 100 && n_changes <= 1 + k as u64 / 50;
        self.last_k = k;
        if !self.is_over() && (is_settled || self.cycles >= LONGEST_STAGE) {
            *self = Self { stride: (self.stride / GROWTH).max(1), cycles: 0, last_k: k };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_come_in_stages_each_of_which_contains_the_one_before() {
        let mut warm_up = WarmUp::new(1_281_167, false);
        let mut strides = vec![warm_up.stride];
        for k in [700, 400, 1000, 1001, 1000, 999, 1000] {
            warm_up.close_cycle(k, 3);
            strides.push(warm_up.stride);
        }
        assert_eq!(strides, [16, 16, 16, 16, 4, 4, 1, 1]);
        let mut restless = WarmUp::new(1_281_167, false);
        (0..LONGEST_STAGE).for_each(|cycle| restless.close_cycle(100 * cycle as usize, 1000));
        assert_eq!(restless.stride, 4);
    }

    #[test]
    fn few_rows_are_not_worth_a_sample() {
        assert!(WarmUp::new(200_000, false).is_over());
        assert!(WarmUp::new(900_000, true).is_over() && !WarmUp::new(1_000_000, true).is_over());
    }
}
