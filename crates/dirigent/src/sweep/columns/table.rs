//! What a row is scored by: the posteriors of all slots in single precision, [`LANES`] slots beside
//! one another.

use super::super::component_halves::LocalComponent as _;
use super::super::kernel::LANES;
use super::cells::SMALL;
use super::layout::Layout;
use super::local::Local;
use crate::special::log_half_step;

/// All slots, vector after vector.
#[derive(Default)]
pub(super) struct ColumnTable {
    pub(super) n_vectors: usize,
    pub(super) n_shared: usize,
    pub(super) n_own: usize,
    pub(super) n_factors: usize,
    pub(super) n_counts: usize,
    pub(super) n_added: usize,
    /// √w and −m√w of the columns of numbers that share their exponent, w = κ/2b(κ+1).
    pub(super) shared: Vec<[[f32; LANES]; 2]>,
    /// The same of the others; their exponent and their constant.
    pub(super) own: Vec<[[f32; LANES]; 4]>,
    /// What a level multiplies with; then of each column of counts what the first event does, and
    /// what each further one adds to that.
    pub(super) factors: Vec<[f32; LANES]>,
    /// Shape, and rate + 1, of the columns of counts.
    pub(super) counts: Vec<[[f64; LANES]; 2]>,
    /// Constants of the columns of counts that may have missing cells.
    pub(super) added: Vec<[f32; LANES]>,
    /// The part of a log-weight that no row changes, −∞ for a free slot.
    pub(super) constants: Vec<[f64; LANES]>,
    /// a + ½.
    pub(super) exponents: Vec<[f64; LANES]>,
    /// Bounds of the factors.
    smallest: f32,
    largest: f32,
    /// The largest mean of a column in units of its component's standard deviation: that many times
    /// coarser than singles are the distances.
    pub(super) sharpness: f64,
}

impl ColumnTable {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            n_shared: layout.n_shared,
            n_own: layout.n_own(),
            n_factors: layout.n_levels + 2 * layout.counts.len(),
            n_counts: layout.counts.len(),
            n_added: layout.counts.iter().filter(|column| column.has_missing).count(),
            smallest: 1.0,
            largest: 1.0,
            ..Self::default()
        }
    }

    pub(super) fn n_vectors(&self) -> usize {
        self.n_vectors
    }

    pub(super) fn clear(&mut self) {
        self.resize(0);
        (self.smallest, self.largest, self.sharpness) = (1.0, 1.0, 0.0);
    }

    /// Free slots up to a number of vectors.
    pub(super) fn resize(&mut self, n_vectors: usize) {
        self.n_vectors = n_vectors;
        self.shared.resize(n_vectors * self.n_shared, [[0.0; LANES]; 2]);
        self.own.resize(n_vectors * self.n_own, [[0.0; LANES]; 4]);
        self.factors.resize(n_vectors * self.n_factors, [1.0; LANES]);
        self.counts.resize(n_vectors * self.n_counts, [[1.0; LANES]; 2]);
        self.added.resize(n_vectors * self.n_added, [0.0; LANES]);
        self.constants.resize(n_vectors, [f64::NEG_INFINITY; LANES]);
        self.exponents.resize(n_vectors, [0.0; LANES]);
    }

    /// Takes over a slot's component.
    pub(super) fn write(&mut self, slot: usize, local: &Local, layout: &Layout) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        if local.count() == 0 {
            self.constants[vector][lane] = f64::NEG_INFINITY;
            return;
        }
        self.constants[vector][lane] = local.log_constant(layout);
        self.exponents[vector][lane] = local.shape(layout) + 0.5;
        self.write_normals(vector, lane, local, layout);
        self.write_levels(vector, lane, local, layout);
        self.write_counts(vector, lane, local, layout);
    }

    fn write_normals(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let mut sharpest = 0.0f64;
        for place in 0..self.n_shared {
            let (mean, width) = (local.means[place], local.widths[place]);
            sharpest = sharpest.max(mean * mean * width);
            let (root, entry) = (width.sqrt(), &mut self.shared[vector * self.n_shared + place]);
            entry[0][lane] = root as f32;
            entry[1][lane] = (-mean * root) as f32;
        }
        let mut sharpness = (sharpest * 2.0 * self.exponents[vector][lane]).sqrt();
        for (place, column) in layout.normals.iter().enumerate().skip(self.n_shared) {
            let (mean, width, rows) = (local.means[place], local.widths[place], local.rows[place]);
            let shape = column.law.shape + 0.5 * (rows - column.law.prior_rows);
            sharpness = sharpness.max(mean.abs() * (width * (2.0 * shape + 1.0)).sqrt());
            let constant = log_half_step(shape) - 0.5 * libm::log(local.rates[place] * (rows + 1.0) / rows);
            let (root, entry) = (width.sqrt(), &mut self.own[vector * self.n_own + place - self.n_shared]);
            entry[0][lane] = root as f32;
            entry[1][lane] = (-mean * root) as f32;
            entry[2][lane] = (shape + 0.5) as f32;
            entry[3][lane] = constant as f32;
        }
        self.sharpness = self.sharpness.max(sharpness);
    }

    fn write_levels(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let (mut smallest, mut largest) = (self.smallest, self.largest);
        let factors = &mut self.factors[vector * self.n_factors..][..layout.n_levels];
        for (column, total) in layout.levels.iter().zip(&local.totals) {
            // a column whose cells are all there has its total in the constant
            let share = if column.has_missing { 1.0 / total } else { 1.0 };
            let levels = column.first_level..column.first_level + column.priors.len();
            for (entry, level) in factors[levels.clone()].iter_mut().zip(&local.levels[levels]) {
                let factor = (level * share) as f32;
                (smallest, largest) = (smallest.min(factor), largest.max(factor));
                entry[lane] = factor;
            }
        }
        (self.smallest, self.largest) = (smallest, largest);
    }

    fn write_counts(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let factors = &mut self.factors[vector * self.n_factors + layout.n_levels..][..2 * self.n_counts];
        let mut n_with_missing = 0;
        for (place, column) in layout.counts.iter().enumerate() {
            let (shape, rate) = (local.shapes[place], local.count_rates[place]);
            let share = 1.0 / (rate + 1.0);
            let (first, further) = ((shape * share) as f32, share as f32);
            self.smallest = self.smallest.min(first);
            self.largest = self.largest.max(first + SMALL as f32 * further);
            factors[2 * place][lane] = first;
            factors[2 * place + 1][lane] = further;
            let entry = &mut self.counts[vector * self.n_counts + place];
            entry[0][lane] = shape;
            entry[1][lane] = rate + 1.0;
            if column.has_missing {
                self.added[vector * self.n_added + n_with_missing][lane] = (-shape * libm::log1p(1.0 / rate)) as f32;
                n_with_missing += 1;
            }
        }
    }

    /// How many factors a product in single precision can take after its exponent was split off.
    pub(super) fn factors_before_split(&self) -> usize {
        let bits = |x: f32| (i64::from(x.to_bits() >> 23) - 127).abs() + 1;
        (125 / bits(self.smallest).max(bits(self.largest))).max(1) as usize
    }

    /// Whether a slot is taken.
    #[inline(always)]
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        self.constants[slot / LANES][slot % LANES] > f64::NEG_INFINITY
    }
}
