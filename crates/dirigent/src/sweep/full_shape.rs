//! The mean m of a component and the W of Ψ⁻¹ = WᵀW, in double precision, for few columns and many.
#![allow(clippy::needless_range_loop)] // indices are those of the formulas

use std::cell::RefCell;

use super::full_panel::for_rows;
use crate::cholesky;

/// The mean and the W of a component, in a form that suits the number of columns.
pub(super) trait FullShape: Send + Clone {
    /// A row after offset and scale.
    type Row: ?Sized;

    /// From a packed W.
    fn of(mean: &[f64], whitening: &[f64]) -> Self;

    /// The columns there are of a row.
    fn columns(row: &Self::Row, n: usize) -> &[f64];

    /// ‖W(x−m)‖².
    fn square(&self, row: &Self::Row, scratch: &RefCell<Vec<f64>>) -> f64;

    /// Changes Ψ by sign · weight · (x−m)(x−m)ᵀ, then m by `step` · (x−m); the ratio of the
    /// determinants is returned.
    fn change(&mut self, row: &Self::Row, sign: f64, weight: f64, step: f64) -> f64;
}

/// At most `D` columns: loops over them unroll. Columns beyond those of the data are zeros.
#[derive(Clone)]
pub(super) struct Narrow<const D: usize> {
    pub(super) mean: [f64; D],
    /// W, row after row.
    pub(super) whitening: [[f64; D]; D],
}

impl<const D: usize> Narrow<D> {
    /// ‖W(x−m)‖².
    #[inline(always)]
    pub(super) fn squared_distance(&self, row: &[f64; D]) -> f64 {
        let mut square = 0.0;
        for y in self.whiten(row) {
            square += y * y;
        }
        square
    }

    #[inline(always)]
    fn whiten(&self, row: &[f64; D]) -> [f64; D] {
        let (mut differences, mut whitened) = ([0.0; D], [0.0; D]);
        for j in 0..D {
            differences[j] = row[j] - self.mean[j];
        }
        for_rows!(D, i => whitened[i] = dot_of_first(i + 1, &self.whitening[i], &differences));
        whitened
    }
}

impl<const D: usize> FullShape for Narrow<D> {
    type Row = [f64; D];

    fn of(mean: &[f64], whitening: &[f64]) -> Self {
        let mut narrow = Self { mean: [0.0; D], whitening: [[0.0; D]; D] };
        narrow.mean[..mean.len()].copy_from_slice(mean);
        for i in 0..mean.len() {
            narrow.whitening[i][..=i].copy_from_slice(&whitening[cholesky::row(i)]);
        }
        narrow
    }

    #[inline(always)]
    fn columns(row: &[f64; D], n: usize) -> &[f64] {
        &row[..n]
    }

    #[inline(always)]
    fn square(&self, row: &[f64; D], _scratch: &RefCell<Vec<f64>>) -> f64 {
        self.squared_distance(row)
    }

    /// [`cholesky::change_inverse`], unrolled.
    #[inline(always)]
    fn change(&mut self, row: &[f64; D], sign: f64, weight: f64, step: f64) -> f64 {
        let (whitened, root) = (self.whiten(row), weight.sqrt());
        let (mut ratio, mut partial) = (1.0f64, [0.0; D]);
        for i in 0..D {
            let v = root * whitened[i];
            let next = (ratio + sign * v * v).max(1e-12 * ratio);
            let (scale, along) = ((ratio / next).sqrt(), -sign * v / ratio);
            for j in 0..=i {
                let before = self.whitening[i][j];
                self.whitening[i][j] = scale * (before + along * partial[j]);
                partial[j] += v * before;
            }
            ratio = next;
        }
        for (mean, x) in self.mean.iter_mut().zip(row) {
            *mean += step * (x - *mean);
        }
        ratio
    }
}

/// The dot product of the first columns.
#[inline(always)]
fn dot_of_first<const D: usize>(n: usize, a: &[f64; D], b: &[f64; D]) -> f64 {
    let mut sum = 0.0;
    for j in 0..n {
        sum += a[j] * b[j];
    }
    sum
}

/// Any number of columns.
#[derive(Clone)]
pub(super) struct Wide {
    pub(super) mean: Vec<f64>,
    /// W, a packed lower triangle.
    pub(super) whitening: Vec<f64>,
    /// Room for the difference of a row, and for a row of W.
    room: Vec<f64>,
}

impl FullShape for Wide {
    type Row = [f64];

    fn of(mean: &[f64], whitening: &[f64]) -> Self {
        Self { mean: mean.to_vec(), whitening: whitening.to_vec(), room: vec![0.0; 2 * mean.len()] }
    }

    #[inline(always)]
    fn columns(row: &[f64], _n: usize) -> &[f64] {
        row
    }

    #[inline(always)]
    fn square(&self, row: &[f64], scratch: &RefCell<Vec<f64>>) -> f64 {
        squared_distance(row, &self.mean, &self.whitening, scratch)
    }

    #[inline(always)]
    fn change(&mut self, row: &[f64], sign: f64, weight: f64, step: f64) -> f64 {
        let (difference, partial) = self.room.split_at_mut(row.len());
        subtract(row, &self.mean, difference);
        cholesky::add_scaled(&mut self.mean, step, difference);
        let root = weight.sqrt();
        difference.iter_mut().for_each(|x| *x *= root);
        cholesky::multiply(&self.whitening, difference);
        cholesky::change_inverse(&mut self.whitening, difference, sign, partial)
    }
}

/// ‖W(x−m)‖² for a packed W.
#[inline(always)]
pub(super) fn squared_distance(row: &[f64], mean: &[f64], whitening: &[f64], scratch: &RefCell<Vec<f64>>) -> f64 {
    let mut difference = scratch.borrow_mut();
    subtract(row, mean, &mut difference);
    cholesky::squared_norm_of_product(whitening, &difference)
}

#[inline(always)]
fn subtract(row: &[f64], mean: &[f64], difference: &mut [f64]) {
    for ((difference, x), mean) in difference.iter_mut().zip(row).zip(mean) {
        *difference = x - mean;
    }
}
