//! Agglomeration: the two clusters with the largest σ(A, B) = n·O_AB / (w_A w_B) are merged, until one is left.
//!
//! O and w are additive, so those of a merged cluster are exact. σ is how much more often rows belong to both than they would if memberships were independent. A
//! guard keeps crumbs from outlasting everything: while weights are too unequal (Gini coefficient above ½), only pairs with the lightest cluster compete.
//! Clusters that overlap with no other are merged by [`Distances`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::distance::Distances;
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

/// The state between merges.
struct Agglomeration<'a> {
    /// Those that are not merged yet, in any order.
    live: Vec<usize>,
    /// Where each cluster is in `live`, if it is.
    place: Vec<Option<usize>>,
    /// In steps of 2⁻³².
    weights: Vec<u64>,
    /// Σ |w_a − w_b| over pairs of live clusters.
    differences: u128,
    /// (other, O) of each cluster; others that are merged meanwhile are passed over.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// The most similar neighbour of each cluster, if it has any.
    best: Vec<Option<Candidate>>,
    /// All best ones there have been. σ of a pair does not change while both live, so one is valid as long as they do.
    candidates: BinaryHeap<Candidate>,
    /// For each cluster the nearest, where that was asked for.
    nearest: Vec<Option<(f64, usize)>>,
    distances: &'a mut dyn Distances,
    /// Overlaps of the cluster that is being made, by the other's number.
    room: Vec<f64>,
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
        let mut sorted = sums.weights().to_vec();
        sorted.sort_unstable();
        let (mut differences, mut below) = (0, 0);
        for (ix, &weight) in sorted.iter().enumerate() {
            differences += u128::from(weight) * ix as u128 - below;
            below += u128::from(weight);
        }
        let mut state = Self {
            live: (0..n).collect(),
            place: (0..n).map(Some).collect(),
            weights: sums.weights().to_vec(),
            differences,
            neighbours,
            best: vec![None; n],
            candidates: BinaryHeap::new(),
            nearest: vec![None; n],
            distances,
            room: vec![0.0; 2 * n],
        };
        (0..n).for_each(|ix| state.find_best(ix));
        state
    }

    fn similarity(&self, a: usize, b: usize, overlap: f64) -> f64 {
        overlap / (weight_of(self.weights[a]) * weight_of(self.weights[b]))
    }

    fn is_live(&self, ix: usize) -> bool {
        self.place[ix].is_some()
    }

    /// Looks through the neighbours of a cluster.
    fn find_best(&mut self, ix: usize) {
        let mut neighbours = std::mem::take(&mut self.neighbours[ix]);
        neighbours.retain(|&(other, _)| self.is_live(other));
        let candidate = |&(other, overlap): &(usize, f64)| Candidate {
            similarity: self.similarity(ix, other, overlap),
            pair: [ix.min(other), ix.max(other)],
        };
        self.best[ix] = neighbours.iter().map(candidate).max();
        self.neighbours[ix] = neighbours;
        self.candidates.extend(self.best[ix]);
    }

    /// 2 Σ |w_a − w_b| > (m − 1) Σ w: the Gini coefficient, 1 if one has it all, exceeds ½.
    fn are_unequal(&self) -> bool {
        let total: u128 = self.live.iter().map(|&ix| u128::from(self.weights[ix])).sum();
        2 * self.differences > (self.live.len() as u128 - 1) * total
    }

    fn next(&mut self) -> Next {
        if self.are_unequal() {
            let lightest = self.live.iter().copied().min_by_key(|&ix| (self.weights[ix], ix)).expect("two are left");
            return match self.best[lightest] {
                Some(best) => Next::Overlapping(best),
                None => self.nearest_of(lightest, false),
            };
        }
        while let Some(candidate) = self.candidates.peek() {
            if candidate.pair.iter().all(|&ix| self.is_live(ix)) {
                return Next::Overlapping(*candidate);
            }
            self.candidates.pop();
        }
        let mut all = self.live.clone();
        all.sort_unstable();
        let pairs = all.into_iter().map(|ix| self.nearest_of(ix, true));
        let closer = |a: Next, b: Next| match (&a, &b) {
            (Next::Apart(of_a, pair_a), Next::Apart(of_b, pair_b)) => {
                if of_b.total_cmp(of_a).then(pair_b.cmp(pair_a)).is_lt() { b } else { a }
            }
            _ => unreachable!("no two overlap"),
        };
        pairs.reduce(closer).expect("two are left")
    }

    /// The pair of a cluster and the one nearest to it. What is known may leave out a union made since, whose own nearest then is as near.
    fn nearest_of(&mut self, ix: usize, may_be_known: bool) -> Next {
        let known = self.nearest[ix].filter(|&(_, other)| may_be_known && self.place[other].is_some());
        let (distance, other) = known.unwrap_or_else(|| {
            let mut others = self.live.iter().copied().filter(|&other| other != ix);
            self.distances.nearest(ix, &mut others).expect("two are left")
        });
        self.nearest[ix] = Some((distance, other));
        Next::Apart(distance, [ix.min(other), ix.max(other)])
    }

    /// What a live cluster adds to the sum of differences.
    fn differences_of(&self, ix: usize) -> u128 {
        let weight = self.weights[ix];
        self.live.iter().map(|&other| u128::from(self.weights[other].abs_diff(weight))).sum()
    }

    fn remove(&mut self, ix: usize) {
        self.differences -= self.differences_of(ix);
        let place = self.place[ix].take().expect("it lives");
        self.live.swap_remove(place);
        if let Some(&moved) = self.live.get(place) {
            self.place[moved] = Some(place);
        }
    }

    fn merge(&mut self, [a, b]: [usize; 2]) {
        let new = self.weights.len();
        self.remove(a);
        self.remove(b);
        self.weights.push(self.weights[a] + self.weights[b]);
        self.place.push(Some(self.live.len()));
        self.live.push(new);
        self.differences += self.differences_of(new);
        self.distances.join(a, b);
        self.nearest.push(None);

        let mut touched = Vec::new();
        for (other, overlap) in [a, b].into_iter().flat_map(|ix| std::mem::take(&mut self.neighbours[ix])) {
            if self.place[other].is_some() {
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
        }
        self.neighbours.push(neighbours);
        self.best.push(None);
        self.find_best(new);
        for ix in 0..self.neighbours[new].len() {
            let (other, overlap) = self.neighbours[new][ix];
            let has_lost = |best: Candidate| best.pair.contains(&a) || best.pair.contains(&b);
            let candidate = Candidate { similarity: self.similarity(other, new, overlap), pair: [other, new] };
            match self.best[other] {
                Some(best) if has_lost(best) => self.find_best(other),
                // a mean is not above both its parts, but for its rounding
                Some(best) if best >= candidate => {}
                _ => {
                    self.best[other] = Some(candidate);
                    self.candidates.push(candidate);
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
