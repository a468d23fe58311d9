//! Spherical Gaussians with many columns: log f = x·μ/σ² − ‖μ‖²/2σ² (what is the same for all
//! components left out), a matrix product. A row that is very far from the offset is weighed by
//! distances, in double precision.

use std::ops::Range;

use super::batch::SliceScorer;
use crate::family::{Conjugate, GaussianFixed};
use crate::rows::{Row, Shard};
use crate::special::dot;
use crate::sweep::gaussian_unit::Unit;
use crate::sweep::kernel::{Arithmetic, LANES};
use crate::sweep::tile::{CHUNK, TILE, tile};

/// Rows of a batch: their tiles and scores stay in the second-level cache.
const BATCH: usize = 8 * TILE;
/// Weights with a larger share are recomputed in double precision; the more columns, the coarser
/// single precision is.
const REFINE_ABOVE: f64 = 0.02;
const REFINE_ABOVE_MANY_COLUMNS: f64 = 0.001;

/// Scores rows against spherical Gaussians.
pub(super) struct GaussianWideSlice {
    family: GaussianFixed,
    n_columns: usize,
    /// 1/σ².
    precision: f64,
    unit: Unit,
    /// μ, `n_columns` numbers a component.
    means: Vec<f64>,
    /// −‖μ‖²/2σ².
    constants: Vec<f64>,
    /// μ/σ² in single precision, in units of about σ: panels of [`LANES`] components, column after
    /// column.
    table: Vec<[f32; LANES]>,
    table_constants: Vec<[f32; LANES]>,
    /// The rows of the current batch about the offset.
    rows: Vec<f64>,
    /// Whether a row is too far for products.
    are_far: Vec<bool>,
    /// The rows in tiles of [`TILE`], column after column.
    tiles: Vec<[f32; TILE]>,
}

impl GaussianWideSlice {
    pub(super) fn new(family: GaussianFixed) -> Self {
        Self {
            n_columns: family.stats_len(),
            precision: family.noise_sd.powi(-2),
            unit: Unit::of(&family),
            means: Vec::new(),
            constants: Vec::new(),
            table: Vec::new(),
            table_constants: Vec::new(),
            rows: Vec::new(),
            are_far: Vec::new(),
            tiles: Vec::new(),
            family,
        }
    }

    /// Copies the rows of a batch about the offset, in double precision and in tiles of single
    /// precision.
    #[inline(always)]
    fn gather(&mut self, shard: &Shard, rows: Range<usize>) {
        let n_columns = self.n_columns;
        self.rows.resize(rows.len() * n_columns, 0.0);
        self.tiles.resize(rows.len().div_ceil(TILE) * n_columns, [0.0; TILE]);
        self.are_far.clear();
        for (in_batch, row_ix) in rows.enumerate() {
            let row = &mut self.rows[in_batch * n_columns..(in_batch + 1) * n_columns];
            match shard.row(row_ix) {
                Row::F32(numbers) => self.family.centre(numbers, row),
                Row::F64(numbers) => self.family.centre(numbers, row),
                Row::Counts(_) => panic!("a Gaussian has dense rows"),
            }
            let tile = &mut self.tiles[in_batch / TILE * n_columns..];
            tile.iter_mut().zip(&*row).for_each(|(column, x)| column[in_batch % TILE] = self.unit.length(*x));
            self.are_far.push(self.unit.is_far(dot(row, row)));
        }
    }

    /// Weighs rows that are too far for the product.
    #[inline(always)]
    fn weigh_far_rows(&self, n_allowed: &[usize], n_vectors: usize, scores: &mut [[f32; LANES]]) {
        for (in_batch, &is_far) in self.are_far.iter().enumerate() {
            if is_far {
                let scores = scores[in_batch * n_vectors..][..n_vectors].as_flattened_mut();
                for (component, score) in scores[..n_allowed[in_batch]].iter_mut().enumerate() {
                    *score = self.log_likelihood(in_batch, component) as f32;
                }
            }
        }
    }
}

impl SliceScorer for GaussianWideSlice {
    type Family = GaussianFixed;

    const BATCH: usize = BATCH;

    fn family(&self) -> &GaussianFixed {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(if self.n_columns <= CHUNK { REFINE_ABOVE } else { REFINE_ABOVE_MANY_COLUMNS })
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_columns = self.n_columns;
        let n_panels = (parameters.len() / n_columns).div_ceil(LANES);
        self.means.clear();
        self.means.extend_from_slice(parameters);
        self.constants.clear();
        self.table.resize(n_panels * n_columns, [0.0; LANES]);
        self.table_constants.resize(n_panels, [0.0; LANES]);
        for (component, mean) in parameters.chunks_exact(n_columns).enumerate() {
            let (panel, lane) = (component / LANES, component % LANES);
            for (vector, x) in self.table[panel * n_columns..].iter_mut().zip(mean) {
                vector[lane] = self.unit.per_length(self.precision * x);
            }
            let constant = -0.5 * self.precision * dot(mean, mean);
            self.constants.push(constant);
            self.table_constants[panel][lane] = constant as f32;
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
        self.gather(shard, rows);
        let n_columns = self.n_columns;
        let mut n_panels = [0; BATCH / TILE];
        for (n_panels, n_allowed) in n_panels.iter_mut().zip(n_allowed.chunks(TILE)) {
            *n_panels = n_allowed.iter().fold(0, |most, n| most.max(n.div_ceil(LANES)));
        }
        for panel in 0..n_vectors {
            let (means, constants) = (&self.table[panel * n_columns..][..n_columns], &self.table_constants[panel]);
            for (tile_ix, x) in self.tiles.chunks_exact(n_columns).enumerate() {
                if panel >= n_panels[tile_ix] {
                    continue;
                }
                let first = tile_ix * TILE;
                let sums = tile::<A>(x, means, constants, &[0.0; LANES], &[0.0; TILE]);
                for (row, sums) in sums.iter().take(n_allowed.len() - first).enumerate() {
                    scores[(first + row) * n_vectors + panel] = *sums;
                }
            }
        }
        self.weigh_far_rows(n_allowed, n_vectors, scores);
    }

    #[inline(always)]
    fn log_likelihood(&self, in_batch: usize, component: usize) -> f64 {
        let columns = |ix: usize| ix * self.n_columns..(ix + 1) * self.n_columns;
        let (row, mean) = (&self.rows[columns(in_batch)], &self.means[columns(component)]);
        if self.are_far[in_batch] {
            return -0.5 * self.precision * row.iter().zip(mean).map(|(x, mean)| (x - mean).powi(2)).sum::<f64>();
        }
        self.precision * dot(row, mean) + self.constants[component]
    }
}
