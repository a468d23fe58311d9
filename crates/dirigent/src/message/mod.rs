//! What nodes say to one another, typed. [`codec`] turns it into frames and back; nothing else knows about bytes.
//!
//! ```text
//! worker: Hello ─► coordinator: Plan ─► worker: Push (full) ─► coordinator: Reply ─► worker: sweep, Push ─► … ─► Reply (last)
//! ```

pub mod av;
pub mod codec;
mod envelope;
mod refusal;
mod row_list;
pub mod slice;
pub mod slice_move;
pub mod subc;
mod wire;

pub(crate) use refusal::require;
pub use refusal::{Decoded, Refusal};
pub use row_list::RowList;

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::halves::{Half, Halves, Part};
use crate::model::Model;
use crate::node::Joins;
use crate::rng::Seed;
use crate::stats::Stats;
use crate::sweep::Kernel;

/// Who pushes, and which push it is. Incarnations are handed out by the coordinator, one for each life of a worker, and never twice: so
/// a worker that was given up and its replacement can never be mistaken for one another.
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
    /// Whether all workers sweep once a cycle: then a sweep's stream is named by its cycle, else by the snapshot that it begins with.
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

/// A worker's contributions: for each piece that changed, the statistics of its rows in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    /// The version of the snapshot it swept against (0: none yet).
    pub base_version: u64,
    /// Set when it says everything (a worker that joins), not only what changed: then all of its vocabulary is named, also without rows.
    pub joining: Option<Joining>,
    /// Statistics of known components; zeros are said.
    pub contributions: Vec<(ComponentId, Part)>,
    /// Statistics of components the worker opened, by birth number.
    pub births: Vec<(u64, Stats)>,
    /// Rows that changed their component since the last push.
    pub moved: u64,
    /// How far components overlapped in the sweep, where that decides about splits and merges.
    pub overlap: Overlap,
}

/// How far components overlap on one worker: L of pairs and of halves, sums of log-probabilities
/// over its rows (`sweep/overlaps.rs`). Components are named by their places in the snapshot that
/// the worker swept against. On the way L is rounded, by at most √|L|/4 + 1/64 nats: less than it
/// varies from sweep to sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlap {
    /// Pairs of components with rows that could be in either, the smaller place first, in order of
    /// the larger one.
    pub pairs: Vec<(u32, u32, f32)>,
    /// Components with halves that rows could be in either of, in order.
    pub halves: Vec<(u32, f32)>,
    /// Σ log of the probability of each row's component among all.
    pub log_certainty: f32,
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

/// All components with rows, as of a version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Rises with every change of the pool that is told to anyone.
    pub version: u64,
    /// By id; `None` for what is as it was in the snapshot the receiver has.
    pub components: Vec<(ComponentId, Option<Told>)>,
}

/// What is told of a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// All of its rows.
    pub total: Stats,
    /// Its halves.
    pub halves: Halves,
}

/// The coordinator's answer to a push, beside the snapshot that all receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The cycle that begins with it (0 is before the first).
    pub cycle: u64,
    /// The concentration.
    pub alpha: f64,
    /// Where each piece went that has rows, where it did not stay what it was named. (A piece that stayed keeps its half as long as the
    /// snapshot has the same generation of it.)
    pub owners: Vec<Moved>,
    /// Whether this is the last word: the worker shows its labels and rests.
    pub is_last: bool,
}

/// A piece that is no longer what its worker calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The worker's name for it.
    pub name: PieceName,
    /// The half, as the worker names it; left where it tells none apart.
    pub half: Half,
    /// The component it belongs to.
    pub owner: ComponentId,
    /// The half of that component, if it is in one.
    pub in_half: Option<Half>,
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
}

/// The model travels as it stands in `run.json`: the wire format proper knows no tagged enums.
mod as_json {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    use crate::model::Model;

    pub(super) fn serialize<S: Serializer>(model: &Model, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(model).map_err(ser::Error::custom)?.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Model, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
