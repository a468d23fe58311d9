//! The exact finish: a faster method finds a state, and from there an exact sampler goes on.
//!
//! Delayed synchronisation is an approximation, a slice sampler is none: what it draws comes from the posterior itself. By its sweeps
//! alone it seldom splits or merges large components, so such moves are tried beside them; several chains show whether that is enough.
//!
//! Few rows get an exact finish without being asked: collapsed sweeps, as many as cost little. The fast method merges whatever the log-joint gains by. That
//! is the mode; where clusters of a few dozen rows overlap there are far more states with one component more, each a little less probable, and most
//! of the posterior lies there.

use super::FEW_ROWS;
use super::central;
use super::cgs::{self, CgsOptions, Draws, Observer, Outcome};
use super::distributed::{self, DistributedOptions};
use super::rounds::RoundsOptions;
use super::slice;
use crate::checkpoint::{Found, Saved};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::node::RoundsCoordinatorOptions;
use crate::posterior::horizon::{Cycles, Ending, StoppedBecause};
use crate::rows::Shard;
use crate::sweep::Kernel;
use crate::trace::CycleInfo;
use std::time::{Duration, Instant};

/// Splits and merges that are tried in a cycle of the slice sampler, unless the user says.
pub(super) const MOVES_PER_CYCLE: u8 = 1;
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

/// Runs the method until it ends, then collapsed sweeps from its last state; of the states that these and other starts lead to, the most central is kept.
pub(super) fn run_collapsed(
    rows: &Shard,
    model: &Model,
    options: &DistributedOptions,
    n_sweeps: u64,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let (found, saved) = find(std::slice::from_ref(rows), options, truth, observer)?;
    if found.outcome.stopped_because != StoppedBecause::Stationary {
        return Ok((found.outcome, found.totals));
    }
    let exact = CgsOptions {
        cycles: Cycles::Fixed(n_sweeps),
        time_limit: found.time_left(options),
        alpha: options.coordinator.alpha,
        seed: options.coordinator.seed,
        chain: options.coordinator.chain,
        draws: None,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: Some(found.outcome.state.clone()),
        first_cycle: found.outcome.cycles,
    };
    let (interrupt, begun) = (observer.interrupt(), Instant::now());
    let outcome = cgs::run(rows, model, &exact, truth, &mut Continued { observer, found: &found, saved })?;
    let cycles = found.outcome.cycles + outcome.cycles;
    let outcome = Outcome { cycles, stopped_because: found.outcome.stopped_because, ..outcome };
    let allowed = exact.time_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let deadline = allowed.and_then(|allowed| begun.checked_add(allowed));
    Ok((central::settle(rows, model, options, outcome, deadline, interrupt)?, found.totals))
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
    let (found, saved) = find(shards, &burn_in, truth, observer)?;
    if found.outcome.stopped_because == StoppedBecause::TimeLimit {
        return Ok((found.outcome, found.totals));
    }
    let exact = RoundsOptions {
        coordinator: RoundsCoordinatorOptions {
            n_workers: options.coordinator.n_workers,
            model: options.coordinator.model.clone(),
            alpha: options.coordinator.alpha,
            cycles: Cycles::Fixed(cycles_to_discard(found.outcome.cycles) + draws.n_cycles()),
            n_kept: draws.n_cycles(),
            seed: options.coordinator.seed,
            chain: options.coordinator.chain,
            shows_labels: false,
            kernel: options.coordinator.kernel,
            moves_per_cycle: options.moves_per_cycle.unwrap_or(MOVES_PER_CYCLE),
        },
        draws: Some(draws),
        engine: options.engine.clone(),
        start: Some(found.outcome.state.clone()),
        time_limit: found.time_left(options),
    };
    let (outcome, totals) = slice::run(shards, &exact, truth, &mut Continued { observer, found: &found, saved })?;
    let stopped_because = match outcome.stopped_because {
        StoppedBecause::TimeLimit => StoppedBecause::TimeLimit,
        _ => found.outcome.stopped_because,
    };
    let cycles = found.outcome.cycles + outcome.cycles;
    Ok((Outcome { cycles, stopped_because, ..outcome }, found.totals.and(&totals)))
}

/// What the method finds, or has found before this run was taken up again; then also the state of the sampler that follows.
fn find(
    shards: &[Shard],
    options: &DistributedOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Found, Option<Saved>)> {
    let mut saved = observer.take_saved();
    if let Some(found) = saved.as_mut().and_then(|saved| saved.found.take()) {
        return Ok((found, saved));
    }
    let (outcome, totals) = distributed::run(shards, options, truth, &mut BurnIn { observer, saved })?;
    Ok((Found { outcome, totals }, None))
}

impl Found {
    /// Of the seconds that the run may take.
    fn time_left(&self, options: &DistributedOptions) -> Option<f64> {
        let seconds = self.totals.virtual_seconds.unwrap_or(self.totals.seconds);
        options.time_limit.map(|limit| (limit - seconds).max(0.0))
    }
}

/// Cycles to discard after `cycles` of a faster method.
fn cycles_to_discard(cycles: u64) -> u64 {
    (cycles / 10).max(100)
}

/// Passes on the method's cycles, whose end is not that of the run.
struct BurnIn<'a> {
    observer: &'a mut dyn Observer,
    saved: Option<Saved>,
}

impl Observer for BurnIn<'_> {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.observer.on_cycle(&CycleInfo { ending: None, ..info.clone() })
    }

    fn interrupt(&self) -> Interrupt {
        self.observer.interrupt()
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.observer.wants_checkpoint()
    }

    fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
        self.observer.on_checkpoint(saved)
    }

    fn on_notice(&mut self, text: &str) {
        self.observer.on_notice(text);
    }

    fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }
}

/// Passes on the slice sampler's cycles, counted on from the method's.
struct Continued<'a> {
    observer: &'a mut dyn Observer,
    found: &'a Found,
    saved: Option<Saved>,
}

impl Continued<'_> {
    fn shift(&self, info: &CycleInfo) -> CycleInfo {
        let Found { outcome, totals } = self.found;
        let ending = |ending: Ending| Ending { last_cycle: ending.last_cycle + outcome.cycles, ..ending };
        CycleInfo {
            cycle: info.cycle + outcome.cycles,
            seconds: info.seconds + totals.seconds,
            virtual_seconds: info.virtual_seconds.map(|seconds| seconds + totals.virtual_seconds.unwrap_or(0.0)),
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

    fn wants_checkpoint(&mut self) -> bool {
        self.observer.wants_checkpoint()
    }

    fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
        self.observer.on_checkpoint(Saved { found: Some(self.found.clone()), ..saved })
    }

    fn on_notice(&mut self, text: &str) {
        self.observer.on_notice(text);
    }

    fn take_saved(&mut self) -> Option<Saved> {
        self.saved.take()
    }
}
