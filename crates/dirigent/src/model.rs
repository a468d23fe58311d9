//! From the user's options and the survey to a model with every prior resolved.
//!
//! What is left out follows one simple rule:
//! - `gaussian`: m₀ is the mean of each column, σ₀ the pooled standard deviation of the columns, σ half of that;
//! - `multinomial`: γ is the mean length of a row over the size of the vocabulary, so the prior weighs as much as one row. (A heavier one
//!   lets a sweep from a cold start end with a single component.)

use serde::{Deserialize, Serialize};

use crate::error::{InputError, Result};
use crate::family::{Columns, Conjugate, Described, GaussianFixed, GaussianFull, Multinomial, VonMisesFisher};
use crate::survey::{CellSummary, Survey};

/// Does something with the family of a model, whichever it is.
macro_rules! with_family {
    ($model:expr, $family:ident => $code:expr) => {
        match $model {
            $crate::model::Model::GaussianFixed($family) => $code,
            $crate::model::Model::GaussianFull($family) => $code,
            $crate::model::Model::Multinomial($family) => $code,
            $crate::model::Model::Columns($family) => $code,
            $crate::model::Model::VonMisesFisher($family) => $code,
        }
    };
}
pub(crate) use with_family;

/// The families a user can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FamilyName {
    /// Dense rows.
    Gaussian,
    /// Rows of counts.
    Multinomial,
}

/// The shapes of a Gaussian's covariance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Covariance {
    /// σ²I with a given σ.
    Fixed,
}

/// What the user said of the model; what is `None` is chosen from the survey.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelOptions {
    /// `--family`
    pub family: Option<FamilyName>,
    /// `--covariance`
    pub covariance: Option<Covariance>,
    /// `--sigma`
    pub noise_sd: Option<f64>,
    /// `--sigma0`
    pub mean_sd: Option<f64>,
    /// `--m0`
    pub prior_mean: Option<f64>,
    /// `--gamma`
    pub smoothing: Option<f64>,
}

impl ModelOptions {
    /// Whether the user gave the parameter of a prior that the command calls so.
    pub fn gives(&self, name: &str) -> bool {
        match name {
            "sigma" => self.noise_sd.is_some(),
            "sigma0" => self.mean_sd.is_some(),
            "m0" => self.prior_mean.is_some(),
            "gamma" => self.smoothing.is_some(),
            _ => false,
        }
    }
}

/// The concentration α of the Dirichlet process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alpha {
    /// Gamma(1, 1) hyper-prior, resampled every cycle, from 1.
    Auto,
    /// As the user says.
    Fixed(f64),
}

impl Alpha {
    /// A fixed α, which must be positive.
    pub fn fixed(alpha: f64) -> Result<Self> {
        Ok(Self::Fixed(positive("--alpha", alpha)?))
    }

    /// The value of the first cycle.
    pub fn start(self) -> f64 {
        match self {
            Self::Auto => 1.0,
            Self::Fixed(alpha) => alpha,
        }
    }
}

/// A family with its priors resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "family")]
pub enum Model {
    /// `gaussian` with `--covariance fixed`.
    GaussianFixed(GaussianFixed),
    /// `gaussian` with `--covariance full`.
    GaussianFull(GaussianFull),
    /// `multinomial`.
    Multinomial(Multinomial),
    /// Columns with a law each: `gaussian` with `--covariance diagonal`, `bernoulli`, `poisson`, `categorical`, and mixtures of them.
    Columns(Columns),
    /// `vmf`.
    #[serde(rename = "vmf")]
    VonMisesFisher(VonMisesFisher),
}

impl Model {
    /// Checks the options and fills in what was left out.
    pub fn resolve(options: &ModelOptions, survey: &Survey) -> Result<Self> {
        let is_counts = matches!(survey.cells, CellSummary::Counts { .. });
        let natural = if is_counts { FamilyName::Multinomial } else { FamilyName::Gaussian };
        match options.family.unwrap_or(natural) {
            FamilyName::Gaussian => {
                reject("--gamma", options.smoothing.is_some(), "multinomial")?;
                if is_counts {
                    return Err(InputError::new("--family gaussian needs dense rows, and these are sparse counts")
                        .hint("fit counts with --family multinomial")
                        .into());
                }
                gaussian_fixed(options, survey).map(Self::GaussianFixed)
            }
            FamilyName::Multinomial => {
                for (option, given) in [
                    ("--sigma", options.noise_sd.is_some()),
                    ("--sigma0", options.mean_sd.is_some()),
                    ("--m0", options.prior_mean.is_some()),
                    ("--covariance", options.covariance.is_some()),
                ] {
                    reject(option, given, "gaussian")?;
                }
                multinomial(options, survey).map(Self::Multinomial)
            }
        }
    }

    /// The columns of a row (for counts: the size of the vocabulary).
    pub fn n_columns(&self) -> usize {
        self.conjugate().n_columns()
    }

    /// The part that needs no rows.
    pub fn conjugate(&self) -> &dyn Conjugate {
        with_family!(self, family => family)
    }

    /// What the family tells people.
    pub fn described(&self) -> &dyn Described {
        with_family!(self, family => family)
    }
}

fn gaussian_fixed(options: &ModelOptions, survey: &Survey) -> Result<GaussianFixed> {
    let offset = survey.means();
    // rows that are all equal have no scale of their own
    let data_sd = if survey.pooled_sd() > 0.0 { survey.pooled_sd() } else { 1.0 };
    Ok(GaussianFixed {
        noise_sd: positive("--sigma", options.noise_sd.unwrap_or(data_sd / 2.0))?,
        mean_sd: positive("--sigma0", options.mean_sd.unwrap_or(data_sd))?,
        prior_mean: match options.prior_mean {
            Some(mean) => vec![finite("--m0", mean)?; survey.n_columns],
            None => offset.clone(),
        },
        offset,
    })
}

fn multinomial(options: &ModelOptions, survey: &Survey) -> Result<Multinomial> {
    let CellSummary::Counts { n_words, .. } = survey.cells else {
        panic!("dense rows become counts before the survey of a multinomial")
    };
    // rows without a single word say nothing, whatever γ is
    let words_a_row = if n_words > 0 { n_words as f64 / survey.n_rows as f64 } else { 1.0 };
    let smoothing = options.smoothing.unwrap_or(words_a_row / survey.n_columns as f64);
    Ok(Multinomial { smoothing: positive("--gamma", smoothing)?, n_words: survey.n_columns })
}

fn reject(option: &str, given: bool, of_family: &str) -> Result<()> {
    if !given {
        return Ok(());
    }
    let problem = format!("{option} belongs to --family {of_family}");
    Err(InputError::new(problem).hint(format!("leave {option} out, or choose --family {of_family}")).into())
}

fn positive(option: &str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    let problem = format!("{option} must be a positive number, got {value}");
    Err(InputError::new(problem).hint(format!("leave {option} out to have it chosen from the data")).into())
}

fn finite(option: &str, value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(InputError::new(format!("{option} must be a finite number, got {value}"))
        .hint(format!("leave {option} out to have it chosen from the data"))
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{CountTable, Shard, Table};

    fn numbers() -> Survey {
        Survey::of(&Shard::of_table(Table::from_f64(2, vec![1.0, 10.0, 3.0, 30.0])))
    }

    fn counts() -> Survey {
        let mut table = CountTable::new(4);
        table.push_row([(0, 2), (3, 4)]);
        table.push_row([(1, 2)]);
        Survey::of(&Shard::of_table(Table::Counts(table)))
    }

    #[test]
    fn what_is_left_out_comes_from_the_data() {
        let Model::GaussianFixed(family) = Model::resolve(&ModelOptions::default(), &numbers()).unwrap() else {
            panic!("dense rows are Gaussian")
        };
        assert_eq!(family.prior_mean, [2.0, 20.0]);
        let pooled = ((1.0f64 + 100.0) / 2.0).sqrt();
        assert!((family.mean_sd - pooled).abs() < 1e-12 && (family.noise_sd - pooled / 2.0).abs() < 1e-12);
        let model = Model::resolve(&ModelOptions::default(), &counts()).unwrap();
        assert_eq!(model, Model::Multinomial(Multinomial { smoothing: 1.0, n_words: 4 }));
    }

    #[test]
    fn a_wrong_option_names_itself_its_value_and_the_way_out() {
        let zero = ModelOptions { noise_sd: Some(0.0), ..Default::default() };
        let error = Model::resolve(&zero, &numbers()).unwrap_err();
        assert_eq!(error.to_string(), "--sigma must be a positive number, got 0");
        assert!(error.hint().unwrap().contains("leave --sigma out"));
        assert_eq!(Alpha::fixed(-1.0).unwrap_err().to_string(), "--alpha must be a positive number, got -1");
        let gamma = ModelOptions { smoothing: Some(1.0), ..Default::default() };
        let error = Model::resolve(&gamma, &numbers()).unwrap_err();
        assert_eq!(error.to_string(), "--gamma belongs to --family multinomial");
        let sigma = ModelOptions { noise_sd: Some(1.0), ..Default::default() };
        assert!(Model::resolve(&sigma, &counts()).is_err());
    }
}
