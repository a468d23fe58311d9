//! The judge of every claim "exact": all partitions of a tiny data set, enumerated.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

pub mod tiny;

use std::collections::HashMap;

use dirigent::internals::family::table_of_rows;
use dirigent::internals::method::cgs::log_joint_of_labels;
use dirigent::internals::rows::Shard;
use dirigent::internals::special::{log_gamma, log_sum_exp};
use dirigent::{CycleInfo, Model, ModelOptions, Observer, OwnedRow, Result};

/// Keeps every draw.
#[derive(Default)]
pub struct Kept(pub Vec<Vec<u32>>);

impl Observer for Kept {
    fn on_cycle(&mut self, _info: &CycleInfo) -> Result<()> {
        Ok(())
    }
    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.0.push(state.to_vec());
        Ok(())
    }
}

/// What nodes are told, so that they resolve a tiny model themselves.
pub fn model_options(model: &Model) -> ModelOptions {
    match model {
        Model::GaussianFixed(family) => ModelOptions {
            sigma: Some(family.noise_sd),
            sigma0: Some(family.mean_sd),
            m0: Some(vec![0.0]),
            ..ModelOptions::default()
        },
        Model::Multinomial(family) => {
            ModelOptions { gamma: Some(dirigent::Gamma::Fixed(family.smoothing)), ..ModelOptions::default() }
        }
        _ => unreachable!("nodes are tested with these two"),
    }
}

/// The exact posterior over all partitions of a shard's rows.
pub struct Enumeration {
    n_rows: usize,
    /// Labels numbered by first appearance, and their probability.
    partitions: Vec<(Vec<u32>, f64)>,
}

/// How far draws are from the exact posterior.
#[derive(Debug)]
pub struct Distance {
    /// Total variation between the laws of K.
    pub of_k: f64,
    /// The largest error of a co-clustering probability.
    pub of_pairs: f64,
}

impl Enumeration {
    pub fn new(model: &Model, shard: &Shard, alpha: f64) -> Self {
        let partitions = partitions_of(shard.n_rows());
        let logs: Vec<f64> = partitions.iter().map(|labels| log_joint_of_labels(shard, model, alpha, labels)).collect();
        let total = log_sum_exp(&logs);
        let probabilities = logs.iter().map(|log| libm::exp(log - total));
        Self { n_rows: shard.n_rows(), partitions: partitions.into_iter().zip(probabilities).collect() }
    }

    /// The same with α unknown, under its Gamma(1, 1) hyper-prior: α^K Γ(α)/Γ(α+n) integrated over α.
    pub fn integrated(model: &Model, shard: &Shard) -> Self {
        let n = shard.n_rows();
        let grid: Vec<f64> = (1..40_000).map(|step| f64::from(step) * 1e-3).collect();
        let log_integral = |k: usize| {
            let log_density = |a: f64| k as f64 * libm::log(a) + log_gamma(a) - log_gamma(a + n as f64) - a;
            log_sum_exp(&grid.iter().map(|&alpha| log_density(alpha)).collect::<Vec<_>>())
        };
        let log_prior: Vec<f64> = (0..=n).map(|k| if k == 0 { 0.0 } else { log_integral(k) }).collect();
        let partitions = partitions_of(n);
        // at α = 1 the prior of a partition depends on n alone, so what differs is the rest
        let log_joint = |labels: &Vec<u32>| {
            let k = labels.iter().max().map_or(0, |&largest| largest as usize + 1);
            log_joint_of_labels(shard, model, 1.0, labels) + log_prior[k]
        };
        let logs: Vec<f64> = partitions.iter().map(log_joint).collect();
        let total = log_sum_exp(&logs);
        let probabilities = logs.iter().map(|log| libm::exp(log - total));
        Self { n_rows: n, partitions: partitions.into_iter().zip(probabilities).collect() }
    }

    /// The largest error of a probability, in standard errors: of every K and of every pair of rows being together. The standard errors
    /// are those of the draws as they are, with the autocorrelation time of each.
    pub fn largest_z(&self, draws: &[Vec<u32>]) -> f64 {
        let (exact_k, exact_pairs) = self.weigh(self.partitions.iter().map(|(labels, p)| (labels.as_slice(), *p)));
        let n = self.n_rows;
        let of_k = |k: usize| {
            let series = draws.iter().map(|labels| labels.iter().max().map_or(0, |&largest| largest as usize + 1) == k);
            (series.collect::<Vec<bool>>(), exact_k[k])
        };
        let of_pair = |(a, b): (usize, usize)| {
            (draws.iter().map(|labels| labels[a] == labels[b]).collect::<Vec<bool>>(), exact_pairs[a * n + b])
        };
        let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
        let statistics = (1..=n).map(of_k).chain(pairs.map(of_pair));
        statistics.map(|(series, exact)| z_score(&series, exact)).fold(0.0, f64::max)
    }

    /// The mean of K under the exact posterior.
    pub fn mean_k(&self) -> f64 {
        self.law_of_k().iter().enumerate().map(|(k, p)| k as f64 * p).sum()
    }

    fn law_of_k(&self) -> Vec<f64> {
        self.weigh(self.partitions.iter().map(|(labels, p)| (labels.as_slice(), *p))).0
    }

    /// The law of K and the co-clustering probabilities of weighted partitions.
    fn weigh<'a>(&self, partitions: impl Iterator<Item = (&'a [u32], f64)>) -> (Vec<f64>, Vec<f64>) {
        let n = self.n_rows;
        let (mut of_k, mut of_pairs) = (vec![0.0; n + 1], vec![0.0; n * n]);
        for (labels, p) in partitions {
            let k = labels.iter().max().map_or(0, |&largest| largest as usize + 1);
            of_k[k] += p;
            for a in 0..n {
                for b in 0..a {
                    of_pairs[a * n + b] += if labels[a] == labels[b] { p } else { 0.0 };
                }
            }
        }
        (of_k, of_pairs)
    }

    /// Compares draws (labels numbered from 0 without gaps) with the exact posterior.
    pub fn distance(&self, draws: &[Vec<u32>]) -> Distance {
        let weight = 1.0 / draws.len() as f64;
        let (of_k, of_pairs) = self.weigh(draws.iter().map(|labels| (labels.as_slice(), weight)));
        let (exact_k, exact_pairs) = self.weigh(self.partitions.iter().map(|(labels, p)| (labels.as_slice(), *p)));
        Distance {
            of_k: 0.5 * of_k.iter().zip(&exact_k).map(|(a, b)| (a - b).abs()).sum::<f64>(),
            of_pairs: of_pairs.iter().zip(&exact_pairs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
        }
    }

    /// The exact law is spread out: a test on a posterior with all its mass on one partition could not fail.
    pub fn assert_interesting(&self) {
        let largest = self.partitions.iter().map(|(_, p)| *p).fold(0.0, f64::max);
        let of_k = self.law_of_k().into_iter().fold(0.0, f64::max);
        assert!(largest < 0.5 && of_k < 0.7, "too easy: mode {largest}, K {of_k}");
    }
}

/// How many standard errors a series' mean is from a probability. What is too rare to judge by is passed over.
fn z_score(series: &[bool], exact: f64) -> f64 {
    let n = series.len() as f64;
    let variance = exact * (1.0 - exact);
    if variance * n < 100.0 {
        return 0.0;
    }
    let mean = series.iter().filter(|is_so| **is_so).count() as f64 / n;
    let centred: Vec<f64> = series.iter().map(|&is_so| f64::from(u8::from(is_so)) - mean).collect();
    // the autocorrelation time: pairs of neighbouring autocorrelations are added up as long as they are positive (Geyer 1992)
    let correlation = |lag: usize| {
        let products = centred.iter().zip(&centred[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / (n * variance)
    };
    let mut time = -1.0;
    for lag in (0..500).step_by(2) {
        let pair = correlation(lag) + correlation(lag + 1);
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    (mean - exact).abs() / (time.max(0.1) * variance / n).sqrt()
}

/// All partitions of n rows: labels in which each new number is the smallest unused one.
pub fn partitions_of(n: usize) -> Vec<Vec<u32>> {
    let mut partitions = vec![vec![]];
    for _ in 0..n {
        partitions = partitions
            .into_iter()
            .flat_map(|labels: Vec<u32>| {
                let next = labels.iter().max().map_or(0, |largest| largest + 1);
                (0..=next).map(move |label| [labels.as_slice(), &[label]].concat())
            })
            .collect();
    }
    partitions
}

/// A shard of rows given one by one.
pub fn shard_of(n_columns: usize, rows: &[OwnedRow]) -> Shard {
    Shard::of_table(table_of_rows(n_columns, rows))
}

/// The law of K under a Chinese restaurant process: |s(n,k)| α^k Γ(α)/Γ(α+n).
pub fn crp_law_of_k(n: usize, alpha: f64) -> Vec<f64> {
    let mut law = HashMap::from([(0usize, 1.0)]);
    for seated in 0..n {
        let new_table = alpha / (alpha + seated as f64);
        let mut next = HashMap::new();
        for (k, p) in law {
            *next.entry(k + 1).or_insert(0.0) += p * new_table;
            *next.entry(k).or_insert(0.0) += p * (1.0 - new_table);
        }
        law = next;
    }
    (0..=n).map(|k| law.get(&k).copied().unwrap_or(0.0)).collect()
}
