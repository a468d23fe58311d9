//! Rows on their way from Python: files, arrays, columns of a table, sparse counts.
//!
//! Cells are copied once. Python may change an array while it is fitted, and nothing could forbid it to.

use std::path::PathBuf;
use std::sync::Arc;

use dirigent::internals::io::{DataSet, FittedColumns, MemoryColumn};
use dirigent::internals::rows::{CountTable, Table};
use dirigent::{Data, DataOptions, InputError, MemoryRows};
use numpy::{Element, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::exception;

/// Rows to fit or to predict.
#[pyclass(frozen, module = "dirigent._core")]
pub(crate) struct Rows {
    kind: Kind,
    names: Option<Vec<String>>,
}

enum Kind {
    Files(Vec<PathBuf>),
    Memory(Vec<MemoryRows>),
}

/// A column of a table: numbers, or text with None for a missing cell.
#[derive(FromPyObject)]
pub(crate) enum Column<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Text(Vec<Option<String>>),
}

#[pymethods]
impl Rows {
    /// The rows of files, as `dirigent fit` takes them.
    #[staticmethod]
    fn files(paths: Vec<PathBuf>) -> Self {
        Self { kind: Kind::Files(paths), names: None }
    }

    /// The rows of a two-dimensional array of float32 or float64 in C order.
    #[staticmethod]
    #[pyo3(signature = (array, names=None))]
    fn dense(array: &Bound<'_, PyAny>, names: Option<Vec<String>>) -> PyResult<Self> {
        let table = if let Ok(array) = array.cast::<PyArray2<f64>>() {
            let (n_columns, cells) = cells(array)?;
            Table::from_f64(n_columns, cells)
        } else if let Ok(array) = array.cast::<PyArray2<f32>>() {
            let (n_columns, cells) = cells(array)?;
            Table::from_f32(n_columns, cells)
        } else {
            return Err(PyTypeError::new_err("expected a two-dimensional array of float32 or float64"));
        };
        Self::of_memory(MemoryRows::Table(Arc::new(table)), names)
    }

    /// The rows of a table, column by column. `kinds` says what numbers are ("date", "duration": days) and which texts are levels ("levels").
    #[staticmethod]
    #[pyo3(signature = (columns, names=None, kinds=None))]
    fn table(columns: Vec<Column<'_>>, names: Option<Vec<String>>, kinds: Option<Vec<String>>) -> PyResult<Self> {
        let kinds = kinds.unwrap_or_else(|| vec![String::new(); columns.len()]);
        if kinds.len() != columns.len() {
            return Err(PyValueError::new_err("there must be one kind for each column"));
        }
        let cells = |(column, kind): (Column<'_>, String)| {
            Ok(match (column, kind.as_str()) {
                (Column::Numbers(numbers), "date") => MemoryColumn::Dates(numbers.as_slice()?.to_vec()),
                (Column::Numbers(numbers), "duration") => MemoryColumn::Durations(numbers.as_slice()?.to_vec()),
                (Column::Numbers(numbers), _) => MemoryColumn::Numbers(numbers.as_slice()?.to_vec()),
                (Column::Text(texts), "levels") => MemoryColumn::Levels(texts),
                (Column::Text(texts), _) => MemoryColumn::Text(texts),
            })
        };
        let columns = columns.into_iter().zip(kinds).map(cells).collect::<PyResult<Vec<_>>>()?;
        Self::of_memory(MemoryRows::Columns(columns.into()), names)
    }

    /// The rows of a CSR matrix of counts, its indices sorted, its data whole numbers from 1.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, data, n_columns, names=None))]
    fn counts(
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        data: PyReadonlyArray1<'_, f64>,
        n_columns: usize,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (indptr, indices, data) = (indptr.as_slice()?, indices.as_slice()?, data.as_slice()?);
        let table = count_table(indptr, indices, data, n_columns).map_err(|error| exception(error.into()))?;
        Self::of_memory(MemoryRows::Table(Arc::new(Table::Counts(table))), names)
    }
}

impl Rows {
    fn of_memory(rows: MemoryRows, names: Option<Vec<String>>) -> PyResult<Self> {
        if names.as_ref().is_some_and(|names| names.len() != rows.n_columns()) {
            return Err(PyValueError::new_err("there must be one name for each column"));
        }
        Ok(Self { kind: Kind::Memory(vec![rows]), names })
    }

    /// As the library takes them, for a fit.
    pub(crate) fn data(&self, options: &DataOptions) -> dirigent::Result<Data> {
        match &self.kind {
            Kind::Files(paths) => Data::open(&DataOptions { paths: paths.clone(), ..options.clone() }),
            Kind::Memory(parts) => Data::from_memory(parts.clone(), self.names.clone(), options),
        }
    }

    /// With the columns of a fitted model, and notes about them.
    pub(crate) fn with_columns(&self, columns: &FittedColumns) -> dirigent::Result<(DataSet, Vec<String>)> {
        match &self.kind {
            Kind::Files(paths) => columns.open(paths),
            Kind::Memory(parts) => columns.of_memory(parts, self.names.as_deref()),
        }
    }
}

fn cells<T: Element + Copy>(array: &Bound<'_, PyArray2<T>>) -> PyResult<(usize, Vec<T>)> {
    let array = array.try_readonly()?;
    let n_columns = array.as_array().ncols();
    if n_columns == 0 {
        return Err(PyValueError::new_err("X: zero columns"));
    }
    Ok((n_columns, array.as_slice()?.to_vec()))
}

/// Nothing is believed that was not looked at: a matrix can be put together by hand.
fn count_table(indptr: &[i64], indices: &[i64], data: &[f64], n_columns: usize) -> Result<CountTable, InputError> {
    let is_cut = indptr.first() == Some(&0) && indptr.last() == Some(&(data.len() as i64)) && indptr.is_sorted();
    if !is_cut || indices.len() != data.len() || u32::try_from(n_columns).is_err() {
        return Err(InputError::in_file("X", "the arrays of the sparse matrix do not fit one another"));
    }
    let mut table = CountTable::new(n_columns);
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for (row_ix, ends) in indptr.windows(2).enumerate() {
        let part = ends[0] as usize..ends[1] as usize;
        for (&column, &cell) in indices[part.clone()].iter().zip(&data[part]) {
            let word = u32::try_from(column).ok().filter(|word| (*word as usize) < n_columns);
            let is_rising = entries.last().zip(word).is_none_or(|((last, _), word)| *last < word);
            let Some(word) = word.filter(|_| is_rising) else {
                return Err(InputError::in_file("X", "the indices of the sparse matrix are not sorted or too large"));
            };
            if !(cell >= 1.0 && cell <= f64::from(u32::MAX) && cell.fract() == 0.0) {
                let problem = format!("found {cell}, expected a count: a whole number from 0 to {}", u32::MAX);
                let error = InputError::in_file("X", problem).at_row(row_ix + 1).at_column((column + 1).to_string());
                return Err(error.hint("give measurements as a dense array"));
            }
            entries.push((word, cell as u32));
        }
        table.push_row(entries.drain(..));
    }
    Ok(table)
}
