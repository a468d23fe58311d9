//! Messages to frames and back; the bytes of a frame are in `envelope.rs`. What does not fit is an error, never a panic.

use super::envelope::{FrameKind, broken, frame, open, read};
use super::message::{Hello, Plan, ShownLabels, Stamp};
use super::{Address, Decoded, Frame, require};
use crate::error::Result;
use crate::method::av::message::{self as av, AvPush, AvReply, ShownRows};
use crate::method::consolidated::message::{self as consolidated, Push, Reply, Snapshot};
use crate::method::slice::message::{self as slice, SlicePush, SliceReply};
use crate::method::slice::move_message::{self as slice_move, SliceSides};
use crate::method::subc::message::{self as subc, SubcPush, SubcReply};
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

/// Any message but a reply.
pub fn encode(stamp: Stamp, message: &Message) -> Frame {
    match message {
        Message::Hello(hello) => frame(stamp, FrameKind::Hello, hello, false),
        Message::Plan(plan) => frame(stamp, FrameKind::Plan, plan, false),
        Message::Rejoin => frame(stamp, FrameKind::Rejoin, &(), false),
        Message::ShownLabels(labels) => frame(stamp, FrameKind::ShownLabels, labels, true),
        Message::Push(push) => {
            let (body, has_counts) = consolidated::pack_push(push);
            frame(stamp, FrameKind::Push, &body, has_counts)
        }
        Message::Reply(reply, snapshot) => {
            consolidated::encode_reply(stamp, reply, &consolidated::encode_snapshot(snapshot, None))
        }
        Message::SlicePush(push) => {
            let (body, has_counts) = slice::pack_push(push);
            frame(stamp, FrameKind::SlicePush, &body, has_counts)
        }
        Message::SliceReply(reply) => slice::encode_any(stamp, reply),
        Message::SliceSides(sides) => {
            let has_counts = sides.sides.iter().any(is_sparse);
            frame(stamp, FrameKind::SliceSides, &slice_move::pack_sides(sides), has_counts)
        }
        Message::SubcPush(push) => {
            let (body, has_counts) = subc::pack_push(push);
            frame(stamp, FrameKind::SubcPush, &body, has_counts)
        }
        Message::SubcReply(reply) => subc::encode_reply(stamp, &subc::encode_shared(reply)),
        Message::AvPush(push) => av::encode_push(stamp, push),
        Message::AvReply(reply) => av::encode_reply(stamp, reply),
        Message::ShownRows(shown) => frame(stamp, FrameKind::ShownRows, shown, true),
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
    decoded.map_err(|rejection| rejection.of(from))
}

/// Decodes a frame; statistics must have `stats_len` coordinates, which a receiver knows from the plan.
pub fn decode(frame: &Frame, stats_len: Option<usize>) -> Decoded<(Stamp, Message)> {
    let (stamp, kind, payload) = open(&frame.own)?;
    let message = match kind {
        FrameKind::Hello => Message::Hello(read(payload)?),
        FrameKind::Plan => Message::Plan(read(payload)?),
        FrameKind::Rejoin => Message::Rejoin,
        FrameKind::ShownLabels => Message::ShownLabels(read(payload)?),
        FrameKind::ShownRows => Message::ShownRows(read(payload)?),
        // all that are left hold statistics
        _ if stats_len.is_none() => Message::Untimely,
        FrameKind::SlicePush => Message::SlicePush(slice::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        FrameKind::SliceReply => {
            let shared = frame.shared.as_ref();
            Message::SliceReply(slice::decode_reply(read(payload)?, shared, stats_len.unwrap_or(0))?)
        }
        FrameKind::SliceSides => Message::SliceSides(slice_move::unpack_sides(read(payload)?, stats_len.unwrap_or(0))?),
        FrameKind::SubcPush => Message::SubcPush(subc::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        FrameKind::SubcReply => Message::SubcReply(subc::decode_reply(frame.shared.as_ref(), stats_len.unwrap_or(0))?),
        FrameKind::AvPush => Message::AvPush(av::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        FrameKind::AvReply => {
            let shared = frame.shared.as_ref();
            Message::AvReply(av::decode_reply(read(payload)?, shared, stats_len.unwrap_or(0))?)
        }
        FrameKind::Push => Message::Push(consolidated::unpack_push(read(payload)?, stats_len.unwrap_or(0))?),
        FrameKind::Reply => {
            let shared = frame.shared.as_ref().ok_or_else(|| broken("a reply without its snapshot"))?;
            Message::Reply(read(payload)?, consolidated::decode_snapshot(shared, stats_len.unwrap_or(0))?)
        }
    };
    Ok((stamp, message))
}

/// Whether statistics are counts, which are worth compressing.
pub(crate) fn is_sparse(stats: &Stats) -> bool {
    matches!(stats.sums, Sums::Counts(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::{ComponentId, PieceName};
    use crate::halves::{Half, Halves, Part};
    use crate::method::consolidated::Joins;
    use crate::method::consolidated::message::ComponentSnapshot;
    use crate::method::consolidated::message::{Moved, Overlap};
    use crate::model::{Model, ModelOptions};
    use crate::protocol::envelope::{HEADER, seal};
    use crate::protocol::message::Joining;
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
        let told = |total, halves| Some(ComponentSnapshot { total, halves });
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
        let rejection = decode(&Frame::new(bytes), None).unwrap_err();
        assert!(rejection.to_string().contains("compressed more than we do"), "{rejection}");
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
            let mut bytes = frame(STAMP, FrameKind::Push, &(), false).own[..HEADER].to_vec();
            bytes.extend(payload);
            seal(&mut bytes);
            let _ = decode(&Frame::new(bytes), Some(2));
        }
    }
}
