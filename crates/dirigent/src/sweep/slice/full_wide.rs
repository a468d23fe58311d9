//! Gaussians with full covariances and many columns: log f = Σ ln W_ii − ½‖W(x−μ)‖² (constants left
//! out), a vector of rows times one triangle after another.

use std::cell::RefCell;
use std::ops::Range;

use super::batch::SliceScorer;
use crate::cholesky::{diagonal, packed_len};
use crate::family::{Conjugate, GaussianFull};
use crate::rows::Shard;
use crate::sweep::full_shape::squared_distance;
use crate::sweep::full_tiles::{RowVector, Tiles};
use crate::sweep::kernel::{Arithmetic, LANES, lanes};

/// Weights with a larger share are recomputed in double precision.
pub(super) const REFINE_ABOVE: f64 = 0.001;

/// Scores rows against Gaussians with full covariances.
pub(super) struct FullWideSlice {
    family: GaussianFull,
    n_columns: usize,
    /// μ and W, one component after another, as they were drawn.
    parameters: Vec<f64>,
    /// Σ ln W_ii.
    constants: Vec<f64>,
    tiles: Tiles,
    /// The rows of the current batch after offset and scale.
    rows: Vec<f64>,
    vector: RowVector,
    scratch: RefCell<Vec<f64>>,
}

impl FullWideSlice {
    pub(super) fn new(family: GaussianFull) -> Self {
        let n_columns = family.n_columns();
        Self {
            n_columns,
            parameters: Vec::new(),
            constants: Vec::new(),
            tiles: Tiles::new(n_columns),
            rows: vec![0.0; LANES * n_columns],
            vector: RowVector::new(n_columns),
            scratch: RefCell::new(vec![0.0; n_columns]),
            family,
        }
    }

    /// μ and W.
    #[inline(always)]
    fn component(&self, ix: usize) -> (&[f64], &[f64]) {
        let length = self.n_columns + packed_len(self.n_columns);
        self.parameters[ix * length..(ix + 1) * length].split_at(self.n_columns)
    }
}

impl SliceScorer for FullWideSlice {
    type Family = GaussianFull;

    const BATCH: usize = LANES;

    fn family(&self) -> &GaussianFull {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(REFINE_ABOVE)
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_columns = self.n_columns;
        self.parameters.clear();
        self.parameters.extend_from_slice(parameters);
        self.constants.clear();
        self.tiles.resize(parameters.len() / self.family.parameters_len());
        for (ix, of_component) in parameters.chunks_exact(self.family.parameters_len()).enumerate() {
            let whitening = &of_component[n_columns..];
            self.tiles.write(ix, &of_component[..n_columns], whitening, 1.0);
            self.constants.push((0..n_columns).map(|i| libm::log(whitening[diagonal(i)])).sum());
        }
    }

    #[inline(always)]
    fn score<A: Arithmetic>(
        &mut self,
        shard: &Shard,
        rows: Range<usize>,
        n_allowed: &[usize],
        n_vectors: usize,
        scores: &mut [[f32; LANES]],
    ) {
        let n_rows = rows.len();
        for (in_batch, row_ix) in rows.enumerate() {
            let row = &mut self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
            self.family.read(shard.row(row_ix), row);
            self.vector.write(in_batch, row);
        }
        let length = self.tiles.length();
        let n_components = n_allowed.iter().fold(0, |most, n| most.max(*n));
        for ix in 0..n_components {
            let squares = self.tiles.squares::<A>(ix, length, &mut self.vector);
            let constant = self.constants[ix] as f32;
            let of_rows = lanes(|lane| A::mul_add(-0.5, squares[lane], constant));
            for (in_batch, score) in of_rows.iter().take(n_rows).enumerate() {
                scores[in_batch * n_vectors + ix / LANES][ix % LANES] = *score;
            }
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, in_batch: usize, component: usize) -> f64 {
        let row = &self.rows[in_batch * self.n_columns..(in_batch + 1) * self.n_columns];
        let (mean, whitening) = self.component(component);
        self.constants[component] - 0.5 * squared_distance(row, mean, whitening, &self.scratch)
    }
}
