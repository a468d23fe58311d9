//! The coordinator of every method in rounds: hellos, pushes of all, what becomes of lost workers, checkpoints, and a run that is rebuilt or
//! resumed. What it answers is its method's [`Ledger`].

use serde::{Deserialize, Serialize};

use super::codec::{Message, decode_between};
use super::gathering::{Gathering, PushContext};
use super::members::MembersMemory;
use super::message::{Plan, Stamp};
use super::method::{Ledger, Round, RoundMethod};
use super::progress::Progress;
use super::worker::rows_lost;
use super::{Address, Event, Frame, Node, Outbox, RoundsCoordinatorOptions};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::{InputError, Result};
use crate::model::Model;
use crate::posterior::horizon::Horizon;
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct Coordinator<M: RoundMethod> {
    options: RoundsCoordinatorOptions,
    gathering: Gathering<M::Push>,
    progress: Progress,
    ledger: M::Ledger,
    /// Set until a coordinator in another's place has heard from all workers.
    is_rebuilding: bool,
    /// Set for one that resumes from a checkpoint: it begins by sending its last answers again.
    is_resumed: bool,
    /// As it was at the last border, of a method that asks workers something in between.
    border: Option<Vec<u8>>,
}

/// All that the coordinator knows between two cycles.
#[derive(Serialize, Deserialize)]
struct CoordinatorCheckpoint<L> {
    plan: Plan,
    members: MembersMemory,
    ledger: L,
    alpha: f64,
    cycle: u64,
    horizon: Horizon,
    has_closed: bool,
}

impl<M: RoundMethod> Coordinator<M> {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: RoundsCoordinatorOptions, model: Model) -> Self {
        Self {
            gathering: Gathering::new(options.n_workers, model),
            progress: Progress::new(&options),
            ledger: M::Ledger::new(0),
            is_rebuilding: false,
            is_resumed: false,
            border: None,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: RoundsCoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let new = Self::new(options, plan.model.clone());
        let gathering = Gathering::again(plan, workers, n_restarts);
        Self { gathering, ledger: M::Ledger::new(n_restarts), is_rebuilding: true, ..new }
    }

    /// A coordinator that resumes from a checkpoint, together with its workers. The options may ask for more cycles than before.
    pub fn resume(options: RoundsCoordinatorOptions, checkpoint: &[u8]) -> Result<Self> {
        let saved: Option<CoordinatorCheckpoint<M::Ledger>> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of the coordinator cannot be read: {error}")))?;
        let is_ours = |saved: &CoordinatorCheckpoint<M::Ledger>| {
            saved.members.shards().eq(0..options.n_workers) && saved.ledger.fits(saved.plan.model.conjugate())
        };
        let saved = saved
            .filter(is_ours)
            .ok_or_else(|| InputError::new("the checkpoint of the coordinator is of another run"))?;
        let horizon = saved.horizon.going_on(options.cycles, options.n_kept);
        let new = Self::new(options, saved.plan.model.clone());
        Ok(Self {
            gathering: Gathering::resumed(saved.plan, saved.members),
            progress: Progress::resumed(saved.cycle, saved.alpha, horizon, saved.has_closed),
            ledger: saved.ledger,
            is_resumed: true,
            border: Some(checkpoint.to_vec()),
            ..new
        })
    }

    /// The plan, once there is one.
    pub fn plan(&self) -> Option<&Plan> {
        self.gathering.plan()
    }

    /// Components with rows and their statistics, added up in worker order.
    pub fn components(&self) -> Vec<(ComponentId, Stats)> {
        self.plan().map_or_else(Vec::new, |plan| self.ledger.components(plan.model.conjugate()))
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, self.gathering.stats_len())?;
        if let Message::Hello(hello) = message {
            let plan = |model: &Model, n_rows, kernel| self.options.plan(model, n_rows, kernel);
            return self.gathering.on_hello(stamp, hello, plan, out);
        }
        let Some(push) = M::push(message) else { return Ok(()) };
        let (is_joining, ledger) = (M::is_joining(&push), &self.ledger);
        let check = |push: &M::Push, context: &PushContext<'_>| ledger.check(stamp, push, context);
        let pushes = self.gathering.on_push(stamp, is_joining, push, check, out)?;
        pushes.map_or(Ok(()), |pushes| self.absorb(pushes, out))
    }

    fn absorb(&mut self, pushes: Vec<(Stamp, M::Push)>, out: &mut Outbox) -> Result<()> {
        let Self { options, gathering, progress, ledger, .. } = self;
        let mut round = Round { options, gathering, progress, out, is_border: false };
        if std::mem::take(&mut self.is_rebuilding) {
            ledger.recall(&pushes, &mut round);
        }
        ledger.absorb(pushes, &mut round)?;
        if round.is_border {
            self.border = Some(self.state());
        }
        out.is_done = self.is_done();
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.progress.has_closed() && self.gathering.all_released()
    }

    /// Nothing before there is a plan.
    fn state(&self) -> Vec<u8> {
        let state = self.plan().map(|plan| CoordinatorCheckpoint {
            plan: plan.clone(),
            members: self.gathering.members().memory(true),
            ledger: &self.ledger,
            alpha: self.progress.alpha,
            cycle: self.progress.cycle,
            horizon: self.progress.horizon().clone(),
            has_closed: self.progress.has_closed(),
        });
        postcard::to_stdvec(&state).expect("a checkpoint is plain data")
    }
}

impl<M: RoundMethod> Node for Coordinator<M> {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.is_rebuilding => self.gathering.ask_all(out),
            Event::Start if self.is_resumed => {
                self.gathering.answer_again(out);
                out.is_done = self.is_done();
            }
            Event::Start => {}
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            // it has had its last answer
            Event::Lost(_) if !M::ROWS_STAY && self.is_done() => {}
            Event::Lost(shard) if !M::ROWS_STAY => return Err(rows_lost(&format!("worker {shard}"))),
            Event::Lost(shard) => {
                self.ledger.lose(shard);
                let pushes = self.gathering.lose(shard);
                out.is_done = self.is_done();
                return pushes.map_or(Ok(()), |pushes| self.absorb(pushes, out));
            }
            Event::Stop => self.progress.stop(),
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        match &self.border {
            Some(border) if self.ledger.is_between_borders() => border.clone(),
            _ => self.state(),
        }
    }
}
