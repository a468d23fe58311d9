//! A pilot: a few short fits of a sample of the rows, from which the width of clusters is learnt before the run begins.
//!
//! How wide clusters are beforehand, and how surely, decides how many there will be, and no summary of the columns tells it. But clusters do: given components, each
//! candidate of a prior has a log-joint, which is computed from their statistics alone. So a sample is fitted under the usual prior, the candidate that makes its
//! components most probable is taken, and that is done once more with it. The sample is every n-th row, the seed always the same: the prior depends on
//! the rows and on nothing else.

use super::cgs::{Observer, Outcome};
use super::distributed::{self, DistributedOptions, DrawsFrom, Engine};
use crate::error::Result;
use crate::family::log_joint;
use crate::model::{Alpha, Choice, Model, ModelOptions, priors};
use crate::node::{Consolidation, CoordinatorOptions, Schedule};
use crate::posterior::horizon::Cycles;
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::{Kernel, reference_sampler};
use crate::trace::CycleInfo;

/// Rows of the sample, at most about twice as many.
const SAMPLE: usize = 2000;
/// Fits, at most.
const ROUNDS: usize = 3;
/// Cycles of each.
const CYCLES: u64 = 12;

/// What was learnt.
#[derive(Debug, Clone, PartialEq)]
pub struct Pilot {
    /// The options, with what was learnt filled in.
    pub options: ModelOptions,
    /// What was learnt, and from what.
    pub choices: Vec<Choice>,
}

/// Learns what the user left open, given the usual model of the rows, where a pilot can tell; `None` where there is nothing of the kind.
pub fn learn(rows: &Shard, options: &ModelOptions, usual: &Model, kernel: Kernel) -> Result<Option<Pilot>> {
    let candidates = priors::candidates(usual, options);
    let sample = rows.every((rows.n_rows() / SAMPLE).max(1));
    let survey = &Survey::of(&sample);
    // a sample may look like another family: columns of zeros and ones with a few other cells
    let is_alike = |model: Model| model.described().name() == usual.described().name();
    if candidates.is_empty() || !Model::resolve(options, survey).is_ok_and(is_alike) {
        return Ok(None);
    }
    let mut learnt = options.clone();
    for _ in 0..ROUNDS {
        let found = fit(&sample, &learnt, kernel)?;
        let mut best = (f64::NEG_INFINITY, &learnt);
        for candidate in &candidates {
            let log_joint = log_joint_under(&Model::resolve(candidate, survey)?, &sample, &found);
            if log_joint > best.0 {
                best = (log_joint, candidate);
            }
        }
        let best = best.1.clone();
        if best == learnt {
            break;
        }
        learnt = best;
    }
    let why = format!("of {} tried, the most probable for the clusters of {} rows", candidates.len(), sample.n_rows());
    let choices = priors::told(&Model::resolve(&learnt, survey)?, &why);
    Ok(Some(Pilot { options: learnt, choices }))
}

/// The log-joint of the components that were found, under another prior.
fn log_joint_under(model: &Model, sample: &Shard, found: &Outcome) -> f64 {
    let sum_log_base = reference_sampler(model, sample.clone()).sum_log_base();
    log_joint(model.conjugate(), &found.components, 1.0, sum_log_base)
}

fn fit(sample: &Shard, model: &ModelOptions, kernel: Kernel) -> Result<Outcome> {
    struct Nobody;
    impl Observer for Nobody {
        fn on_cycle(&mut self, _info: &CycleInfo) -> Result<()> {
            Ok(())
        }
        fn on_draw(&mut self, _state: &[u32]) -> Result<()> {
            Ok(())
        }
    }
    let options = DistributedOptions {
        coordinator: CoordinatorOptions {
            n_workers: 1,
            model: model.clone(),
            alpha: Alpha::Auto,
            consolidation: Consolidation::Progressive,
            splits: true,
            schedule: Schedule::Sync,
            cycles: Cycles::Fixed(CYCLES),
            n_kept: 0,
            seed: 0,
            chain: 0,
            sweeps_per_cycle: 1,
            shows_labels: false,
            kernel: Some(kernel),
            has_start: false,
        },
        draws: None,
        engine: Engine::Threads(1),
        start: None,
        draws_from: DrawsFrom::Fast,
        time_limit: None,
    };
    let shards = std::slice::from_ref(sample);
    distributed::run(shards, &options, None, &mut Nobody).map(|(outcome, _)| outcome)
}
