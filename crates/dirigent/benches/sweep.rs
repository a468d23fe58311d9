//! `make bench`: the sweep, its slow twin and the bare limit beside one another, in one run and one table.
//!
//! The limit of a sweep over dense rows is the matrix product of the same shape (with full covariances: of as many multiplications), in batches that
//! stay in the cache. Columns with laws of their own are beside it too, though no sweep of theirs can reach it, having more to do for each cell. The limit
//! of a multinomial sweep is reading the table entries it needs.
#![allow(clippy::print_stdout)] // the table is what this program is for

mod common;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use common::product::Product;
use common::{Case, SHAPES, Shape};
use criterion::{Criterion, Throughput};
use dirigent::internals::rng::{Role, Seed};
use dirigent::{Kernel, Row};

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut table = Vec::new();
    for (name, shape) in SHAPES {
        let case = Case::new(name, shape, rows_of(shape));
        let slow_case = Case::new(name, shape, rows_of(shape) / 20);
        let fast = sweep(&mut criterion, "sweep", &case, Some(Kernel::best()));
        let limit = match shape {
            Shape::Gaussian(..) | Shape::Directions(..) | Shape::Columns(..) => {
                product(&mut criterion, &case, case.n_components)
            }
            // as many multiplications as triangles have
            Shape::Full(columns, components, _) => product(&mut criterion, &case, components * (columns + 1) / 2),
            Shape::Multinomial(..) => reading(&mut criterion, &case),
        };
        let slow = sweep(&mut criterion, "twin", &slow_case, None);
        table.push((name, [fast, slow, limit]));
    }
    print_table(&table);
    criterion.final_summary();
}

fn rows_of(shape: Shape) -> usize {
    match shape {
        Shape::Full(columns, components, _) => (400_000_000 / (columns * columns * components)).clamp(1_000, 100_000),
        Shape::Gaussian(columns, components, _) | Shape::Directions(columns, components, _) => {
            (400_000_000 / (columns * components)).clamp(1_000, 100_000)
        }
        Shape::Columns(_, columns, components) => (100_000_000 / (columns * components)).clamp(1_000, 20_000),
        Shape::Multinomial(_, length, components) => (100_000_000 / (length * components)).clamp(1_000, 20_000),
    }
}

/// Nanoseconds a row of a sweep.
fn sweep(criterion: &mut Criterion, kind: &str, case: &Case, kernel: Option<Kernel>) -> Option<f64> {
    let mut sampler = case.sampler(kernel);
    let mut cycle = 0;
    measure(criterion, kind, case, || {
        cycle += 1;
        sampler.sweep(1.0, &mut Seed::new(2).stream(Role::Sweep, 0, cycle));
    })
}

/// Nanoseconds a row of the product with a table of so many means.
fn product(criterion: &mut Criterion, case: &Case, n_means: usize) -> Option<f64> {
    let (d, k) = (case.n_columns, n_means);
    let rows: Vec<f32> = case
        .shard
        .rows()
        .flat_map(|row| match row {
            Row::F32(numbers) => numbers.to_vec(),
            _ => unreachable!("these cases are singles"),
        })
        .collect();
    let mut product = Product::new(d, k);
    measure(criterion, "limit", case, || product.run(&rows))
}

/// Nanoseconds a document of adding up the table rows of its words.
fn reading(criterion: &mut Criterion, case: &Case) -> Option<f64> {
    let width = case.n_components.next_multiple_of(16);
    // 16 bits a count, as the sweep's own table
    let table: Vec<u16> = (0..case.n_columns * width).map(|ix| (ix % 11) as u16).collect();
    let mut sums = vec![0u16; width];
    measure(criterion, "limit", case, || {
        for row in case.shard.rows() {
            let Row::Counts(row) = row else { unreachable!("the multinomial cases are counts") };
            sums.fill(0);
            for &word in row.words {
                let entries = &table[word as usize * width..][..width];
                sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum = sum.wrapping_add(*entry));
            }
            black_box(&mut sums);
        }
    })
}

/// Runs one benchmark; the median in nanoseconds a row, where it was run (a filter may leave it out).
fn measure(criterion: &mut Criterion, kind: &str, case: &Case, mut body: impl FnMut()) -> Option<f64> {
    let name = case.name.replace(' ', "-");
    let mut group = criterion.benchmark_group(&name);
    group.throughput(Throughput::Elements(case.shard.n_rows() as u64));
    group.bench_function(kind, |bencher| bencher.iter(&mut body));
    group.finish();
    let home =
        std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| format!("{}/../../target", env!("CARGO_MANIFEST_DIR")));
    let estimates = Path::new(&home).join("criterion").join(name).join(kind).join("new/estimates.json");
    let text = std::fs::read_to_string(estimates).ok()?;
    let estimates: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(estimates["median"]["point_estimate"].as_f64()? / case.shard.n_rows() as f64)
}

/// Prints, for each shape, nanoseconds a row of sweep, twin and limit, where all three were measured.
fn print_table(table: &[(&str, [Option<f64>; 3])]) {
    println!("\nkernel {}, one core; rows/s", Kernel::best());
    println!(
        "{:<27}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "", "sweep", "twin", "limit", "µs a row", "× twin", "× limit"
    );
    for (name, nanoseconds) in table {
        let [Some(fast), Some(slow), Some(limit)] = nanoseconds else { continue };
        println!(
            "{name:<27}{:>12.0}{:>12.0}{:>12.0}{:>12.3}{:>12.1}{:>12.2}",
            1e9 / fast,
            1e9 / slow,
            1e9 / limit,
            fast / 1e3,
            slow / fast,
            fast / limit
        );
    }
    println!("× twin: how many times faster than the slow twin");
    println!(
        "× limit: the time of the sweep over that of the bare limit (the matrix product; for documents, reading the counts)"
    );
}
