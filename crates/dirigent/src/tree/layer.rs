//! The natural layer: the clusters that last longest, chosen by their excess of mass.
//!
//! As the level falls from the root, a cluster is born at the merge that it is a side of and ends at its own. Rows of a cluster of one component end at the component's overlap with itself.
//! The excess of mass is the sum over rows of how long they stay, in units of ln σ. A cluster is chosen if its excess is at least that of the chosen clusters below
//! it. Small sides do not count as clusters of their own: they end where they part, and stay with the larger side. A cluster whose sides do not overlap is never chosen.
//!
//! Components that hardly overlap at all are the clusters themselves: then there is nothing to choose.

use super::Tree;

/// Sides with fewer rows than this share of a component's on average are no clusters of their own.
const SMALL: f64 = 0.1;
/// Sides overlap if σ at T = 1 is at least this.
const OVERLAPPING: f64 = 0.01;
/// Components hardly overlap if it takes this temperature to make them.
const SEPARATE: f64 = 3.0;
/// With many columns it takes at least this temperature per column. Log-densities of neighbours differ
/// by more with each column, so pieces of one cluster look as far apart as clusters do in two columns.
const SEPARATE_A_COLUMN: f64 = 0.5;

/// The tops of the chosen clusters.
pub(super) fn tops(tree: &Tree, n_columns: usize) -> Vec<usize> {
    let separate = SEPARATE.max(SEPARATE_A_COLUMN * n_columns as f64);
    let min_rows = SMALL * tree.n_rows() as f64 / tree.n_components() as f64;
    let is_split = |sides: [usize; 2]| tree.size(sides[1]) as f64 >= min_rows;
    let n_nodes = tree.root() + 1;
    // for the cluster that begins at a node: Σ over rows of the height where they end; the node where it parts, or its last component
    let (mut ends, mut parts_at) = (vec![0.0; n_nodes], vec![0; n_nodes]);
    // for a node where a cluster parts: the excess of what is chosen below
    let mut below = vec![0.0; n_nodes];
    let excess = |ends: &[f64], node: usize, birth: f64| tree.size(node) as f64 * birth - ends[node];
    let is_chosen = |ends: &[f64], parts_at: &[usize], below: &[f64], node: usize, birth: f64| {
        let last = parts_at[node];
        let overlaps = || tree.temperature() < separate && tree.overlap(last) >= OVERLAPPING;
        tree.sides(last).is_none() || (overlaps() && excess(ends, node, birth) >= below[last])
    };
    for node in 0..n_nodes {
        let size = tree.size(node) as f64;
        match tree.sides(node) {
            None => (ends[node], parts_at[node]) = (size * tree.height(node), node),
            Some(sides) if is_split(sides) => {
                (ends[node], parts_at[node]) = (size * tree.height(node), node);
                below[node] = sides
                    .into_iter()
                    .map(|side| {
                        let own = excess(&ends, side, tree.height(node));
                        let is_chosen = is_chosen(&ends, &parts_at, &below, side, tree.height(node));
                        if is_chosen { own } else { below[parts_at[side]] }
                    })
                    .sum();
            }
            Some([large, small]) => {
                ends[node] = tree.size(small) as f64 * tree.height(node) + ends[large];
                parts_at[node] = parts_at[large];
            }
        }
    }
    let mut tops = Vec::new();
    // the root is no cluster, unless nothing parts from it
    let root_parts_at = parts_at[tree.root()];
    let Some(sides) = tree.sides(root_parts_at) else { return vec![tree.root()] };
    let mut waiting: Vec<(usize, usize)> = sides.map(|side| (side, root_parts_at)).to_vec();
    while let Some((node, parent)) = waiting.pop() {
        if is_chosen(&ends, &parts_at, &below, node, tree.height(parent)) {
            tops.push(node);
        } else {
            let last = parts_at[node];
            waiting.extend(tree.sides(last).into_iter().flatten().map(|side| (side, last)));
        }
    }
    tops
}
