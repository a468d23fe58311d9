//! Whether chains agree, and how much their draws are worth: rank-normalised split R-hat and bulk
//! effective sample size.
//!
//! Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), "Rank-normalization, folding, and
//! localization". Each chain is cut into halves, values are replaced by the normal scores of their
//! ranks (ties: the mean rank), and variance between halves is compared with variance within them.
//! R-hat is the larger of that of the values and that of their distances from the median. Ours:
//! chains that all stand still at the same value have none; where they stand still at different
//! ones it would be infinite, and is given as [`LARGEST_R_HAT`].

use serde::{Deserialize, Serialize};

/// Larger ones are given as this.
pub const LARGEST_R_HAT: f64 = 1000.0;
/// Above it chains are said to disagree.
const DISAGREEMENT: f64 = 1.05;
/// The fewest values a chain must have: two in each half.
const FEWEST: usize = 4;

/// What is said of one quantity over all chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mixing {
    /// Rank-normalised split R-hat: 1 if chains agree. None if all values are the same, or there
    /// are too few.
    pub r_hat: Option<f64>,
    /// Bulk effective sample size: the number of independent draws that would tell as much.
    pub ess_bulk: Option<f64>,
}

impl Mixing {
    /// Of chains of the same length.
    pub fn of(chains: &[Vec<f64>]) -> Self {
        Self { r_hat: r_hat(chains), ess_bulk: ess_bulk(chains) }
    }
}

/// Rank-normalised split R-hat of chains of the same length.
pub fn r_hat(chains: &[Vec<f64>]) -> Option<f64> {
    let halves = halves(chains)?;
    let middle = median(&halves)?;
    let folded: Vec<Vec<f64>> =
        halves.iter().map(|half| half.iter().map(|value| (value - middle).abs()).collect()).collect();
    let of_values = plain_r_hat(&normal_scores(&halves))?;
    // distances can all be the same where values are not: then they say nothing
    Some(plain_r_hat(&normal_scores(&folded)).map_or(of_values, |of_distances| of_values.max(of_distances)))
}

/// Bulk effective sample size of chains of the same length.
pub fn ess_bulk(chains: &[Vec<f64>]) -> Option<f64> {
    effective_size(&normal_scores(&halves(chains)?))
}

/// Above which R-hat chains of `n_values` values each disagree: 1.05, or what chance alone explains
/// where values are few. With halves of n independent values R-hat² is 1 + (F − 1)/n, F being
/// Fisher's ratio of variances, which exceeds 7 about once in a hundred times at worst.
pub fn disagreement(n_values: usize) -> f64 {
    DISAGREEMENT.max((1.0 + 6.0 / (n_values / 2).max(1) as f64).sqrt())
}

/// Both halves of each chain; of an odd number of values the middle one is left out.
fn halves(chains: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = chains.first()?.len();
    assert!(chains.iter().all(|chain| chain.len() == n), "chains of different lengths");
    let is_finite = chains.iter().flatten().all(|value| value.is_finite());
    (n >= FEWEST && is_finite)
        .then(|| chains.iter().flat_map(|chain| [chain[..n / 2].to_vec(), chain[n - n / 2..].to_vec()]).collect())
}

fn median(chains: &[Vec<f64>]) -> Option<f64> {
    let mut values: Vec<f64> = chains.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    Some(if values.len().is_multiple_of(2) {
        0.5 * (values.get(middle.checked_sub(1)?)? + values.get(middle)?)
    } else {
        *values.get(middle)?
    })
}

/// Values replaced by the normal quantiles of their ranks among all (Blom's offsets).
fn normal_scores(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut sorted: Vec<f64> = chains.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let score = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        let mean_rank = 0.5 * (below + 1 + up_to) as f64;
        normal_quantile((mean_rank - 0.375) / (n + 0.25))
    };
    chains.iter().map(|chain| chain.iter().map(score).collect()).collect()
}

/// By bisection: slow, obvious and right to the last digits that matter.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let below = 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2);
        if below < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Mean over chains of the variance within each, and the variance of all draws as estimated from
/// within and between.
fn variances(chains: &[Vec<f64>]) -> (f64, f64) {
    let n = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let within = mean(&chains.iter().map(|chain| variance(chain)).collect::<Vec<_>>());
    let between = if chains.len() > 1 { variance(&means) } else { 0.0 };
    (within, within * (n - 1.0) / n + between)
}

fn plain_r_hat(chains: &[Vec<f64>]) -> Option<f64> {
    let (within, total) = variances(chains);
    if total <= 0.0 {
        return None;
    }
    Some((total / within).sqrt().min(LARGEST_R_HAT))
}

/// Geyer's initial monotone sequence over the autocorrelations of all chains together.
fn effective_size(chains: &[Vec<f64>]) -> Option<f64> {
    let (within, total) = variances(chains);
    if total <= 0.0 {
        return None;
    }
    let n = chains[0].len();
    let n_draws = (n * chains.len()) as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let autocorrelation = |lag: usize| {
        let products = chains.iter().zip(&means).map(|(chain, mean)| {
            let pairs = chain.iter().zip(&chain[lag..]);
            pairs.map(|(early, late)| (early - mean) * (late - mean)).sum::<f64>() / (n - 1) as f64
        });
        let covariance = products.sum::<f64>() / chains.len() as f64;
        1.0 - (within - covariance) / total
    };
    let mut sum = 0.0;
    let mut smallest = f64::INFINITY;
    for lag in (0..n - 1).step_by(2) {
        let first = if lag == 0 { 1.0 } else { autocorrelation(lag) };
        let pair = first + autocorrelation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        smallest = smallest.min(pair);
        sum += smallest;
    }
    // antithetic chains can be worth more than independent draws, but not without bound
    let time = (2.0 * sum - 1.0).max(1.0 / libm::log10(n_draws));
    Some(n_draws / time)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};

    /// Chains of an autoregression with this correlation of neighbours and unit variance, each
    /// about its own mean.
    fn chains(means: &[f64], n: usize, correlation: f64, seed: u64) -> Vec<Vec<f64>> {
        let chain = |(number, mean): (u32, &f64)| {
            let mut rng = Seed::new(seed).stream(Role::Observer, number, 0);
            let mut value = rng.normal();
            let step = |_| {
                value = correlation * value + (1.0 - correlation * correlation).sqrt() * rng.normal();
                mean + value
            };
            (0..n).map(step).collect()
        };
        (0..).zip(means).map(chain).collect()
    }

    #[test]
    fn independent_draws_agree_and_count_in_full() {
        // 20 seeds of 4 × 1000: R-hat − 1 is of the order 1/1000, the relative error of the
        // effective size some 5 %; bounds at five times that
        for seed in 0..20 {
            let mixing = Mixing::of(&chains(&[0.0; 4], 1000, 0.0, seed));
            let (r_hat, size) = (mixing.r_hat.unwrap(), mixing.ess_bulk.unwrap());
            assert!(r_hat < 1.01, "{r_hat}");
            assert!((3000.0..5200.0).contains(&size), "{size}");
        }
    }

    #[test]
    fn an_autoregression_is_worth_as_much_as_theory_says() {
        // the mean of 20 seeds: relative error below 3 %, bounds at five times that
        for correlation in [0.3, 0.6, 0.9] {
            let sizes: Vec<f64> =
                (0..20).map(|seed| ess_bulk(&chains(&[0.0; 4], 2000, correlation, seed)).unwrap()).collect();
            let expected = 8000.0 * (1.0 - correlation) / (1.0 + correlation);
            let ratio = mean(&sizes) / expected;
            assert!((0.85..1.15).contains(&ratio), "{correlation}: {ratio}");
        }
    }

    #[test]
    fn antithetic_draws_count_for_more() {
        assert!(ess_bulk(&chains(&[0.0; 4], 500, -0.5, 1)).unwrap() > 4000.0);
    }

    #[test]
    fn chains_at_different_places_are_found_out() {
        let shifted = Mixing::of(&chains(&[0.0, 0.0, 0.0, 2.0], 500, 0.0, 1));
        assert!(shifted.r_hat.unwrap() > 1.3, "{shifted:?}");
        assert!(shifted.ess_bulk.unwrap() < 50.0, "{shifted:?}");
        // a single chain that drifts
        let drift: Vec<f64> =
            chains(&[0.0], 400, 0.0, 2)[0].iter().zip(0..).map(|(x, i)| x + f64::from(i) / 100.0).collect();
        assert!(r_hat(&[drift]).unwrap() > 1.3);
    }

    #[test]
    fn the_same_middle_but_another_spread_is_found_out() {
        let mut wide = chains(&[0.0; 4], 500, 0.0, 1);
        wide[0].iter_mut().for_each(|value| *value *= 4.0);
        assert!(r_hat(&wide).unwrap() > 1.1);
    }

    #[test]
    fn only_ranks_count() {
        let normal = chains(&[0.0, 0.1], 300, 0.5, 3);
        let skewed: Vec<Vec<f64>> =
            normal.iter().map(|chain| chain.iter().map(|&x| libm::exp(3.0 * x)).collect()).collect();
        assert_eq!(ess_bulk(&normal), ess_bulk(&skewed));
    }

    #[test]
    fn chains_that_stand_still_agree_or_do_not() {
        let still = |values: [f64; 2]| Mixing::of(&values.map(|value| vec![value; 20]));
        assert_eq!(still([3.0, 3.0]), Mixing { r_hat: None, ess_bulk: None });
        assert_eq!(still([3.0, 4.0]).r_hat, Some(LARGEST_R_HAT));
    }

    #[test]
    fn too_few_values_say_nothing() {
        assert_eq!(Mixing::of(&[vec![1.0, 2.0, 3.0]]), Mixing { r_hat: None, ess_bulk: None });
        assert_eq!(Mixing::of(&[]), Mixing { r_hat: None, ess_bulk: None });
        assert_eq!(r_hat(&[vec![1.0, f64::NAN, 2.0, 3.0]]), None);
    }

    #[test]
    fn chance_alone_is_no_disagreement() {
        // 1000 pairs of chains for each length: about 1 % above the bound, allowed 3 %
        for n_values in [8, 20, 100] {
            let is_above =
                |seed: &u64| r_hat(&chains(&[0.0; 3], n_values, 0.0, *seed)).unwrap() > disagreement(n_values);
            let n_above = (0..1000).filter(is_above).count();
            assert!(n_above < 30, "{n_values}: {n_above}");
        }
        assert!((disagreement(1000) - 1.05).abs() < 1e-12);
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (probability, quantile) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (0.001, -3.090_232_306_167_813)] {
            assert!((normal_quantile(probability) - quantile).abs() < 1e-9);
        }
    }
}
