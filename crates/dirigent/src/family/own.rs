//! A family from outside the crate.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Family, FamilyText, NamedArray};
use crate::stats::Stats;

/// A family of your own, for [`ModelOptions::own_family`](crate::ModelOptions::own_family): its
/// priors are fixed, and fits in memory use it on threads and in simulation. It does not travel to
/// other machines, and run folders do not hold it.
#[derive(Clone)]
pub struct OwnFamily {
    name: String,
    /// `None` of one that came over the wire, until the receiver puts its own in.
    family: Option<Arc<dyn Family>>,
}

impl OwnFamily {
    /// The family under a name.
    pub fn new(name: &str, family: impl Family + 'static) -> Self {
        Self { name: name.to_owned(), family: Some(Arc::new(family)) }
    }

    pub(crate) fn family(&self) -> &(dyn Family + 'static) {
        &**self.family.as_ref().expect("a plan is checked before it is used")
    }

    pub(crate) fn shared(&self) -> Arc<dyn Family> {
        Arc::clone(self.family.as_ref().expect("a plan is checked before it is used"))
    }

    /// Whether it is more than a name.
    pub(crate) fn is_known(&self) -> bool {
        self.family.is_some()
    }
}

/// The same if it has the same name.
impl PartialEq for OwnFamily {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for OwnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnFamily").field(&self.name).finish()
    }
}

impl Serialize for OwnFamily {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [("name", &self.name)].into_iter().collect::<std::collections::BTreeMap<_, _>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for OwnFamily {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct OwnName {
            name: String,
        }
        Ok(Self { name: OwnName::deserialize(deserializer)?.name, family: None })
    }
}

impl FamilyText for OwnFamily {
    fn name(&self) -> &str {
        &self.name
    }

    fn priors(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn cause_of_one(&self) -> String {
        "the prior of the family may expect wider components".to_owned()
    }

    fn cause_of_many(&self) -> String {
        "the prior of the family may expect narrower components".to_owned()
    }

    fn problem(&self) -> Option<String> {
        (!self.is_known()).then(|| format!("the family `{}` is of another program", self.name))
    }

    fn formula(&self) -> &'static str {
        "that of the family"
    }

    fn constants(&self) -> Vec<NamedArray> {
        Vec::new()
    }

    fn arrays(&self, _components: &[Stats]) -> Vec<NamedArray> {
        Vec::new()
    }
}
