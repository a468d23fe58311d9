//! Log-gamma and friends, from `libm`: the same bits on every platform.

pub(crate) mod bessel;
pub(crate) mod log_gammas;

/// ln Γ(x) for x > 0.
#[inline]
pub fn log_gamma(x: f64) -> f64 {
    debug_assert!(x > 0.0, "log_gamma needs a positive argument, got {x}");
    libm::lgamma(x)
}

/// ln Σ exp(x), −∞ for nothing.
pub fn log_sum_exp(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + libm::log(logs.iter().map(|log| libm::exp(log - largest)).sum())
}

/// ln Γ(a+½) − ln Γ(a): by a series from 16 on, to which smaller a are lifted.
pub(crate) fn log_half_step(a: f64) -> f64 {
    let (mut a, mut share) = (a, 1.0);
    while a < 16.0 {
        share *= a / (a + 0.5);
        a += 1.0;
    }
    let inverse = 1.0 / a;
    let square = inverse * inverse;
    let series = 1.0 / 8.0 - square * (1.0 / 192.0 - square * (1.0 / 640.0 - square * (17.0 / 14336.0)));
    0.5 * libm::log(a * share * share) - inverse * series
}

/// A product whose logarithm is wanted: it may leave the range of doubles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogProduct {
    product: f64,
    log: f64,
}

impl LogProduct {
    /// Of no factors.
    pub(crate) const ONE: Self = Self { product: 1.0, log: 0.0 };

    /// Products leave this range only to be turned into logs.
    pub(crate) const RANGE: std::ops::Range<f64> = 1e-150..1e150;

    /// One factor more, which is positive and itself within the range.
    #[inline(always)]
    pub(crate) fn multiply(&mut self, factor: f64) {
        self.product *= factor;
        if !Self::RANGE.contains(&self.product) {
            self.log += libm::log(self.product);
            self.product = 1.0;
        }
    }

    /// The logarithm of the product.
    #[inline(always)]
    pub(crate) fn log(&self) -> f64 {
        self.log + libm::log(self.product)
    }
}

/// A dot product in eight independent sums, so that it vectorises without reordering by the
/// compiler.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((eights_a, rest_a), (eights_b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in eights_a.iter().zip(eights_b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h)) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_steps_are_those_of_log_gamma() {
        for a in [1e-3, 0.2, 0.5, 1.0, 3.7, 15.9, 16.0, 40.0, 1e3, 1e5] {
            let exact = log_gamma(a + 0.5) - log_gamma(a);
            let tolerance = 1e-13 + 1e-15 * log_gamma(a + 1.0);
            assert!((log_half_step(a) - exact).abs() < tolerance, "a {a}: {}, not {exact}", log_half_step(a));
        }
    }

    #[test]
    fn products_of_any_size_have_a_logarithm() {
        let mut product = LogProduct::ONE;
        (0..1000).for_each(|ix| product.multiply(if ix % 3 == 0 { 1e-9 } else { 1e140 }));
        let exact = (334.0 * -9.0 + 666.0 * 140.0) * std::f64::consts::LN_10;
        assert!((product.log() / exact - 1.0).abs() < 1e-12);
    }

    #[test]
    fn log_sum_exp_neither_overflows_nor_underflows() {
        assert!((log_sum_exp(&[1e5, 1e5]) - 1e5 - std::f64::consts::LN_2).abs() < 1e-9);
        assert!((log_sum_exp(&[-1e5, f64::NEG_INFINITY]) + 1e5).abs() < 1e-9);
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
    }
}
