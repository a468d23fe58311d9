//! Directions: von Mises–Fisher laws of one fixed concentration, f(x|μ) = C(τ) exp(τ μ·x) on rows
//! of length 1, μ ~ vMF(m₀, κ₀).
//!
//! A component is a function of t = κ₀m₀ + τΣx alone: the posterior of its direction is vMF(t/‖t‖,
//! ‖t‖), and b = −log C(‖t‖), with C(r) = r^ν / ((2π)^{D/2} I_ν(r)), ν = D/2 − 1. See
//! [`crate::special::bessel`] for the Bessel function.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::described::not_positive;
use super::{Conjugate, Family, FamilyText, NamedArray, OwnedRow};
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::special::bessel::LogBessel;
use crate::stats::{Stats, Sums};

/// Running sums of a long addition.
const LANES: usize = 8;
/// How far from 1 the length of the prior direction may be.
const LENGTH_ERROR: f64 = 1e-6;

/// Laws on the sphere of known concentration with such a law as the prior on their mean directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VonMisesFisher {
    /// τ: how closely a component's rows lie about its direction.
    pub concentration: f64,
    /// m₀, of length 1.
    pub prior_direction: Vec<f64>,
    /// κ₀: how closely the directions lie about m₀; 0 is uniform on the sphere.
    pub prior_strength: f64,
}

impl VonMisesFisher {
    /// ln(I_ν(r)/r^ν) of this many columns.
    pub(crate) fn bessel(&self) -> LogBessel {
        LogBessel::new(0.5 * self.n_columns() as f64 - 1.0)
    }

    /// log C(r), given ln(I_ν(r)/r^ν).
    fn log_height_of(&self, log_bessel: f64) -> f64 {
        -0.5 * self.n_columns() as f64 * libm::log(2.0 * PI) - log_bessel
    }

    /// log C(τ).
    pub(crate) fn log_height(&self) -> f64 {
        self.log_height_of(self.bessel().at(self.concentration))
    }

    /// κ₀m₀.
    pub(crate) fn prior_sum(&self) -> impl Iterator<Item = f64> + '_ {
        self.prior_direction.iter().map(|along| self.prior_strength * along)
    }

    /// t = κ₀m₀ + τΣx.
    fn resultant<'a>(&'a self, stats: &'a Stats) -> impl Iterator<Item = f64> + 'a {
        self.prior_sum().zip(stats.dense()).map(|(prior, sum)| prior + self.concentration * sum)
    }

    /// The posterior of a component's direction: its mean direction and its concentration, ‖t‖.
    fn posterior(&self, stats: &Stats) -> (Vec<f64>, f64) {
        let mut direction: Vec<f64> = self.resultant(stats).collect();
        let length = squared_length(&direction).sqrt();
        if length > 0.0 {
            direction.iter_mut().for_each(|along| *along /= length);
        } else {
            // rows that cancel know of no direction: any will do
            direction[0] = 1.0;
        }
        (direction, length)
    }

    /// The standard deviation of a row across its component's direction.
    fn spread(&self) -> f64 {
        (self.bessel().slope(self.concentration) / self.concentration).sqrt()
    }

    /// ‖t‖² of two sets together. In several running sums: a single one would have to wait for
    /// every addition.
    fn squared_length_of_union(&self, a: &[f64], b: &[f64]) -> f64 {
        let square = |prior: f64, a: f64, b: f64| (self.prior_strength * prior + self.concentration * (a + b)).powi(2);
        let (priors, last_priors) = self.prior_direction.as_chunks::<LANES>();
        let ((a, last_a), (b, last_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for ((prior, a), b) in priors.iter().zip(a).zip(b) {
            for lane in 0..LANES {
                sums[lane] += square(prior[lane], a[lane], b[lane]);
            }
        }
        let last = last_priors.iter().zip(last_a).zip(last_b);
        sums.iter().sum::<f64>() + last.map(|((prior, a), b)| square(*prior, *a, *b)).sum::<f64>()
    }

    fn log_normalizer_of(&self, square: f64) -> f64 {
        -self.log_height_of(self.bessel().place(square).value)
    }
}

/// The numbers of a row, whatever their precision.
fn numbers(row: Row<'_>) -> impl Iterator<Item = f64> + '_ {
    let (singles, doubles): (&[f32], &[f64]) = match row {
        Row::F32(numbers) => (numbers, &[]),
        Row::F64(numbers) => (&[], numbers),
        Row::Counts(_) => panic!("directions have dense rows"),
    };
    singles.iter().map(|&x| f64::from(x)).chain(doubles.iter().copied())
}

fn product(row: Row<'_>, direction: impl IntoIterator<Item = f64>) -> f64 {
    numbers(row).zip(direction).map(|(x, along)| x * along).sum()
}

fn squared_length(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x * x).sum()
}

/// A direction from vMF(`mean`, `concentration`), by Wood (1994); all of it in terms of 1 − x·mean,
/// which may be tiny.
fn sample_direction(mean: &[f64], concentration: f64, rng: &mut Stream) -> Vec<f64> {
    let others = mean.len() as f64 - 1.0;
    let b = others / (2.0 * concentration + (4.0 * concentration * concentration + others * others).sqrt());
    let (below_one_0, x0) = (2.0 * b / (1.0 + b), (1.0 - b) / (1.0 + b));
    let log_square_0 = libm::log(4.0 * b / ((1.0 + b) * (1.0 + b)));
    let below_one = loop {
        // a ratio of two gammas of one shape is Beta's z / (1 − z)
        let [z, rest] = [0; 2].map(|_| rng.gamma(0.5 * others));
        let below_one = 2.0 * b * z / (rest + b * z);
        let log_ratio = concentration * (below_one_0 - below_one)
            + others * (libm::log(below_one_0 + x0 * below_one) - log_square_0);
        if libm::log(rng.uniform_positive()) <= log_ratio {
            break below_one;
        }
    };
    let (along, across) = (1.0 - below_one, (below_one * (2.0 - below_one)).max(0.0).sqrt());
    let mut direction = sample_across(mean, rng);
    direction.iter_mut().zip(mean).for_each(|(x, mean)| *x = across * *x + along * mean);
    direction
}

/// A random vector of length 1 at a right angle to one of length 1.
fn sample_across(mean: &[f64], rng: &mut Stream) -> Vec<f64> {
    loop {
        let mut across: Vec<f64> = mean.iter().map(|_| rng.normal()).collect();
        let before = squared_length(&across);
        // twice: what rounding leaves of the first time matters where the rest is small
        for _ in 0..2 {
            let along: f64 = across.iter().zip(mean).map(|(x, mean)| x * mean).sum();
            across.iter_mut().zip(mean).for_each(|(x, mean)| *x -= along * mean);
        }
        let square = squared_length(&across);
        if square > 1e-12 * before {
            let length = square.sqrt();
            across.iter_mut().for_each(|x| *x /= length);
            return across;
        }
    }
}

/// How long a row may be that is meant to have length 1.
const LONGEST_ROW: f64 = 1.01;

impl Conjugate for VonMisesFisher {
    fn n_columns(&self) -> usize {
        self.prior_direction.len()
    }

    fn stats_len(&self) -> usize {
        self.prior_direction.len()
    }

    /// A mean of n rows is known to this spread over √n: fine enough for sixty million.
    fn snapshot_step(&self) -> Option<f64> {
        Some(self.spread() / 8192.0)
    }

    fn parameters_len(&self) -> usize {
        self.prior_direction.len()
    }

    /// The mean direction.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let (mean, concentration) = self.posterior(stats);
        sample_direction(&mean, concentration, rng)
    }

    /// The sum of n directions is at most n long.
    fn could_be(&self, stats: &Stats) -> bool {
        let squared_length: f64 = stats.dense().iter().map(|sum| sum * sum).sum();
        squared_length.sqrt() <= LONGEST_ROW * stats.count as f64
    }

    /// −log C(‖t‖).
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        self.log_normalizer_of(self.resultant(stats).map(|t| t * t).sum())
    }

    fn log_normalizer_empty(&self) -> f64 {
        self.log_normalizer_of(self.prior_sum().map(|t| t * t).sum())
    }

    fn log_normalizer_of_union(&self, a: &Stats, b: &Stats) -> f64 {
        self.log_normalizer_of(self.squared_length_of_union(a.dense(), b.dense()))
    }

    /// The mean direction.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        self.posterior(stats).0.into_iter().map(|along| along as f32).collect()
    }

    /// By a plane along the mean direction, or beside it.
    fn cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        let (mean, _) = self.posterior(stats);
        let direction = sample_across(&mean, rng);
        let off_centre = if rng.uniform() < 0.5 { 0.0 } else { 2.0 * rng.uniform() };
        HalfCut::Plane { direction, threshold: off_centre * self.spread() }
    }
}

impl Family for VonMisesFisher {
    /// The mean direction.
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        stats.count += sign;
        let Sums::Dense(sums) = &mut stats.sums else { panic!("directions have dense sums") };
        for (sum, x) in sums.iter_mut().zip(numbers(row)) {
            *sum += sign as f64 * x;
        }
    }

    fn log_base_measure(&self, _row: Row<'_>) -> f64 {
        self.log_height()
    }

    /// C(τ) C(‖t‖) / C(‖t + τx‖).
    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        let bessel = self.bessel();
        let from = bessel.place(self.resultant(stats).map(|t| t * t).sum());
        let (along, square) = (product(row, self.resultant(stats)), product(row, numbers(row)));
        let delta = self.concentration * (2.0 * along + self.concentration * square);
        self.log_height() + bessel.difference(&from, delta)
    }

    fn side(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        let HalfCut::Plane { direction, threshold } = cut else { return None };
        let is_right = product(row, direction.iter().copied()) > *threshold;
        Some(if is_right { Half::Right } else { Half::Left })
    }

    fn log_likelihood(&self, row: Row<'_>, mean: &[f64]) -> f64 {
        self.log_height() + self.concentration * product(row, mean.iter().copied())
    }

    fn sample_row(&self, mean: &[f64], _like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        OwnedRow::Numbers(sample_direction(mean, self.concentration, rng))
    }
}

impl FamilyText for VonMisesFisher {
    fn name(&self) -> &'static str {
        "vmf"
    }

    fn priors(&self) -> Vec<(&'static str, f64)> {
        vec![("tau", self.concentration), ("kappa0", self.prior_strength)]
    }

    fn cause_of_one(&self) -> String {
        format!("tau ({:.4}) is too small for the data; try a larger `tau`", self.concentration)
    }

    fn cause_of_many(&self) -> String {
        format!("tau ({:.4}) is too large for the data; try a smaller `tau`", self.concentration)
    }

    fn problem(&self) -> Option<String> {
        let n_columns = self.n_columns();
        let length = squared_length(&self.prior_direction).sqrt();
        let is_unit = (length - 1.0).abs() <= LENGTH_ERROR;
        let is_strength = self.prior_strength >= 0.0 && self.prior_strength.is_finite();
        not_positive("concentration", self.concentration)
            .or_else(|| (n_columns < 2).then(|| format!("`prior_direction` has {n_columns} numbers, and needs two")))
            .or_else(|| (!is_unit).then(|| format!("`prior_direction` must have the length 1, got {length}")))
            .or_else(|| {
                let strength = self.prior_strength;
                (!is_strength).then(|| format!("`prior_strength` must be a number from 0 on, got {strength}"))
            })
    }

    fn formula(&self) -> &'static str {
        "predictive_k(x) = C(concentration) * C(|t_k|) / C(|t_k + concentration * x|) for rows x of length 1, where \
         t_k = prior_strength * prior_direction + concentration * sums[k], `sums`[k] is the sum of the component's rows, and \
         C(r) = r^(D/2 - 1) / ((2 pi)^(D/2) * I(r)), I the modified Bessel function of the first kind of order D/2 - 1. \
         directions[k] = t_k / |t_k|; resultants[k] = |sums[k]| / counts[k]: 1 where all rows agree."
    }

    fn constants(&self) -> Vec<NamedArray> {
        vec![NamedArray::of_columns("prior_direction", &self.prior_direction)]
    }

    fn arrays(&self, components: &[Stats]) -> Vec<NamedArray> {
        let direction = |stats: &Stats| self.posterior(stats).0.into_iter();
        let resultant = |stats: &Stats| squared_length(stats.dense()).sqrt() / stats.count.max(1) as f64;
        vec![
            NamedArray::of_components("directions", components, self.n_columns(), direction),
            NamedArray {
                name: "resultants",
                shape: vec![components.len()],
                numbers: components.iter().map(resultant).collect(),
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{self, laws};
    use super::*;
    use crate::family::log_marginal;
    use crate::rng::{Role, Seed};

    fn family_of(n_columns: usize, concentration: f64, prior_strength: f64) -> VonMisesFisher {
        let length = squared_length(&(0..n_columns).map(|ix| 1.0 + ix as f64).collect::<Vec<_>>()).sqrt();
        let prior_direction = (0..n_columns).map(|ix| (1.0 + ix as f64) / length).collect();
        VonMisesFisher { concentration, prior_direction, prior_strength }
    }

    /// On a circle every integral is a sum over equal angles, which converges faster than any
    /// power.
    fn oracle(family: &VonMisesFisher, rows: &[OwnedRow]) -> f64 {
        const N_ANGLES: usize = 4000;
        let mean_over_angles = |log_density: &dyn Fn(f64, f64) -> f64| {
            let at = |ix: usize| {
                let angle = 2.0 * PI * ix as f64 / N_ANGLES as f64;
                log_density(libm::cos(angle), libm::sin(angle))
            };
            let logs: Vec<f64> = (0..N_ANGLES).map(at).collect();
            crate::special::log_sum_exp(&logs) + libm::log(2.0 * PI / N_ANGLES as f64)
        };
        let log_height = |concentration: f64| -mean_over_angles(&|x, _| concentration * x);
        let along = |x: &[f64], cos: f64, sin: f64| x[0] * cos + x[1] * sin;
        let log_joint = |cos: f64, sin: f64| {
            let of_rows = rows.iter().map(|row| match row {
                OwnedRow::Numbers(numbers) => family.concentration * along(numbers, cos, sin),
                OwnedRow::Counts(_) => unreachable!(),
            });
            family.prior_strength * along(&family.prior_direction, cos, sin) + of_rows.sum::<f64>()
        };
        mean_over_angles(&log_joint)
            + log_height(family.prior_strength)
            + rows.len() as f64 * log_height(family.concentration)
    }

    #[test]
    fn marginal_agrees_with_an_integral_over_the_circle() {
        for (concentration, prior_strength) in [(0.3, 0.0), (2.0, 1.5), (40.0, 0.2), (300.0, 20.0)] {
            let family = family_of(2, concentration, prior_strength);
            let rows = laws::draw_rows(&family, 9, 3);
            let (stats, sum_log_base) = laws::summarise(&family, &rows);
            laws::assert_close(log_marginal(&family, &stats, sum_log_base), oracle(&family, &rows), "log_normalizer");
        }
    }

    /// In three columns C(r) = r / 4π sinh r.
    #[test]
    fn height_agrees_with_its_closed_form_in_three_columns() {
        for concentration in [1e-3, 0.7, 12.0, 90.0] {
            let exact = libm::log(concentration / (4.0 * PI * libm::sinh(concentration)));
            laws::assert_close(family_of(3, concentration, 1.0).log_height(), exact, "log_height");
        }
    }

    /// The mean of x·μ and of (x·μ)² over 20,000 draws, to 5 standard errors: false alarms below
    /// 1e-6 each.
    #[test]
    fn sampled_directions_have_their_moments() {
        let mut rng = Seed::new(4).stream(Role::Observer, 0, 0);
        for n_columns in [2, 3, 17, 400] {
            let mean = family_of(n_columns, 1.0, 1.0).prior_direction;
            for concentration in [0.0, 0.3, 8.0, 700.0, 1e8] {
                let n_draws = 20_000 / (1 + n_columns / 40);
                let draws: Vec<f64> = (0..n_draws)
                    .map(|_| {
                        let x = sample_direction(&mean, concentration, &mut rng);
                        assert!((squared_length(&x) - 1.0).abs() < 1e-12);
                        // 1 − x·μ, not lost where it is tiny
                        0.5 * x.iter().zip(&mean).map(|(x, mean)| (x - mean).powi(2)).sum::<f64>()
                    })
                    .collect();
                let slope = LogBessel::new(0.5 * n_columns as f64 - 1.0).slope(concentration);
                // far out 1 − slope is lost in rounding, and there is (D−1)/2κ
                let others = n_columns as f64 - 1.0;
                let expected = if concentration > 1e7 { 0.5 * others / concentration } else { 1.0 - slope };
                let n = draws.len() as f64;
                let average = draws.iter().sum::<f64>() / n;
                let variance = draws.iter().map(|x| (x - average).powi(2)).sum::<f64>() / n;
                let bound = 5.0 * (variance / n).sqrt();
                assert!((average - expected).abs() < bound, "{n_columns}, {concentration}: {average}, {expected}");
                // E(x·μ)² = 1 − (D−1) slope/κ
                let square = draws.iter().map(|x| (1.0 - x).powi(2)).sum::<f64>() / n;
                let of_squares = draws.iter().map(|x| ((1.0 - x).powi(2) - square).powi(2)).sum::<f64>() / n;
                let expected =
                    if concentration > 0.0 { 1.0 - others * slope / concentration } else { 1.0 / (1.0 + others) };
                let bound = 5.0 * (of_squares / n).sqrt() + 1e-9;
                assert!((square - expected).abs() < bound, "{n_columns}, {concentration}: {square}, {expected}");
            }
        }
    }

    #[test]
    fn nothing_is_infinite_where_rows_cancel_or_are_many() {
        for n_columns in [2, 3, 64, 4096] {
            for (concentration, strength) in [(1e-3, 0.0), (30.0, 0.0), (1e4, 1e3)] {
                let family = family_of(n_columns, concentration, strength);
                let mut row = vec![0.0; n_columns];
                row[0] = 1.0;
                let opposite: Vec<f64> = row.iter().map(|x| -x).collect();
                let mut stats = family.empty_stats();
                family.add_row(Row::F64(&row), &mut stats);
                family.add_row(Row::F64(&opposite), &mut stats);
                let many = Stats { count: 10_000_000, sums: Sums::Dense(row.iter().map(|x| 1e7 * x).collect()) };
                let mut rng = Seed::new(4).stream(Role::Observer, 0, 0);
                for stats in [family.empty_stats(), stats, many] {
                    assert!(family.log_normalizer(&stats).is_finite());
                    for row in [&row, &opposite] {
                        assert!(family.log_predictive(Row::F64(row), &stats).is_finite());
                    }
                    let sampled = family.sample_parameters(&stats, &mut rng);
                    assert!((squared_length(&sampled) - 1.0).abs() < 1e-12);
                    let HalfCut::Plane { direction, threshold } = family.cut(&stats, &mut rng) else {
                        panic!("a plane")
                    };
                    assert!(direction.iter().all(|x| x.is_finite()) && threshold.is_finite());
                    assert!(family.sketch(&stats).iter().all(|x| x.is_finite()));
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_with_parameters_is_said() {
        let right = family_of(3, 5.0, 0.0);
        assert_eq!(right.problem(), None);
        let wrong = |change: fn(&mut VonMisesFisher)| {
            let mut family = right.clone();
            change(&mut family);
            family.problem().expect("a problem")
        };
        assert!(wrong(|family| family.concentration = 0.0).contains("`concentration`"));
        assert!(wrong(|family| family.prior_strength = -1.0).contains("`prior_strength`"));
        assert!(wrong(|family| family.prior_direction[0] = 2.0).contains("length 1"));
        assert!(wrong(|family| family.prior_direction = vec![1.0]).contains("needs two"));
    }

    laws!(family_of(3, 6.0, 1.5));

    mod on_a_circle_without_a_prior_direction {
        use super::*;
        laws!(family_of(2, 2.0, 0.0));
    }

    mod in_many_columns {
        use super::*;
        laws!(family_of(90, 40.0, 10.0));
    }
}
