//! Messages to frames and back; the bytes of a frame are in `envelope.rs`. What does not fit is an error, never a panic.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::av::{self, AvPush, AvReply, ShownRows};
use super::envelope::{Kind, broken, frame, open, open_shared, read, seal_shared};
use super::slice::{self, SlicePush, SliceReply};
use super::slice_move::{self, SliceSides};
use super::subc::{self, SubcPush, SubcReply};
use super::wire::{HalvesList, OverlapList, PartsList, StatsList};
use super::{Decoded, Hello, Joining, Plan, Push, Reply, ShownLabels, Snapshot, Stamp, Told, require};
use crate::consolidate::ComponentId;
use crate::error::Result;
use crate::node::{Address, Frame};
use crate::stats::{Stats, Sums};

/// A message with its stamp.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Worker to coordinator.
    Hello(Hello),
    /// Worker to coordinator.
    Push(Push),
    /// Coordinator to worker.
    Plan(Plan),
    /// Coordinator to worker.
    Reply(Reply, Snapshot),
    /// Coordinator to worker: take the incarnation of the stamp and send everything.
    Rejoin,
    /// Worker to driver.
    ShownLabels(ShownLabels),
    /// Worker to coordinator, in the slice sampler.
    SlicePush(SlicePush),
    /// Coordinator to worker, in the slice sampler.
    SliceReply(SliceReply),
    /// Worker to coordinator, in a move of the slice sampler.
    SliceSides(SliceSides),
    /// Worker to coordinator, with sub-clusters.
    SubcPush(SubcPush),
    /// Coordinator to worker, with sub-clusters.
    SubcReply(SubcReply),
    /// Worker to coordinator, where clusters travel.
    AvPush(AvPush),
    /// Coordinator to worker, where clusters travel.
    AvReply(AvReply),
    /// Worker to driver, where clusters travel.
    ShownRows(ShownRows),
    /// Statistics, for a receiver that has no plan yet and cannot read them: they were meant for an earlier life of it.
    Untimely,
}

/// A push on the wire.
#[derive(Serialize, Deserialize)]
struct PushBody {
    base_version: u64,
    joining: Option<Joining>,
    ids: Vec<ComponentId>,
    parts: PartsList,
    birth_numbers: Vec<u64>,
    births: StatsList,
    moved: u64,
    overlaps: OverlapList,
}

/// A snapshot on the wire.
#[derive(Serialize, Deserialize)]
struct SnapshotBody {
    version: u64,
    ids: Vec<ComponentId>,
    /// Which of them have changed; `None`: all.
    changed: Option<Vec<u32>>,
    totals: StatsList,
    halves: HalvesList,
}

/// The part of a reply that workers share, encoded once; means rounded to a step, where there is one.
pub fn encode_snapshot(snapshot: &Snapshot, step: Option<f64>) -> Arc<[u8]> {
    let components = &snapshot.components;
    let told: Vec<&Told> = components.iter().filter_map(|(_, told)| told.as_ref()).collect();
    let totals = told.iter().map(|told| &told.total);
    let changed = (0..components.len() as u32).filter(|&ix| components[ix as usize].1.is_some());
    let message = SnapshotBody {
        version: snapshot.version,
        ids: components.iter().map(|(id, _)| *id).collect(),
        changed: (told.len() < components.len()).then(|| changed.collect()),
        totals: match step {
            Some(step) => StatsList::pack_rounded(totals, step),
            None => StatsList::pack(totals),
        },
        halves: HalvesList::pack(&told, step),
    };
    seal_shared(&message, told.iter().any(|told| is_sparse(&told.total)))
}

/// A reply, with the snapshot that was encoded once.
pub fn encode_reply(stamp: Stamp, reply: &Reply, snapshot: &Arc<[u8]>) -> Frame {
    Frame { shared: Some(Arc::clone(snapshot)), ..frame(stamp, Kind::Reply, reply, false) }
}

/// Any message but a reply.
pub fn encode(stamp: Stamp, message: &Message) -> Frame {
    match message {
        Message::Hello(hello) => frame(stamp, Kind::Hello, hello, false),
        Message::Plan(plan) => frame(stamp, Kind::Plan, plan, false),
        Message::Rejoin => frame(stamp, Kind::Rejoin, &(), false),
        Message::ShownLabels(labels) => frame(stamp, Kind::ShownLabels, labels, true),
        Message::Push(push) => {
            let parts = PartsList::pack(push.contributions.iter().map(|(_, part)| part));
            let births = StatsList::pack(push.births.iter().map(|(_, stats)| stats));
            let has_counts = parts.is_sparse() || births.is_sparse();
            let body = PushBody {
                base_version: push.base_version,
                joining: push.joining,
                ids: push.contributions.iter().map(|(id, _)| *id).collect(),
                parts,
                birth_numbers: push.births.iter().map(|(number, _)| *number).collect(),
                births,
                moved: push.moved,
                overlaps: OverlapList::pack(&push.overlap),
            };
            frame(stamp, Kind::Push, &body, has_counts)
        }
        Message::Reply(reply, snapshot) => encode_reply(stamp, reply, &encode_snapshot(snapshot, None)),
        Message::SlicePush(push) => {
            let (body, has_counts) = slice::pack_push(push);
            frame(stamp, Kind::SlicePush, &body, has_counts)
        }
        Message::SliceReply(reply) => slice::encode_any(stamp, reply),
        Message::SliceSides(sides) => {
            let has_counts = sides.sides.iter().any(is_sparse);
            frame(stamp, Kind::SliceSides, &slice_move::pack_sides(sides), has_counts)
        }
        Message::SubcPush(push) => {
            let (body, has_counts) = subc::pack_push(push);
            frame(stamp, Kind::SubcPush, &body, has_counts)
        }
        Message::SubcReply(reply) => subc::encode_reply(stamp, &subc::encode_shared(reply)),
        Message::AvPush(push) => av::encode_push(stamp, push),
        Message::AvReply(reply) => av::encode_reply(stamp, reply),
        Message::ShownRows(shown) => frame(stamp, Kind::ShownRows, shown, true),
        Message::Untimely => panic!("only a receiver finds a message untimely"),
    }
}

/// Decodes a frame of one node to another, of which one is a worker and the stamp is that worker's. What is refused names the sender.
pub fn decode_between(frame: &Frame, from: Address, to: Address, stats_len: Option<usize>) -> Result<(Stamp, Message)> {
    let decoded = decode(frame, stats_len).and_then(|(stamp, message)| {
        let worker = Address::Worker(stamp.shard);
        require([from, to].contains(&worker), "it bears the name of another worker")?;
        Ok((stamp, message))
    });
    decoded.map_err(|refusal| refusal.of(from))
}

/// Decodes a frame; statistics must have `stats_len` coordinates, which a receiver knows from the plan.
pub fn decode(frame: &Frame, stats_len: Option<usize>) -> Decoded<(Stamp, Message)> {
    let (stamp, kind, payload) = open(&frame.own)?;
    let message = match kind {
        Kind::Hello => Message::Hello(read(payload)?),
        Kind::Plan => Message::Plan(read(payload)?),
        Kind::Rejoin => Message::Rejoin,
        Kind::ShownLabels => Message::ShownLabels(read(payload)?),
        Kind::ShownRows => Message::ShownRows(read(payload)?),
        // all that are left hold statistics
        _ if stats_len.is_none() => Message::Untimely,
        Kind::SlicePush => Message::SlicePush(slice::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        Kind::SliceReply => {
            let shared = frame.shared.as_ref();
            Message::SliceReply(slice::decode_reply(read(payload)?, shared, stats_len.unwrap_or(0))?)
        }
        Kind::SliceSides => Message::SliceSides(slice_move::unpack_sides(read(payload)?, stats_len.unwrap_or(0))?),
        Kind::SubcPush => Message::SubcPush(subc::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        Kind::SubcReply => Message::SubcReply(subc::decode_reply(frame.shared.as_ref(), stats_len.unwrap_or(0))?),
        Kind::AvPush => Message::AvPush(av::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        Kind::AvReply => {
            let shared = frame.shared.as_ref();
            Message::AvReply(av::decode_reply(read(payload)?, shared, stats_len.unwrap_or(0))?)
        }
        Kind::Push => Message::Push(unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        Kind::Reply => {
            let shared = frame.shared.as_ref().ok_or_else(|| broken("a reply without its snapshot"))?;
            Message::Reply(read(payload)?, decode_snapshot(shared, stats_len.unwrap_or(0))?)
        }
    };
    Ok((stamp, message))
}

/// The part of a reply that is for one worker, without the snapshot that all are sent.
pub(crate) fn decode_reply_alone(own: &[u8]) -> Decoded<Reply> {
    match open(own)? {
        (_, Kind::Reply, payload) => read(payload),
        _ => Err(broken("not a reply")),
    }
}

fn unpack_push(body: PushBody, stats_len: usize) -> Decoded<Push> {
    let another_family = || broken("statistics of another family");
    let parts = body.parts.unpack(stats_len).ok_or_else(another_family)?;
    let births = body.births.unpack(stats_len).ok_or_else(another_family)?;
    if parts.len() != body.ids.len() || births.len() != body.birth_numbers.len() {
        return Err(broken("as many names as statistics"));
    }
    let overlap = body.overlaps.unpack().ok_or_else(|| broken("overlaps of nothing"))?;
    Ok(Push {
        base_version: body.base_version,
        joining: body.joining,
        contributions: body.ids.into_iter().zip(parts).collect(),
        births: body.birth_numbers.into_iter().zip(births).collect(),
        moved: body.moved,
        overlap,
    })
}

fn decode_snapshot(bytes: &[u8], stats_len: usize) -> Decoded<Snapshot> {
    let body: SnapshotBody = open_shared(bytes)?;
    let another_family = || broken("statistics of another family");
    let totals = body.totals.unpack(stats_len).ok_or_else(another_family)?;
    let halves = body.halves.unpack(&totals, stats_len).ok_or_else(another_family)?;
    let changed = body.changed.unwrap_or_else(|| (0..body.ids.len() as u32).collect());
    if totals.len() != changed.len() {
        return Err(broken("as many names as statistics"));
    }
    let mut components: Vec<_> = body.ids.into_iter().map(|id| (id, None)).collect();
    for ((ix, total), halves) in changed.into_iter().zip(totals).zip(halves) {
        let component = components.get_mut(ix as usize).ok_or_else(|| broken("a name that is not there"))?;
        component.1 = Some(Told { total, halves });
    }
    Ok(Snapshot { version: body.version, components })
}

/// Whether statistics are counts, which are worth compressing.
pub(super) fn is_sparse(stats: &Stats) -> bool {
    matches!(stats.sums, Sums::Counts(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::PieceName;
    use crate::halves::{Half, Halves, Part};
    use crate::message::envelope::{HEADER, seal};
    use crate::message::{Moved, Overlap};
    use crate::model::{Model, ModelOptions};
    use crate::node::Joins;
    use crate::rows::{Shard, Table};
    use crate::survey::Survey;
    use crate::sweep::Kernel;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn dense(count: i64, sums: [f64; 2]) -> Stats {
        Stats { count, sums: Sums::Dense(sums.into()) }
    }

    fn messages() -> Vec<Message> {
        let push = Push {
            base_version: 4,
            joining: Some(Joining { sum_log_base: -1.5, cycle: 3, alpha: 0.7 }),
            contributions: vec![
                (id(1), Part::Whole(dense(3, [0.5, -1e300]))),
                (id(4), Part::Halved { generation: 3, halves: [dense(2, [0.5, 1.0]), dense(1, [0.0, 0.1])] }),
                (id(5), Part::Whole(dense(0, [0.0, 0.0]))),
            ],
            births: vec![(7, dense(1, [2.0, 1.0 / 3.0]))],
            moved: 2,
            overlap: Overlap {
                pairs: vec![(1, 2, -2.25), (0, 7, -100.0)],
                halves: vec![(1, -1.0)],
                log_certainty: -7.5,
            },
        };
        let sparse = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
        let counts = Push {
            contributions: vec![(id(2), Part::Whole(sparse(2, &[(0, 4), (1, 1)])))],
            births: vec![],
            ..push.clone()
        };
        let known = Halves::Known { generation: 2, stats: [dense(1, [0.25, 1.0]), dense(2, [0.75, 1.0])] };
        let told = |total, halves| Some(Told { total, halves });
        let components = vec![
            (id(1), told(dense(3, [1.0, 2.0]), known)),
            (id(4), None),
            (id(6), told(dense(1, [0.0, 2.0]), Halves::Resting)),
            (id(7), told(dense(1, [0.0, 2.0]), Halves::Fresh { generation: 9 })),
        ];
        let snapshot = Snapshot { version: 8, components };
        let moved = Moved { name: PieceName::Birth(7), half: Half::Left, owner: id(1), in_half: Some(Half::Right) };
        let reply = Reply { cycle: 2, alpha: 1.5, owners: vec![moved], is_last: false };
        vec![Message::Push(push), Message::Push(counts), Message::Reply(reply, snapshot), Message::Rejoin]
    }

    #[test]
    fn hellos_plans_and_labels_survive_the_wire() {
        let shard = Shard::of_table(Table::from_f64(2, vec![0.1, 1.0 / 3.0, 1e-300, 4.0]));
        let survey = Survey::of(&shard);
        let model = Model::resolve(&ModelOptions::default(), &survey).unwrap();
        let kernel = Kernel::Portable;
        let plan = Plan {
            model,
            kernel,
            seed: 3,
            chain: 1,
            sweeps_per_cycle: 1,
            joins: Joins::Births,
            alpha_shares: 20,
            is_in_step: true,
            shows_labels: true,
            counts_overlaps: true,
            n_rows: 2,
        };
        let labels = ShownLabels { cycle: 1, components: vec![id(1)], labels: vec![0, 0], assignments: None };
        let hello = Hello { n_rows: 2, n_columns: 2, is_counts: false, kernel };
        for message in [Message::Hello(hello), Message::Plan(plan), Message::ShownLabels(labels)] {
            assert_eq!(decode(&encode(STAMP, &message), Some(2)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message), Some(2)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn labels_that_are_all_alike_survive_the_wire_and_what_a_few_bytes_open_to_is_bounded() {
        let labels = vec![0; 1_000_000];
        let message =
            Message::ShownLabels(ShownLabels { cycle: 1, components: vec![id(1)], labels, assignments: None });
        let frame = encode(STAMP, &message);
        assert!(frame.own.len() < 1_100, "{} bytes", frame.own.len());
        assert_eq!(decode(&frame, None).unwrap(), (STAMP, message));
        // without its padding it is what somebody would send to fill the memory
        let mut bytes = frame.own[..HEADER + 100].to_vec();
        seal(&mut bytes);
        let refusal = decode(&Frame::new(bytes), None).unwrap_err();
        assert!(refusal.to_string().contains("compressed more than we do"), "{refusal}");
    }

    #[test]
    fn statistics_of_another_length_are_refused() {
        for message in messages().into_iter().take(3) {
            assert!(decode(&encode(STAMP, &message), Some(1)).is_err());
        }
    }

    proptest! {
        #[test]
        fn a_damaged_frame_is_an_error_and_never_a_panic(which in 0usize..4, at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let frame = encode(STAMP, &messages()[which]);
            let mut bytes = frame.own.to_vec();
            let ix = at.index(bytes.len());
            let changed = bytes[ix] != byte;
            bytes[ix] = byte;
            let damaged = Frame { own: bytes.into(), ..frame.clone() };
            prop_assert!(!changed || decode(&damaged, Some(2)).is_err());
            let cut = Frame { own: frame.own[..cut.index(frame.own.len())].into(), ..frame };
            prop_assert!(decode(&cut, Some(2)).is_err());
        }

        #[test]
        fn arbitrary_bytes_are_an_error_and_never_a_panic(own: Vec<u8>, payload: Vec<u8>) {
            prop_assert!(decode(&Frame::new(own), Some(2)).is_err());
            // with a header that fits, the body is reached
            let mut bytes = frame(STAMP, Kind::Push, &(), false).own[..HEADER].to_vec();
            bytes.extend(payload);
            seal(&mut bytes);
            let _ = decode(&Frame::new(bytes), Some(2));
        }
    }
}
