use super::*;
use crate::metrics;
use crate::rng::{Role, Seed};
use crate::rows::Cells;

fn rng(number: u64) -> Stream {
    Seed::new(number).stream(Role::Observer, 0, 0)
}

/// All partitions of this many rows, labels numbered by first appearance.
fn all_partitions(n_rows: usize) -> Vec<Vec<u32>> {
    let mut partitions = vec![Vec::new()];
    for _row in 0..n_rows {
        let grown = |labels: Vec<u32>| {
            let k = labels.iter().max().map_or(0, |&largest| largest + 1);
            (0..=k).map(move |label| [labels.as_slice(), &[label]].concat())
        };
        partitions = partitions.into_iter().flat_map(grown).collect();
    }
    partitions
}

/// Draws about a random partition: each row goes elsewhere with probability `noise`.
fn noisy_draws(n_draws: usize, n_rows: usize, k: usize, noise: f64, rng: &mut Stream) -> (Partitions, Vec<u32>) {
    let truth: Vec<u32> = (0..n_rows).map(|_| rng.below(k) as u32).collect();
    let mut labels = Vec::with_capacity(n_draws * n_rows);
    for _draw in 0..n_draws {
        labels.extend(truth.iter().map(|&label| if rng.uniform() < noise { rng.below(k) as u32 } else { label }));
    }
    (Partitions::new(n_rows, Cells::Owned(labels)).unwrap(), truth)
}

#[test]
#[allow(clippy::print_stdout)] // how far from the bound it is
fn the_search_finds_the_minimiser_among_all_partitions() {
    let partitions = all_partitions(7);
    assert_eq!(partitions.len(), 877);
    let (n_sets, mut n_missed) = (300, 0);
    for set in 0..n_sets {
        let mut rng = rng(set);
        let (n_draws, k, noise) = (1 + rng.below(12), 1 + rng.below(5), rng.uniform());
        let (draws, _) = noisy_draws(n_draws, 7, k, noise, &mut rng);
        let least = partitions.iter().map(|labels| draws.expected_vi(labels)).fold(f64::INFINITY, f64::min);
        let found = find(&draws, &[], PointOptions::default(), &mut rng);
        assert!(found.expected_vi >= least - 1e-9);
        let best_draw = draws.draws().map(|draw| draws.expected_vi(draw)).fold(f64::INFINITY, f64::min);
        assert!(found.expected_vi <= best_draw + 1e-12, "never worse than the best draw");
        n_missed += u64::from(found.expected_vi > least + 1e-9);
    }
    assert!(n_missed * 100 <= n_sets, "{n_missed} of {n_sets} searches ended above the least expected VI");
}

#[test]
fn draws_that_agree_are_their_own_point() {
    let labels = [2u32, 0, 0, 1, 1, 1];
    let draws = Partitions::new(6, Cells::Owned([labels, labels, labels].concat())).unwrap();
    let point = find(&draws, &[&[0; 6]], PointOptions::default(), &mut rng(0));
    assert_eq!((point.labels, point.k, point.expected_vi), (vec![2, 1, 1, 0, 0, 0], 3, 0.0));
}

#[test]
fn the_same_seed_finds_the_same_partition() {
    let (draws, _) = noisy_draws(20, 200, 8, 0.4, &mut rng(1));
    let find = |seed| find(&draws, &[], PointOptions { n_rows: 150, n_starts: 2 }, &mut rng(seed));
    assert_eq!(find(5), find(5));
}

#[test]
fn a_sample_finds_what_all_rows_find() {
    let (draws, truth) = noisy_draws(30, 3000, 10, 0.3, &mut rng(2));
    let whole = find(&draws, &[], PointOptions { n_rows: 3000, n_starts: 1 }, &mut rng(0));
    let sampled = find(&draws, &[], PointOptions { n_rows: 300, n_starts: 1 }, &mut rng(0));
    assert!(sampled.expected_vi <= whole.expected_vi * 1.01, "{} against {}", sampled.expected_vi, whole.expected_vi);
    // 30 draws, each right with probability 0.73: they outvote the noise in all but a few rows
    assert!(metrics::compare(&sampled.labels, &truth).vi < 0.01);
    assert_eq!(sampled.k, 10);
}

#[test]
fn clusters_that_the_sample_misses_are_found_all_the_same() {
    // ten pairs of rows beside one large cluster, the same in all draws: a sample of 50 rows misses
    // most pairs
    let labels: Vec<u32> = (0..1000).map(|row| if row < 20 { 1 + row / 2 } else { 0 }).collect();
    let draws = Partitions::new(1000, Cells::Owned(labels.repeat(3))).unwrap();
    let point = find(&draws, &[], PointOptions { n_rows: 50, n_starts: 1 }, &mut rng(0));
    assert_eq!((point.k, point.expected_vi), (11, 0.0));
}

#[test]
fn a_candidate_is_never_beaten_by_what_is_returned() {
    let (draws, truth) = noisy_draws(5, 60, 4, 0.8, &mut rng(3));
    let options = PointOptions { n_rows: 10, n_starts: 0 };
    let point = find(&draws, &[&truth], options, &mut rng(0));
    assert!(point.expected_vi <= draws.expected_vi(&truth));
}

#[test]
fn numbers_follow_falling_size() {
    assert_eq!(numbered_by_size(&[9, 4, 4, 7, 9, 4]), (vec![1, 0, 0, 2, 1, 0], 3));
    assert_eq!(numbered_by_size(&[5, 3]), (vec![0, 1], 2));
}

/// A way to see the time: `cargo test --release -p dirigent --lib -- --ignored --nocapture
/// time_of_a_search`.
#[expect(clippy::print_stderr, reason = "a measurement is read by people")]
#[test]
#[ignore = "takes seconds, measures"]
#[allow(clippy::print_stdout)] // what is measured is printed
fn time_of_a_search() {
    for (n_draws, n_rows, k, noise) in
        [(100, 5000, 50, 0.1), (100, 5000, 50, 0.4), (100, 5000, 1000, 0.2), (100, 141_000, 50, 0.2)]
    {
        let (draws, truth) = noisy_draws(n_draws, n_rows, k, noise, &mut rng(4));
        let start = std::time::Instant::now();
        let point = find(&draws, &[], PointOptions::default(), &mut rng(0));
        eprintln!(
            "N {n_rows}, T {n_draws}, K {k}, noise {noise}: K {}, E[VI] {:.4} ({:.4} of the truth), {:.2} s",
            point.k,
            point.expected_vi,
            draws.expected_vi(&truth),
            start.elapsed().as_secs_f64()
        );
    }
}
