//! The product of a tile of rows with a panel of components, and the dot product of which it is
//! made.

use super::kernel::{Arithmetic, LANES};

/// Rows of one tile of the product: 6 × 16 sums stay in registers.
pub(super) const TILE: usize = 6;
/// Columns that are summed on their own before they join the total: short sums round less.
pub(super) const CHUNK: usize = 64;

/// One tile of the product, on top of the constants.
#[inline(always)]
pub(super) fn tile<A: Arithmetic>(
    rows: &[[f32; TILE]],
    panel: &[[f32; LANES]],
    constants: &[f32; LANES],
    scales: &[f32; LANES],
    row_squares: &[f32; TILE],
) -> [[f32; LANES]; TILE] {
    let mut total = [[0.0; LANES]; TILE];
    for row in 0..TILE {
        for lane in 0..LANES {
            total[row][lane] = A::mul_add(row_squares[row], scales[lane], constants[lane]);
        }
    }
    if rows.len() <= CHUNK {
        return multiply_add::<A>(rows, panel, total);
    }
    for (rows, panel) in rows.chunks(CHUNK).zip(panel.chunks(CHUNK)) {
        let part = multiply_add::<A>(rows, panel, [[0.0; LANES]; TILE]);
        for row in 0..TILE {
            for lane in 0..LANES {
                total[row][lane] += part[row][lane];
            }
        }
    }
    total
}

/// A tile of the product, on top of `sums`.
#[inline(always)]
pub(super) fn multiply_add<A: Arithmetic>(
    rows: &[[f32; TILE]],
    panel: &[[f32; LANES]],
    mut sums: [[f32; LANES]; TILE],
) -> [[f32; LANES]; TILE] {
    for (x, means) in rows.iter().zip(panel) {
        for row in 0..TILE {
            for lane in 0..LANES {
                sums[row][lane] = A::mul_add(x[row], means[lane], sums[row][lane]);
            }
        }
    }
    sums
}
