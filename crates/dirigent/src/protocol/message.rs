//! What nodes of every method say to one another, typed. [`codec`](super::codec) turns it into
//! frames and back; nothing else knows about bytes.

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, ShardId};
use crate::method::consolidated::Joins;
use crate::model::Model;
use crate::rng::Seed;
use crate::sweep::Kernel;

/// Who pushes, and which push it is. Incarnations are handed out by the coordinator, one for each
/// life of a worker, and never twice: so a worker that was given up and its replacement can never
/// be mistaken for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The shard, which is the worker's number.
    pub shard: ShardId,
    /// Which life of the worker; 0 before it was given one.
    pub incarnation: u32,
    /// Which push of that life, from 1.
    pub sequence: u64,
}

/// A worker's first word: what it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// How many rows.
    pub n_rows: u64,
    /// How many columns they have.
    pub n_columns: u64,
    /// Whether they are word counts.
    pub is_counts: bool,
    /// The best instructions it has.
    pub kernel: Kernel,
}

/// What every worker must know before the first cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The family, priors resolved.
    #[serde(with = "as_json")]
    pub model: Model,
    /// The instructions that all workers have.
    pub kernel: Kernel,
    /// The seed of all randomness.
    pub seed: u64,
    /// Which of several independent chains, from 0.
    pub chain: u16,
    /// Sweeps between two pushes.
    pub sweeps_per_cycle: u32,
    /// How rows reach a component in which their worker had none when it was last answered.
    pub joins: Joins,
    /// In the first cycle, workers sweep with α over this.
    pub alpha_shares: u32,
    /// Whether all workers sweep once a cycle: then a sweep's stream is named by its cycle, else by
    /// the snapshot that it begins with.
    pub is_in_step: bool,
    /// Whether workers show their labels to the driver after every cycle.
    pub shows_labels: bool,
    /// Whether workers count how far components overlap.
    pub counts_overlaps: bool,
    /// The number of rows of all workers together.
    pub n_rows: u64,
}

impl Plan {
    /// The seed of the chain.
    pub fn seed(&self) -> Seed {
        Seed { seed: self.seed, chain: self.chain }
    }
}

/// What a worker that joins says beside its contributions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Joining {
    /// Σ log h(x) over its rows.
    pub sum_log_base: f64,
    /// The cycle and the α it knows, for a coordinator that must be rebuilt.
    pub cycle: u64,
    /// The concentration it knows.
    pub alpha: f64,
}

/// A worker's labels, for the driver only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownLabels {
    /// After which cycle.
    pub cycle: u64,
    /// What the labels stand for.
    pub components: Vec<ComponentId>,
    /// One a row, an index into `components`.
    pub labels: Vec<u32>,
    /// The most probable component of each row and its probability, at the end.
    pub assignments: Option<(Vec<u32>, Vec<f32>)>,
    /// The rows' places in the input, where rows travel.
    pub places: Option<Vec<u64>>,
}

/// The model travels as it stands in `run.json`: the wire format proper knows no tagged enums.
mod as_json {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    use crate::model::Model;

    pub(crate) fn serialize<S: Serializer>(model: &Model, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(model).map_err(ser::Error::custom)?.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Model, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
