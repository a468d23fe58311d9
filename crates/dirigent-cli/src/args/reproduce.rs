//! The options of `dirigent reproduce`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, value_parser};

use crate::reproduce::METHODS;

/// Redraw the paper's figures: every method on one data set, over seeds and numbers of workers.
///
/// Writes reproduction.html, a page that works offline, and its tables: summary.csv, curves.csv, speedup.csv, communication.csv,
/// runs.csv, traces.csv. Each run has a folder, runs/<method>-w<workers>-s<seed>. Finished runs with the same
/// options are reused, so you can interrupt and continue.
///
/// Two times are reported: that of a simulated cluster, where each node is charged its processor time, and real time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent reproduce --quick --out figures
  dirigent reproduce --dataset imagenet --rows 200000 --seeds 3 --out figures
  dirigent reproduce --dataset points.csv --label-column class --out figures -- --covariance isotropic --prior sigma=1")]
pub(crate) struct ReproduceArgs {
    /// Folder for page, tables and runs
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// A generated set of the paper, or DATA as for fit
    #[arg(long, value_name = "synthetic|imagenet|nyt|DATA", default_value = "synthetic")]
    pub(crate) dataset: PathBuf,
    /// True labels of DATA: .npy, or a text file with one label per line
    #[arg(long, value_name = "LABELS", conflicts_with = "label_column")]
    pub(crate) truth: Option<PathBuf>,
    /// Column of DATA with the true labels
    #[arg(long, value_name = "NAME")]
    pub(crate) label_column: Option<String>,
    /// Fewer seeds, cycles and rows: all methods within minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Methods to run [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = PossibleValuesParser::new(METHODS.iter().map(|method| method.name)))]
    pub(crate) methods: Option<Vec<String>>,
    /// Seeds of each method, from 0 [default: 10; with --quick 2]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1000), allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// Cycles of each run [default: 100 for synthetic, 50 for others; with --quick 30 and 15]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(2..), allow_negative_numbers = true)]
    pub(crate) cycles: Option<u64>,
    /// Workers of every method but cgs, which has one
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) workers: u32,
    /// Numbers of workers for the speed-up; 0: none [default: 1,2,5,10,20,30; with --quick 1,5,20]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    pub(crate) scaling: Option<Vec<u32>>,
    /// Rows of a generated set [default: as in the paper; with --quick fewer]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) rows: Option<u64>,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Options of fit for every run, after `--`, such as --prior sigma=8,sigma0=8
    #[arg(last = true, value_name = "FIT OPTIONS")]
    pub(crate) fit_options: Vec<String>,
}
