//! Drawing labels given weights and parameters that were drawn: the worker's side of the slice sampler.
//!
//! A row i of component z has a slice u = π_z U with U uniform, and its new component is drawn ∝ 1[π_k ≥ u] f(x|φ_k). Given weights and
//! parameters, rows do not know of one another: no row is taken out, and any number of workers draws from the same law as one.
//!
//! Components come by falling weight, so those a row may go to are a prefix, and a row with a large slice is scored against few.
//! Weights and slices are in double precision. [`Reference`] is the slow twin, for any family.

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

pub use self::reference::Reference;

use self::batch::Sliced;
use self::full_narrow::FullNarrowSlice;
use self::full_wide::FullWideSlice;
use self::gaussian_narrow::GaussianNarrowSlice;
use self::gaussian_wide::GaussianWideSlice;
use super::{Kernel, UNASSIGNED, by_columns};
use crate::family::Conjugate;
use crate::interrupt::Interrupt;
use crate::model::{Model, with_family};
use crate::rng::Stream;
use crate::rows::Shard;
use crate::stats::Stats;

/// Components of which weight and parameters were drawn.
///
/// ```
/// use dirigent::family::{Conjugate, GaussianFixed};
/// use dirigent::rng::{Role, Seed};
/// use dirigent::stats::{Stats, Sums};
/// use dirigent::sweep::slice::DrawnComponents;
///
/// let family = GaussianFixed { noise_sd: 1.0, mean_sd: 50.0, prior_mean: vec![0.0], offset: vec![0.0] };
/// let mut rng = Seed::new(0).stream(Role::SliceWeights, 0, 0);
/// let mut draw = |mean: f64| {
///     let stats = Stats { count: 10_000, sums: Sums::Dense([10_000.0 * mean].into()) };
///     family.sample_parameters(&stats, &mut rng)
/// };
/// let drawn = DrawnComponents { weights: vec![0.6, 0.4], parameters: [draw(-7.0), draw(7.0)].concat() };
/// assert_eq!(drawn.parameters.len(), 2 * family.parameters_len());
/// assert!((drawn.parameters[1] - 7.0).abs() < 0.1, "ten standard deviations");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnComponents {
    /// π, falling.
    pub weights: Vec<f64>,
    /// φ, as long as the family says, one component after another.
    pub parameters: Vec<f64>,
}

/// A shard with its labels, which are numbers of drawn components.
///
/// ```
/// use dirigent::family::GaussianFixed;
/// use dirigent::rng::{Role, Seed};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::sweep::slice::{DrawnComponents, Reference, SliceSampler};
///
/// let family = GaussianFixed { noise_sd: 1.0, mean_sd: 9.0, prior_mean: vec![0.0], offset: vec![0.0] };
/// let rows = Shard::of_table(Table::from_f64(1, vec![-9.0, 9.0, 8.0]));
/// let mut sampler = Reference::new(family, rows);
///
/// let components = DrawnComponents { weights: vec![0.7, 0.2, 0.1], parameters: vec![9.0, -9.0, 99.0] };
/// let [mut slices, mut rng] = [Role::Slice, Role::SliceLabels].map(|role| Seed::new(0).stream(role, 0, 0));
/// assert_eq!(sampler.draw_labels(&components, &mut slices, &mut rng), 3);
/// assert_eq!(sampler.labels(), [1, 0, 0]);
/// let sizes: Vec<i64> = sampler.contributions(3).iter().map(|stats| stats.count).collect();
/// assert_eq!(sizes, [2, 1, 0]);
/// ```
pub trait SliceSampler: Send {
    /// The component of each row, or [`UNASSIGNED`].
    fn labels(&self) -> &[u32];

    /// Replaces the labels.
    fn set_labels(&mut self, labels: Vec<u32>);

    /// Lets draws break off, between batches, once the flag is raised; what they leave behind is then of no use.
    fn set_interrupt(&mut self, interrupt: Interrupt);

    /// Draws every row's component afresh, `slices` giving the U of each row in order; the number of rows that moved. A row that is
    /// in no component has no slice: it is seated ∝ π_k f(x|φ_k).
    fn draw_labels(&mut self, components: &DrawnComponents, slices: &mut Stream, rng: &mut Stream) -> u64;

    /// The statistics of the shard's rows by label, recomputed in row order: a pure function of the labels.
    fn contributions(&self, n_components: usize) -> Vec<Stats>;

    /// How much better each of some rows goes with the first of two sets of parameters than with the second: log f(x|φ₁) − log f(x|φ₂).
    fn log_odds(&self, rows: &[usize], parameters: &[f64]) -> Vec<f64>;

    /// The statistics of some rows, added up in the order given.
    fn statistics(&self, rows: &[usize]) -> Stats;

    /// Σ log h(x) over the shard.
    fn sum_log_base(&self) -> f64;
}

/// How many components a row may be drawn to: so many of the first.
#[inline(always)]
fn n_allowed(weights: &[f64], own: u32, uniform: f64) -> usize {
    if own == UNASSIGNED {
        return weights.len();
    }
    // never 0: the uniform is at most 1, so the row's own component is among them
    let slice = weights[own as usize] * uniform;
    weights.partition_point(|weight| *weight >= slice)
}

/// The smallest U of each component's rows, 1 for a component without rows. `slices` is the stream that the draw will read.
///
/// ```
/// use dirigent::rng::{Role, Seed};
/// use dirigent::sweep::slice::smallest_uniforms;
///
/// let slices = || Seed::new(3).stream(Role::Slice, 0, 1);
/// let mut same = slices();
/// let [first, second, third] = [(); 3].map(|()| same.uniform_positive());
/// assert_eq!(smallest_uniforms(&[0, 2, 0], 3, &mut slices()), [first.min(third), 1.0, second]);
/// ```
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
///
/// ```
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rng::{Role, Seed};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
/// use dirigent::sweep::slice::{DrawnComponents, slice_sampler};
///
/// let rows = Shard::of_table(Table::from_f64(1, vec![-9.0, 9.0]));
/// let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(9.0), ..ModelOptions::default() };
/// let model = Model::resolve(&options, &Survey::of(&rows))?;
/// let mut sampler = slice_sampler(&model, rows, Kernel::best());
///
/// let components = DrawnComponents { weights: vec![0.6, 0.4], parameters: vec![9.0, -9.0] };
/// let [mut slices, mut rng] = [Role::Slice, Role::SliceLabels].map(|role| Seed::new(0).stream(role, 0, 0));
/// sampler.draw_labels(&components, &mut slices, &mut rng);
/// assert_eq!(sampler.labels(), [1, 0]);
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn slice_sampler(model: &Model, shard: Shard, kernel: Kernel) -> Box<dyn SliceSampler> {
    match model {
        Model::GaussianFixed(family) => {
            by_columns!(Sliced, family, GaussianNarrowSlice, GaussianWideSlice, shard, kernel)
        }
        Model::GaussianFull(family) => by_columns!(Sliced, family, FullNarrowSlice, FullWideSlice, shard, kernel),
        Model::Multinomial(family) => {
            Box::new(Sliced::new(multinomial::MultinomialSlice::new(family.clone()), shard, kernel))
        }
        Model::VonMisesFisher(family) => Box::new(Sliced::new(vmf::VmfSlice::new(family.clone()), shard, kernel)),
        Model::Columns(family) => Box::new(Sliced::new(columns::ColumnsSlice::new(family.clone()), shard, kernel)),
    }
}

/// The slow twin of [`slice_sampler`].
///
/// ```
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
/// use dirigent::sweep::Kernel;
/// use dirigent::sweep::slice::{reference_slice_sampler, slice_sampler};
///
/// let rows = Shard::of_table(Table::from_f64(1, vec![-9.0, 0.5, 9.0]));
/// let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(9.0), ..ModelOptions::default() };
/// let model = Model::resolve(&options, &Survey::of(&rows))?;
/// let (slow, fast) = (reference_slice_sampler(&model, rows.clone()), slice_sampler(&model, rows, Kernel::best()));
/// let [slow, fast] = [slow, fast].map(|sampler| sampler.log_odds(&[0, 1, 2], &[1.0, -1.0]));
/// // both say the same of every row
/// assert!(slow.iter().zip(&fast).all(|(slow, fast)| (slow - fast).abs() < 1e-4));
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn reference_slice_sampler(model: &Model, shard: Shard) -> Box<dyn SliceSampler> {
    with_family!(model, family => Box::new(Reference::new(family.clone(), shard)))
}
