//! Tables of 32-bit whole numbers, mapped where they can be.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::rows::Cells;

use super::convert::exact;
use super::header::{self, Kind};
use super::{Array, MappedNumbers, source};

/// Reads an `.npy` of `i4` or `u4`, two dimensions, row after row: the number of columns and the cells, bit for bit.
pub(crate) fn read_integers(path: &Path) -> Result<(usize, Cells<u32>)> {
    let mut reader = source::reader(path)?;
    let header = header::read(path, &mut reader)?;
    let array = Array::new(path, &header)?;
    let number = header.number;
    if number.kind == Kind::Float || number.width != 4 || header.shape.len() != 2 || array.grid().is_by_column() {
        let problem = format!(
            "found {} dimension(s) of {} bytes a cell, expected a table of 32-bit whole numbers in C order",
            header.shape.len(),
            number.width
        );
        return Err(InputError::in_file(path, problem)
            .hint("save it as array.astype(numpy.int32, order=\"C\")")
            .into());
    }
    if cfg!(target_endian = "little") && !number.big_endian && !source::is_zipped(path) {
        let bytes = header.data_start..header.data_start + array.n_bytes;
        // where a file cannot be mapped, it can still be read
        if let Ok(Some(mapped)) = MappedNumbers::new(&source::open(path)?.0, bytes) {
            return Ok((array.n_columns, Cells::Mapped(mapped)));
        }
    }
    let convert: fn(&[u8]) -> u32 =
        if number.big_endian { |cell| u32::from_be_bytes(exact(cell)) } else { |cell| u32::from_le_bytes(exact(cell)) };
    Ok((array.n_columns, Cells::Owned(array.read_cells(&mut reader, convert)?)))
}
