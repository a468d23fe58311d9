//! Greedy descent of the expected variation of information over the partitions of some rows.
//!
//! With φ(n) = n log n, N rows and T draws, N · T · E\[VI\] is T Σ_c φ(n_c) − 2 Σ_t Σ_{c,d} φ(n_cd)
//! up to a constant, n_cd the rows that cluster c shares with cluster d of draw t. A row that joins
//! c changes only n_c and one n_cd for each draw. A cluster that the row meets in no draw costs T
//! (φ(n_c + 1) − φ(n_c)) ≥ 0 to join, a new one nothing: so only clusters that it meets, and a new
//! one, are looked at, and nothing is lost by it.

use std::collections::HashMap;

use crate::posterior::draws::Partitions;
use crate::rng::Stream;

/// The label of a row that is taken out.
const OUT: u32 = u32::MAX;
/// Passes over all rows, and rounds of passes, merges and new seatings: a safeguard, descent ends
/// much sooner.
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
pub(super) struct PointSearch<'a> {
    draws: Vec<&'a [u32]>,
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

/// Where a row costs least.
#[derive(Debug)]
struct SetChoice {
    /// The cluster; `None` is a new one, which costs nothing.
    cluster: Option<u32>,
    cost: f64,
    /// What its own cluster costs.
    cost_to_stay: f64,
}

impl<'a> PointSearch<'a> {
    /// All rows out.
    pub(super) fn empty(draws: &'a Partitions, logs: &'a Logs) -> Self {
        let mut next = 0;
        let mut first = Vec::with_capacity(draws.n_draws());
        for n_labels in draws.n_labels() {
            first.push(next);
            next += n_labels;
        }
        Self {
            draws: draws.draws().collect(),
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
        self.n_draws() * own - 2.0 * shared
    }

    /// Descends until nothing helps: moves of a row, merges of two clusters, new seatings of the
    /// rows of one.
    pub(super) fn descend(&mut self, rng: &mut Stream) {
        let mut rows: Vec<usize> = (0..self.labels.len()).collect();
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
            let choice = self.choose(row_ix);
            let is_better = choice.cost < choice.cost_to_stay - self.tolerance();
            if is_better {
                self.take(row_ix);
                let cluster = choice.cluster.unwrap_or_else(|| self.open());
                self.put(row_ix, cluster);
            }
            has_moved |= is_better;
        }
        has_moved
    }

    /// For a row of other labels in the draws: the cluster with the largest mean share of members
    /// that are with it, and the number of draws in which it is with anybody.
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
        1e-9 * self.n_draws()
    }

    fn n_draws(&self) -> f64 {
        self.draws.len() as f64
    }

    fn open(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            self.sums.push(0.0);
            self.sizes.len() as u32 - 1
        })
    }

    fn put(&mut self, row_ix: usize, cluster: u32) {
        self.labels[row_ix] = cluster;
        self.sizes[cluster as usize] += 1;
        for draw_ix in 0..self.first.len() {
            let overlaps = &mut self.overlaps[self.first[draw_ix] + self.draws[draw_ix][row_ix] as usize];
            match overlaps.iter_mut().find(|overlap| overlap.0 == cluster) {
                Some(overlap) => overlap.1 += 1,
                None => overlaps.push((cluster, 1)),
            }
        }
    }

    fn take(&mut self, row_ix: usize) {
        let cluster = std::mem::replace(&mut self.labels[row_ix], OUT);
        self.sizes[cluster as usize] -= 1;
        if self.sizes[cluster as usize] == 0 {
            self.free.push(cluster);
        }
        for draw_ix in 0..self.first.len() {
            let overlaps = &mut self.overlaps[self.first[draw_ix] + self.draws[draw_ix][row_ix] as usize];
            let ix = overlaps.iter().position(|overlap| overlap.0 == cluster).expect("the row is counted");
            overlaps[ix].1 -= 1;
            if overlaps[ix].1 == 0 {
                overlaps.swap_remove(ix);
            }
        }
    }

    /// Where a row costs least, itself taken out in thought: most rows stay, and for them nothing
    /// need be changed.
    fn choose(&mut self, row_ix: usize) -> SetChoice {
        let own = self.labels[row_ix];
        let others = |cluster: u32, count: u32| (count - u32::from(cluster == own)) as usize;
        for (draw, first) in self.draws.iter().zip(&self.first) {
            for &(cluster, count) in &self.overlaps[first + draw[row_ix] as usize] {
                let others = others(cluster, count);
                if others > 0 {
                    let sum = &mut self.sums[cluster as usize];
                    if *sum == 0.0 {
                        self.met.push(cluster);
                    }
                    *sum += self.logs.steps[others];
                }
            }
        }
        let n_draws = self.draws.len() as f64;
        let cost_of_size = |cluster: u32| n_draws * self.logs.steps[others(cluster, self.sizes[cluster as usize])];
        let cost_to_stay = if own == OUT { 0.0 } else { cost_of_size(own) };
        let mut choice = SetChoice { cluster: None, cost: 0.0, cost_to_stay };
        for cluster in self.met.drain(..) {
            let shared = std::mem::take(&mut self.sums[cluster as usize]);
            let cost = cost_of_size(cluster) - 2.0 * shared;
            if cluster == own {
                choice.cost_to_stay = cost;
            }
            if cost < choice.cost || cost == choice.cost && choice.cluster.is_some_and(|best| cluster < best) {
                (choice.cluster, choice.cost) = (Some(cluster), cost);
            }
        }
        choice
    }

    /// Puts a row that is out where it costs least; how much.
    fn seat(&mut self, row_ix: usize) -> f64 {
        let choice = self.choose(row_ix);
        let cluster = choice.cluster.unwrap_or_else(|| self.open());
        self.put(row_ix, cluster);
        choice.cost
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
            (self.n_draws() * own - 2.0 * shared, (a, b))
        };
        let best = shared.into_iter().map(change).min_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        best.filter(|(change, _)| *change < -self.tolerance()).map(|(_, pair)| pair)
    }

    /// Takes out all rows of a cluster and seats them one after another in random order; what does
    /// not help is undone. Finds splits, which no move of a single row does. Every cluster once;
    /// whether it helped.
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
                change -= self.choose(row_ix).cost_to_stay;
                self.take(row_ix);
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
        rows.iter().for_each(|&row_ix| self.take(row_ix));
        let mut numbers = HashMap::new();
        for (&row_ix, &old) in rows.iter().zip(old) {
            let cluster =
                *numbers.entry(old).or_insert_with(|| if self.sizes[old as usize] > 0 { old } else { self.open() });
            self.put(row_ix, cluster);
        }
    }
}
