//! What the user says of the model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checks::positive;
use crate::error::Result;

/// The families a user can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FamilyName {
    /// Dense rows.
    Gaussian,
    /// Rows of counts.
    Multinomial,
    /// Columns of zeros and ones.
    Bernoulli,
    /// Columns of counts.
    Poisson,
    /// Columns of levels.
    Categorical,
    /// Rows of length 1.
    Vmf,
    /// Columns of several kinds.
    Mixed,
}

impl FamilyName {
    /// As the command calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Multinomial => "multinomial",
            Self::Bernoulli => "bernoulli",
            Self::Poisson => "poisson",
            Self::Categorical => "categorical",
            Self::Vmf => "vmf",
            Self::Mixed => "mixed",
        }
    }
}

/// The shapes of a Gaussian's covariance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Covariance {
    /// σ²I with a given σ.
    #[serde(rename = "isotropic")]
    Fixed,
    /// Columns are independent, each component with variances of its own.
    #[serde(rename = "diag")]
    Diagonal,
    /// Any covariance, each component with its own.
    Full,
}

impl Covariance {
    /// As the command calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "isotropic",
            Self::Diagonal => "diag",
            Self::Full => "full",
        }
    }
}

/// The laws of a single column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ColumnFamily {
    /// Numbers.
    Gaussian,
    /// Zeros and ones.
    Bernoulli,
    /// Counts.
    Poisson,
    /// Levels.
    Categorical,
}

/// What the user said of the model; what is `None` is chosen from the survey.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// `--family`
    pub family: Option<FamilyName>,
    /// `--covariance`
    pub covariance: Option<Covariance>,
    /// The concentration of the Dirichlet process: larger means more clusters.
    #[serde(with = "alpha_as_written")]
    pub alpha: Alpha,
    /// The families of single columns, by name or by number from 1.
    pub column_families: BTreeMap<String, ColumnFamily>,
    /// `--sigma`
    #[serde(rename = "sigma")]
    pub noise_sd: Option<f64>,
    /// `--sigma0`
    #[serde(rename = "sigma0")]
    pub mean_sd: Option<f64>,
    /// `--m0`
    #[serde(rename = "m0")]
    pub prior_mean: Option<f64>,
    /// `--gamma NUMBER`
    #[serde(rename = "gamma")]
    pub smoothing: Option<f64>,
    /// `--gamma learn`: whether samples of the documents decide, as long as `smoothing` is open.
    #[serde(rename = "learn_gamma")]
    pub learns_smoothing: bool,
    /// `--prior-documents`
    pub prior_documents: Option<f64>,
    /// `--kappa0`
    #[serde(rename = "kappa0")]
    pub prior_rows: Option<f64>,
    /// `--nu0`
    #[serde(rename = "nu0")]
    pub degrees: Option<f64>,
    /// `--psi0`
    #[serde(rename = "psi0")]
    pub prior_scale: Option<f64>,
    /// `--a0`
    #[serde(rename = "a0")]
    pub shape: Option<f64>,
    /// `--b0`
    #[serde(rename = "b0")]
    pub rate: Option<f64>,
    /// `--tau`
    #[serde(rename = "tau")]
    pub concentration: Option<f64>,
    /// How wide clusters are, learned from components.
    #[serde(skip)]
    pub width: Option<Width>,
    /// What is known of the columns beside their numbers.
    #[serde(skip)]
    pub columns: ColumnOptions,
}

/// How wide clusters are expected to be and how surely, in numbers that do not depend on the unit of a column. It stands for `--nu0` and `--psi0` of full
/// covariances, for `--a0` and `--b0` of normal columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Width {
    /// ν₀, or a₀.
    pub strength: f64,
    /// The share of a column's variance that clusters are expected to have.
    pub share: f64,
    /// How many times that in each column; none where it is the same in all.
    pub columns: Vec<f64>,
    /// How many times as heavy as usual the prior of each column of levels, zeros and ones, or counts is; none if all are as usual.
    #[serde(default)]
    pub weights: Vec<f64>,
}

/// What is known of columns beside their numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnOptions {
    /// What they are called; none where they go by number.
    pub names: Vec<String>,
    /// The number of levels of each column that holds text; empty where none does.
    pub n_levels: Vec<Option<usize>>,
}

impl ModelOptions {
    /// The parameters of priors by the names the command has for them.
    pub(super) fn parameters(&self) -> [(&'static str, Option<f64>); 11] {
        [
            ("sigma", self.noise_sd),
            ("sigma0", self.mean_sd),
            ("m0", self.prior_mean),
            ("gamma", self.smoothing),
            ("prior_documents", self.prior_documents),
            ("kappa0", self.prior_rows),
            ("nu0", self.degrees),
            ("psi0", self.prior_scale),
            ("a0", self.shape),
            ("b0", self.rate),
            ("tau", self.concentration),
        ]
    }

    /// The family that the user asks for in a column.
    pub(super) fn asked(&self, column_ix: usize) -> Option<ColumnFamily> {
        self.column_families.get(&self.columns.name(column_ix)).copied()
    }

    /// Whether the user gave the parameter of a prior that the command calls so.
    pub fn gives(&self, name: &str) -> bool {
        self.parameters().iter().any(|(of, value)| *of == name && value.is_some())
    }
}

impl ColumnOptions {
    /// What a column is called in messages.
    pub fn name(&self, column_ix: usize) -> String {
        self.names.get(column_ix).cloned().unwrap_or_else(|| (column_ix + 1).to_string())
    }

    /// The number of levels, for a column that holds text.
    pub(super) fn levels(&self, column_ix: usize) -> Option<usize> {
        self.n_levels.get(column_ix).copied().flatten()
    }
}

/// The concentration α of the Dirichlet process.
///
/// ```
/// use dirigent::Alpha;
///
/// assert_eq!(Alpha::Auto.start(), 1.0);
/// assert_eq!(Alpha::fixed(2.5)?.start(), 2.5);
/// assert!(Alpha::fixed(0.0).is_err());
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Alpha {
    #[default]
    /// Gamma(1, 1) hyper-prior, resampled every cycle, from 1.
    Auto,
    /// As the user says.
    Fixed(f64),
}

impl Alpha {
    /// A fixed α, which must be positive.
    pub fn fixed(alpha: f64) -> Result<Self> {
        Ok(Self::Fixed(positive("`alpha`", alpha)?))
    }

    /// The value of the first cycle.
    pub fn start(self) -> f64 {
        match self {
            Self::Auto => 1.0,
            Self::Fixed(alpha) => alpha,
        }
    }
}

/// α as people write it: `"auto"` or a number.
mod alpha_as_written {
    use serde::{Deserializer, Serializer};

    use super::Alpha;
    use crate::fit::auto_or;

    pub(super) fn serialize<S: Serializer>(alpha: &Alpha, serializer: S) -> Result<S::Ok, S::Error> {
        let value = match alpha {
            Alpha::Auto => None,
            Alpha::Fixed(alpha) => Some(*alpha),
        };
        auto_or::serialize(&value, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Alpha, D::Error> {
        Ok(auto_or::deserialize(deserializer)?.map_or(Alpha::Auto, Alpha::Fixed))
    }
}
