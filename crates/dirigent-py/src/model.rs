//! A fitted model, asked about rows.

use std::path::PathBuf;
use std::thread::available_parallelism;

use dirigent::internals::fit::read_clusters;
use dirigent::internals::io::FittedColumns;
use dirigent::internals::posterior::generate::generate;
use dirigent::internals::posterior::predictive::Predictor;
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::run_dir::FittedModel;
use dirigent::{Cut, Kernel, Prediction, Row};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::errors::exception;
use crate::rows::Rows;

/// With fewer rows a thread is not worth its start.
const ROWS_A_THREAD: usize = 512;

/// The model of a run folder.
#[pyclass(frozen, module = "dirigent._core")]
pub(crate) struct Model {
    fitted: FittedModel,
    /// The clusters that the labels of the run are.
    cut: Cut,
}

/// Label, certainty, probability of a new component and log-density of each row; notes about the rows.
type Predicted<'py> = (
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Vec<String>,
);

/// The entries of a matrix, row after row, or (indptr, indices, data) of a sparse one; and the component of each row.
type Sampled<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<i32>>);

#[pymethods]
impl Model {
    /// Reads the model of a run folder.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let read = || {
            let fitted = FittedModel::read(&folder)?;
            let cut = read_clusters(&folder, fitted.components.len(), None, None)?;
            Ok(Self { fitted, cut })
        };
        py.detach(read).map_err(exception)
    }

    /// What the model says of rows: their clusters, or their components.
    #[pyo3(signature = (rows, n_threads=None, of_components=false))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        n_threads: Option<usize>,
        of_components: bool,
    ) -> PyResult<Predicted<'py>> {
        let cut = (!of_components).then_some(&self.cut);
        let (predictions, notes) = py
            .detach(|| {
                let (shard, notes) = self.shard(rows)?;
                Ok((self.predictor(n_threads, shard.n_rows()).predict_all(&shard, cut), notes))
            })
            .map_err(exception)?;
        let column = |of: fn(&Prediction) -> f64| predictions.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
        let labels: Vec<i32> = predictions.iter().map(|prediction| prediction.label as i32).collect();
        let certainty: Vec<f32> = predictions.iter().map(|prediction| prediction.with_new().certainty).collect();
        Ok((
            labels.into_pyarray(py),
            certainty.into_pyarray(py),
            column(|prediction| prediction.p_new),
            column(|prediction| prediction.log_density),
            notes,
        ))
    }

    /// The probabilities of all clusters and last that of a new one, for each row.
    #[pyo3(signature = (rows, n_threads=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        n_threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<String>)> {
        let (n_rows, probabilities, notes) = py
            .detach(|| {
                let (shard, notes) = self.shard(rows)?;
                let mut all = Vec::with_capacity(shard.n_rows() * (self.cut.n_clusters() + 1));
                let mut predictor = self.predictor(n_threads, shard.n_rows());
                predictor.each_block(&shard, Some(&self.cut), true, |_, _, probabilities| -> dirigent::Result<()> {
                    all.extend_from_slice(probabilities);
                    Ok(())
                })?;
                Ok((shard.n_rows(), all, notes))
            })
            .map_err(exception)?;
        let shape = [n_rows, self.cut.n_clusters() + 1];
        Ok((probabilities.into_pyarray(py).reshape(shape)?, notes))
    }

    /// Rows as the model would make them.
    fn sample<'py>(&self, py: Python<'py>, n_rows: usize, seed: u64) -> PyResult<Sampled<'py>> {
        let generated = py.detach(|| generate(&self.fitted, n_rows, seed)).map_err(exception)?;
        let labels: Vec<i32> = generated.labels.iter().map(|label| *label as i32).collect();
        let table = &generated.rows;
        let rows = match table {
            Table::Counts(_) => counts(py, table)?,
            _ => numbers(table).into_pyarray(py).reshape([table.n_rows(), table.n_columns()])?.into_any(),
        };
        Ok((rows, labels.into_pyarray(py)))
    }

    /// The number of components.
    #[getter]
    fn n_components(&self) -> usize {
        self.fitted.components.len()
    }

    /// The number of clusters.
    #[getter]
    fn n_clusters(&self) -> usize {
        self.cut.n_clusters()
    }

    /// The cluster of each component.
    #[getter]
    fn clusters<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.cut.clusters().to_vec().into_pyarray(py)
    }

    /// The number of columns that are read.
    #[getter]
    fn n_columns(&self) -> usize {
        self.fitted.columns.n_columns
    }

    /// What these are called, where they have names.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.fitted.columns.names.clone()
    }

    /// The columns of the fit that were not read; None where all but those read were not.
    #[getter]
    fn passed_over(&self) -> Option<Vec<String>> {
        let FittedColumns { selection, left_out, .. } = &self.fitted.columns;
        let left_out = left_out.iter().map(|column| column.name.clone());
        selection.columns.is_none().then(|| selection.exclude.iter().cloned().chain(left_out).collect())
    }

    /// The levels of each column that holds text; nothing where none does.
    #[getter]
    fn levels(&self) -> Vec<Option<Vec<String>>> {
        self.fitted.columns.levels.clone()
    }
}

impl Model {
    /// The rows as the model knows them.
    fn shard(&self, rows: &Rows) -> dirigent::Result<(Shard, Vec<String>)> {
        let (data, notes) = rows.with_columns(&self.fitted.columns)?;
        Ok((self.fitted.prepare(data)?.all_rows(), notes))
    }

    fn predictor(&self, n_threads: Option<usize>, n_rows: usize) -> Predictor {
        let cores = || available_parallelism().map_or(1, |cores| cores.get());
        let n_threads = n_threads.unwrap_or_else(cores).min(n_rows.div_ceil(ROWS_A_THREAD));
        let FittedModel { model, components, alpha, .. } = &self.fitted;
        Predictor::new(model, components, *alpha, Kernel::best(), n_threads)
    }
}

fn numbers(table: &Table) -> Vec<f64> {
    let mut cells = Vec::with_capacity(table.n_rows() * table.n_columns());
    for row_ix in 0..table.n_rows() {
        match table.row(row_ix) {
            Row::F32(row) => cells.extend(row.iter().map(|cell| f64::from(*cell))),
            Row::F64(row) => cells.extend_from_slice(row),
            Row::Counts(_) => unreachable!("counts are not numbers of a dense table"),
        }
    }
    cells
}

/// (indptr, indices, data, number of columns)
fn counts<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyAny>> {
    let (mut indptr, mut indices, mut data) = (vec![0i64], Vec::new(), Vec::new());
    for row_ix in 0..table.n_rows() {
        if let Row::Counts(row) = table.row(row_ix) {
            indices.extend(row.words.iter().map(|word| i64::from(*word)));
            data.extend(row.counts.iter().map(|count| i64::from(*count)));
        }
        indptr.push(indices.len() as i64);
    }
    let arrays = (indptr.into_pyarray(py), indices.into_pyarray(py), data.into_pyarray(py), table.n_columns());
    Ok(arrays.into_pyobject(py)?.into_any())
}
