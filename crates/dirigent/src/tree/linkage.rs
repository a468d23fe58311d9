//! Agglomeration: the two clusters with the largest σ(A, B) = n·O_AB / (w_A w_B) are merged, until one is left.
//!
//! O and w are additive, so those of a merged cluster are exact. σ is how much more often rows belong to both than they would if memberships were independent. A
//! guard keeps crumbs from outlasting everything: while weights are too unequal (Gini coefficient above ½), only pairs with the lightest cluster compete.
//! Clusters that overlap with no other are merged by [`Distances`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::distance::Distances;
use super::live::LiveClusters;
use super::overlap::{OverlapSums, weight_of};

/// Two clusters that become one. Clusters are numbered as SciPy does: components first, then unions in the order of the merges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Merge {
    /// The smaller number first.
    pub(super) clusters: [usize; 2],
    /// ln(n/σ) = ln(w_A w_B / O_AB) as found; not always rising.
    pub(super) log_distance: f64,
}

/// ln 2⁶⁴: overlaps are whole multiples of 2⁻⁶⁴.
const LOG_STEPS: f64 = 44.361_419_555_836_5;

/// A σ/n that can be compared, with its pair: the largest first, ties to the smaller numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    similarity: f64,
    pair: [usize; 2],
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_similarity = self.similarity.total_cmp(&other.similarity);
        by_similarity.then_with(|| Reverse(self.pair).cmp(&Reverse(other.pair)))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// An entry of the queue: two clusters, or a bound for a cluster whose best neighbour is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Pair(Candidate),
    /// No neighbour of the cluster is more similar to it than this; which one is best is looked up only when the bound is reached.
    Bound(Bound),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    similarity: f64,
    cluster: usize,
}

impl Eq for Bound {}

impl Entry {
    fn similarity(&self) -> f64 {
        match self {
            Self::Pair(candidate) => candidate.similarity,
            Self::Bound(bound) => bound.similarity,
        }
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // a bound comes before pairs that are as similar: one of them may be its own
        self.similarity().total_cmp(&other.similarity()).then_with(|| match (self, other) {
            (Self::Pair(one), Self::Pair(other)) => one.cmp(other),
            (Self::Bound(one), Self::Bound(other)) => other.cluster.cmp(&one.cluster),
            (Self::Bound(_), Self::Pair(_)) => std::cmp::Ordering::Greater,
            (Self::Pair(_), Self::Bound(_)) => std::cmp::Ordering::Less,
        })
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What is known of the most similar neighbour of a cluster.
#[derive(Debug, Clone, Copy)]
enum Best {
    /// It has no neighbour.
    None,
    Known(Candidate),
    /// It was merged; no other is more similar than this.
    AtMost(f64),
}

/// The state between merges.
struct Agglomeration<'a> {
    live: LiveClusters,
    /// In steps of 2⁻³².
    weights: Vec<u64>,
    /// (other, O) of each cluster; others that are merged meanwhile are passed over.
    neighbours: Vec<Vec<(usize, f64)>>,
    best: Vec<Best>,
    /// σ of a pair does not change while both live, so an entry is valid as long as they do.
    queue: BinaryHeap<Entry>,
    /// Pairs of a cluster and the one nearest to it, nearest first, once no two clusters overlap.
    nearest: Option<BinaryHeap<Reverse<Near>>>,
    distances: &'a mut dyn Distances,
    /// Overlaps of the cluster that is being made, by the other's number.
    room: Vec<f64>,
}

/// A cluster and the one nearest to it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Near {
    distance: f64,
    pair: [usize; 2],
    of: usize,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_distance = self.distance.total_cmp(&other.distance);
        by_distance.then_with(|| (self.pair, self.of).cmp(&(other.pair, other.of)))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Merges all components, in order.
pub(super) fn agglomerate(sums: &OverlapSums, distances: &mut dyn Distances) -> Vec<Merge> {
    let mut state = Agglomeration::new(sums, distances);
    let log_rows = libm::log(sums.n_rows().max(1) as f64);
    let mut merges = Vec::with_capacity(sums.n_components().saturating_sub(1));
    while state.live.len() > 1 {
        let (pair, log_distance) = match state.next() {
            Next::Overlapping(Candidate { similarity, pair }) => (pair, -libm::log(similarity)),
            // farther than any two that overlap: w_A w_B < n², and O_AB is at least a step
            Next::Apart(distance, pair) => (pair, 2.0 * log_rows + LOG_STEPS + distance.max(0.0)),
        };
        state.merge(pair);
        merges.push(Merge { clusters: pair, log_distance });
    }
    merges
}

enum Next {
    Overlapping(Candidate),
    Apart(f64, [usize; 2]),
}

impl<'a> Agglomeration<'a> {
    fn new(sums: &OverlapSums, distances: &'a mut dyn Distances) -> Self {
        let n = sums.n_components();
        let mut neighbours = vec![Vec::new(); n];
        for (a, b, overlap) in sums.pairs().filter(|&(a, b, overlap)| a != b && overlap > 0.0) {
            neighbours[a].push((b, overlap));
            neighbours[b].push((a, overlap));
        }
        let mut state = Self {
            live: LiveClusters::new(sums.weights()),
            weights: sums.weights().to_vec(),
            neighbours,
            best: vec![Best::None; n],
            queue: BinaryHeap::new(),
            nearest: None,
            distances,
            room: vec![0.0; 2 * n],
        };
        (0..n).for_each(|ix| {
            state.find_best(ix);
        });
        state
    }

    fn similarity(&self, a: usize, b: usize, overlap: f64) -> f64 {
        overlap / (weight_of(self.weights[a]) * weight_of(self.weights[b]))
    }

    /// Looks through the neighbours of a cluster.
    fn find_best(&mut self, ix: usize) -> Option<Candidate> {
        let mut neighbours = std::mem::take(&mut self.neighbours[ix]);
        neighbours.retain(|&(other, _)| self.live.has(other));
        let candidate = |&(other, overlap): &(usize, f64)| Candidate {
            similarity: self.similarity(ix, other, overlap),
            pair: [ix.min(other), ix.max(other)],
        };
        let best = neighbours.iter().map(candidate).max();
        self.neighbours[ix] = neighbours;
        self.best[ix] = best.map_or(Best::None, Best::Known);
        self.queue.extend(best.map(Entry::Pair));
        best
    }

    fn best_of(&mut self, ix: usize) -> Option<Candidate> {
        match self.best[ix] {
            Best::None => None,
            Best::Known(candidate) => Some(candidate),
            Best::AtMost(_) => self.find_best(ix),
        }
    }

    fn next(&mut self) -> Next {
        if self.live.are_unequal() {
            let lightest = self.live.lightest();
            return match self.best_of(lightest) {
                Some(best) => Next::Overlapping(best),
                None => {
                    let near = self.nearest_of(lightest);
                    Next::Apart(near.distance, near.pair)
                }
            };
        }
        while let Some(&entry) = self.queue.peek() {
            match entry {
                Entry::Pair(candidate) if candidate.pair.iter().all(|&ix| self.live.has(ix)) => {
                    return Next::Overlapping(candidate);
                }
                Entry::Pair(_) => {
                    self.queue.pop();
                }
                Entry::Bound(Bound { cluster, similarity }) => {
                    self.queue.pop();
                    let is_current = matches!(self.best[cluster], Best::AtMost(bound) if bound == similarity);
                    if self.live.has(cluster) && is_current {
                        self.find_best(cluster);
                    }
                }
            }
        }
        self.next_apart()
    }

    /// The two clusters that are nearest, where no two overlap.
    fn next_apart(&mut self) -> Next {
        if self.nearest.is_none() {
            let all = self.live.clusters().to_vec();
            self.nearest = Some(all.into_iter().map(|ix| Reverse(self.nearest_of(ix))).collect());
        }
        let mut nearest = self.nearest.take().expect("it was filled above");
        let Reverse(found) = loop {
            let &Reverse(near) = nearest.peek().expect("two are left");
            if near.pair.iter().all(|&ix| self.live.has(ix)) {
                break Reverse(near);
            }
            nearest.pop();
            if self.live.has(near.of) {
                nearest.push(Reverse(self.nearest_of(near.of)));
            }
        };
        self.nearest = Some(nearest);
        Next::Apart(found.distance, found.pair)
    }

    fn nearest_of(&mut self, ix: usize) -> Near {
        let (distance, other) = self.distances.nearest(ix, self.live.clusters()).expect("two are left");
        Near { distance, pair: [ix.min(other), ix.max(other)], of: ix }
    }

    fn merge(&mut self, [a, b]: [usize; 2]) {
        let new = self.weights.len();
        self.live.merge(a, b);
        self.weights.push(self.weights[a] + self.weights[b]);
        self.distances.join(a, b);
        if self.live.len() > 1
            && let Some(mut nearest) = self.nearest.take()
        {
            nearest.push(Reverse(self.nearest_of(new)));
            self.nearest = Some(nearest);
        }

        let mut touched = Vec::new();
        for (other, overlap) in [a, b].into_iter().flat_map(|ix| std::mem::take(&mut self.neighbours[ix])) {
            if self.live.has(other) {
                if self.room[other] == 0.0 {
                    touched.push(other);
                }
                self.room[other] += overlap;
            }
        }
        let neighbours: Vec<(usize, f64)> =
            touched.into_iter().map(|other| (other, std::mem::take(&mut self.room[other]))).collect();
        for &(other, overlap) in &neighbours {
            self.neighbours[other].push((new, overlap));
            let candidate = Candidate { similarity: self.similarity(other, new, overlap), pair: [other, new] };
            self.best[other] = match self.best[other] {
                Best::Known(best) if best.pair.contains(&a) || best.pair.contains(&b) => {
                    // σ with the union is a mean of σ with its parts, but for its rounding
                    let similarity = best.similarity.max(candidate.similarity);
                    self.queue.push(Entry::Bound(Bound { similarity, cluster: other }));
                    Best::AtMost(similarity)
                }
                Best::Known(best) if best >= candidate => Best::Known(best),
                Best::AtMost(bound) if bound >= candidate.similarity => Best::AtMost(bound),
                Best::AtMost(_) => {
                    let similarity = candidate.similarity;
                    self.queue.push(Entry::Bound(Bound { similarity, cluster: other }));
                    Best::AtMost(similarity)
                }
                Best::None | Best::Known(_) => {
                    self.queue.push(Entry::Pair(candidate));
                    Best::Known(candidate)
                }
            };
        }
        self.neighbours.push(neighbours);
        self.best.push(Best::None);
        self.find_best(new);
    }
}

#[cfg(test)]
pub(super) mod tests;
