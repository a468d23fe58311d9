//! What the user says of the model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checks::positive;
use crate::error::Result;
use crate::family::OwnFamily;

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
    /// The same standard deviation in all columns and components.
    Isotropic,
    /// Columns are independent, each component with variances of its own.
    Diag,
    /// Any covariance, each component with its own.
    Full,
}

impl Covariance {
    /// As the command calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Isotropic => "isotropic",
            Self::Diag => "diag",
            Self::Full => "full",
        }
    }
}

/// The distribution of a single column.
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

impl ColumnFamily {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Bernoulli => "bernoulli",
            Self::Poisson => "poisson",
            Self::Categorical => "categorical",
        }
    }
}

/// What the user said of the model; what is `None` is chosen from the survey.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    /// The distribution of the rows within a cluster.
    pub family: Option<FamilyName>,
    /// The shape of a Gaussian's covariance.
    pub covariance: Option<Covariance>,
    /// The concentration of the Dirichlet process: larger means more clusters.
    #[serde(with = "alpha_as_written")]
    pub alpha: Alpha,
    /// The families of single columns, by name or by number from 1.
    pub column_families: BTreeMap<String, ColumnFamily>,
    /// Standard deviation of rows about their cluster's mean.
    pub sigma: Option<f64>,
    /// Standard deviation of the cluster means.
    pub sigma0: Option<f64>,
    /// The centre of the cluster means: one number for all columns, or one per column.
    #[serde(with = "numbers_as_written")]
    pub m0: Option<Vec<f64>>,
    /// Prior count of each word or level.
    #[serde(with = "gamma_as_written")]
    pub gamma: Option<Gamma>,
    /// Documents that the prior of a cluster weighs.
    pub prior_documents: Option<f64>,
    /// Rows that the prior mean is worth; for directions, how closely those of clusters lie together.
    pub kappa0: Option<f64>,
    /// Degrees of freedom of the inverse Wishart.
    pub nu0: Option<f64>,
    /// Diagonal of the inverse Wishart's scale matrix.
    pub psi0: Option<f64>,
    /// Shape of the prior of a precision or a rate, or the prior count of ones.
    pub a0: Option<f64>,
    /// Rate of the prior of a precision or a rate, or the prior count of zeros.
    pub b0: Option<f64>,
    /// Concentration of a cluster's rows about their direction.
    pub tau: Option<f64>,
    /// A family from outside the crate, with its priors, instead of `family`.
    #[serde(skip)]
    pub own_family: Option<OwnFamily>,
    /// How wide clusters are, learned from components.
    #[serde(skip)]
    pub width: Option<Width>,
    /// What is known of the columns beside their numbers.
    #[serde(skip)]
    pub columns: ColumnOptions,
}

/// How wide clusters are expected to be and how surely, in numbers that do not depend on the unit of a column. It stands for `nu0` and `psi0` of full
/// covariances, for `a0` and `b0` of normal columns.
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
    /// The number γ is set to.
    pub(crate) fn fixed_gamma(&self) -> Option<f64> {
        match self.gamma {
            Some(Gamma::Fixed(gamma)) => Some(gamma),
            Some(Gamma::Learn) | None => None,
        }
    }

    /// The parameters of priors that are set to a number.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("sigma", self.sigma.is_some()),
            ("sigma0", self.sigma0.is_some()),
            ("m0", self.m0.is_some()),
            ("gamma", self.fixed_gamma().is_some()),
            ("prior_documents", self.prior_documents.is_some()),
            ("kappa0", self.kappa0.is_some()),
            ("nu0", self.nu0.is_some()),
            ("psi0", self.psi0.is_some()),
            ("a0", self.a0.is_some()),
            ("b0", self.b0.is_some()),
            ("tau", self.tau.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name)
    }

    /// The family that the user asks for in a column.
    pub(super) fn asked(&self, column_ix: usize) -> Option<ColumnFamily> {
        self.column_families.get(&self.columns.name(column_ix)).copied()
    }

    /// Whether the user set a parameter of the prior.
    pub fn gives(&self, name: &str) -> bool {
        self.parameters().any(|given| given == name)
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

/// Where γ of documents comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Gamma {
    /// From samples of the documents.
    Learn,
    /// A number.
    Fixed(f64),
}

/// γ as people write it: `"learn"` or a number.
mod gamma_as_written {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Gamma;

    pub(super) fn serialize<S: Serializer>(gamma: &Option<Gamma>, serializer: S) -> Result<S::Ok, S::Error> {
        match gamma {
            None => serializer.serialize_none(),
            Some(Gamma::Learn) => serializer.serialize_str("learn"),
            Some(Gamma::Fixed(gamma)) => serializer.serialize_f64(*gamma),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Gamma>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenGamma {
            Number(f64),
            Text(String),
            Nothing(()),
        }
        match WrittenGamma::deserialize(deserializer) {
            Ok(WrittenGamma::Number(gamma)) => Ok(Some(Gamma::Fixed(gamma))),
            Ok(WrittenGamma::Nothing(())) => Ok(None),
            Ok(WrittenGamma::Text(text)) if text == "learn" => Ok(Some(Gamma::Learn)),
            _ => Err(D::Error::custom("expected learn or a number")),
        }
    }
}

/// Numbers as people write them: one for all columns, or a list.
mod numbers_as_written {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(numbers: &Option<Vec<f64>>, serializer: S) -> Result<S::Ok, S::Error> {
        match numbers.as_deref() {
            None => serializer.serialize_none(),
            Some([number]) => serializer.serialize_f64(*number),
            Some(numbers) => numbers.serialize(serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<f64>>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum WrittenNumbers {
            Number(f64),
            List(Vec<f64>),
            Nothing(()),
        }
        match WrittenNumbers::deserialize(deserializer) {
            Ok(WrittenNumbers::Number(number)) => Ok(Some(vec![number])),
            Ok(WrittenNumbers::List(numbers)) if !numbers.is_empty() => Ok(Some(numbers)),
            Ok(WrittenNumbers::Nothing(())) => Ok(None),
            _ => Err(D::Error::custom("expected a number, or a list of one number per column")),
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
