//! The options of `dirigent update` and `dirigent merge`.

use std::path::PathBuf;

use clap::Args;
use dirigent::Forget;

use super::StorageArgs;
use crate::console::{Console, Talk};

/// Add a batch of rows to a fitted run, without the rows of earlier batches.
///
/// The model is then of all batches that are not forgotten; labels.npy, labels.csv and certainty.npy are of the new rows. Clusters keep their
/// numbers in clusters.csv, and events.csv lists which were born, split, merged or are gone. The family and its prior stay as they were chosen.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent update runs/sensors-1 tuesday.csv
  dirigent update runs/sensors-1 wednesday.csv --forget batches=7
  dirigent update runs/news-1 docword.may.txt --forget half_life=3 --out runs/news-may")]
pub(crate) struct UpdateArgs {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Data with the columns of the fit
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Forget earlier batches: all but the last B, or half of their weight every H batches
    #[arg(long, value_name = "batches=B|half_life=H")]
    pub(crate) forget: Option<Forget>,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
}

/// Merge runs that were fitted to parts of the data, without the data.
///
/// Components of all runs that are better as one become one. Columns and words are matched by name, and the prior is that of the run with the most rows.
/// The merged run has no labels: use `dirigent predict` to label rows.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  dirigent merge runs/north-1 runs/south-1 --out runs/both
  dirigent predict runs/both north.csv > labels.csv")]
pub(crate) struct MergeArgs {
    /// Run folders, at least two
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: ResultArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ResultArgs {
    /// The new run folder [default of update: RUN itself]
    #[arg(long, short, value_name = "RUN")]
    pub(crate) out: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors and, with --json, the summary
    #[arg(long, short)]
    quiet: bool,
}

impl ResultArgs {
    pub(crate) fn console(&self) -> Console {
        Console { talk: if self.quiet { Talk::Quiet } else { Talk::Normal } }
    }
}
