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
        Ok(Self { numbers: sample.numbers, as_read, fitted: rows, predictions, components, certainties })
    }

    /// The rows of some components, by their place in the sample, the most typical first.
    pub(crate) fn typical(&self, members: &[u32]) -> Vec<usize> {
        let mut rows: Vec<usize> =
            (0..self.components.len()).filter(|&ix| members.binary_search(&self.components[ix]).is_ok()).collect();
        let density = |ix: usize| self.predictions[ix].log_density;
        rows.sort_by(|&a, &b| density(b).total_cmp(&density(a)).then(a.cmp(&b)));
        rows
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
        (options.model.covariance, options.model.noise_sd) = (Some(Covariance::Fixed), Some(1.0));
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
