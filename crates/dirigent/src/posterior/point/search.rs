//! Greedy descent of the expected variation of information over the partitions of some rows.
//!
//! With φ(n) = n log n, N rows and T draws, N · T · E\[VI\] is T Σ_c φ(n_c) − 2 Σ_t Σ_{c,d} φ(n_cd) up to a constant, n_cd the rows that cluster c shares
//! with cluster d of draw t. A row that joins c changes only n_c and one n_cd for each draw. A cluster that the row meets in no draw
//! costs T (φ(n_c + 1) − φ(n_c)) ≥ 0 to join, a new one nothing: so only clusters that it meets, and a new one, are looked at, and
//! nothing is lost by it.

use std::collections::HashMap;

use crate::posterior::draws::Partitions;
use crate::rng::Stream;

/// The label of a row that is taken out.
const OUT: u32 = u32::MAX;
/// Passes over all rows, and rounds of passes, merges and new seatings: a safeguard, descent ends much sooner.
const MOST_PASSES: usize = 50;
const MOST_ROUNDS: usize = 30;

/// φ(n) and φ(n + 1) − φ(n) for all sizes that can occur.
#[derive(Debug)]
pub(super) struct Logs {
    n_log_n: Vec<f64>,
    steps: Vec<f64>,
}

impl Logs {
    pub(super) fn up_to(n_rows: usize) -> Self {
        let n_log_n: Vec<f64> = (0..=n_rows).map(|n| n as f64 * libm::log(n.max(1) as f64)).collect();
        let steps = n_log_n.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Self { n_log_n, steps }
    }
}

/// A partition on its way down, and its overlaps with the clusters of every draw.
#[derive(Debug)]
pub(super) struct Search<'a> {
    draws: &'a Partitions,
    logs: &'a Logs,
    labels: Vec<u32>,
    sizes: Vec<u32>,
    /// Clusters without rows.
    free: Vec<u32>,
    /// For each cluster of each draw: (cluster of ours, rows in both), where there are any.
    overlaps: Vec<Vec<(u32, u32)>>,
    /// Where the clusters of each draw begin in `overlaps`.
    first: Vec<usize>,
    /// Scratch: Σ_t of the steps of each cluster that the row meets, and which these are.
    sums: Vec<f64>,
    met: Vec<u32>,
}

impl<'a> Search<'a> {
    /// All rows out.
    pub(super) fn empty(draws: &'a Partitions, logs: &'a Logs) -> Self {
        let mut next = 0;
        let mut first = Vec::with_capacity(draws.n_draws());
        for n_labels in draws.n_labels() {
            first.push(next);
            next += n_labels;
        }
        Self {
            draws,
            logs,
            labels: vec![OUT; draws.n_rows()],
            sizes: Vec::new(),
            free: Vec::new(),
            overlaps: vec![Vec::new(); next],
            first,
            sums: Vec::new(),
            met: Vec::new(),
        }
    }

    /// Begins with a partition; any numbers may serve as labels.
    pub(super) fn from_labels(draws: &'a Partitions, logs: &'a Logs, labels: &[u32]) -> Self {
        let mut search = Self::empty(draws, logs);
        let mut numbers = HashMap::new();
        for (row_ix, label) in labels.iter().enumerate() {
            let cluster = *numbers.entry(label).or_insert_with(|| search.open());
            search.put(row_ix, cluster);
        }
        search
    }

    /// Begins with the rows seated one after another in random order, each where it costs least.
    pub(super) fn from_random_seating(draws: &'a Partitions, logs: &'a Logs, rng: &mut Stream) -> Self {
        let mut search = Self::empty(draws, logs);
        let mut rows: Vec<usize> = (0..draws.n_rows()).collect();
        rng.shuffle(&mut rows);
        rows.iter().for_each(|&row_ix| {
            search.seat(row_ix);
        });
        search
    }

    /// The cluster of each row.
    pub(super) fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// N · T · E\[VI\], up to a constant that depends on the draws alone.
    pub(super) fn cost(&self) -> f64 {
        let phi = |n: u32| self.logs.n_log_n[n as usize];
        let own: f64 = self.sizes.iter().map(|&size| phi(size)).sum();
        let mut counts: Vec<u32> = self.overlaps.iter().flatten().map(|&(_, count)| count).collect();
        // in rising order, so that the way here plays no part in the rounding
        counts.sort_unstable();
        let shared: f64 = counts.into_iter().map(phi).sum();
        self.draws.n_draws() as f64 * own - 2.0 * shared
    }

    /// Descends until nothing helps: moves of a row, merges of two clusters, new seatings of the rows of one.
    pub(super) fn descend(&mut self, rng: &mut Stream) {
        let mut rows: Vec<usize> = (0..self.draws.n_rows()).collect();
        for _round in 0..MOST_ROUNDS {
            rng.shuffle(&mut rows);
            for _pass in 0..MOST_PASSES {
                if !self.sweep(rows.iter().copied()) {
                    break;
                }
            }
            let has_merged = self.merge();
            if !self.seat_anew(rng) && !has_merged {
                break;
            }
        }
    }

    /// Moves each row to where it costs least; whether any moved.
    pub(super) fn sweep(&mut self, rows: impl Iterator<Item = usize>) -> bool {
        let mut has_moved = false;
        for row_ix in rows {
            let old = self.take(row_ix);
            let (best, best_cost) = self.cheapest(row_ix);
            let is_better = best_cost < self.cost_to_join(row_ix, old) - self.tolerance();
            // where it was alone, its cluster is free now and is as good as a new one
            let cluster = if is_better { best } else { Some(old).filter(|&old| self.sizes[old as usize] > 0) };
            let cluster = cluster.unwrap_or_else(|| self.open());
            self.put(row_ix, cluster);
            has_moved |= is_better;
        }
        has_moved
    }

    /// For a row of other labels in the draws: the cluster with the largest mean share of members that are with it, and the number of draws
    /// in which it is with anybody.
    pub(super) fn best_agreement(&mut self, labels: impl Iterator<Item = u32>) -> (Option<u32>, usize) {
        self.sums.resize(self.sizes.len(), 0.0);
        let mut n_met = 0;
        for (label, first) in labels.zip(&self.first) {
            let overlaps = &self.overlaps[first + label as usize];
            n_met += usize::from(!overlaps.is_empty());
            for &(cluster, count) in overlaps {
                let sum = &mut self.sums[cluster as usize];
                if *sum == 0.0 {
                    self.met.push(cluster);
                }
                *sum += f64::from(count) / f64::from(self.sizes[cluster as usize]);
            }
        }
        let mut best: Option<(u32, f64)> = None;
        for cluster in self.met.drain(..) {
            let sum = std::mem::take(&mut self.sums[cluster as usize]);
            if best.is_none_or(|(best, most)| sum > most || sum == most && cluster < best) {
                best = Some((cluster, sum));
            }
        }
        (best.map(|(cluster, _)| cluster), n_met)
    }

    /// Below what counts as a gain: rounding must not make two moves undo one another for ever.
    fn tolerance(&self) -> f64 {
        1e-9 * self.draws.n_draws() as f64
    }

    fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            self.sums.push(0.0);
            self.sizes.len() as u32 - 1
        })
    }

    /// The places of a row's clusters in `overlaps`, one a draw.
    fn places(&self, row_ix: usize) -> impl Iterator<Item = usize> + use<'a, '_> {
        self.first.iter().enumerate().map(move |(draw_ix, first)| first + self.draws.draw(draw_ix)[row_ix] as usize)
    }

    fn put(&mut self, row_ix: usize, cluster: u32) {
        self.labels[row_ix] = cluster;
        self.sizes[cluster as usize] += 1;
        for draw_ix in 0..self.first.len() {
            let overlaps = &mut self.overlaps[self.first[draw_ix] + self.draws.draw(draw_ix)[row_ix] as usize];
            match overlaps.iter_mut().find(|overlap| overlap.0 == cluster) {
                Some(overlap) => overlap.1 += 1,
                None => overlaps.push((cluster, 1)),
            }
        }
    }

    fn take(&mut self, row_ix: usize) -> u32 {
        let cluster = std::mem::replace(&mut self.labels[row_ix], OUT);
        self.sizes[cluster as usize] -= 1;
        if self.sizes[cluster as usize] == 0 {
            self.free.push(cluster);
        }
        for draw_ix in 0..self.first.len() {
            let overlaps = &mut self.overlaps[self.first[draw_ix] + self.draws.draw(draw_ix)[row_ix] as usize];
            let ix = overlaps.iter().position(|overlap| overlap.0 == cluster).expect("the row is counted");
            overlaps[ix].1 -= 1;
            if overlaps[ix].1 == 0 {
                overlaps.swap_remove(ix);
            }
        }
        cluster
    }

    /// What it costs a row that is out to join a cluster.
    fn cost_to_join(&self, row_ix: usize, cluster: u32) -> f64 {
        let shared: f64 = self
            .places(row_ix)
            .filter_map(|place| self.overlaps[place].iter().find(|overlap| overlap.0 == cluster))
            .map(|&(_, count)| self.logs.steps[count as usize])
            .sum();
        self.draws.n_draws() as f64 * self.logs.steps[self.sizes[cluster as usize] as usize] - 2.0 * shared
    }

    /// Where a row that is out costs least, and how much; `None` is a new cluster, which costs nothing.
    fn cheapest(&mut self, row_ix: usize) -> (Option<u32>, f64) {
        for draw_ix in 0..self.first.len() {
            let place = self.first[draw_ix] + self.draws.draw(draw_ix)[row_ix] as usize;
            for &(cluster, count) in &self.overlaps[place] {
                let sum = &mut self.sums[cluster as usize];
                if *sum == 0.0 {
                    self.met.push(cluster);
                }
                *sum += self.logs.steps[count as usize];
            }
        }
        let (mut best, mut best_cost) = (None, 0.0);
        for cluster in self.met.drain(..) {
            let shared = std::mem::take(&mut self.sums[cluster as usize]);
            let own = self.logs.steps[self.sizes[cluster as usize] as usize];
            let cost = self.draws.n_draws() as f64 * own - 2.0 * shared;
            if cost < best_cost || cost == best_cost && best.is_some_and(|best| cluster < best) {
                (best, best_cost) = (Some(cluster), cost);
            }
        }
        (best, best_cost)
    }

    /// Puts a row that is out where it costs least; how much.
    fn seat(&mut self, row_ix: usize) -> f64 {
        let (cluster, cost) = self.cheapest(row_ix);
        let cluster = cluster.unwrap_or_else(|| self.open());
        self.put(row_ix, cluster);
        cost
    }

    /// Merges pairs of clusters, the best first, while it helps; whether it did.
    fn merge(&mut self) -> bool {
        let mut has_merged = false;
        while let Some((kept, gone)) = self.best_merge() {
            let rows: Vec<usize> = (0..self.labels.len()).filter(|&row_ix| self.labels[row_ix] == gone).collect();
            for row_ix in rows {
                self.take(row_ix);
                self.put(row_ix, kept);
            }
            has_merged = true;
        }
        has_merged
    }

    fn best_merge(&self) -> Option<(u32, u32)> {
        let phi = |n: u32| self.logs.n_log_n[n as usize];
        let gain = |a: u32, b: u32| phi(a + b) - phi(a) - phi(b);
        let mut shared: HashMap<(u32, u32), f64> = HashMap::new();
        for overlaps in &self.overlaps {
            for (ix, &(a, count_a)) in overlaps.iter().enumerate() {
                for &(b, count_b) in &overlaps[..ix] {
                    *shared.entry((a.min(b), a.max(b))).or_default() += gain(count_a, count_b);
                }
            }
        }
        let change = |((a, b), shared): ((u32, u32), f64)| {
            let own = gain(self.sizes[a as usize], self.sizes[b as usize]);
            (self.draws.n_draws() as f64 * own - 2.0 * shared, (a, b))
        };
        let best = shared.into_iter().map(change).min_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        best.filter(|(change, _)| *change < -self.tolerance()).map(|(_, pair)| pair)
    }

    /// Takes out all rows of a cluster and seats them one after another in random order; what does not help is undone. Finds splits, which
    /// no move of a single row does. Every cluster once; whether it helped.
    fn seat_anew(&mut self, rng: &mut Stream) -> bool {
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.sizes.len()];
        for (row_ix, &label) in self.labels.iter().enumerate() {
            members[label as usize].push(row_ix);
        }
        members.retain(|rows| rows.len() > 1);
        rng.shuffle(&mut members);
        let mut has_helped = false;
        for mut rows in members {
            rng.shuffle(&mut rows);
            let old: Vec<u32> = rows.iter().map(|&row_ix| self.labels[row_ix]).collect();
            let mut change = 0.0;
            for &row_ix in &rows {
                let cluster = self.take(row_ix);
                change -= self.cost_to_join(row_ix, cluster);
            }
            for &row_ix in &rows {
                change += self.seat(row_ix);
            }
            if change < -self.tolerance() {
                has_helped = true;
            } else {
                self.put_back(&rows, &old);
            }
        }
        has_helped
    }

    /// Rows to the clusters they were in; clusters that are free by now get other numbers.
    fn put_back(&mut self, rows: &[usize], old: &[u32]) {
        rows.iter().for_each(|&row_ix| {
            self.take(row_ix);
        });
        let mut numbers = HashMap::new();
        for (&row_ix, &old) in rows.iter().zip(old) {
            let cluster =
                *numbers.entry(old).or_insert_with(|| if self.sizes[old as usize] > 0 { old } else { self.open() });
            self.put(row_ix, cluster);
        }
    }
}
