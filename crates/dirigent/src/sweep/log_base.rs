//! ln n − D/2 ln((κ+1)/κ): the part of a spherical Gaussian's log-weight that only its count
//! decides, tabulated.

use crate::family::{Conjugate, GaussianFixed};

/// Counts up to here are tabulated.
const TABULATED: usize = 1 << 16;

/// The part of a log-weight that only the count decides.
pub(super) struct LogBases {
    prior_rows: f64,
    half_columns: f64,
    table: Vec<f64>,
}

impl LogBases {
    pub(super) fn new(family: &GaussianFixed) -> Self {
        Self { prior_rows: family.prior_rows(), half_columns: 0.5 * family.stats_len() as f64, table: Vec::new() }
    }

    /// Tabulates what components with these counts will ask for, and then some.
    pub(super) fn prepare(&mut self, counts: &[i64]) {
        let largest = counts.iter().max().map_or(0, |&count| count as usize);
        let wanted = (2 * largest + 16).min(TABULATED);
        let more: Vec<f64> = (self.table.len()..wanted).map(|count| self.compute(count as f64)).collect();
        self.table.extend(more);
    }

    /// Without ln n for an empty component: that is where α stands.
    #[inline(always)]
    pub(super) fn of(&self, count: i64) -> f64 {
        match self.table.get(count as usize) {
            Some(&log_base) => log_base,
            None => self.compute(count as f64),
        }
    }

    fn compute(&self, count: f64) -> f64 {
        let log_count = if count > 0.0 { libm::log(count) } else { 0.0 };
        log_count - self.half_columns * libm::log1p(1.0 / (self.prior_rows + count))
    }
}
