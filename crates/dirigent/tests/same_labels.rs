//! Same seed, same labels: on any number of threads and in simulation, bit for bit; an asynchronous simulation replays.

use dirigent::internals::engine::simulated::{Cost, Crash, Simulation};
use dirigent::internals::method::cgs::Outcome;
use dirigent::internals::method::consolidated::{DistributedOptions, Engine, run};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table, worker_rows};
use dirigent::internals::survey::Survey;
use dirigent::{Consolidation, CycleInfo, FirstAlpha, Joins, Model, ModelOptions, Observer, Result, Schedule};

const WORKERS: usize = 20;

/// Cycle, log-joint, K and the rows that took part.
type Line = (u64, f64, usize, u64);

struct Log(Vec<Line>);

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.0.push((info.cycle, info.log_joint, info.k, info.n_rows));
        Ok(())
    }
}

fn rows(n_rows: usize) -> Shard {
    rows_apart(n_rows, 10.0)
}

/// Rows of twelve clusters with so much between them.
fn rows_apart(n_rows: usize, centre_sd: f64) -> Shard {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let centres: Vec<f64> = (0..24).map(|_| centre_sd * rng.normal()).collect();
    let cells =
        (0..n_rows).flat_map(|row| [centres[row % 12], centres[12 + row % 12]]).map(|c| c + rng.normal()).collect();
    Shard::of_table(Table::from_f64(2, cells))
}

fn fit(consolidation: Consolidation, schedule: Schedule, engine: Engine) -> (Outcome, Vec<Line>) {
    fit_with(options(consolidation, schedule), &rows(4000), engine)
}

fn options(consolidation: Consolidation, schedule: Schedule) -> CoordinatorOptions {
    CoordinatorOptions {
        n_workers: WORKERS as u32,
        consolidation,
        splits: false,
        schedule,
        cycles: Cycles::Fixed(8),
        seed: 3,
        ..CoordinatorOptions::default()
    }
}

fn fit_with(coordinator: CoordinatorOptions, rows: &Shard, engine: Engine) -> (Outcome, Vec<Line>) {
    let n_rows = rows.n_rows();
    let shards: Vec<Shard> = (0..WORKERS).map(|worker| rows.part(worker_rows(worker, WORKERS, n_rows))).collect();
    let options = DistributedOptions { coordinator, engine, ..DistributedOptions::default() };
    let mut log = Log(Vec::new());
    let model = Model::resolve(
        &ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() },
        &Survey::of_all(&shards),
    );
    let (outcome, _) = run(&shards, &model.unwrap(), &options, None, &mut log).unwrap();
    (outcome, log.0)
}

fn simulated(simulation: Simulation) -> Engine {
    Engine::Simulated(Box::new(simulation))
}

#[test]
fn threads_and_simulation_give_the_same_labels_under_every_consolidation() {
    for consolidation in [Consolidation::Progressive, Consolidation::Pooled, Consolidation::Hungarian] {
        let one = fit(consolidation, Schedule::Sync, Engine::Threads(1));
        assert!(one.0.k >= 10, "{consolidation:?} ended at {}", one.0.k);
        for engine in [Engine::Threads(2), Engine::Threads(7), simulated(Simulation::default()), disturbed()] {
            assert_eq!(fit(consolidation, Schedule::Sync, engine), one, "{consolidation:?}");
        }
    }
}

#[test]
fn threads_and_simulation_give_the_same_labels_under_the_rules_of_the_authors_program() {
    // clusters that overlap, and 50 rows per worker: so that rows often join a component new to their worker
    let rows = rows_apart(1000, 3.0);
    for splits in [false, true] {
        for consolidation in [Consolidation::Progressive, Consolidation::Pooled, Consolidation::Hungarian] {
            let by_text = CoordinatorOptions { splits, ..options(consolidation, Schedule::Sync) };
            let by_program =
                CoordinatorOptions { joins: Joins::Births, first_alpha: FirstAlpha::Shared, ..by_text.clone() };
            let fit = |options: &CoordinatorOptions, engine| fit_with(options.clone(), &rows, engine);
            let one = fit(&by_program, Engine::Threads(1));
            assert_ne!(one.1, fit(&by_text, Engine::Threads(1)).1, "{consolidation:?}");
            for engine in [Engine::Threads(7), simulated(Simulation::default()), disturbed()] {
                assert_eq!(fit(&by_program, engine), one, "{consolidation:?}");
            }
        }
    }
}

/// An engine that is slow in one place, and loses and doubles frames.
fn disturbed() -> Engine {
    let simulation =
        Simulation { stragglers: vec![(3, 7.0)], reorder: 0.3, loss: 0.1, duplicate: 0.1, ..Simulation::default() };
    simulated(simulation)
}

#[test]
fn threads_and_simulation_give_the_same_labels_with_splits() {
    for consolidation in [Consolidation::Progressive, Consolidation::Pooled, Consolidation::Hungarian] {
        let fit = |engine| {
            let options = CoordinatorOptions { splits: true, ..options(consolidation, Schedule::Sync) };
            fit_with(options, &rows(4000), engine)
        };
        let one = fit(Engine::Threads(1));
        assert!(one.0.k >= 10, "{consolidation:?} ended at {}", one.0.k);
        for engine in [Engine::Threads(2), Engine::Threads(7), simulated(Simulation::default()), disturbed()] {
            assert_eq!(fit(engine), one, "{consolidation:?}");
        }
    }
}

#[test]
fn an_asynchronous_simulation_replays() {
    let simulation = |seed| {
        simulated(Simulation {
            seed,
            stragglers: vec![(3, 7.0)],
            reorder: 0.2,
            crashes: vec![Crash { worker: 5, cycle: 2, back_after: Some(2) }],
            cost: Cost::PerRow { worker: 1e-6, coordinator: 1e-4 },
            ..Simulation::default()
        })
    };
    let first = fit(Consolidation::Progressive, Schedule::Async, simulation(1));
    assert_eq!(first, fit(Consolidation::Progressive, Schedule::Async, simulation(1)));
    assert_ne!(
        first.1,
        fit(Consolidation::Progressive, Schedule::Async, simulation(2)).1,
        "another seed, another schedule"
    );
}
