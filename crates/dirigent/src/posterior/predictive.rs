//! The posterior predictive: what a fitted model says of rows, seen or new.
//!
//! Given the components of a state and α, a row belongs to component k with probability ∝ n_k ·
//! predictive(x|S_k) and to one not seen before with probability ∝ α · predictive(x|∅); the density
//! of the row is the sum of these over n + α. The label is the most probable of the components
//! there are, ties to the smaller number, so that on the rows of the fit it is what `labels.npy`
//! says.

use std::thread;

use crate::model::Model;
use crate::rows::{Shard, worker_rows};
use crate::stats::Stats;
pub use crate::sweep::Prediction;
use crate::sweep::{Kernel, Sampler, sampler};
use crate::tree::Cut;

/// Rows that are predicted together.
const BLOCK: usize = 1 << 17;
/// Probabilities that are held together: 8 MB, so that blocks are made in the same memory again and
/// again.
const MOST_PROBABILITIES: usize = 1 << 20;

/// Predicts rows on several threads. Rows are independent: threads change nothing but the time.
pub struct Predictor {
    /// One a thread, loaded with the components.
    samplers: Vec<Box<dyn Sampler>>,
    alpha: f64,
    n_components: usize,
    n_columns: usize,
    has_counts: bool,
}

impl Predictor {
    /// The predictor of a model with these components, of which there is at least one, none without
    /// rows.
    pub fn new(model: &Model, components: &[Stats], alpha: f64, kernel: Kernel, n_threads: usize) -> Self {
        assert!(components.iter().all(|stats| stats.count > 0) && !components.is_empty(), "components have rows");
        let loaded = || {
            let mut sampler = sampler(model, Shard::of_tables(&[], 0..0), kernel);
            sampler.load(components);
            sampler
        };
        Self {
            samplers: (0..n_threads.max(1)).map(|_| loaded()).collect(),
            alpha,
            n_components: components.len(),
            n_columns: model.n_columns(),
            has_counts: model.conjugate().has_counts(),
        }
    }

    /// The number of components.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// Label, certainty, p_new and log-density of each row.
    pub fn predict(&mut self, rows: &Shard) -> Vec<Prediction> {
        self.on_threads(rows, |sampler, rows, alpha| sampler.predict(&rows, alpha, None)).concat()
    }

    /// The same and for each row the probabilities of the components in order and last that of a
    /// new one: `n_components() + 1` numbers a row, which sum to 1. Those below e⁻⁸⁷ of the largest
    /// are 0.
    pub fn predict_with_probabilities(&mut self, rows: &Shard) -> (Vec<Prediction>, Vec<f64>) {
        let parts = self.on_threads(rows, |sampler, rows, alpha| {
            let mut probabilities = Vec::new();
            (sampler.predict(&rows, alpha, Some(&mut probabilities)), probabilities)
        });
        let (predictions, probabilities): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (predictions.concat(), probabilities.concat())
    }

    /// Predicts rows block by block: `take` gets the first row of a block, its predictions and, if
    /// they are asked for, its probabilities. With a cut they are those of its clusters: a row is
    /// in the cluster of its most probable component, and its certainty is that of all components
    /// of the cluster together.
    pub fn each_block<E>(
        &mut self,
        rows: &Shard,
        cut: Option<&Cut>,
        has_probabilities: bool,
        mut take: impl FnMut(usize, &[Prediction], &[f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let n_rows = rows.n_rows();
        let cut = cut.filter(|cut| !cut.is_of_single_components());
        let needs_probabilities = has_probabilities || cut.is_some();
        let most_rows = MOST_PROBABILITIES / (self.n_components + 1);
        let block = if needs_probabilities { most_rows.clamp(64, BLOCK) } else { BLOCK };
        for first_row in (0..n_rows).step_by(block) {
            let rows = rows.part(first_row..(first_row + block).min(n_rows));
            let (mut predictions, mut probabilities) = if needs_probabilities {
                self.predict_with_probabilities(&rows)
            } else {
                (self.predict(&rows), Vec::new())
            };
            if let Some(cut) = cut {
                probabilities = of_clusters(cut, &mut predictions, &probabilities);
            }
            take(first_row, &predictions, &probabilities)?;
        }
        Ok(())
    }

    /// The predictions of all rows, of the clusters of a cut if there is one.
    pub fn predict_all(&mut self, rows: &Shard, cut: Option<&Cut>) -> Vec<Prediction> {
        let mut all = Vec::with_capacity(rows.n_rows());
        let taken: Result<(), std::convert::Infallible> = self.each_block(rows, cut, false, |_, predictions, _| {
            all.extend_from_slice(predictions);
            Ok(())
        });
        let Ok(()) = taken;
        all
    }

    /// Lets every thread work on its part of the rows; the results in the order of the rows.
    fn on_threads<T: Send>(&mut self, rows: &Shard, work: impl Fn(&mut dyn Sampler, Shard, f64) -> T + Sync) -> Vec<T> {
        assert_eq!((rows.n_columns(), rows.is_counts()), (self.n_columns, self.has_counts), "rows of the model's kind");
        let (n_threads, alpha, work) = (self.samplers.len(), self.alpha, &work);
        thread::scope(|scope| {
            let mut threads = Vec::with_capacity(n_threads);
            for (thread, sampler) in self.samplers.iter_mut().enumerate() {
                let part = rows.part(worker_rows(thread, n_threads, rows.n_rows()));
                threads.push(scope.spawn(move || work(sampler.as_mut(), part, alpha)));
            }
            threads.into_iter().map(|thread| thread.join().expect("prediction does not panic")).collect()
        })
    }
}

/// Makes predictions of components those of clusters. Returns the probabilities of the clusters,
/// and of a new one, for each row.
fn of_clusters(cut: &Cut, predictions: &mut [Prediction], probabilities: &[f64]) -> Vec<f64> {
    let n_components = cut.clusters().len();
    let mut all = Vec::with_capacity(predictions.len() * (cut.n_clusters() + 1));
    for (prediction, probabilities) in predictions.iter_mut().zip(probabilities.chunks_exact(n_components + 1)) {
        let (new, of_components) = probabilities.split_last().expect("the new component is there");
        let of_clusters = cut.probabilities(of_components);
        let total: f64 = of_clusters.iter().sum();
        prediction.label = cut.clusters()[prediction.label as usize];
        if total > 0.0 {
            let certainty = (of_clusters[prediction.label as usize] / total) as f32;
            prediction.certainty = certainty.clamp(prediction.certainty, 1.0);
        }
        all.extend(of_clusters);
        all.push(*new);
    }
    all
}
