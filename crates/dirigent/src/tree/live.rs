//! The clusters that are not merged yet, and how unequal their weights are.

use std::collections::BTreeSet;

/// Live clusters with their weights, in steps of 2⁻³².
pub(super) struct LiveClusters {
    /// In any order.
    clusters: Vec<usize>,
    /// The weight of each of `clusters`.
    weights: Vec<u64>,
    /// Where each cluster is in `clusters`, if it is.
    place: Vec<Option<usize>>,
    by_weight: BTreeSet<(u64, usize)>,
    /// Merging does not change it.
    total: u128,
    /// Σ |w_a − w_b| over pairs.
    differences: u128,
}

impl LiveClusters {
    pub(super) fn new(weights: &[u64]) -> Self {
        let by_weight: BTreeSet<(u64, usize)> = weights.iter().copied().zip(0..).collect();
        let (mut differences, mut below) = (0, 0);
        for (n_below, &(weight, _)) in (0u128..).zip(&by_weight) {
            differences += u128::from(weight) * n_below - below;
            below += u128::from(weight);
        }
        Self {
            clusters: (0..weights.len()).collect(),
            weights: weights.to_vec(),
            place: (0..weights.len()).map(Some).collect(),
            by_weight,
            total: below,
            differences,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.clusters.len()
    }

    pub(super) fn has(&self, cluster: usize) -> bool {
        self.place[cluster].is_some()
    }

    pub(super) fn clusters(&self) -> &[usize] {
        &self.clusters
    }

    /// Of clusters of one weight that with the smallest number.
    pub(super) fn lightest(&self) -> usize {
        self.by_weight.first().expect("a cluster is left").1
    }

    /// 2 Σ |w_a − w_b| > (m − 1) Σ w: the Gini coefficient, 1 if one has it all, exceeds ½.
    pub(super) fn are_unequal(&self) -> bool {
        2 * self.differences > (self.len() as u128 - 1) * self.total
    }

    /// Two clusters become one, which has the next number.
    pub(super) fn merge(&mut self, a: usize, b: usize) {
        let weight = self.remove(a) + self.remove(b);
        let new = self.place.len();
        self.differences += self.differences_from(weight);
        self.place.push(Some(self.clusters.len()));
        self.clusters.push(new);
        self.weights.push(weight);
        self.by_weight.insert((weight, new));
    }

    fn remove(&mut self, cluster: usize) -> u64 {
        let place = self.place[cluster].take().expect("it is live");
        self.clusters.swap_remove(place);
        let weight = self.weights.swap_remove(place);
        if let Some(&moved) = self.clusters.get(place) {
            self.place[moved] = Some(place);
        }
        self.by_weight.remove(&(weight, cluster));
        self.differences -= self.differences_from(weight);
        weight
    }

    fn differences_from(&self, weight: u64) -> u128 {
        self.weights.iter().map(|other| u128::from(other.abs_diff(weight))).sum()
    }
}
