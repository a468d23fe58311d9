use proptest::prelude::*;

use super::linkage::tests::{OnALine, sums_on_a_line};
use super::*;
use crate::rows::Cells;

/// The tree of components on a line.
fn tree_of(points: &[f64], weights: &[f64], reach: f64) -> Tree {
    let sums = sums_on_a_line(points, weights, reach);
    let merges = agglomerate(&sums, &mut OnALine::new(points));
    let sizes = weights.iter().map(|weight| 1 + *weight as u64).collect();
    Tree::of_merges(&merges, sizes, &Overlap::new(1.0, sums, None), 2)
}

fn trees() -> impl Strategy<Value = Tree> {
    let component = (0.0f64..100.0, prop_oneof![9 => 1.0f64..30.0, 1 => 0.001f64..0.01, 1 => 50.0f64..500.0]);
    (prop::collection::vec(component, 1..50), 0.1f64..60.0).prop_map(|(components, reach)| {
        let (points, weights): (Vec<f64>, Vec<f64>) = components.into_iter().unzip();
        tree_of(&points, &weights, reach)
    })
}

/// Whether every cluster of the finer cut is within one of the coarser.
fn is_nested(finer: &Cut, coarser: &Cut) -> bool {
    (0..finer.n_clusters() as u32).all(|cluster| {
        let members = finer.members(cluster);
        members.iter().all(|&member| coarser.clusters()[member as usize] == coarser.clusters()[members[0] as usize])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: proptest::test_runner::RngSeed::Fixed(5), ..ProptestConfig::default() })]

    #[test]
    fn heights_rise_and_counts_add_up(tree in trees()) {
        prop_assert!(tree.linkage().is_sorted_by(|a, b| a.2 <= b.2));
        prop_assert!(tree.linkage().iter().all(|line| line.2 >= 0.0 && line.2.is_finite()));
        if let Some(last) = tree.linkage().last() {
            prop_assert_eq!(last.3, tree.n_components());
        }
        let same = tree.clone();
        prop_assert_eq!(tree.clone().checked(), Ok(same));
    }

    #[test]
    fn cuts_are_nested_and_have_the_clusters_asked_for(tree in trees()) {
        let cuts: Vec<Cut> = (1..=tree.n_components()).map(|k| tree.cut(k, 0.0)).collect();
        for (ix, cut) in cuts.iter().enumerate() {
            prop_assert_eq!(cut.n_clusters(), ix + 1);
            prop_assert_eq!(cut.sizes().iter().sum::<u64>(), tree.n_rows());
            prop_assert!(cut.sizes().is_sorted_by(|a, b| a >= b));
        }
        prop_assert!(cuts.windows(2).all(|pair| is_nested(&pair[1], &pair[0])));
    }

    #[test]
    fn no_cluster_is_below_the_least_share(tree in trees(), k in 1usize..20, share in 0.01f64..0.4) {
        let cut = tree.cut(k, share);
        prop_assert!(cut.n_clusters() <= k);
        prop_assert!(cut.sizes().iter().all(|&size| size as f64 >= share * tree.n_rows() as f64));
    }

    #[test]
    fn the_layer_is_a_partition_of_the_components(tree in trees()) {
        let layer = tree.layer();
        prop_assert!((1..=tree.n_components()).contains(&layer.n_clusters()));
        prop_assert_eq!(layer.sizes().iter().sum::<u64>(), tree.n_rows());
    }

    /// Overlaps of merges are sums over pairs of components, whatever the order of the merges.
    #[test]
    fn overlaps_of_merges_are_those_of_their_sides(
        components in prop::collection::vec((0.0f64..60.0, 1.0f64..30.0), 2..30),
    ) {
        let (points, weights): (Vec<f64>, Vec<f64>) = components.into_iter().unzip();
        let sums = sums_on_a_line(&points, &weights, 30.0);
        let merges = agglomerate(&sums, &mut OnALine::new(&points));
        let found = overlaps_of_merges(&merges, &sums);
        let mut members: Vec<Vec<usize>> = (0..points.len()).map(|ix| vec![ix]).collect();
        for (Merge { clusters, .. }, found) in merges.iter().zip(found) {
            let [a, b] = clusters.map(|ix| members[ix].clone());
            let between: f64 = sums
                .pairs()
                .filter(|(x, y, _)| (a.contains(x) && b.contains(y)) || (a.contains(y) && b.contains(x)))
                .map(|(_, _, overlap)| overlap)
                .sum();
            let weight = |side: &[usize]| side.iter().map(|&ix| sums.weight(ix)).sum::<f64>();
            let expected = sums.n_rows() as f64 * between / (weight(&a) * weight(&b));
            prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected), "{found}, {expected}");
            members.push([a, b].concat());
        }
    }
}

#[test]
fn the_layer_finds_groups_of_components_that_overlap() {
    // two groups of three, far from each other
    let tree = tree_of(&[0.0, 0.3, 0.6, 40.0, 40.3, 40.6], &[100.0, 90.0, 80.0, 70.0, 60.0, 50.0], 1e3);
    assert_eq!(tree.layer().clusters(), [0, 0, 0, 1, 1, 1]);
    assert_eq!(tree.layer(), tree.cut(2, 0.0));
    assert_eq!(tree.components().n_clusters(), 6);
}

#[test]
fn one_component_is_one_cluster() {
    let tree = tree_of(&[1.0], &[10.0], 1.0);
    assert_eq!((tree.layer().n_clusters(), tree.cut(1, 0.0).n_clusters(), tree.linkage().len()), (1, 1, 0));
}

#[test]
fn a_crumb_stays_with_its_neighbour() {
    let tree = tree_of(&[0.0, 20.0, 21.0], &[500.0, 490.0, 2.0], 1e3);
    let cut = tree.cut(2, 0.1);
    assert_eq!(cut.clusters(), [0, 1, 1]);
    assert_eq!(tree.cut(3, 0.1), cut, "there are no three");
}

/// The slow twin of the support: every pair of rows.
fn support_by_pairs(tree: &Tree, components: &[u32], draws: &Partitions) -> Vec<Option<f64>> {
    let mut members: Vec<Vec<u32>> = (0..tree.n_components() as u32).map(|ix| vec![ix]).collect();
    let mut support = Vec::new();
    for sides in tree.merges() {
        let rows = sides.map(|side| {
            (0..components.len()).filter(|&row| members[side].contains(&components[row])).collect::<Vec<usize>>()
        });
        let shares: Vec<f64> =
            rows[0].iter().flat_map(|&a| rows[1].iter().map(move |&b| draws.together(a, b))).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        support.push((!shares.is_empty()).then_some(1.0 - mean));
        members.push(sides.map(|side| members[side].clone()).concat());
    }
    support
}

#[test]
fn support_is_the_share_of_pairs_that_draws_keep_apart() {
    let mut tree = tree_of(&[0.0, 1.0, 9.0, 30.0], &[5.0, 4.0, 4.0, 1.0], 1e3);
    // no row is in the last component
    let components = [0, 0, 0, 1, 1, 2, 2, 2];
    let draws = [[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 2, 1, 0, 3, 3]];
    let draws = Partitions::new(8, Cells::Owned(draws.concat())).unwrap();
    let expected = support_by_pairs(&tree, &components, &draws);
    tree.set_support(&components, &draws);
    let found = tree.support().unwrap();
    assert_eq!(found.iter().filter(|support| support.is_none()).count(), 1);
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12, "{found:?}, {expected:?}");
    }
}
