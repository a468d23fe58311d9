//! How a component of columns is cut in two: by a plane through its mean, in units in which its
//! columns are comparable.
//!
//! A number or a count is a coordinate; a level has a coordinate drawn for it, so that a plane
//! parts the levels at random; a missing cell counts as the mean. Three kinds of plane take turns,
//! because which one parts two clusters that were taken for one depends on how they differ: in the
//! column that spreads most, a little in many columns, or in one column only.

use super::law::{Law as _, Spread, with_law};
use super::{Column, ColumnOf, Columns, cells};
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::stats::Stats;

/// How the columns weigh in a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weighing {
    /// By how much the component spreads in them.
    Wide,
    /// All alike.
    Even,
    /// One only.
    Single(usize),
}

/// Never less than this, so that a column in which all rows are equal weighs nothing much.
const SMALLEST_SD: f64 = 1e-9;

impl Columns {
    /// The direction has, for each column, a weight (or a coordinate of each level), and what a
    /// missing cell adds to the product.
    pub(super) fn draw_cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        let spreads: Vec<Spread> = self
            .columns_of(stats)
            .map(|ColumnOf { column, n, sums }| with_law!(&column.law, law => law.spread(n, sums)))
            .collect();
        let weighing = match rng.below(3) {
            0 => Weighing::Wide,
            1 => Weighing::Even,
            _ => Weighing::Single(draw_column(&spreads, rng)),
        };
        let (mut direction, mut through_mean, mut variance, mut is_smooth) = (Vec::new(), 0.0, 0.0, false);
        for (column_ix, spread) in spreads.iter().enumerate() {
            let weight = match weighing {
                Weighing::Single(single) if single != column_ix => 0.0,
                Weighing::Wide => spread.sd(),
                _ => 1.0 / spread.sd(),
            };
            let mean = match spread {
                Spread::Number { mean, .. } => {
                    let along = weight * rng.normal();
                    is_smooth |= along != 0.0;
                    direction.push(along);
                    along * mean
                }
                Spread::Levels(probabilities) => {
                    let start = direction.len();
                    direction.extend(probabilities.iter().map(|_| weight * rng.normal()));
                    probabilities.iter().zip(&direction[start..]).map(|(p, along)| p * along).sum()
                }
            };
            direction.push(mean);
            through_mean += mean;
            variance += (weight * spread.sd()).powi(2);
        }
        // between levels there is nothing to cut through
        let is_centred = !is_smooth || rng.uniform() < 0.5;
        let off_centre = if is_centred { 0.0 } else { 1.5 * rng.uniform() * variance.sqrt() };
        HalfCut::Plane { direction, threshold: through_mean + off_centre }
    }

    pub(super) fn side_of_cut(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        let HalfCut::Plane { direction, threshold } = cut else { return None };
        let (mut rest, mut product) = (direction.as_slice(), 0.0);
        for (column, x) in self.columns.iter().zip(cells(row)) {
            let of_column;
            (of_column, rest) = rest.split_at(column.n_coordinates() + 1);
            product += if x.is_nan() { of_column[of_column.len() - 1] } else { column.along(x, of_column) };
        }
        Some(if product > *threshold { Half::Right } else { Half::Left })
    }
}

impl Column {
    fn n_coordinates(&self) -> usize {
        match self.law {
            super::ColumnLaw::Normal { .. } | super::ColumnLaw::Poisson { .. } => 1,
            super::ColumnLaw::Bernoulli { .. } => 2,
            super::ColumnLaw::Categorical { n_levels, .. } => n_levels,
        }
    }

    /// What a cell adds to the product with a direction.
    fn along(&self, x: f64, direction: &[f64]) -> f64 {
        match self.law {
            super::ColumnLaw::Normal { offset, scale, .. } => (x - offset) / scale * direction[0],
            super::ColumnLaw::Poisson { .. } => x * direction[0],
            super::ColumnLaw::Bernoulli { .. } | super::ColumnLaw::Categorical { .. } => direction[x as usize],
        }
    }
}

impl Spread {
    /// The standard deviation; of levels, that of coordinates drawn for them.
    fn sd(&self) -> f64 {
        match self {
            Self::Number { sd, .. } => sd.max(SMALLEST_SD),
            Self::Levels(probabilities) => {
                (1.0 - probabilities.iter().map(|p| p * p).sum::<f64>()).max(SMALLEST_SD).sqrt()
            }
        }
    }

    /// How likely it is that a column that is cut alone is this one: levels by their entropy.
    fn share(&self) -> f64 {
        match self {
            Self::Number { sd, .. } => sd.clamp(SMALLEST_SD, 1.0),
            Self::Levels(probabilities) => {
                let positive = probabilities.iter().filter(|p| **p > 0.0);
                positive.map(|p| -p * libm::log(*p)).sum::<f64>().max(SMALLEST_SD)
            }
        }
    }
}

fn draw_column(spreads: &[Spread], rng: &mut Stream) -> usize {
    let log_weights: Vec<f64> = spreads.iter().map(|spread| libm::log(spread.share())).collect();
    rng.categorical(&log_weights)
}
