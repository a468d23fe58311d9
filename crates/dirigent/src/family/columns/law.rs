//! The law of one column: a likelihood of cells and its conjugate prior.

use serde::{Deserialize, Serialize};

use crate::rng::Stream;

/// The law of a column's cells within a component, with its prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnLaw {
    /// x' = (x − offset)/scale ~ N(μ, 1/λ), λ ~ Gamma(shape, rate), μ ~ N(m₀', 1/(κ₀λ)).
    Normal {
        /// Taken from every cell.
        offset: f64,
        /// What is left is divided by it.
        scale: f64,
        /// m₀, as the user counts.
        prior_mean: f64,
        /// κ₀: how many rows the prior mean is worth.
        prior_rows: f64,
        /// a₀.
        shape: f64,
        /// b₀, in units of x'.
        rate: f64,
    },
    /// 0 or 1; the probability of 1 is Beta(a, b).
    Bernoulli {
        /// The prior count of ones.
        a: f64,
        /// The prior count of zeros.
        b: f64,
    },
    /// Counts whose mean is Gamma(shape, rate).
    Poisson {
        /// The prior sum of counts.
        shape: f64,
        /// The prior number of rows.
        rate: f64,
    },
    /// Level numbers 0, 1, …; their probabilities are symmetric Dirichlet.
    Categorical {
        /// γ: the prior count of each level.
        smoothing: f64,
        /// The number of levels.
        n_levels: usize,
    },
}

impl ColumnLaw {
    /// The same prior, worth `times` as many rows. That of a normal column stays, since it has
    /// widths of its own.
    pub(crate) fn weighed(self, times: f64) -> Self {
        match self {
            Self::Normal { .. } => self,
            Self::Bernoulli { a, b } => Self::Bernoulli { a: times * a, b: times * b },
            Self::Poisson { shape, rate } => Self::Poisson { shape: times * shape, rate: times * rate },
            Self::Categorical { smoothing, n_levels } => Self::Categorical { smoothing: times * smoothing, n_levels },
        }
    }
}

/// Does something with a column's law, whichever it is.
macro_rules! with_law {
    ($law:expr, $name:ident => $code:expr) => {
        match *$law {
            $crate::family::ColumnLaw::Normal { offset, scale, prior_mean, prior_rows, shape, rate } => {
                let $name =
                    $crate::family::columns::normal::Normal { offset, scale, prior_mean, prior_rows, shape, rate };
                $code
            }
            $crate::family::ColumnLaw::Bernoulli { a, b } => {
                let $name = $crate::family::columns::bernoulli::Bernoulli { a, b };
                $code
            }
            $crate::family::ColumnLaw::Poisson { shape, rate } => {
                let $name = $crate::family::columns::poisson::Poisson { shape, rate };
                $code
            }
            $crate::family::ColumnLaw::Categorical { smoothing, n_levels } => {
                let $name = $crate::family::columns::categorical::Categorical { smoothing, n_levels };
                $code
            }
        }
    };
}
pub(super) use with_law;

impl ColumnLaw {
    /// Whether a cell can be of this law; one that is missing (NaN) can.
    pub fn accepts(&self, x: f64) -> bool {
        x.is_nan() || with_law!(self, law => law.accepts(x))
    }
}

/// What every law knows. `n` is the number of cells that are there, `sums` are the column's,
/// without that number.
pub(super) trait Law {
    /// The length of the sums.
    fn stats_len(&self) -> usize;

    /// The length of what is drawn by [`Law::sample_parameters`].
    fn parameters_len(&self) -> usize;

    /// Whether a number can be a cell.
    fn accepts(&self, x: f64) -> bool;

    /// Adds a cell to the sums `sign` times.
    fn accumulate(&self, x: f64, sign: f64, sums: &mut [f64]);

    /// Whether `n` cells can have these sums.
    fn could_be(&self, n: f64, sums: &[f64]) -> bool;

    /// log h(x): the part of the likelihood that no parameter touches.
    fn log_base_measure(&self, x: f64) -> f64;

    /// The log-normaliser of the posterior, up to a constant of the column.
    fn log_normalizer(&self, n: f64, sums: &[f64]) -> f64;

    /// The log-predictive of a cell.
    fn log_predictive(&self, x: f64, n: f64, sums: &[f64]) -> f64;

    /// Draws the parameters from their posterior.
    fn sample_parameters(&self, n: f64, sums: &[f64], rng: &mut Stream, parameters: &mut Vec<f64>);

    /// log f(x|φ).
    fn log_likelihood(&self, x: f64, parameters: &[f64]) -> f64;

    /// Draws a cell given the parameters.
    fn sample_cell(&self, parameters: &[f64], rng: &mut Stream) -> f64;

    /// Coordinates of the sketch.
    fn sketch(&self, n: f64, sums: &[f64], sketch: &mut Vec<f32>);

    /// What a cell is to a cut: mean and standard deviation in the component, or of each level.
    fn spread(&self, n: f64, sums: &[f64]) -> Spread;

    /// What is wrong with the prior, if anything.
    fn problem(&self) -> Option<String>;
}

/// How a component's cells of one column lie.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spread {
    /// Mean and standard deviation, in units in which columns are comparable.
    Number { mean: f64, sd: f64 },
    /// The probability of each level.
    Levels(Vec<f64>),
}
