//! The options of `dirigent predict`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use dirigent::Clusters;

use super::cut::share;
use super::{HeaderArg, StorageArgs};
use crate::console::{Console, Talk};

/// Label rows with the model of a run.
///
/// Prints row, label, certainty and p_new. The label is the most probable known cluster, certainty its probability, and p_new the probability that the
/// row belongs to no known cluster: near 1 for an outlier. Rows are counted from 0. Columns are matched by name if both sides have names.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dirigent predict runs/points-1 more.npy > labels.csv\n  dirigent predict runs/points-1 more.npy --proba --out probabilities.npy"
)]
pub(crate) struct PredictArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Files as for fit, a folder or a pattern
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Whether the first line of a .csv or .tsv file is a header [default: as in the fit]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "auto|yes|no")]
    pub(crate) header: Option<HeaderArg>,
    /// Number of clusters, auto or components [default: as in the fit]
    #[arg(long, value_name = "K|auto|components")]
    pub(crate) clusters: Option<Clusters>,
    /// Least share of the fitted rows in a cluster [default: 0]
    #[arg(long, value_name = "S", value_parser = share, requires = "clusters")]
    pub(crate) min_share: Option<f64>,
    /// Number of threads; predictions do not depend on it [default: the number of cores]
    #[arg(long, short = 'j', value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    #[command(flatten)]
    pub(crate) output: PredictOutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PredictOutputArgs {
    /// File to write, .csv or .npy [default: a table to standard output]
    ///
    /// An array has the labels; with --proba a column per cluster and last p_new; with --log-density the log densities.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add the probability of each cluster: p_0, p_1, …; with p_new they sum to 1
    #[arg(long)]
    pub(crate) proba: bool,
    /// Add the log predictive density of each row, and print its mean
    #[arg(long)]
    pub(crate) log_density: bool,
    /// Print one JSON object: rows, new_rows, mean_log_density
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

impl PredictOutputArgs {
    pub(crate) fn console(&self) -> Console {
        Console { talk: if self.quiet { Talk::Quiet } else { Talk::Normal } }
    }
}
