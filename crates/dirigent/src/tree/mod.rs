//! The hierarchy over components: one fit, clusters at any resolution. Ours, not the paper's.
//!
//! A mixture often has several components for what people see as one cluster. `overlap` measures in one pass over the rows how far components overlap, `linkage` merges them
//! two by two, and a [`Cut`] undoes the last merges. `layer` chooses a cut without being told a number; `support` says what posterior draws think of each merge.

mod clusters;
mod cut;
mod distance;
mod layer;
mod linkage;
mod live;
mod overlap;
mod support;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::clusters::Clusters;
pub use self::cut::Cut;
use self::distance::MergeLosses;
use self::linkage::{Merge, agglomerate};
use self::overlap::{Overlap, OverlapSums};
use crate::model::Model;
use crate::posterior::draws::Partitions;
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::Kernel;

/// A binary tree over the components of a fit. Components are its leaves, 0 to K − 1; merge i makes the node K + i.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The temperature of the memberships.
    temperature: f64,
    /// The rows of each component.
    sizes: Vec<u64>,
    /// SciPy's linkage matrix: two nodes, the height ln(n/σ), the number of components.
    linkage: Vec<(usize, usize, f64, usize)>,
    /// The same height of each component with itself.
    component_heights: Vec<f64>,
    /// σ of the two sides of each merge at temperature 1.
    overlaps: Vec<f64>,
    /// The natural layer: the cluster of each component.
    layer: Vec<u32>,
    /// The posterior probability that the two sides of each merge are apart, if there are draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    support: Option<Vec<Option<f64>>>,
    /// What follows from these: the two sides of each merge, the one with more rows first; the rows of each node.
    #[serde(skip)]
    nodes: Nodes,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Nodes {
    sides: Vec<[usize; 2]>,
    sizes: Vec<u64>,
}

impl Tree {
    /// The tree of a fitted model, whose rows are in shards, in their order. Neither threads nor shards change it.
    pub fn build(model: &Model, components: &[Stats], shards: &[Shard], kernel: Kernel, n_threads: usize) -> Self {
        let overlap = overlap::overlap(model, components, shards, kernel, n_threads);
        Self::of_overlap(model, components, &overlap)
    }

    /// The tree of what workers have summed.
    fn of_overlap(model: &Model, components: &[Stats], overlap: &Overlap) -> Self {
        let merges = agglomerate(&overlap.tempered, &mut MergeLosses::new(model.conjugate(), components));
        let sizes = components.iter().map(|stats| u64::try_from(stats.count).expect("components have rows")).collect();
        Self::of_merges(&merges, sizes, overlap, model.conjugate().n_columns())
    }

    fn of_merges(merges: &[Merge], sizes: Vec<u64>, overlap: &Overlap, n_columns: usize) -> Self {
        let n_components = sizes.len();
        let mut n_leaves = vec![1; n_components];
        for Merge { clusters: [a, b], .. } in merges {
            n_leaves.push(n_leaves[*a] + n_leaves[*b]);
        }
        // crumbs that the guard has merged early do not raise what is above them
        let mut heights = vec![0.0; merges.len()];
        let mut above = f64::INFINITY;
        for (height, merge) in heights.iter_mut().zip(merges).rev() {
            above = above.min(merge.log_distance.max(0.0));
            *height = above;
        }
        let linkage: Vec<_> = (merges.iter().zip(&heights).enumerate())
            .map(|(ix, (Merge { clusters: [a, b], .. }, height))| (*a, *b, *height, n_leaves[n_components + ix]))
            .collect();
        let mut component_heights = vec![f64::INFINITY; n_components];
        let sums = &overlap.tempered;
        for (component, _, itself) in sums.pairs().filter(|(a, b, _)| a == b) {
            component_heights[component] = (2.0 * libm::log(sums.weight(component)) - libm::log(itself)).max(0.0);
        }
        // not above the first merge; one that no row belongs to ends there
        for (a, b, height, _) in &linkage {
            for side in [*a, *b] {
                if let Some(own) = component_heights.get_mut(side) {
                    *own = own.min(*height);
                }
            }
        }
        component_heights.iter_mut().filter(|height| height.is_infinite()).for_each(|height| *height = 0.0);
        let overlaps = overlaps_of_merges(merges, overlap.plain());
        let mut tree = Self {
            temperature: overlap.temperature,
            sizes,
            linkage,
            component_heights,
            overlaps,
            layer: Vec::new(),
            support: None,
            nodes: Nodes::default(),
        };
        tree.grow();
        tree.layer = tree.cut_at(&layer::tops(&tree, n_columns)).clusters().to_vec();
        tree
    }

    /// The tree, if all that it says can be true. It may come from anywhere.
    pub(crate) fn checked(mut self) -> Result<Self, String> {
        let n = self.sizes.len();
        if n == 0
            || self.sizes.contains(&0)
            || self.sizes.iter().try_fold(0u64, |sum, size| sum.checked_add(*size)).is_none()
        {
            return Err("`sizes` must be positive numbers".to_owned());
        }
        let lengths = [
            ("linkage", self.linkage.len(), n - 1),
            ("component_heights", self.component_heights.len(), n),
            ("overlaps", self.overlaps.len(), n - 1),
            ("layer", self.layer.len(), n),
            ("support", self.support.as_ref().map_or(n - 1, Vec::len), n - 1),
        ];
        if let Some((name, found, expected)) = lengths.into_iter().find(|(_, found, expected)| found != expected) {
            return Err(format!("`{name}` has {found} entries, expected {expected}"));
        }
        let (mut n_leaves, mut is_free, mut before) = (vec![1; n], vec![true; n], 0.0);
        for (ix, &(a, b, height, count)) in self.linkage.iter().enumerate() {
            if !(a < b && b < n + ix && is_free[a] && is_free[b]) {
                return Err(format!("`linkage` has no two nodes to merge in line {ix}"));
            }
            if !(height >= before && height.is_finite()) {
                return Err(format!(
                    "`linkage` has the height {height} in line {ix}, expected a number of at least {before}"
                ));
            }
            if count != n_leaves[a] + n_leaves[b] {
                return Err(format!("`linkage` counts {count} components in line {ix}"));
            }
            (is_free[a], is_free[b], before) = (false, false, height);
            is_free.push(true);
            n_leaves.push(count);
        }
        let is_magnitude = |number: &f64| *number >= 0.0 && number.is_finite();
        let is_probability = |number: &f64| (0.0..=1.0).contains(number);
        let problem = if !(self.temperature >= 1.0 && self.temperature.is_finite()) {
            "`temperature` must be a number of at least 1"
        } else if !self.component_heights.iter().all(is_magnitude) {
            "`component_heights` must be numbers of at least 0"
        } else if !self.overlaps.iter().all(is_magnitude) {
            "`overlaps` must be numbers of at least 0"
        } else if !self.support.iter().flatten().flatten().all(is_probability) {
            "`support` must be probabilities"
        } else if Cut::new(self.layer.clone(), &self.sizes).clusters() != self.layer {
            "`layer` must number clusters by falling size"
        } else {
            self.grow();
            return Ok(self);
        };
        Err(problem.to_owned())
    }

    /// Adds the support of each merge by posterior draws, given the component of each row.
    pub fn set_support(&mut self, components: &[u32], draws: &Partitions) {
        self.support = Some(support::support(self, components, draws));
    }

    /// The number of components.
    pub fn n_components(&self) -> usize {
        self.sizes.len()
    }

    /// The number of rows of all components.
    pub fn n_rows(&self) -> u64 {
        self.nodes.sizes[self.root()]
    }

    /// The temperature of the memberships that overlaps were measured by.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// SciPy's linkage matrix: two nodes, the height, the number of components.
    pub fn linkage(&self) -> &[(usize, usize, f64, usize)] {
        &self.linkage
    }

    /// The posterior probability that the two sides of each merge are apart; `None` without draws.
    pub fn support(&self) -> Option<&[Option<f64>]> {
        self.support.as_deref()
    }

    /// Each component is a cluster.
    pub fn components(&self) -> Cut {
        Cut::new((0..self.n_components() as u32).collect(), &self.sizes)
    }

    /// The clusters that are chosen without being told their number.
    pub fn layer(&self) -> Cut {
        Cut::new(self.layer.clone(), &self.sizes)
    }

    /// At most so many clusters: the last merges are undone. With a least share of the rows, a smaller side of a merge stays with the larger one, and there may be fewer clusters.
    pub fn cut(&self, n_clusters: usize, min_share: f64) -> Cut {
        self.cut_at(&cut::tops(self, n_clusters, min_share * self.n_rows() as f64))
    }

    fn root(&self) -> usize {
        2 * self.n_components() - 2
    }

    /// The two sides of a merge, the one with more rows first; a component has none.
    fn sides(&self, node: usize) -> Option<[usize; 2]> {
        node.checked_sub(self.n_components()).map(|ix| self.nodes.sides[ix])
    }

    /// The two sides of all merges in order.
    fn merges(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        self.linkage.iter().map(|&(a, b, ..)| [a, b])
    }

    /// The rows of a node.
    fn size(&self, node: usize) -> u64 {
        self.nodes.sizes[node]
    }

    fn height(&self, node: usize) -> f64 {
        match node.checked_sub(self.n_components()) {
            Some(ix) => self.linkage[ix].2,
            None => self.component_heights[node],
        }
    }

    /// σ of the two sides of a merge at temperature 1.
    fn overlap(&self, node: usize) -> f64 {
        self.overlaps[node - self.n_components()]
    }

    /// Finds what follows from the linkage and the sizes.
    fn grow(&mut self) {
        let mut sizes = self.sizes.clone();
        let mut sides = Vec::with_capacity(self.linkage.len());
        for [a, b] in self.linkage.iter().map(|&(a, b, ..)| [a, b]) {
            sides.push(if sizes[b] > sizes[a] { [b, a] } else { [a, b] });
            sizes.push(sizes[a].saturating_add(sizes[b]));
        }
        self.nodes = Nodes { sides, sizes };
    }

    /// The clusters below some nodes. A side that is below none of them stays with the larger side.
    fn cut_at(&self, tops: &[usize]) -> Cut {
        let mut number_of: Vec<Option<u32>> = vec![None; self.root() + 1];
        (0u32..).zip(tops).for_each(|(number, &top)| number_of[top] = Some(number));
        let mut has_top: Vec<bool> = number_of.iter().map(Option::is_some).collect();
        for node in self.n_components()..=self.root() {
            has_top[node] |= self.nodes.sides[node - self.n_components()].iter().any(|&side| has_top[side]);
        }
        for node in (self.n_components()..=self.root()).rev() {
            let sides = self.nodes.sides[node - self.n_components()];
            for [side, other] in [sides, [sides[1], sides[0]]] {
                if number_of[node].is_some() {
                    number_of[side] = number_of[node];
                } else if !has_top[side] {
                    number_of[side] = number_of[self.first_top(other, &number_of, &has_top)];
                }
            }
        }
        let numbers =
            number_of[..self.n_components()].iter().map(|number| number.expect("every node has been given one"));
        Cut::new(numbers.collect(), &self.sizes)
    }

    /// The top that is found by following the larger side.
    fn first_top(&self, mut node: usize, number_of: &[Option<u32>], has_top: &[bool]) -> usize {
        while number_of[node].is_none() {
            let [large, small] = self.sides(node).expect("there is a top below");
            node = if has_top[large] { large } else { small };
        }
        node
    }
}

/// σ of the two sides of each merge: sums over pairs of components, each at the merge that joins the two.
fn overlaps_of_merges(merges: &[Merge], sums: &OverlapSums) -> Vec<f64> {
    let n_components = sums.n_components();
    // a forest in which the smaller of two trees is hung below the larger one's root: never deep
    let (mut parent, mut joined_by) = ((0..n_components).collect::<Vec<_>>(), vec![usize::MAX; n_components]);
    let (mut root_of, mut size): (Vec<usize>, Vec<usize>) = ((0..n_components).collect(), vec![1; n_components]);
    let mut weights = sums.weights().to_vec();
    for (ix, Merge { clusters: [a, b], .. }) in merges.iter().enumerate() {
        let [a_root, b_root] = [root_of[*a], root_of[*b]];
        let (large, small) = if size[b_root] > size[a_root] { (b_root, a_root) } else { (a_root, b_root) };
        (parent[small], joined_by[small]) = (large, ix);
        size[large] += size[small];
        root_of.push(large);
        weights.push(weights[*a] + weights[*b]);
    }
    let mut between = vec![0.0; merges.len()];
    for (mut a, mut b, overlap) in sums.pairs().filter(|(a, b, _)| a != b) {
        let mut merge = 0;
        while a != b {
            if joined_by[a] > joined_by[b] {
                std::mem::swap(&mut a, &mut b);
            }
            merge = joined_by[a];
            a = parent[a];
        }
        between[merge] += overlap;
    }
    let sigma = |(Merge { clusters, .. }, between): (&Merge, f64)| {
        let [a, b] = clusters.map(|ix| overlap::weight_of(weights[ix]));
        if between > 0.0 { sums.n_rows() as f64 * between / (a * b) } else { 0.0 }
    };
    merges.iter().zip(between).map(sigma).collect()
}
