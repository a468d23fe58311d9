//! What the draws say: the posterior of K, which rows are together, how firmly a row belongs to its
//! cluster. Ours, not the paper's.
//!
//! A draw is a state of the chain: a partition of all rows. Its cluster numbers mean nothing beyond
//! the draw, so everything here depends only on which rows are together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::metrics;
use crate::rows::Cells;

/// Partitions of the same rows, one a draw.
#[derive(Debug)]
pub struct Partitions {
    n_rows: usize,
    labels: Cells<u32>,
    /// The number of clusters of each draw.
    k: Vec<usize>,
    /// One more than the largest label of each draw.
    n_labels: Vec<usize>,
}

impl Partitions {
    /// Takes labels draw after draw, `n_rows` a draw. A label must be less than the number of rows,
    /// as numbers without gaps are.
    pub fn new(n_rows: usize, labels: Cells<u32>) -> Result<Self, InputError> {
        if n_rows == 0 || labels.as_slice().is_empty() || !labels.as_slice().len().is_multiple_of(n_rows) {
            let problem = format!("{} labels are no draws of {n_rows} rows", labels.as_slice().len());
            return Err(InputError::new(problem));
        }
        let (mut k, mut n_labels) = (Vec::new(), Vec::new());
        let mut seen_in = vec![0; n_rows];
        for (draw_ix, draw) in labels.as_slice().chunks_exact(n_rows).enumerate() {
            let (mut n_clusters, mut largest) = (0, 0);
            for (row_ix, &label) in draw.iter().enumerate() {
                let Some(seen_in) = seen_in.get_mut(label as usize) else {
                    return Err(misnumbered(draw_ix, row_ix, label, n_rows));
                };
                n_clusters += usize::from(*seen_in != draw_ix + 1);
                *seen_in = draw_ix + 1;
                largest = largest.max(label as usize);
            }
            k.push(n_clusters);
            n_labels.push(largest + 1);
        }
        Ok(Self { n_rows, labels, k, n_labels })
    }

    /// The number of draws.
    pub fn n_draws(&self) -> usize {
        self.k.len()
    }

    /// The number of rows of each draw.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The cluster of each row in one draw.
    pub fn draw(&self, draw_ix: usize) -> &[u32] {
        &self.labels.as_slice()[draw_ix * self.n_rows..][..self.n_rows]
    }

    /// All draws, in order.
    pub fn draws(&self) -> impl Iterator<Item = &[u32]> {
        self.labels.as_slice().chunks_exact(self.n_rows)
    }

    /// The number of clusters of each draw.
    pub fn k(&self) -> &[usize] {
        &self.k
    }

    /// One more than the largest label of each draw.
    pub(super) fn n_labels(&self) -> &[usize] {
        &self.n_labels
    }

    /// The same draws of some of the rows. Labels stay what they are, so numbers may be left out.
    pub(super) fn of_rows(&self, rows: &[usize]) -> Self {
        let labels = self.draws().flat_map(|draw| rows.iter().map(|&row_ix| draw[row_ix])).collect();
        let (k, n_labels) = (self.k.clone(), self.n_labels.clone());
        Self { n_rows: rows.len(), labels: Cells::Owned(labels), k, n_labels }
    }

    /// The posterior of the number of clusters.
    pub fn k_posterior(&self) -> KPosterior {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        self.k.iter().for_each(|&k| *counts.entry(k).or_default() += 1);
        let n_draws = self.n_draws();
        // in twentieths, to stay with whole numbers
        let quantile = |twentieths: usize| {
            let mut n_up_to = 0;
            for (&k, &count) in &counts {
                n_up_to += count;
                if n_up_to * 20 >= twentieths * n_draws {
                    return k;
                }
            }
            unreachable!("all draws are up to the largest")
        };
        let mode = counts.iter().max_by_key(|&(k, count)| (count, std::cmp::Reverse(k))).expect("there is a draw").0;
        KPosterior {
            mean: self.k.iter().map(|&k| k as f64).sum::<f64>() / n_draws as f64,
            mode: *mode,
            interval_90: [quantile(1), quantile(19)],
            shares: counts.iter().map(|(&k, &count)| (k, count as f64 / n_draws as f64)).collect(),
        }
    }

    /// The co-clustering probability of two rows: the share of draws that put them together.
    pub fn together(&self, row_a: usize, row_b: usize) -> f64 {
        let n_together = self.draws().filter(|draw| draw[row_a] == draw[row_b]).count();
        n_together as f64 / self.n_draws() as f64
    }

    /// How firmly each row belongs to its cluster of a given partition: the share of the other rows
    /// of that cluster that are together with it, averaged over the draws. For a row that is alone
    /// in its cluster: the share of draws in which it is alone.
    pub fn kept_mates(&self, labels: &[u32]) -> Vec<f32> {
        assert_eq!(labels.len(), self.n_rows, "a partition of the same rows");
        let mut by_cluster: Vec<usize> = (0..self.n_rows).collect();
        by_cluster.sort_by_key(|&row_ix| labels[row_ix]);
        let mut kept = vec![0; self.n_rows];
        let most_labels = self.n_labels.iter().copied().max().unwrap_or(0);
        let (mut counts, mut sizes) = (vec![0u64; most_labels], vec![0u64; most_labels]);
        for draw in self.draws() {
            sizes.fill(0);
            draw.iter().for_each(|&label| sizes[label as usize] += 1);
            for cluster in by_cluster.chunk_by(|&a, &b| labels[a] == labels[b]) {
                if let &[row_ix] = cluster {
                    kept[row_ix] += u64::from(sizes[draw[row_ix] as usize] == 1);
                    continue;
                }
                cluster.iter().for_each(|&row_ix| counts[draw[row_ix] as usize] += 1);
                cluster.iter().for_each(|&row_ix| kept[row_ix] += counts[draw[row_ix] as usize] - 1);
                cluster.iter().for_each(|&row_ix| counts[draw[row_ix] as usize] = 0);
            }
        }
        let mut certainty = vec![0.0; self.n_rows];
        for cluster in by_cluster.chunk_by(|&a, &b| labels[a] == labels[b]) {
            let most = (cluster.len() - 1).max(1) as f64 * self.n_draws() as f64;
            cluster.iter().for_each(|&row_ix| certainty[row_ix] = (kept[row_ix] as f64 / most) as f32);
        }
        certainty
    }

    /// The posterior expected variation of information between a partition and the truth, in nats:
    /// the mean over the draws.
    pub fn expected_vi(&self, labels: &[u32]) -> f64 {
        self.draws().map(|draw| metrics::compare(labels, draw).vi).sum::<f64>() / self.n_draws() as f64
    }
}

/// The posterior of the number of clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KPosterior {
    /// Mean.
    pub mean: f64,
    /// The most frequent number; the smallest of several.
    pub mode: usize,
    /// The 5 % and the 95 % quantile.
    pub interval_90: [usize; 2],
    /// Share of the draws with each number of components.
    pub shares: BTreeMap<usize, f64>,
}

fn misnumbered(draw_ix: usize, row_ix: usize, label: u32, n_rows: usize) -> InputError {
    // files hold signed numbers
    let label = label.cast_signed();
    let problem = format!("draw {draw_ix}, row {row_ix}: found the label {label}, expected one of 0 to {}", n_rows - 1);
    InputError::new(problem).hint("draws are labels as `dirigent fit --draws` writes them, numbered from 0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(draws: &[&[u32]]) -> Partitions {
        Partitions::new(draws[0].len(), Cells::Owned(draws.concat())).unwrap()
    }

    #[test]
    fn the_number_of_clusters_is_counted_and_summarised() {
        let draws = partitions(&[&[0, 0, 0, 0], &[0, 0, 1, 1], &[0, 2, 0, 1], &[1, 1, 0, 0], &[0, 3, 3, 0]]);
        assert_eq!(draws.k(), [1, 2, 3, 2, 2]);
        let posterior = draws.k_posterior();
        assert_eq!((posterior.mean, posterior.mode, posterior.interval_90), (2.0, 2, [1, 3]));
        assert_eq!(posterior.shares, BTreeMap::from([(1, 0.2), (2, 0.6), (3, 0.2)]));
    }

    #[test]
    fn the_interval_holds_ninety_percent() {
        // 1..=20 clusters once each: 5 % are at most 1, 95 % at most 19
        let draws: Vec<u32> = (1..=20).flat_map(|k| (0..20).map(move |row| row % k)).collect();
        let posterior = Partitions::new(20, Cells::Owned(draws)).unwrap().k_posterior();
        assert_eq!((posterior.interval_90, posterior.mode), ([1, 19], 1));
    }

    #[test]
    fn rows_are_together_as_often_as_their_labels_agree() {
        let draws = partitions(&[&[0, 0, 1], &[0, 1, 1], &[0, 0, 0], &[2, 2, 0]]);
        assert_eq!([draws.together(0, 1), draws.together(1, 2), draws.together(2, 0)], [0.75, 0.5, 0.25]);
        assert_eq!(draws.together(1, 1), 1.0);
    }

    #[test]
    fn a_row_keeps_the_mates_it_has_in_the_draws() {
        let draws = partitions(&[&[0, 0, 0, 1], &[0, 0, 1, 1]]);
        // rows 0 and 1 keep both mates, then one of two; row 2 both, then none; row 3 is alone once
        assert_eq!(draws.kept_mates(&[5, 5, 5, 9]), [0.75, 0.75, 0.5, 0.5]);
        assert_eq!(draws.kept_mates(&[0, 1, 2, 3]), [0.0, 0.0, 0.0, 0.5]);
    }

    #[test]
    fn a_cluster_that_all_draws_agree_on_is_certain() {
        let draws = partitions(&[&[0, 1, 0, 1, 2], &[1, 0, 1, 0, 2]]);
        assert_eq!(draws.kept_mates(&[0, 1, 0, 1, 2]), [1.0; 5]);
        assert_eq!(draws.expected_vi(&[7, 3, 7, 3, 0]), 0.0);
    }

    #[test]
    fn what_are_no_labels_is_refused() {
        let refused = |n_rows, labels: &[u32]| Partitions::new(n_rows, Cells::Owned(labels.to_vec())).unwrap_err();
        let error = refused(2, &[0, 1, 1, u32::MAX]);
        assert_eq!(error.problem, "draw 1, row 1: found the label -1, expected one of 0 to 1");
        assert!(refused(2, &[0, 1, 2, 0]).problem.contains("draw 1, row 0: found the label 2"));
        refused(2, &[0, 1, 0]);
        refused(2, &[]);
        refused(0, &[]);
    }
}
