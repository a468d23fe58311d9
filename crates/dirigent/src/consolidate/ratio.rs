//! The merge-split ratio ρ(A, B): how much more probable it is that two sets of rows are one
//! component than two.

use std::borrow::Cow;

use crate::family::Conjugate;
use crate::special::log_gamma;
use crate::stats::{Stats, Sums};

/// A set of rows with what its ratios need again and again.
#[derive(Debug, Clone)]
pub struct WeighedStats {
    /// The statistics.
    pub stats: Stats,
    /// b(S).
    pub log_normalizer: f64,
    /// ln Γ(n).
    log_gamma_count: f64,
}

impl WeighedStats {
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

/// The ratios under one family and one α, with what all of them share.
#[derive(Clone, Copy)]
pub struct MergeRatio<'a> {
    /// The family.
    pub family: &'a dyn Conjugate,
    log_alpha: f64,
    log_normalizer_empty: f64,
}

impl<'a> MergeRatio<'a> {
    /// Prepares for many ratios.
    pub fn new(family: &'a dyn Conjugate, alpha: f64) -> Self {
        Self { family, log_alpha: libm::log(alpha), log_normalizer_empty: family.log_normalizer_empty() }
    }

    /// log ρ(A, B) = −log α + ln Γ(n_A+n_B) − ln Γ(n_A) − ln Γ(n_B) + b(A∪B) + b₀ − b(A) − b(B).
    pub fn log(&self, a: &WeighedStats, b: &WeighedStats) -> f64 {
        let log_gamma_both = log_gamma((a.stats.count + b.stats.count) as f64);
        let log_apart = a.log_normalizer + b.log_normalizer - self.log_normalizer_empty;
        log_gamma_both - a.log_gamma_count - b.log_gamma_count - self.log_alpha
            + self.family.log_overlap(&a.stats, &b.stats, log_apart)
    }

    /// The same set laid out for ratios with many others: with every word in its place, a ratio
    /// costs no more than the words of the other.
    pub fn spread<'w>(&self, set: &'w WeighedStats) -> Cow<'w, WeighedStats> {
        match set.stats.sums {
            Sums::Dense(_) => Cow::Borrowed(set),
            Sums::Counts(_) => Cow::Owned(WeighedStats { stats: set.stats.to_dense(self.family.stats_len()), ..*set }),
        }
    }

    /// Lends a set laid out like that, in `room`: for many sets one after another, of which each
    /// has few of the words.
    pub fn with_spread<T>(&self, set: &WeighedStats, room: &mut Room, use_it: impl FnOnce(&WeighedStats) -> T) -> T {
        if matches!(set.stats.sums, Sums::Dense(_)) {
            return use_it(set);
        }
        let mut stats = room.0.take().unwrap_or_else(|| self.family.empty_stats());
        stats.add(&set.stats);
        let mut spread = WeighedStats { stats, ..*set };
        let result = use_it(&spread);
        // whole numbers: nothing is left behind
        spread.stats.subtract(&set.stats);
        room.0 = Some(spread.stats);
        result
    }

    /// Puts B into A, given log ρ(A, B), from which b(A∪B) follows.
    pub fn join(&self, a: &mut WeighedStats, b: &WeighedStats, log_ratio: f64) {
        a.stats.add(&b.stats);
        let log_gamma_both = log_gamma(a.stats.count as f64);
        let log_overlap = log_ratio + self.log_alpha + a.log_gamma_count + b.log_gamma_count - log_gamma_both;
        a.log_normalizer += b.log_normalizer - self.log_normalizer_empty + log_overlap;
        a.log_gamma_count = log_gamma_both;
    }
}

/// Where sets are laid out one after another, with every word in its place.
#[derive(Debug, Default)]
pub struct Room(Option<Stats>);

/// log ρ(A, B) of a single pair: above 0, where the two are more probable as one.
pub fn log_merge_ratio(family: &dyn Conjugate, alpha: f64, a: &WeighedStats, b: &WeighedStats) -> f64 {
    MergeRatio::new(family, alpha).log(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{GaussianFixed, Multinomial, log_joint};

    #[test]
    fn the_ratio_is_that_of_the_joint_densities() {
        let family = GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.5, 0.0], offset: vec![0.0, 0.0] };
        let stats = |count, sums: [f64; 2]| Stats { count, sums: Sums::Dense(sums.into()) };
        let (a, b, c) = (stats(3, [1.0, 2.0]), stats(5, [4.0, -1.0]), stats(2, [9.0, 9.0]));
        let alpha = 0.7;
        let apart = log_joint(&family, [&a, &b, &c], alpha, 0.0);
        let together = log_joint(&family, [&a.union(&b), &c], alpha, 0.0);
        let ratio = log_merge_ratio(&family, alpha, &WeighedStats::new(&family, a), &WeighedStats::new(&family, b));
        assert!((ratio - (together - apart)).abs() < 1e-10);
    }

    #[test]
    fn a_joined_set_weighs_what_it_would_weigh_afresh() {
        let family = Multinomial { smoothing: 0.3, n_words: 4 };
        let stats = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
        let (a, b) = (stats(3, &[(0, 2), (1, 5), (4, 7)]), stats(2, &[(1, 1), (3, 9), (4, 10)]));
        let (ratio, fresh) = (MergeRatio::new(&family, 0.7), WeighedStats::new(&family, a.union(&b)));
        let [a, b] = [a, b].map(|stats| WeighedStats::new(&family, stats));
        let mut joined = ratio.spread(&a).into_owned();
        assert_eq!(ratio.log(&joined, &b), ratio.log(&a, &b));
        ratio.join(&mut joined, &b, ratio.log(&a, &b));
        assert_eq!(joined.stats, fresh.stats.to_dense(5));
        assert!((joined.log_normalizer - fresh.log_normalizer).abs() < 1e-12);
        assert_eq!(joined.log_gamma_count, fresh.log_gamma_count);
    }
}
