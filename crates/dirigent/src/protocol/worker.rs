//! The worker of every method: hello, plan, lives, rejoining, answers, interruption and
//! checkpoints. What it does with its rows is its method's [`ShardState`].
//!
//! Between a push and its answer the labels rest, so a checkpoint taken then is one of a border.

use serde::{Deserialize, Serialize};

use super::checks::check_plan;
use super::codec::{Message, decode_between, encode};
use super::message::{Hello, Plan, Stamp};
use super::method::{Method, Response, ShardContext, ShardState};
use super::{Address, Event, Frame, Node, Outbox};
use crate::consolidate::ShardId;
use crate::error::{Error, InputError, Result};
use crate::family::OwnFamily;
use crate::interrupt::Interrupt;
use crate::rows::Shard;
use crate::sweep::Kernel;

type MemoryOf<M> = <<M as Method>::Shard as ShardState<M>>::Memory;

/// The worker of a shard.
pub struct Worker<M: Method> {
    shard_id: ShardId,
    shard: Shard,
    kernel: Kernel,
    options: M::ShardOptions,
    incarnation: u32,
    sequence: u64,
    is_done: bool,
    /// `None` until the plan has come.
    state: Option<M::Shard>,
    /// What an earlier life remembers, until the plan has come.
    memory: Option<MemoryOf<M>>,
    interrupt: Interrupt,
    /// The family of a plan that has only its name.
    own_family: Option<OwnFamily>,
    /// As it was when the last answer came, until the next one.
    before: Option<WorkerCheckpoint<MemoryOf<M>>>,
}

/// A worker between a push and its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WorkerCheckpoint<S> {
    /// The push that waits for its answer.
    incarnation: u32,
    sequence: u64,
    pub(crate) state: S,
}

impl<S> WorkerCheckpoint<S> {
    /// Of a worker that begins another life with it.
    pub(crate) fn of(state: S) -> Self {
        Self { incarnation: 0, sequence: 0, state }
    }
}

impl<S: Serialize + for<'de> Deserialize<'de>> WorkerCheckpoint<S> {
    /// `None` of a worker that had nothing to remember.
    pub(crate) fn encode(checkpoint: Option<&Self>) -> Vec<u8> {
        postcard::to_stdvec(&checkpoint).expect("a checkpoint is plain data")
    }

    pub(crate) fn decode(bytes: &[u8], shard_id: ShardId) -> Result<Option<Self>> {
        let unreadable =
            |error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}"));
        Ok(postcard::from_bytes(bytes).map_err(unreadable)?)
    }
}

impl<M: Method<ShardOptions = ()>> Worker<M> {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        Self::with_options(shard_id, shard, kernel, ())
    }

    /// A worker that resumes from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        Self::new(shard_id, shard, kernel).restored(checkpoint)
    }
}

impl<M: Method> Worker<M> {
    /// The worker of a shard whose rows are all unassigned, which knows more than its plan.
    pub fn with_options(shard_id: ShardId, shard: Shard, kernel: Kernel, options: M::ShardOptions) -> Self {
        Self {
            shard_id,
            shard,
            kernel,
            options,
            incarnation: 0,
            sequence: 0,
            is_done: false,
            state: None,
            memory: None,
            interrupt: Interrupt::new(),
            own_family: None,
            before: None,
        }
    }

    /// The same worker with labels to begin with, all below `n_components` and the same numbers as
    /// the other workers'.
    #[must_use]
    pub fn starting_from(self, labels: Vec<u32>, n_components: u32) -> Self {
        assert_eq!(labels.len(), self.shard.n_rows(), "one label per row");
        Self { memory: Some(M::Shard::start(labels, n_components)), ..self }
    }

    /// The same worker in another life, with the checkpoint of an earlier one: it joins again.
    pub fn restored(self, checkpoint: &[u8]) -> Result<Self> {
        if !M::ROWS_STAY {
            return Err(rows_lost(&format!("worker {}", self.shard_id)));
        }
        let memory = self.read(checkpoint)?.map(|checkpoint| checkpoint.state);
        Ok(Self { memory, ..self })
    }

    /// The same worker at the border where a checkpoint was taken: it waits for the answer to its
    /// push. The coordinator resumes likewise, under the same plan.
    pub fn resumed(mut self, plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        let Some(checkpoint) = self.read(checkpoint)? else {
            let problem = format!("the checkpoint of worker {} is of a run without a plan", self.shard_id);
            return Err(InputError::new(problem).into());
        };
        (self.incarnation, self.sequence) = (checkpoint.incarnation, checkpoint.sequence);
        self.state = Some(M::Shard::begin(self.context(plan), Some(checkpoint.state)));
        Ok(self)
    }

    /// Lets sweeps break off once the flag is raised.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Self {
        if let Some(state) = &mut self.state {
            state.set_interrupt(interrupt.clone());
        }
        Self { interrupt, ..self }
    }

    /// The same worker, which knows a family from outside the crate.
    #[must_use]
    pub(crate) fn with_family(self, own_family: Option<OwnFamily>) -> Self {
        Self { own_family, ..self }
    }

    fn read(&self, checkpoint: &[u8]) -> Result<Option<WorkerCheckpoint<MemoryOf<M>>>> {
        let checkpoint = WorkerCheckpoint::decode(checkpoint, self.shard_id)?;
        if checkpoint.as_ref().is_some_and(|checkpoint| !M::Shard::fits(&checkpoint.state, &self.shard)) {
            let (shard_id, n_rows) = (self.shard_id, self.shard.n_rows());
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {n_rows} rows");
            return Err(InputError::new(problem).into());
        }
        Ok(checkpoint)
    }

    fn context(&self, plan: Plan) -> ShardContext<'_, M> {
        let (shard, options, interrupt) = (&self.shard, &self.options, self.interrupt.clone());
        ShardContext { shard_id: self.shard_id, shard, options, plan, interrupt }
    }

    /// Whether it has had its last answer, and rests.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The rows it began with.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The push that is outstanding, or was last.
    // public for the tests only
    #[doc(hidden)]
    pub fn stamp(&self) -> Stamp {
        Stamp { shard: self.shard_id, incarnation: self.incarnation, sequence: self.sequence }
    }

    /// The state of its rows, once there is a plan.
    pub fn state(&self) -> Option<&M::Shard> {
        self.state.as_ref()
    }

    /// What an earlier life remembers, until the plan has come.
    pub(crate) fn memory(&self) -> Option<&MemoryOf<M>> {
        self.memory.as_ref()
    }

    /// What is to be remembered, once there is a plan.
    fn current(&self) -> Option<WorkerCheckpoint<MemoryOf<M>>> {
        let (incarnation, sequence) = (self.incarnation, self.sequence);
        self.state.as_ref().map(|state| WorkerCheckpoint { incarnation, sequence, state: state.memory() })
    }

    fn say_hello(&self, out: &mut Outbox) {
        let (n_rows, n_columns) = (self.shard.n_rows() as u64, self.shard.n_columns() as u64);
        let hello = Hello { n_rows, n_columns, is_counts: self.shard.is_counts(), kernel: self.kernel };
        out.send(Address::Coordinator, encode::<M>(self.stamp(), &Message::Hello(hello)));
    }

    fn push(&mut self, push: M::Push, out: &mut Outbox) {
        self.sequence += 1;
        out.send(Address::Coordinator, encode::<M>(self.stamp(), &Message::Push(push)));
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between::<M>(frame, from, Address::Worker(self.shard_id))?;
        match message {
            Message::Plan(mut plan) if self.state.is_none() => {
                plan.model.adopt(self.own_family.as_ref());
                check_plan(&plan, &self.shard).map_err(|rejection| rejection.of(from))?;
                let memory = self.memory.take();
                self.state = Some(M::Shard::begin(self.context(plan), memory));
                self.join(stamp.incarnation, out);
            }
            Message::Rejoin if !M::ROWS_STAY => {}
            Message::Rejoin if self.state.is_none() => self.say_hello(out),
            Message::Rejoin if stamp.incarnation > self.incarnation => self.join(stamp.incarnation, out),
            Message::Reply(reply, shared) if stamp == self.stamp() && !self.is_done && self.state.is_some() => {
                return self.on_reply(reply, shared, out);
            }
            // late or doubled: what it asks for has been done
            _ => {}
        }
        Ok(())
    }

    /// Begins a life with a push of everything.
    fn join(&mut self, incarnation: u32, out: &mut Outbox) {
        (self.incarnation, self.sequence, self.is_done) = (incarnation, 0, false);
        let push = self.state.as_mut().expect("a worker joins with a plan").join();
        self.push(push, out);
    }

    fn on_reply(&mut self, reply: M::Reply, shared: Option<M::Shared>, out: &mut Outbox) -> Result<()> {
        let is_border = M::Shard::is_border(shared.as_ref());
        let before = if is_border { self.current() } else { None };
        let state = self.state.as_mut().expect("a reply answers a push");
        let response = state.take(reply, shared).map_err(|rejection| rejection.of(Address::Coordinator))?;
        if is_border {
            self.before = before;
        }
        match response {
            Response::Swept { shown, n_rows, push } => {
                if let Some(shown) = shown {
                    out.send(Address::Driver, encode::<M>(self.stamp(), &Message::ShownLabels(shown)));
                }
                if self.interrupt.is_raised() {
                    return Err(Error::Interrupted);
                }
                out.swept_rows += n_rows;
                self.push(push, out);
            }
            Response::Answer(push) => self.push(push, out),
            Response::Last(shown) => {
                out.send(Address::Driver, encode::<M>(self.stamp(), &Message::ShownLabels(shown)));
                (self.is_done, out.is_done) = (true, true);
            }
        }
        Ok(())
    }
}

/// A node is lost, of a method whose rows travel.
pub(crate) fn rows_lost(who: &str) -> Error {
    let problem = format!("{who} was lost, and rows with it that nobody else has: method av cannot go on");
    Error::Io { doing: "the run".to_owned(), source: std::io::Error::other(problem) }
}

impl<M: Method> Node for Worker<M>
where
    MemoryOf<M>: Send,
{
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.state.is_none() => self.say_hello(out),
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            Event::Start | Event::Lost(_) | Event::Stop => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        // before there is a plan there is nothing to remember but what it began with
        let checkpoint = self.current().or_else(|| self.memory.clone().map(WorkerCheckpoint::of));
        WorkerCheckpoint::encode(checkpoint.as_ref())
    }

    fn checkpoint_before_answer(&self) -> Option<Vec<u8>> {
        self.before.as_ref().map(|before| WorkerCheckpoint::encode(Some(before)))
    }
}
