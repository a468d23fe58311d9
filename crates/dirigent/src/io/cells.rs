//! The numbers that a dense table can hold.

use std::fmt::Display;

use crate::rows::{Cells, Table};

/// A number that a table can hold.
pub(crate) trait Cell: bytemuck::Pod + Display {
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The number of a level, or NaN.
    fn of_level(level: f64) -> Self;
    /// The nearest number.
    fn of_number(number: f64) -> Self;
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
    fn of_number(number: f64) -> Self {
        number as Self
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
    fn of_number(number: f64) -> Self {
        number
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
pub(crate) fn first_not_finite<T: Cell>(cells: &[T]) -> Option<usize> {
    const BLOCK: usize = 1024;
    let block = cells.chunks(BLOCK).position(|block| !block.iter().fold(true, |all, cell| all & cell.is_finite()))?;
    let start = block * BLOCK;
    cells[start..].iter().position(|cell| !cell.is_finite()).map(|ix| start + ix)
}

/// What a number is called as a label or a level. Zero has two floats, but is one class.
pub(crate) fn name<T: Cell>(cell: T) -> String {
    if cell.to_f64() == 0.0 { "0".into() } else { cell.to_string() }
}
