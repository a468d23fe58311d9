//! How wide clusters are in each column: a prior's widths, searched for along with the components.
//!
//! Some columns tell clusters apart and are narrow within them, others do not and are as wide there as in all the data. A prior that expects the same share of the
//! variance everywhere is wrong for both. So widths are those that a labelling has within its components, times a factor; the factor and how surely it is meant are
//! moved step by step to where the components are most probable.
//!
//! Columns of levels, of zeros and ones and of counts have no width. Their priors weigh as many rows as make the components most probable: many for a column that tells
//! clusters not apart, so that chance differences count for nothing.

use super::{Model, ModelOptions, Width, priors};
use crate::error::Result;
use crate::family::log_joint;
use crate::rows::{Row, Shard};
use crate::stats::Stats;
use crate::survey::Survey;
use crate::sweep::reference_sampler;

/// The narrowest that a cluster is expected to be, as a part of the data's variance.
const NARROWEST: f64 = 1e-8;
/// Factors are powers of these: of variances, of the σ of clusters of one width, of concentrations.
const VARIANCES: f64 = 2.0;
const FIXED: f64 = 1.15;
const CONCENTRATIONS: f64 = 1.414;
/// Steps that the factor may go from where it began.
const FARTHEST: i32 = 16;
/// Steps that are made for one labelling, at most.
const STEPS: usize = 4;

/// Where the search is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Place {
    strength: usize,
    factor: i32,
    /// Whether all columns have the same share of their variance.
    is_alike: bool,
    /// Whether component means spread as the data do, however narrow components are.
    has_wide_means: bool,
}

/// A prior whose widths follow the components.
#[derive(Debug, Clone)]
pub(crate) struct WidthSearch {
    asked: ModelOptions,
    usual: Model,
    is_open: bool,
    place: Place,
    /// Σ log h(x) over the rows, if it is known and the same for all widths.
    log_base: Option<f64>,
    /// Of the priors of columns that have no width.
    weights: Vec<f64>,
}

impl WidthSearch {
    pub(crate) fn new(asked: &ModelOptions, usual: &Model) -> Self {
        let is_open = priors::is_width_open(usual, asked);
        let place = Place::default();
        Self { asked: asked.clone(), usual: usual.clone(), is_open, place, log_base: None, weights: Vec::new() }
    }

    /// The prior for a labelling, as sure as the search has it.
    pub(crate) fn options(&self, parts: &[Shard], labels: &[Vec<u32>], survey: &Survey) -> ModelOptions {
        self.at(self.place, &within(parts, labels, survey), survey)
    }

    /// Σ log h(x) under a model of this search. Only σ and τ have a part in it; otherwise it is summed once.
    fn log_base(&mut self, parts: &[Shard], model: &Model) -> f64 {
        let sum = || parts.iter().map(|part| reference_sampler(model, part.clone()).sum_log_base()).sum();
        match model {
            Model::GaussianFixed(_) | Model::VonMisesFisher(_) => sum(),
            Model::GaussianFull(_) | Model::Columns(_) | Model::Multinomial(_) | Model::Own(_) => {
                *self.log_base.get_or_insert_with(sum)
            }
        }
    }

    /// Moves to a better place for a labelling and its components; the prior there, and the
    /// log-joint under it and α = 1.
    pub(crate) fn improve(
        &mut self,
        parts: &[Shard],
        labels: &[Vec<u32>],
        components: &[Stats],
        survey: &Survey,
    ) -> Result<(ModelOptions, f64)> {
        let shares = if self.is_open { within(parts, labels, survey) } else { Vec::new() };
        let live: Vec<&Stats> = components.iter().filter(|stats| stats.count > 0).collect();
        if let Model::Columns(family) = &self.usual {
            self.weights = family.likeliest_weights(&live);
        }
        let log_joint_at = |search: &mut Self, place: Place| -> Result<f64> {
            let model = Model::resolve(&search.at(place, &shares, survey), survey)?;
            let log_base = search.log_base(parts, &model);
            Ok(log_joint(model.conjugate(), live.iter().copied(), 1.0, log_base))
        };
        let (mut place, mut highest) = (self.place, log_joint_at(self, self.place)?);
        let n_steps = if self.is_open { STEPS } else { 0 };
        for _ in 0..n_steps {
            let before = place;
            for neighbour in self.neighbours(before) {
                let log_joint = log_joint_at(self, neighbour)?;
                if log_joint > highest {
                    (place, highest) = (neighbour, log_joint);
                }
            }
            if place == before {
                break;
            }
        }
        self.place = place;
        Ok((self.at(place, &shares, survey), highest))
    }

    fn neighbours(&self, place: Place) -> Vec<Place> {
        if matches!(&self.usual, Model::Columns(family) if !priors::has_normals(family)) {
            return Vec::new();
        }
        let factors = [-1, 1].map(|step| Place { factor: (place.factor + step).clamp(-FARTHEST, FARTHEST), ..place });
        let mut neighbours = factors.to_vec();
        if self.n_strengths() > 0 {
            let strengths = [place.strength.saturating_sub(1), (place.strength + 1).min(self.n_strengths() - 1)];
            neighbours.extend(strengths.map(|strength| Place { strength, ..place }));
            neighbours.push(Place { is_alike: !place.is_alike, ..place });
            neighbours.push(Place { has_wide_means: !place.has_wide_means, ..place });
        }
        neighbours.retain(|neighbour| *neighbour != place);
        neighbours
    }

    fn n_strengths(&self) -> usize {
        match &self.usual {
            Model::GaussianFull(family) => priors::strengths(family.offset.len()).len(),
            Model::Columns(_) => priors::SHAPES.len(),
            _ => 0,
        }
    }

    fn at(&self, place: Place, shares: &[f64], survey: &Survey) -> ModelOptions {
        if !self.is_open {
            return self.asked.clone();
        }
        let times = |base: f64| base.powi(place.factor);
        match &self.usual {
            Model::GaussianFixed(_) => with_fixed(&self.asked, shares, times(FIXED), survey),
            Model::GaussianFull(family) => {
                self.with_columns(priors::strengths(family.offset.len())[place.strength], place, shares)
            }
            Model::Columns(_) => self.with_columns(priors::SHAPES[place.strength], place, shares),
            Model::VonMisesFisher(family) => {
                let tau = Some(family.concentration * times(CONCENTRATIONS));
                ModelOptions { tau, ..self.asked.clone() }
            }
            Model::Multinomial(_) | Model::Own(_) => self.asked.clone(),
        }
    }

    fn with_columns(&self, strength: f64, place: Place, shares: &[f64]) -> ModelOptions {
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        let columns = if place.is_alike { vec![mean; shares.len()] } else { shares.to_vec() };
        let share = VARIANCES.powi(place.factor);
        // never above the rule: with more, a stray row gets a component of its own too cheaply
        let wide = mean.min(priors::prior_rows(shares.len()));
        let kappa0 = self.asked.kappa0.or(place.has_wide_means.then_some(wide));
        let weights = self.weights.clone();
        ModelOptions { kappa0, width: Some(Width { strength, share, columns, weights }), ..self.asked.clone() }
    }
}

/// σ and σ₀ of clusters of one width, which share the data's variance.
fn with_fixed(options: &ModelOptions, shares: &[f64], times: f64, survey: &Survey) -> ModelOptions {
    let variances = survey.columns().iter().map(|column| column.squares / column.n.max(1) as f64);
    let within = variances.clone().zip(shares).map(|(variance, share)| variance * share).sum::<f64>();
    let (n, total) = (shares.len().max(1) as f64, variances.sum::<f64>());
    let total = if total > 0.0 { total } else { n };
    let within = (within * times * times).clamp(NARROWEST * total, 0.95 * total);
    let sigma = Some((within / n).sqrt());
    let sigma0 = Some(((total - within) / n).sqrt());
    ModelOptions { sigma, sigma0, ..options.clone() }
}

/// The share of each column's variance that is within the sets of a labelling; none for counts.
fn within(parts: &[Shard], labels: &[Vec<u32>], survey: &Survey) -> Vec<f64> {
    if parts.iter().any(Shard::is_counts) {
        return Vec::new();
    }
    let n_columns = survey.n_columns;
    let n_sets = labels.iter().flatten().max().map_or(0, |largest| *largest as usize + 1);
    // about the means of the data, so that nothing cancels
    let mut sums = vec![[0.0f64; 3]; n_sets * n_columns];
    for (part, labels) in parts.iter().zip(labels) {
        for (row, &label) in part.rows().zip(labels) {
            let of_set = &mut sums[label as usize * n_columns..][..n_columns];
            let mut add = |column_ix: usize, x: f64| {
                let (sums, x) = (&mut of_set[column_ix], x - survey.columns()[column_ix].mean);
                if x.is_finite() {
                    *sums = [sums[0] + 1.0, sums[1] + x, sums[2] + x * x];
                }
            };
            match row {
                Row::F64(cells) => cells.iter().enumerate().for_each(|(ix, x)| add(ix, *x)),
                Row::F32(cells) => cells.iter().enumerate().for_each(|(ix, x)| add(ix, f64::from(*x))),
                Row::Counts(_) => {}
            }
        }
    }
    let share = |column_ix: usize| {
        let (mut n, mut within, mut total) = (0.0, 0.0, [0.0; 2]);
        for [count, sum, squares] in sums.iter().skip(column_ix).step_by(n_columns).filter(|[count, ..]| *count > 0.0) {
            n += count;
            within += (squares - sum * sum / count).max(0.0);
            total = [total[0] + sum, total[1] + squares];
        }
        let total = total[1] - total[0] * total[0] / f64::max(n, 1.0);
        if total > 0.0 { (within / total).clamp(NARROWEST, 1.0) } else { 1.0 }
    };
    (0..n_columns).map(share).collect()
}
