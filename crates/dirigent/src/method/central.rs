//! Few rows: of the states that several starts lead to, the most central one.
//!
//! The last state of a chain is one draw from the posterior: a cluster more or less, rows here or there. And where clusters are of a few dozen rows, a chain seldom leaves
//! the mode that its start has led to. So a few further runs are made in silence, states of all of them are kept, and the one with the least mean variation of
//! information to the others is handed over: what most starts and most states agree on. The most probable state would be no such thing: of iris that has
//! two clusters, of breast cancer one that few starts lead to and that says less of the disease.
//!
//! All of it follows from the options and from the state it begins with, so a run that was interrupted and resumed ends the same.

use super::cgs::{self, CgsOptions, Observer, Outcome};
use super::distributed::{self, DistributedOptions};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::metrics;
use crate::model::Model;
use crate::posterior::horizon::Cycles;
use crate::rows::Shard;
use crate::sweep::Kernel;
use crate::trace::CycleInfo;
use std::time::Instant;

/// Runs in all, the one that was told included.
const STARTS: u16 = 5;
/// States kept of each, about: some of the second half of its sweeps, the first is for forgetting the start.
const STATES: u64 = 16;
/// Cells that the sweeps of each visit, about.
const CELLS: usize = 2_000_000;
/// Sweeps of each, at most. 400 were too few for iris, where starts have two clusters and most of the posterior three.
const MOST_SWEEPS: u64 = 2000;
/// Chains that are not told have numbers beyond those of the user's.
const UNTOLD: u32 = 12;
/// The same for cycles, of a chain that was told.
const UNTOLD_CYCLES: u64 = 1 << 40;

/// The outcome in the most central state, given that of a run that has ended.
pub(super) fn settle(
    rows: &Shard,
    model: &Model,
    options: &DistributedOptions,
    told: Outcome,
    deadline: Option<Instant>,
    interrupt: Interrupt,
) -> Result<Outcome> {
    let mut kept = Kept { states: Vec::new(), n_sweeps: n_sweeps(rows.n_rows(), rows.n_columns()), interrupt };
    for start in 0..STARTS {
        // nobody waits for these on other machines
        let mut options = DistributedOptions { engine: DistributedOptions::default().engine, ..options.clone() };
        options.coordinator.chain |= start << UNTOLD;
        options.time_limit = seconds_until(deadline);
        let state = match start {
            0 => told.state.clone(),
            _ => distributed::run(std::slice::from_ref(rows), &options, None, &mut kept)?.0.state,
        };
        let time_limit = seconds_until(deadline);
        if time_limit == Some(0.0) {
            break;
        }
        let exact = CgsOptions { time_limit, ..exact_sweeps(&options, kept.n_sweeps, state) };
        cgs::run(rows, model, &exact, None, &mut OfSweeps(&mut kept))?;
    }
    if kept.states.is_empty() {
        return Ok(told);
    }
    let (state, alpha) = &kept.states[most_central(&kept.states)];
    let kernel = options.coordinator.kernel.unwrap_or_else(Kernel::best);
    let central = cgs::conclude(rows, model, kernel, *alpha, state, told.cycles);
    Ok(Outcome { stopped_because: told.stopped_because, ..central })
}

/// What is left of the time that the run may take.
fn seconds_until(deadline: Option<Instant>) -> Option<f64> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64())
}

/// So many sweeps from a state.
fn exact_sweeps(options: &DistributedOptions, n_sweeps: u64, state: Vec<u32>) -> CgsOptions {
    CgsOptions {
        cycles: Cycles::Fixed(n_sweeps),
        alpha: options.coordinator.alpha,
        seed: options.coordinator.seed,
        chain: options.coordinator.chain,
        kernel: options.coordinator.kernel.unwrap_or_else(Kernel::best),
        start: Some(state),
        first_cycle: UNTOLD_CYCLES,
        ..CgsOptions::default()
    }
}

/// Sweeps of a start.
fn n_sweeps(n_rows: usize, n_columns: usize) -> u64 {
    let affordable = CELLS / (n_rows * n_columns).max(1);
    (affordable as u64).clamp(2 * STATES, MOST_SWEEPS)
}

/// Whether the state after a sweep, counted from 1, is kept.
fn is_kept(sweep: u64, n_sweeps: u64) -> bool {
    let half = n_sweeps / 2;
    sweep > half && (sweep - half).is_multiple_of(half / STATES)
}

/// The first of those with the least VI to all others.
fn most_central(states: &[(Vec<u32>, f64)]) -> usize {
    let mut distances = vec![0.0; states.len()];
    for ix in 1..states.len() {
        for other in 0..ix {
            let vi = metrics::compare(&states[ix].0, &states[other].0).vi;
            distances[ix] += vi;
            distances[other] += vi;
        }
    }
    (0..states.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b])).expect("a state was kept")
}

/// States of runs that nobody else hears of, each with its α.
struct Kept {
    states: Vec<(Vec<u32>, f64)>,
    /// Of each start.
    n_sweeps: u64,
    interrupt: Interrupt,
}

/// The run that leads to a start.
impl Observer for Kept {
    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

/// The exact sweeps from there.
struct OfSweeps<'a>(&'a mut Kept);

impl Observer for OfSweeps<'_> {
    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if is_kept(info.cycle, self.0.n_sweeps) {
            self.0.states.push((state(), info.alpha));
        }
    }

    fn interrupt(&self) -> Interrupt {
        self.0.interrupt.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::model::ModelOptions;
    use crate::rows::Table;
    use crate::survey::Survey;

    /// What becomes of a run's outcome, with so much time and that interrupt.
    fn settled(deadline: Option<Instant>, interrupt: Interrupt) -> (Outcome, Result<Outcome>) {
        let rows = Shard::of_table(Table::from_f64(1, (0..40).map(|row| f64::from(row * row)).collect()));
        let model = Model::resolve(&ModelOptions::default(), &Survey::of(&rows)).unwrap();
        let told = cgs::run(&rows, &model, &CgsOptions::default(), None, &mut ()).unwrap();
        let options = DistributedOptions::default();
        (told.clone(), settle(&rows, &model, &options, told, deadline, interrupt))
    }

    #[test]
    fn without_time_the_outcome_stays_what_it_was() {
        let (told, outcome) = settled(Some(Instant::now()), Interrupt::new());
        assert_eq!(outcome.unwrap(), told);
    }

    #[test]
    fn an_interrupt_ends_the_silent_runs() {
        let interrupt = Interrupt::new();
        interrupt.raise();
        assert!(matches!(settled(None, interrupt).1, Err(Error::Interrupted)));
    }

    #[test]
    fn the_most_central_state_is_what_most_agree_on() {
        let odd = (vec![0, 1, 2, 3, 4, 5], 1.0);
        let (usual, alike) = ((vec![0, 0, 0, 1, 1, 1], 2.0), (vec![1, 1, 1, 0, 0, 0], 3.0));
        let near = (vec![0, 0, 0, 1, 1, 2], 4.0);
        assert_eq!(most_central(&[odd, near.clone(), usual.clone(), alike, usual]), 2);
        assert_eq!(most_central(&[near]), 0);
    }

    #[test]
    fn few_rows_are_swept_longer_and_states_are_of_the_second_half() {
        assert_eq!([n_sweeps(150, 4), n_sweeps(1000, 20), n_sweeps(5000, 64)], [MOST_SWEEPS, 100, 2 * STATES]);
        for n_sweeps in [32, 100, 2000] {
            let kept: Vec<u64> = (1..=n_sweeps).filter(|&sweep| is_kept(sweep, n_sweeps)).collect();
            assert!(kept[0] > n_sweeps / 2 && (16..24).contains(&kept.len()), "{kept:?} of {n_sweeps}");
        }
    }
}
