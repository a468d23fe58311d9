//! α given the number of components: Escobar & West's auxiliary variable under a Gamma(1, 1)
//! hyper-prior.

use crate::rng::Stream;

/// Shape and rate of the hyper-prior.
const PRIOR_SHAPE: f64 = 1.0;
const PRIOR_RATE: f64 = 1.0;

/// One step of a chain that leaves p(α | K, n) ∝ Gamma(α; 1, 1) · α^K Γ(α)/Γ(α+n) invariant.
pub fn resample_alpha(alpha: f64, n_components: u64, n_rows: u64, rng: &mut Stream) -> f64 {
    if n_rows == 0 {
        return rng.gamma(PRIOR_SHAPE) / PRIOR_RATE;
    }
    let (k, n) = (n_components as f64, n_rows as f64);
    let rate = PRIOR_RATE - rng.log_beta(alpha + 1.0, n);
    let odds = (PRIOR_SHAPE + k - 1.0) / (n * rate);
    let shape = if rng.uniform() * (1.0 + odds) < odds { PRIOR_SHAPE + k } else { PRIOR_SHAPE + k - 1.0 };
    rng.gamma(shape) / rate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};
    use crate::special::log_gamma;

    /// Mean and variance of p(α | K, n) on a fine grid.
    fn moments_by_quadrature(k: f64, n: f64) -> (f64, f64) {
        let log_density = |a: f64| -PRIOR_RATE * a + k * libm::log(a) + log_gamma(a) - log_gamma(a + n);
        let grid: Vec<f64> = (1..400_000).map(|i| f64::from(i) * 1e-4).collect();
        let peak = grid.iter().map(|&a| log_density(a)).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = grid.iter().map(|&a| libm::exp(log_density(a) - peak)).collect();
        let total: f64 = weights.iter().sum();
        let mean = grid.iter().zip(&weights).map(|(a, w)| a * w).sum::<f64>() / total;
        (mean, grid.iter().zip(&weights).map(|(a, w)| (a - mean).powi(2) * w).sum::<f64>() / total)
    }

    #[test]
    fn alpha_has_its_posterior_moments() {
        for (k, n) in [(1, 10), (5, 100), (40, 2000)] {
            let (mean, variance) = moments_by_quadrature(k as f64, n as f64);
            let mut rng = Seed::new(k).stream(Role::Observer, 0, 0);
            let n_draws = 40_000;
            let mut alpha = 1.0;
            let mut sum = 0.0;
            for _ in 0..n_draws {
                alpha = resample_alpha(alpha, k, n, &mut rng);
                sum += alpha;
            }
            // the chain's autocorrelation time is below 2 here; 5 standard errors: false alarm
            // below 1e-6
            let bound = 5.0 * (2.0 * variance / f64::from(n_draws)).sqrt();
            let sample_mean = sum / f64::from(n_draws);
            assert!((sample_mean - mean).abs() < bound, "K={k}, n={n}: {sample_mean}, expected {mean} ± {bound}");
        }
    }
}
