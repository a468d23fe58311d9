//! Logarithms of rising factorials: Σ_{j<m} ln(γ + j) for m = 0, 1, …, tabulated as far as
//! documents need it.

use crate::special::log_gamma;

/// Entries of the table, at most: what lies beyond is rare, and a count of four thousand million
/// must not become a table.
const LONGEST: usize = 1 << 16;

/// A table for one γ.
pub(super) struct Rising {
    /// γ.
    smoothing: f64,
    sums: Vec<f64>,
}

impl Rising {
    pub(super) fn new(smoothing: f64) -> Self {
        Self { smoothing, sums: vec![0.0] }
    }

    #[inline(always)]
    pub(super) fn smoothing(&self) -> f64 {
        self.smoothing
    }

    /// Tabulates up to a number of factors.
    #[inline(always)]
    pub(super) fn prepare(&mut self, n_factors: u32) {
        let last = (n_factors as usize).min(LONGEST);
        for at in self.sums.len() - 1..last {
            self.sums.push(self.sums[at] + libm::log(self.smoothing + at as f64));
        }
    }

    /// ln Π (γ + j) over from ≤ j < to.
    #[inline(always)]
    pub(super) fn between(&self, from: u32, to: u32) -> f64 {
        match (self.sums.get(from as usize), self.sums.get(to as usize)) {
            (Some(before), Some(after)) => after - before,
            _ => log_gamma(self.smoothing + f64::from(to)) - log_gamma(self.smoothing + f64::from(from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_log_gamma_agree_and_the_table_is_bounded() {
        let mut rising = Rising::new(0.3);
        let untabulated = Rising::new(0.3);
        rising.prepare(u32::MAX);
        assert_eq!(rising.sums.len(), LONGEST + 1);
        for (from, to) in [(0, 0), (0, 1), (7, 40), (60_000, 65_536), (65_000, 70_000), (3, 4_000_000_000)] {
            let (table, direct) = (rising.between(from, to), untabulated.between(from, to));
            assert!((table - direct).abs() <= 1e-9 + 1e-14 * direct.abs(), "{from}..{to}: {table}, not {direct}");
        }
    }
}
