//! Nodes driven by hand through the interleavings that are easy to get wrong, the conservation law
//! checked after every event.

mod program_rules;
mod splits;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::conservation::Witness;
use super::{ConsolidatedCoordinator, ConsolidatedWorker, RowLabel, Schedule};
use crate::consolidate::{ComponentId, PieceKey, ShardId};
use crate::family::GaussianFixed;
use crate::model::{Alpha, Model, ModelOptions};
use crate::posterior::horizon::Cycles;
use crate::protocol::{Address, Event, Frame, Node, Outbox};
use crate::protocol::{Cause, CoordinatorOptions};
use crate::rng::{Role, Seed};
use crate::rows::{Shard, Table};
use crate::survey::Survey;
use crate::sweep::Kernel;

/// A coordinator, its workers and the frames between them, in the hands of a test.
struct Bench {
    coordinator: ConsolidatedCoordinator,
    workers: Vec<Option<ConsolidatedWorker>>,
    /// To the coordinator, in order of sending.
    pushes: VecDeque<(ShardId, Frame)>,
    /// To workers.
    replies: VecDeque<(ShardId, Frame)>,
    witness: Witness,
    /// Cycles that the coordinator has reported.
    n_reports: usize,
    last_cycle: u64,
}

fn options(n_workers: u32, schedule: Schedule) -> CoordinatorOptions {
    CoordinatorOptions {
        n_workers,
        alpha: Alpha::Fixed(1.0),
        splits: false,
        schedule,
        cycles: Cycles::Fixed(1000),
        seed: 1,
        kernel: Some(Kernel::Portable),
        ..CoordinatorOptions::default()
    }
}

/// The model of all shards.
fn model() -> Model {
    let options = ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() };
    Model::resolve(&options, &Survey::of(&shard(0))).unwrap()
}

/// Forty rows of four clusters on a line.
fn shard(seed: u64) -> Shard {
    let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
    let cells = (0..40).map(|row| 8.0 * f64::from(row % 4) + rng.normal()).collect();
    Shard::of_table(Table::from_f64(1, cells))
}

fn worker(shard_id: ShardId) -> ConsolidatedWorker {
    ConsolidatedWorker::new(shard_id, shard(u64::from(shard_id)), Kernel::Portable)
}

impl Bench {
    /// Everyone has joined, and the first replies are under way.
    fn new(n_workers: u32, schedule: Schedule) -> Self {
        let mut bench = Self::of(options(n_workers, schedule), (0..n_workers).map(worker).collect());
        bench.join();
        bench
    }

    /// Everyone is there, and the plan is under way.
    fn of(options: CoordinatorOptions, workers: Vec<ConsolidatedWorker>) -> Self {
        let n_workers = options.n_workers;
        let mut bench = Self {
            coordinator: ConsolidatedCoordinator::new(options, model()),
            workers: workers.into_iter().map(Some).collect(),
            pushes: VecDeque::new(),
            replies: VecDeque::new(),
            witness: Witness::default(),
            n_reports: 0,
            last_cycle: 0,
        };
        (0..n_workers).for_each(|shard_id| bench.tell_worker(shard_id, Event::Start));
        (0..n_workers).for_each(|_| bench.deliver_push());
        bench
    }

    fn join(&mut self) {
        (0..self.workers.len()).for_each(|_| self.deliver_reply());
        (0..self.workers.len()).for_each(|_| self.deliver_push());
    }

    fn tell_coordinator(&mut self, event: Event) {
        let mut out = Outbox::default();
        self.coordinator.on(event, &mut out).unwrap();
        // nothing else waits: whoever has pushed is answered
        self.coordinator.answer(Cause::Idle, &mut out).unwrap();
        self.n_reports += out.reports.len();
        self.last_cycle = out.reports.last().map_or(self.last_cycle, |report| report.cycle);
        for (to, frame) in out.frames {
            let Address::Worker(shard_id) = to else { continue };
            self.replies.push_back((shard_id, frame));
        }
        self.check();
    }

    fn tell_worker(&mut self, shard_id: ShardId, event: Event) {
        let mut out = Outbox::default();
        if let Some(worker) = &mut self.workers[shard_id as usize] {
            worker.on(event, &mut out).unwrap();
        }
        for (to, frame) in out.frames {
            if to == Address::Coordinator {
                self.pushes.push_back((shard_id, frame));
            }
        }
        self.check();
    }

    fn check(&mut self) {
        self.witness.check(&self.coordinator, &self.workers).unwrap();
    }

    fn push_to_coordinator(&mut self, shard_id: ShardId, frame: Frame) {
        self.tell_coordinator(Event::Frame { from: Address::Worker(shard_id), frame });
    }

    fn reply_to_worker(&mut self, shard_id: ShardId, frame: Frame) {
        self.tell_worker(shard_id, Event::Frame { from: Address::Coordinator, frame });
    }

    fn deliver_push(&mut self) {
        let (shard_id, frame) = self.pushes.pop_front().expect("a push is under way");
        self.push_to_coordinator(shard_id, frame);
    }

    fn deliver_reply(&mut self) {
        let (shard_id, frame) = self.replies.pop_front().expect("a reply is under way");
        self.reply_to_worker(shard_id, frame);
    }

    fn deliver_all(&mut self, n_rounds: usize) {
        for _ in 0..n_rounds {
            (0..self.pushes.len()).for_each(|_| self.deliver_push());
            (0..self.replies.len()).for_each(|_| self.deliver_reply());
        }
    }

    fn take_push_of(&mut self, shard_id: ShardId) -> Frame {
        let ix = self.pushes.iter().position(|(from, _)| *from == shard_id).expect("its push is under way");
        self.pushes.remove(ix).expect("it was just found").1
    }

    fn take_reply_to(&mut self, shard_id: ShardId) -> Frame {
        let ix = self.replies.iter().position(|(to, _)| *to == shard_id).expect("its reply is under way");
        self.replies.remove(ix).expect("it was just found").1
    }

    fn family(&self) -> GaussianFixed {
        match &self.coordinator.plan().unwrap().model {
            crate::model::Model::GaussianFixed(family) => family.clone(),
            _ => unreachable!(),
        }
    }

    fn live(&self) -> Vec<ComponentId> {
        self.coordinator.pool().live().map(|(id, _)| id).collect()
    }

    fn merge(&mut self, a: ComponentId, b: ComponentId) -> ComponentId {
        let family = self.family();
        let kept = self.coordinator.pool_mut().merge(a, b, &family);
        self.check();
        kept
    }

    /// Splits off the last piece with rows.
    fn split(&mut self, id: ComponentId) -> (ComponentId, ComponentId) {
        let family = self.family();
        let atoms: Vec<PieceKey> = self.coordinator.pool().atoms(id).map(|(key, _)| key).collect();
        assert!(atoms.len() > 1, "something to split");
        let parting = BTreeSet::from([atoms[atoms.len() - 1]]);
        let children = self.coordinator.pool_mut().split(id, &parting, &family);
        self.check();
        children
    }

    fn n_rows(&self) -> i64 {
        self.coordinator.pool().live().map(|(_, total)| total.stats.count).sum()
    }
}

#[test]
fn synchronous_cycles_conserve_every_row() {
    let mut bench = Bench::new(3, Schedule::Sync);
    bench.deliver_all(10);
    assert_eq!(bench.n_rows(), 120);
    assert!((4..=6).contains(&bench.live().len()), "{:?}", bench.live());
}

#[test]
fn who_pushes_while_the_coordinator_is_busy_is_answered_together() {
    let mut bench = Bench::new(3, Schedule::Async);
    (0..3).for_each(|_| bench.deliver_reply());
    let answers_of = |bench: &mut Bench| {
        let mut out = Outbox::default();
        for shard_id in [2, 0] {
            let frame = bench.take_push_of(shard_id);
            bench.coordinator.on(Event::Frame { from: Address::Worker(shard_id), frame }, &mut out).unwrap();
            bench.check();
        }
        assert!(out.frames.is_empty());
        assert!(bench.coordinator.idle(&mut out).unwrap(), "there may be more to do");
        assert!(!bench.coordinator.answer(Cause::Idle, &mut out).unwrap(), "nobody waits any more");
        bench.check();
        let receivers: Vec<Address> = out.frames.iter().map(|(to, _)| *to).collect();
        assert_eq!(receivers, [Address::Worker(0), Address::Worker(2)]);
        out.frames
    };
    let answers = answers_of(&mut bench);
    answers.into_iter().zip([0, 2]).for_each(|((_, frame), shard_id)| bench.reply_to_worker(shard_id, frame));
    // both have now swept against the same snapshot: so the next one is shared, too
    let shared: Vec<_> = answers_of(&mut bench).into_iter().map(|(_, frame)| frame.shared.unwrap()).collect();
    assert!(Arc::ptr_eq(&shared[0], &shared[1]));
}

#[test]
fn who_joins_when_all_are_asked_to_end_sweeps_first() {
    let mut bench = Bench::new(2, Schedule::Async);
    (0..2).for_each(|_| bench.deliver_reply());
    bench.workers.push(Some(worker(2)));
    bench.tell_worker(2, Event::Start);
    let hello = bench.take_push_of(2);
    bench.push_to_coordinator(2, hello);
    let plan = bench.take_reply_to(2);
    bench.reply_to_worker(2, plan);
    // its first push has come, and those of the others, when a stop is wanted; the coordinator was
    // busy all the time
    let mut out = Outbox::default();
    for shard_id in [2, 0, 1] {
        let frame = bench.take_push_of(shard_id);
        bench.coordinator.on(Event::Frame { from: Address::Worker(shard_id), frame }, &mut out).unwrap();
    }
    bench.tell_coordinator(Event::Stop);
    assert_eq!(bench.replies.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [2]);
    bench.deliver_reply();
    bench.deliver_push();
    assert_eq!(bench.replies.len(), 3);
    (0..3).for_each(|_| bench.deliver_reply());
    assert_eq!(bench.n_rows(), 120);
    assert!(bench.pushes.is_empty(), "nobody sweeps any more");
}

#[test]
fn asynchronous_cycles_conserve_every_row() {
    let mut bench = Bench::new(3, Schedule::Async);
    (0..3).for_each(|_| bench.deliver_reply());
    for round in 0..40 {
        // one worker is much slower than the others
        let ix = bench.pushes.iter().position(|(shard_id, _)| *shard_id != 2 || round % 5 == 0).unwrap_or(0);
        bench.pushes.rotate_left(ix);
        bench.deliver_push();
        bench.deliver_reply();
    }
    assert_eq!(bench.n_rows(), 120);
}

#[test]
fn who_sweeps_several_times_in_a_cycle_draws_afresh_each_time() {
    let overlapping = |shard_id: ShardId| {
        let mut rng = Seed::new(u64::from(shard_id)).stream(Role::Observer, 0, 0);
        let cells = (0..200).map(|row| 2.0 * f64::from(row % 2) + rng.normal()).collect();
        ConsolidatedWorker::new(shard_id, Shard::of_table(Table::from_f64(1, cells)), Kernel::Portable)
    };
    let mut bench = Bench::of(options(20, Schedule::Async), (0..20).map(overlapping).collect());
    bench.join();
    bench.deliver_all(10);
    // from now on only one worker is heard: fewer pushes than there are workers do not close a
    // cycle
    let cycle = bench.last_cycle;
    let labels = |bench: &Bench| bench.workers[0].as_ref().expect("it is there").labels();
    let (mut before, mut moved_before) = (labels(&bench), BTreeSet::new());
    let (mut n_moved, mut n_again) = (0, 0);
    for _ in 0..15 {
        let push = bench.take_push_of(0);
        bench.push_to_coordinator(0, push);
        let reply = bench.take_reply_to(0);
        bench.reply_to_worker(0, reply);
        let now = labels(&bench);
        let name_of = |labels: &[Option<RowLabel>], row_ix: usize| labels[row_ix].map(|row| row.name);
        let moved: BTreeSet<usize> = (0..200).filter(|&ix| name_of(&now, ix) != name_of(&before, ix)).collect();
        n_moved += moved.len();
        n_again += moved.intersection(&moved_before).count();
        (before, moved_before) = (now, moved);
    }
    assert!(bench.last_cycle <= cycle + 1, "{} after {cycle}", bench.last_cycle);
    // with the same random numbers it would be nearly the same rows that move each time, and the
    // others would rest
    assert!(n_moved > 300 && 2 * n_again < n_moved, "{n_again} of {n_moved} had moved before");
}

#[test]
fn who_leaves_does_not_hasten_the_cycles_of_those_who_stay() {
    let mut bench = Bench::new(4, Schedule::Async);
    bench.deliver_all(12);
    let before = bench.last_cycle;
    assert!(before >= 10, "{before}");
    bench.take_push_of(3);
    bench.workers[3] = None;
    bench.tell_coordinator(Event::Lost(3));
    for round in 1..4 {
        bench.deliver_all(1);
        assert!(bench.last_cycle <= before + round, "cycle {} after {before} and {round} more", bench.last_cycle);
    }
    assert!(bench.last_cycle > before);
}

#[test]
fn merge_split_and_merge_while_a_worker_is_away() {
    let mut bench = Bench::new(2, Schedule::Async);
    bench.deliver_all(3);
    (0..bench.pushes.len()).for_each(|_| bench.deliver_push());
    let late = bench.take_reply_to(1);
    bench.reply_to_worker(1, late);
    let away = bench.take_push_of(1);
    let ids = bench.live();
    let merged = bench.merge(ids[0], ids[1]);
    let (left, right) = bench.split(merged);
    bench.merge(left, ids[2]);
    bench.push_to_coordinator(1, away);
    bench.deliver_all(4);
    assert_eq!(bench.n_rows(), 80);
    assert!(bench.live().iter().all(|id| *id != merged) || bench.live().contains(&right));
}

#[test]
fn a_component_is_split_twice_while_a_worker_is_away() {
    let mut bench = Bench::new(3, Schedule::Async);
    bench.deliver_all(3);
    (0..bench.pushes.len()).for_each(|_| bench.deliver_push());
    (0..bench.replies.len()).for_each(|_| bench.deliver_reply());
    let away = bench.take_push_of(2);
    let shared = bench.live().into_iter().find(|id| bench.coordinator.pool().atoms(*id).count() == 3).unwrap();
    let (left, _) = bench.split(shared);
    bench.split(left);
    bench.push_to_coordinator(2, away);
    bench.deliver_all(4);
    assert_eq!(bench.n_rows(), 120);
}

#[test]
fn a_birth_is_merged_then_split_before_its_worker_hears_of_it() {
    let mut bench = Bench::new(2, Schedule::Async);
    // the first pushes are all births; both are absorbed, and neither worker hears of it yet
    bench.deliver_reply();
    bench.deliver_reply();
    bench.deliver_push();
    bench.deliver_push();
    let ids = bench.live();
    let merged = bench.merge(ids[0], ids[1]);
    bench.split(merged);
    bench.deliver_all(4);
    assert_eq!(bench.n_rows(), 80);
}

#[test]
fn a_lost_push_a_lost_reply_and_a_late_duplicate_change_nothing() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut bench = Bench::new(2, schedule);
        bench.deliver_all(2);
        let push = bench.take_push_of(0);
        // the push is lost and sent again, then arrives a second time
        bench.push_to_coordinator(0, push.clone());
        bench.push_to_coordinator(0, push.clone());
        bench.deliver_push();
        let reply = bench.take_reply_to(0);
        // the reply is lost; the engine repeats the push, and the same answer comes, byte for byte
        bench.push_to_coordinator(0, push.clone());
        assert_eq!(bench.take_reply_to(0), reply);
        bench.reply_to_worker(0, reply.clone());
        bench.reply_to_worker(0, reply.clone());
        bench.deliver_all(2);
        bench.push_to_coordinator(0, push);
        bench.reply_to_worker(0, reply);
        bench.deliver_all(3);
        assert_eq!(bench.n_rows(), 80, "{schedule:?}");
    }
}

#[test]
fn a_zombie_beside_its_replacement_is_told_to_rejoin() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut bench = Bench::new(2, schedule);
        bench.deliver_all(3);
        let zombie_push = bench.take_push_of(1);
        let checkpoint = bench.workers[1].as_ref().unwrap().checkpoint();
        let replacement = ConsolidatedWorker::restore(1, shard(1), Kernel::Portable, &checkpoint).unwrap();
        let zombie = bench.workers[1].replace(replacement);
        bench.tell_coordinator(Event::Lost(1));
        bench.tell_worker(1, Event::Start);
        bench.deliver_all(3);
        assert_eq!(bench.n_rows(), 80, "{schedule:?}");
        // what the zombie says is no longer heard
        bench.push_to_coordinator(1, zombie_push);
        assert_eq!(bench.n_rows(), 80, "{schedule:?}");
        let rejoin = bench.replies.pop_back().expect("the zombie is answered").1;
        // and if it takes the offer, its labels replace its replacement's: never both
        bench.workers[1] = zombie;
        bench.replies.retain(|(to, _)| *to != 1);
        bench.pushes.retain(|(from, _)| *from != 1);
        bench.reply_to_worker(1, rejoin);
        bench.deliver_all(4);
        assert_eq!(bench.n_rows(), 80, "{schedule:?}");
    }
}

#[test]
fn a_worker_that_leaves_takes_its_rows_and_brings_them_back() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut bench = Bench::new(3, schedule);
        bench.deliver_all(3);
        bench.pushes.retain(|(from, _)| *from != 1);
        let checkpoint = bench.workers[1].as_ref().unwrap().checkpoint();
        bench.workers[1] = None;
        bench.tell_coordinator(Event::Lost(1));
        bench.deliver_all(2);
        assert_eq!(bench.n_rows(), 80, "{schedule:?}");
        bench.workers[1] = Some(ConsolidatedWorker::restore(1, shard(1), Kernel::Portable, &checkpoint).unwrap());
        bench.tell_worker(1, Event::Start);
        bench.deliver_all(4);
        assert_eq!(bench.n_rows(), 120, "{schedule:?}");
        // a shard that was never there before
        bench.workers.push(Some(worker(3)));
        bench.tell_worker(3, Event::Start);
        bench.deliver_all(5);
        assert_eq!(bench.n_rows(), 160, "{schedule:?}");
    }
}

#[test]
fn a_lost_coordinator_is_rebuilt_from_workers_in_different_vocabularies() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut bench = Bench::new(3, schedule);
        bench.deliver_all(4);
        // worker 2 has not heard the last reply: its vocabulary is older than the others'
        (0..bench.pushes.len()).for_each(|_| bench.deliver_push());
        let _never = bench.take_reply_to(2);
        (0..bench.replies.len()).for_each(|_| bench.deliver_reply());
        let plan = bench.coordinator.plan().unwrap().clone();
        let live = bench.live();
        bench.coordinator = ConsolidatedCoordinator::rebuild(options(3, schedule), plan, &[0, 1, 2], 1);
        bench.pushes.clear();
        bench.tell_coordinator(Event::Start);
        bench.deliver_all(5);
        assert_eq!(bench.n_rows(), 120, "{schedule:?}");
        let now = bench.live();
        assert!(now.iter().any(|id| live.contains(id)), "ids survive");
    }
}

#[test]
fn an_emptied_component_is_revived_by_a_worker_that_still_knows_it() {
    // both workers know the component; one empties it while the other, away, has put rows into it
    let mut bench = Bench::new(2, Schedule::Async);
    bench.deliver_all(6);
    bench.deliver_all(1);
    for _ in 0..30 {
        bench.deliver_push();
        bench.deliver_reply();
    }
    assert_eq!(bench.n_rows(), 80);
}
