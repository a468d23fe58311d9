//! How rows are shared out among clusters.

use serde::Serialize;

/// The law of the clusters' sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// All the same.
    Equal,
    /// Cluster k, from 0, in proportion to 1/(k + 20)^0.8.
    Zipf,
    /// As 16 × 1000, 15 × 2000, 19 × 5000: the paper's synthetic set.
    Paper,
}

impl Sizes {
    fn weight(self, cluster: usize, n_clusters: usize) -> f64 {
        match self {
            Self::Equal => 1.0,
            Self::Zipf => libm::pow(cluster as f64 + 20.0, -0.8),
            // other numbers of clusters than 50 keep the shares of small, middling and large ones
            Self::Paper => match cluster * 50 / n_clusters {
                0..16 => 1.0,
                16..31 => 2.0,
                _ => 5.0,
            },
        }
    }
}

/// The sizes of the clusters, which add up to `n_rows`: rounded by the largest remainder.
pub fn cluster_sizes(sizes: Sizes, n_clusters: usize, n_rows: usize) -> Vec<usize> {
    let weights: Vec<f64> = (0..n_clusters).map(|cluster| sizes.weight(cluster, n_clusters)).collect();
    let total: f64 = weights.iter().sum();
    let shares: Vec<f64> = weights.iter().map(|weight| n_rows as f64 * weight / total).collect();
    let mut rounded: Vec<usize> = shares.iter().map(|share| share.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..n_clusters).collect();
    by_remainder.sort_by(|&a, &b| shares[b].fract().total_cmp(&shares[a].fract()));
    let missing = n_rows - rounded.iter().sum::<usize>();
    by_remainder.into_iter().cycle().take(missing).for_each(|cluster| rounded[cluster] += 1);
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_has_its_sizes() {
        let sizes = cluster_sizes(Sizes::Paper, 50, 141_000);
        assert_eq!(sizes[..16], [1000; 16]);
        assert_eq!(sizes[16..31], [2000; 15]);
        assert_eq!(sizes[31..], [5000; 19]);
    }

    #[test]
    fn sizes_add_up_and_stay_within_one_row_of_their_share() {
        for sizes in [Sizes::Equal, Sizes::Zipf, Sizes::Paper] {
            for (n_clusters, n_rows) in [(1, 1), (3, 10), (50, 14_101), (50, 51), (1000, 1_281_167)] {
                let rounded = cluster_sizes(sizes, n_clusters, n_rows);
                assert_eq!(rounded.iter().sum::<usize>(), n_rows);
                let total: f64 = (0..n_clusters).map(|cluster| sizes.weight(cluster, n_clusters)).sum();
                for (cluster, &size) in rounded.iter().enumerate() {
                    let share = n_rows as f64 * sizes.weight(cluster, n_clusters) / total;
                    assert!((size as f64 - share).abs() < 1.0, "{size} rows for a share of {share}");
                }
            }
        }
    }
}
