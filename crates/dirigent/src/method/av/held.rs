//! What a worker holds: rows of any places in the input, their clusters, and what leaves it and
//! comes to it.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::message::{ClusterRows, Parcel};
use crate::consolidate::{ComponentId, ShardId};
use crate::protocol::{Decoded, Rejection, RowList, labels_fit, require};
use crate::rows::Shard;
use crate::sweep::UNASSIGNED;

/// Rows in the order of the input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HeldRows {
    #[serde(with = "as_row_list")]
    pub(super) rows: Shard,
    /// Their places in the input, rising.
    pub(super) places: Vec<u64>,
    /// Their clusters, by number, or [`UNASSIGNED`].
    pub(super) labels: Vec<u32>,
    /// What the numbers stand for.
    pub(super) ids: Vec<ComponentId>,
    /// Rows of the input.
    n_rows: u64,
}

/// Rows in a checkpoint: how many columns they have, whether they are counts, and the rows.
mod as_row_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use crate::protocol::RowList;
    use crate::rows::Shard;

    pub(super) fn serialize<S: Serializer>(rows: &Shard, serializer: S) -> Result<S::Ok, S::Error> {
        (rows.n_columns() as u64, rows.is_counts(), RowList::of(rows.rows())).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Shard, D::Error> {
        let (n_columns, is_counts, rows) = <(u64, bool, RowList)>::deserialize(deserializer)?;
        let n_columns = usize::try_from(n_columns).map_err(de::Error::custom)?;
        let table = rows.into_table(n_columns, is_counts).ok_or_else(|| de::Error::custom("rows of other columns"))?;
        Ok(Shard::of_table(table))
    }
}

impl HeldRows {
    /// Whether rows from a checkpoint are such as a worker of this shard can hold.
    pub(super) fn is_sound(&self, shard: &Shard) -> bool {
        self.rows.n_columns() == shard.n_columns()
            && self.rows.is_counts() == shard.is_counts()
            && self.places.len() == self.rows.n_rows()
            && self.places.is_sorted_by(|a, b| a < b)
            && self.places.last().is_none_or(|place| *place < self.n_rows)
            && labels_fit(&self.labels, self.ids.len(), &self.rows)
    }

    /// A run of rows of an input of `n_rows`.
    pub(super) fn new(rows: Shard, first_row: u64, labels: Vec<u32>, ids: Vec<ComponentId>, n_rows: u64) -> Self {
        let places = (first_row..first_row + rows.n_rows() as u64).collect();
        Self { rows, places, labels, ids, n_rows }
    }

    /// Parts with the clusters whose worker is another than `own`: parcels by receiver. What stays
    /// keeps its cluster.
    pub(super) fn send_away(&mut self, workers: &[ShardId], own: ShardId) -> Vec<(ShardId, Parcel)> {
        if workers.iter().all(|&worker| worker == own) {
            return Vec::new();
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.ids.len()];
        let mut staying = Vec::new();
        for (row_ix, &label) in self.labels.iter().enumerate() {
            match label {
                label if label != UNASSIGNED && workers[label as usize] != own => members[label as usize].push(row_ix),
                _ => staying.push(row_ix),
            }
        }
        let mut by_receiver: BTreeMap<ShardId, Vec<usize>> = BTreeMap::new();
        for (cluster, _) in members.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            by_receiver.entry(workers[cluster]).or_default().push(cluster);
        }
        let seal = |(receiver, clusters): (ShardId, Vec<usize>)| {
            let rows = clusters.iter().flat_map(|&cluster| &members[cluster]).map(|&row_ix| self.rows.row(row_ix));
            let parcel = Parcel::seal(&ClusterRows {
                sizes: clusters.iter().map(|&cluster| (self.ids[cluster], members[cluster].len() as u64)).collect(),
                gaps: clusters.iter().flat_map(|&cluster| self.gaps(&members[cluster])).collect(),
                rows: RowList::of(rows),
            });
            (receiver, parcel)
        };
        let parcels = by_receiver.into_iter().map(seal).collect();
        self.keep(&staying);
        parcels
    }

    fn gaps(&self, rows: &[usize]) -> Vec<u64> {
        let mut before = 0;
        let gap = |&row_ix: &usize| self.places[row_ix] - std::mem::replace(&mut before, self.places[row_ix]);
        rows.iter().map(gap).collect()
    }

    /// Keeps these rows only, in memory of their own; clusters without rows are forgotten.
    fn keep(&mut self, staying: &[usize]) {
        let rows = RowList::of(staying.iter().map(|&row_ix| self.rows.row(row_ix)));
        let table = rows.into_table(self.rows.n_columns(), self.rows.is_counts()).expect("rows that were rows before");
        self.rows = Shard::of_table(table);
        self.places = staying.iter().map(|&row_ix| self.places[row_ix]).collect();
        let mut numbers = HashMap::new();
        let mut ids = Vec::new();
        let labels = staying.iter().map(|&row_ix| match self.labels[row_ix] {
            UNASSIGNED => UNASSIGNED,
            label => *numbers.entry(label).or_insert_with(|| {
                ids.push(self.ids[label as usize]);
                ids.len() as u32 - 1
            }),
        });
        self.labels = labels.collect();
        self.ids = ids;
    }

    /// Takes clusters in, and puts all rows in the order of the input again.
    pub(super) fn take_in(&mut self, parcels: &[Parcel]) -> Decoded<()> {
        if parcels.is_empty() {
            return Ok(());
        }
        let mut sources = vec![self.rows.clone()];
        // place in the input, source, row of the source, label
        let own = self.places.iter().zip(&self.labels).enumerate();
        let mut seats: Vec<(u64, usize, usize, u32)> =
            own.map(|(row_ix, (&place, &label))| (place, 0, row_ix, label)).collect();
        let mut ids = self.ids.clone();
        let mut numbers: HashMap<ComponentId, u32> = ids.iter().copied().zip(0..).collect();
        // a new cluster has a number of its own; parts of one may come from several workers when a
        // run begins with labels
        let mut number = |id: ComponentId| {
            *numbers.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() as u32 - 1
            })
        };
        for parcel in parcels {
            let clusters = parcel.open()?;
            let places =
                clusters.places(self.n_rows).ok_or_else(|| Rejection::new("clusters without all their rows"))?;
            let labels: Vec<u32> = clusters.sizes.iter().map(|(id, _)| number(*id)).collect();
            let table = clusters.rows.into_table(self.rows.n_columns(), self.rows.is_counts());
            let rows = Shard::of_table(table.ok_or_else(|| Rejection::new("rows of other columns"))?);
            require(rows.n_rows() == places.len(), "as many places as rows")?;
            let seat =
                |(row_ix, (place, cluster)): (usize, (u64, usize))| (place, sources.len(), row_ix, labels[cluster]);
            seats.extend(places.into_iter().enumerate().map(seat));
            sources.push(rows);
        }
        seats.sort_unstable();
        require(seats.is_sorted_by(|a, b| a.0 < b.0), "a row that is here already")?;
        let rows = RowList::of(seats.iter().map(|&(_, source, row_ix, _)| sources[source].row(row_ix)));
        let table = rows.into_table(self.rows.n_columns(), self.rows.is_counts()).expect("rows that were rows before");
        self.rows = Shard::of_table(table);
        self.places = seats.iter().map(|seat| seat.0).collect();
        self.labels = seats.iter().map(|seat| seat.3).collect();
        self.ids = ids;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{CountTable, Row, Table};

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 0, number }
    }

    fn documents(first: u32) -> Shard {
        let mut table = CountTable::new(9);
        (0..4).for_each(|row| table.push_row([(row, first + 1), (row + 3, 1)]));
        Shard::of_table(Table::Counts(table))
    }

    fn numbers(first: u32) -> Shard {
        Shard::of_table(Table::from_f32(1, (0..4).map(|row| (first + row) as f32).collect()))
    }

    #[test]
    fn clusters_that_travel_there_and_back_are_as_they_were() {
        for rows in [documents, numbers] {
            let mut a = HeldRows::new(rows(0), 0, vec![0, 1, 0, 2], vec![id(1), id(2), id(3)], 8);
            let mut b = HeldRows::new(rows(4), 4, vec![0, 0, 0, 0], vec![id(4)], 8);
            let [before_a, before_b] = [&a, &b].map(|held| held.rows.clone());
            let mut parcels = a.send_away(&[1, 0, 1], 0);
            assert_eq!((a.places.as_slice(), a.ids.as_slice()), ([1].as_slice(), [id(2)].as_slice()));
            let (receiver, parcel) = parcels.pop().unwrap();
            assert_eq!((receiver, parcels.len()), (1, 0), "one parcel a receiver");
            b.take_in(&[parcel]).unwrap();
            assert_eq!(b.places, [0, 2, 3, 4, 5, 6, 7]);
            let names: Vec<ComponentId> = b.labels.iter().map(|&label| b.ids[label as usize]).collect();
            assert_eq!(names, [id(1), id(1), id(3), id(4), id(4), id(4), id(4)]);
            assert!(b.rows.rows().skip(3).eq(before_b.rows()));
            let workers: Vec<ShardId> = b.ids.iter().map(|id| u32::from(id.number == 4)).collect();
            let parcels: Vec<Parcel> = b.send_away(&workers, 1).into_iter().map(|(_, parcel)| parcel).collect();
            a.take_in(&parcels).unwrap();
            assert_eq!(a.places, [0, 1, 2, 3]);
            assert!(a.rows.rows().eq(before_a.rows()) && b.rows.rows().eq(before_b.rows()));
        }
    }

    #[test]
    fn a_row_that_comes_twice_and_rows_of_other_columns_are_refused() {
        let mut a = HeldRows::new(numbers(0), 0, vec![0; 4], vec![id(1)], 8);
        let mut b = HeldRows::new(numbers(4), 4, vec![0; 4], vec![id(2)], 8);
        let (_, parcel) = a.send_away(&[1], 0).pop().unwrap();
        assert_eq!(a.rows.n_rows(), 0);
        let twice = b.take_in(&[parcel.clone(), parcel.clone()]).unwrap_err();
        assert!(twice.to_string().contains("here already"), "{twice}");
        let mut wide = HeldRows::new(Shard::of_table(Table::from_f64(3, vec![])), 0, vec![], vec![], 8);
        assert!(wide.take_in(std::slice::from_ref(&parcel)).is_err());
        let mut of_a_shorter_input = HeldRows { n_rows: 3, ..HeldRows::new(numbers(4), 4, vec![0; 4], vec![id(2)], 8) };
        assert!(of_a_shorter_input.take_in(&[parcel]).is_err());
        assert_eq!(b.rows.row(0), Row::F32(&[4.0]));
    }
}
