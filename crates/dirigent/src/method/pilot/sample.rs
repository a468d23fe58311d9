//! Some of the rows, and fits of them.

use crate::error::Result;
use crate::family::log_joint;
use crate::method::FEW_ROWS;
use crate::method::cgs::Outcome;
use crate::method::distributed::{self, DistributedOptions};
use crate::model::{Model, ModelOptions};
use crate::node::CoordinatorOptions;
use crate::posterior::horizon::Cycles;
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::{Kernel, reference_sampler};

/// Cycles of a fit.
const CYCLES: u64 = 12;
/// With fewer rows than these a fit may end with clusters of a few rows each, and costs little: it is made several times, and longer.
const VERY_FEW_ROWS: usize = 1000;
/// Fits of very few rows, of which the most probable is taken.
const TRIES: u16 = 4;
/// Cycles of each of them.
const CYCLES_OF_TRIES: u64 = 30;

/// Some of the rows.
pub(super) struct Sample {
    pub(super) rows: Shard,
    pub(super) survey: Survey,
    /// Whether there are few rows in all: then the widths of single columns are learnt, too, which a component of many rows knows by itself.
    pub(super) is_of_few: bool,
    kernel: Kernel,
}

impl Sample {
    /// About so many of the rows, at most about twice as many.
    pub(super) fn new(all: &Shard, n_rows: usize, kernel: Kernel) -> Self {
        let rows = all.every((all.n_rows() / n_rows).max(1));
        Self { survey: Survey::of(&rows), rows, is_of_few: all.n_rows() <= FEW_ROWS, kernel }
    }

    /// Whether there are very few rows in all: a sample of more has more.
    fn has_very_few(&self) -> bool {
        self.rows.n_rows() < VERY_FEW_ROWS
    }

    /// The log-joint of components that were found, under another prior; α is 1.
    pub(super) fn log_joint_under(&self, options: &ModelOptions, found: &Outcome) -> Result<f64> {
        let model = Model::resolve(options, &self.survey)?;
        let sum_log_base = reference_sampler(&model, self.rows.clone()).sum_log_base();
        Ok(log_joint(model.conjugate(), &found.components, 1.0, sum_log_base))
    }

    /// What is found under a prior: of very few rows the most probable of several fits.
    pub(super) fn fit(&self, model: &ModelOptions) -> Result<Outcome> {
        let n_cycles = if self.has_very_few() { CYCLES_OF_TRIES } else { CYCLES };
        let mut best = self.fit_for(n_cycles, model, 0)?;
        let mut log_joint_of_best = self.log_joint_under(model, &best)?;
        for chain in 1..if self.has_very_few() { TRIES } else { 1 } {
            let found = self.fit_for(n_cycles, model, chain)?;
            let log_joint = self.log_joint_under(model, &found)?;
            if log_joint > log_joint_of_best {
                (best, log_joint_of_best) = (found, log_joint);
            }
        }
        Ok(best)
    }

    /// One fit of so many cycles.
    pub(super) fn fit_for(&self, n_cycles: u64, model: &ModelOptions, chain: u16) -> Result<Outcome> {
        let coordinator = CoordinatorOptions {
            model: model.clone(),
            cycles: Cycles::Fixed(n_cycles),
            chain,
            kernel: Some(self.kernel),
            ..CoordinatorOptions::default()
        };
        let options = DistributedOptions { coordinator, ..DistributedOptions::default() };
        let shards = std::slice::from_ref(&self.rows);
        distributed::run(shards, &options, None, &mut ()).map(|(outcome, _)| outcome)
    }
}
