//! The exact finish: a faster method finds a state, and from there an exact sampler goes on.
//!
//! Delayed synchronisation is an approximation, a slice sampler is none: what it draws comes from
//! the posterior itself. By its sweeps alone it seldom splits or merges large components, so such
//! moves are tried beside them; several chains show whether that is enough.

use super::cgs::{Draws, Outcome};
use super::consolidated::{self, DistributedOptions};
use super::rounds::RoundsOptions;
use super::slice;
use crate::checkpoint::{FoundState, RunState};
use crate::engine::RunTotals;
use crate::error::Result;
use crate::model::Model;
use crate::observer::Observer;
use crate::posterior::horizon::{Cycles, Ending, StoppedBecause};
use crate::protocol::CoordinatorOptions;
use crate::rows::Shard;
use crate::trace::CycleInfo;

/// Splits and merges that are tried in a cycle of the slice sampler, unless the user says.
pub(super) const MOVES_PER_CYCLE: u8 = 1;
/// Runs the method until it ends, then the slice sampler from its last state. The first cycles of
/// that are not kept: it must forget where the method ended.
pub(super) fn run(
    shards: &[Shard],
    model: &Model,
    options: &DistributedOptions,
    draws: Draws,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, RunTotals)> {
    let burn_in = DistributedOptions { draws: None, ..options.clone() };
    let (found, saved) = find(shards, model, &burn_in, truth, observer)?;
    if found.outcome.stopped_because == StoppedBecause::TimeLimit {
        return Ok((found.outcome, found.totals));
    }
    let exact = RoundsOptions {
        coordinator: CoordinatorOptions {
            n_workers: options.coordinator.n_workers,
            alpha: options.coordinator.alpha,
            cycles: Cycles::Fixed(cycles_to_discard(found.outcome.cycles) + draws.n_cycles()),
            n_kept: draws.n_cycles(),
            seed: options.coordinator.seed,
            chain: options.coordinator.chain,
            shows_labels: false,
            kernel: options.coordinator.kernel,
            moves_per_cycle: options.moves_per_cycle.unwrap_or(MOVES_PER_CYCLE),
            splits: false,
            ..CoordinatorOptions::default()
        },
        draws: Some(draws),
        engine: options.engine.clone(),
        start: Some(found.outcome.state.clone()),
        time_limit: found.time_left(options),
    };
    let (outcome, totals) =
        slice::run(shards, model, &exact, truth, &mut FinishObserver { observer, found: &found, saved })?;
    let stopped_because = match outcome.stopped_because {
        StoppedBecause::TimeLimit => StoppedBecause::TimeLimit,
        _ => found.outcome.stopped_because,
    };
    let cycles = found.outcome.cycles + outcome.cycles;
    Ok((Outcome { cycles, stopped_because, ..outcome }, found.totals.and(&totals)))
}

/// What the method finds, or has found before this run was taken up again; then also the state of
/// the sampler that follows.
fn find(
    shards: &[Shard],
    model: &Model,
    options: &DistributedOptions,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(FoundState, Option<RunState>)> {
    let mut saved = observer.take_saved();
    if let Some(found) = saved.as_mut().and_then(|saved| saved.found.take()) {
        return Ok((found, saved));
    }
    let (outcome, totals) = consolidated::run(shards, model, options, truth, &mut BurnIn { observer, saved })?;
    Ok((FoundState { outcome, totals }, None))
}

impl FoundState {
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
    saved: Option<RunState>,
}

impl Observer for BurnIn<'_> {
    fn inner(&mut self) -> Option<&mut dyn Observer> {
        Some(&mut *self.observer)
    }

    fn watches_states(&mut self) -> bool {
        false
    }

    fn on_state(&mut self, _: &CycleInfo, _: &dyn Fn() -> Vec<u32>) {}

    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.observer.on_cycle(&CycleInfo { ending: None, ..info.clone() })
    }

    fn take_saved(&mut self) -> Option<RunState> {
        self.saved.take()
    }
}

/// Passes on the slice sampler's cycles, counted on from the method's.
struct FinishObserver<'a> {
    observer: &'a mut dyn Observer,
    found: &'a FoundState,
    saved: Option<RunState>,
}

impl FinishObserver<'_> {
    fn shift(&self, info: &CycleInfo) -> CycleInfo {
        let FoundState { outcome, totals } = self.found;
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

impl Observer for FinishObserver<'_> {
    fn inner(&mut self) -> Option<&mut dyn Observer> {
        Some(&mut *self.observer)
    }

    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        let info = self.shift(info);
        self.observer.on_cycle(&info)
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        let info = self.shift(info);
        self.observer.on_state(&info, state);
    }

    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        self.observer.on_checkpoint(RunState { found: Some(self.found.clone()), ..saved })
    }

    fn take_saved(&mut self) -> Option<RunState> {
        self.saved.take()
    }
}
