//! What the nodes of AV say to one another: here rows themselves travel, in parcels that the coordinator passes on without opening them.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::consolidate::{ComponentId, ShardId};
use crate::protocol::Frame;
use crate::protocol::envelope::{FrameKind, body, broken, frame, open_shared, read, seal_shared};
use crate::protocol::message::{ShownLabels, Stamp};
use crate::protocol::wire::StatsList;
use crate::protocol::{Decoded, RowList};
use crate::protocol::{FinalBody, FinalComponents};
use crate::stats::Stats;

/// A worker's word.
#[derive(Debug, Clone, PartialEq)]
pub enum AvPush {
    /// It takes part.
    Join {
        /// Σ log h(x) over its rows.
        sum_log_base: f64,
        /// Clusters to begin with that belong elsewhere, by receiver.
        parcels: Vec<(ShardId, Parcel)>,
    },
    /// It has swept.
    Swept(AvSwept),
    /// What its clusters come to, at the end.
    Totals(Vec<(ComponentId, Stats)>),
}

/// What a worker says of its sweep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AvSwept {
    /// Rows that changed their cluster.
    pub moved: u64,
    /// Clusters it opened.
    pub births: u64,
    /// Clusters it merged.
    pub merges: u64,
    /// The rows it had, those it sends away included.
    pub n_rows: u64,
    /// The clusters it had.
    pub k: u64,
    /// Σ_k ln Γ(n_k) + b(S_k) − b₀ over them: their part of the log-joint.
    pub log_density: f64,
    /// Clusters that go elsewhere, by receiver.
    pub parcels: Vec<(ShardId, Parcel)>,
}

/// The coordinator's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AvReply {
    /// Take these in and sweep.
    Sweep {
        /// Cycles that are complete.
        cycle: u64,
        /// The concentration of all workers together.
        alpha: f64,
        /// Clusters from elsewhere.
        parcels: Vec<Parcel>,
    },
    /// All is swept: take these in and say what your clusters come to.
    Sum {
        /// Clusters from elsewhere.
        parcels: Vec<Parcel>,
    },
    /// The last word: show the labels and rest.
    Last(FinalComponents),
}

/// Clusters for one receiver, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel(Vec<u8>);

/// Clusters with their rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// Each with the number of its rows.
    pub sizes: Vec<(ComponentId, u64)>,
    /// The rows' places in the input, cluster after cluster, each by the difference to the one before in its cluster.
    pub gaps: Vec<u64>,
    /// The rows themselves, likewise.
    pub rows: RowList,
}

impl Clusters {
    /// The place in the input of each row and the number of its cluster among these; `None` if they do not fit, or a place is not below `n_rows`.
    pub fn places(&self, n_rows: u64) -> Option<Vec<(u64, usize)>> {
        let mut gaps = self.gaps.iter();
        let mut places = Vec::with_capacity(self.gaps.len());
        for (cluster, &(_, size)) in self.sizes.iter().enumerate() {
            let mut place = 0u64;
            for _ in 0..size {
                place = place.checked_add(*gaps.next()?)?;
                places.push((place, cluster));
            }
        }
        (gaps.next().is_none() && places.iter().all(|(place, _)| *place < n_rows)).then_some(places)
    }
}

/// A worker's labels where it does not keep its rows, for the driver only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownRows {
    /// The rows' places in the input.
    pub rows: Vec<u64>,
    /// Their labels.
    pub labels: ShownLabels,
}

impl Parcel {
    /// Seals clusters; counts are compressed.
    pub fn seal(clusters: &Clusters) -> Self {
        let mut bytes = Vec::new();
        body(clusters, matches!(clusters.rows, RowList::Counts { .. }), &mut bytes);
        Self(bytes)
    }

    /// What is in it.
    pub fn open(&self) -> Decoded<Clusters> {
        read(&self.0)
    }
}

/// As bytes and not as a list of numbers, which would be taken one by one.
impl Serialize for Parcel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Parcel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(Bytes).map(Self)
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) enum PushBody {
    Join { sum_log_base: f64, parcels: Vec<(ShardId, Parcel)> },
    Swept(AvSwept),
    Totals { ids: Vec<ComponentId>, stats: StatsList },
}

/// The part of a reply that is for one worker.
#[derive(Serialize, Deserialize)]
pub(crate) enum ReplyHead {
    Sweep { cycle: u64, alpha: f64, parcels: Vec<Parcel> },
    Sum { parcels: Vec<Parcel> },
    Last,
}

pub(crate) fn encode_push(stamp: Stamp, push: &AvPush) -> Frame {
    let body = match push.clone() {
        AvPush::Join { sum_log_base, parcels } => PushBody::Join { sum_log_base, parcels },
        AvPush::Swept(swept) => PushBody::Swept(swept),
        AvPush::Totals(totals) => PushBody::Totals {
            ids: totals.iter().map(|(id, _)| *id).collect(),
            stats: StatsList::pack(totals.iter().map(|(_, stats)| stats)),
        },
    };
    let has_counts = matches!(&body, PushBody::Totals { stats, .. } if stats.is_sparse());
    frame(stamp, FrameKind::AvPush, &body, has_counts)
}

pub(crate) fn unpack_push(body: PushBody, stats_len: usize) -> Decoded<AvPush> {
    Ok(match body {
        PushBody::Join { sum_log_base, parcels } => AvPush::Join { sum_log_base, parcels },
        PushBody::Swept(swept) => AvPush::Swept(swept),
        PushBody::Totals { ids, stats } => {
            let stats = stats.unpack(stats_len).ok_or_else(|| broken("statistics of another family"))?;
            if stats.len() != ids.len() {
                return Err(broken("as many names as statistics"));
            }
            AvPush::Totals(ids.into_iter().zip(stats).collect())
        }
    })
}

/// The final state, encoded once.
pub fn encode_last(last: &FinalComponents) -> Arc<[u8]> {
    let body = FinalBody::pack(last);
    seal_shared(&body, body.is_sparse())
}

/// The last word with what was encoded once.
pub fn encode_last_reply(stamp: Stamp, last: &Arc<[u8]>) -> Frame {
    Frame { shared: Some(Arc::clone(last)), ..frame(stamp, FrameKind::AvReply, &ReplyHead::Last, false) }
}

pub(crate) fn encode_reply(stamp: Stamp, reply: &AvReply) -> Frame {
    let head = match reply.clone() {
        AvReply::Sweep { cycle, alpha, parcels } => ReplyHead::Sweep { cycle, alpha, parcels },
        AvReply::Sum { parcels } => ReplyHead::Sum { parcels },
        AvReply::Last(last) => return encode_last_reply(stamp, &encode_last(&last)),
    };
    frame(stamp, FrameKind::AvReply, &head, false)
}

pub(crate) fn decode_reply(head: ReplyHead, shared: Option<&Arc<[u8]>>, stats_len: usize) -> Decoded<AvReply> {
    Ok(match head {
        ReplyHead::Sweep { cycle, alpha, parcels } => AvReply::Sweep { cycle, alpha, parcels },
        ReplyHead::Sum { parcels } => AvReply::Sum { parcels },
        ReplyHead::Last => {
            let shared = shared.ok_or_else(|| broken("a reply without its shared part"))?;
            AvReply::Last(open_shared::<FinalBody>(shared)?.unpack(stats_len)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::codec::{Message, decode, encode};
    use crate::rows::{Row, Table};
    use crate::stats::Sums;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn clusters() -> Clusters {
        let rows = RowList::of([Row::F32(&[1.5, 2.0]), Row::F32(&[0.0, 1.0]), Row::F32(&[4.0, 1.0])]);
        Clusters { sizes: vec![(id(1), 2), (id(4), 1)], gaps: vec![3, 4, 1], rows }
    }

    fn messages() -> Vec<Message> {
        let parcel = Parcel::seal(&clusters());
        let swept = AvSwept {
            moved: 3,
            births: 2,
            merges: 1,
            n_rows: 7,
            k: 2,
            log_density: -1e300,
            parcels: vec![(2, parcel.clone()), (4, parcel.clone())],
        };
        let stats = |sums| Stats { count: 2, sums };
        let dense = vec![(id(1), stats(Sums::Dense([0.5, 1.0].into())))];
        let last = FinalComponents { cycle: 9, components: dense.clone() };
        let labels = ShownLabels { cycle: 1, components: vec![id(1)], labels: vec![0, 0], assignments: None };
        vec![
            Message::AvPush(AvPush::Join { sum_log_base: -1.5, parcels: vec![(2, parcel.clone())] }),
            Message::AvPush(AvPush::Swept(swept)),
            Message::AvPush(AvPush::Totals(dense)),
            Message::AvPush(AvPush::Totals(vec![(id(1), stats(Sums::Counts(vec![(0, 3), (1, 1)])))])),
            Message::AvReply(AvReply::Sweep { cycle: 4, alpha: 0.3, parcels: vec![parcel.clone()] }),
            Message::AvReply(AvReply::Sum { parcels: vec![parcel] }),
            Message::AvReply(AvReply::Last(last)),
            Message::ShownRows(ShownRows { rows: vec![7, 1 << 40], labels }),
        ]
    }

    #[test]
    fn messages_and_parcels_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message), Some(2)).unwrap(), (STAMP, message));
        }
        assert_eq!(Parcel::seal(&clusters()).open().unwrap(), clusters());
    }

    #[test]
    fn places_are_those_of_the_rows_and_nonsense_has_none() {
        assert_eq!(clusters().places(8), Some(vec![(3, 0), (7, 0), (1, 1)]));
        assert_eq!(clusters().places(7), None, "a place beyond the input");
        let with = |sizes: &[u64], gaps: &[u64]| {
            let sizes = sizes.iter().map(|size| (id(1), *size)).collect();
            Clusters { sizes, gaps: gaps.into(), rows: RowList::default() }.places(u64::MAX)
        };
        assert_eq!(with(&[u64::MAX], &[1, 2]), None, "fewer rows than were announced");
        assert_eq!(with(&[1], &[1, 2]), None, "more rows than were announced");
        assert_eq!(with(&[2], &[u64::MAX, 2]), None, "an overflow");
        let table = clusters().rows.into_table(2, false).unwrap();
        assert!(matches!(table, Table::F32 { n_columns: 2, .. }));
    }

    proptest! {
        #[test]
        fn a_damaged_frame_is_an_error_and_never_a_panic(which in 0usize..8, at: prop::sample::Index, byte: u8) {
            let frame = encode(STAMP, &messages()[which]);
            let mut bytes = frame.own.to_vec();
            let ix = at.index(bytes.len());
            let is_changed = bytes[ix] != byte;
            bytes[ix] = byte;
            let damaged = Frame { own: bytes.into(), ..frame };
            prop_assert!(!is_changed || decode(&damaged, Some(2)).is_err());
        }

        #[test]
        fn a_parcel_of_any_bytes_is_never_a_panic(bytes: Vec<u8>) {
            if let Ok(clusters) = Parcel(bytes).open() {
                let _ = (clusters.places(9), clusters.rows.into_table(2, true));
            }
        }
    }
}
