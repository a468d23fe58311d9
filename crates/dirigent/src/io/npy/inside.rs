//! Arrays inside another file, which is read as a stream: the length is known when it ends.

use std::io::Read;
use std::path::Path;

use super::convert::{to_f32, to_f64};
use super::header::{self, Kind};
use super::{Array, FileColumns, Selection, TruthBuilder};
use crate::error::{InputError, Result};
use crate::io::grid::LARGEST_LABEL;
use crate::rows::{Cells, Table};

/// Reads an array of one or two dimensions as a table; `name` is what messages call it.
pub(crate) fn read_table(
    name: &Path,
    mut reader: impl Read,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
) -> Result<Table> {
    let header = header::read(name, &mut reader)?;
    let array = Array::of_stream(name, &header)?;
    if (header.number.kind, header.number.width) == (Kind::Float, 4) {
        let cells = array.read_cells(&mut reader, to_f32(header.number))?;
        array.grid().table(Cells::Owned(cells), selection, columns, truth)
    } else {
        let cells = array.read_cells(&mut reader, to_f64(header.number))?;
        array.grid().table(Cells::Owned(cells), selection, columns, truth)
    }
}

/// The number of columns of an array of one or two dimensions, as its header claims.
pub(crate) fn columns_inside(name: &Path, mut reader: impl Read) -> Result<usize> {
    let header = header::read(name, &mut reader)?;
    Ok(Array::of_stream(name, &header)?.n_columns)
}

/// Reads an array of one dimension, of any numbers; it may be empty.
pub(crate) fn read_vector(name: &Path, mut reader: impl Read) -> Result<Vec<f64>> {
    let header = header::read(name, &mut reader)?;
    match header.shape.as_slice() {
        [0] => Ok(Vec::new()),
        [_] => Array::of_stream(name, &header)?.read_cells(&mut reader, to_f64(header.number)),
        other => {
            let problem = format!("found {} dimensions, expected 1", other.len());
            Err(InputError::in_file(name, problem).hint("write it with scipy.sparse.save_npz").into())
        }
    }
}

/// Reads an array of one dimension, of whole numbers that are not negative.
pub(crate) fn read_indices(name: &Path, reader: impl Read) -> Result<Vec<usize>> {
    let numbers = read_vector(name, reader)?;
    let wrong = numbers.iter().position(|number| !(0.0..LARGEST_LABEL).contains(number) || number.fract() != 0.0);
    if let Some(ix) = wrong {
        let problem = format!("found {}, expected a whole number that is not negative", numbers[ix]);
        return Err(InputError::in_file(name, problem).at_row(ix + 1).hint(super::DAMAGED).into());
    }
    Ok(numbers.into_iter().map(|number| number as usize).collect())
}
