//! How much two partitions of the same rows agree: VI, ARI and NMI.
//!
//! All three are functions of the sizes of the clusters and of their overlaps. The sizes are summed
//! in rising order, so the result is the same to the last bit when the partitions are exchanged or
//! their labels renamed.

use std::borrow::Cow;

use serde::Serialize;

/// The agreement of two partitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// Variation of information H(A|B) + H(B|A), in nats: 0 for equal partitions.
    pub vi: f64,
    /// Adjusted Rand index: 1 for equal partitions, 0 on average for unrelated ones.
    pub ari: f64,
    /// Mutual information over the mean of the entropies: 1 for equal partitions.
    pub nmi: f64,
    /// The number of clusters of the first partition.
    pub k_a: usize,
    /// The number of clusters of the second partition.
    pub k_b: usize,
}

/// Compares two partitions of the same rows, each given by a label a row. Any numbers may serve as
/// labels.
pub fn compare(a: &[u32], b: &[u32]) -> Agreement {
    assert_eq!(a.len(), b.len(), "two partitions of the same rows");
    let (a, b) = (ClusterSizes::of(a), ClusterSizes::of(b));
    let overlaps = overlaps(&a, &b);
    let (sizes_a, sizes_b) = (sorted(a.sizes), sorted(b.sizes));
    let n_rows = a.labels.len();
    let ari = adjusted_rand(n_rows, pairs(&overlaps), pairs(&sizes_a), pairs(&sizes_b));
    let (vi, nmi) = informations(n_rows, sum_n_log_n(&overlaps), sum_n_log_n(&sizes_a), sum_n_log_n(&sizes_b));
    Agreement { vi, ari, nmi, k_a: sizes_a.len(), k_b: sizes_b.len() }
}

/// Labels small enough to be places in a table, and how often each occurs: never, for a number that
/// nobody uses.
struct ClusterSizes<'a> {
    labels: Cow<'a, [u32]>,
    sizes: Vec<u64>,
}

impl<'a> ClusterSizes<'a> {
    fn of(labels: &'a [u32]) -> Self {
        let largest = labels.iter().copied().max().unwrap_or(0) as usize;
        let labels = if largest <= 2 * labels.len() { Cow::Borrowed(labels) } else { Cow::Owned(renumbered(labels)) };
        let n_labels = labels.iter().max().map_or(0, |&largest| largest as usize + 1);
        let mut sizes = vec![0; n_labels];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        Self { labels, sizes }
    }
}

/// The same labels, numbered from 0 in their order.
fn renumbered(labels: &[u32]) -> Vec<u32> {
    let mut names = labels.to_vec();
    names.sort_unstable();
    names.dedup();
    let number = |label| names.binary_search(label).expect("every label is among the names") as u32;
    labels.iter().map(number).collect()
}

/// The sizes of all overlaps of a cluster of `a` with one of `b`, in rising order. The rows are put
/// in order of `a` by counting; then one cluster of `a` after another is counted by `b`, so there
/// is no table of all pairs.
fn overlaps(a: &ClusterSizes<'_>, b: &ClusterSizes<'_>) -> Vec<u64> {
    let mut next = 0;
    let starts = a.sizes.iter().map(|&size| {
        let start = next;
        next += size as usize;
        start
    });
    let mut places: Vec<usize> = starts.collect();
    let mut by_a = vec![0; b.labels.len()];
    for (&label_a, &label_b) in a.labels.iter().zip(b.labels.iter()) {
        let place = &mut places[label_a as usize];
        by_a[*place] = label_b;
        *place += 1;
    }
    let (mut sizes, mut counts, mut met) = (Vec::new(), vec![0; b.sizes.len()], Vec::new());
    let mut rest = by_a.as_slice();
    for &size in &a.sizes {
        let (cluster, others) = rest.split_at(size as usize);
        rest = others;
        for &label in cluster {
            let count = &mut counts[label as usize];
            if *count == 0 {
                met.push(label);
            }
            *count += 1;
        }
        sizes.extend(met.drain(..).map(|label| std::mem::take(&mut counts[label as usize])));
    }
    sizes.sort_unstable();
    sizes
}

/// Sizes in rising order, without those of labels that do not occur.
fn sorted(mut sizes: Vec<u64>) -> Vec<u64> {
    sizes.retain(|&size| size > 0);
    sizes.sort_unstable();
    sizes
}

/// Equal sizes are taken together: fewer roundings, fewer logarithms.
fn sum_n_log_n(sizes: &[u64]) -> f64 {
    let n_log_n = |equal: &[u64]| (equal.len() as u64 * equal[0]) as f64 * libm::log(equal[0] as f64);
    sizes.chunk_by(u64::eq).map(n_log_n).sum()
}

/// Pairs of rows in the same cluster.
fn pairs(sizes: &[u64]) -> f64 {
    sizes.iter().map(|&n| u128::from(n) * u128::from(n - 1) / 2).sum::<u128>() as f64
}

/// (VI, NMI) from Σ n log n over overlaps and clusters, for `H(A) = log N − Σ n log n / N`.
fn informations(n_rows: usize, overlaps: f64, a: f64, b: f64) -> (f64, f64) {
    let n = n_rows.max(1) as f64;
    let log_n = libm::log(n);
    // rounding must not make a distance negative
    let vi = ((a + b - 2.0 * overlaps) / n).max(0.0);
    let entropies = ((log_n - a / n) + (log_n - b / n)).max(0.0);
    // MI = (H(A) + H(B) − VI) / 2
    let nmi = if vi == 0.0 { 1.0 } else { (1.0 - vi / entropies).max(0.0) };
    (vi, nmi)
}

fn adjusted_rand(n_rows: usize, both: f64, a: f64, b: f64) -> f64 {
    let expected = a * b / pairs(&[n_rows.max(2) as u64]);
    let most = (a + b) / 2.0;
    // one cluster each, or every row alone: both partitions are trivial, and equal
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
    }

    #[test]
    fn agrees_with_values_worked_out_by_hand() {
        // overlaps 2, 1, 1, 2 of clusters 3, 3 and 3, 3
        let half = compare(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 0, 1, 1]);
        let (log2, log3) = (libm::log(2.0), libm::log(3.0));
        let conditional = log3 - 2.0 / 3.0 * log2;
        close(half.vi, 2.0 * conditional);
        close(half.nmi, 1.0 - conditional / log2);
        // both 2, clusters 6 each, of 15: (2 − 36/15) / (6 − 36/15)
        close(half.ari, -1.0 / 9.0);
        // the example of scikit-learn's manual
        let manual = compare(&[0, 0, 1, 1], &[0, 0, 1, 2]);
        close(manual.ari, 4.0 / 7.0);
        close(manual.nmi, 0.8);
        close(manual.vi, log2 / 2.0);
        assert_eq!((manual.k_a, manual.k_b), (2, 3));
    }

    #[test]
    fn trivial_partitions_have_values() {
        let same = |agreement: Agreement| (agreement.vi, agreement.ari, agreement.nmi);
        assert_eq!(same(compare(&[], &[])), (0.0, 1.0, 1.0));
        assert_eq!(same(compare(&[7], &[0])), (0.0, 1.0, 1.0));
        assert_eq!(same(compare(&[5, 5, 5], &[u32::MAX; 3])), (0.0, 1.0, 1.0));
        assert_eq!(same(compare(&[1, 2, 3], &[9, 0, 4])), (0.0, 1.0, 1.0));
        let (vi, ari, nmi) = same(compare(&[0, 0, 0], &[0, 1, 2]));
        close(vi, libm::log(3.0));
        assert_eq!((ari, nmi), (0.0, 0.0));
    }

    #[test]
    fn many_clusters_need_no_table_of_all_pairs() {
        let a: Vec<u32> = (0..300_000).collect();
        let b: Vec<u32> = a.iter().map(|label| label / 2 * 1_000).collect();
        let agreement = compare(&a, &b);
        close(agreement.vi, libm::log(2.0));
        assert_eq!((agreement.k_a, agreement.k_b), (300_000, 150_000));
    }

    #[test]
    fn large_names_are_no_reason_for_large_tables() {
        let a = [u32::MAX, 0, u32::MAX, 7];
        assert_eq!(compare(&a, &[1, 0, 1, 5]), compare(&[1, 0, 1, 2], &a));
    }

    /// A way to see the time: `cargo test --release -p dirigent --lib -- --ignored --nocapture
    /// many_rows`.
    #[expect(clippy::print_stderr, reason = "a measurement is read by people")]
    #[test]
    #[ignore = "takes a second, measures"]
    #[allow(clippy::print_stdout)] // what is measured is printed
    fn many_rows_are_compared_in_linear_time() {
        let mut rng = crate::rng::Seed::new(1).stream(crate::rng::Role::Observer, 0, 0);
        let a: Vec<u32> = (0..1_280_000).map(|_| rng.below(1000) as u32).collect();
        let b: Vec<u32> = a.iter().map(|&a| if rng.uniform() < 0.1 { rng.below(1000) as u32 } else { a }).collect();
        for _ in 0..5 {
            let start = std::time::Instant::now();
            let vi = compare(&a, &b).vi;
            eprintln!("VI {vi:.4} in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
        }
    }

    fn three_partitions() -> impl Strategy<Value = [Vec<u32>; 3]> {
        let rows = proptest::collection::vec((0..5u32, 0..5u32, 0..5u32), 1..40);
        rows.prop_map(|rows| {
            [rows.iter().map(|r| r.0).collect(), rows.iter().map(|r| r.1).collect(), rows.iter().map(|r| r.2).collect()]
        })
    }

    proptest! {
        #[test]
        fn vi_is_a_distance([a, b, c] in three_partitions()) {
            let vi = |x: &[u32], y: &[u32]| compare(x, y).vi;
            prop_assert!(vi(&a, &c) <= vi(&a, &b) + vi(&b, &c) + 1e-12);
            prop_assert_eq!(vi(&a, &a), 0.0);
            prop_assert!(vi(&a, &b) >= 0.0);
        }

        #[test]
        fn exchange_and_new_names_change_no_bit([a, b, _] in three_partitions()) {
            let forth = compare(&a, &b);
            let back = compare(&b, &a);
            prop_assert_eq!((forth.vi, forth.ari, forth.nmi), (back.vi, back.ari, back.nmi));
            let renamed: Vec<u32> = a.iter().map(|label| (7 - label) * 123_456_789).collect();
            prop_assert_eq!(compare(&renamed, &b), forth);
            prop_assert_eq!(compare(&renamed, &a), compare(&a, &a));
        }

        #[test]
        fn indices_stay_in_their_ranges([a, b, _] in three_partitions()) {
            let agreement = compare(&a, &b);
            prop_assert!((0.0..=1.0).contains(&agreement.nmi));
            prop_assert!((-1.0..=1.0).contains(&agreement.ari));
        }
    }
}
