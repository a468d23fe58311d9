//! The bare limit of a Gaussian sweep: the matrix product of the same shape, in batches that stay in the cache.

use std::hint::black_box;

/// Rows of one product: the best batch for the library.
const BATCH: usize = 64;

/// Means to multiply with, and room for the scores.
pub struct Product {
    n_columns: usize,
    n_components: usize,
    means: Vec<f32>,
    scores: Vec<f32>,
}

impl Product {
    pub fn new(n_columns: usize, n_components: usize) -> Self {
        let means = (0..n_columns * n_components).map(|ix| ix as f32 % 7.0).collect();
        Self { n_columns, n_components, means, scores: vec![0.0; BATCH * n_components] }
    }

    /// The product of all rows with all means, batch by batch.
    pub fn run(&mut self, rows: &[f32]) {
        for batch in rows.chunks(BATCH * self.n_columns) {
            self.multiply(batch);
            black_box(&mut self.scores);
        }
    }

    #[allow(unsafe_code)] // the library has an interface of pointers
    fn multiply(&mut self, rows: &[f32]) {
        let (n, d, k) = (rows.len() / self.n_columns, self.n_columns, self.n_components);
        assert!(self.means.len() == d * k && self.scores.len() >= n * k);
        let (d_stride, k_stride) = (d as isize, k as isize);
        let (means, scores) = (self.means.as_ptr(), self.scores.as_mut_ptr());
        // SAFETY: the lengths were checked, and strides describe whole row-major matrices within them.
        unsafe {
            matrixmultiply::sgemm(
                n,
                d,
                k,
                1.0,
                rows.as_ptr(),
                d_stride,
                1,
                means,
                k_stride,
                1,
                0.0,
                scores,
                k_stride,
                1,
            );
        }
    }
}
