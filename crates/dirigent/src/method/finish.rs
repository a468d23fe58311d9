//! The exact finish: a faster method finds a state, and from there an exact sampler goes on.
//!
//! Delayed synchronisation is an approximation, a slice sampler is none: what it draws comes from the posterior itself. But it seldom splits or
//! merges large components, so that draws explore around the state it began with; several chains show whether that matters.
//!
//! Few rows get an exact finish without being asked: collapsed sweeps, as many as cost little. The fast method merges whatever the log-joint gains by. That
//! is the mode; where clusters of a few dozen rows overlap there are far more states with one component more, each a little less probable, and most
//! of the posterior lies there.

use super::cgs::{self, CgsOptions, Draws, Observer, Outcome};
use super::distributed::{self, DistributedOptions};
use super::slice::{self, SliceOptions};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::node::SliceCoordinatorOptions;
use crate::posterior::horizon::{Cycles, Ending, StoppedBecause};
use crate::rows::Shard;
use crate::sweep::Kernel;
use crate::trace::CycleInfo;

/// More rows than these get no exact sweeps unless draws are asked for.
const FEW_ROWS: usize = 5000;
/// Rows that the exact sweeps visit in all.
const VISITS: usize = 300_000;
/// Exact sweeps, at most.
const MOST_SWEEPS: usize = 2000;

/// Whether a run that finds out itself when it has settled ends with exact sweeps: so many. Only the method that looks for the mode needs them.
pub(super) fn exact_sweeps(options: &DistributedOptions, n_rows: usize) -> Option<u64> {
    let is_for_us = options.coordinator.splits
        && options.coordinator.n_workers == 1
        && options.draws.is_none()
        && matches!(options.coordinator.cycles, Cycles::Auto { .. });
    (is_for_us && (1..=FEW_ROWS).contains(&n_rows)).then(|| (VISITS / n_rows).min(MOST_SWEEPS) as u64)
}

/// Runs the method until it ends, then collapsed sweeps from its last state.
pub(super) fn run_collapsed(
    rows: &Shard,
    model: &Model,
    options: &DistributedOptions,
    n_sweeps: u64,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let shards = std::slice::from_ref(rows);
    let (found, totals) = distributed::run(shards, options, truth, &mut BurnIn { observer: &mut *observer })?;
    let seconds = totals.virtual_seconds.unwrap_or(totals.seconds);
    if found.stopped_because != StoppedBecause::Stationary {
        return Ok((found, totals));
    }
    let exact = CgsOptions {
        cycles: Cycles::Fixed(n_sweeps),
        time_limit: options.time_limit.map(|limit| (limit - seconds).max(0.0)),
        alpha: options.coordinator.alpha,
        seed: options.coordinator.seed,
        chain: options.coordinator.chain,
        draws: None,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: Some(found.state),
        first_cycle: found.cycles,
    };
    let mut continued = Continued { observer, cycles: found.cycles, totals: &totals };
    let outcome = cgs::run(rows, model, &exact, truth, &mut continued)?;
    let cycles = found.cycles + outcome.cycles;
    Ok((Outcome { cycles, stopped_because: found.stopped_because, ..outcome }, totals))
}

/// Runs the method until it ends, then the slice sampler from its last state. The first cycles of that are not kept: it must forget where the
/// method ended.
pub(super) fn run(
    shards: &[Shard],
    options: &DistributedOptions,
    draws: Draws,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let burn_in = DistributedOptions { draws: None, ..options.clone() };
    let (found, found_totals) = distributed::run(shards, &burn_in, truth, &mut BurnIn { observer: &mut *observer })?;
    if found.stopped_because == StoppedBecause::TimeLimit {
        return Ok((found, found_totals));
    }
    let seconds = found_totals.virtual_seconds.unwrap_or(found_totals.seconds);
    let exact = SliceOptions {
        coordinator: SliceCoordinatorOptions {
            n_workers: options.coordinator.n_workers,
            model: options.coordinator.model.clone(),
            alpha: options.coordinator.alpha,
            cycles: Cycles::Fixed(cycles_to_discard(found.cycles) + draws.n_cycles()),
            n_kept: draws.n_cycles(),
            seed: options.coordinator.seed,
            chain: options.coordinator.chain,
            shows_labels: false,
            kernel: options.coordinator.kernel,
        },
        draws: Some(draws),
        engine: options.engine.clone(),
        start: Some(found.state),
        time_limit: options.time_limit.map(|limit| (limit - seconds).max(0.0)),
    };
    let mut continued = Continued { observer, cycles: found.cycles, totals: &found_totals };
    let (outcome, totals) = slice::run(shards, &exact, truth, &mut continued)?;
    let stopped_because = match outcome.stopped_because {
        StoppedBecause::TimeLimit => StoppedBecause::TimeLimit,
        _ => found.stopped_because,
    };
    let cycles = found.cycles + outcome.cycles;
    Ok((Outcome { cycles, stopped_because, ..outcome }, found_totals.and(&totals)))
}

/// Cycles to discard after `cycles` of a faster method.
fn cycles_to_discard(cycles: u64) -> u64 {
    (cycles / 10).max(100)
}

/// Passes on the method's cycles, whose end is not that of the run.
struct BurnIn<'a> {
    observer: &'a mut dyn Observer,
}

impl Observer for BurnIn<'_> {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.observer.on_cycle(&CycleInfo { ending: None, ..info.clone() })
    }

    fn on_draw(&mut self, _state: &[u32]) -> Result<()> {
        Ok(())
    }

    fn interrupt(&self) -> Interrupt {
        self.observer.interrupt()
    }
}

/// Passes on the slice sampler's cycles, counted on from the method's.
struct Continued<'a> {
    observer: &'a mut dyn Observer,
    cycles: u64,
    totals: &'a RunTotals,
}

impl Continued<'_> {
    fn shift(&self, info: &CycleInfo) -> CycleInfo {
        let ending = |ending: Ending| Ending { last_cycle: ending.last_cycle + self.cycles, ..ending };
        CycleInfo {
            cycle: info.cycle + self.cycles,
            seconds: info.seconds + self.totals.seconds,
            virtual_seconds: info.virtual_seconds.map(|seconds| seconds + self.totals.virtual_seconds.unwrap_or(0.0)),
            ending: info.ending.map(ending),
            ..info.clone()
        }
    }
}

impl Observer for Continued<'_> {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        let info = self.shift(info);
        self.observer.on_cycle(&info)
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.observer.on_draw(state)
    }

    fn watches_states(&self) -> bool {
        self.observer.watches_states()
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        let info = self.shift(info);
        self.observer.on_state(&info, state);
    }

    fn interrupt(&self) -> Interrupt {
        self.observer.interrupt()
    }
}
