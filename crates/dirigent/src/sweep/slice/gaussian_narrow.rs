//! Spherical Gaussians with few columns: log f = −‖x − μ‖²/2σ² (constants left out), distances a
//! row at a time.
//!
//! The number of columns is part of the type, so that loops over them unroll; columns beyond those
//! of the data are zeros.

use std::ops::Range;

use super::batch::SliceScorer;
use crate::family::{Conjugate, GaussianFixed};
use crate::rows::{Row, Shard};
use crate::sweep::gaussian_unit::Unit;
use crate::sweep::kernel::{Arithmetic, LANES, lanes};

/// Scores rows of at most `D` columns.
pub(super) struct GaussianNarrowSlice<const D: usize> {
    family: GaussianFixed,
    /// 1/2σ².
    half_precision: f64,
    unit: Unit,
    means: Vec<[f64; D]>,
    /// The means in single precision, in units of about σ: vectors of components, column after
    /// column.
    table: Vec<[[f32; LANES]; D]>,
    /// The current row about the offset.
    row: [f64; D],
}

impl<const D: usize> GaussianNarrowSlice<D> {
    pub(super) fn new(family: GaussianFixed) -> Self {
        assert!(family.stats_len() <= D, "{} columns for {D}", family.stats_len());
        let half_precision = 0.5 * family.noise_sd.powi(-2);
        let unit = Unit::of(&family);
        Self { half_precision, unit, means: Vec::new(), table: Vec::new(), row: [0.0; D], family }
    }
}

impl<const D: usize> SliceScorer for GaussianNarrowSlice<D> {
    type Family = GaussianFixed;

    const BATCH: usize = 1;

    fn family(&self) -> &GaussianFixed {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        None
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_columns = self.family.stats_len();
        let padded = |mean: &[f64]| {
            let mut padded = [0.0; D];
            padded[..n_columns].copy_from_slice(mean);
            padded
        };
        self.means = parameters.chunks_exact(n_columns).map(padded).collect();
        self.table = vec![[[0.0; LANES]; D]; self.means.len().div_ceil(LANES)];
        for (component, mean) in self.means.iter().enumerate() {
            for (column, x) in mean.iter().enumerate() {
                self.table[component / LANES][column][component % LANES] = self.unit.length(*x);
            }
        }
    }

    #[inline(always)]
    fn score<A: Arithmetic>(
        &mut self,
        shard: &Shard,
        rows: Range<usize>,
        n_allowed: &[usize],
        _n_vectors: usize,
        scores: &mut [[f32; LANES]],
    ) {
        match shard.row(rows.start) {
            Row::F32(numbers) => self.family.centre(numbers, &mut self.row),
            Row::F64(numbers) => self.family.centre(numbers, &mut self.row),
            Row::Counts(_) => panic!("a Gaussian has dense rows"),
        }
        let row = self.row.map(|x| self.unit.length(x));
        let scale = -self.unit.per_square(self.half_precision);
        for (scores, means) in scores.iter_mut().zip(&self.table).take(n_allowed[0].div_ceil(LANES)) {
            let mut distances = [0.0f32; LANES];
            for (&x, &means) in row.iter().zip(means) {
                for lane in 0..LANES {
                    let difference = x - means[lane];
                    distances[lane] = A::mul_add(difference, difference, distances[lane]);
                }
            }
            *scores = lanes(|lane| scale * distances[lane]);
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, _in_batch: usize, component: usize) -> f64 {
        let mut distance = 0.0;
        for (x, mean) in self.row.iter().zip(&self.means[component]) {
            distance += (x - mean) * (x - mean);
        }
        -self.half_precision * distance
    }
}
