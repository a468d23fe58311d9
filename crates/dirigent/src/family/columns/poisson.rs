//! Columns of counts: x ~ Poisson(μ), μ ~ Gamma(shape, rate). The predictive is a negative
//! binomial.

use super::law::{Law, Spread};
use crate::family::described::not_positive;
use crate::rng::Stream;
use crate::special::log_gamma;

/// The largest count there can be: whole numbers up to here are exact, with room for sums.
pub(crate) const LARGEST_COUNT: f64 = (1u64 << 40) as f64;
/// Above this mean a count is drawn by halves.
const SMALL_MEAN: f64 = 16.0;

/// The prior of a column of counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Poisson {
    pub(crate) shape: f64,
    pub(crate) rate: f64,
}

impl Poisson {
    /// The posterior mean of a count.
    pub(crate) fn mean(&self, n: f64, sums: &[f64]) -> f64 {
        (self.shape + sums[0]) / (self.rate + n)
    }
}

impl Law for Poisson {
    fn stats_len(&self) -> usize {
        1
    }

    fn parameters_len(&self) -> usize {
        1
    }

    fn accepts(&self, x: f64) -> bool {
        (0.0..=LARGEST_COUNT).contains(&x) && x.fract() == 0.0
    }

    #[inline]
    fn accumulate(&self, x: f64, sign: f64, sums: &mut [f64]) {
        sums[0] += sign * x;
    }

    fn could_be(&self, n: f64, sums: &[f64]) -> bool {
        (0.0..=LARGEST_COUNT * n).contains(&sums[0])
    }

    /// −ln x!.
    fn log_base_measure(&self, x: f64) -> f64 {
        -log_gamma(x + 1.0)
    }

    fn log_normalizer(&self, n: f64, sums: &[f64]) -> f64 {
        let shape = self.shape + sums[0];
        log_gamma(shape) - shape * libm::log(self.rate + n)
    }

    fn log_predictive(&self, x: f64, n: f64, sums: &[f64]) -> f64 {
        let (shape, rate) = (self.shape + sums[0], self.rate + n);
        log_gamma(shape + x)
            - log_gamma(shape)
            - log_gamma(x + 1.0)
            - shape * libm::log1p(1.0 / rate)
            - x * libm::log(rate + 1.0)
    }

    /// ln μ.
    fn sample_parameters(&self, n: f64, sums: &[f64], rng: &mut Stream, parameters: &mut Vec<f64>) {
        parameters.push(rng.log_gamma(self.shape + sums[0]) - libm::log(self.rate + n));
    }

    fn log_likelihood(&self, x: f64, parameters: &[f64]) -> f64 {
        x * parameters[0] - libm::exp(parameters[0]) - log_gamma(x + 1.0)
    }

    /// By waiting times; a large mean is first made small (Ahrens & Dieter 1974): the m-th event
    /// comes at a gamma time, and the events before it are binomial.
    fn sample_cell(&self, parameters: &[f64], rng: &mut Stream) -> f64 {
        let (mut mean, mut count) = (libm::exp(parameters[0]).min(LARGEST_COUNT), 0.0);
        while mean > SMALL_MEAN {
            let event = (0.875 * mean).floor();
            let time = rng.gamma(event);
            if time > mean {
                return count + binomial(event - 1.0, mean / time, rng);
            }
            count += event;
            mean -= time;
        }
        let mut time = rng.exponential();
        while time < mean {
            count += 1.0;
            time += rng.exponential();
        }
        count
    }

    /// The square root of the mean, about which counts lie by ½ whatever it is.
    fn sketch(&self, n: f64, sums: &[f64], sketch: &mut Vec<f32>) {
        sketch.push(self.mean(n, sums).sqrt() as f32);
    }

    /// Gamma–Poisson: wider than a Poisson's by what is not known of its mean.
    fn spread(&self, n: f64, sums: &[f64]) -> Spread {
        let mean = self.mean(n, sums);
        Spread::Number { mean, sd: (mean * (1.0 + 1.0 / (self.rate + n))).sqrt() }
    }

    fn problem(&self) -> Option<String> {
        not_positive("shape", self.shape).or_else(|| not_positive("rate", self.rate))
    }
}

/// A binomial draw: by the median of the uniforms as long as there are many (a beta draw), then one
/// by one.
fn binomial(n: f64, p: f64, rng: &mut Stream) -> f64 {
    let (mut n, mut p, mut count) = (n, p, 0.0);
    while n > SMALL_MEAN {
        let middle = (n / 2.0).floor() + 1.0;
        let at = libm::exp(rng.log_beta(middle, n + 1.0 - middle));
        if at <= p {
            (n, p, count) = (n - middle, (p - at) / (1.0 - at), count + middle);
        } else {
            (n, p) = (middle - 1.0, p / at);
        }
    }
    while n >= 1.0 {
        n -= 1.0;
        count += if rng.uniform() < p { 1.0 } else { 0.0 };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_finite_everywhere, column, stream, sums_of};
    use super::*;
    use crate::family::laws::{self, assert_close, laws};
    use crate::family::{ColumnLaw, Columns, ColumnsKind};
    use rv::data::DataOrSuffStat;
    use rv::dist::Gamma;
    use rv::traits::ConjugatePrior;

    fn family() -> Columns {
        let laws = [(1.5, 0.4), (4.0, 1.0), (30.0, 0.5)].map(|(shape, rate)| ColumnLaw::Poisson { shape, rate });
        Columns { kind: ColumnsKind::Poisson, columns: laws.map(|law| column(law, false)).to_vec() }
    }

    #[test]
    fn marginal_agrees_with_rv() {
        let (law, cells) = (Poisson { shape: 1.5, rate: 0.4 }, [3.0, 0.0, 7.0, 1.0, 40.0]);
        let (n, sums) = sums_of(&law, &cells);
        let data: Vec<u32> = cells.iter().map(|x| *x as u32).collect();
        let data: DataOrSuffStat<u32, rv::dist::Poisson> = DataOrSuffStat::Data(&data);
        let base: f64 = cells.iter().map(|x| law.log_base_measure(*x)).sum();
        let marginal = law.log_normalizer(n, &sums) - law.log_normalizer(0.0, &[0.0]) + base;
        assert_close(marginal, Gamma::new(1.5, 0.4).unwrap().ln_m(data), "log_normalizer");
    }

    /// 5 standard errors of the mean and of the variance: false alarm below 2e-6 a mean.
    #[test]
    fn drawn_counts_have_mean_and_variance_of_a_poisson() {
        let (law, mut rng, n) = (Poisson { shape: 1.0, rate: 1.0 }, stream(3), 40_000.0);
        for mean in [0.01, 3.0, 15.9, 16.1, 90.0, 12_345.0] {
            let draws: Vec<f64> = (0..n as usize).map(|_| law.sample_cell(&[libm::log(mean)], &mut rng)).collect();
            let of_draws = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            assert!((of_draws - mean).abs() < 5.0 * (mean / n).sqrt(), "mean {of_draws}, expected {mean}");
            let error = ((mean + 2.0 * mean * mean) / n).sqrt();
            assert!((variance - mean).abs() < 5.0 * error, "variance {variance}, expected {mean}");
        }
    }

    #[test]
    fn nothing_and_enormous_counts_give_finite_numbers() {
        assert_finite_everywhere(&Poisson { shape: 1e-6, rate: 1e-6 }, &[0.0; 1000]);
        assert_finite_everywhere(&Poisson { shape: 1e-3, rate: 1e3 }, &[0.0, LARGEST_COUNT, 1e6]);
    }

    laws!(family());
}
