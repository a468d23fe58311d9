//! A vector of components with a full covariance and few columns, as rows are scored against them:
//! ‖W(x−m)‖² in single precision.
//!
//! Rows and means are each held as the sum of two singles. Near ones so differ by exactly what they
//! differ by, however far from the offset both are: a narrow component far out is scored as well as
//! any.
#![allow(clippy::needless_range_loop)] // indices are those of the formulas

use super::kernel::{Arithmetic, LANES, lanes};

/// Does something for the rows 0 .. `D` of a triangle, at most eight. Written out: within a loop
/// over rows of rising lengths no row would be unrolled.
macro_rules! for_rows {
    ($n:expr, $i:ident => $code:expr) => {
        for_rows!(@ $n, $i, $code, 0, 1, 2, 3, 4, 5, 6, 7)
    };
    (@ $n:expr, $i:ident, $code:expr, $($row:literal),*) => {
        $(if $row < $n {
            let $i: usize = $row;
            $code;
        })*
    };
}
pub(super) use for_rows;

/// Means and whitening of [`LANES`] components of at most `D` columns.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Panel<const D: usize> {
    /// Column after column.
    means: [[f32; LANES]; D],
    /// What singles leave of the means.
    rests: [[f32; LANES]; D],
    /// W, of which the lower triangle is used.
    whitening: [[[f32; LANES]; D]; D],
}

/// A row as two singles.
#[derive(Clone, Copy)]
pub(super) struct SplitRow<const D: usize> {
    row: [f32; D],
    rests: [f32; D],
}

impl<const D: usize> SplitRow<D> {
    #[inline(always)]
    pub(super) fn of(row: &[f64; D]) -> Self {
        let mut split = Self { row: [0.0; D], rests: [0.0; D] };
        for i in 0..D {
            (split.row[i], split.rests[i]) = split_number(row[i]);
        }
        split
    }
}

/// A number as the sum of two singles.
#[inline(always)]
pub(super) fn split_number(x: f64) -> (f32, f32) {
    let single = x as f32;
    (single, (x - f64::from(single)) as f32)
}

impl<const D: usize> Panel<D> {
    pub(super) const EMPTY: Self =
        Self { means: [[0.0; LANES]; D], rests: [[0.0; LANES]; D], whitening: [[[0.0; LANES]; D]; D] };

    /// Writes a component; W is multiplied by a number.
    #[inline(always)]
    pub(super) fn write(&mut self, lane: usize, mean: &[f64; D], whitening: &[[f64; D]; D], times: f64) {
        for i in 0..D {
            (self.means[i][lane], self.rests[i][lane]) = split_number(mean[i]);
            for j in 0..=i {
                self.whitening[i][j][lane] = (times * whitening[i][j]) as f32;
            }
        }
    }

    /// ‖W(x−m)‖² of all components.
    #[inline(always)]
    pub(super) fn squares<A: Arithmetic>(&self, row: &SplitRow<D>) -> [f32; LANES] {
        let mut differences = [[0.0f32; LANES]; D];
        for j in 0..D {
            let (means, rests) = (self.means[j], self.rests[j]);
            for lane in 0..LANES {
                differences[j][lane] = (row.row[j] - means[lane]) + (row.rests[j] - rests[lane]);
            }
        }
        let mut squares = [0.0f32; LANES];
        for_rows!(D, i => squares = self.add_square::<A>(i, &differences, squares));
        squares
    }

    /// Adds the square of one whitened coordinate.
    #[inline(always)]
    fn add_square<A: Arithmetic>(
        &self,
        i: usize,
        differences: &[[f32; LANES]; D],
        squares: [f32; LANES],
    ) -> [f32; LANES] {
        let mut whitened = [0.0f32; LANES];
        for j in 0..=i {
            let (weights, differences) = (self.whitening[i][j], differences[j]);
            for lane in 0..LANES {
                whitened[lane] = A::mul_add(weights[lane], differences[lane], whitened[lane]);
            }
        }
        lanes(|lane| A::mul_add(whitened[lane], whitened[lane], squares[lane]))
    }
}
