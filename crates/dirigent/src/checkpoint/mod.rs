//! The state of a run at the border of a cycle: enough to go on as if uninterrupted.
//!
//! Each layer of a run adds what only it knows: the sampler or the nodes their state ([`Stage`]),
//! the exact finish what the faster method has found ([`FoundState`]), the chains what has come
//! before ([`Earlier`]). On the way in, each takes out its own part again. [`folder`] puts it on
//! disk.

pub mod folder;

use serde::{Deserialize, Serialize};

use crate::engine::RunTotals;
use crate::method::cgs::Outcome;
use crate::method::chains::Earlier;
use crate::posterior::horizon::Horizon;
use crate::trace::CycleInfo;

/// A run between two cycles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Where the sampler is.
    pub stage: Stage,
    /// What a faster method has found, where an exact sampler resumes from there.
    pub found: Option<FoundState>,
    /// What chains before this one did, and what this one has told.
    pub earlier: Earlier,
}

impl RunState {
    /// Whether there is more than the options to resume from.
    pub fn has_begun(&self) -> bool {
        self.found.is_some() || !matches!(self.stage, Stage::Start)
    }

    /// For people: which chain, from 1, and how many cycles of it.
    pub fn place(&self) -> (u16, u64) {
        let before = self.found.as_ref().map_or(0, |found| found.outcome.cycles);
        let cycle = match &self.stage {
            Stage::Start => 0,
            Stage::Chain(chain) => chain.cycle,
            Stage::Nodes(nodes) => nodes.pending.as_ref().map_or(0, |info| info.cycle),
        };
        (self.earlier.chain.saturating_add(1), before.saturating_add(cycle))
    }
}

/// Where a sampler is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// Before its first cycle.
    #[default]
    Start,
    /// On one worker.
    Chain(ChainState),
    /// With a coordinator and workers.
    Nodes(NodesState),
}

impl From<Stage> for RunState {
    fn from(stage: Stage) -> Self {
        Self { stage, ..Self::default() }
    }
}

/// A chain of one worker: everything else is recomputed from the labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainState {
    /// The component of each row, numbered from 0 without gaps.
    pub labels: Vec<u32>,
    /// The concentration.
    pub alpha: f64,
    /// Cycles done.
    pub cycle: u64,
    /// What the rule that ends the run has seen.
    pub horizon: Horizon,
    /// Seconds used.
    pub seconds: f64,
}

/// Nodes at a border: the coordinator has answered, and no worker has heard it yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodesState {
    /// The coordinator, as it says itself.
    pub coordinator: Vec<u8>,
    /// The workers by number, as they say themselves.
    pub workers: Vec<Vec<u8>>,
    /// What the engine has counted.
    pub totals: RunTotals,
    /// The cycle that was reported last, whose labels are still to be shown.
    pub pending: Option<CycleInfo>,
}

/// What a faster method has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundState {
    /// Its outcome.
    pub outcome: Outcome,
    /// What it took.
    pub totals: RunTotals,
}
