//! How many clusters are asked for: a number, or what the tree says.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Cut, Tree};
use crate::error::{InputError, Result};

/// What the clusters of a fit are.
///
/// ```
/// use dirigent::{Clusters, FitOptions};
///
/// let mut options = FitOptions::default();
/// options.run.clusters = Some(Clusters::Number(10));
/// assert_eq!("components".parse(), Ok(Clusters::Components));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clusters {
    /// The natural layer of the tree over the components.
    #[default]
    Auto,
    /// Each component is a cluster.
    Components,
    /// As many clusters: the last merges of the tree are undone.
    Number(usize),
}

impl Clusters {
    const EXPECTED: &str = "expected a number of at least 1, auto or components";
}

impl FromStr for Clusters {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "components" => Ok(Self::Components),
            _ => match text.parse() {
                Ok(number) if number > 0 => Ok(Self::Number(number)),
                _ => Err(Self::EXPECTED.to_owned()),
            },
        }
    }
}

impl fmt::Display for Clusters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => formatter.write_str("auto"),
            Self::Components => formatter.write_str("components"),
            Self::Number(number) => number.fmt(formatter),
        }
    }
}

/// In JSON a number is a number.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenClusters {
    Number(usize),
    Name(String),
}

impl Serialize for Clusters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => WrittenClusters::Number(*number),
            name => WrittenClusters::Name(name.to_string()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Clusters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written =
            WrittenClusters::deserialize(deserializer).map_err(|_| serde::de::Error::custom(Self::EXPECTED))?;
        match written {
            WrittenClusters::Number(number) => number.to_string().parse(),
            WrittenClusters::Name(name) => name.parse(),
        }
        .map_err(serde::de::Error::custom)
    }
}

impl Tree {
    /// The clusters that are asked for. Of a number, none has a smaller share of the rows than `min_share`.
    pub fn clusters(&self, asked: Clusters, min_share: Option<f64>) -> Result<Cut> {
        match (asked, min_share) {
            (Clusters::Number(n), _) if !(1..=self.n_components()).contains(&n) => {
                let n_components = self.n_components();
                let problem = format!("`clusters` {n} is not among 1 to {n_components}, the number of components");
                Err(InputError::new(problem).hint("ask for fewer clusters, or for `clusters` components").into())
            }
            (Clusters::Number(n), share) => Ok(self.cut(n, share.unwrap_or(0.0))),
            (Clusters::Auto | Clusters::Components, Some(_)) => {
                let error = InputError::new("`min_share` needs a number of clusters");
                Err(error.hint("ask for 10 `clusters`, or leave `min_share` out").into())
            }
            (Clusters::Auto, None) => Ok(self.layer()),
            (Clusters::Components, None) => Ok(self.components()),
        }
    }
}
