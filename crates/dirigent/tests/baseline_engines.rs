//! The nodes of AV and SubC on the engines: same seed, same labels; no row lost or held twice; and what happens when nodes are lost.

use std::collections::BTreeSet;

use dirigent::Result;
use dirigent::consolidate::ShardId;
use dirigent::engine::Driver;
use dirigent::engine::simulated::{Cost, Crash, NoRespawn, Simulation, run_watched};
use dirigent::method::av::AvOptions;
use dirigent::method::cgs::{Observer, Outcome, log_joint_of_labels};
use dirigent::method::distributed::Engine;
use dirigent::method::slice::SliceOptions;
use dirigent::method::{MethodOptions, run};
use dirigent::model::{Alpha, Model, ModelOptions};
use dirigent::node::{AvCoordinator, AvWorker, AvWorkerOptions, Frame, SliceCoordinatorOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::rng::{Role, Seed, Stream};
use dirigent::rows::{CountTable, Shard, Table, worker_rows};
use dirigent::sweep::Kernel;
use dirigent::trace::CycleInfo;

const WORKERS: u32 = 7;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Method {
    Av { merges: bool },
    Subc,
}

const METHODS: [Method; 3] = [Method::Av { merges: false }, Method::Av { merges: true }, Method::Subc];

#[derive(Debug, Default)]
struct Log(Vec<(u64, f64, usize, f64)>);

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.0.push((info.cycle, info.log_joint, info.k, info.alpha));
        Ok(())
    }
    fn on_draw(&mut self, _state: &[u32]) -> Result<()> {
        Ok(())
    }
}

fn cells(n_rows: usize, n_columns: usize, rng: &mut Stream) -> Vec<f64> {
    let centres: Vec<f64> = (0..12 * n_columns).map(|_| 10.0 * rng.normal()).collect();
    let centre = |ix: usize| centres[(ix / n_columns % 12) * n_columns + ix % n_columns];
    (0..n_rows * n_columns).map(|ix| centre(ix) + rng.normal()).collect()
}

fn documents(n_rows: usize, rng: &mut Stream) -> Shard {
    let mut table = CountTable::new(30);
    for row in 0..n_rows {
        let first = 10 * (row % 3) as u32;
        let entries: Vec<(u32, u32)> = (first..first + 10).map(|word| (word, rng.below(4) as u32)).collect();
        table.push_row(entries.into_iter().filter(|(_, count)| *count > 0));
    }
    Shard::of_table(Table::Counts(table))
}

/// Doubles of few columns, singles of many, and documents.
fn data() -> [Shard; 3] {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let doubles = Table::from_f64(2, cells(1000, 2, &mut rng));
    let singles = Table::from_f32(20, cells(500, 20, &mut rng).into_iter().map(|cell| cell as f32).collect());
    [Shard::of_table(doubles), Shard::of_table(singles), documents(300, &mut rng)]
}

fn coordinator(cycles: u64) -> SliceCoordinatorOptions {
    SliceCoordinatorOptions {
        n_workers: WORKERS,
        model: ModelOptions::default(),
        alpha: Alpha::Auto,
        cycles: Cycles::Fixed(cycles),
        n_kept: 0,
        seed: 3,
        chain: 0,
        shows_labels: false,
        kernel: Some(Kernel::best()),
    }
}

fn options(method: Method, start: Option<Vec<u32>>, engine: Engine) -> MethodOptions {
    let rounds = SliceOptions { coordinator: coordinator(8), draws: None, engine, start, time_limit: None };
    match method {
        Method::Av { merges } => MethodOptions::Av(AvOptions { rounds, merges }),
        Method::Subc => MethodOptions::Subc(rounds),
    }
}

fn fit(method: Method, rows: &Shard, start: Option<Vec<u32>>, engine: Engine) -> Result<(Outcome, Log, Model)> {
    let options = options(method, start, engine);
    let model = Model::resolve(&ModelOptions::default(), &options.survey(rows))?;
    let mut log = Log::default();
    let (outcome, _) = run(rows, &model, &options, None, &mut log)?;
    Ok((outcome, log, model))
}

#[test]
fn threads_and_simulation_give_the_same_labels() {
    for rows in data() {
        for method in METHODS {
            for start in [None, Some((0..rows.n_rows() as u32).map(|row| row % 5).collect::<Vec<_>>())] {
                let (one, log, _) = fit(method, &rows, start.clone(), Engine::Threads(1)).unwrap();
                assert_eq!(log.0.iter().map(|line| line.0).collect::<Vec<_>>(), (1..=8).collect::<Vec<u64>>());
                let slow = Simulation {
                    stragglers: vec![(3, 7.0)],
                    reorder: 0.3,
                    loss: 0.1,
                    duplicate: 0.1,
                    ..Simulation::default()
                };
                for engine in [Engine::Threads(2), Engine::Simulated(Box::default()), Engine::Simulated(Box::new(slow))]
                {
                    let (other, other_log, _) = fit(method, &rows, start.clone(), engine).unwrap();
                    assert_eq!((other, other_log.0), (one.clone(), log.0.clone()), "{method:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_reported_is_what_the_labels_say() {
    for rows in data() {
        for method in METHODS {
            let (outcome, _, model) = fit(method, &rows, None, Engine::Threads(1)).unwrap();
            let log_joint = log_joint_of_labels(&rows, &model, outcome.alpha, &outcome.state);
            let gap = (log_joint - outcome.log_joint).abs() / log_joint.abs();
            assert!(gap < 1e-9, "{method:?}: {log_joint} but {} was reported", outcome.log_joint);
            let mut sizes = vec![0; outcome.k];
            outcome.state.iter().for_each(|&label| sizes[label as usize] += 1);
            let counts: Vec<i64> = outcome.components.iter().map(|stats| stats.count).collect();
            assert_eq!(counts, sizes, "{method:?}");
        }
    }
}

struct Silent;

impl Driver for Silent {
    fn on_report(&mut self, _info: CycleInfo) -> Result<()> {
        Ok(())
    }
    fn on_frame(&mut self, _from: ShardId, _frame: Frame) -> Result<()> {
        Ok(())
    }
}

#[test]
fn no_row_that_travels_is_lost_or_held_twice() {
    for (seed, rows) in (0..).zip(data()) {
        let n_rows = rows.n_rows();
        let worker = |shard_id: u32| {
            let own = worker_rows(shard_id as usize, WORKERS as usize, n_rows);
            let options = AvWorkerOptions { n_workers: WORKERS, first_row: own.start as u64, merges: false };
            AvWorker::new(shard_id, rows.part(own), Kernel::best(), options, None)
        };
        let simulation = Simulation {
            seed,
            reorder: 0.3,
            loss: 0.2,
            duplicate: 0.3,
            retry: 1e-3,
            cost: Cost::PerRow { worker: 1e-6, coordinator: 0.0 },
            ..Simulation::default()
        };
        let (mut n_looks, mut n_travels, mut last) = (0, 0, BTreeSet::new());
        run_watched(
            &mut AvCoordinator::new(coordinator(12)),
            (0..WORKERS).map(worker).collect(),
            &simulation,
            &mut NoRespawn,
            &mut Silent,
            &mut |moment| {
                let mut held: BTreeSet<u64> = BTreeSet::new();
                for &place in moment.workers.iter().flatten().filter_map(AvWorker::places).flatten() {
                    assert!(held.insert(place), "row {place} is held twice");
                }
                n_looks += 1;
                n_travels += usize::from(held.len() < n_rows);
                last = held;
            },
        )
        .unwrap();
        assert!(last.into_iter().eq(0..n_rows as u64), "at the end every row is somewhere");
        assert!(n_looks > 100 && n_travels > 50, "{n_looks} looks, in {n_travels} of which rows were under way");
    }
}

#[test]
fn without_a_worker_av_ends_with_an_error_and_subc_goes_on() {
    let crash = Crash { worker: 2, cycle: 3, back_after: Some(2) };
    let simulation = Simulation { crashes: vec![crash], coordinator_crash: Some(6), ..Simulation::default() };
    let engine = || Engine::Simulated(Box::new(simulation.clone()));
    for rows in data() {
        let error = fit(Method::Av { merges: false }, &rows, None, engine()).unwrap_err();
        assert!(error.to_string().contains("worker 2 was lost, and rows with it"), "{error}");
        let (outcome, log, _) = fit(Method::Subc, &rows, None, engine()).unwrap();
        assert_eq!(outcome.components.iter().map(|stats| stats.count).sum::<i64>(), rows.n_rows() as i64);
        assert!(log.0.last().unwrap().0 >= 8);
    }
    let only_the_coordinator = Simulation { coordinator_crash: Some(3), ..Simulation::default() };
    let engine = Engine::Simulated(Box::new(only_the_coordinator));
    let error = fit(Method::Av { merges: false }, &data()[0], None, engine).unwrap_err();
    assert!(error.to_string().contains("the coordinator was lost"), "{error}");
}
