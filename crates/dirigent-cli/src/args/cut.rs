//! The options of `dirigent cut`.

use std::path::PathBuf;

use clap::Args;
use dirigent::Clusters;

use crate::console::{Console, Talk};

/// Cut the tree over the components of a run: labels at the resolution you want.
///
/// Works from the run folder, without the data. Clusters are numbered by falling size.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dirigent cut runs/points-1 --clusters 10 > labels.csv\n  dirigent cut runs/points-1 --clusters auto --out labels.npy"
)]
pub(crate) struct CutArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Number of clusters; auto: the natural layer; components: one per component
    #[arg(long, value_name = "K|auto|components", default_value = "auto")]
    pub(crate) clusters: Clusters,
    /// Least share of the rows in a cluster; smaller ones join a neighbour [default: 0]
    #[arg(long, value_name = "S", value_parser = share)]
    pub(crate) min_share: Option<f64>,
    /// File to write, .csv or .npy [default: a table to standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object: n_clusters, n_components, sizes, clusters
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors and data only
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a share of the rows, from 0 to below 1".to_owned())
}

impl CutArgs {
    pub(crate) fn console(&self) -> Console {
        Console { talk: if self.quiet { Talk::Quiet } else { Talk::Normal } }
    }
}
