//! A batch: workers that join with new rows, sweep them against the pieces of earlier batches, and leave their own pieces behind.

use std::collections::{BTreeMap, HashMap};

use super::history::id_of;
use crate::consolidate::progressive::absorb_near;
use crate::consolidate::{ComponentId, PieceKey, PieceName, Pool, ShardId};
use crate::error::{Error, Result};
use crate::family::log_joint;
use crate::interrupt::Interrupt;
use crate::method::start::cells_of;
use crate::model::Model;
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{Kernel, Sampler, UNASSIGNED, sampler};

/// Sweeps over a batch, at most.
const MOST_SWEEPS: u64 = 12;
/// Sweeps end once a smaller share of the rows moves.
const SETTLED: f64 = 0.005;
/// A cell has so many rows on average.
const ROWS_PER_CELL: usize = 8;
/// Cells, at most: finer ones make a start slower than the sweeps after it.
const MOST_CELLS: usize = 800;
/// Earlier batches, as a shard of the pool; workers follow.
const PAST: ShardId = 0;

/// New rows and what they are swept with.
pub(crate) struct Batch<'a> {
    pub(crate) model: &'a Model,
    /// The rows of each worker.
    pub(crate) shards: &'a [Shard],
    pub(crate) kernel: Kernel,
    pub(crate) seed: Seed,
    pub(crate) interrupt: Interrupt,
    /// Whether α is learned.
    pub(crate) learns_alpha: bool,
}

/// What a batch contributes.
#[derive(Debug, Clone)]
pub(crate) struct Swept {
    /// The component of each row.
    pub(crate) labels: Vec<u64>,
    /// The contribution to each component.
    pub(crate) pieces: BTreeMap<u64, Stats>,
    pub(crate) alpha: f64,
    pub(crate) n_sweeps: u64,
    /// Above all numbers of components that have been used.
    pub(crate) next_component: u64,
    /// Log-joint plus label entropy.
    log_evidence: f64,
}

/// Sweeps a batch from two starts and keeps the state of the higher evidence: rows seated one after another suit a stream that stays as it is, small cells that are
/// taken in like births suit one with new clusters.
pub(crate) fn sweep_batch(
    batch: &Batch<'_>,
    past: &BTreeMap<u64, Stats>,
    next_component: u64,
    alpha: f64,
    n_batch: u64,
) -> Result<Swept> {
    let seated = Sweeps::new(batch, past, next_component, alpha).run(n_batch)?;
    let mut from_cells = Sweeps::new(batch, past, next_component, alpha);
    from_cells.start_from_cells(n_batch);
    let from_cells = from_cells.run(n_batch)?;
    Ok(if from_cells.log_evidence > seated.log_evidence { from_cells } else { seated })
}

/// A worker: its rows and what its slots are called.
struct Worker {
    sampler: Box<dyn Sampler>,
    slots: Vec<ComponentId>,
}

struct Sweeps<'a> {
    batch: &'a Batch<'a>,
    past: &'a BTreeMap<u64, Stats>,
    workers: Vec<Worker>,
    pool: Pool,
    n_births: u64,
    alpha: f64,
}

impl<'a> Sweeps<'a> {
    fn new(batch: &'a Batch<'a>, past: &'a BTreeMap<u64, Stats>, next_component: u64, alpha: f64) -> Self {
        let worker = |shard: &Shard| {
            let mut sampler = sampler(batch.model, shard.clone(), batch.kernel);
            sampler.set_interrupt(batch.interrupt.clone());
            sampler.count_overlaps(true);
            Worker { sampler, slots: Vec::new() }
        };
        let workers = batch.shards.iter().map(worker).collect();
        let mut pool = Pool::new(0);
        if let Some(last) = next_component.checked_sub(1) {
            pool.keep_clear_of(id_of(last));
        }
        let mut sweeps = Self { batch, past, workers, pool, n_births: 0, alpha };
        sweeps.enter_past();
        sweeps.pool.settle(batch.model.conjugate());
        sweeps
    }

    fn enter_past(&mut self) {
        for (number, stats) in self.past {
            let key = PieceKey::whole(PAST, PieceName::Component(id_of(*number)));
            self.pool.enter(key, Some(stats.clone()), id_of(*number));
        }
    }

    /// Begins with small cells of the rows, which are taken in like births of the workers.
    fn start_from_cells(&mut self, n_batch: u64) {
        let n_threads = self.workers.len();
        let mut births = Vec::new();
        for (worker_ix, shard) in self.batch.shards.iter().enumerate() {
            let n_cells = (shard.n_rows() / ROWS_PER_CELL).clamp(1, MOST_CELLS);
            let mut rng = self.batch.seed.stream(Role::Start, worker_ix as u32 + 1, n_batch);
            let cells = cells_of(shard, self.batch.model, n_cells, n_threads, &self.batch.interrupt, &mut rng);
            let worker = &mut self.workers[worker_ix];
            worker.sampler.load(&vec![self.batch.model.conjugate().empty_stats(); n_cells]);
            worker.sampler.set_labels(cells);
            worker.slots.clear();
            births.push(worker.sampler.contributions());
        }
        let mut rng = self.batch.seed.stream(Role::Coordinator, u32::MAX, n_batch);
        self.absorb(births, &mut rng);
    }

    /// Takes in what the workers contribute, slot by slot; slots without a name are births.
    fn absorb(&mut self, contributions: Vec<Vec<Stats>>, rng: &mut Stream) {
        let family = self.batch.model.conjugate();
        let mut pool = Pool::new(0);
        pool.keep_clear_of(id_of(self.pool.n_minted()));
        self.pool = pool;
        self.enter_past();
        let mut births = Vec::new();
        for (worker_ix, of_slots) in contributions.into_iter().enumerate() {
            let shard = PAST + 1 + worker_ix as ShardId;
            let slots = &self.workers[worker_ix].slots;
            for (slot, stats) in of_slots.into_iter().enumerate().filter(|(_, stats)| stats.count > 0) {
                match slots.get(slot) {
                    Some(id) => self.pool.enter(PieceKey::whole(shard, PieceName::Component(*id)), Some(stats), *id),
                    None => births.push((worker_ix, slot, stats)),
                }
            }
        }
        self.pool.settle(family);
        let first_birth = self.n_births;
        self.n_births += births.len() as u64;
        let key_of = |ix: usize, worker_ix: usize| {
            PieceKey::whole(PAST + 1 + worker_ix as ShardId, PieceName::Birth(first_birth + ix as u64))
        };
        let places: Vec<(usize, usize)> = births.iter().map(|&(worker, slot, _)| (worker, slot)).collect();
        let births =
            births.into_iter().enumerate().map(|(ix, (worker, _, stats))| (key_of(ix, worker), stats)).collect();
        absorb_near(&mut self.pool, births, family, self.alpha, rng);
        self.pool.settle(family);
        for (ix, (worker_ix, slot)) in places.into_iter().enumerate() {
            let owner = self.pool.piece(key_of(ix, worker_ix)).expect("births are in the ledger").owner;
            let slots = &mut self.workers[worker_ix].slots;
            // a slot between births that has no rows is never looked at
            slots.resize(slots.len().max(slot + 1), owner);
            slots[slot] = owner;
        }
    }

    /// One sweep of all workers; the number of rows that moved.
    fn sweep(&mut self, n_batch: u64, sweep: u64) -> Result<u64> {
        let (ids, totals): (Vec<ComponentId>, Vec<Stats>) =
            self.pool.live().map(|(id, total)| (id, total.stats.clone())).unzip();
        let slot_of: HashMap<ComponentId, u32> = ids.iter().copied().zip(0..).collect();
        let (alpha, seed) = (self.alpha, self.batch.seed);
        let work = |(worker_ix, worker): (usize, &mut Worker)| {
            let labels = worker.sampler.labels().iter().map(|&label| match label {
                UNASSIGNED => UNASSIGNED,
                label => slot_of[&worker.slots[label as usize]],
            });
            let labels: Vec<u32> = labels.collect();
            worker.sampler.load(&totals);
            worker.sampler.set_labels(labels);
            worker.slots.clone_from(&ids);
            // the first batch of a stream has no number of its own: 0 is the fit
            let mut rng = seed.stream(Role::Sweep, worker_ix as u32, (n_batch << 8) + sweep);
            let moved = worker.sampler.sweep(alpha, &mut rng).moved;
            (moved, worker.sampler.contributions())
        };
        let work = &work;
        let swept: Vec<(u64, Vec<Stats>)> = std::thread::scope(|scope| {
            let workers = self.workers.iter_mut().enumerate();
            let threads: Vec<_> = workers.map(|worker| scope.spawn(move || work(worker))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a sweep does not panic")).collect()
        });
        if self.batch.interrupt.is_raised() {
            return Err(Error::Interrupted);
        }
        let (moved, contributions): (Vec<u64>, Vec<Vec<Stats>>) = swept.into_iter().unzip();
        let mut rng = seed.stream(Role::Coordinator, 0, (n_batch << 8) + sweep);
        self.absorb(contributions, &mut rng);
        if self.batch.learns_alpha {
            let n_rows: i64 = self.pool.live().map(|(_, total)| total.stats.count).sum();
            self.alpha = resample_alpha(self.alpha, self.pool.live().count() as u64, n_rows as u64, &mut rng);
        }
        Ok(moved.into_iter().sum())
    }

    fn run(mut self, n_batch: u64) -> Result<Swept> {
        let n_rows: usize = self.batch.shards.iter().map(Shard::n_rows).sum();
        let mut n_sweeps = 0;
        while n_sweeps < MOST_SWEEPS {
            let moved = self.sweep(n_batch, n_sweeps)?;
            n_sweeps += 1;
            if (moved as f64) < SETTLED * n_rows as f64 {
                break;
            }
        }
        let family = self.batch.model.conjugate();
        let totals: Vec<Stats> = self.pool.live().map(|(_, total)| total.stats.clone()).collect();
        // under the same α, so that starts can be compared
        let log_certainty: f64 = self.workers.iter().map(|worker| worker.sampler.overlaps().log_certainty()).sum();
        let log_evidence = log_joint(family, &totals, 1.0, 0.0) - log_certainty;
        let mut pieces: BTreeMap<u64, Stats> = BTreeMap::new();
        let mut labels = Vec::with_capacity(n_rows);
        for worker in &self.workers {
            labels.extend(worker.sampler.labels().iter().map(|&label| worker.slots[label as usize].number));
            for (slot, stats) in worker.sampler.contributions().into_iter().enumerate() {
                if stats.count > 0 {
                    let sum = pieces.entry(worker.slots[slot].number).or_insert_with(|| family.empty_contribution());
                    sum.add(&stats);
                }
            }
        }
        let next_component = self.pool.n_minted() + 1;
        Ok(Swept { labels, pieces, alpha: self.alpha, n_sweeps, next_component, log_evidence })
    }
}
