//! The options of `dirigent draws`.

use std::path::PathBuf;

use clap::Args;
use dirigent::internals::io::RowPair;

/// Say what the draws of a run say: the posterior of K, and how often rows are together.
///
/// The run must have been fitted with --draws. Prints the share of draws with each number of clusters K, its mean, mode and 90 % interval and,
/// for pairs of rows, the share of draws that put them into one cluster. Rows are counted from 0, as in labels.csv.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dirigent draws runs/points-1\n  dirigent draws runs/points-1 --pair 0,17 --json")]
pub(crate) struct DrawsArgs {
    /// A run folder with draws.npy
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Two rows; may be given several times
    #[arg(long, value_name = "I,J", value_parser = pair)]
    pub(crate) pair: Vec<RowPair>,
    /// A file of pairs of rows: .csv or .tsv, two columns, with or without a header
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
