//! The conservation law over random schedules: reordering, loss, doubles, crashes and returns, nonsense, joins, a lost coordinator, merges and splits.
//! After every event the pool equals the labels of each shard's last absorbed push; at rest it equals the live labels.

#[path = "conservation/soak.rs"]
mod soak;

use dirigent::internals::consolidate::ShardId;
use dirigent::internals::engine::Driver;
use dirigent::internals::engine::simulated::{Checkpoints, Cost, Crash, Garbage, Respawn, Simulation, run_watched};
use dirigent::internals::family::{GaussianFixed, Multinomial, table_of_rows};
use dirigent::internals::method::consolidated::conservation::Witness;
use dirigent::internals::method::consolidated::{ConsolidatedCoordinator, ConsolidatedWorker};
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::protocol::Frame;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{CountRow, Shard};
use dirigent::internals::survey::Survey;
use dirigent::{
    Alpha, Conjugate, Consolidation, CycleInfo, Family, FirstAlpha, Gamma, Joins, Kernel, Model, ModelOptions,
    OwnedRow, Result, Row, Schedule, Stream,
};

const N_ROWS: usize = 25;

/// Counts what is reported.
#[derive(Default)]
struct Counting {
    n_splits: u64,
    /// Of components with one another, at least.
    n_merges: u64,
    /// What was noticed.
    notices: Vec<String>,
}

impl Driver for Counting {
    fn on_notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }

    fn on_report(&mut self, info: CycleInfo) -> Result<()> {
        self.n_splits += info.splits;
        // births that found a component count as merged too
        self.n_merges += info.merges.saturating_sub(info.births);
        Ok(())
    }
    fn on_frame(&mut self, _from: ShardId, _frame: Frame) -> Result<()> {
        Ok(())
    }
}

/// Makes the nodes of one random schedule.
struct Nodes {
    shards: Vec<Shard>,
    options: CoordinatorOptions,
    /// The workers that a new coordinator will find.
    model: Model,
    workers: Vec<ShardId>,
    n_restarts: u32,
}

impl Nodes {
    fn new(shards: Vec<Shard>, options: &CoordinatorOptions, model: &ModelOptions) -> Self {
        let survey = Survey::of_all(&shards[..options.n_workers as usize]);
        let model = Model::resolve(model, &survey).unwrap();
        Self { shards, options: options.clone(), model, workers: Vec::new(), n_restarts: 0 }
    }
}

impl Respawn<ConsolidatedCoordinator, ConsolidatedWorker> for Nodes {
    fn worker(&mut self, shard_id: ShardId, checkpoint: Option<Vec<u8>>) -> Result<ConsolidatedWorker> {
        let shard = self.shards[shard_id as usize].clone();
        match checkpoint {
            Some(checkpoint) => ConsolidatedWorker::restore(shard_id, shard, Kernel::Portable, &checkpoint),
            None => Ok(ConsolidatedWorker::new(shard_id, shard, Kernel::Portable)),
        }
    }

    fn on_workers(&mut self, alive: &[ShardId]) {
        self.workers = alive.to_vec();
    }

    fn coordinator(&mut self) -> Result<ConsolidatedCoordinator> {
        self.n_restarts += 1;
        let first = &self.shards[..self.options.n_workers as usize];
        let n_rows = first.iter().map(|shard| shard.n_rows() as u64).sum();
        let plan = self.options.plan(&self.model, n_rows, Kernel::Portable);
        Ok(ConsolidatedCoordinator::rebuild(self.options.clone(), plan, &self.workers, self.n_restarts))
    }
}

fn shard(is_text: bool, rng: &mut Stream) -> Shard {
    let like = Row::Counts(CountRow { words: &[0], counts: &[12] });
    if is_text {
        let family = Multinomial { smoothing: 0.6, n_words: 8 };
        let rows = rows_of(&family, like, rng);
        Shard::of_table(table_of_rows(8, &rows))
    } else {
        let family = GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.0; 2], offset: vec![0.0; 2] };
        let rows = rows_of(&family, like, rng);
        Shard::of_table(table_of_rows(2, &rows))
    }
}

/// Rows of four components, closer than the model expects so that they are merged and split again, that all shards share, because the law of the components has a seed of its own.
fn rows_of<F: Family + Conjugate>(family: &F, like: Row<'_>, rng: &mut Stream) -> Vec<OwnedRow> {
    let mut law = Seed::new(99).stream(Role::Observer, 0, 0);
    let params: Vec<Vec<f64>> = (0..4).map(|_| family.sample_parameters(&family.empty_stats(), &mut law)).collect();
    (0..N_ROWS).map(|row| family.sample_row(&params[row % 4], like, rng)).collect()
}

fn random_simulation(n_workers: u32, rng: &mut Stream) -> Simulation {
    let maybe = |rng: &mut Stream, value: f64| if rng.below(2) == 0 { 0.0 } else { value };
    // worker 0 lives: with nobody left a run could only wait
    let crashes = (0..rng.below(3)).map(|_| Crash {
        worker: 1 + rng.below(n_workers as usize - 1) as ShardId,
        cycle: 1 + rng.below(8) as u64,
        back_after: (rng.below(4) > 0).then(|| 1 + rng.below(3) as u64),
    });
    Simulation {
        crashes: crashes.collect(),
        reorder: maybe(rng, 0.3),
        loss: maybe(rng, 0.2),
        duplicate: maybe(rng, 0.2),
        stragglers: vec![(0, 1.0 + 4.0 * rng.uniform())],
        coordinator_crash: (rng.below(3) == 0).then(|| 2 + rng.below(6) as u64),
        joins: (0..rng.below(2)).map(|_| (2 + rng.below(4) as u64, n_workers)).collect(),
        cost: Cost::PerRow { worker: 1e-5, coordinator: 1e-5 },
        checkpoints: Checkpoints::EveryEvents(1 + rng.below(4) as u64),
        seed: rng.bits(),
        retry: 0.01,
        garbage: (0..rng.below(2))
            .map(|_| Garbage {
                worker: 1 + rng.below(n_workers as usize - 1) as ShardId,
                cycle: 1 + rng.below(8) as u64,
                back_after: (rng.below(4) > 0).then(|| 1 + rng.below(3) as u64),
            })
            .collect(),
        ..Simulation::default()
    }
}

/// What became of one random schedule.
struct Conserved {
    /// Events that were checked.
    n_events: u64,
    /// Whether all came to rest before the last frame was gone.
    has_rested: bool,
    /// Whether all splits and merges were those of components with halves, and how many there were.
    splits: bool,
    counted: Counting,
}

fn conserve(seed: u64) -> Conserved {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let n_workers = 2 + rng.below(3) as u32;
    let is_text = rng.below(2) == 0;
    let simulation = random_simulation(n_workers, &mut rng);
    let model = if is_text {
        ModelOptions { gamma: Some(Gamma::Fixed(0.3)), ..ModelOptions::default() }
    } else {
        ModelOptions { sigma: Some(1.0), sigma0: Some(4.0), ..ModelOptions::default() }
    };
    let options = CoordinatorOptions {
        n_workers,
        alpha: if rng.below(2) == 0 { Alpha::Auto } else { Alpha::Fixed(1.0) },
        consolidation: [Consolidation::Progressive, Consolidation::Pooled, Consolidation::Hungarian][rng.below(3)],
        splits: rng.below(2) == 0,
        joins: if rng.below(2) == 0 { Joins::ById } else { Joins::Births },
        first_alpha: if rng.below(2) == 0 { FirstAlpha::Full } else { FirstAlpha::Shared },
        schedule: if rng.below(2) == 0 { Schedule::Sync } else { Schedule::Async },
        cycles: if rng.below(2) == 0 { Cycles::Fixed(20) } else { Cycles::Auto { max: 20 } },
        n_kept: [0, 0, 3][rng.below(3)],
        seed,
        sweeps_per_cycle: 1 + rng.below(2) as u32,
        kernel: Some(Kernel::Portable),
        ..CoordinatorOptions::default()
    };
    let shards = (0..n_workers as usize + simulation.joins.len()).map(|_| shard(is_text, &mut rng)).collect();
    let mut nodes = Nodes::new(shards, &options, &model);
    let workers = (0..n_workers).map(|shard_id| nodes.worker(shard_id, None).unwrap()).collect();
    // pooled consolidation regroups components of its own accord
    let splits = options.splits && options.consolidation != Consolidation::Pooled;
    let mut coordinator = ConsolidatedCoordinator::new(options, nodes.model.clone());
    let mut counted = Counting::default();
    let (mut witness, mut n_events, mut n_rests) = (Witness::default(), 0, 0);
    let described = format!("seed {seed}: {simulation:?}");
    run_watched(&mut coordinator, workers, &simulation, &mut nodes, &mut counted, &mut |moment| {
        n_events += 1;
        let verdict = witness.check(moment.coordinator, moment.workers);
        assert_eq!(verdict, Ok(()), "event {n_events} at {} of {described}", moment.at);
        if moment.in_flight == 0 && moment.workers.iter().flatten().all(ConsolidatedWorker::is_done) {
            n_rests += 1;
            let verdict = witness.check_at_rest(moment.coordinator, moment.workers);
            assert_eq!(verdict, Ok(()), "at rest, event {n_events} of {described}");
        }
    })
    .unwrap_or_else(|error| panic!("{error}: {described}"));
    Conserved { n_events, has_rested: n_rests > 0, splits, counted }
}

#[test]
fn a_worker_that_sends_noise_is_expelled_by_name_and_the_others_go_on() {
    for (schedule, back_after) in
        [Schedule::Sync, Schedule::Async].into_iter().flat_map(|schedule| [(schedule, Some(2)), (schedule, None)])
    {
        let mut rng = Seed::new(7).stream(Role::Observer, 0, 0);
        let garbage = vec![Garbage { worker: 1, cycle: 4, back_after }];
        let cost = Cost::PerRow { worker: 1e-5, coordinator: 1e-5 };
        // doubles of what an expelled worker said must not cost its successor its place
        let simulation = Simulation { garbage, cost, duplicate: 0.5, reorder: 0.3, ..Simulation::default() };
        let options = CoordinatorOptions {
            n_workers: 3,
            schedule,
            cycles: Cycles::Fixed(15),
            seed: 7,
            kernel: Some(Kernel::Portable),
            ..CoordinatorOptions::default()
        };
        let shards = (0..3).map(|_| shard(false, &mut rng)).collect();
        let model = ModelOptions { sigma: Some(1.0), sigma0: Some(4.0), ..ModelOptions::default() };
        let mut nodes = Nodes::new(shards, &options, &model);
        let workers = (0..3).map(|shard_id| nodes.worker(shard_id, None).unwrap()).collect();
        let (mut coordinator, mut counted, mut witness) =
            (ConsolidatedCoordinator::new(options, nodes.model.clone()), Counting::default(), Witness::default());
        let totals = run_watched(&mut coordinator, workers, &simulation, &mut nodes, &mut counted, &mut |moment| {
            assert_eq!(witness.check(moment.coordinator, moment.workers), Ok(()), "at {}", moment.at);
        });
        let totals = totals.unwrap();
        assert_eq!(counted.notices.len(), 1, "{:?}", counted.notices);
        assert!(counted.notices[0].starts_with("worker 1 is expelled: "), "{:?}", counted.notices);
        let n_rows: i64 = coordinator.pool().live().map(|(_, total)| total.stats.count).sum();
        let n_members = 2 + back_after.map_or(0, |_| 1);
        assert_eq!(n_rows, (n_members * N_ROWS) as i64, "{schedule:?}, back after {back_after:?}");
        assert_eq!(totals.workers[1].restarts, u64::from(back_after.is_some()));
    }
}

#[test]
fn pool_equals_labels_after_any_schedule() {
    let conserved: Vec<Conserved> = (0..350).map(conserve).collect();
    let n_events = conserved.iter().map(|conserved| conserved.n_events).sum::<u64>();
    assert!(n_events > 20_000, "{n_events} events were checked");
    // a doubled frame may be under way to the very end
    let n_rested = conserved.iter().filter(|conserved| conserved.has_rested).count();
    assert!(n_rested > 270, "{n_rested} schedules were checked at rest");
    let with_splits: Vec<&Counting> =
        conserved.iter().filter(|conserved| conserved.splits).map(|conserved| &conserved.counted).collect();
    let n_split = with_splits.iter().filter(|counted| counted.n_splits > 0).count();
    let n_merged = with_splits.iter().filter(|counted| counted.n_merges > 0).count();
    assert!(n_split > 30 && n_merged > 40, "splits in {n_split}, merges in {n_merged} of {}", with_splits.len());
}
