//! Collapsed Gibbs against the enumeration of all partitions, and Geweke's joint-distribution test.

mod common;

use std::collections::HashMap;

use common::tiny::{KINDS, tiny_columns, tiny_directions, tiny_full, tiny_full_wide, tiny_gaussian, tiny_multinomial};
use common::{Distance, Enumeration, crp_law_of_k, shard_of};
use dirigent::internals::method::cgs::Chain;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::Shard;
use dirigent::internals::sweep::sampler;
use dirigent::{Alpha, Family, Kernel, Model};

const DRAWS: usize = 20_000;

/// The standard error of a probability at 20,000 independent draws is at most 0.0036. Neighbouring sweeps of these tiny sets are
/// correlated, with an autocorrelation time below 3, so the bound is above 3 standard errors (measured here: 0.002 to 0.007). The
/// streams are seeded: the test cannot fail by chance from one run to the next. Broken kernels, tried once by hand, fail it by
/// far, (total variation of K, largest error of a pair), Gaussian and multinomial at α = 0.7:
/// weight n_k + 1 for n_k: (0.059, 0.049) and (0.125, 0.071); α forgotten: (0.125, 0.055) and (0.140, 0.064).
const BOUND: f64 = 0.02;

fn assert_exact(model: &Model, shard: &Shard, alpha: f64) {
    let distance = distance_of_chain(model, shard, alpha, alpha);
    assert!(distance.of_k < BOUND && distance.of_pairs < BOUND, "{distance:?}");
}

/// A chain that believes in `chain_alpha` against the exact posterior under `alpha`.
fn distance_of_chain(model: &Model, shard: &Shard, alpha: f64, chain_alpha: f64) -> Distance {
    let exact = Enumeration::new(model, shard, alpha);
    exact.assert_interesting();
    let mut chain = Chain::new(model, sampler(model, shard.clone(), Kernel::best()), Alpha::Fixed(chain_alpha), 5);
    for _ in 0..100 {
        chain.step();
    }
    let draws: Vec<Vec<u32>> = (0..DRAWS)
        .map(|_| {
            chain.step();
            chain.labels().to_vec()
        })
        .collect();
    exact.distance(&draws)
}

#[test]
fn a_kernel_that_forgets_alpha_is_found_out() {
    for (model, shard) in [tiny_gaussian(), tiny_multinomial()] {
        let distance = distance_of_chain(&model, &shard, 0.7, 1.0);
        assert!(distance.of_k > 2.0 * BOUND && distance.of_pairs > BOUND, "{distance:?}");
    }
}

#[test]
fn gaussian_cgs_draws_from_the_posterior_over_all_partitions() {
    let (model, shard) = tiny_gaussian();
    assert_exact(&model, &shard, 0.7);
    assert_exact(&model, &shard, 2.5);
}

#[test]
fn multinomial_cgs_draws_from_the_posterior_over_all_partitions() {
    let (model, shard) = tiny_multinomial();
    assert_exact(&model, &shard, 0.7);
    assert_exact(&model, &shard, 2.5);
}

#[test]
fn full_gaussian_cgs_draws_from_the_posterior_over_all_partitions() {
    for (model, shard) in [tiny_full(), tiny_full_wide()] {
        assert_exact(&model, &shard, 0.7);
        assert_exact(&model, &shard, 2.5);
    }
}

/// Three columns are scored in double precision, forty in single.
#[test]
fn cgs_of_directions_draws_from_the_posterior_over_all_partitions() {
    for (model, shard) in [tiny_directions(3, 4.0, 1.0), tiny_directions(40, 30.0, 10.0)] {
        assert_exact(&model, &shard, 0.7);
        assert_exact(&model, &shard, 2.5);
    }
}

#[test]
fn cgs_of_columns_with_missing_cells_draws_from_the_posterior_over_all_partitions() {
    for kind in KINDS {
        let (model, shard) = tiny_columns(kind);
        assert_exact(&model, &shard, 0.7);
    }
}

/// The same partition, numbered by first appearance.
fn without_gaps(labels: &[u32]) -> Vec<u32> {
    let mut numbers = HashMap::new();
    labels
        .iter()
        .map(|label| {
            let next = numbers.len() as u32;
            *numbers.entry(*label).or_insert(next)
        })
        .collect()
}

/// Alternate sweeps of the labels given the rows with fresh rows given the labels: the labels then follow the prior, so the law of
/// K must be the Chinese restaurant process's, and so must the law of the first two rows being together, 1/(1+α).
fn assert_geweke<F: Family>(model: &Model, family: &F, shard: Shard, alpha: f64) {
    let (n_rows, n_columns) = (shard.n_rows(), shard.n_columns());
    let n_rounds = 40_000;
    let mut shard = shard;
    let mut labels: Vec<u32> = vec![0; n_rows];
    let mut law_of_k = vec![0.0; n_rows + 1];
    let mut together = 0.0;
    for round in 0..n_rounds {
        let mut sampler = sampler(model, shard.clone(), Kernel::best());
        let mut rng = Seed::new(3).stream(Role::Sweep, 0, round);
        sampler.load(&vec![model.conjugate().empty_stats(); n_rows]);
        sampler.set_labels(labels);
        let components = sampler.contributions();
        sampler.load(&components[..n_rows]);
        sampler.sweep(alpha, &mut rng);
        labels = without_gaps(sampler.labels());
        let mut params: Vec<Option<Vec<f64>>> = (0..n_rows).map(|_| None).collect();
        let rows: Vec<_> = (0..n_rows)
            .map(|row_ix| {
                let params = params[labels[row_ix] as usize]
                    .get_or_insert_with(|| family.sample_parameters(&family.empty_stats(), &mut rng));
                family.sample_row(params, shard.row(row_ix), &mut rng)
            })
            .collect();
        shard = shard_of(n_columns, &rows);
        let k = labels.iter().max().map_or(0, |&largest| largest as usize + 1);
        law_of_k[k] += 1.0 / n_rounds as f64;
        together += f64::from(u8::from(labels[0] == labels[1])) / n_rounds as f64;
    }
    let exact = crp_law_of_k(n_rows, alpha);
    let distance = 0.5 * law_of_k.iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum::<f64>();
    // 40,000 rounds with an autocorrelation time of some 20 rounds: a standard error of at most 0.011 for one probability
    assert!(distance < 0.025, "the law of K is off by {distance}");
    assert!((together - 1.0 / (1.0 + alpha)).abs() < 0.03, "together {together}");
}

#[test]
fn gaussian_labels_follow_the_prior_when_rows_are_redrawn() {
    let (model, shard) = tiny_gaussian();
    let Model::GaussianFixed(family) = &model else { unreachable!() };
    assert_geweke(&model, family, shard, 1.5);
}

#[test]
fn multinomial_labels_follow_the_prior_when_documents_are_redrawn() {
    let (model, shard) = tiny_multinomial();
    let Model::Multinomial(family) = &model else { unreachable!() };
    assert_geweke(&model, family, shard, 1.5);
}

#[test]
fn full_gaussian_labels_follow_the_prior_when_rows_are_redrawn() {
    for (model, shard) in [tiny_full(), tiny_full_wide()] {
        let Model::GaussianFull(family) = &model else { unreachable!() };
        assert_geweke(&model, family, shard, 1.5);
    }
}

#[test]
fn labels_follow_the_prior_when_directions_are_redrawn() {
    for (model, shard) in [tiny_directions(3, 4.0, 1.0), tiny_directions(40, 10.0, 5.0)] {
        let Model::VonMisesFisher(family) = &model else { unreachable!() };
        assert_geweke(&model, family, shard, 1.5);
    }
}

/// Which cells are missing stays as it is.
#[test]
fn labels_of_columns_follow_the_prior_when_rows_are_redrawn() {
    for kind in KINDS {
        let (model, shard) = tiny_columns(kind);
        let Model::Columns(family) = &model else { unreachable!() };
        assert_geweke(&model, family, shard, 1.5);
    }
}
