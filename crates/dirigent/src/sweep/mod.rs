//! The collapsed Gibbs sweep (Eq. 3): every row in turn is taken out and drawn again from
//! { n_k · predictive_k } ∪ { α · predictive of the empty component }, and put back.
//!
//! [`Sampler`] is what a worker holds: a shard, its labels and the local version of the components.
//! [`mod@reference`] is the slow, obvious sampler that works for every family and that every fast
//! one is compared with.

mod batch;
mod columns;
mod component_halves;
mod document;
mod draw;
mod full_component;
mod full_narrow;
mod full_panel;
mod full_shape;
mod full_tiles;
mod full_wide;
mod gaussian_halves;
mod gaussian_narrow;
mod gaussian_unit;
mod gaussian_wide;
mod halves;
mod kernel;
mod length_table;
mod log_base;
mod multinomial;
mod multinomial_halves;
mod overlaps;
mod predict;
pub mod reference;
mod rising;
mod run;
pub mod slice;
mod steps;
#[cfg(test)]
mod tests;
mod tile;
mod unit_rows;
mod vmf;
mod vmf_component;
mod vmf_panel;
mod word_logs;
mod word_products;
mod word_table;
mod words;

pub use halves::LocalHalves;
pub use kernel::Kernel;
pub use overlaps::Overlaps;
pub use predict::Prediction;

use batch::BatchSampler;
use full_narrow::FullNarrowScorer;
use full_wide::FullWideScorer;
use gaussian_narrow::GaussianNarrowScorer;
use gaussian_wide::GaussianWideScorer;

use crate::family::{Conjugate, Family};
use crate::halves::Half;
use crate::interrupt::Interrupt;
use crate::model::Model;
use crate::rng::Stream;
use crate::rows::Shard;
use crate::stats::Stats;

/// The sampler of Gaussians over a shard: up to 8 columns by a scorer that has their number in its
/// type, so that loops over them unroll, else by the wide one.
macro_rules! by_columns {
    ($sampler:ident, $family:ident, $narrow:ident, $wide:ident, $shard:ident, $kernel:ident) => {
        match $family.n_columns() {
            1 => Box::new($sampler::new($narrow::<1>::new($family.clone()), $shard, $kernel)),
            2 => Box::new($sampler::new($narrow::<2>::new($family.clone()), $shard, $kernel)),
            3 => Box::new($sampler::new($narrow::<3>::new($family.clone()), $shard, $kernel)),
            4 => Box::new($sampler::new($narrow::<4>::new($family.clone()), $shard, $kernel)),
            5..=8 => Box::new($sampler::new($narrow::<8>::new($family.clone()), $shard, $kernel)),
            _ => Box::new($sampler::new($wide::new($family.clone()), $shard, $kernel)),
        }
    };
}
use by_columns;

/// The label of a row that is in no component yet.
pub const UNASSIGNED: u32 = u32::MAX;

/// What a sweep did; the algorithm never reads it back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepInfo {
    /// Rows that changed their component.
    pub moved: u64,
    /// Components that were opened.
    pub births: u64,
}

/// The most probable component of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assignment {
    /// The component.
    pub label: u32,
    /// Its probability among the existing components.
    pub certainty: f32,
}

/// A shard with its labels and the local version of the components. Labels are slots of the local
/// version.
pub trait Sampler: Send {
    /// The component of each row, or [`UNASSIGNED`].
    fn labels(&self) -> &[u32];

    /// Replaces the labels; the local version must be loaded again. No row is in a half.
    fn set_labels(&mut self, labels: Vec<u32>);

    /// The half of its component that each row is in, if any.
    fn halves(&self) -> &[Option<Half>];

    /// Replaces the halves of the rows.
    fn set_halves(&mut self, halves: Vec<Option<Half>>);

    /// Loads the local version: slot k holds everything that is known of component k, this shard's
    /// rows included. A loaded slot keeps its component until the next load: births take other
    /// slots, even when it has lost all its rows.
    fn load(&mut self, components: &[Stats]);

    /// Whether sweeps count how far components overlap. Labels do not depend on it.
    fn count_overlaps(&mut self, is_on: bool);

    /// How far components overlapped in the last sweep, if that was counted.
    fn overlaps(&self) -> &Overlaps;

    /// Gives back the memory of the local version, which is of no use until the next load: many
    /// workers of one process need not all hold theirs.
    fn rest(&mut self) {}

    /// Loads what is known of the halves of the loaded slots, one for each; without it there are
    /// none.
    fn load_halves(&mut self, halves: Vec<LocalHalves>);

    /// Lets sweeps break off, between batches, once the flag is raised; what they leave behind is
    /// then of no use.
    fn set_interrupt(&mut self, interrupt: Interrupt);

    /// Draws every row's component once, in order, and the half of it.
    fn sweep(&mut self, alpha: f64, rng: &mut Stream) -> SweepInfo;

    /// The statistics of this shard's own rows, slot by slot, recomputed from the labels in row
    /// order: a pure function of the labels, so nothing drifts.
    fn contributions(&self) -> Vec<Stats>;

    /// The same, the halves of each slot apart; rows that are in no half count as left.
    fn half_contributions(&self) -> Vec<[Stats; 2]>;

    /// argmax_k n_k · predictive(x|S_k) for every row, no new component, ties to the smaller
    /// number.
    fn assign(&mut self, components: &[Stats]) -> Vec<Assignment>;

    /// What the loaded components say of any rows, this shard's or others. `probabilities` gets for
    /// each row those of the components in order and last that of a new one.
    fn predict(&mut self, rows: &Shard, alpha: f64, probabilities: Option<&mut Vec<f64>>) -> Vec<Prediction>;

    /// log(n_k · predictive(x|S_k)) of the loaded components for any rows, row after row, as
    /// differences from the row's largest. A row that overflows under all components has −∞
    /// throughout.
    fn log_shares(&mut self, rows: &Shard) -> Vec<f32>;

    /// Σ log h(x) over the shard.
    fn sum_log_base(&self) -> f64;
}

/// The fast sampler of a model over a shard.
pub fn sampler(model: &Model, shard: Shard, kernel: Kernel) -> Box<dyn Sampler> {
    match model {
        Model::GaussianFixed(family) => {
            by_columns!(BatchSampler, family, GaussianNarrowScorer, GaussianWideScorer, shard, kernel)
        }
        Model::GaussianFull(family) => {
            by_columns!(BatchSampler, family, FullNarrowScorer, FullWideScorer, shard, kernel)
        }
        Model::Multinomial(family) => {
            Box::new(BatchSampler::new(multinomial::MultinomialScorer::new(family.clone()), shard, kernel))
        }
        Model::VonMisesFisher(family) => {
            Box::new(BatchSampler::new(vmf::VmfScorer::new(family.clone()), shard, kernel))
        }
        Model::Columns(family) => {
            Box::new(BatchSampler::new(columns::ColumnsScorer::new(family.clone()), shard, kernel))
        }
        Model::Own(_) => reference_sampler(model, shard),
    }
}

/// The slow twin of [`sampler`].
pub fn reference_sampler(model: &Model, shard: Shard) -> Box<dyn Sampler> {
    Box::new(reference::Reference::<dyn Family>::new(model.shared_family(), shard))
}
