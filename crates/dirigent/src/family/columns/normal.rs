//! Columns of numbers: x' = (x − offset)/scale ~ N(μ, 1/λ), λ ~ Gamma(a₀, rate b₀), μ ~ N(m₀',
//! 1/(κ₀λ)).
//!
//! With n cells, Σx' and Σx'²: κ = κ₀ + n, m = (κ₀m₀' + Σx')/κ, a = a₀ + n/2, b = b₀ + ½(Σ(x' −
//! x̄')² + κ₀n/κ (x̄' − m₀')²). Offset and scale are what keeps the second moments from cancelling.

use std::f64::consts::PI;

use super::law::{Law, Spread};
use crate::family::described::not_positive;
use crate::rng::Stream;
use crate::special::{LogProduct, log_gamma};

/// Cells this far out, in units of the scale, are as good as farther ones, and their squares do not
/// overflow.
const FARTHEST: f64 = 1e60;
/// ln λ stays within these bounds: beyond, μ would overflow.
const LOG_PRECISION: f64 = 250.0;

/// The prior of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Normal {
    pub(crate) offset: f64,
    pub(crate) scale: f64,
    pub(crate) prior_mean: f64,
    pub(crate) prior_rows: f64,
    pub(crate) shape: f64,
    pub(crate) rate: f64,
}

/// The posterior given some cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NormalPosterior {
    /// κ.
    pub(crate) rows: f64,
    /// m, in units of x'.
    pub(crate) mean: f64,
    /// a.
    pub(crate) shape: f64,
    /// b.
    pub(crate) rate: f64,
}

impl NormalPosterior {
    /// The variance of cells, in units of x', as far as it is known: b/a with a milder denominator,
    /// so that it always exists.
    pub(crate) fn variance(&self) -> f64 {
        self.rate / self.shape
    }
}

impl Normal {
    /// x' of a cell; NaN stays NaN.
    #[inline(always)]
    pub(crate) fn scaled(&self, x: f64) -> f64 {
        ((x - self.offset) / self.scale).clamp(-FARTHEST, FARTHEST)
    }

    /// m₀'.
    pub(crate) fn scaled_prior_mean(&self) -> f64 {
        self.scaled(self.prior_mean)
    }

    /// The posterior of n cells with these sums.
    pub(crate) fn posterior(&self, n: f64, sums: &[f64]) -> NormalPosterior {
        let (prior_mean, rows, shape) = (self.scaled_prior_mean(), self.prior_rows + n, self.shape + 0.5 * n);
        if n < 1.0 {
            return NormalPosterior { rows: self.prior_rows, mean: prior_mean, shape: self.shape, rate: self.rate };
        }
        let mean_of_rows = sums[0] / n;
        // rounding may leave a little less than nothing
        let within = (sums[1] - sums[0] * mean_of_rows).max(0.0);
        let between = self.prior_rows * n / rows * (mean_of_rows - prior_mean).powi(2);
        let mean = prior_mean + n / rows * (mean_of_rows - prior_mean);
        NormalPosterior { rows, mean, shape, rate: self.rate + 0.5 * (within + between) }
    }
}

/// The log-normalisers of many columns: most have the same a, and then one ln Γ and one logarithm
/// serve for all.
pub(super) struct NormalProducts {
    shape: f64,
    log_gamma: f64,
    rates: LogProduct,
    rows: LogProduct,
    sum: f64,
}

impl NormalProducts {
    pub(super) const NONE: Self =
        Self { shape: 0.0, log_gamma: 0.0, rates: LogProduct::ONE, rows: LogProduct::ONE, sum: 0.0 };

    #[inline]
    pub(super) fn add(&mut self, column: NormalPosterior) {
        if column.shape != self.shape {
            self.sum -= self.shape * self.rates.log();
            (self.shape, self.rates, self.log_gamma) = (column.shape, LogProduct::ONE, log_gamma(column.shape));
        }
        self.sum += self.log_gamma;
        self.rates.multiply(column.rate);
        self.rows.multiply(column.rows);
    }

    /// Σ ln Γ(a) − a ln b − ½ ln κ.
    pub(super) fn log_normalizer(&self) -> f64 {
        self.sum - self.shape * self.rates.log() - 0.5 * self.rows.log()
    }
}

impl Law for Normal {
    fn stats_len(&self) -> usize {
        2
    }

    fn parameters_len(&self) -> usize {
        2
    }

    fn accepts(&self, x: f64) -> bool {
        x.is_finite()
    }

    #[inline]
    fn accumulate(&self, x: f64, sign: f64, sums: &mut [f64]) {
        let x = self.scaled(x);
        sums[0] += sign * x;
        sums[1] += sign * x * x;
    }

    fn could_be(&self, n: f64, sums: &[f64]) -> bool {
        sums[0].abs() <= FARTHEST * n && (0.0..=FARTHEST * FARTHEST * n).contains(&sums[1])
    }

    fn log_base_measure(&self, _x: f64) -> f64 {
        -0.5 * libm::log(2.0 * PI) - libm::log(self.scale)
    }

    /// ln Γ(a) − a ln b − ½ ln κ.
    fn log_normalizer(&self, n: f64, sums: &[f64]) -> f64 {
        let NormalPosterior { rows, shape, rate, .. } = self.posterior(n, sums);
        log_gamma(shape) - shape * libm::log(rate) - 0.5 * libm::log(rows)
    }

    /// Student's t with 2a degrees of freedom.
    fn log_predictive(&self, x: f64, n: f64, sums: &[f64]) -> f64 {
        let NormalPosterior { rows, mean, shape, rate } = self.posterior(n, sums);
        let wider = rate * (rows + 1.0) / rows;
        let square = (self.scaled(x) - mean).powi(2) / (2.0 * wider);
        log_gamma(shape + 0.5)
            - log_gamma(shape)
            - 0.5 * libm::log(2.0 * PI * wider)
            - (shape + 0.5) * libm::log1p(square)
            - libm::log(self.scale)
    }

    /// μ in units of x', and ln λ.
    fn sample_parameters(&self, n: f64, sums: &[f64], rng: &mut Stream, parameters: &mut Vec<f64>) {
        let NormalPosterior { rows, mean, shape, rate } = self.posterior(n, sums);
        let log_precision = (rng.log_gamma(shape) - libm::log(rate)).clamp(-LOG_PRECISION, LOG_PRECISION);
        let sd = libm::exp(-0.5 * log_precision) / rows.sqrt();
        parameters.extend([mean + sd * rng.normal(), log_precision]);
    }

    fn log_likelihood(&self, x: f64, parameters: &[f64]) -> f64 {
        let (mean, log_precision) = (parameters[0], parameters[1]);
        let square = (self.scaled(x) - mean).powi(2) * libm::exp(log_precision);
        0.5 * (log_precision - libm::log(2.0 * PI) - square) - libm::log(self.scale)
    }

    fn sample_cell(&self, parameters: &[f64], rng: &mut Stream) -> f64 {
        self.offset + self.scale * (parameters[0] + libm::exp(-0.5 * parameters[1]) * rng.normal())
    }

    /// The mean in units of x'.
    fn sketch(&self, n: f64, sums: &[f64], sketch: &mut Vec<f32>) {
        sketch.push(self.posterior(n, sums).mean as f32);
    }

    fn spread(&self, n: f64, sums: &[f64]) -> Spread {
        let posterior = self.posterior(n, sums);
        Spread::Number { mean: posterior.mean, sd: posterior.variance().sqrt() }
    }

    fn problem(&self) -> Option<String> {
        let wrong =
            |name: &str, value: f64| (!value.is_finite()).then(|| format!("`{name}` must be finite, got {value}"));
        let not_finite = wrong("offset", self.offset).or_else(|| wrong("prior_mean", self.prior_mean));
        not_finite
            .or_else(|| not_positive("scale", self.scale))
            .or_else(|| not_positive("prior_rows", self.prior_rows))
            .or_else(|| not_positive("shape", self.shape))
            .or_else(|| not_positive("rate", self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_finite_everywhere, column, stream, sums_of};
    use super::*;
    use crate::family::laws::assert_close;
    use crate::family::laws::{self, laws};
    use crate::family::{ColumnLaw, Columns, ColumnsKind};
    use rv::data::DataOrSuffStat;
    use rv::dist::{Gaussian, NormalInvGamma};
    use rv::traits::ConjugatePrior;

    fn normal() -> Normal {
        Normal { offset: 3.0, scale: 2.0, prior_mean: 4.0, prior_rows: 0.4, shape: 1.7, rate: 0.6 }
    }

    fn law(offset: f64, shape: f64) -> ColumnLaw {
        ColumnLaw::Normal { offset, scale: 2.0, prior_mean: offset + 1.0, prior_rows: 0.4, shape, rate: 0.6 }
    }

    fn diagonal() -> Columns {
        let laws = [law(3.0, 3.2), law(-40.0, 3.2), law(0.0, 4.0)];
        Columns { kind: ColumnsKind::Diagonal, columns: laws.map(|law| column(law, false)).to_vec() }
    }

    #[test]
    fn marginal_agrees_with_rv() {
        let (normal, mut rng) = (normal(), stream(1));
        let scaled: Vec<f64> = (0..9).map(|_| 1.0 + 2.0 * rng.normal()).collect();
        let cells: Vec<f64> = scaled.iter().map(|x| 3.0 + 2.0 * x).collect();
        let (n, sums) = sums_of(&normal, &cells);
        let base: f64 = cells.iter().map(|x| normal.log_base_measure(*x)).sum();
        let marginal = normal.log_normalizer(n, &sums) - normal.log_normalizer(0.0, &[0.0; 2]) + base;
        let prior = NormalInvGamma::new(0.5, 1.0 / 0.4, 1.7, 0.6).unwrap();
        let data: DataOrSuffStat<f64, Gaussian> = DataOrSuffStat::Data(&scaled);
        assert_close(marginal, prior.ln_m(data) - 9.0 * libm::log(2.0), "log_normalizer");
    }

    #[test]
    fn constant_far_tiny_and_huge_cells_give_finite_numbers() {
        for (offset, scale) in [(0.0, 1.0), (1e15, 1.0), (1e-12, 1e-13), (0.0, 1e-300), (0.0, 1e300)] {
            let normal = Normal { offset, scale, prior_mean: offset, ..normal() };
            let cells = [offset, offset + scale, offset - 3.0 * scale, 0.0, 1e300, -1e300];
            assert_finite_everywhere(&normal, &cells);
            assert_finite_everywhere(&normal, &[offset + 2.0 * scale; 1000]);
        }
    }

    #[test]
    fn far_from_the_origin_the_variance_is_that_near_it() {
        let mut rng = stream(2);
        let cells: Vec<f64> = (0..1000).map(|_| 2.0 * rng.normal()).collect();
        let variance = |offset: f64| {
            let normal = Normal { offset, prior_mean: offset, ..normal() };
            let far: Vec<f64> = cells.iter().map(|x| x + offset).collect();
            let (n, sums) = sums_of(&normal, &far);
            normal.posterior(n, &sums).variance()
        };
        assert!((variance(1e9) / variance(0.0) - 1.0).abs() < 1e-6);
    }

    laws!(diagonal());
}
