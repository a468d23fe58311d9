//! Data far from the origin, in tiny or huge units, and with rows far from all others: what single precision cannot hold is not lost, because rows are centred by a
//! fixed offset and rounded in units of their spread.

use dirigent::internals::method::cgs::Chain;
use dirigent::internals::method::consolidated::{self, DistributedOptions};
use dirigent::internals::method::rounds::RoundsOptions;
use dirigent::internals::method::{slice, subc};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::survey::Survey;
use dirigent::internals::sweep::sampler;
use dirigent::{Alpha, Covariance, Kernel, Model, ModelOptions};

const N_ROWS: usize = 400;
const CYCLES: usize = 12;

/// Overlapping clusters, standard deviation about 1 in all; multiples of 2⁻³⁰, so that a million can be added without rounding.
fn rows(n_columns: usize) -> Vec<f64> {
    let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
    let mut number = |sd: f64| (rng.normal() * sd * f64::from(1 << 30)).round() / f64::from(1 << 30);
    let spread = 2.0 / (n_columns as f64).sqrt();
    let centres: Vec<f64> = (0..8 * n_columns).map(|_| number(spread)).collect();
    (0..N_ROWS * n_columns).map(|ix| centres[(ix / n_columns % 8) * n_columns + ix % n_columns] + number(0.5)).collect()
}

/// The labels after some sweeps with all priors chosen from the data.
fn labels(table: Table, kernel: Kernel) -> Vec<u32> {
    let shard = Shard::of_table(table);
    let options = ModelOptions { covariance: Some(Covariance::Isotropic), ..ModelOptions::default() };
    let model = Model::resolve(&options, &Survey::of(&shard)).expect("a model");
    let mut chain = Chain::new(&model, sampler(&model, shard, kernel), Alpha::fixed(1.0).expect("positive"), 7);
    (0..CYCLES).for_each(|_| {
        chain.step();
    });
    assert!(chain.k() > 1, "one component says nothing");
    chain.labels().to_vec()
}

fn kernels() -> impl Iterator<Item = Kernel> {
    [Kernel::Portable, Kernel::best()].into_iter()
}

#[test]
fn labels_are_those_of_the_centred_data() {
    for n_columns in [2, 48] {
        let centred = rows(n_columns);
        let far: Vec<f64> = centred.iter().map(|x| x + 1e6).collect();
        for kernel in kernels() {
            let expected = labels(Table::from_f64(n_columns, centred.clone()), kernel);
            assert_eq!(labels(Table::from_f64(n_columns, far.clone()), kernel), expected, "D = {n_columns}, {kernel}");
        }
    }
}

/// Labels of the rows of a table, σ known, by each method that has kernels of its own for it.
fn labels_by_all(n_columns: usize, cells: &[f64], unit: f64) -> [(&'static str, Vec<u32>); 4] {
    let shard = Shard::of_table(Table::from_f64(n_columns, cells.to_vec()));
    let model = ModelOptions {
        sigma: Some(0.5 * unit),
        sigma0: Some(2.0 * unit),
        m0: Some(vec![0.0]),
        ..ModelOptions::default()
    };
    let (shards, cycles) = (std::slice::from_ref(&shard), Cycles::Fixed(CYCLES as u64));
    let coordinator = CoordinatorOptions { cycles, ..CoordinatorOptions::default() };
    let together = DistributedOptions { coordinator, ..DistributedOptions::default() };
    let coordinator = CoordinatorOptions { cycles, n_workers: 1, ..Default::default() };
    let in_rounds = RoundsOptions { coordinator, ..RoundsOptions::default() };
    let resolved = Model::resolve(&model, &Survey::of(&shard)).expect("a model");
    let of_chain = sampler(&resolved, shard.clone(), Kernel::best());
    let mut chain = Chain::new(&resolved, of_chain, Alpha::fixed(1.0).expect("positive"), 7);
    (0..CYCLES).for_each(|_| {
        chain.step();
    });
    [
        ("cgs", chain.labels().to_vec()),
        ("dirigent", consolidated::run(shards, &resolved, &together, None, &mut ()).expect("a run").0.labels),
        ("slicemr", slice::run(shards, &resolved, &in_rounds, None, &mut ()).expect("a run").0.labels),
        ("subc", subc::run(shards, &resolved, &in_rounds, None, &mut ()).expect("a run").0.labels),
    ]
}

#[test]
fn labels_are_the_same_in_any_unit() {
    for n_columns in [2, 20] {
        let cells = rows(n_columns);
        let expected = labels_by_all(n_columns, &cells, 1.0);
        assert!(expected.iter().all(|(_, labels)| labels.iter().any(|label| *label != labels[0])), "{expected:?}");
        // powers of two, so that no cell is rounded
        for exponent in [-300, -80, 80, 300] {
            let unit = libm::exp2(f64::from(exponent));
            let cells: Vec<f64> = cells.iter().map(|x| unit * x).collect();
            assert_eq!(labels_by_all(n_columns, &cells, unit), expected, "D = {n_columns}, 2^{exponent}");
        }
    }
}

#[test]
fn a_row_beyond_all_singles_is_a_component_of_its_own() {
    for n_columns in [2, 20] {
        for distance in [1e12, 1e30, 1e60] {
            let mut cells = rows(n_columns);
            cells[5 * n_columns + 1] = distance;
            for (method, labels) in labels_by_all(n_columns, &cells, 1.0) {
                assert_eq!(labels.len(), N_ROWS, "{method}");
                let n_alike = labels.iter().filter(|label| **label == labels[5]).count();
                // a chain that knows its components only by drawing them from the prior finds none out there
                let finds_it = ["cgs", "dirigent"].contains(&method);
                assert!(n_alike == 1 || !finds_it, "{method}, D = {n_columns}, {distance}: {n_alike} rows");
            }
        }
    }
}

/// Singles are widened before they are centred, so what they cannot hold is lost in the file, never in the fit.
#[test]
fn labels_of_singles_are_those_of_the_same_numbers_as_doubles() {
    for n_columns in [2, 48] {
        let singles: Vec<f32> = rows(n_columns).iter().map(|x| (1000.0 + x) as f32).collect();
        let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
        for kernel in kernels() {
            let expected = labels(Table::from_f64(n_columns, doubles.clone()), kernel);
            assert_eq!(labels(Table::from_f32(n_columns, singles.clone()), kernel), expected, "D = {n_columns}");
        }
    }
}

/// Two clusters of 40 rows in the first column; in the others what covariances fear: a constant, a copy of the first, and small noise.
fn awkward(offset: f64, unit: f64) -> Table {
    let mut rng = Seed::new(5).stream(Role::Observer, 0, 0);
    let cells = (0..80).flat_map(|row_ix| {
        // multiples of 1/8, which a double holds even at 1e15
        let noise = (8.0 * rng.normal()).round() / 8.0;
        let x = if row_ix % 2 == 0 { noise } else { 16.0 + noise };
        let small = (8.0 * rng.normal()).round() / 8.0;
        [x, 3.0, x, small].map(|x| offset + unit * x)
    });
    Table::from_f64(4, cells.collect())
}

#[test]
fn learnt_variances_bear_large_offsets_tiny_units_constants_and_copies() {
    for covariance in [Covariance::Diag, Covariance::Full] {
        for (offset, unit) in [(0.0, 1.0), (1e15, 1.0), (-1e15, 1.0), (0.0, 1e-12), (0.0, 1e12), (1e3, 1e-10)] {
            let shard = Shard::of_table(awkward(offset, unit));
            let options = ModelOptions { covariance: Some(covariance), ..ModelOptions::default() };
            let model = Model::resolve(&options, &Survey::of(&shard)).expect("a model");
            let sampler = sampler(&model, shard, Kernel::best());
            let mut chain = Chain::new(&model, sampler, Alpha::fixed(1.0).expect("positive"), 7);
            for _ in 0..CYCLES {
                chain.step();
                assert!(chain.log_joint().is_finite(), "{covariance:?} {offset} {unit}");
            }
            let labels = chain.labels();
            let are_apart = labels.iter().step_by(2).all(|label| !labels.iter().skip(1).step_by(2).any(|l| l == label));
            assert!(are_apart && chain.k() < 8, "{covariance:?} {offset} {unit}: {labels:?}");
        }
    }
}

/// All rows the same, by the thousand; fewer rows than columns.
#[test]
fn learnt_variances_bear_duplicates_and_few_rows() {
    for covariance in [Covariance::Diag, Covariance::Full] {
        let few: Vec<f64> = (0..30).map(|ix| f64::from(ix * ix % 7)).collect();
        for table in [
            Table::from_f64(3, [1.5, -2.0, 1e6].repeat(3000)),
            Table::from_f64(10, few),
            Table::from_f64(2, vec![1.0, 2.0]),
        ] {
            let shard = Shard::of_table(table);
            let options = ModelOptions { covariance: Some(covariance), ..ModelOptions::default() };
            let model = Model::resolve(&options, &Survey::of(&shard)).expect("a model");
            let sampler = sampler(&model, shard, Kernel::best());
            let mut chain = Chain::new(&model, sampler, Alpha::fixed(1.0).expect("positive"), 7);
            for _ in 0..CYCLES {
                chain.step();
                assert!(chain.log_joint().is_finite(), "{covariance:?}");
            }
        }
    }
}
