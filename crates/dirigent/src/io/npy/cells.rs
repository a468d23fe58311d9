//! From stored bytes to the numbers of a table.

use std::fmt::Display;

use crate::rows::{Cells, Table};

use super::header::{Kind, Number};

/// A number that a table can hold.
pub(super) trait Cell: bytemuck::Pod + Display {
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The number of a level, or NaN.
    fn of_level(level: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// A table of such numbers.
    fn table(n_columns: usize, cells: Cells<Self>) -> Table;
}

impl Cell for f32 {
    fn of_level(level: f64) -> Self {
        // there are few levels, so this is exact
        level as Self
    }
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn table(n_columns: usize, cells: Cells<Self>) -> Table {
        Table::F32 { n_columns, cells }
    }
}

impl Cell for f64 {
    fn of_level(level: f64) -> Self {
        level
    }
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn table(n_columns: usize, cells: Cells<Self>) -> Table {
        Table::F64 { n_columns, cells }
    }
}

/// Where the first NaN or infinity is. Looks at whole blocks first: without an early way out the compiler uses vector
/// instructions.
pub(super) fn first_not_finite<T: Cell>(cells: &[T]) -> Option<usize> {
    const BLOCK: usize = 1024;
    let block = cells.chunks(BLOCK).position(|block| !block.iter().fold(true, |all, cell| all & cell.is_finite()))?;
    let start = block * BLOCK;
    cells[start..].iter().position(|cell| !cell.is_finite()).map(|ix| start + ix)
}

/// Reads an `f4`.
pub(super) fn to_f32(number: Number) -> fn(&[u8]) -> f32 {
    if number.big_endian { |cell| f32::from_be_bytes(exact(cell)) } else { |cell| f32::from_le_bytes(exact(cell)) }
}

/// Reads any number as a double; whole numbers beyond 2⁵³ are rounded.
pub(super) fn to_f64(number: Number) -> fn(&[u8]) -> f64 {
    macro_rules! from {
        ($number:ty) => {
            if number.big_endian {
                |cell| <$number>::from_be_bytes(exact(cell)) as f64
            } else {
                |cell| <$number>::from_le_bytes(exact(cell)) as f64
            }
        };
    }
    match (number.kind, number.width) {
        (Kind::Float, 4) => from!(f32),
        (Kind::Float, _) => from!(f64),
        (Kind::Signed, 1) => from!(i8),
        (Kind::Signed, 2) => from!(i16),
        (Kind::Signed, 4) => from!(i32),
        (Kind::Signed, _) => from!(i64),
        (Kind::Unsigned, 1) => from!(u8),
        (Kind::Unsigned, 2) => from!(u16),
        (Kind::Unsigned, 4) => from!(u32),
        (Kind::Unsigned, _) => from!(u64),
    }
}

/// The bytes of one cell.
pub(super) fn exact<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("cells are cut to their width")
}
