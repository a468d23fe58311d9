//! The options of `dirigent report`.

use std::path::PathBuf;

use clap::Args;

/// Write a page about a run, or one that compares several runs.
///
/// The page is one HTML file that needs no network: the clusters, their tree, a map of the rows, what each cluster is like, how certain the labels are. For one
/// run it is written to RUN/report.html, as `fit` and `demo` do at their end. Its path is printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent report runs/data-1
  dirigent report runs/data-1 --names names.csv --profiles profiles.csv
  dirigent report runs/data-1 runs/data-2 --out compared.html")]
pub(crate) struct ReportArgs {
    /// Run folders that `dirigent fit` or `dirigent demo` wrote
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// CSV file of cluster,name; kept in the run folder and shown on every later page
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// Write a CSV file with one line per cluster: size, certainty, mean of each column
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// The page to write [default: RUN/report.html, for one run]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
