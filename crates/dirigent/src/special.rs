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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_sum_exp_neither_overflows_nor_underflows() {
        assert!((log_sum_exp(&[1e5, 1e5]) - 1e5 - std::f64::consts::LN_2).abs() < 1e-9);
        assert!((log_sum_exp(&[-1e5, f64::NEG_INFINITY]) + 1e5).abs() < 1e-9);
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
    }
}
