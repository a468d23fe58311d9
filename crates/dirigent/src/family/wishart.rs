//! The posterior of a mean and a covariance under a Normal–Inverse-Wishart prior, from the sums of
//! a component's rows.
//!
//! With n rows of mean x̄ and scatter S about it: κ = κ₀ + n, ν = ν₀ + n, m = (κ₀m₀ + Σx)/κ and Ψ =
//! Ψ₀ + S + κ₀n/κ (x̄ − m₀)(x̄ − m₀)ᵀ. Three positive parts, so that nothing cancels but S = Σxxᵀ −
//! nx̄x̄ᵀ itself, whose diagonal is kept from falling below zero.

use std::cell::RefCell;

use crate::cholesky::{self, packed_len};
use crate::special::log_gamma;

/// A posterior whose scale matrix is factored.
#[derive(Debug, Clone, Default)]
pub(crate) struct Posterior {
    /// κ.
    pub(crate) rows: f64,
    /// ν.
    pub(crate) degrees: f64,
    /// m.
    pub(crate) mean: Vec<f64>,
    /// L of Ψ = LLᵀ, the lower triangle, row after row.
    pub(crate) factor: Vec<f64>,
    /// ln |Ψ|.
    pub(crate) log_determinant: f64,
    /// x̄ − m₀, while Ψ is gathered.
    off_prior: Vec<f64>,
}

/// The numbers of the prior but for its mean.
pub(super) struct Prior<'a> {
    /// κ₀.
    pub(super) rows: f64,
    /// ν₀.
    pub(super) degrees: f64,
    /// Ψ₀: the upper triangle, row after row.
    pub(super) scale: &'a [f64],
}

impl Posterior {
    /// That of `count` rows. `sum` gives their sums one by one: Σx, then the upper triangle of
    /// Σxxᵀ, row after row.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        prior: &Prior<'_>,
        prior_mean: impl Iterator<Item = f64>,
        count: i64,
        sum: impl Fn(usize) -> f64,
    ) {
        self.gather(prior, prior_mean, count, sum);
        let n = self.mean.len();
        cholesky::factor(&mut self.factor, n);
        self.log_determinant = cholesky::log_determinant(&self.factor, n);
    }

    /// The same with Ψ itself in the place of its factor.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        prior: &Prior<'_>,
        prior_mean: impl Iterator<Item = f64>,
        count: i64,
        sum: impl Fn(usize) -> f64,
    ) {
        let n_rows = count as f64;
        let share = if count > 0 { 1.0 / n_rows } else { 0.0 };
        self.rows = prior.rows + n_rows;
        self.degrees = prior.degrees + n_rows;
        self.mean.clear();
        self.off_prior.clear();
        for (i, prior_mean) in prior_mean.enumerate() {
            self.mean.push(sum(i) * share);
            self.off_prior.push(self.mean[i] - prior_mean);
        }
        let n = self.mean.len();
        self.factor.resize(packed_len(n), 0.0);
        let pull = prior.rows * n_rows / self.rows;
        let mut ix = 0;
        for i in 0..n {
            let (of_mean, of_prior) = (n_rows * self.mean[i], pull * self.off_prior[i]);
            for j in i..n {
                let scatter = if count > 0 { sum(n + ix) - of_mean * self.mean[j] } else { 0.0 };
                let scatter = if i == j { scatter.max(0.0) } else { scatter };
                self.factor[packed_len(j) + i] = prior.scale[ix] + scatter + of_prior * self.off_prior[j];
                ix += 1;
            }
        }
        let back = prior.rows / self.rows;
        self.mean.iter_mut().zip(&self.off_prior).for_each(|(mean, off)| *mean -= back * off);
    }
}

thread_local! {
    // posteriors by the thousand, for pairs of components: none is kept
    static SCRATCH: RefCell<Posterior> = RefCell::default();
}

/// Lends room for a posterior; not to be asked for again from within.
pub(super) fn with_scratch<T>(use_it: impl FnOnce(&mut Posterior) -> T) -> T {
    SCRATCH.with_borrow_mut(use_it)
}

/// ln Γ_D(ν/2), the multivariate gamma function, without its power of π.
pub(super) fn log_multivariate_gamma(degrees: f64, n: usize) -> f64 {
    (0..n).map(|i| log_gamma(0.5 * (degrees - i as f64))).sum()
}

/// What of a predictive only the count decides: ln Γ((ν+1)/2) − ln Γ((ν+1−D)/2) − D/2 ln((κ+1)/κ).
pub(crate) fn log_height(rows: f64, degrees: f64, n: usize) -> f64 {
    let half_columns = 0.5 * n as f64;
    log_gamma_rise(0.5 * (degrees + 1.0 - n as f64), half_columns) - half_columns * libm::log1p(1.0 / rows)
}

/// ln Γ(z + step) − ln Γ(z). Far out by Stirling's series of the difference: two large logarithms
/// would cancel, and take longer.
fn log_gamma_rise(z: f64, step: f64) -> f64 {
    const FAR: f64 = 100.0;
    if z < FAR {
        return log_gamma(z + step) - log_gamma(z);
    }
    let end = z + step;
    // 1/12z − 1/360z³ + 1/1260z⁵: what follows is below 1e-17
    let rest = |z: f64| {
        let inverse = 1.0 / z;
        let square = inverse * inverse;
        inverse * (1.0 / 12.0 + square * (-1.0 / 360.0 + square * (1.0 / 1260.0)))
    };
    step * libm::log(z) + (end - 0.5) * libm::log1p(step / z) - step + (rest(end) - rest(z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_of_log_gamma_far_out_is_that_of_log_gamma() {
        for step in [0.5, 1.0, 1.5, 4.0, 64.0] {
            for z in [100.0, 101.5, 300.0, 5_000.5, 1e5] {
                let exact = log_gamma(z + step) - log_gamma(z);
                let error = (log_gamma_rise(z, step) - exact).abs();
                assert!(error < 1e-14 * log_gamma(z + step), "{z} + {step}: off by {error}");
            }
            // Γ(z+1) = zΓ(z), to the last digits
            let (z, one) = (12_345.678, 1.0);
            let two_steps = log_gamma_rise(z, step) + log_gamma_rise(z + step, one);
            let other_way = log_gamma_rise(z, one) + log_gamma_rise(z + one, step);
            assert!((two_steps - other_way).abs() < 1e-11, "{two_steps} is not {other_way}");
            assert!((log_gamma_rise(z, one) - libm::log(z)).abs() < 1e-12);
        }
    }
}
