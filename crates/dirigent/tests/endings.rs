//! When runs end, and several chains: on every engine.

use dirigent::internals::engine::simulated::{Cost, Simulation};
use dirigent::internals::method::cgs::{CgsOptions, Draws, Outcome};
use dirigent::internals::method::chains::{self, Over};
use dirigent::internals::method::consolidated::{DistributedOptions, Engine};
use dirigent::internals::method::{MethodSetup, advice, run};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::survey::Survey;
use dirigent::{Alpha, CycleInfo, DrawsFrom, Kernel, Model, ModelOptions, Observer, Result, Schedule, StoppedBecause};

const AUTO: Cycles = Cycles::Auto { max: 200 };

#[derive(Default)]
struct Log {
    cycles: Vec<CycleInfo>,
    draws: Vec<Vec<u32>>,
}

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.cycles.push(info.clone());
        Ok(())
    }
    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.draws.push(state.to_vec());
        Ok(())
    }
}

fn rows() -> Shard {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let centres: Vec<f64> = (0..24).map(|_| 10.0 * rng.normal()).collect();
    let cells =
        (0..2000).flat_map(|row| [centres[row % 12], centres[12 + row % 12]]).map(|c| c + rng.normal()).collect();
    Shard::of_table(Table::from_f64(2, cells))
}

fn model_options() -> ModelOptions {
    ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() }
}

fn model() -> Model {
    Model::resolve(&model_options(), &Survey::of(&rows())).unwrap()
}

fn cgs(cycles: Cycles, draws: Option<Draws>, time_limit: Option<f64>) -> MethodSetup {
    let (alpha, kernel) = (Alpha::Fixed(1.0), Kernel::best());
    MethodSetup::Cgs(CgsOptions { cycles, time_limit, alpha, seed: 3, draws, kernel, ..CgsOptions::default() })
}

fn distributed(
    cycles: Cycles,
    draws: Option<Draws>,
    schedule: Schedule,
    engine: Engine,
    time_limit: Option<f64>,
) -> MethodSetup {
    let coordinator = CoordinatorOptions {
        n_workers: 5,
        alpha: Alpha::Fixed(1.0),
        splits: false,
        schedule,
        cycles,
        seed: 3,
        ..CoordinatorOptions::default()
    };
    MethodSetup::Distributed(DistributedOptions {
        coordinator,
        model: model_options(),
        draws,
        draws_from: DrawsFrom::Fast,
        engine,
        time_limit,
        ..DistributedOptions::default()
    })
}

/// A cluster on which a cycle of five workers with 400 rows each takes 0.1 s.
fn simulation() -> Simulation {
    let cost = Cost::PerRow { worker: 0.1 / 400.0, coordinator: 0.0 };
    Simulation { latency: 0.0, bandwidth: f64::INFINITY, cost, ..Simulation::default() }
}

fn simulated(simulation: Simulation) -> Engine {
    Engine::Simulated(Box::new(simulation))
}

fn fit(options: &MethodSetup) -> (Outcome, Log) {
    let mut log = Log::default();
    let (outcome, _) = run(&rows(), &model(), options, None, &mut log).unwrap();
    (outcome, log)
}

#[test]
fn every_method_ends_by_itself_soon_after_it_has_settled() {
    let asynchronous = distributed(AUTO, None, Schedule::Async, simulated(simulation()), None);
    for options in
        [cgs(AUTO, None, None), asynchronous, distributed(AUTO, None, Schedule::Sync, Engine::Threads(2), None)]
    {
        let (outcome, log) = fit(&options);
        assert_eq!(outcome.stopped_because, StoppedBecause::Stationary);
        assert!((9..40).contains(&outcome.cycles), "{}", outcome.cycles);
        assert_eq!(log.cycles.len() as u64, outcome.cycles);
        let max = Cycles::Auto { max: 5 };
        let cut = match options {
            MethodSetup::Cgs(options) => MethodSetup::Cgs(CgsOptions { cycles: max, ..options }),
            MethodSetup::Distributed(mut options) => {
                options.coordinator.cycles = max;
                MethodSetup::Distributed(options)
            }
            _ => unreachable!("it is not among them"),
        };
        let (outcome, _) = fit(&cut);
        assert_eq!((outcome.cycles, outcome.stopped_because), (5, StoppedBecause::MaxCycles));
    }
}

#[test]
fn a_synchronous_method_ends_at_the_same_cycle_on_every_engine() {
    let of = |engine| fit(&distributed(AUTO, None, Schedule::Sync, engine, None)).0;
    let one = of(Engine::Threads(1));
    let rough = Simulation { loss: 0.1, duplicate: 0.1, reorder: 0.3, latency: 1e-3, ..simulation() };
    for engine in [Engine::Threads(3), simulated(simulation()), simulated(rough)] {
        assert_eq!(of(engine), one);
    }
}

#[test]
fn states_are_kept_once_the_chain_is_stationary() {
    let draws = Some(Draws { n_draws: 6, thin: 3 });
    let on_threads = |draws| distributed(AUTO, draws, Schedule::Sync, Engine::Threads(2), None);
    for (with, without) in [(cgs(AUTO, draws, None), cgs(AUTO, None, None)), (on_threads(draws), on_threads(None))] {
        let (outcome, log) = fit(&with);
        assert_eq!((log.draws.len(), outcome.stopped_because), (6, StoppedBecause::Stationary));
        assert_eq!(log.draws[5], outcome.state, "the last draw is the last state");
        // without draws one cycle follows, and it is the same chain
        assert_eq!(outcome.cycles, fit(&without).0.cycles - 1 + 18);
    }
}

#[test]
fn a_lost_coordinator_does_not_change_how_many_states_are_kept() {
    let draws = Some(Draws { n_draws: 8, thin: 2 });
    let of = |coordinator_crash| {
        let engine = simulated(Simulation { coordinator_crash, ..simulation() });
        fit(&distributed(AUTO, draws, Schedule::Sync, engine, None))
    };
    let (outcome, log) = of(None);
    let settled_at = outcome.cycles - 16;
    for crash in [settled_at + 5, settled_at - 2] {
        let (outcome, its_log) = of(Some(crash));
        assert_eq!((its_log.draws.len(), outcome.stopped_because), (log.draws.len(), StoppedBecause::Stationary));
    }
}

#[test]
fn a_time_limit_ends_a_run_at_the_border_of_a_cycle_on_the_clock_of_its_engine() {
    let cycles = Cycles::Fixed(1000);
    for schedule in [Schedule::Sync, Schedule::Async] {
        let (outcome, log) = fit(&distributed(cycles, None, schedule, simulated(simulation()), Some(1.05)));
        assert_eq!(outcome.stopped_because, StoppedBecause::TimeLimit);
        let end = log.cycles.last().unwrap().virtual_seconds.unwrap();
        assert!((1.05..1.3).contains(&end), "{schedule:?}: {end}");
    }
    // no time at all: the one cycle without which rows would have no labels
    for options in
        [cgs(cycles, None, Some(0.0)), distributed(cycles, None, Schedule::Sync, Engine::Threads(2), Some(0.0))]
    {
        let (outcome, _) = fit(&options);
        assert_eq!((outcome.cycles, outcome.stopped_because), (1, StoppedBecause::TimeLimit));
        assert_eq!(outcome.labels.len(), 2000);
    }
}

#[test]
fn a_time_limit_that_cuts_the_draws_short_is_told() {
    let draws = Some(Draws { n_draws: 100, thin: 1 });
    let options = distributed(Cycles::Fixed(200), draws, Schedule::Sync, simulated(simulation()), Some(12.05));
    let mut log = Log::default();
    let outcome = chains::run(&rows(), &model(), &options, 1, None, &mut log).unwrap();
    assert_eq!(log.draws.len(), outcome.n_draws);
    assert!((19..23).contains(&outcome.n_draws), "{}", outcome.n_draws);
    let warnings = advice::warnings(&model(), &options, 1, 2000, &outcome);
    assert!(warnings.iter().any(|warning| warning.contains("time limit")), "{warnings:?}");
}

#[test]
fn chains_are_independent_and_the_best_one_counts() {
    let draws = Some(Draws { n_draws: 20, thin: 1 });
    let on_threads = distributed(Cycles::Fixed(30), draws, Schedule::Sync, Engine::Threads(2), None);
    for options in [cgs(Cycles::Fixed(30), draws, None), on_threads] {
        let mut log = Log::default();
        let outcome = chains::run(&rows(), &model(), &options, 3, None, &mut log).unwrap();
        let diagnostics = outcome.diagnostics.unwrap();
        assert_eq!((diagnostics.over, diagnostics.n_values, outcome.n_draws), (Over::Draws, 20, 60));
        let last: Vec<f64> = [29, 59, 89].map(|ix| log.cycles[ix].log_joint).to_vec();
        assert!(last[0] != last[1] && last[1] != last[2], "chains are not the same: {last:?}");
        assert_eq!(outcome.best.log_joint, last.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        assert!(log.cycles.iter().map(|info| info.chain).eq((0..90).map(|ix| 1 + ix / 30)));
        assert!(diagnostics.log_joint.r_hat.unwrap() >= 0.99, "{diagnostics:?}");
        // the first chain is what a run of one chain is
        let (alone, its_log) = fit(&options);
        assert_eq!(alone.log_joint, last[0]);
        assert_eq!(its_log.draws[..], log.draws[..20]);
    }
}

#[test]
fn what_chains_sent_adds_up_and_without_draws_the_second_half_counts() {
    let options = distributed(Cycles::Fixed(12), None, Schedule::Sync, Engine::Threads(2), None);
    let mut log = Log::default();
    let outcome = chains::run(&rows(), &model(), &options, 2, None, &mut log).unwrap();
    let totals = outcome.totals.unwrap();
    assert_eq!(totals.bytes, log.cycles.iter().map(|info| info.bytes).sum::<u64>());
    assert_eq!(totals.workers.iter().map(|worker| worker.swept_rows).sum::<u64>(), 2 * 12 * 2000);
    let diagnostics = outcome.diagnostics.unwrap();
    assert_eq!((diagnostics.over, diagnostics.n_values, diagnostics.chains.len()), (Over::SecondHalf, 6, 2));
    let outcome = chains::run(&rows(), &model(), &options, 1, None, &mut Log::default()).unwrap();
    assert_eq!(outcome.diagnostics, None);
}

#[test]
fn chains_share_the_time() {
    let options = distributed(Cycles::Fixed(1000), None, Schedule::Sync, simulated(simulation()), Some(2.05));
    let mut log = Log::default();
    let outcome = chains::run(&rows(), &model(), &options, 2, None, &mut log).unwrap();
    let ends = outcome.diagnostics.unwrap().chains;
    assert!(ends.iter().all(|end| (10..13).contains(&end.cycles)), "{ends:?}");
}
