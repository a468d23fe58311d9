//! What a coordinator is told.

use crate::method::consolidated::Joins;
use crate::model::{Alpha, Model};
use crate::posterior::horizon::Cycles;
use crate::protocol::message::Plan;
use crate::sweep::Kernel;

/// What the coordinator of a method in rounds must know to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundsCoordinatorOptions {
    /// Workers that take part from the beginning.
    pub n_workers: u32,
    /// The concentration.
    pub alpha: Alpha,
    /// Cycles to run.
    pub cycles: Cycles,
    /// Cycles at the end whose states are kept.
    pub n_kept: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Which of several chains, from 0.
    pub chain: u16,
    /// Whether workers show their labels to the driver after every cycle.
    pub shows_labels: bool,
    /// The instructions to score with; `None`: the best that all workers have.
    pub kernel: Option<Kernel>,
    /// Splits and merges that the slice sampler tries in a cycle; other methods know none.
    pub moves_per_cycle: u8,
}

impl Default for RoundsCoordinatorOptions {
    /// One worker, everything chosen from the data, until the chain has settled.
    fn default() -> Self {
        Self {
            n_workers: 1,
            alpha: Alpha::Auto,
            cycles: Cycles::default(),
            n_kept: 0,
            seed: 0,
            chain: 0,
            shows_labels: false,
            kernel: None,
            moves_per_cycle: 0,
        }
    }
}

impl RoundsCoordinatorOptions {
    /// The plan for a number of rows of all workers, on machines that all have `kernel`.
    // public for the tests only
    #[doc(hidden)]
    pub fn plan(&self, model: &Model, n_rows: u64, kernel: Kernel) -> Plan {
        Plan {
            model: model.clone(),
            kernel: self.kernel.unwrap_or(kernel),
            seed: self.seed,
            chain: self.chain,
            sweeps_per_cycle: 1,
            joins: Joins::default(),
            alpha_shares: 1,
            is_in_step: true,
            shows_labels: self.shows_labels,
            counts_overlaps: false,
            n_rows,
        }
    }
}
