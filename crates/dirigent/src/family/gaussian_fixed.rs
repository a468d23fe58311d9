//! Gaussians of one fixed, spherical covariance: x ~ N(μ, σ²I), μ ~ N(m₀, σ₀²I). The paper's model
//! of the synthetic set and of ImageNet.
//!
//! The prior is worth κ₀ = σ²/σ₀² rows at m₀, so a component of n rows has κ = κ₀ + n and
//! t = κ₀m₀ + Σx, and everything is a function of (κ, t). Sums are taken about a fixed offset: far from the
//! origin raw sums would cancel.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::described::not_positive;
use super::{Conjugate, Family, FamilyText, NamedArray, OwnedRow};
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::stats::{Stats, Sums};

/// Running sums of a long addition.
const LANES: usize = 8;

/// Spherical Gaussians of known standard deviation with a Gaussian prior on their means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GaussianFixed {
    /// σ: the standard deviation of a component's rows about its mean.
    pub noise_sd: f64,
    /// σ₀: the standard deviation of the means about the prior mean.
    pub mean_sd: f64,
    /// m₀, as the user counts.
    pub prior_mean: Vec<f64>,
    /// Taken from every row before anything else.
    pub offset: Vec<f64>,
}

impl GaussianFixed {
    /// κ₀: how many rows the prior is worth.
    pub fn prior_rows(&self) -> f64 {
        (self.noise_sd / self.mean_sd).powi(2)
    }

    /// The prior mean about the offset.
    pub fn centred_prior_mean(&self) -> impl Iterator<Item = f64> + '_ {
        self.prior_mean.iter().zip(&self.offset).map(|(mean, offset)| mean - offset)
    }

    /// A row about the offset.
    #[inline(always)]
    pub(crate) fn centre<T: Copy + Into<f64>>(&self, numbers: &[T], centred: &mut [f64]) {
        for ((x, &number), offset) in centred.iter_mut().zip(numbers).zip(&self.offset) {
            *x = number.into() - offset;
        }
    }

    /// The posterior mean of a component's centre, about the offset.
    fn centred_mean<'a>(&'a self, stats: &'a Stats) -> impl Iterator<Item = f64> + 'a {
        let prior_rows = self.prior_rows();
        let share = 1.0 / (prior_rows + stats.count as f64);
        self.centred_prior_mean().zip(stats.dense()).map(move |(mean, sum)| (prior_rows * mean + sum) * share)
    }

    /// The posterior mean of a component's centre, as the user counts.
    pub fn posterior_mean<'a>(&'a self, stats: &'a Stats) -> impl Iterator<Item = f64> + 'a {
        self.centred_mean(stats).zip(&self.offset).map(|(mean, offset)| mean + offset)
    }

    fn squared_distance<T: Copy + Into<f64>>(&self, numbers: &[T], centre: impl Iterator<Item = f64>) -> f64 {
        numbers.iter().zip(&self.offset).zip(centre).map(|((&x, offset), c)| (x.into() - offset - c).powi(2)).sum()
    }

    /// ‖t‖² / 2σ²κ − D/2 ln κ for a given number of rows and ‖t‖².
    fn log_normalizer_of(&self, count: i64, square: f64) -> f64 {
        let rows = self.prior_rows() + count as f64;
        square / (2.0 * self.noise_sd.powi(2) * rows) - 0.5 * self.stats_len() as f64 * libm::log(rows)
    }

    /// ‖t‖² of two sets together. In several running sums: a single one would have to wait for
    /// every addition.
    fn squared_norm_of_union(&self, a: &[f64], b: &[f64]) -> f64 {
        let prior_rows = self.prior_rows();
        let square = |mean: f64, offset: f64, a: f64, b: f64| (prior_rows * (mean - offset) + (a + b)).powi(2);
        let (means, last_means) = self.prior_mean.as_chunks::<LANES>();
        let (offsets, last_offsets) = self.offset.as_chunks::<LANES>();
        let ((a, last_a), (b, last_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for (((mean, offset), a), b) in means.iter().zip(offsets).zip(a).zip(b) {
            for lane in 0..LANES {
                sums[lane] += square(mean[lane], offset[lane], a[lane], b[lane]);
            }
        }
        let last = last_means.iter().zip(last_offsets).zip(last_a).zip(last_b);
        sums.iter().sum::<f64>() + last.map(|(((mean, offset), a), b)| square(*mean, *offset, *a, *b)).sum::<f64>()
    }

    fn product<T: Copy + Into<f64>>(&self, numbers: &[T], direction: &[f64]) -> f64 {
        numbers.iter().zip(&self.offset).zip(direction).map(|((&x, offset), along)| (x.into() - offset) * along).sum()
    }
}

impl Conjugate for GaussianFixed {
    fn n_columns(&self) -> usize {
        self.offset.len()
    }

    fn stats_len(&self) -> usize {
        self.offset.len()
    }

    /// A mean of n rows is known to σ/√n: this is fine enough for sixty million.
    fn snapshot_step(&self) -> Option<f64> {
        Some(self.noise_sd / 8192.0)
    }

    fn parameters_len(&self) -> usize {
        self.offset.len()
    }

    /// The mean, about the offset.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let sd = self.noise_sd / (self.prior_rows() + stats.count as f64).sqrt();
        self.centred_mean(stats).map(|mean| mean + sd * rng.normal()).collect()
    }

    /// ‖t‖² / 2σ²κ − D/2 ln κ, the constants of the family left out.
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        let prior_rows = self.prior_rows();
        let square: f64 =
            self.centred_prior_mean().zip(stats.dense()).map(|(mean, sum)| (prior_rows * mean + sum).powi(2)).sum();
        self.log_normalizer_of(stats.count, square)
    }

    fn log_normalizer_empty(&self) -> f64 {
        let prior_rows = self.prior_rows();
        self.log_normalizer_of(0, self.centred_prior_mean().map(|mean| (prior_rows * mean).powi(2)).sum())
    }

    fn log_normalizer_of_union(&self, a: &Stats, b: &Stats) -> f64 {
        self.log_normalizer_of(a.count + b.count, self.squared_norm_of_union(a.dense(), b.dense()))
    }

    /// The mean.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        self.centred_mean(stats).map(|mean| mean as f32).collect()
    }

    fn cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        let direction: Vec<f64> = (0..self.stats_len()).map(|_| rng.normal()).collect();
        let through_mean: f64 = direction.iter().zip(self.centred_mean(stats)).map(|(along, mean)| along * mean).sum();
        let length = direction.iter().map(|along| along * along).sum::<f64>().sqrt();
        let off_centre = if rng.uniform() < 0.5 { 0.0 } else { 2.0 * rng.uniform() };
        HalfCut::Plane { direction, threshold: through_mean + off_centre * self.noise_sd * length }
    }
}

impl Family for GaussianFixed {
    /// The mean, about the offset.
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        fn add<T: Copy + Into<f64>>(numbers: &[T], offset: &[f64], sign: f64, sums: &mut [f64]) {
            for ((&x, offset), sum) in numbers.iter().zip(offset).zip(sums) {
                *sum += sign * (x.into() - offset);
            }
        }
        stats.count += sign;
        let Sums::Dense(sums) = &mut stats.sums else { panic!("a Gaussian has dense sums") };
        match row {
            Row::F32(numbers) => add(numbers, &self.offset, sign as f64, sums),
            Row::F64(numbers) => add(numbers, &self.offset, sign as f64, sums),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        }
    }

    fn log_base_measure(&self, row: Row<'_>) -> f64 {
        let square = match row {
            Row::F32(numbers) => self.squared_distance(numbers, std::iter::repeat(0.0)),
            Row::F64(numbers) => self.squared_distance(numbers, std::iter::repeat(0.0)),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        };
        let variance = self.noise_sd.powi(2);
        -0.5 * (self.stats_len() as f64 * libm::log(2.0 * PI * variance) + square / variance)
    }

    /// N(t/κ, σ²(1 + 1/κ)).
    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        let square = match row {
            Row::F32(numbers) => self.squared_distance(numbers, self.centred_mean(stats)),
            Row::F64(numbers) => self.squared_distance(numbers, self.centred_mean(stats)),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        };
        let variance = self.noise_sd.powi(2) * (1.0 + 1.0 / (self.prior_rows() + stats.count as f64));
        -0.5 * (self.stats_len() as f64 * libm::log(2.0 * PI * variance) + square / variance)
    }

    fn side(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        let HalfCut::Plane { direction, threshold } = cut else { return None };
        let product = match row {
            Row::F32(numbers) => self.product(numbers, direction),
            Row::F64(numbers) => self.product(numbers, direction),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        };
        Some(if product > *threshold { Half::Right } else { Half::Left })
    }

    fn log_likelihood(&self, row: Row<'_>, mean: &[f64]) -> f64 {
        let square = match row {
            Row::F32(numbers) => self.squared_distance(numbers, mean.iter().copied()),
            Row::F64(numbers) => self.squared_distance(numbers, mean.iter().copied()),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        };
        let variance = self.noise_sd.powi(2);
        -0.5 * (self.stats_len() as f64 * libm::log(2.0 * PI * variance) + square / variance)
    }

    fn sample_row(&self, mean: &[f64], _like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        OwnedRow::Numbers(mean.iter().zip(&self.offset).map(|(m, o)| o + m + self.noise_sd * rng.normal()).collect())
    }
}

impl FamilyText for GaussianFixed {
    fn name(&self) -> &'static str {
        "gaussian, covariance isotropic"
    }

    fn priors(&self) -> Vec<(&'static str, f64)> {
        vec![("sigma", self.noise_sd), ("sigma0", self.mean_sd)]
    }

    fn cause_of_one(&self) -> String {
        format!(
            "sigma ({:.4}) is too large for the data, or sigma0 ({:.4}) does not fit them; try a smaller `sigma`",
            self.noise_sd, self.mean_sd
        )
    }

    fn cause_of_many(&self) -> String {
        format!("sigma ({:.4}) is too small for the data; try a larger `sigma`", self.noise_sd)
    }

    fn problem(&self) -> Option<String> {
        let (found, expected) = (self.prior_mean.len(), self.offset.len());
        let lengths = (found != expected || expected == 0)
            .then(|| format!("`prior_mean` has {found} numbers and `offset` {expected}"));
        not_positive("noise_sd", self.noise_sd).or_else(|| not_positive("mean_sd", self.mean_sd)).or(lengths)
    }

    fn formula(&self) -> &'static str {
        "predictive_k(x) is normal in each column, independently: mean `means`[k], variance noise_sd^2 * (1 + 1 / (kappa + counts[k])), \
         kappa = (noise_sd / mean_sd)^2. `sums`[k] is the sum of the component's rows about `offset`: \
         means[k] = offset + (kappa * (prior_mean - offset) + sums[k]) / (kappa + counts[k])."
    }

    fn constants(&self) -> Vec<NamedArray> {
        vec![NamedArray::of_columns("offset", &self.offset), NamedArray::of_columns("prior_mean", &self.prior_mean)]
    }

    fn arrays(&self, components: &[Stats]) -> Vec<NamedArray> {
        let mean = |stats: &Stats| self.posterior_mean(stats).collect::<Vec<_>>().into_iter();
        vec![NamedArray::of_components("means", components, self.n_columns(), mean)]
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{self, laws};
    use super::*;
    use crate::family::log_marginal;

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 0.7, mean_sd: 2.0, prior_mean: vec![1.0, -0.5, 0.0], offset: vec![0.4, 0.0, -3.0] }
    }

    /// Column by column the rows are jointly N(m₀, σ²I + σ₀²11ᵀ), whose determinant and inverse are
    /// known in closed form.
    fn oracle(family: &GaussianFixed, rows: &[OwnedRow]) -> f64 {
        let n = rows.len() as f64;
        let (noise, between) = (family.noise_sd.powi(2), family.mean_sd.powi(2));
        (0..family.stats_len())
            .map(|column| {
                let residuals = rows.iter().map(|row| match row {
                    OwnedRow::Numbers(numbers) => numbers[column] - family.prior_mean[column],
                    OwnedRow::Counts(_) => unreachable!(),
                });
                let (sum, square) = residuals.fold((0.0, 0.0), |(sum, square), r| (sum + r, square + r * r));
                let log_determinant = (n - 1.0) * libm::log(noise) + libm::log(noise + n * between);
                let quadratic = (square - between * sum * sum / (noise + n * between)) / noise;
                -0.5 * (n * libm::log(2.0 * PI) + log_determinant + quadratic)
            })
            .sum()
    }

    #[test]
    fn marginal_agrees_with_the_joint_normal_density() {
        let (family, rows) = (family(), laws::draw_rows(&family(), 9, 3));
        let (stats, sum_log_base) = laws::summarise(&family, &rows);
        laws::assert_close(log_marginal(&family, &stats, sum_log_base), oracle(&family, &rows), "log_normalizer");
    }

    laws!(family());
}
