//! Messages to frames and back; the bytes of a frame are in `envelope.rs`. What does not fit is an
//! error, never a panic.

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::envelope::{FrameKind, broken, frame, open, open_shared, read, seal_shared};
use super::message::{Hello, Plan, ShownLabels, Stamp};
use super::method::Method;
use super::{Address, Decoded, Frame, require};
use crate::error::Result;

/// What a method's nodes send each other.
pub trait Content: Serialize + DeserializeOwned + Clone + Debug + PartialEq + Send {
    /// Whether there are counts in it, which are worth compressing.
    fn has_counts(&self) -> bool {
        false
    }

    /// What must hold under every model.
    fn check(&self) -> Decoded<()> {
        Ok(())
    }
}

impl Content for () {}

/// A message of a method's nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Message<M: Method> {
    /// Worker to coordinator.
    Hello(Hello),
    /// Coordinator to worker.
    Plan(Plan),
    /// Coordinator to worker: take the incarnation of the stamp and send everything.
    Rejoin,
    /// Worker to coordinator.
    Push(M::Push),
    /// Coordinator to worker: the answer to a push, and the part of it that all workers receive.
    Reply(M::Reply, Option<M::Shared>),
    /// Worker to driver.
    ShownLabels(ShownLabels),
}

/// A message as a frame.
pub fn encode<M: Method>(stamp: Stamp, message: &Message<M>) -> Frame {
    match message {
        Message::Hello(hello) => frame(stamp, FrameKind::Hello, hello, false),
        Message::Plan(plan) => frame(stamp, FrameKind::Plan, plan, false),
        Message::Rejoin => frame(stamp, FrameKind::Rejoin, &(), false),
        Message::Push(push) => frame(stamp, FrameKind::Push, push, push.has_counts()),
        Message::Reply(reply, shared) => encode_reply(stamp, reply, shared.as_ref().map(encode_shared).as_ref()),
        Message::ShownLabels(labels) => frame(stamp, FrameKind::ShownLabels, labels, true),
    }
}

/// The part of a reply that all workers receive, encoded once.
pub fn encode_shared(shared: &impl Content) -> Arc<[u8]> {
    seal_shared(shared, shared.has_counts())
}

/// A reply, with the part that was encoded once.
pub fn encode_reply(stamp: Stamp, reply: &impl Content, shared: Option<&Arc<[u8]>>) -> Frame {
    Frame { shared: shared.cloned(), ..frame(stamp, FrameKind::Reply, reply, reply.has_counts()) }
}

/// Decodes a frame of one node to another, of which one is a worker and the stamp is that worker's.
/// A rejection names the sender.
pub fn decode_between<M: Method>(frame: &Frame, from: Address, to: Address) -> Result<(Stamp, Message<M>)> {
    let decoded = decode(frame).and_then(|(stamp, message)| {
        check_names(stamp, from, to)?;
        Ok((stamp, message))
    });
    decoded.map_err(|rejection| rejection.of(from))
}

fn check_names(stamp: Stamp, from: Address, to: Address) -> Decoded<()> {
    require([from, to].contains(&Address::Worker(stamp.shard)), "it bears the name of another worker")
}

/// Decodes a frame.
pub fn decode<M: Method>(frame: &Frame) -> Decoded<(Stamp, Message<M>)> {
    let (stamp, kind, payload) = open(&frame.own)?;
    let message = match kind {
        FrameKind::Hello => Message::Hello(read(payload)?),
        FrameKind::Plan => Message::Plan(read(payload)?),
        FrameKind::Rejoin => Message::Rejoin,
        FrameKind::Push => Message::Push(checked(read(payload)?)?),
        FrameKind::Reply => {
            let shared = frame.shared.as_ref().map(|bytes| open_shared(bytes).and_then(checked));
            Message::Reply(checked(read(payload)?)?, shared.transpose()?)
        }
        FrameKind::ShownLabels => Message::ShownLabels(read(payload)?),
    };
    Ok((stamp, message))
}

/// Decodes what a worker shows the driver, whatever its method; `None` if it is something else.
pub(crate) fn decode_shown(frame: &Frame, from: Address) -> Result<Option<ShownLabels>> {
    let decoded = open(&frame.own).and_then(|(stamp, kind, payload)| {
        check_names(stamp, from, Address::Driver)?;
        if kind == FrameKind::ShownLabels { read(payload).map(Some) } else { Ok(None) }
    });
    decoded.map_err(|rejection| rejection.of(from))
}

/// The reply in the part of a frame that is for one worker.
pub(crate) fn decode_own<T: Content>(own: &[u8]) -> Decoded<T> {
    match open(own)? {
        (_, FrameKind::Reply, payload) => checked(read(payload)?),
        _ => Err(broken("not a reply")),
    }
}

fn checked<T: Content>(content: T) -> Decoded<T> {
    content.check().map(|()| content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::{ComponentId, PieceName};
    use crate::halves::{Half, Halves, Part};
    use crate::method::consolidated::message::{ComponentSnapshot, MovedPiece, Push, Reply, Snapshot, SweepOverlap};
    use crate::method::consolidated::{Consolidated, Joins};
    use crate::model::{Model, ModelOptions};
    use crate::protocol::envelope::{HEADER, seal};
    use crate::protocol::message::Joining;
    use crate::rows::{Shard, Table};
    use crate::stats::{Stats, Sums};
    use crate::survey::Survey;
    use crate::sweep::Kernel;
    use proptest::prelude::*;

    type Message = super::Message<Consolidated>;

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
            overlap: SweepOverlap {
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
        let snapshot = Snapshot { version: 8, step: None, components };
        let moved =
            MovedPiece { name: PieceName::Birth(7), half: Half::Left, owner: id(1), in_half: Some(Half::Right) };
        let reply = Reply { cycle: 2, alpha: 1.5, owners: vec![moved], is_last: false };
        vec![Message::Push(push), Message::Push(counts), Message::Reply(reply, Some(snapshot)), Message::Rejoin]
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
        let labels =
            ShownLabels { cycle: 1, components: vec![id(1)], labels: vec![0, 0], assignments: None, places: None };
        let hello = Hello { n_rows: 2, n_columns: 2, is_counts: false, kernel };
        for message in [Message::Hello(hello), Message::Plan(plan), Message::ShownLabels(labels)] {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn labels_that_are_all_alike_survive_the_wire_and_what_a_few_bytes_open_to_is_bounded() {
        let labels = vec![0; 1_000_000];
        let message = Message::ShownLabels(ShownLabels {
            cycle: 1,
            components: vec![id(1)],
            labels,
            assignments: None,
            places: None,
        });
        let frame = encode(STAMP, &message);
        assert!(frame.own.len() < 1_100, "{} bytes", frame.own.len());
        assert_eq!(decode(&frame).unwrap(), (STAMP, message));
        // without its padding it is what somebody would send to fill the memory
        let mut bytes = frame.own[..HEADER + 100].to_vec();
        seal(&mut bytes);
        let rejection = decode::<Consolidated>(&Frame::new(bytes)).unwrap_err();
        assert!(rejection.to_string().contains("compressed more than we do"), "{rejection}");
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
            prop_assert!(!changed || decode::<Consolidated>(&damaged).is_err());
            let cut = Frame { own: frame.own[..cut.index(frame.own.len())].into(), ..frame };
            prop_assert!(decode::<Consolidated>(&cut).is_err());
        }

        #[test]
        fn arbitrary_bytes_are_an_error_and_never_a_panic(own: Vec<u8>, payload: Vec<u8>) {
            prop_assert!(decode::<Consolidated>(&Frame::new(own)).is_err());
            // with a header that fits, the body is reached
            let mut bytes = frame(STAMP, FrameKind::Push, &(), false).own[..HEADER].to_vec();
            bytes.extend(payload);
            seal(&mut bytes);
            let _ = decode::<Consolidated>(&Frame::new(bytes));
        }
    }
}
