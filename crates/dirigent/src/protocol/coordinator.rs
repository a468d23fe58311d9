//! The coordinator of every method: hellos, pushes, what becomes of lost workers, checkpoints, and
//! a run that is rebuilt or resumed. When it answers and what is its method's [`Ledger`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::codec::{Message, decode_between, decode_own};
use super::gathering::{Gathering, PushContext};
use super::members::MembersMemory;
use super::message::{Plan, Stamp};
use super::method::{Cause, Ledger, Method, Round};
use super::progress::Progress;
use super::worker::rows_lost;
use super::{Address, CoordinatorOptions, Event, Frame, Node, Outbox};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::{InputError, Result};
use crate::method::consolidated::Schedule;
use crate::model::Model;
use crate::posterior::horizon::Horizon;
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct Coordinator<M: Method> {
    options: CoordinatorOptions,
    gathering: Gathering<M::Push>,
    progress: Progress,
    pub(crate) ledger: M::Ledger,
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

impl<M: Method> Coordinator<M> {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: CoordinatorOptions, model: Model) -> Self {
        Self {
            gathering: Gathering::new(options.n_workers, model),
            progress: Progress::new(&options),
            ledger: M::Ledger::new(&options, 0),
            is_resumed: false,
            border: None,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there
    /// are, are asked to send everything.
    pub fn rebuild(options: CoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let mut new = Self::new(options, plan.model.clone());
        new.gathering = Gathering::again(plan, workers, n_restarts);
        new.ledger = M::Ledger::new(&new.options, n_restarts);
        new.progress.is_rebuilding = true;
        new
    }

    /// A coordinator that resumes from a checkpoint, together with its workers. The options may ask
    /// for more cycles than before, and for other workers where the method can deal them the rows:
    /// those join again, as do workers at their own pace, which share no border.
    pub fn resume(options: CoordinatorOptions, checkpoint: &[u8]) -> Result<Self> {
        let saved = read::<M>(checkpoint)?;
        let horizon = saved.horizon.going_on(options.cycles, options.n_kept);
        if saved.has_closed && horizon.last_cycle() > saved.cycle {
            return Err(too_late().into());
        }
        let mut ledger = saved.ledger;
        if !ledger.restore(&options, saved.plan.model.conjugate()) {
            return Err(another_run().into());
        }
        let has_its_workers = saved.members.shards().eq(0..options.n_workers);
        if M::CAN_BE_DEALT && (options.schedule == Schedule::Async || !has_its_workers) {
            let workers: Vec<ShardId> = (0..options.n_workers).collect();
            let mut new = Self::rebuild(options, saved.plan, &workers, ledger.epoch() + 1);
            (new.progress.horizon, new.progress.cycle) = (horizon, saved.cycle);
            return Ok(new);
        }
        if !has_its_workers {
            return Err(another_run().into());
        }
        let mut new = Self::new(options, saved.plan.model.clone());
        new.gathering = Gathering::resumed(saved.plan, saved.members);
        new.progress = Progress::resumed(saved.cycle, saved.alpha, horizon, saved.has_closed);
        (new.ledger, new.is_resumed, new.border) = (ledger, true, Some(checkpoint.to_vec()));
        new.with_round(&mut Outbox::default(), |ledger, round| ledger.prepare_answers(round));
        Ok(new)
    }

    /// The plan, once there is one.
    pub fn plan(&self) -> Option<&Plan> {
        self.gathering.plan()
    }

    /// Components with rows and their statistics.
    pub fn components(&self) -> Vec<(ComponentId, Stats)> {
        self.plan().map_or_else(Vec::new, |plan| self.ledger.components(plan.model.conjugate()))
    }

    /// Which push of each member has been absorbed last, and the answer to it.
    // public for the tests only
    #[doc(hidden)]
    pub fn absorbed(&self) -> impl Iterator<Item = (Stamp, Option<&Frame>)> {
        self.gathering.members().answered_pushes()
    }

    fn with_round<T>(&mut self, out: &mut Outbox, act: impl FnOnce(&mut M::Ledger, &mut Round<'_, M>) -> T) -> T {
        let Self { options, gathering, progress, ledger, .. } = self;
        let mut round = Round { options, gathering, progress, out, is_border: false };
        let result = act(ledger, &mut round);
        if round.is_border {
            self.border = Some(self.state());
        }
        result
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between::<M>(frame, from, Address::Coordinator)?;
        match message {
            Message::Hello(hello) => {
                let plan = |model: &Model, n_rows, kernel| self.options.plan(model, n_rows, kernel);
                self.gathering.on_hello(stamp, hello, plan, out)
            }
            Message::Push(push) => {
                let (is_joining, ledger) = (M::is_joining(&push), &self.ledger);
                let check = |push: &M::Push, context: &PushContext<'_>| ledger.check(stamp, push, context);
                if self.gathering.on_push(stamp, is_joining, push, check, out)? {
                    self.answer(if is_joining { Cause::Joined(stamp.shard) } else { Cause::Pushed }, out)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes in and answers the pushes that are ready; whether there were any.
    pub(crate) fn answer(&mut self, cause: Cause, out: &mut Outbox) -> Result<bool> {
        let is_any_ready = self.with_round(out, |ledger, round| {
            let pushes = ledger.ready(cause, round);
            if pushes.is_empty() {
                return Ok(false);
            }
            if round.progress.is_rebuilding {
                ledger.recall(&pushes, round);
                round.progress.is_rebuilding = false;
            }
            ledger.absorb(pushes, round).map(|()| true)
        })?;
        if is_any_ready {
            out.is_done = self.is_done();
        }
        Ok(is_any_ready)
    }

    fn is_done(&self) -> bool {
        self.progress.has_closed() && self.gathering.all_released()
    }

    /// Nothing before there is a plan.
    fn state(&self) -> Vec<u8> {
        let state = self.plan().map(|plan| CoordinatorCheckpoint {
            plan: plan.clone(),
            members: self.gathering.members().memory(),
            ledger: &self.ledger,
            alpha: self.progress.alpha,
            cycle: self.progress.cycle,
            horizon: self.progress.horizon.clone(),
            has_closed: self.progress.has_closed(),
        });
        postcard::to_stdvec(&state).expect("a checkpoint is plain data")
    }
}

impl<M: Method> Node for Coordinator<M> {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.progress.is_rebuilding && self.plan().is_some() => self.gathering.ask_all(out),
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
                self.gathering.forget(shard);
                self.with_round(out, |ledger, round| ledger.lose(shard, round));
                out.is_done = self.is_done();
                self.answer(Cause::Lost, out)?;
            }
            Event::Stop => self.progress.stop(),
        }
        Ok(())
    }

    /// Answers workers that have pushed at their own pace; if there are none, the ledger may refine
    /// what it has.
    fn idle(&mut self, out: &mut Outbox) -> Result<bool> {
        if self.answer(Cause::Idle, out)? {
            return Ok(true);
        }
        self.with_round(out, |ledger, round| ledger.idle(round));
        Ok(false)
    }

    fn checkpoint(&self) -> Vec<u8> {
        match &self.border {
            Some(border) if self.ledger.is_between_borders() => border.clone(),
            _ => self.state(),
        }
    }
}

fn read<M: Method>(checkpoint: &[u8]) -> Result<CoordinatorCheckpoint<M::Ledger>> {
    let saved: Option<CoordinatorCheckpoint<M::Ledger>> = postcard::from_bytes(checkpoint)
        .map_err(|error| InputError::new(format!("the checkpoint of the coordinator cannot be read: {error}")))?;
    Ok(saved.ok_or_else(another_run)?)
}

/// The answer that each worker was about to receive at the border of a checkpoint.
pub(crate) fn saved_answers<M: Method>(checkpoint: &[u8]) -> Result<BTreeMap<ShardId, M::Reply>> {
    let answer = |(shard, answer): (ShardId, &[u8])| {
        let reply = decode_own(answer).map_err(|rejection| rejection.of(Address::Coordinator))?;
        Ok((shard, reply))
    };
    read::<M>(checkpoint)?.members.answers().map(answer).collect()
}

/// Of a coordinator that has given its last answers.
fn too_late() -> InputError {
    InputError::new("the run had done its last cycle when it was interrupted: it cannot be made longer")
        .hint("resume it as it was")
}

fn another_run() -> InputError {
    InputError::new("the checkpoint of the coordinator is of another run")
}
