//! Runs that survive.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Go on with a run that was interrupted or killed. Nothing need be said again. What may be: DATA if it has moved, --threads, --engine and its
    /// options, --checkpoint-every, options of output; another number of --workers, but then it goes on as another run would; more --cycles,
    /// --max-cycles or --time-limit
    #[arg(long, value_name = "RUN", conflicts_with_all = ["out", "force"])]
    pub(crate) resume: Option<PathBuf>,
    /// Seconds between checkpoints, from which --resume goes on; 0: after every cycle [default: 60]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) checkpoint_every: Option<f64>,
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let is_time = |seconds: &f64| *seconds >= 0.0 && seconds.is_finite();
    text.parse().ok().filter(is_time).ok_or_else(|| "expected seconds, 0 or more".to_owned())
}
