//! The final state of a run, which all methods in rounds end with.

use serde::{Deserialize, Serialize};

use super::codec::Content;
use super::wire::{self, is_sparse};
use crate::consolidate::ComponentId;
use crate::stats::Stats;

/// The final state, from which each row's most probable component is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinalComponents {
    /// Cycles that are complete.
    pub cycle: u64,
    /// Components with rows.
    #[serde(with = "wire::named")]
    pub components: Vec<(ComponentId, Stats)>,
}

impl Content for FinalComponents {
    fn has_counts(&self) -> bool {
        self.components.iter().any(|(_, stats)| is_sparse(stats))
    }
}
