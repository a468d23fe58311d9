use proptest::prelude::*;

use super::*;

/// Clusters on a line at their mean; the sizes are 1.
pub(in crate::tree) struct OnALine(Vec<(f64, f64)>);

impl OnALine {
    pub(in crate::tree) fn new(points: &[f64]) -> Self {
        Self(points.iter().map(|point| (*point, 1.0)).collect())
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        let mean = |ix: usize| self.0[ix].0 / self.0[ix].1;
        (mean(a) - mean(b)).abs()
    }
}

impl Distances for OnALine {
    fn join(&mut self, a: usize, b: usize) {
        let ((sum_a, n_a), (sum_b, n_b)) = (self.0[a], self.0[b]);
        self.0.push((sum_a + sum_b, n_a + n_b));
    }

    fn nearest(&mut self, of: usize, among: &[usize]) -> Option<(f64, usize)> {
        let others = among.iter().copied().filter(|&ix| ix != of);
        others.map(|ix| (self.distance(of, ix), ix)).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    }
}

/// The slow twin: a table of all overlaps, and at every merge a look at all pairs.
fn by_all_pairs(sums: &OverlapSums, distances: &mut OnALine) -> Vec<Merge> {
    let n = sums.n_components();
    let mut overlaps = vec![vec![0.0; 2 * n]; 2 * n];
    for (a, b, overlap) in sums.pairs() {
        (overlaps[a][b], overlaps[b][a]) = (overlap, overlap);
    }
    let mut weights = sums.weights().to_vec();
    let mut live: Vec<usize> = (0..n).collect();
    let mut merges = Vec::new();
    while live.len() > 1 {
        let of = |ix: &usize| u128::from(weights[*ix]);
        let total: u128 = live.iter().map(of).sum();
        let differences: u128 = live.iter().flat_map(|a| live.iter().map(move |b| of(a).abs_diff(of(b)))).sum();
        // each pair is there twice
        let is_guarded = differences > (live.len() as u128 - 1) * total;
        let lightest = live.iter().copied().min_by_key(|&ix| (weights[ix], ix)).unwrap();
        let mut best: Option<(Candidate, bool)> = None;
        for &a in &live {
            for &b in live.iter().filter(|b| **b > a) {
                if is_guarded && a != lightest && b != lightest {
                    continue;
                }
                let overlap = overlaps[a][b];
                let similarity = overlap / (weight_of(weights[a]) * weight_of(weights[b]));
                let candidate = if overlap > 0.0 {
                    Candidate { similarity, pair: [a, b] }
                } else {
                    Candidate { similarity: -distances.distance(a, b), pair: [a, b] }
                };
                let is_better =
                    |(before, overlaps): &(Candidate, bool)| (overlap > 0.0, candidate) > (*overlaps, *before);
                if best.as_ref().is_none_or(is_better) {
                    best = Some((candidate, overlap > 0.0));
                }
            }
        }
        let (Candidate { similarity, pair: [a, b] }, is_overlapping) = best.unwrap();
        let log_rows = libm::log(sums.n_rows() as f64);
        let log_distance =
            if is_overlapping { -libm::log(similarity) } else { 2.0 * log_rows + LOG_STEPS - similarity };
        merges.push(Merge { clusters: [a, b], log_distance });
        let new = weights.len();
        #[expect(clippy::needless_range_loop, reason = "rows and columns are written at once")]
        for other in 0..2 * n {
            overlaps[new][other] = overlaps[a][other] + overlaps[b][other];
            overlaps[other][new] = overlaps[new][other];
        }
        weights.push(weights[a] + weights[b]);
        distances.join(a, b);
        live.retain(|&ix| ix != a && ix != b);
        live.push(new);
    }
    merges
}

/// Components on a line that overlap with those near them; `crumbs` have hardly any weight.
pub(in crate::tree) fn sums_on_a_line(points: &[f64], weights: &[f64], reach: f64) -> OverlapSums {
    let mut pairs = Vec::new();
    for b in 0..points.len() {
        for a in 0..=b {
            let distance = (points[a] - points[b]).abs();
            if distance < reach {
                pairs.push((a as u32, b as u32, weights[a].min(weights[b]) * 0.5 * libm::exp(-distance)));
            }
        }
    }
    pairs.sort_by_key(|&(a, b, _)| (a, b));
    OverlapSums::of(1000, weights, &pairs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::default() })]

    #[test]
    fn lists_of_neighbours_merge_as_all_pairs_do(
        components in prop::collection::vec((0.0f64..100.0, prop_oneof![9 => 1.0f64..3.0, 1 => 0.001f64..0.01, 1 => 50.0f64..500.0]), 1..60),
        reach in 0.1f64..60.0,
    ) {
        let (points, weights): (Vec<f64>, Vec<f64>) = components.into_iter().unzip();
        let sums = sums_on_a_line(&points, &weights, reach);
        let fast = agglomerate(&sums, &mut OnALine::new(&points));
        let slow = by_all_pairs(&sums, &mut OnALine::new(&points));
        prop_assert_eq!(fast.len(), points.len() - 1);
        for (fast, slow) in fast.iter().zip(&slow) {
            prop_assert_eq!(fast.clusters, slow.clusters);
            prop_assert!((fast.log_distance - slow.log_distance).abs() < 1e-9);
        }
    }
}

#[test]
fn without_the_guard_distances_rise() {
    // equal weights until the end: a chain of pairs
    let points: Vec<f64> = (0..8).map(|ix| f64::from(ix) * 10.0 + f64::from(ix % 2) * -8.0).collect();
    let merges = agglomerate(&sums_on_a_line(&points, &[1.0; 8], 1e3), &mut OnALine::new(&points));
    assert!(merges.is_sorted_by(|a, b| a.log_distance <= b.log_distance + 1e-12), "{merges:?}");
}

#[test]
fn crumbs_join_before_large_clusters_do() {
    // two large ones that overlap much, three crumbs far from them that overlap with nothing
    let (points, weights) = ([0.0, 1.0, 50.0, 70.0, 90.0], [500.0, 400.0, 0.01, 0.01, 0.01]);
    let merges = agglomerate(&sums_on_a_line(&points, &weights, 5.0), &mut OnALine::new(&points));
    assert!(merges[..3].iter().all(|merge| merge.clusters.iter().any(|&ix| ix >= 2)), "{merges:?}");
    assert!(merges[3].clusters.contains(&0) || merges[3].clusters.contains(&1));
}
