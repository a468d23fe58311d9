//! CGS: collapsed Gibbs sampling, the serial reference of the paper's comparison (Eq. 3). Exact.
//!
//! At a cycle's border the state is a pure function of (labels, α, cycle): components are numbered
//! without gaps and their statistics are recomputed from the labels.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::checkpoint::{ChainState, RunState, Stage};
use crate::engine::Stopwatch;
use crate::error::{Error, InputError, Result};
use crate::family::log_joint;
use crate::interrupt::Interrupt;
use crate::metrics;
use crate::model::{Alpha, Model};
use crate::observer::Observer;
use crate::posterior::alpha::resample_alpha;
use crate::posterior::horizon::{Cycles, Ending, Horizon, StoppedBecause};
use crate::rng::{Role, Seed};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{self, Kernel, Sampler, SweepInfo};
use crate::trace::CycleInfo;

/// How long a chain runs, and what it keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct CgsOptions {
    /// Sweeps over all rows.
    pub cycles: Cycles,
    /// Seconds after which the chain ends, at the border of a cycle.
    pub time_limit: Option<f64>,
    /// The concentration.
    pub alpha: Alpha,
    /// The seed of all randomness.
    pub seed: u64,
    /// Which of several independent chains, from 0.
    pub chain: u16,
    /// States to keep, if any.
    pub draws: Option<Draws>,
    /// The instructions to sweep with.
    pub kernel: Kernel,
    /// Labels to begin with, one a row, without gaps in their numbers.
    pub start: Option<Vec<u32>>,
    /// The number of the first cycle in the names of random streams, so that a chain can follow
    /// another under the same seed.
    pub first_cycle: u64,
}

impl Default for CgsOptions {
    /// Everything chosen from the data, until the chain has settled.
    fn default() -> Self {
        Self {
            cycles: Cycles::default(),
            time_limit: None,
            alpha: Alpha::Auto,
            seed: 0,
            chain: 0,
            draws: None,
            kernel: Kernel::best(),
            start: None,
            first_cycle: 0,
        }
    }
}

/// Keep every `thin`-th state of the last `n_draws · thin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draws {
    /// How many.
    pub n_draws: usize,
    /// Every how many cycles.
    pub thin: u64,
}

impl Draws {
    /// The cycles it takes.
    pub fn n_cycles(self) -> u64 {
        (self.n_draws as u64).saturating_mul(self.thin)
    }

    /// Whether the state after `cycle` (counted from 1) is kept.
    pub(crate) fn keeps(self, cycle: u64, ending: Option<Ending>) -> bool {
        let Some(left) = ending.and_then(|ending| ending.last_cycle.checked_sub(cycle)) else { return false };
        left < self.n_cycles() && left.is_multiple_of(self.thin)
    }
}

/// What a run leaves behind. Components are numbered by falling size of the state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The last state of the chain.
    pub state: Vec<u32>,
    /// The most probable component of each row under the final model.
    pub labels: Vec<u32>,
    /// The probability of that component.
    pub certainty: Vec<f32>,
    /// The components of the last state.
    pub k: usize,
    /// Their statistics, in the order of their numbers.
    pub components: Vec<Stats>,
    /// The log-joint of the last state.
    pub log_joint: f64,
    /// The last α.
    pub alpha: f64,
    /// Cycles run.
    pub cycles: u64,
    /// Why it ended.
    pub stopped_because: StoppedBecause,
}

/// A chain between two cycles: collapsed Gibbs, a sweep at a time.
pub struct Chain<'a> {
    model: &'a Model,
    sampler: Box<dyn Sampler>,
    /// Slot by slot, none empty.
    components: Vec<Stats>,
    sum_log_base: f64,
    alpha: f64,
    resamples_alpha: bool,
    seed: Seed,
    cycle: u64,
    interrupt: Interrupt,
}

impl<'a> Chain<'a> {
    /// All rows unassigned: the first cycle seats them one after another.
    pub fn new(model: &'a Model, sampler: Box<dyn Sampler>, alpha: Alpha, seed: u64) -> Self {
        let sum_log_base = sampler.sum_log_base();
        Self {
            model,
            sampler,
            components: Vec::new(),
            sum_log_base,
            alpha: alpha.start(),
            resamples_alpha: alpha == Alpha::Auto,
            seed: Seed::new(seed),
            cycle: 0,
            interrupt: Interrupt::new(),
        }
    }

    /// One of several independent chains, from 0.
    #[must_use]
    pub fn numbered(mut self, chain: u16) -> Self {
        self.seed.chain = chain;
        self
    }

    /// Lets cycles break off once the flag is raised.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Self {
        self.sampler.set_interrupt(interrupt.clone());
        self.interrupt = interrupt;
        self
    }

    /// Begins with labels instead.
    #[must_use]
    pub fn start_from(mut self, labels: &[u32]) -> Self {
        let n_components = labels.iter().max().map_or(0, |&label| label as usize + 1);
        self.sampler.load(&vec![self.model.conjugate().empty_stats(); n_components]);
        self.sampler.set_labels(labels.to_vec());
        self.close_gaps();
        self
    }

    /// One sweep, then α. For a chain that nobody interrupts.
    pub fn step(&mut self) -> SweepInfo {
        self.try_step().expect("nobody interrupts the chain")
    }

    /// The same; a chain that is interrupted is left at the last border of a cycle.
    pub fn try_step(&mut self) -> Result<SweepInfo> {
        let before = self.sampler.labels().to_vec();
        self.sampler.load(&self.components);
        let info = self.sampler.sweep(self.alpha, &mut self.seed.stream(Role::Sweep, 0, self.cycle));
        if self.interrupt.is_raised() {
            self.sampler.set_labels(before);
            return Err(Error::Interrupted);
        }
        self.close_gaps();
        if self.resamples_alpha {
            let mut rng = self.seed.stream(Role::Coordinator, 0, self.cycle);
            let n_rows = self.sampler.labels().len() as u64;
            self.alpha = resample_alpha(self.alpha, self.components.len() as u64, n_rows, &mut rng);
        }
        self.cycle += 1;
        Ok(info)
    }

    /// The component of each row, numbered from 0 without gaps.
    pub fn labels(&self) -> &[u32] {
        self.sampler.labels()
    }

    /// The number of components.
    pub fn k(&self) -> usize {
        self.components.len()
    }

    /// The log-joint of the state under the current α.
    pub fn log_joint(&self) -> f64 {
        log_joint(self.model.conjugate(), &self.components, self.alpha, self.sum_log_base)
    }

    /// What is needed to resume from here.
    fn saved(&self, cycle: u64, horizon: &Horizon, seconds: f64) -> RunState {
        if cycle == 0 {
            return Stage::Start.into();
        }
        let (labels, alpha, horizon) = (self.labels().to_vec(), self.alpha, horizon.clone());
        Stage::Chain(ChainState { labels, alpha, cycle, horizon, seconds }).into()
    }

    fn close_gaps(&mut self) {
        let mut contributions = self.sampler.contributions();
        let mut next = 0;
        let new_slots: Vec<u32> = contributions
            .iter()
            .map(|stats| {
                let slot = next;
                next += u32::from(stats.count > 0);
                slot
            })
            .collect();
        if (next as usize) < contributions.len() {
            let labels = self.sampler.labels().iter().map(|&label| new_slots[label as usize]).collect();
            self.sampler.set_labels(labels);
            contributions.retain(|stats| stats.count > 0);
        }
        self.components = contributions;
    }

    /// For each slot its number by falling size (ties: the smaller slot first).
    fn numbers_by_size(&self) -> Vec<u32> {
        let mut slots: Vec<usize> = (0..self.components.len()).collect();
        slots.sort_by_key(|&slot| (-self.components[slot].count, slot));
        let mut numbers = vec![0; slots.len()];
        for (number, &slot) in slots.iter().enumerate() {
            numbers[slot] = number as u32;
        }
        numbers
    }

    /// The state, components numbered by falling size.
    fn state(&self) -> Vec<u32> {
        let numbers = self.numbers_by_size();
        self.labels().iter().map(|&label| numbers[label as usize]).collect()
    }

    fn finish(mut self, cycles: u64, stopped_because: StoppedBecause) -> Outcome {
        let (state, numbers, log_joint) = (self.state(), self.numbers_by_size(), self.log_joint());
        let mut components = vec![Stats::empty_counts(); numbers.len()];
        for (stats, &number) in self.components.iter().zip(&numbers) {
            components[number as usize] = stats.clone();
        }
        let assignments = self.sampler.assign(&components);
        Outcome {
            state,
            labels: assignments.iter().map(|assignment| assignment.label).collect(),
            certainty: assignments.iter().map(|assignment| assignment.certainty).collect(),
            k: components.len(),
            components,
            log_joint,
            alpha: self.alpha,
            cycles,
            stopped_because,
        }
    }
}

/// What is left behind if these labels, numbered without gaps, are the last state after this many
/// cycles: of a run that was interrupted.
pub fn conclude(shard: &Shard, model: &Model, kernel: Kernel, alpha: f64, labels: &[u32], cycles: u64) -> Outcome {
    let sampler = sweep::sampler(model, shard.clone(), kernel);
    let chain = Chain::new(model, sampler, Alpha::Fixed(alpha), 0).start_from(labels);
    chain.finish(cycles, StoppedBecause::Interrupted)
}

/// Runs a chain over all rows.
pub fn run(
    shard: &Shard,
    model: &Model,
    options: &CgsOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    let began = Instant::now();
    let mut chain =
        Chain::new(model, sweep::sampler(model, shard.clone(), options.kernel), options.alpha, options.seed)
            .numbered(options.chain)
            .interrupted_by(observer.interrupt());
    let n_kept = options.draws.map_or(0, Draws::n_cycles);
    let mut horizon = Horizon::new(options.cycles, n_kept);
    let (mut cycle, mut seconds_before) = (0, 0.0);
    if let Some(saved) = saved_chain(observer.take_saved(), shard.n_rows())? {
        chain = chain.start_from(&saved.labels);
        (chain.alpha, cycle, seconds_before) = (saved.alpha, saved.cycle, saved.seconds);
        horizon = saved.horizon.going_on(options.cycles, n_kept);
    } else if let Some(start) = &options.start {
        chain = chain.start_from(start);
    }
    chain.cycle = options.first_cycle + cycle;
    loop {
        // as a simulated worker is measured, so that the two can be compared
        let (stepped, sweep_seconds) = Stopwatch::ThreadCpu.time(|| chain.try_step());
        let Ok(sweep_info) = stepped else {
            let seconds = seconds_before + began.elapsed().as_secs_f64();
            observer.on_checkpoint(chain.saved(cycle, &horizon, seconds))?;
            return Err(Error::Interrupted);
        };
        cycle += 1;
        let (log_joint, seconds) = (chain.log_joint(), seconds_before + began.elapsed().as_secs_f64());
        horizon.observe(cycle, log_joint, chain.k());
        let info = CycleInfo {
            cycle,
            seconds,
            sweep_seconds,
            log_joint,
            k: chain.k(),
            alpha: chain.alpha,
            vi: truth.map(|truth| metrics::compare(chain.labels(), truth).vi),
            moved: sweep_info.moved,
            births: sweep_info.births,
            n_rows: shard.n_rows() as u64,
            chain: options.chain + 1,
            ending: horizon.ending(),
            ..CycleInfo::default()
        };
        observer.on_cycle(&info)?;
        observer.on_state(&info, &|| chain.state());
        if options.draws.is_some_and(|draws| draws.keeps(cycle, horizon.ending())) {
            observer.on_draw(&chain.state())?;
        }
        match horizon.ending() {
            Some(ending) if ending.last_cycle <= cycle => return Ok(chain.finish(cycle, ending.because)),
            _ if options.time_limit.is_some_and(|limit| seconds >= limit) => {
                return Ok(chain.finish(cycle, StoppedBecause::TimeLimit));
            }
            _ => {}
        }
        if observer.wants_checkpoint() {
            observer.on_checkpoint(chain.saved(cycle, &horizon, seconds))?;
        }
    }
}

/// The state of a chain that goes on.
fn saved_chain(saved: Option<RunState>, n_rows: usize) -> Result<Option<ChainState>> {
    match saved.map(|saved| saved.stage) {
        None | Some(Stage::Start) => Ok(None),
        // numbered without gaps, so no number is beyond that of the rows
        Some(Stage::Chain(chain))
            if chain.labels.len() == n_rows && chain.labels.iter().all(|label| (*label as usize) < n_rows) =>
        {
            Ok(Some(chain))
        }
        Some(_) => Err(InputError::new("the checkpoint is of another method or of other rows").into()),
    }
}

/// The log-joint of any labelling, such as the true one.
pub fn log_joint_of_labels(shard: &Shard, model: &Model, alpha: f64, labels: &[u32]) -> f64 {
    let mut sampler = sweep::reference_sampler(model, shard.clone());
    let n_slots = labels.iter().max().map_or(0, |&label| label as usize + 1);
    sampler.load(&vec![model.conjugate().empty_stats(); n_slots]);
    sampler.set_labels(labels.to_vec());
    log_joint(model.conjugate(), &sampler.contributions(), alpha, sampler.sum_log_base())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_every_thin_th_of_the_last() {
        let draws = Draws { n_draws: 3, thin: 4 };
        let ending = Ending { last_cycle: 30, because: StoppedBecause::Cycles };
        let kept: Vec<u64> = (1..=30).filter(|&cycle| draws.keeps(cycle, Some(ending))).collect();
        assert_eq!(kept, [22, 26, 30]);
        assert!(!draws.keeps(22, None), "as long as the end is not foreseen nothing is kept");
    }
}
