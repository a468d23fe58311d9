//! The slice sampler's nodes on the engines: same seed, same labels; and no row lost or counted twice, whatever goes wrong.

#[path = "common/rounds.rs"]
mod rounds;

use dirigent::internals::consolidate::{ComponentId, ShardId};
use dirigent::internals::engine::Driver;
use dirigent::internals::engine::simulated::{Respawn, Simulation, run_watched};
use dirigent::internals::method::cgs::Outcome;
use dirigent::internals::method::consolidated::Engine;
use dirigent::internals::method::rounds::RoundsOptions;
use dirigent::internals::method::slice::run;
use dirigent::internals::method::slice::{SliceCoordinator, SliceWorker};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::{CoordinatorOptions, Frame};
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::Shard;
use dirigent::internals::survey::Survey;
use dirigent::{CycleInfo, Model, ModelOptions, Result, Stats};

use rounds::{Log, Makers, Nodes, documents, gaussian_rows, parts, random_simulation};

fn options(n_workers: usize, cycles: u64, moves_per_cycle: u8) -> CoordinatorOptions {
    CoordinatorOptions {
        moves_per_cycle,
        n_workers: n_workers as u32,
        cycles: Cycles::Fixed(cycles),
        seed: 3,
        ..CoordinatorOptions::default()
    }
}

fn fit(rows: &Shard, start: Option<Vec<u32>>, engine: Engine) -> (Outcome, Vec<(u64, f64, usize, f64)>) {
    let options = RoundsOptions { coordinator: options(7, 8, 4), engine, start, ..RoundsOptions::default() };
    let mut log = Log::default();
    let shards = parts(rows, 7);
    let model = Model::resolve(&ModelOptions::default(), &Survey::of_all(&shards)).unwrap();
    let (outcome, _) = run(&shards, &model, &options, None, &mut log).unwrap();
    (outcome, log.0)
}

#[test]
fn threads_and_simulation_give_the_same_labels() {
    let mut rng = Seed::new(4).stream(Role::Synthetic, 0, 0);
    let rows = [gaussian_rows(2000, 2, &mut rng), gaussian_rows(1000, 20, &mut rng), documents(500, &mut rng)];
    for rows in rows {
        for start in [None, Some((0..rows.n_rows() as u32).map(|row| row % 5).collect())] {
            let one = fit(&rows, start.clone(), Engine::Threads(1));
            assert_eq!(one.1.iter().map(|line| line.0).collect::<Vec<_>>(), (1..=8).collect::<Vec<u64>>());
            let slow = Simulation {
                stragglers: vec![(3, 7.0)],
                reorder: 0.3,
                loss: 0.1,
                duplicate: 0.1,
                ..Simulation::default()
            };
            for engine in [Engine::Threads(2), Engine::Simulated(Box::default()), Engine::Simulated(Box::new(slow))] {
                assert_eq!(fit(&rows, start.clone(), engine), one);
            }
        }
    }
}

struct CycleNumbers(Vec<u64>);

impl Driver for CycleNumbers {
    fn on_report(&mut self, info: CycleInfo) -> Result<()> {
        self.0.push(info.cycle);
        Ok(())
    }
    fn on_frame(&mut self, _from: ShardId, _frame: Frame) -> Result<()> {
        Ok(())
    }
}

/// What the workers there are contribute, added up in their order.
fn of_labels(workers: &[Option<SliceWorker>]) -> Vec<(ComponentId, Stats)> {
    let mut totals = std::collections::BTreeMap::new();
    for (id, stats) in workers.iter().flatten().flat_map(SliceWorker::contributions) {
        match totals.get_mut(&id) {
            None => drop(totals.insert(id, stats)),
            Some(total) => Stats::add(total, &stats),
        }
    }
    totals.into_iter().collect()
}

#[test]
fn statistics_equal_the_labels_at_rest_after_any_schedule() {
    let mut n_rests = 0;
    for seed in 0..100 {
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        let rows = if seed % 2 == 0 { gaussian_rows(60, 2, &mut rng) } else { documents(60, &mut rng) };
        let simulation = random_simulation(seed, true, &mut rng);
        let n_shards = 3 + simulation.joins.len();
        let makers =
            Makers { worker: SliceWorker::new, restore: SliceWorker::restore, rebuild: SliceCoordinator::rebuild };
        let mut nodes = Nodes::new(parts(&rows, n_shards), options(3, 7, 3 * (seed % 3 > 0) as u8), makers);
        let mut coordinator = SliceCoordinator::new(nodes.options.clone(), nodes.model.clone());
        let workers = (0..3).map(|shard| nodes.worker(shard, None).unwrap()).collect();
        let mut cycles = CycleNumbers(Vec::new());
        run_watched(&mut coordinator, workers, &simulation, &mut nodes, &mut cycles, &mut |moment| {
            if moment.in_flight == 0 && moment.workers.iter().all(Option::is_some) {
                assert_eq!(moment.coordinator.components(), of_labels(moment.workers), "seed {seed}");
                n_rests += 1;
            }
        })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}, {simulation:?}"));
        let last = coordinator.components().iter().map(|(_, stats)| stats.count).sum::<i64>();
        // a worker may come back without memory when all is over, and find no draw to be seated by, or not come back at all
        let may_miss = simulation.crashes.iter().any(|crash| crash.cycle + crash.back_after.unwrap_or(0) >= 6);
        let is_whole = last == 60 || (may_miss && last < 60);
        assert!(is_whole, "seed {seed}: {last} rows, {simulation:?}");
        assert!(cycles.0.is_sorted(), "seed {seed}: {:?}", cycles.0);
    }
    assert!(n_rests > 100, "the law was looked at {n_rests} times");
}
