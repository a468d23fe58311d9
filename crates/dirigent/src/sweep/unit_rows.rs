//! A batch of rows of length 1, in double precision and in tiles of single precision.

use std::ops::Range;

use super::tile::TILE;
use crate::rows::{Row, Shard};
use crate::special::dot;

/// A row as it was read.
#[derive(Default)]
pub(super) struct UnitRow {
    pub(super) numbers: Vec<f64>,
    /// ‖x‖²: 1 but for the rounding of the file.
    pub(super) square: f64,
}

/// The rows of the current batch.
#[derive(Default)]
pub(super) struct UnitRows {
    /// Buffers are kept: there may be more of them than rows.
    rows: Vec<UnitRow>,
    /// In tiles of [`TILE`] rows, column after column.
    tiles: Vec<[f32; TILE]>,
    n_columns: usize,
}

impl UnitRows {
    #[inline(always)]
    pub(super) fn row(&self, in_batch: usize) -> &UnitRow {
        &self.rows[in_batch]
    }

    #[inline(always)]
    pub(super) fn tiles(&self) -> impl Iterator<Item = &[[f32; TILE]]> {
        self.tiles.chunks_exact(self.n_columns)
    }

    /// The squares of a tile's rows.
    #[inline(always)]
    pub(super) fn squares(&self, tile_ix: usize) -> [f32; TILE] {
        let mut squares = [0.0; TILE];
        for (square, row) in squares.iter_mut().zip(&self.rows[tile_ix * TILE..]) {
            *square = row.square as f32;
        }
        squares
    }

    #[inline(always)]
    pub(super) fn read(&mut self, shard: &Shard, rows: Range<usize>) {
        let n_columns = shard.n_columns();
        self.n_columns = n_columns;
        self.tiles.resize(rows.len().div_ceil(TILE) * n_columns, [0.0; TILE]);
        if self.rows.len() < rows.len() {
            self.rows.resize_with(rows.len(), UnitRow::default);
        }
        for (in_batch, row_ix) in rows.enumerate() {
            let row = &mut self.rows[in_batch];
            row.numbers.resize(n_columns, 0.0);
            match shard.row(row_ix) {
                Row::F32(numbers) => {
                    row.numbers.iter_mut().zip(numbers).for_each(|(double, single)| *double = f64::from(*single));
                }
                Row::F64(numbers) => row.numbers.copy_from_slice(numbers),
                Row::Counts(_) => panic!("directions have dense rows"),
            }
            row.square = dot(&row.numbers, &row.numbers);
            let tile = &mut self.tiles[in_batch / TILE * n_columns..];
            tile.iter_mut().zip(&row.numbers).for_each(|(column, x)| column[in_batch % TILE] = *x as f32);
        }
    }
}
