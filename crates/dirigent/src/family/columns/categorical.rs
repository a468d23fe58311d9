//! Columns of levels 0, 1, …: x ~ Categorical(p), p ~ symmetric Dirichlet(γ).

use super::law::{Law, Spread};
use crate::family::described::not_positive;
use crate::rng::Stream;
use crate::special::log_gamma;

/// More levels than any column has.
const MOST_LEVELS: usize = 1 << 24;

/// The prior of a column of levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Categorical {
    pub(crate) smoothing: f64,
    pub(crate) n_levels: usize,
}

impl Categorical {
    /// Lγ: the prior count of all levels together.
    pub(crate) fn total_smoothing(&self) -> f64 {
        self.smoothing * self.n_levels as f64
    }

    /// Posterior means of the levels' probabilities.
    pub(crate) fn means<'a>(&'a self, n: f64, sums: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let share = 1.0 / (self.total_smoothing() + n);
        sums[..self.n_levels].iter().map(move |count| (self.smoothing + count) * share)
    }
}

impl Law for Categorical {
    fn stats_len(&self) -> usize {
        self.n_levels
    }

    fn parameters_len(&self) -> usize {
        self.n_levels
    }

    fn accepts(&self, x: f64) -> bool {
        x >= 0.0 && x < self.n_levels as f64 && x.fract() == 0.0
    }

    #[inline]
    fn accumulate(&self, x: f64, sign: f64, sums: &mut [f64]) {
        sums[x as usize] += sign;
    }

    fn could_be(&self, n: f64, sums: &[f64]) -> bool {
        let counts = &sums[..self.n_levels];
        counts.iter().all(|count| *count >= 0.0) && counts.iter().sum::<f64>() == n
    }

    fn log_base_measure(&self, _x: f64) -> f64 {
        0.0
    }

    /// Σ [ln Γ(γ+n_l) − ln Γ(γ)] − ln Γ(Lγ+n): levels that do not occur add nothing.
    fn log_normalizer(&self, n: f64, sums: &[f64]) -> f64 {
        let log_gamma_empty = log_gamma(self.smoothing);
        let counts = sums[..self.n_levels].iter().filter(|count| **count > 0.0);
        let of_levels: f64 = counts.map(|count| log_gamma(self.smoothing + count) - log_gamma_empty).sum();
        of_levels - log_gamma(self.total_smoothing() + n)
    }

    fn log_predictive(&self, x: f64, n: f64, sums: &[f64]) -> f64 {
        libm::log((self.smoothing + sums[x as usize]) / (self.total_smoothing() + n))
    }

    /// The logarithm of each level's probability.
    fn sample_parameters(&self, _n: f64, sums: &[f64], rng: &mut Stream, parameters: &mut Vec<f64>) {
        let shapes: Vec<f64> = sums[..self.n_levels].iter().map(|count| self.smoothing + count).collect();
        parameters.extend(rng.log_dirichlet(&shapes));
    }

    fn log_likelihood(&self, x: f64, parameters: &[f64]) -> f64 {
        parameters[x as usize]
    }

    fn sample_cell(&self, parameters: &[f64], rng: &mut Stream) -> f64 {
        rng.categorical(&parameters[..self.n_levels]) as f64
    }

    /// Square roots of the probabilities.
    fn sketch(&self, n: f64, sums: &[f64], sketch: &mut Vec<f32>) {
        sketch.extend(self.means(n, sums).map(|p| p.sqrt() as f32));
    }

    fn spread(&self, n: f64, sums: &[f64]) -> Spread {
        Spread::Levels(self.means(n, sums).collect())
    }

    fn problem(&self) -> Option<String> {
        let levels = (!(1..=MOST_LEVELS).contains(&self.n_levels)).then(|| format!("`n_levels` is {}", self.n_levels));
        not_positive("smoothing", self.smoothing).or(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_finite_everywhere, column, sums_of};
    use super::*;
    use crate::family::laws::{self, assert_close, laws};
    use crate::family::{ColumnLaw, Columns, ColumnsKind};
    use rv::data::DataOrSuffStat;
    use rv::dist::SymmetricDirichlet;
    use rv::traits::ConjugatePrior;

    fn family() -> Columns {
        let laws = [(0.3, 4), (1.0, 2), (0.05, 7), (2.0, 1)]
            .map(|(smoothing, n_levels)| ColumnLaw::Categorical { smoothing, n_levels });
        Columns { kind: ColumnsKind::Categorical, columns: laws.map(|law| column(law, false)).to_vec() }
    }

    #[test]
    fn marginal_agrees_with_rv() {
        let (law, cells) = (Categorical { smoothing: 0.3, n_levels: 5 }, [0.0, 3.0, 3.0, 1.0, 4.0, 3.0]);
        let (n, sums) = sums_of(&law, &cells);
        let data: Vec<usize> = cells.iter().map(|x| *x as usize).collect();
        let data: DataOrSuffStat<usize, rv::dist::Categorical> = DataOrSuffStat::Data(&data);
        let marginal = law.log_normalizer(n, &sums) - law.log_normalizer(0.0, &[0.0; 5]);
        assert_close(marginal, SymmetricDirichlet::new(0.3, 5).unwrap().ln_m(data), "log_normalizer");
    }

    #[test]
    fn one_level_of_many_gives_finite_numbers() {
        assert_finite_everywhere(&Categorical { smoothing: 1e-6, n_levels: 1000 }, &[999.0; 1000]);
    }

    laws!(family());
}
