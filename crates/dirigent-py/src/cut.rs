//! Cuts of the tree over the components of a run.

use std::path::PathBuf;

use dirigent::{InputError, Tree};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::errors::exception;

/// The cluster of each component, at a number of clusters or in the natural layer of the tree.
#[pyfunction]
#[pyo3(signature = (folder, n_clusters=None))]
pub(crate) fn cut(py: Python<'_>, folder: PathBuf, n_clusters: Option<usize>) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let clusters = py.detach(|| {
        let tree = Tree::read(&folder)?;
        let n_components = tree.n_components();
        let cut = match n_clusters {
            None => tree.layer(),
            Some(n) if (1..=n_components).contains(&n) => tree.cut(n, 0.0),
            Some(n) => {
                let problem = format!("`n_clusters` {n} is not among 1 to {n_components}, the number of components");
                return Err(InputError::new(problem).hint("give fewer clusters, or \"auto\"").into());
            }
        };
        Ok(cut.clusters().to_vec())
    });
    Ok(clusters.map_err(exception)?.into_pyarray(py))
}
