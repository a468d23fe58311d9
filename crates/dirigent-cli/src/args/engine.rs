//! Where the workers run.

use clap::{Args, ValueEnum};
use dirigent::{EngineName, EngineOptions};

#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Where the workers run [default: threads]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<EngineArg>,
    /// Details of the engine, such as latency=1ms; keys: dirigent help engine
    #[arg(long = "engine-option", value_name = "KEY=VALUE,…")]
    pub(crate) engine_option: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// The cores of this machine
    Threads,
    /// A virtual cluster with a clock of its own
    Simulated,
    /// A Ray cluster (requires the Python package)
    Ray,
    /// MPI ranks (requires the Python package)
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
            ..EngineOptions::default()
        }
    }
}
