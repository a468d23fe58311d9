//! How Dirigent, Prog, Pooled, Hung and Async differ.

use serde::{Deserialize, Serialize};

/// How births find their component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Consolidation {
    /// One by one (Algorithm 1).
    Progressive,
    /// One by one, then merge and split moves over the whole pool.
    Pooled,
    /// A worker's births at once, by the best matching.
    Hungarian,
}

/// When pushes are absorbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Schedule {
    /// When all have come.
    Sync,
    /// As they come.
    Async,
}

/// How rows reach a component in which their worker had none when it was last answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Joins {
    /// They count in that component.
    #[default]
    ById,
    /// They arrive as a birth and are consolidated again: a rule of the authors' program.
    Births,
}

/// The concentration in the first cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FirstAlpha {
    /// α, as in all other cycles.
    #[default]
    Full,
    /// α over the number of workers: a rule of the authors' program.
    Shared,
}
