//! Gaussians, each with a mean and a full covariance of its own: x' ~ N(μ, Σ), Σ ~
//! Inverse-Wishart(ν₀, Ψ₀), μ ~ N(m₀', Σ/κ₀), where x' = (x − offset)/scale column by column.
//! Offset and scale keep sums of squares from cancelling and matrices from being lopsided;
//! densities are the user's.
//!
//! The marginal of n rows is a ratio of normalisers, b = ln Γ_D(ν/2) − ν/2 ln|Ψ| − D/2 ln κ, and
//! the predictive a Student t. Where columns depend on one another, or a component has fewer rows
//! than columns, Ψ is positive definite by Ψ₀ alone; what rounding may do to that is in
//! [`crate::cholesky`].

mod told;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::wishart::{self, Posterior, Prior, log_multivariate_gamma};
use super::{Conjugate, Family, OwnedRow};
use crate::cholesky::{self, diagonal, packed_len};
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::special::dot;
use crate::stats::{Stats, Sums};

/// Farther out than any column's standard deviation takes a row, and its square is still a number.
const FARTHEST: f64 = 1e100;
/// The same in single precision.
const FARTHEST_SKETCH: f64 = 1e15;
/// The logarithm of the smallest root of a χ² that differs from 0.
const SMALLEST_LOG_ROOT: f64 = -150.0;
/// Columns of a row that is held on the stack.
const FEW_COLUMNS: usize = 8;

/// Gaussians of unknown mean and covariance with a Normal–Inverse-Wishart prior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaussianFull {
    /// Taken from every row before anything else.
    pub offset: Vec<f64>,
    /// What every column is then divided by.
    pub scale: Vec<f64>,
    /// m₀, as the user counts.
    pub prior_mean: Vec<f64>,
    /// κ₀: how many rows the prior mean is worth.
    pub prior_rows: f64,
    /// ν₀: how many rows the prior covariance is worth; more than the columns less one.
    pub degrees: f64,
    /// Ψ₀ after offset and scale, the upper triangle, row after row.
    pub prior_scale: Vec<f64>,
}

impl GaussianFull {
    /// m₀' after offset and scale.
    fn scaled_prior_mean(&self) -> impl Iterator<Item = f64> + '_ {
        let of_columns = self.prior_mean.iter().zip(&self.offset).zip(&self.scale);
        of_columns.map(|((mean, offset), scale)| (mean - offset) / scale)
    }

    fn prior(&self) -> Prior<'_> {
        Prior { rows: self.prior_rows, degrees: self.degrees, scale: &self.prior_scale }
    }

    /// Replaces a posterior by that of the given rows.
    pub(crate) fn fill_posterior(&self, count: i64, sums: &[f64], posterior: &mut Posterior) {
        posterior.fill(&self.prior(), self.scaled_prior_mean(), count, |ix| sums[ix]);
    }

    fn with_posterior<T>(&self, stats: &Stats, use_it: impl FnOnce(&mut Posterior) -> T) -> T {
        wishart::with_scratch(|posterior| {
            self.fill_posterior(stats.count, stats.dense(), posterior);
            use_it(posterior)
        })
    }

    /// A row after offset and scale; columns beyond those of the data stay as they are.
    #[inline(always)]
    pub(crate) fn scale_row<T: Copy + Into<f64>>(&self, numbers: &[T], scaled: &mut [f64]) {
        for (((x, &number), offset), scale) in scaled.iter_mut().zip(numbers).zip(&self.offset).zip(&self.scale) {
            *x = ((number.into() - offset) / scale).clamp(-FARTHEST, FARTHEST);
        }
    }

    /// The same for either kind of numbers.
    #[inline(always)]
    pub(crate) fn read(&self, row: Row<'_>, scaled: &mut [f64]) {
        match row {
            Row::F32(numbers) => self.scale_row(numbers, scaled),
            Row::F64(numbers) => self.scale_row(numbers, scaled),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        }
    }

    /// Lends a row after offset and scale.
    #[inline(always)]
    fn with_scaled<T>(&self, row: Row<'_>, use_it: impl FnOnce(&mut [f64]) -> T) -> T {
        thread_local! {
            static SCALED: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
        }
        let n = self.n_columns();
        if n <= FEW_COLUMNS {
            let mut scaled = [0.0; FEW_COLUMNS];
            self.read(row, &mut scaled);
            return use_it(&mut scaled[..n]);
        }
        SCALED.with_borrow_mut(|scaled| {
            scaled.resize(n, 0.0);
            self.read(row, scaled);
            use_it(scaled)
        })
    }

    /// What every log-weight of a row leaves out: the base measure, which here is the same for all
    /// rows.
    pub(crate) fn log_unit(&self) -> f64 {
        -0.5 * self.n_columns() as f64 * libm::log(PI) - self.scale.iter().map(|scale| libm::log(*scale)).sum::<f64>()
    }

    /// Whether no column's prior depends on another's.
    pub(crate) fn has_diagonal_prior(&self) -> bool {
        let n = self.n_columns();
        let mut entries = self.prior_scale.iter();
        (0..n).all(|i| entries.next().is_some() && entries.by_ref().take(n - 1 - i).all(|entry| *entry == 0.0))
    }
}

/// Adds x and the upper triangle of xxᵀ, times a sign.
#[inline(always)]
pub(crate) fn add_moments(x: &[f64], sign: f64, sums: &mut [f64]) {
    let (firsts, mut seconds) = sums.split_at_mut(x.len());
    cholesky::add_scaled(firsts, sign, x);
    for i in 0..x.len() {
        let (of_row, rest) = seconds.split_at_mut(x.len() - i);
        cholesky::add_scaled(of_row, sign * x[i], &x[i..]);
        seconds = rest;
    }
}

/// ln Γ_D(ν/2) − ν/2 ln|Ψ| − D/2 ln κ.
fn log_normalizer_of(posterior: &Posterior) -> f64 {
    let n = posterior.mean.len();
    log_multivariate_gamma(posterior.degrees, n)
        - 0.5 * posterior.degrees * posterior.log_determinant
        - 0.5 * n as f64 * libm::log(posterior.rows)
}

impl Conjugate for GaussianFull {
    fn n_columns(&self) -> usize {
        self.offset.len()
    }

    fn stats_len(&self) -> usize {
        self.offset.len() + packed_len(self.offset.len())
    }

    fn parameters_len(&self) -> usize {
        self.stats_len()
    }

    /// The mean, then the W of Σ⁻¹ = WᵀW, a lower triangle, row after row: scoring rows needs no
    /// inverse. Σ⁻¹ = WᵀW is Wishart by Bartlett's decomposition: W = BL⁻¹, with a lower
    /// triangle B of standard normals and on its diagonal roots of χ² of ν−D+1, …, ν degrees. Then
    /// μ = m + W⁻¹z/√κ.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let n = self.n_columns();
        let mut posterior = Posterior::default();
        self.fill_posterior(stats.count, stats.dense(), &mut posterior);
        let mut inverse = vec![0.0; packed_len(n)];
        cholesky::invert(&posterior.factor, n, &mut inverse);
        let mut bartlett = Vec::with_capacity(packed_len(n));
        for i in 0..n {
            bartlett.extend((0..i).map(|_| rng.normal()));
            let log_square = std::f64::consts::LN_2 + rng.log_gamma(0.5 * (posterior.degrees - (n - 1 - i) as f64));
            bartlett.push(libm::exp((0.5 * log_square).max(SMALLEST_LOG_ROOT)));
        }
        let mut parameters = vec![0.0; self.parameters_len()];
        let (mean, whitening) = parameters.split_at_mut(n);
        cholesky::multiply_triangles(&bartlett, &inverse, n, whitening);
        mean.iter_mut().for_each(|x| *x = rng.normal() / posterior.rows.sqrt());
        cholesky::solve(whitening, mean);
        cholesky::add_scaled(mean, 1.0, &posterior.mean);
        parameters
    }

    /// No row is farther out than `FARTHEST`, squares are positive, and |Σ xy| ≤ √(Σ x² Σ y²).
    fn could_be(&self, stats: &Stats) -> bool {
        let (n, n_rows) = (self.n_columns(), stats.count as f64);
        let (firsts, seconds) = stats.dense().split_at(n);
        let mut on_diagonal = 0;
        let roots: Vec<f64> = (0..n)
            .map(|i| {
                let square = seconds[on_diagonal];
                on_diagonal += n - i;
                square.sqrt()
            })
            .collect();
        let longest = FARTHEST * n_rows.sqrt();
        let mut products = seconds.iter();
        firsts.iter().all(|sum| sum.abs() <= FARTHEST * n_rows)
            // a negative square has no root, and NaN is not below anything
            && roots.iter().all(|root| *root <= longest)
            && (0..n).all(|i| {
                let of_row = products.by_ref().take(n - i).zip(&roots[i..]);
                of_row.into_iter().all(|(product, root)| product.abs() <= 1.000_001 * roots[i] * root)
            })
    }

    fn log_normalizer(&self, stats: &Stats) -> f64 {
        self.with_posterior(stats, |posterior| log_normalizer_of(posterior))
    }

    fn log_normalizer_of_union(&self, a: &Stats, b: &Stats) -> f64 {
        let (sums_a, sums_b) = (a.dense(), b.dense());
        wishart::with_scratch(|posterior| {
            let sum = |ix: usize| sums_a[ix] + sums_b[ix];
            posterior.fill(&self.prior(), self.scaled_prior_mean(), a.count + b.count, sum);
            log_normalizer_of(posterior)
        })
    }

    /// The mean, in units of the prior's scale. Covariances have no part in it: components of one
    /// mean are compared whatever their shapes.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        let (n, share) = (self.n_columns(), 1.0 / (self.prior_rows + stats.count as f64));
        let mean =
            self.scaled_prior_mean().zip(stats.dense()).map(|(mean, sum)| (self.prior_rows * mean + sum) * share);
        let mut on_diagonal = 0;
        let in_units = |(i, mean): (usize, f64)| {
            let unit = self.prior_scale[on_diagonal].sqrt();
            on_diagonal += n - i;
            (mean / unit).clamp(-FARTHEST_SKETCH, FARTHEST_SKETCH) as f32
        };
        mean.enumerate().map(in_units).collect()
    }

    /// A plane through the mean or a little off it. A component that should be two is mostly
    /// longest where they lie apart, so directions are drawn from its own covariance, now and then
    /// from its square, which is nearly always the longest; and at times from the inverse, to which
    /// every direction is alike that differs by stretching, for long components side by side.
    fn cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        self.with_posterior(stats, |posterior| {
            let (n, factor) = (self.n_columns(), &posterior.factor);
            let mut direction: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            match rng.below(4) {
                0 => cholesky::solve_transposed(factor, &mut direction),
                1 => {
                    cholesky::multiply(factor, &mut direction);
                    cholesky::multiply_transposed(factor, &mut direction);
                    cholesky::multiply(factor, &mut direction);
                }
                _ => cholesky::multiply(factor, &mut direction),
            }
            let length = dot(&direction, &direction).sqrt().max(f64::MIN_POSITIVE);
            direction.iter_mut().for_each(|along| *along /= length);
            let through_mean = dot(&direction, &posterior.mean);
            let mut spread = direction.clone();
            cholesky::multiply_transposed(factor, &mut spread);
            let sd = (dot(&spread, &spread) / posterior.degrees).sqrt();
            let off_centre = if rng.uniform() < 0.5 { 0.0 } else { 2.0 * rng.uniform() };
            HalfCut::Plane { direction, threshold: through_mean + off_centre * sd }
        })
    }
}

impl Family for GaussianFull {
    /// The mean, then the W of Σ⁻¹ = WᵀW, a lower triangle, row after row.
    #[inline(always)]
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        stats.count += sign;
        let Sums::Dense(sums) = &mut stats.sums else { panic!("a Gaussian has dense sums") };
        self.with_scaled(row, |scaled| add_moments(scaled, sign as f64, sums));
    }

    fn log_base_measure(&self, _row: Row<'_>) -> f64 {
        self.log_unit()
    }

    /// Student t: ν − D + 1 degrees of freedom about m, of shape Ψ(κ+1)/κ(ν−D+1).
    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        self.with_posterior(stats, |posterior| {
            self.with_scaled(row, |x| {
                cholesky::add_scaled(x, -1.0, &posterior.mean);
                cholesky::solve(&posterior.factor, x);
                let (rows, degrees) = (posterior.rows, posterior.degrees);
                let square = rows / (rows + 1.0) * dot(x, x);
                self.log_unit() + wishart::log_height(rows, degrees, x.len())
                    - 0.5 * posterior.log_determinant
                    - 0.5 * (degrees + 1.0) * libm::log1p(square)
            })
        })
    }

    /// The side of a plane in the columns after offset and scale.
    fn side(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        let HalfCut::Plane { direction, threshold } = cut else { return None };
        let product = self.with_scaled(row, |x| dot(x, direction));
        Some(if product > *threshold { Half::Right } else { Half::Left })
    }

    fn log_likelihood(&self, row: Row<'_>, parameters: &[f64]) -> f64 {
        let n = self.n_columns();
        let (mean, whitening) = parameters.split_at(n);
        let log_root: f64 = (0..n).map(|i| libm::log(whitening[diagonal(i)])).sum();
        let square = self.with_scaled(row, |x| {
            cholesky::add_scaled(x, -1.0, mean);
            cholesky::squared_norm_of_product(whitening, x)
        });
        self.log_unit() - 0.5 * n as f64 * std::f64::consts::LN_2 + log_root - 0.5 * square
    }

    fn sample_row(&self, parameters: &[f64], _like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        let (mean, whitening) = parameters.split_at(self.n_columns());
        let mut x: Vec<f64> = mean.iter().map(|_| rng.normal()).collect();
        cholesky::solve(whitening, &mut x);
        cholesky::add_scaled(&mut x, 1.0, mean);
        x.iter_mut().zip(&self.offset).zip(&self.scale).for_each(|((x, offset), scale)| *x = offset + scale * *x);
        OwnedRow::Numbers(x)
    }
}
