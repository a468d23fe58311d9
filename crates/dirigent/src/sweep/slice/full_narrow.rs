//! Gaussians with full covariances and few columns: log f = Σ ln W_ii − ½‖W(x−μ)‖² (constants left
//! out), a row at a time.
//!
//! The number of columns is part of the type, so that loops over them unroll; columns beyond those
//! of the data are zeros.

use std::ops::Range;

use super::batch::SliceScorer;
use super::full_wide::REFINE_ABOVE;
use crate::cholesky::diagonal;
use crate::family::{Conjugate, GaussianFull};
use crate::rows::Shard;
use crate::sweep::full_panel::{Panel, SplitRow};
use crate::sweep::full_shape::{FullShape, Narrow};
use crate::sweep::kernel::{Arithmetic, LANES, lanes};

/// Scores rows of at most `D` columns.
pub(super) struct FullNarrowSlice<const D: usize> {
    family: GaussianFull,
    components: Vec<Narrow<D>>,
    /// Σ ln W_ii.
    constants: Vec<f64>,
    table: Vec<(Panel<D>, [f32; LANES])>,
    /// The current row after offset and scale.
    row: [f64; D],
}

impl<const D: usize> FullNarrowSlice<D> {
    pub(super) fn new(family: GaussianFull) -> Self {
        assert!(family.n_columns() <= D, "{} columns for {D}", family.n_columns());
        Self { family, components: Vec::new(), constants: Vec::new(), table: Vec::new(), row: [0.0; D] }
    }
}

impl<const D: usize> SliceScorer for FullNarrowSlice<D> {
    type Family = GaussianFull;

    const BATCH: usize = 1;

    fn family(&self) -> &GaussianFull {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(REFINE_ABOVE)
    }

    fn load(&mut self, parameters: &[f64]) {
        let n_columns = self.family.n_columns();
        self.components.clear();
        self.constants.clear();
        for of_component in parameters.chunks_exact(self.family.parameters_len()) {
            let (mean, whitening) = of_component.split_at(n_columns);
            self.components.push(Narrow::of(mean, whitening));
            self.constants.push((0..n_columns).map(|i| libm::log(whitening[diagonal(i)])).sum());
        }
        self.table = vec![(Panel::EMPTY, [0.0; LANES]); self.components.len().div_ceil(LANES)];
        for (ix, (component, constant)) in self.components.iter().zip(&self.constants).enumerate() {
            let (panel, constants) = &mut self.table[ix / LANES];
            panel.write(ix % LANES, &component.mean, &component.whitening, 1.0);
            constants[ix % LANES] = *constant as f32;
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
        self.family.read(shard.row(rows.start), &mut self.row);
        let row = SplitRow::of(&self.row);
        for (scores, (panel, constants)) in scores.iter_mut().zip(&self.table).take(n_allowed[0].div_ceil(LANES)) {
            let (squares, constants) = (panel.squares::<A>(&row), *constants);
            *scores = lanes(|lane| A::mul_add(-0.5, squares[lane], constants[lane]));
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, _in_batch: usize, component: usize) -> f64 {
        self.constants[component] - 0.5 * self.components[component].squared_distance(&self.row)
    }
}
