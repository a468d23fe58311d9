//! `make bench-counts`: one sweep of each shape with a pinned kernel, for an instruction counter to run.
//!
//! Under callgrind only the sweep is counted (`--toggle-collect` names [`counted_sweep`]). `cargo bench --bench counts -- NAME` runs one shape.
#![allow(clippy::print_stdout)]

mod common;

use common::{Case, SHAPES};
use dirigent::Kernel;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::sweep::Sampler;

/// Rows of a counted sweep: few, because an instruction counter is slow, and it counts the same every time.
const ROWS: usize = 192;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let kernel =
        std::env::var("DIRIGENT_KERNEL").map_or(Kernel::Portable, |name| name.parse().expect("a kernel's name"));
    for (name, shape) in SHAPES {
        if wanted.is_empty() {
            println!("{name}");
        } else if wanted.iter().any(|wanted| wanted == name) {
            let case = Case::new(name, shape, ROWS);
            counted_sweep(case.sampler(Some(kernel)).as_mut());
        }
    }
}

#[inline(never)]
fn counted_sweep(sampler: &mut dyn Sampler) {
    sampler.sweep(1.0, &mut Seed::new(2).stream(Role::Sweep, 0, 0));
}
