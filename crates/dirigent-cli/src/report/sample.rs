//! The sampled rows of a run, with what the model says of each.

use std::thread::available_parallelism;

use dirigent::internals::io::DataSet;
use dirigent::internals::posterior::predictive::Predictor;
use dirigent::internals::rows::Shard;
use dirigent::internals::run_dir::{FittedModel, RowSample};
use dirigent::{InputError, Kernel, Model, Prediction, Result, Row};

/// Sampled rows.
pub(crate) struct Sample {
    /// Their numbers in the input, from 0.
    pub(crate) numbers: Vec<usize>,
    /// As they were read.
    pub(crate) as_read: Shard,
    /// As the model sees them.
    pub(crate) fitted: Shard,
    pub(crate) predictions: Vec<Prediction>,
}

impl Sample {
    /// Asks the model about every sampled row.
    pub(crate) fn of(sample: RowSample, fitted: &FittedModel) -> Result<Self> {
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
        let predictions = predictor.predict(&rows);
        Ok(Self { numbers: sample.numbers, as_read, fitted: rows, predictions })
    }

    /// The rows of a cluster, by their place in the sample, the most typical first.
    pub(crate) fn typical(&self, cluster: usize) -> Vec<usize> {
        let mut rows: Vec<usize> =
            (0..self.predictions.len()).filter(|&ix| self.predictions[ix].label as usize == cluster).collect();
        let density = |ix: usize| self.predictions[ix].log_density;
        rows.sort_by(|&a, &b| density(b).total_cmp(&density(a)).then(a.cmp(&b)));
        rows
    }
}
