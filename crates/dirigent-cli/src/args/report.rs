//! The options of `dirigent report`.

use std::path::PathBuf;

use clap::Args;

/// Write the report of a run, or one that compares several runs.
///
/// The report is one HTML file that works offline: the clusters, their tree, a map of the rows, profiles of the clusters, certainty. For one run it
/// is RUN/report.html, which `fit` and `demo` write, too. The path is printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent report runs/data-1
  dirigent report runs/data-1 --names names.csv --profiles profiles.csv
  dirigent report runs/data-1 runs/data-2 --out compared.html")]
pub(crate) struct ReportArgs {
    /// Run folders that `dirigent fit` or `dirigent demo` wrote
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// CSV file with columns cluster,name; also used by later reports
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// Write a CSV file with one line per cluster: size, certainty, mean of each column
    #[arg(long, value_name = "FILE")]
    pub(crate) profiles: Option<PathBuf>,
    /// File to write [default: RUN/report.html, for one run]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
