//! Two rules of the authors' program: joins arrive as births, and the first cycle shares α.

use std::collections::HashMap;

use super::splits::{Message, restless};
use super::*;
use crate::consolidate::PieceName;
use crate::halves::Part;
use crate::method::consolidated::message::ComponentSnapshot;
use crate::method::consolidated::message::Push;
use crate::method::consolidated::{FirstAlpha, Joins};
use crate::protocol::codec::{decode, encode};
use crate::protocol::message::Plan;

/// Three workers whose rows change their component all the time.
fn bench_of(options: CoordinatorOptions, n_rows: usize) -> Bench {
    let mut bench = Bench::of(options, (0..3).map(|id| restless(id, n_rows)).collect());
    bench.join();
    bench
}

/// Four clusters that stay apart. The last worker has a single row, halfway between two of them:
/// wherever it goes, it had no rows there.
fn near_a_border(shard_id: ShardId) -> ConsolidatedWorker {
    let mut rng = Seed::new(u64::from(shard_id)).stream(Role::Observer, 0, 0);
    let cells = match shard_id {
        2 => vec![2.5],
        _ => (0..40).map(|row| 5.0 * f64::from(row % 4) + rng.normal()).collect(),
    };
    ConsolidatedWorker::new(shard_id, Shard::of_table(Table::from_f64(1, cells)), Kernel::Portable)
}

fn push_in(bench: &Bench, frame: &Frame) -> Push {
    let Message::Push(push) = bench.decode(frame) else { panic!("workers push") };
    push
}

/// An answer whose snapshot says everything, as one that comes back from a checkpoint needs it:
/// what is left out was sent before.
fn in_full(reply: &Frame, told: &mut HashMap<ComponentId, ComponentSnapshot>) -> Frame {
    let (stamp, Message::Reply(reply, Some(mut snapshot))) = decode(reply).unwrap() else { panic!("a reply") };
    for (id, now) in &mut snapshot.components {
        let now = now.get_or_insert_with(|| told[id].clone());
        told.insert(*id, now.clone());
    }
    encode(stamp, &Message::Reply(reply, Some(snapshot)))
}

/// A worker under the other rule that gets the same answer: its push.
fn push_of_twin(bench: &Bench, shard_id: ShardId, joins: Joins, reply: &Frame) -> Push {
    let plan = Plan { joins, ..bench.coordinator.plan().unwrap().clone() };
    let worker = bench.workers[shard_id as usize].as_ref().unwrap();
    let mut twin =
        ConsolidatedWorker::resume(shard_id, worker.shard().clone(), Kernel::Portable, plan, &worker.checkpoint())
            .unwrap();
    let mut out = Outbox::default();
    twin.on(Event::Frame { from: Address::Coordinator, frame: reply.clone() }, &mut out).unwrap();
    push_in(bench, &out.frames[0].1)
}

/// The sizes of births, with those of parts that would be births.
fn sizes(push: &Push, joined: &[(ComponentId, Part)]) -> Vec<i64> {
    let births = push.births.iter().map(|(_, stats)| stats.count);
    let mut sizes: Vec<i64> = births.chain(joined.iter().map(|(_, part)| part.count())).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn rows_that_join_a_component_new_to_their_worker_arrive_as_a_birth() {
    for splits in [false, true] {
        let options = CoordinatorOptions { alpha: Alpha::Fixed(0.1), splits, ..options(3, Schedule::Sync) };
        let mut bench = Bench::of(options, (0..3).map(near_a_border).collect());
        bench.join();
        let (mut n_joins, mut told) = (0, [HashMap::new(), HashMap::new(), HashMap::new()]);
        for _ in 0..60 {
            for shard_id in 0..3 {
                let reply = bench.take_reply_to(shard_id);
                let in_full = in_full(&reply, &mut told[shard_id as usize]);
                let by_births = push_of_twin(&bench, shard_id, Joins::Births, &in_full);
                bench.reply_to_worker(shard_id, reply);
                let by_id = push_in(&bench, &bench.pushes.back().unwrap().1);
                let pieces = bench.coordinator.pool().pieces_of(shard_id).filter(|(_, piece)| piece.stats.is_some());
                let had: BTreeSet<PieceName> = pieces.map(|(key, _)| key.name).collect();
                let is_joined =
                    |(id, part): &(ComponentId, Part)| part.count() > 0 && !had.contains(&PieceName::Component(*id));
                let (joined, others): (Vec<_>, Vec<_>) = by_id.contributions.iter().cloned().partition(is_joined);
                assert_eq!(by_births.contributions, others);
                assert_eq!(sizes(&by_births, &[]), sizes(&by_id, &joined));
                n_joins += joined.len();
            }
            (0..3).for_each(|_| bench.deliver_push());
        }
        assert!(n_joins > 10, "{n_joins} joins, splits {splits}");
    }
}

#[test]
fn a_worker_whose_joins_are_unanswered_still_names_every_component_it_was_told_of() {
    for splits in [false, true] {
        let rules = CoordinatorOptions { joins: Joins::Births, splits, ..options(3, Schedule::Sync) };
        let mut bench = bench_of(rules.clone(), 40);
        let mut n_left = 0;
        for n_restarts in 1..=20 {
            bench.deliver_all(1);
            let live = bench.live();
            n_left += bench.pushes.iter().map(|(_, frame)| push_in(&bench, frame).births.len()).sum::<usize>();
            let plan = bench.coordinator.plan().unwrap().clone();
            bench.coordinator = ConsolidatedCoordinator::rebuild(rules.clone(), plan, &[0, 1, 2], n_restarts);
            bench.pushes.clear();
            bench.tell_coordinator(Event::Start);
            (0..3).for_each(|_| bench.deliver_reply());
            for (_, frame) in &bench.pushes {
                let push = push_in(&bench, frame);
                let named: BTreeSet<ComponentId> = push.contributions.iter().map(|(id, _)| *id).collect();
                assert!(live.iter().all(|id| named.contains(id)), "{live:?}, {named:?}");
            }
            (0..3).for_each(|_| bench.deliver_push());
            assert_eq!(bench.n_rows(), 120);
        }
        assert!(n_left > 20, "{n_left} births");
    }
}

#[test]
fn the_first_cycle_alone_shares_alpha_among_the_workers() {
    let first_pushes = |alpha, first_alpha| {
        let rules = CoordinatorOptions { alpha: Alpha::Fixed(alpha), first_alpha, ..options(3, Schedule::Sync) };
        let mut bench = bench_of(rules, 40);
        (0..3).for_each(|_| bench.deliver_reply());
        bench
    };
    let mut shared = first_pushes(30.0, FirstAlpha::Shared);
    assert_eq!(shared.pushes, first_pushes(10.0, FirstAlpha::Full).pushes);
    assert_ne!(shared.pushes, first_pushes(30.0, FirstAlpha::Full).pushes);
    // in the second cycle a worker that shares nothing does the same
    (0..3).for_each(|_| shared.deliver_push());
    let plan = Plan { alpha_shares: 1, ..shared.coordinator.plan().unwrap().clone() };
    let checkpoint = shared.workers[0].as_ref().unwrap().checkpoint();
    let shard = restless(0, 40).shard().clone();
    let mut unshared = ConsolidatedWorker::resume(0, shard, Kernel::Portable, plan, &checkpoint).unwrap();
    let frame = shared.take_reply_to(0);
    shared.reply_to_worker(0, frame.clone());
    let mut out = Outbox::default();
    unshared.on(Event::Frame { from: Address::Coordinator, frame }, &mut out).unwrap();
    assert_eq!(out.frames, [(Address::Coordinator, shared.take_push_of(0))]);
}
