//! Whole runs in which one frame is changed, its checksum put right: the receiver refuses it, by the name of its sender, and is as it was; or it believes what could
//! be true. Nobody panics, and the others go on.

use std::collections::{HashSet, VecDeque};

use dirigent::internals::consolidate::ShardId;
use dirigent::internals::method::av::{AvCoordinator, AvWorker, AvWorkerOptions};
use dirigent::internals::method::consolidated::conservation::Witness;
use dirigent::internals::method::consolidated::{ConsolidatedCoordinator, ConsolidatedWorker};
use dirigent::internals::method::slice::{SliceCoordinator, SliceWorker};
use dirigent::internals::method::subc::{SubcCoordinator, SubcWorker};
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::protocol::{Address, Event, Frame, Node, Outbox};
use dirigent::internals::rows::{CountTable, Shard, Table};
use dirigent::internals::survey::Survey;
use dirigent::{Covariance, Error, Kernel, Model, ModelOptions, Schedule};

use super::files::{coordinator_options, slice_options};
use super::frames::{HEADER, sealed};

const N_WORKERS: u32 = 3;
const N_ROWS: usize = 12;
/// A run has so many deliveries at most.
const LONGEST: usize = 200;

/// Methods, each with some family.
pub const N_METHODS: u8 = 12;

/// A coordinator, its workers and the frames between them.
pub struct Bench<C, W> {
    pub coordinator: C,
    pub workers: Vec<Option<W>>,
    under_way: VecDeque<(Address, Address, Frame)>,
    /// Whoever has been believed something that is not so.
    liar: Option<ShardId>,
    /// Set where the loss of a worker ends a run.
    ends_with_a_loss: bool,
    has_ended: bool,
}

/// What is done to one frame.
struct Change<'a> {
    /// Which delivery.
    at: u8,
    /// What becomes of the sender whose frame was refused: it is lost, or sends what it meant.
    is_lost: bool,
    /// Places and new bytes; a place beyond the end cuts the frame there.
    edits: &'a [u8],
}

impl Change<'_> {
    fn apply(&self, frame: &Frame) -> Frame {
        let mut own = frame.own.to_vec();
        let mut shared = frame.shared.as_ref().map(|shared| shared.to_vec());
        for edit in self.edits.chunks_exact(3) {
            let place = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
            // the upper half of all places is in the shared part, where there is one
            let (bytes, place) = match &mut shared {
                Some(shared) if place >= 1 << 15 => (shared, 4 + (place & 0x7fff)),
                _ => (&mut own, 8 + (place & 0x7fff)),
            };
            match bytes.get_mut(place) {
                Some(byte) => *byte ^= edit[2],
                None => bytes.truncate(usize::from(edit[2]).max(HEADER)),
            }
        }
        sealed(&own, shared.as_deref())
    }
}

impl<C: Node, W: Node> Bench<C, W> {
    fn new(coordinator: C, workers: Vec<W>) -> Self {
        let mut bench = Self {
            coordinator,
            workers: workers.into_iter().map(Some).collect(),
            under_way: VecDeque::new(),
            liar: None,
            ends_with_a_loss: false,
            has_ended: false,
        };
        for shard in 0..N_WORKERS {
            bench.tell(Address::Worker(shard), Event::Start).expect("nothing was changed yet");
        }
        bench
    }

    fn tell(&mut self, to: Address, event: Event) -> Result<(), Error> {
        let mut out = Outbox::default();
        match to {
            Address::Worker(shard) => match &mut self.workers[shard as usize] {
                Some(worker) => worker.on(event, &mut out)?,
                None => return Ok(()),
            },
            Address::Coordinator | Address::Driver => {
                self.coordinator.on(event, &mut out)?;
                while self.coordinator.idle(&mut out)? {}
            }
        }
        let sent = out.frames.into_iter().filter(|(receiver, _)| *receiver != Address::Driver);
        self.under_way.extend(sent.map(|(receiver, frame)| (to, receiver, frame)));
        Ok(())
    }

    fn state_of(&self, who: Address) -> Vec<u8> {
        match who {
            Address::Worker(shard) => self.workers[shard as usize].as_ref().map_or_else(Vec::new, Node::checkpoint),
            Address::Coordinator | Address::Driver => self.coordinator.checkpoint(),
        }
    }

    fn lose(&mut self, shard: ShardId) {
        self.workers[shard as usize] = None;
        self.liar = self.liar.filter(|liar| *liar != shard);
        self.under_way.retain(|(from, to, _)| ![from, to].contains(&&Address::Worker(shard)));
        let told = self.tell(Address::Coordinator, Event::Lost(shard));
        match told {
            Err(Error::Io { .. }) if self.ends_with_a_loss => self.has_ended = true,
            told => told.expect("a coordinator goes on without a worker"),
        }
    }

    /// Delivers frames in order, one of them changed, and looks on after each.
    fn run(&mut self, change: Option<&Change<'_>>, mut look: impl FnMut(&mut Self)) {
        for delivery in 0..LONGEST {
            let Some((from, to, frame)) = self.under_way.pop_front() else { break };
            match change {
                Some(change) if usize::from(change.at) == delivery => self.deliver_changed(from, to, frame, change),
                _ => self.deliver(from, to, frame),
            }
            if self.has_ended {
                break;
            }
            look(self);
        }
    }

    /// No row is counted twice, whatever anybody says; and where nobody lies, a coordinator that has just answered all has every row of every worker.
    fn check_rows(&self, in_coordinator: i64, in_workers: i64) {
        assert!(in_coordinator <= i64::from(N_WORKERS) * N_ROWS as i64, "{in_coordinator} rows");
        let n_alive = self.workers.iter().flatten().count();
        let has_answered = self.under_way.len() == n_alive
            && self.under_way.iter().all(|(from, to, _)| *from == Address::Coordinator && *to != Address::Coordinator);
        if has_answered && self.liar.is_none() {
            assert_eq!(in_coordinator, in_workers, "rows of the coordinator and of the workers");
        }
    }

    fn deliver(&mut self, from: Address, to: Address, frame: Frame) {
        match self.tell(to, Event::Frame { from, frame }) {
            Ok(()) => {}
            // rows that travel are not looked into on their way
            Err(Error::BadFrame { .. }) if self.ends_with_a_loss && self.liar.is_some() => self.has_ended = true,
            // what a coordinator makes of a lie may be nonsense to the liar, and to nobody else
            Err(Error::BadFrame { from: Address::Coordinator, why }) => match to {
                Address::Worker(shard) if self.liar == Some(shard) => self.lose(shard),
                _ => panic!("{to} refuses an answer: {why}"),
            },
            Err(Error::Io { .. }) if self.ends_with_a_loss && self.liar.is_some() => self.has_ended = true,
            // a hello that was believed, until others came
            Err(Error::BadFrame { from: Address::Worker(shard), .. }) if self.liar == Some(shard) => self.lose(shard),
            // so was one that tells of cells which the model has no place for: a run of such rows is not begun
            Err(Error::Input(_)) if self.liar.is_some() => self.has_ended = true,
            Err(error) => panic!("{to}, of {from}: {error}"),
        }
    }

    fn deliver_changed(&mut self, from: Address, to: Address, frame: Frame, change: &Change<'_>) {
        let before = self.state_of(to);
        let changed = change.apply(&frame);
        let worker = [from, to].into_iter().find_map(|end| match end {
            Address::Worker(shard) => Some(shard),
            _ => None,
        });
        let worker = worker.expect("frames go between a worker and the coordinator");
        match self.tell(to, Event::Frame { from, frame: changed.clone() }) {
            Ok(()) if changed != frame => {
                // it was believed, or taken for a late one: then the true one may still come
                self.liar = Some(worker);
                if change.is_lost {
                    self.deliver(from, to, frame);
                }
            }
            Ok(()) => {}
            // among hellos that do not go together those of most are believed
            Err(Error::BadFrame { from: Address::Worker(blamed), .. }) if blamed != worker => self.lose(blamed),
            Err(Error::BadFrame { from: blamed, .. }) => {
                assert_eq!(blamed, from, "the sender is blamed");
                assert_eq!(self.state_of(to), before, "what is refused changes nothing");
                if change.is_lost {
                    self.lose(worker);
                } else {
                    self.deliver(from, to, frame);
                }
            }
            Err(Error::Io { .. }) if self.ends_with_a_loss => self.has_ended = true,
            // a survey that could be true of rows that no family fits
            Err(Error::Input(_)) => self.has_ended = true,
            Err(error) => panic!("{to}, of {from}: {error}"),
        }
    }
}

/// Rows of two clusters, of one of several kinds.
fn shard(number: u32, family: u8) -> Shard {
    let cell = |row: usize, column: usize| {
        let noise = ((row * 7 + column * 5 + number as usize * 3) % 11) as f64 / 11.0 - 0.5;
        (if row.is_multiple_of(2) { 4.0 } else { -4.0 }) + noise
    };
    match family {
        0 => {
            let mut table = CountTable::new(5);
            for row in 0..N_ROWS as u32 {
                table.push_row([(row % 2, 3), (2 + (row + number) % 3, 1)]);
            }
            Shard::of_table(Table::Counts(table))
        }
        1 => {
            let row = |row: usize| [(row % 2) as f64, ((row + number as usize) % 3) as f64];
            Shard::of_table(Table::from_f64(2, (0..N_ROWS).flat_map(row).collect()))
        }
        _ => Shard::of_table(Table::from_f64(2, (0..2 * N_ROWS).map(|at| cell(at / 2, at % 2)).collect())),
    }
}

fn model(family: u8) -> ModelOptions {
    let covariance = match family {
        2 => Some(Covariance::Isotropic),
        3 => Some(Covariance::Full),
        _ => None,
    };
    ModelOptions { covariance, ..ModelOptions::default() }
}

fn workers<W>(family: u8, make: impl Fn(ShardId, Shard) -> W) -> Vec<W> {
    (0..N_WORKERS).map(|number| make(number, shard(number, family))).collect()
}

fn main_bench(family: u8, schedule: Schedule, splits: bool) -> Bench<ConsolidatedCoordinator, ConsolidatedWorker> {
    let options = CoordinatorOptions { schedule, splits, ..coordinator_options() };
    Bench::new(
        ConsolidatedCoordinator::new(options, resolved(family)),
        workers(family, |id, shard| ConsolidatedWorker::new(id, shard, Kernel::Portable)),
    )
}

/// The model of all workers' rows.
fn resolved(family: u8) -> Model {
    Model::resolve(&model(family), &Survey::of_all(&workers(family, |_, shard| shard))).unwrap()
}

/// A run of the default method, somewhere in it.
pub fn in_the_middle() -> Bench<ConsolidatedCoordinator, ConsolidatedWorker> {
    let mut bench = main_bench(2, Schedule::Sync, true);
    let mut n_deliveries = 0;
    bench.run(None, |bench| {
        n_deliveries += 1;
        // all have pushed, and nobody has heard an answer
        if n_deliveries == 15 {
            bench.has_ended = true;
        }
    });
    bench
}

/// The bytes: method, delivery, what becomes of the sender, changes.
pub fn run(bytes: &[u8]) -> bool {
    let Some(([method, at, fate], edits)) = bytes.split_first_chunk::<3>() else { return false };
    let change = Change { at: *at, is_lost: fate % 2 == 1, edits: &edits[..edits.len().min(24)] };
    let family = [2, 0, 3, 1][usize::from(method % 4)];
    match method % N_METHODS {
        method @ (0..=2 | 4..=6) => {
            let schedule = if method < 4 { Schedule::Sync } else { Schedule::Async };
            run_main(main_bench(family, schedule, method % 4 != 2), &change);
        }
        3 | 7 | 8 => {
            let mut bench = Bench::new(
                SliceCoordinator::new(slice_options(), resolved(family)),
                workers(family, |id, shard| SliceWorker::new(id, shard, Kernel::Portable)),
            );
            bench.run(Some(&change), |bench| {
                let of_workers = bench.workers.iter().flatten().flat_map(SliceWorker::contributions);
                let n_rows = of_workers.map(|(_, stats)| stats.count).sum();
                bench.check_rows(bench.coordinator.components().iter().map(|(_, stats)| stats.count).sum(), n_rows);
            });
        }
        9 => {
            let mut bench = Bench::new(
                SubcCoordinator::new(slice_options(), resolved(family)),
                workers(family, |id, shard| SubcWorker::new(id, shard, Kernel::Portable)),
            );
            bench.run(Some(&change), |bench| {
                let of_workers = bench.workers.iter().flatten().flat_map(SubcWorker::contributions);
                let n_rows = of_workers.map(|(_, [left, right])| left.count + right.count).sum();
                bench.check_rows(bench.coordinator.components().iter().map(|(_, stats)| stats.count).sum(), n_rows);
            });
        }
        _ => {
            let options = |id: ShardId| AvWorkerOptions {
                n_workers: N_WORKERS,
                first_row: u64::from(id) * N_ROWS as u64,
                merges: false,
            };
            let make = |id, shard| AvWorker::with_options(id, shard, Kernel::Portable, options(id));
            let mut bench = Bench::new(AvCoordinator::new(slice_options(), resolved(family)), workers(family, make));
            bench.ends_with_a_loss = true;
            bench.run(Some(&change), |_| {});
        }
    }
    true
}

/// The conservation law holds for all who have told the truth.
fn run_main(mut bench: Bench<ConsolidatedCoordinator, ConsolidatedWorker>, change: &Change<'_>) {
    let mut witness = Witness::default();
    let mut liars: HashSet<ShardId> = HashSet::new();
    bench.run(Some(change), |bench| {
        liars.extend(bench.liar);
        let away: Vec<(ShardId, Option<ConsolidatedWorker>)> =
            liars.iter().map(|&liar| (liar, bench.workers[liar as usize].take())).collect();
        let verdict = witness.check(&bench.coordinator, &bench.workers);
        away.into_iter().for_each(|(liar, worker)| bench.workers[liar as usize] = worker);
        assert_eq!(verdict, Ok(()), "liars: {liars:?}");
    });
}
