//! The same with halves: what they were, are and become while workers are away.

use super::*;
use crate::consolidate::{PieceName, Pool, Trial};
use crate::family::Conjugate;
use crate::halves::{Half, Halves, Part};
use crate::method::consolidated::Consolidated;
use crate::method::consolidated::message::{MovedPiece, Push, Reply};
use crate::protocol::codec::decode;

use crate::protocol::codec::Message as AnyMessage;

pub(super) type Message = AnyMessage<Consolidated>;

/// Rows of clusters that overlap, so that rows and components change all the time; the last worker
/// has few.
pub(super) fn restless(shard_id: ShardId, n_rows: usize) -> ConsolidatedWorker {
    let mut rng = Seed::new(u64::from(shard_id)).stream(Role::Observer, 0, 0);
    let cells = (0..n_rows).map(|row| 2.5 * (row % 4) as f64 + rng.normal()).collect();
    ConsolidatedWorker::new(shard_id, Shard::of_table(Table::from_f64(1, cells)), Kernel::Portable)
}

const N_ROWS: [usize; 3] = [40, 40, 6];

impl Bench {
    /// Three workers at their own pace, with splits.
    fn restless(seed: u64) -> Self {
        let options = CoordinatorOptions { splits: true, seed, ..options(3, Schedule::Async) };
        let mut bench = Self::of(options, (0..3).map(|id| restless(id, N_ROWS[id as usize])).collect());
        bench.join();
        bench
    }

    /// One push is absorbed and answered. Whether it closed a cycle: then the next one does not.
    fn step(&mut self) -> bool {
        while !self.replies.is_empty() {
            self.deliver_reply();
        }
        let before = self.n_reports;
        self.deliver_push();
        while !self.replies.is_empty() {
            self.deliver_reply();
        }
        self.n_reports > before
    }

    /// Goes on, with other seeds if need be, until there is what is looked for and the next push
    /// closes no cycle.
    fn until<T>(found: impl Fn(&mut Self) -> Option<T>) -> (Self, T) {
        for seed in 0..50 {
            let mut bench = Self::restless(seed);
            for _ in 0..150 {
                if bench.step()
                    && let Some(what) = found(&mut bench)
                {
                    return (bench, what);
                }
            }
        }
        panic!("what was looked for never came about");
    }

    pub(super) fn decode(&self, frame: &Frame) -> Message {
        decode(frame).unwrap().1
    }

    /// The push of a worker that is under way.
    fn push_of(&self, shard_id: ShardId) -> Push {
        let (_, frame) = self.pushes.iter().find(|(from, _)| *from == shard_id).expect("its push is under way");
        let Message::Push(push) = self.decode(frame) else { panic!("workers push") };
        push
    }

    /// The answer to a worker's last absorbed push.
    fn reply_of(&self, shard_id: ShardId) -> Reply {
        let mut absorbed = self.coordinator.absorbed();
        let frame = absorbed.find(|(stamp, _)| stamp.shard == shard_id).and_then(|(_, reply)| reply).unwrap();
        let Message::Reply(reply, _) = self.decode(frame) else { panic!("pushes are answered") };
        reply
    }

    fn moved(&self, shard_id: ShardId, name: PieceName, half: Half) -> Option<MovedPiece> {
        self.reply_of(shard_id).owners.into_iter().find(|moved| (moved.name, moved.half) == (name, half))
    }

    fn split_into_halves(&mut self, id: ComponentId) -> [ComponentId; 2] {
        let family = self.family();
        let (left, right) = self.coordinator.pool_mut().split_into_halves(id, &family);
        self.check();
        [left, right]
    }

    /// Lets a new generation begin.
    fn renew_halves(&mut self, id: ComponentId) -> u32 {
        let generation = self.coordinator.pool().trial(id).generation + 1;
        let pool = self.coordinator.pool_mut();
        pool.set_trial(id, Trial { generation, is_on: true, ..Trial::default() });
        generation
    }

    /// The rows of a shard in a component, as the ledger has them.
    fn n_rows_of(&self, shard_id: ShardId, id: ComponentId) -> i64 {
        let pieces = self.coordinator.pool().pieces_of(shard_id).filter(|(_, piece)| piece.owner == id);
        pieces.filter_map(|(_, piece)| piece.stats.as_ref()).map(|stats| stats.count).sum()
    }

    fn go_on(&mut self) {
        for _ in 0..40 {
            self.step();
        }
        assert_eq!(self.n_rows(), N_ROWS.iter().sum::<usize>() as i64);
    }
}

/// A component that worker 1's push says both halves of, in the current generation, and that could
/// be split at once.
fn halved(bench: &mut Bench) -> Option<(ComponentId, [i64; 2])> {
    let pool = bench.coordinator.pool();
    let current = |id: ComponentId| pool.total(id).map(|_| pool.trial(id)).filter(|trial| trial.is_on);
    bench.push_of(1).contributions.into_iter().find_map(|(id, part)| match part {
        Part::Halved { generation, halves } => {
            let is_current = current(id).is_some_and(|trial| trial.generation == generation);
            let counts = halves.map(|half| half.count);
            (is_current && pool.is_splittable(id) && counts.iter().all(|count| *count > 0)).then_some((id, counts))
        }
        Part::Whole(_) => None,
    })
}

#[test]
fn the_halves_of_a_push_go_to_the_children_of_a_component_split_meanwhile() {
    let (mut bench, (id, counts)) = Bench::until(halved);
    let away = bench.take_push_of(1);
    let children = bench.split_into_halves(id);
    bench.push_to_coordinator(1, away);
    for half in Half::BOTH {
        let moved = bench.moved(1, PieceName::Component(id), half).expect("the worker is told");
        assert_eq!(moved.owner, children[half.ix()], "{half:?}");
        assert!(bench.n_rows_of(1, moved.owner) >= counts[half.ix()], "{half:?}");
    }
    bench.go_on();
}

#[test]
fn what_is_said_of_a_component_split_in_a_later_generation_is_a_birth() {
    let lonely = |bench: &mut Bench| {
        let pool = bench.coordinator.pool();
        bench.push_of(2).contributions.into_iter().find_map(|(id, part)| {
            let is_new = part.count() > 0 && bench.n_rows_of(2, id) == 0;
            (is_new && pool.total(id).is_some() && pool.atoms(id).count() > 1).then_some((id, part))
        })
    };
    let (mut bench, (id, part)) = Bench::until(lonely);
    let away = bench.take_push_of(2);
    bench.renew_halves(id);
    bench.check();
    let atoms: Vec<PieceKey> = bench.coordinator.pool().atoms(id).map(|(key, _)| key).collect();
    let family = bench.family();
    for (ix, key) in atoms.into_iter().enumerate() {
        bench.coordinator.pool_mut().set_half(key, Half::BOTH[ix % 2]);
    }
    bench.coordinator.pool_mut().settle(&family);
    bench.check();
    let children = bench.split_into_halves(id);
    let pieces = bench.coordinator.pool().pieces_of(2);
    let names: Vec<PieceName> = pieces.map(|(key, _)| key.name).collect();
    assert!(!names.contains(&PieceName::Component(id)), "nothing waits for what the worker says of it");
    bench.push_to_coordinator(2, away);
    let halves = match part {
        Part::Whole(stats) => vec![stats],
        Part::Halved { halves, .. } => halves.into(),
    };
    for (half, stats) in Half::BOTH.into_iter().zip(halves).filter(|(_, stats)| stats.count > 0) {
        let owner = bench.moved(2, PieceName::Component(id), half).expect("the worker is told").owner;
        assert!(owner != id && bench.live().contains(&owner), "{owner:?}, which may be one of {children:?}");
        assert!(bench.n_rows_of(2, owner) >= stats.count);
    }
    bench.go_on();
}

#[test]
fn rows_that_were_in_a_half_of_an_older_generation_follow_the_half_they_were_put_into() {
    let (mut bench, (id, _)) = Bench::until(halved);
    let away = bench.take_push_of(1);
    bench.renew_halves(id);
    let family = bench.family();
    let atoms: Vec<PieceKey> = bench.coordinator.pool().atoms(id).map(|(key, _)| key).collect();
    for (ix, key) in atoms.iter().enumerate() {
        let half = Half::BOTH[ix % 2];
        bench.coordinator.pool_mut().set_half(*key, half);
    }
    bench.coordinator.pool_mut().settle(&family);
    let children = bench.split_into_halves(id);
    bench.push_to_coordinator(1, away);
    for (ix, key) in atoms.iter().enumerate().filter(|(_, key)| key.shard == 1) {
        let moved = bench.moved(1, key.name, key.half).expect("the worker is told");
        assert_eq!(moved.owner, children[ix % 2]);
    }
    bench.go_on();
}

#[test]
fn a_birth_merged_into_a_component_with_halves_goes_whole_into_one() {
    let merged = |bench: &mut Bench| {
        let ids = bench.live();
        (0..3).find_map(|shard_id| {
            let reply = bench.reply_of(shard_id);
            let is_birth =
                |moved: &&MovedPiece| matches!(moved.name, PieceName::Birth(_)) && ids.contains(&moved.owner);
            reply.owners.iter().find(is_birth).filter(|moved| moved.in_half.is_some()).map(|moved| (shard_id, *moved))
        })
    };
    // the witness has compared the rows of the birth with the half of the ledger that the answer
    // names
    let (mut bench, (shard_id, moved)) = Bench::until(merged);
    let key = PieceKey { shard: shard_id, name: PieceName::Component(moved.owner), half: moved.in_half.unwrap() };
    assert_eq!(bench.coordinator.pool().piece(key).and_then(|piece| piece.half), moved.in_half);
    assert_eq!(moved.half, Half::Left, "a birth has no halves");
    bench.go_on();
}

fn halves_of(pool: &Pool, id: ComponentId, family: &dyn Conjugate) -> Halves {
    let mut live = pool.live_with_halves(family);
    live.find_map(|(live, _, halves)| (live == id).then_some(halves)).expect("it has rows")
}

#[test]
fn a_merge_begins_a_new_generation_and_old_halves_are_void() {
    let (mut bench, (id, _)) = Bench::until(halved);
    let away = bench.take_push_of(1);
    let other = bench.live().into_iter().find(|other| *other != id).expect("there are others");
    let generations = [id, other].map(|id| bench.coordinator.pool().trial(id).generation);
    let kept = bench.merge(id, other);
    let before = if kept == id { generations[0] } else { generations[1] };
    let family = bench.family();
    let pool = bench.coordinator.pool();
    assert_eq!(pool.trial(kept), Trial { generation: before + 1, is_on: true, ..Trial::default() });
    assert_eq!(halves_of(pool, kept, &family), Halves::Fresh { generation: before + 1 });
    // the push speaks of halves that are no more
    bench.push_to_coordinator(1, away);
    let pool = bench.coordinator.pool();
    assert_eq!(halves_of(pool, kept, &family), Halves::Fresh { generation: before + 1 });
    assert!(pool.pieces_of(1).filter(|(_, piece)| piece.owner == kept).all(|(_, piece)| piece.half.is_none()));
    bench.go_on();
}
