//! The options of `dirigent draws`.

use std::path::PathBuf;

use clap::Args;
use dirigent::internals::io::RowPair;

/// Summarise the posterior draws of a run: number of components, pairs of rows.
///
/// Requires a run that was fitted with --draws. Prints the share of draws with each number of components K, its mean, mode and 90 % interval and,
/// for pairs of rows, the share of draws that put them into one component. Rows are counted from 0, as in labels.csv.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dirigent draws runs/points-1\n  dirigent draws runs/points-1 --pair 0,17 --json")]
pub(crate) struct DrawsArgs {
    /// Run folder with draws.npy
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Two rows, such as 0,17; repeatable
    #[arg(long, value_name = "I,J", value_parser = pair)]
    pub(crate) pair: Vec<RowPair>,
    /// File with pairs of rows: .csv or .tsv, two columns, header optional
    #[arg(long, value_name = "FILE")]
    pub(crate) pairs: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn pair(text: &str) -> Result<RowPair, String> {
    let row = |text: &str| text.trim().parse().ok();
    let pair = text.split_once(',').and_then(|(a, b)| Some(RowPair { a: row(a)?, b: row(b)? }));
    pair.ok_or_else(|| "expected two rows, counted from 0, such as 0,17".to_owned())
}
