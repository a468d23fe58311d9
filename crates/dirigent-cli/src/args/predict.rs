//! The options of `dirigent predict`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use dirigent::Clusters;

use super::cut::share;
use super::{HeaderArg, StorageArgs};
use crate::console::{Console, Talk};

/// Label rows with the model of a run, rows of the fit or new ones.
///
/// Columns are found by name where the model and the data have names, in any order, and else by number. The label is the most probable
/// of the clusters there are, as in labels.npy; certainty is its probability, p_new that of no known cluster. Rows are counted from 0.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dirigent predict runs/points-1 more.npy > labels.csv\n  dirigent predict runs/points-1 more.npy --proba --out probabilities.npy"
)]
pub(crate) struct PredictArgs {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Data: .npy, .csv, .tsv, .parquet, .npz, .svm, .mtx or docword*.txt, text also as .gz; several files, a folder or a pattern ('part-*.csv')
    /// are one set, in the given order; also at s3://, gs://, az:// and https:// addresses
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Whether the first line of a .csv or .tsv is a header: auto, yes or no [default: as in the fit]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "auto|yes|no")]
    pub(crate) header: Option<HeaderArg>,
    /// Cut the tree of the run: a number of clusters, auto or components [default: as in the fit]
    #[arg(long, value_name = "K|auto|components")]
    pub(crate) clusters: Option<Clusters>,
    /// Keep clusters with a smaller share of the fitted rows with their neighbours [default: 0]
    #[arg(long, value_name = "S", value_parser = share, requires = "clusters")]
    pub(crate) min_share: Option<f64>,
    /// The number of threads; it never changes what is predicted [default: the number of cores]
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
    /// Write to this file, which is replaced: a table (.csv) or an array (.npy: labels as int32; with --proba doubles, a column for each
    /// cluster and last the new one; with --log-density doubles) [default: a table to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add p_0, p_1, …, the probabilities of the clusters; with p_new, that of no known cluster, they sum to 1
    #[arg(long)]
    pub(crate) proba: bool,
    /// Add log_density, the log posterior predictive density of each row, and say its mean
    #[arg(long)]
    pub(crate) log_density: bool,
    /// Print one JSON object, {rows, new_rows, mean_log_density}, instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

impl PredictOutputArgs {
    pub(crate) fn console(&self) -> Console {
        Console { talk: if self.quiet { Talk::Quiet } else { Talk::Normal } }
    }
}
