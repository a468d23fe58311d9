//! Rows, watchers and random schedules for the nodes of methods in rounds.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

use dirigent::internals::consolidate::ShardId;
use dirigent::internals::engine::simulated::{Checkpoints, Cost, Crash, Respawn, Simulation};
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::protocol::message::Plan;
use dirigent::internals::rows::{CountTable, Shard, Table, worker_rows};
use dirigent::internals::survey::Survey;
use dirigent::{CycleInfo, Kernel, Model, ModelOptions, Observer, Result, Stream};

/// Cycle, log-joint, K and α of every cycle.
#[derive(Debug, Default, PartialEq)]
pub struct Log(pub Vec<(u64, f64, usize, f64)>);

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.0.push((info.cycle, info.log_joint, info.k, info.alpha));
        Ok(())
    }
}

/// The cells of rows of twelve clusters.
pub fn cells(n_rows: usize, n_columns: usize, rng: &mut Stream) -> Vec<f64> {
    let centres: Vec<f64> = (0..12 * n_columns).map(|_| 10.0 * rng.normal()).collect();
    let centre = |ix: usize| centres[(ix / n_columns % 12) * n_columns + ix % n_columns];
    (0..n_rows * n_columns).map(|ix| centre(ix) + rng.normal()).collect()
}

pub fn gaussian_rows(n_rows: usize, n_columns: usize, rng: &mut Stream) -> Shard {
    Shard::of_table(Table::from_f64(n_columns, cells(n_rows, n_columns, rng)))
}

/// Documents of three topics.
pub fn documents(n_rows: usize, rng: &mut Stream) -> Shard {
    let mut table = CountTable::new(30);
    for row in 0..n_rows {
        let first = 10 * (row % 3) as u32;
        let entries: Vec<(u32, u32)> = (first..first + 10).map(|word| (word, rng.below(4) as u32)).collect();
        table.push_row(entries.into_iter().filter(|(_, count)| *count > 0));
    }
    Shard::of_table(Table::Counts(table))
}

pub fn parts(rows: &Shard, n_workers: usize) -> Vec<Shard> {
    (0..n_workers).map(|worker| rows.part(worker_rows(worker, n_workers, rows.n_rows()))).collect()
}

/// How the nodes of a method are made.
pub struct Makers<C, W> {
    pub worker: fn(ShardId, Shard, Kernel) -> W,
    pub restore: fn(ShardId, Shard, Kernel, &[u8]) -> Result<W>,
    pub rebuild: fn(CoordinatorOptions, Plan, &[ShardId], u32) -> C,
}

/// Makes the nodes of one random schedule, and makes them again.
pub struct Nodes<C, W> {
    pub shards: Vec<Shard>,
    pub options: CoordinatorOptions,
    pub model: Model,
    makers: Makers<C, W>,
    workers: Vec<ShardId>,
    n_restarts: u32,
}

impl<C, W> Nodes<C, W> {
    pub fn new(shards: Vec<Shard>, options: CoordinatorOptions, makers: Makers<C, W>) -> Self {
        let first = &shards[..options.n_workers as usize];
        let model = Model::resolve(&ModelOptions::default(), &Survey::of_all(first)).unwrap();
        Self { shards, options, model, makers, workers: Vec::new(), n_restarts: 0 }
    }
}

impl<C, W> Respawn<C, W> for Nodes<C, W> {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<W> {
        let shard = self.shards[shard_id as usize].clone();
        match checkpoint {
            Some(checkpoint) => (self.makers.restore)(shard_id, shard, Kernel::best(), &checkpoint),
            None => Ok((self.makers.worker)(shard_id, shard, Kernel::best())),
        }
    }
    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }
    fn coordinator(&mut self) -> Result<C> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let n_rows = first.iter().map(|shard| shard.n_rows() as u64).sum();
        let plan = self.options.plan(&self.model, n_rows, Kernel::best());
        Ok((self.makers.rebuild)(self.options.clone(), plan, &self.workers, self.n_restarts))
    }
}

/// Of three workers; a fourth may join.
pub fn random_simulation(seed: u64, may_join: bool, rng: &mut Stream) -> Simulation {
    let crash = |rng: &mut Stream| Crash {
        worker: rng.below(3) as u32,
        cycle: 1 + rng.below(5) as u64,
        back_after: Some(1 + rng.below(2) as u64),
    };
    Simulation {
        seed,
        reorder: 0.3 * rng.uniform(),
        loss: 0.2 * rng.uniform(),
        // within a cycle: what is lost does not keep a worker away until all is over
        retry: 1e-3,
        duplicate: 0.3 * rng.uniform(),
        crashes: if rng.below(2) == 0 { vec![crash(rng)] } else { Vec::new() },
        coordinator_crash: (rng.below(3) == 0).then(|| 1 + rng.below(5) as u64),
        joins: if may_join && rng.below(3) == 0 { vec![(2, 3)] } else { Vec::new() },
        checkpoints: [Checkpoints::EveryReport, Checkpoints::EveryEvents(2)][rng.below(2)],
        cost: Cost::PerRow { worker: 1e-3, coordinator: 0.0 },
        ..Simulation::default()
    }
}
