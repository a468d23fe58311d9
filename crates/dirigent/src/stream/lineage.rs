//! Clusters from one update to the next: numbers that are never used twice, and what happened to each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What happened to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EventKind {
    /// It has rows of new components only.
    Born,
    /// It parted from another cluster.
    Split,
    /// It became part of another cluster.
    Merged,
    /// Its last rows were forgotten.
    Gone,
}

impl EventKind {
    /// As it is written in `events.csv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Born => "born",
            Self::Split => "split",
            Self::Merged => "merged",
            Self::Gone => "gone",
        }
    }
}

/// A line of `events.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterEvent {
    /// The batch, counted from 0: the first fit.
    pub batch: u64,
    /// Seconds since 1970.
    pub time: f64,
    /// What happened.
    pub kind: EventKind,
    /// The cluster.
    pub cluster: u64,
    /// The cluster that it parted from or became part of.
    pub other: Option<u64>,
    /// The rows of the cluster: those it has, or had before.
    pub n_rows: u64,
}

/// The clusters there are and all that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lineage {
    /// The number of each cluster, by its label.
    pub(crate) ids: Vec<u64>,
    /// The components of each cluster, by its label.
    pub(crate) members: Vec<Vec<u64>>,
    /// The rows of each.
    pub(crate) n_rows: Vec<u64>,
    /// Above all numbers that have been used.
    pub(crate) next: u64,
    pub(crate) events: Vec<ClusterEvent>,
}

/// A cluster as an update leaves it.
pub(crate) struct NewCluster {
    /// Its components.
    pub(crate) members: Vec<u64>,
    /// Rows that it has of former components.
    pub(crate) from: BTreeMap<u64, u64>,
    /// All rows.
    pub(crate) n_rows: u64,
}

/// A cluster parted from another one if it has at least this share of its rows from there; otherwise it was born.
const PARTED: f64 = 0.5;

impl Lineage {
    /// The clusters of a first fit, with the numbers of their labels.
    pub(crate) fn begin(clusters: Vec<NewCluster>, time: f64) -> Self {
        let mut lineage =
            Self { ids: Vec::new(), members: Vec::new(), n_rows: Vec::new(), next: 0, events: Vec::new() };
        lineage.update(clusters, 0, time);
        lineage
    }

    /// Takes in the clusters after a batch, by label. Each inherits the number of the cluster that gave it the most rows, no number twice.
    pub(crate) fn update(&mut self, clusters: Vec<NewCluster>, batch: u64, time: f64) {
        let label_of: BTreeMap<u64, usize> = (self.members.iter().enumerate())
            .flat_map(|(label, members)| members.iter().map(move |component| (*component, label)))
            .collect();
        // rows from each former cluster, by the new one
        let flows: Vec<BTreeMap<usize, u64>> = clusters
            .iter()
            .map(|cluster| {
                let mut flows = BTreeMap::new();
                for (component, n_rows) in &cluster.from {
                    if let Some(&label) = label_of.get(component) {
                        *flows.entry(label).or_default() += n_rows;
                    }
                }
                flows
            })
            .collect();
        let mut by_size: Vec<(u64, usize, usize)> = (flows.iter().enumerate())
            .flat_map(|(new, flows)| flows.iter().map(move |(old, n_rows)| (*n_rows, *old, new)))
            .filter(|(n_rows, ..)| *n_rows > 0)
            .collect();
        by_size.sort_by_key(|&(n_rows, old, new)| (std::cmp::Reverse(n_rows), old, new));
        let (mut heirs, mut ids) = (vec![None; self.ids.len()], vec![None; clusters.len()]);
        for &(_, old, new) in &by_size {
            if heirs[old].is_none() && ids[new].is_none() {
                (heirs[old], ids[new]) = (Some(new), Some(self.ids[old]));
            }
        }
        let mut events = Vec::new();
        let mut event = |kind, cluster, other, n_rows| {
            events.push(ClusterEvent { batch, time, kind, cluster, other, n_rows });
        };
        let mut new_ids = Vec::with_capacity(clusters.len());
        for (new, id) in ids.iter().enumerate() {
            let id = id.unwrap_or_else(|| {
                let id = self.next;
                self.next += 1;
                let n_rows = clusters[new].n_rows;
                let largest = flows[new].iter().max_by_key(|&(old, n_rows)| (*n_rows, std::cmp::Reverse(*old)));
                match largest.filter(|(_, from)| **from as f64 >= PARTED * n_rows as f64) {
                    Some((old, _)) => event(EventKind::Split, id, Some(self.ids[*old]), n_rows),
                    None => event(EventKind::Born, id, None, n_rows),
                }
                id
            });
            new_ids.push(id);
        }
        for (old, _) in heirs.iter().enumerate().filter(|(_, heir)| heir.is_none()) {
            let into = by_size.iter().find(|(_, from, _)| *from == old).map(|&(.., new)| new_ids[new]);
            let kind = if into.is_some() { EventKind::Merged } else { EventKind::Gone };
            event(kind, self.ids[old], into, self.n_rows[old]);
        }
        self.events.extend(events);
        self.ids = new_ids;
        self.n_rows = clusters.iter().map(|cluster| cluster.n_rows).collect();
        self.members = clusters.into_iter().map(|cluster| cluster.members).collect();
    }

    /// What cannot be true of it, for `n_labels` clusters. It may come from anywhere.
    pub(crate) fn problem(&self, n_labels: usize) -> Option<&'static str> {
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        ids.dedup();
        if self.ids.len() != n_labels || self.members.len() != n_labels || self.n_rows.len() != n_labels {
            Some("`ids`, `members` and `n_rows` must have an entry per cluster")
        } else if ids.len() != n_labels || ids.last().is_some_and(|last| *last >= self.next) {
            Some("`ids` must be different numbers below `next`")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(members: &[u64], from: &[(u64, u64)], n_new: u64) -> NewCluster {
        let from: BTreeMap<u64, u64> = from.iter().copied().collect();
        NewCluster { members: members.to_vec(), n_rows: from.values().sum::<u64>() + n_new, from }
    }

    fn begun() -> Lineage {
        let fresh = |members: &[u64], n_rows| cluster(members, &[], n_rows);
        Lineage::begin(vec![fresh(&[0, 1], 90), fresh(&[2], 50), fresh(&[3], 20)], 0.0)
    }

    fn kinds(lineage: &Lineage) -> Vec<(EventKind, u64, Option<u64>)> {
        let of_last = lineage.events.iter().filter(|event| event.batch == 1);
        of_last.map(|event| (event.kind, event.cluster, event.other)).collect()
    }

    #[test]
    fn clusters_keep_their_numbers_whatever_their_labels() {
        let mut lineage = begun();
        assert_eq!((lineage.ids.as_slice(), lineage.events.len()), (&[0, 1, 2][..], 3));
        let same =
            vec![cluster(&[2], &[(2, 50)], 70), cluster(&[0, 1], &[(0, 60), (1, 30)], 0), cluster(&[3], &[(3, 20)], 0)];
        lineage.update(same, 1, 0.0);
        assert_eq!((lineage.ids.as_slice(), kinds(&lineage)), (&[1, 0, 2][..], vec![]));
    }

    #[test]
    fn births_splits_merges_and_ends_have_their_names() {
        let mut lineage = begun();
        let next = vec![
            // 0 has parted, 1 has been taken in, 2 is forgotten, and one is new
            cluster(&[0, 2], &[(0, 60), (2, 50)], 5),
            cluster(&[1], &[(1, 30)], 0),
            cluster(&[4], &[], 40),
        ];
        lineage.update(next, 1, 0.0);
        assert_eq!(lineage.ids, [0, 3, 4]);
        let expected = [
            (EventKind::Split, 3, Some(0)),
            (EventKind::Born, 4, None),
            (EventKind::Merged, 1, Some(0)),
            (EventKind::Gone, 2, None),
        ];
        assert_eq!(kinds(&lineage), expected);
        assert_eq!((lineage.next, lineage.problem(3), lineage.problem(2).is_some()), (5, None, true));
    }
}
