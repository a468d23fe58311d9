//! Columns of zeros and ones: x ~ Bernoulli(p), p ~ Beta(a, b).

use super::law::{Law, Spread};
use crate::family::described::not_positive;
use crate::rng::Stream;
use crate::special::log_gamma;

/// The prior of a column of zeros and ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bernoulli {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

impl Bernoulli {
    /// The posterior mean of p.
    pub(crate) fn mean(&self, n: f64, sums: &[f64]) -> f64 {
        (self.a + sums[0]) / (self.a + self.b + n)
    }
}

impl Law for Bernoulli {
    fn stats_len(&self) -> usize {
        1
    }

    fn parameters_len(&self) -> usize {
        2
    }

    fn accepts(&self, x: f64) -> bool {
        x == 0.0 || x == 1.0
    }

    #[inline]
    fn accumulate(&self, x: f64, sign: f64, sums: &mut [f64]) {
        sums[0] += sign * x;
    }

    fn could_be(&self, n: f64, sums: &[f64]) -> bool {
        (0.0..=n).contains(&sums[0])
    }

    fn log_base_measure(&self, _x: f64) -> f64 {
        0.0
    }

    fn log_normalizer(&self, n: f64, sums: &[f64]) -> f64 {
        log_gamma(self.a + sums[0]) + log_gamma(self.b + (n - sums[0])) - log_gamma(self.a + self.b + n)
    }

    fn log_predictive(&self, x: f64, n: f64, sums: &[f64]) -> f64 {
        let weight = if x > 0.5 { self.a + sums[0] } else { self.b + (n - sums[0]) };
        libm::log(weight / (self.a + self.b + n))
    }

    /// ln(1 − p) and ln p.
    fn sample_parameters(&self, n: f64, sums: &[f64], rng: &mut Stream, parameters: &mut Vec<f64>) {
        parameters.extend(rng.log_dirichlet(&[self.b + (n - sums[0]), self.a + sums[0]]));
    }

    fn log_likelihood(&self, x: f64, parameters: &[f64]) -> f64 {
        parameters[usize::from(x > 0.5)]
    }

    fn sample_cell(&self, parameters: &[f64], rng: &mut Stream) -> f64 {
        if rng.uniform() < libm::exp(parameters[1]) { 1.0 } else { 0.0 }
    }

    /// Square roots of both probabilities.
    fn sketch(&self, n: f64, sums: &[f64], sketch: &mut Vec<f32>) {
        let p = self.mean(n, sums);
        sketch.extend([(1.0 - p).sqrt() as f32, p.sqrt() as f32]);
    }

    fn spread(&self, n: f64, sums: &[f64]) -> Spread {
        let p = self.mean(n, sums);
        Spread::Levels(vec![1.0 - p, p])
    }

    fn problem(&self) -> Option<String> {
        not_positive("a", self.a).or_else(|| not_positive("b", self.b))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_finite_everywhere, column, sums_of};
    use super::*;
    use crate::family::laws::{self, assert_close, laws};
    use crate::family::{ColumnLaw, Columns, ColumnsKind};
    use rv::data::DataOrSuffStat;
    use rv::dist::Beta;
    use rv::traits::ConjugatePrior;

    fn family() -> Columns {
        let laws = [(0.7, 1.2), (2.0, 0.5), (1.0, 1.0), (0.1, 0.1)].map(|(a, b)| ColumnLaw::Bernoulli { a, b });
        Columns { kind: ColumnsKind::Bernoulli, columns: laws.map(|law| column(law, false)).to_vec() }
    }

    #[test]
    fn marginal_agrees_with_rv() {
        let (law, cells) = (Bernoulli { a: 0.7, b: 1.2 }, [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
        let (n, sums) = sums_of(&law, &cells);
        let data: Vec<u8> = cells.iter().map(|x| *x as u8).collect();
        let data: DataOrSuffStat<u8, rv::dist::Bernoulli> = DataOrSuffStat::Data(&data);
        let marginal = law.log_normalizer(n, &sums) - law.log_normalizer(0.0, &[0.0]);
        assert_close(marginal, Beta::new(0.7, 1.2).unwrap().ln_m(data), "log_normalizer");
    }

    #[test]
    fn a_column_of_ones_gives_finite_numbers() {
        assert_finite_everywhere(&Bernoulli { a: 1e-6, b: 1e-6 }, &[1.0; 1000]);
    }

    laws!(family());
}
