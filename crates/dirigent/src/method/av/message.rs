//! What the nodes of AV say to one another: here rows themselves travel, in parcels that the
//! coordinator passes on without opening them.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::consolidate::{ComponentId, ShardId};
use crate::protocol::codec::Content;
use crate::protocol::envelope::{body, read};
use crate::protocol::wire::{self, is_sparse};
use crate::protocol::{Decoded, RowList};
use crate::stats::Stats;

/// A worker's word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    Totals(#[serde(with = "wire::named")] Vec<(ComponentId, Stats)>),
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The last word: show the labels under the final state, which all receive, and rest.
    Last,
}

/// Clusters for one receiver, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel(Vec<u8>);

/// Clusters with their rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterRows {
    /// Each with the number of its rows.
    pub sizes: Vec<(ComponentId, u64)>,
    /// The rows' places in the input, cluster after cluster, each by the difference to the one
    /// before in its cluster.
    pub gaps: Vec<u64>,
    /// The rows themselves, likewise.
    pub rows: RowList,
}

impl ClusterRows {
    /// The place in the input of each row and the number of its cluster among these; `None` if they
    /// do not fit, or a place is not below `n_rows`.
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

impl Parcel {
    /// Seals clusters; counts are compressed.
    pub fn seal(clusters: &ClusterRows) -> Self {
        let mut bytes = Vec::new();
        body(clusters, matches!(clusters.rows, RowList::Counts { .. }), &mut bytes);
        Self(bytes)
    }

    /// What is in it.
    pub fn open(&self) -> Decoded<ClusterRows> {
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

impl Content for AvPush {
    fn has_counts(&self) -> bool {
        matches!(self, Self::Totals(totals) if totals.iter().any(|(_, stats)| is_sparse(stats)))
    }
}

impl Content for AvReply {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::av::Av;
    use crate::protocol::codec::{decode, encode};
    use crate::protocol::message::{ShownLabels, Stamp};
    use crate::protocol::{FinalComponents, Frame};
    use crate::rows::{Row, Table};
    use crate::stats::Sums;
    use proptest::prelude::*;

    type Message = crate::protocol::codec::Message<Av>;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn clusters() -> ClusterRows {
        let rows = RowList::of([Row::F32(&[1.5, 2.0]), Row::F32(&[0.0, 1.0]), Row::F32(&[4.0, 1.0])]);
        ClusterRows { sizes: vec![(id(1), 2), (id(4), 1)], gaps: vec![3, 4, 1], rows }
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
        let labels = ShownLabels {
            cycle: 1,
            components: vec![id(1)],
            labels: vec![0, 0],
            assignments: None,
            places: Some(vec![7, 1 << 40]),
        };
        vec![
            Message::Push(AvPush::Join { sum_log_base: -1.5, parcels: vec![(2, parcel.clone())] }),
            Message::Push(AvPush::Swept(swept)),
            Message::Push(AvPush::Totals(dense)),
            Message::Push(AvPush::Totals(vec![(id(1), stats(Sums::Counts(vec![(0, 3), (1, 1)])))])),
            Message::Reply(AvReply::Sweep { cycle: 4, alpha: 0.3, parcels: vec![parcel.clone()] }, None),
            Message::Reply(AvReply::Sum { parcels: vec![parcel] }, None),
            Message::Reply(AvReply::Last, Some(last)),
            Message::ShownLabels(labels),
        ]
    }

    #[test]
    fn messages_and_parcels_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
        assert_eq!(Parcel::seal(&clusters()).open().unwrap(), clusters());
    }

    #[test]
    fn places_are_those_of_the_rows_and_nonsense_has_none() {
        assert_eq!(clusters().places(8), Some(vec![(3, 0), (7, 0), (1, 1)]));
        assert_eq!(clusters().places(7), None, "a place beyond the input");
        let with = |sizes: &[u64], gaps: &[u64]| {
            let sizes = sizes.iter().map(|size| (id(1), *size)).collect();
            ClusterRows { sizes, gaps: gaps.into(), rows: RowList::default() }.places(u64::MAX)
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
            prop_assert!(!is_changed || decode::<Av>(&damaged).is_err());
        }

        #[test]
        fn a_parcel_of_any_bytes_is_never_a_panic(bytes: Vec<u8>) {
            if let Ok(clusters) = Parcel(bytes).open() {
                let _ = (clusters.places(9), clusters.rows.into_table(2, true));
            }
        }
    }
}
