//! What a method is: what its workers push and are answered, the state of a shard, and the
//! coordinator's ledger.
//!
//! [`Worker`](super::Worker) and [`Coordinator`](super::Coordinator) do the rest, the same for
//! every method.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::codec::Content;
use super::gathering::{Gathering, PushContext};
use super::message::{Joining, Plan, ShownLabels, Stamp};
use super::progress::Progress;
use super::{CoordinatorOptions, Decoded, Outbox};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::Result;
use crate::family::Conjugate;
use crate::interrupt::Interrupt;
use crate::model::Alpha;
use crate::rows::Shard;
use crate::stats::Stats;

/// A method: what its nodes send each other and what they own.
pub trait Method: Debug + Clone + PartialEq + Sized + 'static {
    /// What a worker says in a cycle.
    type Push: Content;
    /// The part of the answer that is for one worker.
    type Reply: Content;
    /// The part of the answer that all workers receive, which is encoded once.
    type Shared: Content;
    /// What its workers know beside the plan.
    type ShardOptions: Clone + Send;
    /// The state of a shard.
    type Shard: ShardState<Self> + Send;
    /// The coordinator's state.
    type Ledger: Ledger<Self>;

    /// Whether rows stay with their worker. Where they travel, a lost node takes rows with it, and
    /// the run cannot go on.
    const ROWS_STAY: bool = true;

    /// Whether other workers than before can continue a run from a checkpoint: they join with the
    /// rows they are dealt.
    const CAN_BE_DEALT: bool = false;

    /// Whether a push is the first of a life.
    fn is_joining(push: &Self::Push) -> bool;
}

/// The rows of a worker and what it knows of them, once it has a plan.
pub trait ShardState<M: Method>: Sized {
    /// What a checkpoint holds of it. Everything else can be made again.
    type Memory: Clone + Send + Serialize + DeserializeOwned;

    /// Begins with these rows, and with what an earlier life remembers.
    fn begin(context: ShardContext<'_, M>, memory: Option<Self::Memory>) -> Self;

    /// Labels to begin with, all below `n_components` and the same numbers as the other workers'.
    fn start(labels: Vec<u32>, n_components: u32) -> Self::Memory;

    /// Whether a memory can be that of a worker of these rows.
    fn fits(memory: &Self::Memory, shard: &Shard) -> bool;

    /// The plan.
    fn plan(&self) -> &Plan;

    /// Lets sweeps break off once the flag is raised.
    fn set_interrupt(&mut self, interrupt: Interrupt);

    /// The first push of a life: everything.
    fn join(&mut self) -> M::Push;

    /// Takes in an answer and does what it asks for. What is rejected has changed nothing that a
    /// push depends on.
    fn take(&mut self, reply: M::Reply, shared: Option<M::Shared>) -> Decoded<Response<M>>;

    /// Whether an answer comes at the border of a cycle, where a run can resume from.
    fn is_border(_shared: Option<&M::Shared>) -> bool {
        true
    }

    /// What is to be remembered.
    fn memory(&self) -> Self::Memory;
}

/// What a shard's state is made from.
pub struct ShardContext<'a, M: Method> {
    /// The worker's number.
    pub shard_id: ShardId,
    /// Its rows.
    pub shard: &'a Shard,
    /// What it knows beside the plan.
    pub options: &'a M::ShardOptions,
    /// The plan.
    pub plan: Plan,
    /// Breaks sweeps off.
    pub interrupt: Interrupt,
}

/// What a worker does after an answer.
pub enum Response<M: Method> {
    /// It has drawn labels.
    Swept {
        /// What it showed before.
        shown: Option<ShownLabels>,
        /// Rows that were drawn.
        n_rows: u64,
        /// What comes of it.
        push: M::Push,
    },
    /// It says something without having drawn labels.
    Answer(M::Push),
    /// It shows its labels and rests.
    Last(ShownLabels),
}

/// What a coordinator owns: statistics, and never a row. A checkpoint holds it whole.
pub trait Ledger<M: Method>: Sized + Send + Serialize + DeserializeOwned {
    /// Of a coordinator in another's place for the `n_restarts`-th time, or the first.
    fn new(options: &CoordinatorOptions, n_restarts: u32) -> Self;

    /// Makes again what a checkpoint left out. Whether its statistics are such as this family has.
    fn restore(&mut self, options: &CoordinatorOptions, family: &dyn Conjugate) -> bool;

    /// Which coordinator this is: 0, or the number of restarts before.
    fn epoch(&self) -> u32 {
        0
    }

    /// Puts right the answers that a resumed run sends again.
    fn prepare_answers(&mut self, round: &mut Round<'_, M>) {
        let _ = round;
    }

    /// What a push may say.
    fn check(&self, stamp: Stamp, push: &M::Push, context: &PushContext<'_>) -> Decoded<()>;

    /// The pushes to be answered now: all, once all have come.
    fn ready(&self, cause: Cause, round: &mut Round<'_, M>) -> Vec<(Stamp, M::Push)> {
        match cause {
            Cause::Idle => Vec::new(),
            Cause::Joined(_) | Cause::Pushed | Cause::Lost => round.gathering.take_round().unwrap_or_default(),
        }
    }

    /// In another's place: takes round, cycle and α from what workers join with.
    fn recall(&mut self, pushes: &[(Stamp, M::Push)], round: &mut Round<'_, M>);

    /// Takes pushes in and answers them.
    fn absorb(&mut self, pushes: Vec<(Stamp, M::Push)>, round: &mut Round<'_, M>) -> Result<()>;

    /// A worker is gone, and what it contributed.
    fn lose(&mut self, shard: ShardId, round: &mut Round<'_, M>);

    /// One bounded step while nothing waits.
    fn idle(&mut self, round: &mut Round<'_, M>) {
        let _ = round;
    }

    /// Whether workers have been asked something between two borders.
    fn is_between_borders(&self) -> bool {
        false
    }

    /// Components with rows and their statistics.
    fn components(&self, family: &dyn Conjugate) -> Vec<(ComponentId, Stats)>;
}

/// Why a ledger is asked which pushes are to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The first push of a life has come.
    Joined(ShardId),
    /// A push has come.
    Pushed,
    /// A worker is gone.
    Lost,
    /// Nothing else waits.
    Idle,
}

/// What a ledger works with in a round.
pub struct Round<'a, M: Method> {
    /// The options of the run.
    pub options: &'a CoordinatorOptions,
    /// The workers.
    pub gathering: &'a mut Gathering<M::Push>,
    /// How far the run has come.
    pub progress: &'a mut Progress,
    /// What is said and reported.
    pub out: &'a mut Outbox,
    /// Whether a checkpoint is to come back to this moment as long as workers are asked something
    /// in between.
    pub is_border: bool,
}

impl<M: Method> Round<'_, M> {
    /// In another coordinator's place: takes cycle and α from a worker that joins.
    pub(crate) fn recall(&mut self, joining: &Joining) {
        self.progress.cycle = joining.cycle;
        if self.options.alpha == Alpha::Auto {
            self.progress.alpha = joining.alpha;
        }
    }
}
