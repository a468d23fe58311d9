//! Where the workers run.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use dirigent::{EngineName, EngineOptions};

#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// threads: this machine's cores; simulated: a virtual cluster on a clock of its own; ray, mpi: other machines (with the Python package)
    /// [default: threads]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<EngineArg>,
    /// simulated: seconds that a message travels [default: 0.0002]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) latency: Option<f64>,
    /// simulated: bytes a second of each node's link [default: 1.25e9, which is 10 Gbit/s]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<f64>,
    /// simulated: worker W takes F times as long; may be given several times
    #[arg(long, value_name = "W=F", value_parser = straggler)]
    pub(crate) straggler: Vec<(u32, f64)>,
    /// simulated: worker W dies after a cycle, and comes back two cycles later; may be given several times
    #[arg(long, value_name = "W@CYCLE", value_parser = worker_at_cycle)]
    pub(crate) crash: Vec<(u32, u64)>,
    /// simulated: worker W sends noise after a cycle, is expelled, and comes back two cycles later; may be given several times
    #[arg(long, value_name = "W@CYCLE", value_parser = worker_at_cycle)]
    pub(crate) garbage: Vec<(u32, u64)>,
    /// simulated: how many workers can compute at once [default: all]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub(crate) cores: Option<u32>,
    /// simulated: seconds a swept row on the virtual clock, so that runs replay to the last bit [default: as measured here]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) row_cost: Option<f64>,
    /// ray: where the cluster is [default: one of this machine alone]
    #[arg(long)]
    pub(crate) address: Option<String>,
    /// ray: seconds after which another worker's host takes over the rows of one that is lost [default: 60]
    #[arg(long, value_name = "S", value_parser = super::seconds, allow_negative_numbers = true)]
    pub(crate) rejoin_timeout: Option<f64>,
    /// ray: a folder that all machines see, into which workers put their labels, for those who replace them
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    Threads,
    Simulated,
    Ray,
    Mpi,
}

impl EngineArgs {
    /// The options of the engine.
    pub(crate) fn options(&self, workers: Option<u32>, threads: Option<u32>) -> EngineOptions {
        EngineOptions {
            name: match self.engine {
                Some(EngineArg::Threads) | None => EngineName::Threads,
                Some(EngineArg::Simulated) => EngineName::Simulated,
                Some(EngineArg::Ray) => EngineName::Ray,
                Some(EngineArg::Mpi) => EngineName::Mpi,
            },
            workers,
            threads,
            latency: self.latency,
            bandwidth: self.bandwidth,
            straggler: self.straggler.clone(),
            crash: self.crash.clone(),
            garbage: self.garbage.clone(),
            cores: self.cores,
            row_cost: self.row_cost,
            address: self.address.clone(),
            rejoin_timeout: self.rejoin_timeout,
            checkpoint_dir: self.checkpoint_dir.clone(),
        }
    }
}

fn straggler(text: &str) -> Result<(u32, f64), String> {
    let parts = text.split_once('=').and_then(|(worker, factor)| Some((worker.parse().ok()?, factor.parse().ok()?)));
    parts.ok_or_else(|| "expected WORKER=FACTOR, such as 3=5".to_owned())
}

fn worker_at_cycle(text: &str) -> Result<(u32, u64), String> {
    let parts = text.split_once('@').and_then(|(worker, cycle)| Some((worker.parse().ok()?, cycle.parse().ok()?)));
    parts.ok_or_else(|| "expected WORKER@CYCLE, such as 3@10".to_owned())
}
