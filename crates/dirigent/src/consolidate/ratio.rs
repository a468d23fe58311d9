//! The merge-split ratio ρ(A, B): how much more probable it is that two sets of rows are one component than two.

use crate::family::Conjugate;
use crate::special::log_gamma;
use crate::stats::Stats;

/// A set of rows with what its ratios need again and again.
#[derive(Debug, Clone)]
pub struct Weighed {
    /// The statistics.
    pub stats: Stats,
    /// b(S).
    pub log_normalizer: f64,
    /// ln Γ(n).
    log_gamma_count: f64,
}

impl Weighed {
    /// Weighs a set that has rows.
    pub fn new(family: &dyn Conjugate, stats: Stats) -> Self {
        assert!(stats.count > 0, "a set without rows has no ratio");
        let (log_normalizer, log_gamma_count) = (family.log_normalizer(&stats), log_gamma(stats.count as f64));
        Self { stats, log_normalizer, log_gamma_count }
    }

    /// The union of two sets.
    #[must_use]
    pub fn union(&self, other: &Self, family: &dyn Conjugate) -> Self {
        Self::new(family, self.stats.union(&other.stats))
    }
}

/// log ρ(A, B) = −log α + ln Γ(n_A+n_B) − ln Γ(n_A) − ln Γ(n_B) + b(A∪B) + b₀ − b(A) − b(B).
pub fn log_merge_ratio(family: &dyn Conjugate, alpha: f64, a: &Weighed, b: &Weighed) -> f64 {
    let log_gamma_both = log_gamma((a.stats.count + b.stats.count) as f64);
    log_gamma_both - a.log_gamma_count - b.log_gamma_count - libm::log(alpha)
        + family.log_normalizer_of_union(&a.stats, &b.stats)
        + family.log_normalizer_empty()
        - a.log_normalizer
        - b.log_normalizer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{GaussianFixed, log_joint};
    use crate::stats::Sums;

    #[test]
    fn the_ratio_is_that_of_the_joint_densities() {
        let family =
            GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.5, 0.0], offset: vec![0.0, 0.0] };
        let stats = |count, sums: [f64; 2]| Stats { count, sums: Sums::Dense(sums.into()) };
        let (a, b, c) = (stats(3, [1.0, 2.0]), stats(5, [4.0, -1.0]), stats(2, [9.0, 9.0]));
        let alpha = 0.7;
        let apart = log_joint(&family, [&a, &b, &c], alpha, 0.0);
        let together = log_joint(&family, [&a.union(&b), &c], alpha, 0.0);
        let ratio = log_merge_ratio(&family, alpha, &Weighed::new(&family, a), &Weighed::new(&family, b));
        assert!((ratio - (together - apart)).abs() < 1e-10);
    }
}
