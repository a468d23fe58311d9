//! Cuts: the clusters that are left when the last merges are undone.

use std::collections::BTreeSet;

use super::Tree;

/// Which cluster each component is in.
///
/// ```
/// use dirigent::Cut;
///
/// // three components of 10, 30 and 5 rows; the first and the last are one cluster
/// let cut = Cut::new(vec![1, 0, 1], &[10, 30, 5]);
/// assert_eq!((cut.n_clusters(), cut.sizes()), (2, &[30, 15][..]));
/// assert_eq!(cut.members(1), [0, 2]);
/// // clusters are numbered by falling size
/// assert_eq!(cut.labels(&[0, 1, 2, 2]), [1, 0, 1, 1]);
/// // the certainty of a cluster is that of its components together
/// assert_eq!(cut.probabilities(&[0.25, 0.25, 0.5]), [0.25, 0.75]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    clusters: Vec<u32>,
    sizes: Vec<u64>,
}

impl Cut {
    /// Takes any number for each component; those with the same number are a cluster. `sizes` are the rows of the components. Clusters are numbered by
    /// falling size, ties by their first component.
    pub fn new(numbers: Vec<u32>, sizes: &[u64]) -> Self {
        assert_eq!(numbers.len(), sizes.len(), "every component has a size");
        let mut known: Vec<(u32, usize, u64)> = Vec::new();
        let mut by_number: Vec<usize> = (0..numbers.len()).collect();
        by_number.sort_by_key(|&component| numbers[component]);
        for members in by_number.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
            known.push((numbers[members[0]], members[0], members.iter().map(|&component| sizes[component]).sum()));
        }
        known.sort_by_key(|&(_, first, size)| (std::cmp::Reverse(size), first));
        let mut new_numbers: Vec<(u32, u32)> = (0u32..).zip(&known).map(|(new, &(old, ..))| (old, new)).collect();
        new_numbers.sort_unstable();
        let renumbered = |old: &u32| new_numbers[new_numbers.partition_point(|(number, _)| number < old)].1;
        Self {
            clusters: numbers.iter().map(renumbered).collect(),
            sizes: known.into_iter().map(|(.., size)| size).collect(),
        }
    }

    /// The number of clusters.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// Whether every cluster has one component.
    pub fn is_of_single_components(&self) -> bool {
        self.n_clusters() == self.clusters.len()
    }

    /// The cluster of each component.
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The rows of each cluster.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// The components of a cluster.
    pub fn members(&self, cluster: u32) -> Vec<u32> {
        (0u32..).zip(&self.clusters).filter(|(_, of)| **of == cluster).map(|(component, _)| component).collect()
    }

    /// The clusters of rows, given their components.
    pub fn labels(&self, components: &[u32]) -> Vec<u32> {
        components.iter().map(|&component| self.clusters[component as usize]).collect()
    }

    /// The probabilities of the clusters, given those of the components.
    pub fn probabilities(&self, of_components: &[f64]) -> Vec<f64> {
        let mut probabilities = vec![0.0; self.n_clusters()];
        self.clusters.iter().zip(of_components).for_each(|(&cluster, p)| probabilities[cluster as usize] += p);
        probabilities
    }
}

/// The tops of `n_clusters` clusters, found by undoing the last merges. One that parts less than `min_rows` rows from the others is passed over: the smaller side
/// stays with the larger one. There are fewer if no merge is left.
pub(super) fn tops(tree: &Tree, n_clusters: usize, min_rows: f64) -> Vec<usize> {
    // the last merge is the one with the highest number
    let mut tops = BTreeSet::from([tree.root()]);
    let mut ends = Vec::new();
    while tops.len() + ends.len() < n_clusters {
        let Some(top) = tops.pop_last() else { break };
        match tree.sides(top) {
            None => ends.push(top),
            Some([large, small]) => {
                tops.insert(large);
                if tree.size(small) as f64 >= min_rows {
                    tops.insert(small);
                }
            }
        }
    }
    tops.into_iter().chain(ends).collect()
}
