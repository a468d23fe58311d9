//! One partition that stands for all draws: the one with the least posterior expected variation of
//! information.
//!
//! The expectation is over the draws themselves, not the lower bound from co-clustering
//! probabilities that is often used instead. The search is greedy, from several starts, as in SALSO
//! (Dahl, Johnson & Müller 2022): moves of a row, merges, new seatings of a cluster (`search.rs`).
//! With many rows it runs on a sample of them; the others then join the cluster that they agree
//! with most, and all rows are moved where that helps.

mod search;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use self::search::{Logs, PointSearch};
use super::draws::Partitions;
use crate::metrics;
use crate::rng::Stream;

/// Draws that are looked at as starts, at most: to rank them is quadratic.
const MOST_RANKED: usize = 100;
/// Passes over all rows after a search on a sample.
const LAST_PASSES: usize = 3;

/// How long the search for a point partition may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointOptions {
    /// Rows to search on, at most.
    pub n_rows: usize,
    /// Starts from the best draws, and as many from random seatings.
    pub n_starts: usize,
}

impl Default for PointOptions {
    fn default() -> Self {
        Self { n_rows: 5000, n_starts: 4 }
    }
}

/// A partition that stands for all draws.
#[derive(Debug, Clone, PartialEq)]
pub struct PointPartition {
    /// The cluster of each row, numbered by falling size.
    pub labels: Vec<u32>,
    /// The number of clusters.
    pub k: usize,
    /// Its expected variation of information, in nats.
    pub expected_vi: f64,
}

/// Searches for the partition with the least expected variation of information. It is never worse
/// than the best of the `candidates` and of the draws, of which 100 are looked at. The same draws,
/// candidates and random numbers give the same partition.
pub fn find(draws: &Partitions, candidates: &[&[u32]], options: PointOptions, rng: &mut Stream) -> PointPartition {
    let rows = sample(draws.n_rows(), options.n_rows.max(1), rng);
    let is_sampled = rows.len() < draws.n_rows();
    let sampled = draws.of_rows(&rows);
    let logs = Logs::up_to(sampled.n_rows());
    let ranked = ranked(&sampled);
    let from_draws = ranked.iter().take(options.n_starts.max(1)).map(|&draw_ix| sampled.draw(draw_ix).to_vec());
    let from_candidates = candidates.iter().map(|labels| rows.iter().map(|&row_ix| labels[row_ix]).collect());
    let mut best = None;
    for start in from_draws.chain(from_candidates) {
        best = better(best, PointSearch::from_labels(&sampled, &logs, &start), rng);
    }
    for _ in 0..options.n_starts {
        let start = PointSearch::from_random_seating(&sampled, &logs, rng);
        best = better(best, start, rng);
    }
    let (_, best) = best.expect("there is a draw to start from");
    let best_draw = draws.draw(ranked[0]);
    let labels = if is_sampled { extend(best, draws, &rows, best_draw) } else { best.labels().to_vec() };
    let mut point = (draws.expected_vi(&labels), labels);
    for other in candidates.iter().copied().chain([best_draw]) {
        let expected_vi = draws.expected_vi(other);
        if expected_vi < point.0 {
            point = (expected_vi, other.to_vec());
        }
    }
    let (labels, k) = numbered_by_size(&point.1);
    PointPartition { labels, k, expected_vi: point.0 }
}

/// Labels renumbered by falling size, ties by first appearance, and the number of clusters.
pub fn numbered_by_size(labels: &[u32]) -> (Vec<u32>, usize) {
    let mut clusters: HashMap<u32, (usize, usize)> = HashMap::new();
    for (row_ix, &label) in labels.iter().enumerate() {
        clusters.entry(label).or_insert((0, row_ix)).0 += 1;
    }
    let mut order: Vec<(std::cmp::Reverse<usize>, usize, u32)> =
        clusters.iter().map(|(&label, &(size, first_row))| (std::cmp::Reverse(size), first_row, label)).collect();
    order.sort_unstable();
    let numbers: HashMap<u32, u32> = order.iter().zip(0..).map(|(&(_, _, label), number)| (label, number)).collect();
    (labels.iter().map(|label| numbers[label]).collect(), order.len())
}

/// Descends from a start; the better of where that ends and the best so far.
fn better<'a>(
    best: Option<(f64, PointSearch<'a>)>,
    mut start: PointSearch<'a>,
    rng: &mut Stream,
) -> Option<(f64, PointSearch<'a>)> {
    start.descend(rng);
    let cost = start.cost();
    match best {
        Some((best_cost, best)) if best_cost <= cost => Some((best_cost, best)),
        _ => Some((cost, start)),
    }
}

/// This many rows, each set of them as probable as another, in order.
fn sample(n_rows: usize, n_wanted: usize, rng: &mut Stream) -> Vec<usize> {
    if n_rows <= n_wanted {
        return (0..n_rows).collect();
    }
    let mut n_missing = n_wanted;
    let mut is_chosen = |row_ix: usize| {
        let is_chosen = rng.below(n_rows - row_ix) < n_missing;
        n_missing -= usize::from(is_chosen);
        is_chosen
    };
    (0..n_rows).filter(|&row_ix| is_chosen(row_ix)).collect()
}

/// The draws with the least mean VI to the others first; of many draws, a hundred spread over the
/// chain.
fn ranked(draws: &Partitions) -> Vec<usize> {
    let n_ranked = draws.n_draws().min(MOST_RANKED);
    let spread = (0..n_ranked).map(|ix| ix * draws.n_draws() / n_ranked);
    let mut ranked: Vec<(f64, usize)> = spread.map(|draw_ix| (0.0, draw_ix)).collect();
    // among themselves: a distance is the same both ways, so half of them will do
    for ix in 1..n_ranked {
        for other in 0..ix {
            let vi = metrics::compare(draws.draw(ranked[ix].1), draws.draw(ranked[other].1)).vi;
            ranked[ix].0 += vi;
            ranked[other].0 += vi;
        }
    }
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().map(|(_, draw_ix)| draw_ix).collect()
}

/// From a partition of a sample to one of all rows. A row goes to the cluster c with the largest
/// Σ_draws (share of the sampled members of c that are with the row). Rows that are with no sampled
/// row in most draws are in clusters that the sample missed: they stay together as in `best_draw`.
/// Then all rows are moved where that helps.
fn extend(mut sampled: PointSearch<'_>, draws: &Partitions, rows: &[usize], best_draw: &[u32]) -> Vec<u32> {
    let n_clusters = sampled.labels().iter().max().map_or(0, |&label| label + 1);
    let mut labels: Vec<u32> = Vec::with_capacity(draws.n_rows());
    for row_ix in 0..draws.n_rows() {
        let (cluster, n_met) = sampled.best_agreement(draws.draws().map(|draw| draw[row_ix]));
        let is_missed = 2 * n_met < draws.n_draws();
        labels.push(cluster.filter(|_| !is_missed).unwrap_or(n_clusters + best_draw[row_ix]));
    }
    for (&row_ix, &label) in rows.iter().zip(sampled.labels()) {
        labels[row_ix] = label;
    }
    let logs = Logs::up_to(draws.n_rows());
    let mut all = PointSearch::from_labels(draws, &logs, &labels);
    for _pass in 0..LAST_PASSES {
        // in order of the rows: neighbours are read from the same lines of the file
        if !all.sweep(0..draws.n_rows()) {
            break;
        }
    }
    all.labels().to_vec()
}
