//! Directions: log f = τ μ·x (what is the same for all components left out), a matrix product.

use std::ops::Range;

use super::batch::SliceScorer;
use crate::family::{Conjugate, VonMisesFisher};
use crate::rows::Shard;
use crate::special::dot;
use crate::sweep::kernel::{Arithmetic, LANES};
use crate::sweep::tile::{TILE, tile};
use crate::sweep::unit_rows::UnitRows;
use crate::sweep::vmf::refine_above;

/// Rows of a batch: their tiles and scores stay in the second-level cache.
const BATCH: usize = 8 * TILE;

/// Scores rows of length 1 against directions.
pub(super) struct VmfSlice {
    family: VonMisesFisher,
    n_columns: usize,
    /// μ, `n_columns` numbers a component.
    means: Vec<f64>,
    /// τμ in single precision: panels of [`LANES`] components, column after column.
    table: Vec<[f32; LANES]>,
    batch: UnitRows,
}

impl VmfSlice {
    pub(super) fn new(family: VonMisesFisher) -> Self {
        let n_columns = family.n_columns();
        Self { family, n_columns, means: Vec::new(), table: Vec::new(), batch: UnitRows::default() }
    }
}

impl SliceScorer for VmfSlice {
    type Family = VonMisesFisher;

    const BATCH: usize = BATCH;

    fn family(&self) -> &VonMisesFisher {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(refine_above(self.family.concentration, self.means.len() / self.n_columns))
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_columns = self.n_columns;
        self.means.clear();
        self.means.extend_from_slice(parameters);
        self.table.resize((parameters.len() / n_columns).div_ceil(LANES) * n_columns, [0.0; LANES]);
        for (component, mean) in parameters.chunks_exact(n_columns).enumerate() {
            for (vector, x) in self.table[component / LANES * n_columns..].iter_mut().zip(mean) {
                vector[component % LANES] = (self.family.concentration * x) as f32;
            }
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
        self.batch.read(shard, rows);
        // a panel stays in the first-level cache for all tiles of the batch
        for (panel, means) in self.table.chunks_exact(self.n_columns).enumerate() {
            for ((tile_ix, x), n_allowed) in self.batch.tiles().enumerate().zip(n_allowed.chunks(TILE)) {
                if n_allowed.iter().all(|n| *n <= panel * LANES) {
                    continue;
                }
                let sums = tile::<A>(x, means, &[0.0; LANES], &[0.0; LANES], &[0.0; TILE]);
                for (row, sums) in sums.iter().take(n_allowed.len()).enumerate() {
                    scores[(tile_ix * TILE + row) * n_vectors + panel] = *sums;
                }
            }
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, in_batch: usize, component: usize) -> f64 {
        let mean = &self.means[component * self.n_columns..(component + 1) * self.n_columns];
        self.family.concentration * dot(&self.batch.row(in_batch).numbers, mean)
    }
}
