//! The state of a run at the border of a cycle: enough to go on as if nothing had happened.
//!
//! Each layer of a run adds what only it knows: the sampler or the nodes their state ([`Stage`]), the exact finish what the faster method has found
//! ([`Found`]), the chains what has come before ([`Earlier`]). On the way in, each takes out its own part again. [`folder`] puts it on disk.

pub mod folder;

use serde::{Deserialize, Serialize};

use crate::engine::RunTotals;
use crate::method::cgs::Outcome;
use crate::method::chains::Earlier;
use crate::posterior::horizon::Horizon;
use crate::trace::CycleInfo;

/// A run between two cycles.
///
/// ```
/// use dirigent::Result;
/// use dirigent::checkpoint::Saved;
/// use dirigent::method::cgs::{self, CgsOptions, Observer};
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::posterior::horizon::Cycles;
/// use dirigent::rows::{Shard, Table};
/// use dirigent::survey::Survey;
///
/// /// Goes on from what is there, and asks for the state after every cycle.
/// #[derive(Default)]
/// struct Keeper(Option<Saved>);
///
/// impl Observer for Keeper {
///     fn take_saved(&mut self) -> Option<Saved> {
///         self.0.take()
///     }
///
///     fn wants_checkpoint(&mut self) -> bool {
///         true
///     }
///
///     fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
///         self.0 = Some(saved);
///         Ok(())
///     }
/// }
///
/// let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 0.1, 0.2, 9.0, 9.1]));
/// let options = ModelOptions { noise_sd: Some(0.5), mean_sd: Some(5.0), ..ModelOptions::default() };
/// let model = Model::resolve(&options, &Survey::of(&rows))?;
/// let run = |n_cycles, keeper: &mut Keeper| {
///     let options = CgsOptions { cycles: Cycles::Fixed(n_cycles), ..CgsOptions::default() };
///     cgs::run(&rows, &model, &options, None, keeper)
/// };
/// // ten cycles, and from there ten more, are the same as twenty
/// let mut keeper = Keeper::default();
/// run(10, &mut keeper)?;
/// assert!(keeper.0.is_some());
/// let in_two_parts = run(20, &mut keeper)?;
/// assert_eq!(in_two_parts, run(20, &mut Keeper::default())?);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Where the sampler is.
    pub stage: Stage,
    /// What a faster method has found, where an exact sampler goes on from there.
    pub found: Option<Found>,
    /// What chains before this one did, and what this one has told.
    pub earlier: Earlier,
}

impl Saved {
    /// Whether there is more than the options to go on from.
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
///
/// ```
/// use dirigent::checkpoint::{Saved, Stage};
///
/// // the first chain, before its first cycle
/// let saved = Saved::from(Stage::Start);
/// assert_eq!(saved.place(), (1, 0));
/// ```
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

impl From<Stage> for Saved {
    fn from(stage: Stage) -> Self {
        Self { stage, ..Self::default() }
    }
}

/// A chain of one worker: everything else is recomputed from the labels.
///
/// ```
/// use dirigent::checkpoint::{ChainState, Saved, Stage};
/// use dirigent::posterior::horizon::{Cycles, Horizon};
///
/// let horizon = Horizon::new(Cycles::Fixed(20), 0);
/// let chain = ChainState { labels: vec![0, 1, 1], alpha: 0.5, cycle: 12, horizon, seconds: 3.0 };
/// assert_eq!(Saved::from(Stage::Chain(chain)).place(), (1, 12));
/// ```
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
///
/// ```
/// use dirigent::checkpoint::{NodesState, Saved, Stage};
/// use dirigent::trace::CycleInfo;
///
/// // what nodes say of themselves is for them alone to read
/// let nodes = NodesState {
///     coordinator: vec![1, 2, 3],
///     workers: vec![vec![4, 5], vec![6]],
///     pending: Some(CycleInfo { cycle: 9, ..CycleInfo::default() }),
///     ..NodesState::default()
/// };
/// assert_eq!(Saved::from(Stage::Nodes(nodes)).place(), (1, 9));
/// ```
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
///
/// ```
/// use dirigent::checkpoint::{Found, Saved};
/// use dirigent::engine::RunTotals;
/// use dirigent::method::cgs::Outcome;
/// use dirigent::posterior::horizon::StoppedBecause;
/// # let outcome = Outcome {
/// #     state: vec![0, 0],
/// #     labels: vec![0, 0],
/// #     certainty: vec![1.0, 1.0],
/// #     k: 1,
/// #     components: Vec::new(),
/// #     log_joint: -2.5,
/// #     alpha: 1.0,
/// #     cycles: 40,
/// #     stopped_because: StoppedBecause::Stationary,
/// # };
///
/// // `outcome` took 40 cycles; the exact sampler goes on from there, and its cycles are counted after them
/// let found = Found { outcome, totals: RunTotals::default() };
/// assert_eq!(Saved { found: Some(found), ..Saved::default() }.place(), (1, 40));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Its outcome.
    pub outcome: Outcome,
    /// What it took.
    pub totals: RunTotals,
}
