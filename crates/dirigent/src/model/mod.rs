//! From the user's options and the survey to a model with every prior resolved.
//!
//! `choose.rs` says which family fits the rows where the user leaves it open, `priors.rs` has the rule for every parameter of a prior. Both see the survey
//! alone, never a row, and both say why: `docs/families.md` has the rules and what they were tried on.

mod checks;
pub(crate) mod choose;
mod fitting_rows;
mod options;
pub(crate) mod priors;
#[cfg(test)]
mod tests;
mod widths;

pub use options::{Alpha, ColumnFamily, ColumnOptions, Covariance, FamilyName, Gamma, ModelOptions, Width};
pub(crate) use widths::WidthSearch;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::family::{
    Columns, Conjugate, Family, FamilyText, GaussianFixed, GaussianFull, Multinomial, OwnFamily, VonMisesFisher,
};
use crate::survey::Survey;

/// Does something with the family of a model, whichever it is.
macro_rules! with_family {
    ($model:expr, $family:ident => $code:expr) => {
        match $model {
            $crate::model::Model::GaussianFixed($family) => $code,
            $crate::model::Model::GaussianFull($family) => $code,
            $crate::model::Model::Columns($family) => $code,
            $crate::model::Model::Multinomial($family) => $code,
            $crate::model::Model::VonMisesFisher($family) => $code,
            $crate::model::Model::Own(own) => {
                let $family = own.family();
                $code
            }
        }
    };
}
pub(crate) use with_family;

/// A family with its priors resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "family")]
pub enum Model {
    /// `gaussian` with `--covariance isotropic`.
    GaussianFixed(GaussianFixed),
    /// `gaussian` with `--covariance full`.
    GaussianFull(GaussianFull),
    /// Columns with a distribution each: `gaussian` with `--covariance diag`, `bernoulli`, `poisson`, `categorical`, and mixtures of them.
    Columns(Columns),
    /// `multinomial`.
    Multinomial(Multinomial),
    /// `vmf`.
    #[serde(rename = "vmf")]
    VonMisesFisher(VonMisesFisher),
    /// A family from outside the crate.
    Own(OwnFamily),
}

/// What was chosen for the user, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Name of the parameter.
    pub name: String,
    /// Value that was chosen.
    pub value: String,
    /// Reason.
    pub why: String,
}

impl Choice {
    pub(crate) fn new(name: &str, value: &str, why: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned(), why: why.to_owned() }
    }
}

impl Model {
    /// Checks the options and fills in what was left out.
    pub fn resolve(options: &ModelOptions, survey: &Survey) -> Result<Self> {
        Self::explain(options, survey).map(|(model, _)| model)
    }

    /// The same, with every choice that was made.
    pub fn explain(options: &ModelOptions, survey: &Survey) -> Result<(Self, Vec<Choice>)> {
        if let Some(own) = &options.own_family {
            let choices = vec![Choice::new("family", own.name(), "a family of your own")];
            return Ok((Self::Own(own.clone()), choices));
        }
        let shape = choose::shape(options, survey)?;
        let (model, mut choices) = priors::model(shape.shape, options, survey)?;
        choices.splice(0..0, shape.choices);
        Ok((model, choices))
    }

    /// The columns of a row (for counts: the size of the vocabulary).
    pub fn n_columns(&self) -> usize {
        self.conjugate().n_columns()
    }

    /// The part that needs no rows.
    pub fn conjugate(&self) -> &dyn Conjugate {
        self.family()
    }

    /// The family, whichever it is.
    pub fn family(&self) -> &dyn Family {
        with_family!(self, family => family)
    }

    /// The same, to be kept.
    pub(crate) fn shared_family(&self) -> Arc<dyn Family> {
        match self {
            Self::GaussianFixed(family) => Arc::new(family.clone()),
            Self::GaussianFull(family) => Arc::new(family.clone()),
            Self::Columns(family) => Arc::new(family.clone()),
            Self::Multinomial(family) => Arc::new(family.clone()),
            Self::VonMisesFisher(family) => Arc::new(family.clone()),
            Self::Own(family) => family.shared(),
        }
    }

    /// Puts the family in that this model has only the name of, because it came over the wire.
    pub(crate) fn adopt(&mut self, own_family: Option<&OwnFamily>) {
        if let (Self::Own(named), Some(own)) = (&mut *self, own_family)
            && named == own
        {
            *named = own.clone();
        }
    }

    /// The family from outside the crate, if it is one.
    pub(crate) fn own_family(&self) -> Option<&OwnFamily> {
        if let Self::Own(own) = self { Some(own) } else { None }
    }

    /// What the family tells people.
    pub fn described(&self) -> &dyn FamilyText {
        match self {
            Self::GaussianFixed(family) => family,
            Self::GaussianFull(family) => family,
            Self::Columns(family) => family,
            Self::Multinomial(family) => family,
            Self::VonMisesFisher(family) => family,
            Self::Own(family) => family,
        }
    }
}
