//! The sampled rows of a run, with what the model says of each.

use std::thread::available_parallelism;

use dirigent::internals::io::DataSet;
use dirigent::internals::posterior::predictive::Predictor;
use dirigent::internals::rows::Shard;
use dirigent::internals::run_dir::{FittedModel, RowSample};
use dirigent::{Cut, Error, InputError, Kernel, Model, Prediction, Result, Row};

use super::groups::Groups;

/// Sampled rows.
pub(crate) struct Sample {
    /// Their numbers in the input, from 0.
    pub(crate) numbers: Vec<usize>,
    /// As they were read.
    pub(crate) as_read: Shard,
    /// As the model sees them.
    pub(crate) fitted: Shard,
    /// Of the clusters of the run.
    pub(crate) predictions: Vec<Prediction>,
    /// The most probable component of each.
    pub(crate) components: Vec<u32>,
    /// The observed cells of each, or its words.
    lengths: Vec<usize>,
    /// The certainty of each in other cuts, in per cent: that of the node at the finest cut, of its parent, and so on, until it is 100.
    pub(crate) certainties: Vec<Vec<u8>>,
}

impl Sample {
    /// Asks the model about every sampled row.
    pub(crate) fn of(sample: RowSample, fitted: &FittedModel, groups: &Groups) -> Result<Self> {
        let data = DataSet::of_table("sample.npz", sample.rows);
        let as_read = data.all_rows();
        let is_infinite = |row: Row<'_>| matches!(row, Row::F64(cells) if cells.iter().any(|cell| cell.is_infinite()));
        if as_read.rows().any(is_infinite) {
            let error = InputError::in_file("sample.npz", "found a number that is not finite");
            return Err(error.hint("the file is damaged: fit the model again").into());
        }
        let rows = fitted.transform.as_ref().map_or_else(|| data.clone(), |transform| data.transformed(transform));
        if !matches!(fitted.model, Model::Multinomial(_)) {
            fitted.model.check_rows(&rows)?;
        }
        let n_threads = available_parallelism().map_or(1, |cores| cores.get());
        let rows = rows.all_rows();
        let mut predictor = Predictor::new(&fitted.model, &fitted.components, fitted.alpha, Kernel::best(), n_threads);
        let lineage = Lineage::of(groups);
        let n_rows = rows.n_rows();
        let (mut predictions, mut certainties) = (Vec::with_capacity(n_rows), Vec::with_capacity(n_rows));
        let mut components = Vec::with_capacity(n_rows);
        predictor.each_block(&rows, None, true, |_, block, probabilities| {
            for (prediction, probabilities) in block.iter().zip(probabilities.chunks_exact(groups.n_components() + 1)) {
                let of_components = &probabilities[..groups.n_components()];
                components.push(prediction.label);
                certainties.push(lineage.certainties(prediction.label, of_components));
                predictions.push(of_cluster(&groups.cut, prediction, of_components));
            }
            Ok::<(), Error>(())
        })?;
        let lengths = rows.rows().map(length).collect();
        Ok(Self { numbers: sample.numbers, as_read, fitted: rows, predictions, components, lengths, certainties })
    }

    /// Gives each row the label that was written for it.
    pub(crate) fn relabel(&mut self, labels: impl Iterator<Item = u32>) {
        for (ix, label) in labels.enumerate() {
            (self.predictions[ix].label, self.components[ix]) = (label, label);
        }
    }

    /// The rows of a cluster of the run, or of another group of components, by their place in the sample, the most typical first: those that fit best
    /// per observed cell or per word. Rows with fewer cells or words than the median are left out, for a few cells fit better than many by chance.
    pub(crate) fn typical(&self, groups: &Groups, group: usize) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.components.len()).filter(|&ix| self.is_in(groups, group, ix)).collect();
        let mut lengths: Vec<usize> = rows.iter().map(|&ix| self.lengths[ix]).collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        rows.retain(|&ix| self.lengths[ix] >= median);
        rows.sort_by(|&a, &b| self.fit(b).total_cmp(&self.fit(a)).then(a.cmp(&b)));
        rows
    }

    /// All rows, those that fit worst first. The mean of many cells strays less by chance than that of few: distances from the mean of all rows are weighed
    /// by the square root of the number of cells.
    pub(crate) fn strangest(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.components.len()).filter(|&ix| self.lengths[ix] > 0).collect();
        let n_cells: usize = self.lengths.iter().sum();
        let mean = rows.iter().map(|&ix| self.predictions[ix].log_density).sum::<f64>() / n_cells.max(1) as f64;
        let fit = |ix: usize| (self.fit(ix) - mean) * (self.lengths[ix] as f64).sqrt();
        rows.sort_by(|&a, &b| fit(a).total_cmp(&fit(b)).then(a.cmp(&b)));
        rows
    }

    fn is_in(&self, groups: &Groups, group: usize, ix: usize) -> bool {
        if group < groups.n_clusters() {
            self.predictions[ix].label as usize == group
        } else {
            groups.members[group].binary_search(&self.components[ix]).is_ok()
        }
    }

    /// The log-density of a row per observed cell or per word.
    fn fit(&self, ix: usize) -> f64 {
        self.predictions[ix].log_density / self.lengths[ix].max(1) as f64
    }

    /// The mean certainty of the sampled rows of each node, in per cent; nothing where there are none.
    pub(crate) fn certainty_of_nodes(&self, groups: &Groups) -> Vec<Option<f64>> {
        let lineage = Lineage::of(groups);
        let mut sums = vec![(0.0, 0u32); groups.nodes.len()];
        for (component, certainties) in self.components.iter().zip(&self.certainties) {
            let line =
                std::iter::successors(Some(lineage.leaves[*component as usize]), |&place| groups.nodes[place].parent);
            for (steps, place) in line.enumerate() {
                sums[place].0 += f64::from(certainties.get(steps).copied().unwrap_or(100));
                sums[place].1 += 1;
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    }
}

/// The observed cells of a row, or its words.
fn length(row: Row<'_>) -> usize {
    match row {
        Row::F32(cells) => cells.iter().filter(|cell| !cell.is_nan()).count(),
        Row::F64(cells) => cells.iter().filter(|cell| !cell.is_nan()).count(),
        Row::Counts(row) => row.total() as usize,
    }
}

/// A prediction of a component as one of its cluster: its certainty is that of all components of the cluster.
fn of_cluster(cut: &Cut, prediction: &Prediction, of_components: &[f64]) -> Prediction {
    let label = cut.clusters()[prediction.label as usize];
    let of_cluster: f64 =
        cut.clusters().iter().zip(of_components).filter(|(cluster, _)| **cluster == label).map(|(_, p)| p).sum();
    let total: f64 = of_components.iter().sum();
    let certainty = if total > 0.0 { (of_cluster / total) as f32 } else { 0.0 };
    Prediction { label, certainty: certainty.clamp(prediction.certainty, 1.0), ..*prediction }
}

/// The way from each component to the root of the tree, through the clusters of the page's cuts.
pub(crate) struct Lineage {
    /// The node of each component at the finest cut, by its place.
    pub(crate) leaves: Vec<usize>,
    parents: Vec<Option<usize>>,
    /// The nodes of all cuts, a node behind its parent.
    cut_nodes: Vec<usize>,
}

impl Lineage {
    pub(crate) fn of(groups: &Groups) -> Self {
        let mut leaves = vec![0; if groups.nodes.is_empty() { 0 } else { groups.n_components() }];
        for place in groups.cut_into(groups.most_clusters()) {
            let members = &groups.members[groups.nodes[place].group];
            members.iter().for_each(|&component| leaves[component as usize] = place);
        }
        let parents = groups.nodes.iter().map(|node| node.parent).collect();
        Self { leaves, parents, cut_nodes: groups.cut_nodes() }
    }

    /// In per cent, until they are 100.
    fn certainties(&self, component: u32, of_components: &[f64]) -> Vec<u8> {
        let total: f64 = of_components.iter().sum();
        let Some(&leaf) = self.leaves.get(component as usize).filter(|_| total > 0.0) else { return Vec::new() };
        let mut sums = vec![0.0; self.parents.len()];
        self.leaves.iter().zip(of_components).for_each(|(&leaf, p)| sums[leaf] += p);
        for &place in self.cut_nodes.iter().rev() {
            if let Some(parent) = self.parents[place] {
                sums[parent] += sums[place];
            }
        }
        let line = std::iter::successors(Some(leaf), |&place| self.parents[place]);
        line.map(|place| (100.0 * sums[place] / total).round() as u8).take_while(|percent| *percent < 100).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::groups::tests::{groups_of, run_of};
    use dirigent::{Covariance, FitOptions};

    #[test]
    fn a_row_is_as_certain_in_every_cut_as_its_cluster_is_probable() {
        // an even row of numbers, in components that overlap
        let mut options = FitOptions::default();
        (options.model.covariance, options.model.sigma) = (Some(Covariance::Isotropic), Some(1.0));
        let mut run = run_of((0..600).map(|ix| f64::from(ix) * 0.05).collect(), options);
        let (groups, fitted) = (groups_of(&run), run.model.clone().unwrap());
        let sample = Sample::of(run.sample.take().unwrap(), &fitted, &groups).unwrap();
        let (tree, lineage) = (&run.tree.as_ref().unwrap().0, Lineage::of(&groups));
        assert!(tree.n_components() > 3 && sample.certainties.iter().any(|certainties| certainties.len() > 1));
        let mut predictor = Predictor::new(&fitted.model, &fitted.components, fitted.alpha, Kernel::best(), 1);
        for k in 1..=groups.most_clusters() {
            let nodes = groups.cut_into(k);
            let expected = predictor.predict_all(&sample.fitted, Some(&tree.cut(k, 0.0)));
            for (ix, expected) in expected.iter().enumerate() {
                let leaf = lineage.leaves[sample.components[ix] as usize];
                let line = std::iter::successors(Some(leaf), |&place| groups.nodes[place].parent);
                let (steps, place) = line.enumerate().find(|(_, place)| nodes.contains(place)).unwrap();
                assert_eq!(nodes[expected.label as usize], place);
                let percent = sample.certainties[ix].get(steps).copied().unwrap_or(100);
                assert!((100.0 * expected.certainty - f32::from(percent)).abs() <= 0.51, "row {ix} of {k}");
            }
        }
        // the clusters of the run are one of the cuts
        let own = predictor.predict_all(&sample.fitted, Some(&groups.cut));
        assert!(
            own.iter()
                .zip(&sample.predictions)
                .all(|(a, b)| a.label == b.label && (a.certainty - b.certainty).abs() < 1e-6)
        );
    }
}
