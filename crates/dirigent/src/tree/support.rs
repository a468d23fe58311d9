//! Support: the posterior probability that the two sides of a merge are apart.
//!
//! 1 − the mean over posterior draws of the share of pairs, one row on either side, that the draw puts together.

use std::collections::HashMap;

use super::Tree;
use crate::posterior::draws::Partitions;

/// The support of each merge, given the component of each row; `None` if a side has no rows.
pub(super) fn support(tree: &Tree, components: &[u32], draws: &Partitions) -> Vec<Option<f64>> {
    assert_eq!(components.len(), draws.n_rows(), "draws of the same rows");
    let n_components = tree.n_components();
    let mut rows_of = vec![0u64; tree.root() + 1];
    components.iter().for_each(|&component| rows_of[component as usize] += 1);
    for (ix, sides) in tree.merges().enumerate() {
        rows_of[n_components + ix] = sides.iter().map(|&side| rows_of[side]).sum();
    }
    let mut together = vec![0.0; n_components - 1];
    for draw in draws.draws() {
        // how many rows of each node are in each cluster of the draw
        let mut counts: Vec<HashMap<u32, u64>> = vec![HashMap::new(); n_components];
        for (&component, &cluster) in components.iter().zip(draw) {
            *counts[component as usize].entry(cluster).or_default() += 1;
        }
        for (ix, sides) in tree.merges().enumerate() {
            let [mut more, mut fewer] = sides.map(|side| std::mem::take(&mut counts[side]));
            if more.len() < fewer.len() {
                std::mem::swap(&mut more, &mut fewer);
            }
            let mut n_pairs = 0u128;
            for (cluster, count) in fewer {
                let known = more.entry(cluster).or_default();
                n_pairs += u128::from(*known) * u128::from(count);
                *known += count;
            }
            let [a, b] = sides.map(|side| rows_of[side] as f64);
            together[ix] += if a * b > 0.0 { n_pairs as f64 / (a * b) } else { 0.0 };
            counts.push(more);
        }
    }
    let support_of = |(sides, together): ([usize; 2], f64)| {
        let has_rows = sides.iter().all(|&side| rows_of[side] > 0);
        has_rows.then(|| (1.0 - together / draws.n_draws() as f64).clamp(0.0, 1.0))
    };
    tree.merges().zip(together).map(support_of).collect()
}
