//! A word that a document has many times: ln Γ(z+c) − ln Γ(z) in one step instead of c factors.
//!
//! The factors z, z+1, …, z+c−1 lie evenly about their middle m = z + (c−1)/2. With d their
//! distances from it, ln Π(m+d) = c ln m − Σd²/2m² − Σd⁴/4m⁴ − …, odd powers cancelling; and the
//! sums depend on c alone. Near the prior the series does not serve; there z is γ and a whole
//! number, and a table ([`super::rising`]) has the logarithms.

use super::kernel::log;
use super::rising::Rising;

/// From this many occurrences on a word is a run: fewer factors are multiplied faster.
pub(super) const SHORTEST: u32 = 24;
/// From this many times c on, z is large enough for the series: the first term left out is below
/// 3e-11 c.
const LARGE: f64 = 3.0;

/// A word of a document and how often it occurs, which is at least [`SHORTEST`].
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) word: u32,
    pub(super) count: u32,
    /// Σd²/2, Σd⁴/4, Σd⁶/6, Σd⁸/8.
    moments: [f64; 4],
}

impl Run {
    #[inline(always)]
    pub(super) fn new(word: u32, count: u32) -> Self {
        let c = f64::from(count);
        let (square, spread) = (c * c, c * (c * c - 1.0));
        let moments = [
            spread / 24.0,
            spread * (3.0 * square - 7.0) / 960.0,
            spread * ((3.0 * square - 18.0) * square + 31.0) / 8064.0,
            spread * (((5.0 * square - 55.0) * square + 239.0) * square - 381.0) / 92_160.0,
        ];
        Self { word, count, moments }
    }

    /// Whether the series serves for z.
    #[inline(always)]
    pub(super) fn is_large(&self, z: f64) -> bool {
        z >= LARGE * f64::from(self.count)
    }

    /// ln Γ(z+c) − ln Γ(z) for a large z.
    #[inline(always)]
    pub(super) fn log_rise_of_large(&self, z: f64) -> f64 {
        let c = f64::from(self.count);
        let middle = z + 0.5 * (c - 1.0);
        let inverse = 1.0 / (middle * middle);
        let [second, fourth, sixth, eighth] = self.moments;
        c * log(middle) - inverse * (second + inverse * (fourth + inverse * (sixth + inverse * eighth)))
    }

    /// ln Γ(z+c) − ln Γ(z) for any z = γ + n.
    pub(super) fn log_rise(&self, rising: &Rising, n: u32) -> f64 {
        let z = rising.smoothing() + f64::from(n);
        if self.is_large(z) { self.log_rise_of_large(z) } else { rising.between(n, n.saturating_add(self.count)) }
    }

    /// The largest n + c at which the table is asked.
    pub(super) fn reach(&self) -> u32 {
        self.count.saturating_mul(1 + LARGE as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_the_product_of_its_factors() {
        for (smoothing, count) in [(0.01, 24), (0.7, 25), (3.5, 100), (0.01, 999), (0.5, 40_000)] {
            let run = Run::new(0, count);
            let mut rising = Rising::new(smoothing);
            rising.prepare(run.reach());
            for n in [0, 3, 70, 75, 300, 3000, 100_000, 100_000_000] {
                let factors: f64 = (0..count).map(|j| libm::log(smoothing + f64::from(n + j))).sum();
                let error = (run.log_rise(&rising, n) - factors).abs();
                assert!(error < 1e-10 * f64::from(count) + 1e-13 * factors.abs(), "{count} {n}: {error}");
            }
        }
    }
}
