//! Tables whose columns have a law each: log f is a sum over the columns, and there is no logarithm
//! in it.
//!
//! Numbers: ½ ln λ − λ/2 (x' − μ)². Levels: ln p. Counts: x ln μ − μ. From the rows of ln p and ln
//! μ the largest entry is taken out: that is the same for all components, and what is left is small
//! for those that matter, so that single precision loses little.

use std::ops::Range;

use super::batch::SliceScorer;
use crate::family::{ColumnLaw, Columns, Conjugate};
use crate::rows::Shard;
use crate::sweep::columns::cells::{ColumnCells, NO_LEVEL};
use crate::sweep::columns::layout::Layout;
use crate::sweep::kernel::{Arithmetic, LANES, lanes};

/// Weights with a larger share are recomputed in double precision.
const REFINE_ABOVE: f64 = 0.001;
/// The same where means are this many standard deviations from the offset that scores are coarse.
const REFINE_ABOVE_IF_SHARP: f64 = 1e-7;
const SHARP: f64 = 300.0;
/// Single precision says nothing any more.
const TOO_SHARP: f64 = 1e6;

/// Scores rows against the parameters of the columns.
pub(super) struct ColumnsSlice {
    family: Columns,
    layout: Layout,
    /// Where the parameters of each column of the table begin.
    starts: Vec<usize>,
    components: Vec<DrawnColumns>,
    /// The largest of each level's ln p, then of each column of counts' ln μ.
    largest: Vec<f64>,
    /// √(λ/2), −μ√(λ/2) and ½ ln λ of the columns of numbers, vector after vector of components.
    normals: Vec<[[f32; LANES]; 3]>,
    /// ln p of the levels and ln μ of the columns of counts, less the largest.
    logs: Vec<[f32; LANES]>,
    /// μ of the columns of counts.
    means: Vec<[f32; LANES]>,
    /// Largest mean of a column in units of its component's standard deviation.
    sharpness: f64,
    row: ColumnCells,
    /// Scores in double precision, and the largest of them.
    log_likelihoods: Vec<[f64; LANES]>,
    reference: f64,
}

/// The parameters of a component in the order of the layout, in double precision.
struct DrawnColumns {
    /// μ, λ/2 and ½ ln λ.
    normals: Vec<[f64; 3]>,
    /// ln p of the levels and ln μ of the columns of counts, less the largest.
    logs: Vec<f64>,
    /// μ of the columns of counts.
    means: Vec<f64>,
}

impl ColumnsSlice {
    pub(super) fn new(family: Columns) -> Self {
        let mut next = 0;
        let mut start = |law: &ColumnLaw| {
            let first = next;
            next += match law {
                ColumnLaw::Normal { .. } | ColumnLaw::Bernoulli { .. } => 2,
                ColumnLaw::Poisson { .. } => 1,
                ColumnLaw::Categorical { n_levels, .. } => *n_levels,
            };
            first
        };
        let starts = family.columns.iter().map(|column| start(&column.law)).collect();
        assert_eq!(next, family.parameters_len(), "parameters of all columns");
        Self {
            layout: Layout::new(&family),
            family,
            starts,
            components: Vec::new(),
            largest: Vec::new(),
            normals: Vec::new(),
            logs: Vec::new(),
            means: Vec::new(),
            sharpness: 0.0,
            row: ColumnCells::default(),
            log_likelihoods: Vec::new(),
            reference: 0.0,
        }
    }

    fn component(&self, parameters: &[f64]) -> DrawnColumns {
        let (layout, starts) = (&self.layout, &self.starts);
        let normal = |column: usize| {
            let log_precision = parameters[starts[column] + 1];
            [parameters[starts[column]], 0.5 * libm::exp(log_precision), 0.5 * log_precision]
        };
        let levels =
            layout.levels.iter().flat_map(|column| &parameters[starts[column.column]..][..column.priors.len()]);
        let counts = layout.counts.iter().map(|column| &parameters[starts[column.column]]);
        DrawnColumns {
            normals: layout.normals.iter().map(|column| normal(column.column)).collect(),
            logs: levels.chain(counts.clone()).copied().collect(),
            means: counts.map(|log_mean| libm::exp(*log_mean)).collect(),
        }
    }

    fn write(&mut self, ix: usize) {
        let (component, vector, lane) = (&self.components[ix], ix / LANES, ix % LANES);
        let normals = &mut self.normals[vector * component.normals.len()..];
        for (entry, &[mean, half_precision, half_log]) in normals.iter_mut().zip(&component.normals) {
            let root = half_precision.sqrt();
            self.sharpness = self.sharpness.max((mean * root).abs());
            entry[0][lane] = root as f32;
            entry[1][lane] = (-mean * root) as f32;
            entry[2][lane] = half_log as f32;
        }
        let logs = &mut self.logs[vector * component.logs.len()..];
        logs.iter_mut().zip(&component.logs).for_each(|(entry, log)| entry[lane] = *log as f32);
        let means = &mut self.means[vector * component.means.len()..];
        means.iter_mut().zip(&component.means).for_each(|(entry, mean)| entry[lane] = *mean as f32);
    }

    /// The log-likelihoods of a vector of components.
    #[inline(always)]
    fn sum<A: Arithmetic>(&self, vector: usize) -> [f64; LANES] {
        let n_shared = self.layout.n_shared;
        let normals = &self.normals[vector * self.layout.normals.len()..][..self.layout.normals.len()];
        let (mut squares, mut sums) = ([0.0f32; LANES], [0.0f32; LANES]);
        for (&x, &[roots, means, half_logs]) in self.row.singles.iter().zip(normals) {
            let (squares_before, sums_before) = (squares, sums);
            squares = lanes(|lane| {
                let y = A::mul_add(x, roots[lane], means[lane]);
                A::mul_add(y, y, squares_before[lane])
            });
            sums = lanes(|lane| sums_before[lane] + half_logs[lane]);
        }
        for &(place, x) in &self.row.own {
            let [roots, means, half_logs] = normals[n_shared + place];
            let (squares_before, sums_before) = (squares, sums);
            squares = lanes(|lane| {
                let y = A::mul_add(x, roots[lane], means[lane]);
                A::mul_add(y, y, squares_before[lane])
            });
            sums = lanes(|lane| sums_before[lane] + half_logs[lane]);
        }
        let n_logs = self.layout.n_levels + self.layout.counts.len();
        let logs = &self.logs[vector * n_logs..][..n_logs];
        for &level in &self.row.levels {
            if level != NO_LEVEL {
                let (before, logs) = (sums, logs[level as usize]);
                sums = lanes(|lane| before[lane] + logs[lane]);
            }
        }
        for (place, &x) in self.row.counts.iter().enumerate() {
            if !x.is_nan() {
                let (before, logs) = (sums, logs[self.layout.n_levels + place]);
                let means = self.means[vector * self.layout.counts.len() + place];
                sums = lanes(|lane| A::mul_add(x as f32, logs[lane], before[lane]) - means[lane]);
            }
        }
        lanes(|lane| f64::from(sums[lane]) - f64::from(squares[lane]))
    }

    /// The same of one component in double precision.
    fn log_likelihood_of(&self, component: &DrawnColumns) -> f64 {
        let mut sum = 0.0;
        for (x, [mean, half_precision, half_log]) in self.row.scaled.iter().zip(&component.normals) {
            if !x.is_nan() {
                sum += half_log - half_precision * (x - mean) * (x - mean);
            }
        }
        for &level in &self.row.levels {
            if level != NO_LEVEL {
                sum += component.logs[level as usize];
            }
        }
        let logs = &component.logs[self.layout.n_levels..];
        for ((&x, log), mean) in self.row.counts.iter().zip(logs).zip(&component.means) {
            if !x.is_nan() {
                sum += x * log - mean;
            }
        }
        sum
    }

    #[cold]
    fn sum_in_double(&mut self, n_components: usize) {
        for (ix, component) in self.components.iter().take(n_components).enumerate() {
            self.log_likelihoods[ix / LANES][ix % LANES] = self.log_likelihood_of(component);
        }
    }
}

impl SliceScorer for ColumnsSlice {
    type Family = Columns;

    const BATCH: usize = 1;

    fn family(&self) -> &Columns {
        &self.family
    }

    #[inline(always)]
    fn refine_above(&self) -> Option<f64> {
        Some(if self.sharpness > SHARP { REFINE_ABOVE_IF_SHARP } else { REFINE_ABOVE })
    }

    fn load(&mut self, parameters: &[f64]) {
        let components = parameters.chunks_exact(self.family.parameters_len());
        let mut components: Vec<DrawnColumns> = components.map(|parameters| self.component(parameters)).collect();
        let n_logs = self.layout.n_levels + self.layout.counts.len();
        self.largest.clear();
        self.largest.resize(n_logs, f64::NEG_INFINITY);
        for component in &components {
            self.largest.iter_mut().zip(&component.logs).for_each(|(largest, log)| *largest = largest.max(*log));
        }
        for component in &mut components {
            component.logs.iter_mut().zip(&self.largest).for_each(|(log, largest)| *log -= largest);
        }
        let n_vectors = components.len().div_ceil(LANES);
        self.normals.resize(n_vectors * self.layout.normals.len(), [[0.0; LANES]; 3]);
        self.logs.resize(n_vectors * n_logs, [0.0; LANES]);
        self.means.resize(n_vectors * self.layout.counts.len(), [0.0; LANES]);
        self.log_likelihoods.resize(n_vectors, [0.0; LANES]);
        self.sharpness = 0.0;
        self.components = components;
        (0..self.components.len()).for_each(|ix| self.write(ix));
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
        self.row.read(shard.row(rows.start), &self.layout);
        let n_components = n_allowed[0];
        let n_vectors = n_components.div_ceil(LANES);
        for vector in 0..n_vectors {
            self.log_likelihoods[vector] = self.sum::<A>(vector);
        }
        let scored = &self.log_likelihoods.as_flattened()[..n_components];
        let is_coarse = self.row.is_odd || self.sharpness > TOO_SHARP;
        if is_coarse || scored.iter().any(|log| !log.is_finite()) {
            self.sum_in_double(n_components);
        }
        let scored = &self.log_likelihoods.as_flattened()[..n_components];
        let largest = scored.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.reference = if largest.is_finite() { largest } else { 0.0 };
        for (scores, logs) in scores.iter_mut().zip(&self.log_likelihoods).take(n_vectors) {
            let reference = self.reference;
            *scores = lanes(|lane| (logs[lane] - reference) as f32);
        }
    }

    #[inline(always)]
    fn log_likelihood(&self, _in_batch: usize, component: usize) -> f64 {
        self.log_likelihood_of(&self.components[component]) - self.reference
    }
}
