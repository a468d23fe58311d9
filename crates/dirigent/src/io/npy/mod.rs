//! `.npy`: NumPy arrays of one or two dimensions.
//!
//! Little-endian `f4` and `f8` in C order are mapped, not copied, when all columns are asked for and they are not few. The rest is read and
//! converted. The claimed shape is compared with the file's length before anything is allocated; of a zipped file, whose
//! length is unknown, no more is held than was really read.

mod convert;
mod header;
mod inside;
mod integers;
mod stored;

pub(crate) use inside::{columns_inside, read_indices, read_table, read_vector};
pub(crate) use stored::{StoredArray, StoredNumbers, read_stored};

use std::io::Read;
use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::{Cells, Table};

use super::cells::{self, Cell};
use super::columns::FileColumns;
use super::grid::{Grid, LARGEST_LABEL};
use super::labels::TruthBuilder;
use super::mapped::MappedNumbers;
use super::selection::Selection;
use super::source;
use super::storage::Storage;
use convert::{to_f32, to_f64};
use header::{Kind, NpyHeader};

pub(crate) use integers::read_integers;

/// Bytes of cells from which on a file is mapped: a process may have some 65,000 maps, so a data set of many small files is read.
const SMALLEST_MAP: usize = 64 << 10;

const DAMAGED: &str = "the file is damaged or was not written to the end: copy or write it again";

/// Reads a table; the labels, if asked for, are added to `truth`.
pub(crate) fn read(
    path: &Path,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
    storage: &Storage,
) -> Result<Table> {
    let mut reader = source::reader(path)?;
    let header = header::read(path, &mut reader)?;
    let array = Array::new(path, &header)?;
    // what a zipped file claims is not borne out by its length
    if !array.is_mappable() && !source::is_zipped(path) {
        storage.check_table(path, (array.n_rows as u64).saturating_mul(array.n_columns as u64 * 8))?;
    }
    if (header.number.kind, header.number.width) == (Kind::Float, 4) {
        let cells = array.cells(&mut reader, to_f32(header.number))?;
        array.grid().table(cells, selection, columns, truth)
    } else {
        let cells = array.cells(&mut reader, to_f64(header.number))?;
        array.grid().table(cells, selection, columns, truth)
    }
}

/// The number of columns, which the header claims and the file's length bears out.
pub(crate) fn n_columns(path: &Path) -> Result<usize> {
    let header = header::read(path, &mut source::reader(path)?)?;
    Ok(Array::new(path, &header)?.n_columns)
}

/// Reads whole numbers as labels.
pub(crate) fn read_labels(path: &Path, truth: &mut TruthBuilder) -> Result<()> {
    let mut reader = source::reader(path)?;
    let header = header::read(path, &mut reader)?;
    let array = Array::new(path, &header)?;
    if array.n_columns != 1 {
        let problem = format!("found {} columns, expected one label a row", array.n_columns);
        return Err(InputError::in_file(path, problem).hint("save labels as a one-dimensional array").into());
    }
    for (row_ix, label) in array.cells(&mut reader, to_f64(header.number))?.as_slice().iter().enumerate() {
        if label.fract() != 0.0 || label.abs() >= LARGEST_LABEL || !label.is_finite() {
            let error = InputError::in_file(path, format!("found {label}, expected a whole number below 2⁵³ as label"));
            return Err(error.at_row(row_ix + 1).hint("save labels as integers").into());
        }
        truth.push(&cells::name(*label));
    }
    Ok(())
}

/// A checked shape: the number of bytes fits in memory's addresses and, unless zipped, in the file.
struct Array<'a> {
    path: &'a Path,
    header: &'a NpyHeader,
    n_rows: usize,
    n_columns: usize,
    n_bytes: usize,
}

impl<'a> Array<'a> {
    fn new(path: &'a Path, header: &'a NpyHeader) -> Result<Self> {
        let array = Self::of_stream(path, header)?;
        if !source::is_zipped(path) {
            let found = source::open(path)?.1.saturating_sub(header.data_start as u64);
            if found != array.n_bytes as u64 {
                return Err(array.wrong_length(Some(found)).into());
            }
        }
        Ok(array)
    }

    /// The same where the length is known only when it was read.
    fn of_stream(path: &'a Path, header: &'a NpyHeader) -> Result<Self> {
        let (n_rows, n_columns) = sides(path, &header.shape)?;
        let n_bytes = n_rows.checked_mul(n_columns).and_then(|cells| cells.checked_mul(header.number.width));
        let n_bytes = n_bytes.ok_or_else(|| absurd(path, &header.shape))?;
        Ok(Self { path, header, n_rows, n_columns, n_bytes })
    }

    /// What to say when there are not `n_bytes` bytes of cells but `found`, or more than can be told.
    fn wrong_length(&self, found: Option<u64>) -> InputError {
        let what = if found.is_some_and(|found| found < self.n_bytes as u64) { "truncated" } else { "too long" };
        let found = found.map_or("more".into(), |found| found.to_string());
        let (shape, width) = (shape_text(&self.header.shape), self.header.number.width);
        let expected = format!("{} (shape {shape}, {width} bytes a cell)", self.n_bytes);
        InputError::in_file(self.path, format!("{what}: found {found} bytes of cells, expected {expected}"))
            .hint(DAMAGED)
    }

    /// Whether the cells can be used as they lie in the file, and it is worth it.
    fn is_mappable(&self) -> bool {
        let number = self.header.number;
        let is_native = number.kind == Kind::Float && matches!(number.width, 4 | 8) && !number.big_endian;
        let is_large = self.n_bytes >= SMALLEST_MAP;
        is_large && is_native && cfg!(target_endian = "little") && !source::is_zipped(self.path)
    }

    /// All cells as the file orders them.
    fn cells<T: Cell>(&self, reader: &mut dyn Read, convert: fn(&[u8]) -> T) -> Result<Cells<T>> {
        if self.is_mappable() && self.header.number.width == size_of::<T>() {
            let bytes = self.header.data_start..self.header.data_start + self.n_bytes;
            // where a file cannot be mapped, it can still be read
            if let Ok(Some(mapped)) = MappedNumbers::new(&source::open(self.path)?.0, bytes) {
                return Ok(Cells::Mapped(mapped));
            }
        }
        self.read_cells(reader, convert).map(Cells::Owned)
    }

    fn read_cells<T>(&self, reader: &mut dyn Read, convert: fn(&[u8]) -> T) -> Result<Vec<T>> {
        let failed = |error| source::read_error(self.path, error);
        let width = self.header.number.width;
        let (mut cells, mut block) = (Vec::new(), vec![0; width << 13]);
        let mut missing = self.n_bytes;
        while missing > 0 {
            let wanted = missing.min(block.len());
            let found = source::read_up_to(reader, &mut block[..wanted]).map_err(failed)?;
            missing -= found;
            if found < wanted {
                return Err(self.wrong_length(Some((self.n_bytes - missing) as u64)).into());
            }
            cells.extend(block[..found].chunks_exact(width).map(convert));
        }
        match source::read_up_to(reader, &mut [0]).map_err(failed)? {
            0 => Ok(cells),
            _ => Err(self.wrong_length(None).into()),
        }
    }

    fn grid(&self) -> Grid<'a> {
        let Self { path, n_rows, n_columns, .. } = *self;
        Grid { path, n_rows, n_columns, by_column: self.header.fortran_order }
    }
}

/// Rows and columns, as claimed.
fn sides(path: &Path, shape: &[u64]) -> Result<(usize, usize), InputError> {
    let (n_rows, n_columns) = match *shape {
        [n_rows] => (n_rows, 1),
        [n_rows, n_columns] => (n_rows, n_columns),
        _ => {
            let (found, shape) = (shape.len(), shape_text(shape));
            let problem = format!("found an array of {found} dimensions ({shape}), expected 1 or 2");
            let hint = "reshape it to rows × columns: array.reshape(len(array), -1)";
            return Err(InputError::in_file(path, problem).hint(hint));
        }
    };
    if n_rows == 0 || n_columns == 0 {
        let what = if n_rows == 0 { "rows" } else { "columns" };
        let problem = format!("zero {what}: the shape is {}", shape_text(shape));
        return Err(InputError::in_file(path, problem).hint("was the right array saved?"));
    }
    let size = |length| usize::try_from(length).map_err(|_| absurd(path, shape));
    Ok((size(n_rows)?, size(n_columns)?))
}

fn absurd(path: &Path, shape: &[u64]) -> InputError {
    let problem = format!("the header claims the shape {}, more than fits in memory", shape_text(shape));
    InputError::in_file(path, problem).hint(DAMAGED)
}

fn shape_text(shape: &[u64]) -> String {
    let lengths: Vec<_> = shape.iter().take(8).map(u64::to_string).collect();
    if lengths.is_empty() { "a single number".into() } else { lengths.join(" × ") }
}

#[cfg(test)]
mod tests;
