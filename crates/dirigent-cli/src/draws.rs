//! `dirigent draws`: the posterior of K, and how often rows are together.

use std::path::{Path, PathBuf};

use dirigent::internals::io::{RowPair, read_draws, read_pairs};
use dirigent::internals::posterior::draws::KPosterior;
use dirigent::internals::run_dir::PARTIAL;
use dirigent::{InputError, Partitions, Result};
use serde::Serialize;

use crate::args::DrawsArgs;
use crate::console::{Console, grouped};

/// The summary of the draws, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    n_draws: usize,
    n_rows: usize,
    k: KPosterior,
    pairs: Vec<PairReport>,
}

#[derive(Serialize)]
struct PairReport {
    a: usize,
    b: usize,
    /// The share of draws that put the two rows together.
    together: f64,
}

pub(crate) fn run(args: &DrawsArgs) -> Result<()> {
    let draws = read_draws(&find(&args.run)?)?;
    let pairs = pairs(args, &draws)?;
    let together = |RowPair { a, b }| PairReport { a, b, together: draws.together(a, b) };
    let report = Report {
        n_draws: draws.n_draws(),
        n_rows: draws.n_rows(),
        k: draws.k_posterior(),
        pairs: pairs.into_iter().map(together).collect(),
    };
    let console = Console::default();
    if args.json { console.print_json(&report) } else { console.print(describe(&report)) }
}

/// The draws of a run folder.
fn find(run: &Path) -> Result<PathBuf> {
    let path = run.join("draws.npy");
    if path.exists() {
        return Ok(path);
    }
    let (problem, hint) = if run.join(format!("draws.npy{PARTIAL}")).exists() {
        ("draws.npy is not whole yet", "it gets its name when the run is over; a run that was killed has none")
    } else if run.join("run.json").exists() {
        ("has no draws.npy: the run was fitted without --draws", "fit again with --draws 100")
    } else {
        ("is no run folder: it has no run.json", "name a folder that `dirigent fit --draws N` wrote")
    };
    Err(InputError::in_file(run, problem).hint(hint).into())
}

fn pairs(args: &DrawsArgs, draws: &Partitions) -> Result<Vec<RowPair>> {
    let n_rows = draws.n_rows();
    if let Some(pair) = args.pair.iter().find(|pair| pair.a >= n_rows || pair.b >= n_rows) {
        let problem = format!("--pair {},{} names a row beyond the last, {}", pair.a, pair.b, n_rows - 1);
        return Err(InputError::new(problem).hint("rows are counted from 0, as in labels.csv").into());
    }
    let mut pairs = args.pair.clone();
    if let Some(file) = &args.pairs {
        pairs.extend(read_pairs(file, n_rows)?);
    }
    Ok(pairs)
}

fn describe(report: &Report) -> String {
    let (n_draws, n_rows) = (grouped(report.n_draws as u64), grouped(report.n_rows as u64));
    let KPosterior { mean, mode, interval_90: [low, high], shares } = &report.k;
    let mut lines = vec![
        format!("draws       {n_draws} of {n_rows} rows"),
        format!("K           mean {mean:.2}, mode {mode}, 90 %: {low}–{high}"),
        String::new(),
        "K           share".to_owned(),
    ];
    lines.extend(shares.iter().map(|(k, share)| format!("{k:<11} {share:.4}")));
    if !report.pairs.is_empty() {
        lines.extend([String::new(), "pair        together".to_owned()]);
    }
    lines.extend(
        report.pairs.iter().map(|pair| format!("{:<11} {:.4}", format!("{},{}", pair.a, pair.b), pair.together)),
    );
    lines.join("\n")
}
