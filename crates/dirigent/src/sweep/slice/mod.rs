//! Drawing labels given weights and parameters that were drawn: the worker's side of the slice
//! sampler.
//!
//! A row i of component z has a slice u = π_z U with U uniform, and its new component is drawn ∝
//! 1[π_k ≥ u] f(x|φ_k). Given weights and parameters, rows do not know of one another: no row is
//! taken out, and any number of workers draws from the same law as one.
//!
//! Components come by falling weight, so those a row may go to are a prefix, and a row with a large
//! slice is scored against few. Weights and slices are in double precision. [`SliceReference`] is
//! the slow twin, for any family.

mod batch;
mod columns;
mod full_narrow;
mod full_wide;
mod gaussian_narrow;
mod gaussian_wide;
mod multinomial;
mod reference;
mod sides;
#[cfg(test)]
mod tests;
mod vmf;

pub use self::reference::SliceReference;

use self::batch::BatchSliceSampler;
use self::full_narrow::FullNarrowSlice;
use self::full_wide::FullWideSlice;
use self::gaussian_narrow::GaussianNarrowSlice;
use self::gaussian_wide::GaussianWideSlice;
use serde::{Deserialize, Serialize};

use super::{Kernel, UNASSIGNED, by_columns};
use crate::family::{Conjugate, Family};
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::rng::Stream;
use crate::rows::Shard;
use crate::stats::Stats;

/// Components of which weight and parameters were drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DrawnComponents {
    /// π, falling.
    pub weights: Vec<f64>,
    /// φ, as long as the family says, one component after another.
    pub parameters: Vec<f64>,
}

/// A shard with its labels, which are numbers of drawn components.
pub trait SliceSampler: Send {
    /// The component of each row, or [`UNASSIGNED`].
    fn labels(&self) -> &[u32];

    /// Replaces the labels.
    fn set_labels(&mut self, labels: Vec<u32>);

    /// Lets draws break off, between batches, once the flag is raised; what they leave behind is
    /// then of no use.
    fn set_interrupt(&mut self, interrupt: Interrupt);

    /// Draws every row's component again, `slices` giving the U of each row in order; the number of
    /// rows that moved. A row that is in no component has no slice: it is seated ∝ π_k f(x|φ_k).
    fn draw_labels(&mut self, components: &DrawnComponents, slices: &mut Stream, rng: &mut Stream) -> u64;

    /// The statistics of the shard's rows by label, recomputed in row order: a pure function of the
    /// labels.
    fn contributions(&self, n_components: usize) -> Vec<Stats>;

    /// How much better each of some rows goes with the first of two sets of parameters than with
    /// the second: log f(x|φ₁) − log f(x|φ₂).
    fn log_odds(&self, rows: &[usize], parameters: &[f64]) -> Vec<f64>;

    /// The statistics of some rows, added up in the order given.
    fn statistics(&self, rows: &[usize]) -> Stats;

    /// Σ log h(x) over the shard.
    fn sum_log_base(&self) -> f64;
}

/// How many components a row may be drawn to: this many of the first.
#[inline(always)]
fn n_allowed(weights: &[f64], own: u32, uniform: f64) -> usize {
    if own == UNASSIGNED {
        return weights.len();
    }
    // never 0: the uniform is at most 1, so the row's own component is among them
    let slice = weights[own as usize] * uniform;
    weights.partition_point(|weight| *weight >= slice)
}

/// The smallest U of each component's rows, 1 for a component without rows. `slices` is the stream
/// that the draw will read.
pub fn smallest_uniforms(labels: &[u32], n_components: usize, slices: &mut Stream) -> Vec<f64> {
    let mut smallest = vec![1.0; n_components];
    for &label in labels {
        let uniform = slices.uniform_positive();
        if let Some(smallest) = smallest.get_mut(label as usize) {
            *smallest = uniform.min(*smallest);
        }
    }
    smallest
}

/// The fast slice sampler of a model over a shard.
pub fn slice_sampler(model: &Model, shard: Shard, kernel: Kernel) -> Box<dyn SliceSampler> {
    match model {
        Model::GaussianFixed(family) => {
            by_columns!(BatchSliceSampler, family, GaussianNarrowSlice, GaussianWideSlice, shard, kernel)
        }
        Model::GaussianFull(family) => {
            by_columns!(BatchSliceSampler, family, FullNarrowSlice, FullWideSlice, shard, kernel)
        }
        Model::Multinomial(family) => {
            Box::new(BatchSliceSampler::new(multinomial::MultinomialSlice::new(family.clone()), shard, kernel))
        }
        Model::VonMisesFisher(family) => {
            Box::new(BatchSliceSampler::new(vmf::VmfSlice::new(family.clone()), shard, kernel))
        }
        Model::Columns(family) => {
            Box::new(BatchSliceSampler::new(columns::ColumnsSlice::new(family.clone()), shard, kernel))
        }
        Model::Own(_) => reference_slice_sampler(model, shard),
    }
}

/// The slow twin of [`slice_sampler`].
pub fn reference_slice_sampler(model: &Model, shard: Shard) -> Box<dyn SliceSampler> {
    Box::new(SliceReference::<dyn Family>::new(model.shared_family(), shard))
}
