//! What the coordinator of any method begins with.

use crate::method::consolidated::{Consolidation, FirstAlpha, Joins, Schedule};
use crate::model::{Alpha, Model};
use crate::posterior::horizon::Cycles;
use crate::protocol::message::Plan;
use crate::sweep::Kernel;

/// What a coordinator must know to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinatorOptions {
    /// Workers that take part from the beginning.
    pub n_workers: u32,
    /// The concentration.
    pub alpha: Alpha,
    /// How births find their component.
    pub consolidation: Consolidation,
    /// Whether components keep halves and are split into them, and merged where that is better:
    /// beyond the paper.
    pub splits: bool,
    /// How rows reach a component in which their worker had none.
    pub joins: Joins,
    /// The concentration in the first cycle.
    pub first_alpha: FirstAlpha,
    /// When pushes are absorbed.
    pub schedule: Schedule,
    /// Cycles to run.
    pub cycles: Cycles,
    /// Cycles at the end whose states are kept (0: only the last state counts).
    pub n_kept: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Which of several independent chains, from 0.
    pub chain: u16,
    /// Sweeps between two pushes.
    pub sweeps_per_cycle: u32,
    /// Whether workers show their labels to the driver after every cycle.
    pub shows_labels: bool,
    /// The instructions to sweep with; `None`: the best that all workers have.
    pub kernel: Option<Kernel>,
    /// Whether the workers begin with labels, the same numbers for the same components, and not
    /// with rows that are in none.
    pub has_start: bool,
    /// Splits and merges that the slice sampler tries in a cycle.
    pub moves_per_cycle: u8,
}

impl Default for CoordinatorOptions {
    /// The default method on one worker, everything chosen from the data, until it has settled.
    fn default() -> Self {
        Self {
            n_workers: 1,
            alpha: Alpha::Auto,
            consolidation: Consolidation::Progressive,
            splits: true,
            joins: Joins::default(),
            first_alpha: FirstAlpha::default(),
            schedule: Schedule::Sync,
            cycles: Cycles::default(),
            n_kept: 0,
            seed: 0,
            chain: 0,
            sweeps_per_cycle: 1,
            shows_labels: false,
            kernel: None,
            has_start: false,
            moves_per_cycle: 0,
        }
    }
}

impl CoordinatorOptions {
    /// The plan for a number of rows of all workers, on machines that all have `kernel`.
    // public for the tests only
    #[doc(hidden)]
    pub fn plan(&self, model: &Model, n_rows: u64, kernel: Kernel) -> Plan {
        Plan {
            model: model.clone(),
            kernel: self.kernel.unwrap_or(kernel),
            seed: self.seed,
            chain: self.chain,
            sweeps_per_cycle: self.sweeps_per_cycle,
            joins: self.joins,
            alpha_shares: match self.first_alpha {
                FirstAlpha::Full => 1,
                FirstAlpha::Shared => self.n_workers.max(1),
            },
            is_in_step: self.schedule == Schedule::Sync,
            shows_labels: self.shows_labels,
            counts_overlaps: self.splits,
            n_rows,
        }
    }
}
