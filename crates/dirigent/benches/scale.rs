//! `cargo bench --bench scale`: how the time of a sweep grows with rows and components, and what a first cycle costs.
//!
//! `cargo bench --bench scale -- DATA.npy LABELS.npy [SIGMA]` maps a file of singles or doubles, sweeps once from the given labels beside the bare
//! product of the same shape, and prints how much memory was needed beyond the data.
#![allow(clippy::print_stdout)] // what is measured is printed

mod common;

use std::path::{Path, PathBuf};
use std::time::Instant;

use common::product::Product;
use common::{Case, Shape};
use dirigent::internals::family::GaussianFixed;
use dirigent::internals::io::{DataSet, Selection, read_labels};
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::survey::Survey;
use dirigent::internals::sweep::{Sampler, UNASSIGNED, reference, sampler};
use dirigent::{Conjugate, Kernel, Model, Row};

/// Repetitions of a measurement; the fastest counts.
const REPETITIONS: u64 = 15;

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match files.as_slice() {
        [] => {
            slopes("rows", &[2_000, 4_000, 8_000], |rows| Case::new("", Shape::Gaussian(48, 1000, 1.0), rows));
            slopes("components", &[250, 1_000, 4_000, 16_000, 100_000], |components| {
                Case::new("", Shape::Gaussian(48, components, 1.0), 1_000)
            });
            slopes("components, D=2", &[50, 500, 5_000, 50_000], |components| {
                Case::new("", Shape::Gaussian(2, components, 10.0), 2_000)
            });
            first_cycles();
        }
        [data, labels, sigma @ ..] => {
            let sigma = sigma.first().map_or(8.0, |sigma| sigma.parse().expect("a standard deviation"));
            whole_file(Path::new(data), Path::new(labels), sigma);
        }
        _ => panic!("a data file needs its labels"),
    }
}

/// Prints the time of a sweep at growing sizes, and the exponent between one size and the next: 1 is linear.
fn slopes(what: &str, sizes: &[usize], case_of: impl Fn(usize) -> Case) {
    println!("a sweep by {what}");
    let mut samplers: Vec<_> = sizes.iter().map(|&size| case_of(size).sampler(Some(Kernel::best()))).collect();
    let mut seconds = vec![f64::INFINITY; sizes.len()];
    // by turns, so that a busy minute of the machine hits all sizes alike
    for cycle in 0..REPETITIONS {
        for (sampler, seconds) in samplers.iter_mut().zip(&mut seconds) {
            *seconds = seconds.min(sweep(sampler.as_mut(), cycle));
        }
    }
    println!("{:>9} {:>10.2} ms", sizes[0], seconds[0] * 1e3);
    for ix in 1..sizes.len() {
        let (time, size) = (seconds[ix] / seconds[ix - 1], sizes[ix] as f64 / sizes[ix - 1] as f64);
        let exponent = libm::log(time) / libm::log(size);
        println!("{:>9} {:>10.2} ms   exponent {exponent:.2}", sizes[ix], seconds[ix] * 1e3);
    }
}

/// All rows unassigned: components are born one after another, and the tables grow.
fn first_cycles() {
    println!("first cycles from unassigned rows: 200,000 × 48 from 1,000 components");
    let case = Case::new("", Shape::Gaussian(48, 1000, 1.0), 200_000);
    let mut sampler = sampler(&case.model, case.shard.clone(), Kernel::best());
    let Model::GaussianFixed(family) = &case.model else { unreachable!("the case is Gaussian") };
    for cycle in 1..=3 {
        let labels = sampler.labels().to_vec();
        let n_slots = labels.iter().filter(|&&label| label != UNASSIGNED).max().map_or(0, |&label| label as usize + 1);
        sampler.load(&reference::contributions(family, &case.shard, &labels, n_slots));
        let start = Instant::now();
        let info = sampler.sweep(1.0, &mut Seed::new(2).stream(Role::Sweep, 0, cycle));
        let seconds = start.elapsed().as_secs_f64();
        println!("{cycle:>9} {:>10.2} µs a row   births {}, moved {}", seconds * 1e6 / 2e5, info.births, info.moved);
    }
}

/// One sweep over a mapped file, from given labels, σ = σ₀.
fn whole_file(data: &Path, labels: &Path, sigma: f64) {
    let data_set = DataSet::open(&[PathBuf::from(data)], &Selection::default()).expect("a file of numbers");
    let data_megabytes = data_set.files()[0].bytes as f64 / 1e6;
    let shard = data_set.all_rows();
    let offset = Survey::of(&shard).means();
    let family = GaussianFixed { noise_sd: sigma, mean_sd: sigma, prior_mean: offset.clone(), offset };
    let truth = read_labels(labels).expect("labels");
    let (n_rows, n_columns, n_components) = (shard.n_rows(), family.stats_len(), truth.names.len());
    let components = reference::contributions(&family, &shard, &truth.labels, n_components);
    let mut sampler = sampler(&Model::GaussianFixed(family), shard.clone(), Kernel::best());
    sampler.load(&components);
    sampler.set_labels(truth.labels);
    println!("{n_rows} × {n_columns}, K = {n_components}, kernel {}, one core", Kernel::best());
    let start = Instant::now();
    let info = sampler.sweep(1.0, &mut Seed::new(2).stream(Role::Sweep, 0, 0));
    let swept = start.elapsed().as_secs_f64();
    println!("sweep      {swept:>8.3} s, {:.3} µs a row, moved {}", swept * 1e6 / n_rows as f64, info.moved);
    let beyond = peak_megabytes() - data_megabytes;
    println!("memory     {:>8.1} MB at its peak, {beyond:.1} MB beyond the data", peak_megabytes());
    let mut product = Product::new(n_columns, n_components);
    let mut multiplied = 0.0;
    for first_row in (0..n_rows).step_by(10_000) {
        let mut rows = Vec::new();
        for row_ix in first_row..(first_row + 10_000).min(n_rows) {
            match shard.row(row_ix) {
                Row::F32(numbers) => rows.extend_from_slice(numbers),
                Row::F64(numbers) => rows.extend(numbers.iter().map(|&x| x as f32)),
                Row::Counts(_) => panic!("the product is of dense rows"),
            }
        }
        let start = Instant::now();
        product.run(&rows);
        multiplied += start.elapsed().as_secs_f64();
    }
    println!("product    {multiplied:>8.3} s; the sweep takes {:.2} times as long", swept / multiplied);
    assert!(beyond <= 64.0, "at most 64 MB beyond the data");
}

/// The most memory this process ever held (Linux).
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
    kilobytes * 1024.0 / 1e6
}

fn sweep(sampler: &mut dyn Sampler, cycle: u64) -> f64 {
    let start = Instant::now();
    sampler.sweep(1.0, &mut Seed::new(2).stream(Role::Sweep, 0, cycle));
    start.elapsed().as_secs_f64()
}
