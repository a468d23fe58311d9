//! Cuts of the tree over the components of a run.

use std::path::PathBuf;

use dirigent::{Clusters, InputError, Tree};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::errors::exception;

/// The cluster of each component: at a number of clusters, "auto" or "components".
#[pyfunction]
pub(crate) fn cut<'py>(py: Python<'py>, folder: PathBuf, n_clusters: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let clusters = py.detach(|| {
        let asked: Clusters = n_clusters
            .parse()
            .map_err(|problem| InputError::new(format!("`clusters` {n_clusters} makes no sense: {problem}")))?;
        Ok(Tree::read(&folder)?.clusters(asked, None)?.clusters().to_vec())
    });
    Ok(clusters.map_err(exception)?.into_pyarray(py))
}
