//! The groups of components that a page shows: the clusters of the run, and the nodes of the tree, which are the clusters of other cuts.
//!
//! Statistics are additive, so a group is described as a component is: by the sum of its components' statistics.

use std::cmp::Reverse;

use dirigent::internals::run_dir::FittedModel;
use dirigent::{Cut, Stats, Tree};

/// The most clusters that the page can be cut into.
const MOST_CLUSTERS: usize = 50;
/// Components up to which the whole tree is drawn.
const WHOLE_TREE: usize = 300;
/// The last merges of a larger tree, which are drawn.
const MOST_MERGES: usize = 100;

/// All groups of a page.
pub(crate) struct Groups {
    /// The model as if every group were a component: the clusters of the run by their numbers, the other nodes of the tree, and the components that are neither.
    pub(crate) fitted: FittedModel,
    /// The components of the run's clusters and of the other nodes.
    pub(crate) members: Vec<Vec<u32>>,
    /// Which cluster of the run each component is in.
    pub(crate) cut: Cut,
    /// The group that each component is.
    pub(crate) components: Vec<usize>,
    /// The drawn part of the tree, the last merge first: a node comes behind its parent. Empty if there is no tree or nothing to cut.
    pub(crate) nodes: Vec<Node>,
    /// Whether tree.json has draws' support.
    pub(crate) has_support: bool,
    /// The rows of each group, where their statistics are those of a sample.
    pub(crate) sizes: Option<Vec<u64>>,
}

/// A node of the tree.
pub(crate) struct Node {
    /// The group that it is.
    pub(crate) group: usize,
    /// By its place among the nodes, as the sides are.
    pub(crate) parent: Option<usize>,
    /// Nothing of a component, and of a node whose sides are not drawn.
    pub(crate) sides: Option<[usize; 2]>,
    /// Of its merge; nothing of a component.
    pub(crate) height: Option<f64>,
    /// The posterior probability that its sides are apart.
    pub(crate) support: Option<f64>,
    /// The fewest and the most clusters of cuts in which it is a cluster.
    pub(crate) cuts: [usize; 2],
    /// The run's cluster that it is or is a part of.
    pub(crate) cluster: Option<u32>,
    /// The same for the natural layer.
    pub(crate) layer: Option<u32>,
}

impl Groups {
    /// The groups of a model. Without a tree they are the clusters alone.
    pub(crate) fn of(fitted: &FittedModel, tree: Option<&Tree>, cut: Cut) -> Self {
        let mut members = vec![Vec::new(); cut.n_clusters()];
        (0u32..).zip(cut.clusters()).for_each(|(component, &cluster)| members[cluster as usize].push(component));
        let stats = members.iter().map(|members| sum(fitted, members)).collect();
        let mut groups = Self {
            fitted: FittedModel {
                model: fitted.model.clone(),
                alpha: fitted.alpha,
                columns: fitted.columns.clone(),
                transform: fitted.transform.clone(),
                components: stats,
            },
            members,
            cut,
            components: Vec::new(),
            nodes: Vec::new(),
            has_support: tree.is_some_and(|tree| tree.support().is_some()),
            sizes: None,
        };
        if let Some(tree) = tree.filter(|tree| tree.n_components() > 1) {
            groups.add_nodes(fitted, tree);
        }
        groups.add_components(fitted);
        groups
    }

    fn add_nodes(&mut self, fitted: &FittedModel, tree: &Tree) {
        let drawn = DrawnTree::of(tree);
        let layer = tree.layer();
        // sides first, so that a node is the sum of its two
        let mut group_of: Vec<(usize, Option<u32>)> = Vec::with_capacity(drawn.ids.len());
        for (place, members) in drawn.members.iter().enumerate().rev() {
            let cluster = common(members, self.cut.clusters());
            let is_cluster = cluster.filter(|&cluster| self.members[cluster as usize].len() == members.len());
            let group = is_cluster.map_or_else(
                || {
                    let of = |side: usize| &self.fitted.components[group_of[drawn.ids.len() - 1 - side].0];
                    let stats = match drawn.sides(tree, place) {
                        Some([a, b]) => of(a).union(of(b)),
                        None => sum(fitted, members),
                    };
                    self.fitted.components.push(stats);
                    self.members.push(members.clone());
                    self.members.len() - 1
                },
                |cluster| cluster as usize,
            );
            group_of.push((group, cluster));
        }
        group_of.reverse();
        let n_components = tree.n_components();
        self.nodes = (0..drawn.ids.len())
            .map(|place| {
                let merge = drawn.ids[place].checked_sub(n_components);
                Node {
                    group: group_of[place].0,
                    parent: drawn.parents[place],
                    sides: drawn.sides(tree, place),
                    height: merge.map(|ix| tree.linkage()[ix].2),
                    support: merge.and_then(|ix| tree.support()?[ix]),
                    cuts: drawn.cuts(n_components, place),
                    cluster: group_of[place].1,
                    layer: common(&drawn.members[place], layer.clusters()),
                }
            })
            .collect();
    }

    /// Adds the components that are no group yet.
    fn add_components(&mut self, fitted: &FittedModel) {
        let mut group_of = vec![None; fitted.components.len()];
        for (group, members) in self.members.iter().enumerate() {
            if let [component] = members.as_slice() {
                group_of[*component as usize] = Some(group);
            }
        }
        let all = &mut self.fitted.components;
        let group = |(component, known): (usize, Option<usize>)| {
            known.unwrap_or_else(|| {
                all.push(fitted.components[component].clone());
                all.len() - 1
            })
        };
        self.components = group_of.into_iter().enumerate().map(group).collect();
    }

    /// The number of clusters of the run.
    pub(crate) fn n_clusters(&self) -> usize {
        self.cut.n_clusters()
    }

    /// The number of components.
    pub(crate) fn n_components(&self) -> usize {
        self.components.len()
    }

    /// The rows of the fit.
    pub(crate) fn n_rows(&self) -> u64 {
        (0..self.n_clusters()).map(|group| self.rows(group)).sum()
    }

    /// The rows of a group.
    pub(crate) fn rows(&self, group: usize) -> u64 {
        self.sizes.as_ref().map_or_else(|| self.fitted.components[group].count as u64, |sizes| sizes[group])
    }

    /// The most clusters that the page can be cut into; 1 without a tree.
    pub(crate) fn most_clusters(&self) -> usize {
        if self.nodes.is_empty() { 1 } else { self.n_components().min(MOST_CLUSTERS) }
    }

    /// The nodes that are clusters of a cut, by their places, in the order of the clusters' numbers.
    pub(crate) fn cut_into(&self, n_clusters: usize) -> Vec<usize> {
        let mut places: Vec<usize> =
            (0..self.nodes.len()).filter(|&place| self.nodes[place].is_in_cut(n_clusters)).collect();
        places.sort_by_key(|&place| {
            let group = self.nodes[place].group;
            (Reverse(self.rows(group)), self.members[group][0])
        });
        places
    }

    /// The nodes that any cut of the page has, by their places.
    pub(crate) fn cut_nodes(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&place| self.nodes[place].cuts[0] <= self.most_clusters()).collect()
    }
}

impl Node {
    /// Whether it is a cluster of the cut into this number of clusters.
    pub(crate) fn is_in_cut(&self, n_clusters: usize) -> bool {
        (self.cuts[0]..=self.cuts[1]).contains(&n_clusters)
    }
}

/// The part of a tree that is drawn: nodes by falling number.
struct DrawnTree {
    ids: Vec<usize>,
    parents: Vec<Option<usize>>,
    members: Vec<Vec<u32>>,
    place_of: Vec<Option<usize>>,
}

impl DrawnTree {
    fn of(tree: &Tree) -> Self {
        let n = tree.n_components();
        let n_leaves = if n <= WHOLE_TREE { n } else { MOST_MERGES + 1 };
        let mut parent_of = vec![None; 2 * n - 1];
        for (ix, &(a, b, ..)) in tree.linkage().iter().enumerate() {
            (parent_of[a], parent_of[b]) = (Some(n + ix), Some(n + ix));
        }
        // merges of this number and above are undone
        let first_undone = 2 * n - n_leaves;
        let is_drawn = |id: &usize| parent_of[*id].is_none_or(|parent| parent >= first_undone);
        let ids: Vec<usize> = (0..2 * n - 1).rev().filter(is_drawn).collect();
        let mut place_of = vec![None; 2 * n - 1];
        ids.iter().enumerate().for_each(|(place, &id)| place_of[id] = Some(place));
        let parents: Vec<Option<usize>> = ids.iter().map(|&id| place_of[parent_of[id]?]).collect();
        // the lowest drawn node above each node
        let mut lowest = place_of.clone();
        for id in (0..2 * n - 1).rev() {
            lowest[id] = lowest[id].or_else(|| lowest[parent_of[id]?]);
        }
        let mut members = vec![Vec::new(); ids.len()];
        for (component, mut place) in (0u32..).zip(lowest).take(n) {
            while let Some(at) = place {
                members[at].push(component);
                place = parents[at];
            }
        }
        Self { ids, parents, members, place_of }
    }

    /// The two sides of a node, if they are drawn.
    fn sides(&self, tree: &Tree, place: usize) -> Option<[usize; 2]> {
        let merge = self.ids[place].checked_sub(tree.n_components())?;
        let (a, b, ..) = tree.linkage()[merge];
        Some([self.place_of[a]?, self.place_of[b]?])
    }

    /// A cut into k clusters undoes the merges 2 n − k and above.
    fn cuts(&self, n_components: usize, place: usize) -> [usize; 2] {
        let parent = self.parents[place].map(|parent| self.ids[parent]);
        let last = (2 * n_components - 1 - self.ids[place]).min(n_components);
        [parent.map_or(1, |parent| 2 * n_components - parent), last]
    }
}

/// The sum of some components.
fn sum(fitted: &FittedModel, members: &[u32]) -> Stats {
    let mut stats = fitted.components[members[0] as usize].clone();
    members[1..].iter().for_each(|&component| stats.add(&fitted.components[component as usize]));
    stats
}

/// The number that all components have, if there is one.
fn common(members: &[u32], numbers: &[u32]) -> Option<u32> {
    let first = numbers[members[0] as usize];
    members.iter().all(|&component| numbers[component as usize] == first).then_some(first)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::run::Run;
    use dirigent::{Clusters, Data, FitOptions};

    /// The run of a fit of `n_heaps` heaps of numbers, far apart.
    pub(crate) fn run_of_heaps(n_heaps: usize, clusters: Clusters) -> Run {
        let cell = |ix: usize| {
            let heap = ix % n_heaps;
            (heap * heap) as f64 * 1.5 + heap as f64 * 6.0 + (ix * 7 % 11) as f64 * 0.2
        };
        let mut options = FitOptions::default();
        options.run.clusters = Some(clusters);
        run_of((0..60 * n_heaps).map(cell).collect(), options)
    }

    /// The run of a fit of one column.
    pub(crate) fn run_of(cells: Vec<f64>, mut options: FitOptions) -> Run {
        options.run.cycles = Some(10);
        let folder = tempfile::tempdir().unwrap();
        let data = Data::from_cells(1, cells).unwrap();
        dirigent::fit(&data, &options).unwrap().save(folder.path().join("run")).unwrap();
        Run::read(&folder.path().join("run")).unwrap()
    }

    pub(crate) fn groups_of(run: &Run) -> Groups {
        let (tree, cut) = run.tree.as_ref().unwrap();
        Groups::of(run.model.as_ref().unwrap(), Some(tree), cut.clone())
    }

    #[test]
    fn nodes_make_the_clusters_of_every_cut_of_the_tree() {
        let run = run_of_heaps(9, Clusters::Number(4));
        let (tree, _) = run.tree.as_ref().unwrap();
        let groups = groups_of(&run);
        assert_eq!((groups.n_clusters(), groups.most_clusters()), (4, tree.n_components()));
        assert!(tree.n_components() >= 6 && groups.nodes.len() == 2 * tree.n_components() - 1);
        for k in 1..=groups.most_clusters() {
            let cut = tree.cut(k, 0.0);
            let found: Vec<_> = groups.cut_into(k).iter().map(|&place| &groups.nodes[place]).collect();
            assert_eq!(found.len(), k);
            for (cluster, node) in (0u32..).zip(found) {
                assert_eq!(groups.members[node.group], cut.members(cluster), "cluster {cluster} of {k}");
                assert_eq!(groups.rows(node.group), cut.sizes()[cluster as usize]);
                // the cut of the run is the cut into 4: its clusters are the first groups
                assert!(k != 4 || (node.group, node.cluster) == (cluster as usize, Some(cluster)));
            }
        }
    }

    #[test]
    fn a_group_is_the_sum_of_its_components() {
        let run = run_of_heaps(6, Clusters::Number(2));
        let (fitted, groups) = (run.model.as_ref().unwrap(), groups_of(&run));
        for (group, members) in groups.members.iter().enumerate() {
            let expected = sum(fitted, members);
            let found = &groups.fitted.components[group];
            assert_eq!(found.count, expected.count);
            let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * b.abs().max(1.0);
            assert!(!found.dense().iter().zip(expected.dense()).any(differs), "{members:?}");
        }
        for (component, &group) in groups.components.iter().enumerate() {
            assert_eq!(groups.fitted.components[group], fitted.components[component]);
        }
        assert_eq!(groups.n_rows(), 360);
    }

    #[test]
    fn without_a_tree_there_are_the_clusters_alone() {
        let run = run_of_heaps(3, Clusters::Components);
        let fitted = run.model.as_ref().unwrap();
        let cut = run.tree.as_ref().unwrap().1.clone();
        let groups = Groups::of(fitted, None, cut);
        assert_eq!((groups.nodes.len(), groups.most_clusters()), (0, 1));
        assert_eq!(groups.fitted, *fitted);
    }
}
