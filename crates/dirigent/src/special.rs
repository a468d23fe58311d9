//! Log-gamma and friends, from `libm`: the same bits on every platform.

pub mod bessel;

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

#[cfg(test)]
mod tests {
    use super::*;

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
