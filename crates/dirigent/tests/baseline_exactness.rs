//! The baselines AV and SubC against the enumeration of all partitions: AV is exact on any number of workers, unless they merge their own
//! clusters; SubC is not, and by how much is stated here.
#![allow(clippy::print_stdout)] // figures for whoever asks with `nocapture`

mod common;

use common::tiny::{tiny_gaussian, tiny_multinomial};
use common::{Enumeration, Kept, model_options};
use dirigent::internals::engine::simulated::{Cost, Simulation};
use dirigent::internals::method::av::AvOptions;
use dirigent::internals::method::cgs::Draws;
use dirigent::internals::method::consolidated::Engine;
use dirigent::internals::method::rounds::RoundsOptions;
use dirigent::internals::method::{MethodSetup, run};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rows::Shard;
use dirigent::{Alpha, Model};

const DRAWS: usize = 30_000;

/// No error of the 28 (21) probabilities may be larger than this many standard errors, which know of the autocorrelation: a false alarm in 5000, were
/// the streams not seeded.
const BOUND: f64 = 4.5;

const CASES: [(u32, Alpha); 6] = [
    (1, Alpha::Fixed(0.7)),
    (1, Alpha::Auto),
    (2, Alpha::Fixed(0.7)),
    (2, Alpha::Auto),
    (4, Alpha::Fixed(2.5)),
    (4, Alpha::Auto),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Av { merges: bool },
    Subc,
}

struct Verdict {
    /// The largest error of a probability, in standard errors.
    z: f64,
    /// Total variation between the laws of K.
    of_k: f64,
    /// The mean of K less the exact one.
    excess_k: f64,
}

fn judge(method: Method, (model, rows): &(Model, Shard), n_workers: u32, alpha: Alpha) -> Verdict {
    let coordinator = CoordinatorOptions {
        n_workers,
        alpha,
        cycles: Cycles::Fixed(DRAWS as u64 + 200),
        seed: 5,
        shows_labels: true,
        ..CoordinatorOptions::default()
    };
    // no clock is asked: it would take longer than the draws
    let cost = Cost::PerRow { worker: 1e-6, coordinator: 0.0 };
    let engine = Engine::Simulated(Box::new(Simulation { cost, ..Simulation::default() }));
    let draws = Some(Draws { n_draws: DRAWS, thin: 1 });
    let rounds = RoundsOptions { coordinator, draws, engine, ..RoundsOptions::default() };
    let options = match method {
        Method::Av { merges } => MethodSetup::Av(AvOptions { rounds, merges }),
        Method::Subc => MethodSetup::Subc(rounds),
    };
    let model = Model::resolve(&model_options(model), &options.survey(rows)).unwrap();
    let exact = match alpha {
        Alpha::Fixed(alpha) => Enumeration::new(&model, rows, alpha),
        _ => Enumeration::integrated(&model, rows),
    };
    exact.assert_interesting();
    let mut kept = Kept::default();
    run(rows, &model, &options, None, &mut kept).unwrap();
    assert_eq!(kept.0.len(), DRAWS);
    let n_clusters: usize = kept.0.iter().map(|labels| *labels.iter().max().unwrap() as usize + 1).sum();
    let (z, distance) = (exact.largest_z(&kept.0), exact.distance(&kept.0));
    let excess_k = n_clusters as f64 / DRAWS as f64 - exact.mean_k();
    println!(
        "{method:?}, {n_workers} workers, {alpha:?}: z {z:.2}, {distance:?}, K {excess_k:+.3} of {:.3}",
        exact.mean_k()
    );
    Verdict { z, of_k: distance.of_k, excess_k }
}

#[test]
fn av_draws_from_the_posterior_over_all_partitions_on_any_number_of_workers() {
    for tiny in [tiny_gaussian(), tiny_multinomial()] {
        for (n_workers, alpha) in CASES {
            let z = judge(Method::Av { merges: false }, &tiny, n_workers, alpha).z;
            assert!(z < BOUND, "{n_workers} workers, {alpha:?}: {z}");
        }
    }
}

#[test]
fn av_whose_workers_merge_their_own_clusters_has_too_few() {
    for tiny in [tiny_gaussian(), tiny_multinomial()] {
        for n_workers in [1, 2, 4] {
            let verdict = judge(Method::Av { merges: true }, &tiny, n_workers, Alpha::Fixed(0.7));
            assert!(verdict.z > 3.0 * BOUND && verdict.excess_k < 0.0, "{n_workers} workers: {}", verdict.z);
        }
    }
}

#[test]
fn subc_has_too_few_components_on_any_number_of_workers() {
    for tiny in [tiny_gaussian(), tiny_multinomial()] {
        for n_workers in [1, 2, 4] {
            let verdict = judge(Method::Subc, &tiny, n_workers, Alpha::Fixed(0.7));
            let is_as_stated = (0.1..0.5).contains(&verdict.of_k) && verdict.excess_k < 0.0;
            assert!(is_as_stated, "{n_workers} workers: {}, {}", verdict.of_k, verdict.excess_k);
        }
    }
}
