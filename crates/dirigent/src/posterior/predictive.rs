//! The posterior predictive: what a fitted model says of rows, seen or new.
//!
//! Given the components of a state and α, a row belongs to component k with probability ∝ n_k · predictive(x|S_k) and to one not seen before with
//! probability ∝ α · predictive(x|∅); the density of the row is the sum of these over n + α. The label is the most probable of the components there
//! are, ties to the smaller number, so that on the rows of the fit it is what `labels.npy` says.

use std::thread;

use crate::model::Model;
use crate::rows::{Shard, worker_rows};
use crate::stats::Stats;
pub use crate::sweep::Prediction;
use crate::sweep::{Kernel, Sampler, sampler};

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
    /// The predictor of a model with these components, of which there is at least one, none without rows.
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

    /// The same and for each row the probabilities of the components in order and last that of a new one: `n_components() + 1` numbers a
    /// row, which sum to 1. Those below e⁻⁸⁷ of the largest are 0.
    pub fn predict_with_probabilities(&mut self, rows: &Shard) -> (Vec<Prediction>, Vec<f64>) {
        let parts = self.on_threads(rows, |sampler, rows, alpha| {
            let mut probabilities = Vec::new();
            (sampler.predict(&rows, alpha, Some(&mut probabilities)), probabilities)
        });
        let (predictions, probabilities): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        (predictions.concat(), probabilities.concat())
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
