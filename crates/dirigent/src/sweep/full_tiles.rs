//! Components with a full covariance and many columns, as a vector of rows is scored against them:
//! ‖W(x−m)‖² by a product with the triangle W.
//!
//! Rows and means are each held as the sum of two singles, so that a narrow component far from the
//! offset is scored as well as any. W is in tiles of [`TILE`] rows, each as long as its last row:
//! the product does hardly more than half of what a square would need.

use super::full_panel::split_number;
use super::kernel::{Arithmetic, LANES, lanes};
use super::tile::{TILE, multiply_add};
use crate::cholesky;

/// A vector of rows, column after column, each number as two singles.
#[derive(Default)]
pub(super) struct RowVector {
    columns: Vec<[[f32; LANES]; 2]>,
    /// Their differences from the mean of the component being scored.
    differences: Vec<[f32; LANES]>,
}

impl RowVector {
    pub(super) fn new(n_columns: usize) -> Self {
        Self { columns: vec![[[0.0; LANES]; 2]; n_columns], differences: vec![[0.0; LANES]; n_columns] }
    }

    /// Replaces one of the rows.
    #[inline(always)]
    pub(super) fn write(&mut self, lane: usize, row: &[f64]) {
        for ([singles, rests], x) in self.columns.iter_mut().zip(row) {
            (singles[lane], rests[lane]) = split_number(*x);
        }
    }
}

/// The tiles of W of one component after another.
pub(super) struct Tiles {
    n_columns: usize,
    /// Of all components: the columns of a tile together.
    columns: Vec<[f32; TILE]>,
    /// The means of all components.
    means: Vec<(f32, f32)>,
}

impl Tiles {
    pub(super) fn new(n_columns: usize) -> Self {
        Self { n_columns, columns: Vec::new(), means: Vec::new() }
    }

    /// The columns of all tiles of a component.
    pub(super) fn length(&self) -> usize {
        (0..self.n_columns).step_by(TILE).map(|first| (first + TILE).min(self.n_columns)).sum()
    }

    /// Makes room for this many components.
    pub(super) fn resize(&mut self, n_components: usize) {
        self.columns.resize(n_components * self.length(), [0.0; TILE]);
        self.means.resize(n_components * self.n_columns, (0.0, 0.0));
    }

    /// Writes a component; its W, a packed lower triangle, is multiplied by a number.
    pub(super) fn write(&mut self, component: usize, mean: &[f64], whitening: &[f64], times: f64) {
        let means = &mut self.means[component * self.n_columns..];
        means.iter_mut().zip(mean).for_each(|(split, x)| *split = split_number(*x));
        let length = self.length();
        let mut tiles = &mut self.columns[component * length..(component + 1) * length];
        for first in (0..self.n_columns).step_by(TILE) {
            let last = (first + TILE).min(self.n_columns);
            let (tile, rest) = tiles.split_at_mut(last);
            for i in first..last {
                for (column, weight) in tile.iter_mut().zip(&whitening[cholesky::row(i)]) {
                    column[i - first] = (times * weight) as f32;
                }
            }
            tiles = rest;
        }
    }

    /// ‖W(x−m)‖² of a vector of rows; `length` is [`Tiles::length`], computed once.
    #[inline(always)]
    pub(super) fn squares<A: Arithmetic>(&self, component: usize, length: usize, rows: &mut RowVector) -> [f32; LANES] {
        let means = &self.means[component * self.n_columns..(component + 1) * self.n_columns];
        for ((differences, columns), mean) in rows.differences.iter_mut().zip(&rows.columns).zip(means) {
            // by value: else it is one number after another
            let [singles, rests] = *columns;
            *differences = lanes(|lane| (singles[lane] - mean.0) + (rests[lane] - mean.1));
        }
        let mut tiles = &self.columns[component * length..(component + 1) * length];
        let (mut first, mut squares) = (0, [0.0f32; LANES]);
        while first < self.n_columns {
            let last = (first + TILE).min(self.n_columns);
            let (tile, rest) = tiles.split_at(last);
            let whitened = multiply_add::<A>(tile, &rows.differences[..last], [[0.0; LANES]; TILE]);
            for whitened in whitened {
                for lane in 0..LANES {
                    squares[lane] = A::mul_add(whitened[lane], whitened[lane], squares[lane]);
                }
            }
            (tiles, first) = (rest, last);
        }
        squares
    }
}
