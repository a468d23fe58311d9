//! α is learned: rows of a partition that was drawn by a Chinese restaurant process, in clusters so far apart that K is known exactly. The
//! draws of α must then follow p(α | K, n), which is known in closed form.
#![allow(clippy::print_stdout)] // figures for whoever asks with `nocapture`

use dirigent::internals::method::cgs::{CgsOptions, run};
use dirigent::internals::posterior::diagnostics::ess_bulk;
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::special::log_gamma;
use dirigent::internals::survey::Survey;
use dirigent::{Model, ModelOptions, Observer, Result, Stream};

const N_ROWS: usize = 3000;
const BURN_IN: usize = 200;
const CYCLES: u64 = 2200;

/// Labels of a Chinese restaurant process.
fn seat(alpha: f64, rng: &mut Stream) -> Vec<usize> {
    let mut labels: Vec<usize> = Vec::new();
    for seated in 0..N_ROWS {
        let is_new = rng.uniform() * (alpha + seated as f64) < alpha;
        let next = labels.iter().max().map_or(0, |largest| largest + 1);
        // a uniform guest before names a table by its size
        labels.push(if is_new { next } else { labels[rng.below(seated)] });
    }
    labels
}

/// Rows about the points of a grid, a hundred standard deviations of the model apart.
fn rows(labels: &[usize], rng: &mut Stream) -> Shard {
    let centre = |label: usize| [100.0 * (label % 20) as f64, 100.0 * (label / 20) as f64];
    let cells = labels.iter().flat_map(|&label| centre(label)).map(|centre| centre + 0.2 * rng.normal()).collect();
    Shard::of_table(Table::from_f64(2, cells))
}

/// p(α | K, n) ∝ e^−α α^K Γ(α)/Γ(α+n), on a fine grid of log α.
struct Posterior {
    alphas: Vec<f64>,
    weights: Vec<f64>,
}

impl Posterior {
    fn new(k: usize) -> Self {
        let alphas: Vec<f64> = (0..60_000).map(|step| libm::exp(-5.0 + 1.8e-4 * f64::from(step))).collect();
        let log_weight = |alpha: &f64| {
            // one α more: the grid is even in log α
            -alpha + (k + 1) as f64 * libm::log(*alpha) + log_gamma(*alpha) - log_gamma(alpha + N_ROWS as f64)
        };
        let logs: Vec<f64> = alphas.iter().map(log_weight).collect();
        let peak = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - peak)).collect();
        let total: f64 = weights.iter().sum();
        Self { alphas, weights: weights.into_iter().map(|weight| weight / total).collect() }
    }

    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.alphas.iter().zip(&self.weights).map(|(alpha, weight)| of(*alpha) * weight).sum()
    }

    fn quantile(&self, probability: f64) -> f64 {
        let mut below = 0.0;
        let is_past = |(_, weight): &(&f64, &f64)| {
            below += **weight;
            below >= probability
        };
        *self.alphas.iter().zip(&self.weights).find(is_past).expect("the weights sum to 1").0
    }
}

#[derive(Default)]
struct Log(Vec<(usize, f64)>);

impl Observer for Log {
    fn on_cycle(&mut self, info: &dirigent::internals::trace::CycleInfo) -> Result<()> {
        self.0.push((info.k, info.alpha));
        Ok(())
    }
}

/// Means and quantiles within 4 standard errors, from the effective size of the draws: 12 comparisons, false alarm below 1e-3, once and for
/// all because everything is seeded.
#[test]
fn draws_of_alpha_follow_its_posterior_given_k() {
    for (seed, true_alpha) in [(1, 0.5), (2, 5.0), (3, 50.0)] {
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        let labels = seat(true_alpha, &mut rng);
        let k = labels.iter().max().expect("there are rows") + 1;
        let shard = rows(&labels, &mut rng);
        // so wide a prior that no row leaves its cluster to be alone, not once in all cycles
        let options = ModelOptions { sigma: Some(1.0), sigma0: Some(1e5), ..ModelOptions::default() };
        let model = Model::resolve(&options, &Survey::of(&shard)).unwrap();
        let options = CgsOptions { cycles: Cycles::Fixed(CYCLES), seed, ..CgsOptions::default() };
        let mut log = Log::default();
        run(&shard, &model, &options, None, &mut log).unwrap();
        let kept = &log.0[BURN_IN..];
        assert!(kept.iter().all(|(its_k, _)| *its_k == k), "K is {k}");

        let draws: Vec<f64> = kept.iter().map(|(_, alpha)| *alpha).collect();
        let n_effective = ess_bulk(std::slice::from_ref(&draws)).unwrap();
        let posterior = Posterior::new(k);
        let mean = posterior.mean(|alpha| alpha);
        let sd = posterior.mean(|alpha| (alpha - mean) * (alpha - mean)).sqrt();
        let sample_mean = draws.iter().sum::<f64>() / draws.len() as f64;
        println!(
            "alpha {true_alpha}: K {k}, posterior {mean:.4} ± {sd:.4}, draws {sample_mean:.4}, effective {n_effective:.0}"
        );
        let error = 4.0 * sd / n_effective.sqrt();
        assert!((sample_mean - mean).abs() < error, "{true_alpha}: {sample_mean}, expected {mean} ± {error}");
        for probability in [0.1, 0.5, 0.9] {
            let quantile = posterior.quantile(probability);
            let below = draws.iter().filter(|&&alpha| alpha <= quantile).count() as f64 / draws.len() as f64;
            println!("  {below:.4} of the draws are below the {probability} quantile {quantile:.4}");
            let error = 4.0 * (probability * (1.0 - probability) / n_effective).sqrt();
            assert!((below - probability).abs() < error, "{true_alpha}: {below} below the {probability} quantile");
        }
        // a posterior of one partition need not be about the true value; the hyper-prior Gamma(1, 1) gives 50 a density of e^-50 and draws it down
        let is_possible = (posterior.quantile(1e-3)..posterior.quantile(0.999)).contains(&true_alpha);
        assert_eq!(is_possible, true_alpha < 50.0, "{true_alpha}");
    }
}
