//! Checkpoints and resuming.

use std::path::PathBuf;

use clap::Args;
use dirigent::internals::fit::seconds;

#[derive(Debug, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Continue an interrupted run with its own options
    ///
    /// You may change: DATA if it has moved, --threads, --engine and its options, --checkpoint-every, output options, and larger --cycles, --max-cycles
    /// or --time-limit. Another number of --workers changes the labels.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "force"])]
    pub(crate) resume: Option<PathBuf>,
    /// Time between checkpoints; 0: after every cycle [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = interval, allow_negative_numbers = true)]
    pub(crate) checkpoint_every: Option<f64>,
}

fn interval(text: &str) -> Result<f64, String> {
    seconds(text).ok_or_else(|| "expected a time from 0, such as 60, 60s or 5min".to_owned())
}
