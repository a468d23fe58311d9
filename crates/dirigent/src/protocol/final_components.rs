//! The final state of a run, which all methods in rounds end with.

use serde::{Deserialize, Serialize};

use super::Decoded;
use super::envelope::broken;
use super::wire::StatsList;
use crate::consolidate::ComponentId;
use crate::stats::Stats;

/// The final state, from which each row's most probable component is read.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalComponents {
    /// Cycles that are complete.
    pub cycle: u64,
    /// Components with rows.
    pub components: Vec<(ComponentId, Stats)>,
}

/// The final state on the wire.
#[derive(Serialize, Deserialize)]
pub(crate) struct FinalBody {
    cycle: u64,
    ids: Vec<ComponentId>,
    stats: StatsList,
}

impl FinalBody {
    pub(crate) fn pack(last: &FinalComponents) -> Self {
        Self {
            cycle: last.cycle,
            ids: last.components.iter().map(|(id, _)| *id).collect(),
            stats: StatsList::pack(last.components.iter().map(|(_, stats)| stats)),
        }
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.stats.is_sparse()
    }

    pub(crate) fn unpack(self, stats_len: usize) -> Decoded<FinalComponents> {
        let stats = self.stats.unpack(stats_len).ok_or_else(|| broken("statistics of another family"))?;
        if stats.len() != self.ids.len() {
            return Err(broken("as many names as statistics"));
        }
        Ok(FinalComponents { cycle: self.cycle, components: self.ids.into_iter().zip(stats).collect() })
    }
}
