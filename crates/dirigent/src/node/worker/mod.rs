//! The worker: a shard, its labels and the local version of the components (section 4.1 of the paper).
//!
//! A cycle: take in the reply and the snapshot, rebuild the local version, sweep, push what changed. Contributions are recomputed from
//! the labels in row order, so a push is a pure function of the labels. Between a push and its reply the labels rest. Here is the node;
//! what it does in a cycle is in `work`, and `own` puts its contributions into the vocabulary of a snapshot.

mod memory;
mod own;
mod work;

use std::collections::{BTreeSet, HashMap};

use super::checks::check_plan;
use super::life::Life;
use super::{Address, Event, Frame, Node, Outbox};
use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::error::{Error, InputError, Result};
use crate::halves::Half;
use crate::interrupt::Interrupt;
use crate::message::codec::Message;
use crate::message::{Joining, Plan, Reply, Snapshot, Stamp};
use crate::rows::Shard;
use crate::sweep::Kernel;
pub(super) use memory::Memory;
use work::Work;

/// The worker of a shard.
pub struct Worker {
    life: Life,
    /// `None` until the plan has come.
    work: Option<Work>,
    /// Labels from an earlier life, until the plan has come.
    memory: Option<Memory>,
    interrupt: Interrupt,
    /// As it was when the last answer came, until the next one.
    before: Option<Memory>,
}

/// Where a row is, as its worker says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLabel {
    /// The component.
    pub name: PieceName,
    /// The half of it, if it is in one.
    pub half: Option<Half>,
    /// The generation of that component's halves, if it keeps some.
    pub generation: Option<u32>,
}

impl Worker {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        let life = Life::new(shard_id, shard, kernel);
        Self { life, work: None, memory: None, interrupt: Interrupt::new(), before: None }
    }

    /// Lets sweeps break off once the flag is raised.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Self {
        if let Some(work) = &mut self.work {
            work.set_interrupt(interrupt.clone());
        }
        Self { interrupt, ..self }
    }

    /// A worker that goes on from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        let memory = Memory::decode(checkpoint, shard_id, &shard)?;
        Ok(Self { memory, ..Self::new(shard_id, shard, kernel) })
    }

    /// A worker at the border where a checkpoint was taken: it waits for the answer to its push. The coordinator goes on likewise, under the same plan.
    // public for the tests only
    #[doc(hidden)]
    pub fn resume(shard_id: ShardId, shard: Shard, kernel: Kernel, plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        let Some(mut memory) = Memory::decode(checkpoint, shard_id, &shard)? else {
            let problem = format!("the checkpoint of worker {shard_id} is of a run without a plan");
            return Err(InputError::new(problem).into());
        };
        let (incarnation, sequence) = (memory.incarnation, memory.sequence);
        let (halves, generations) = (std::mem::take(&mut memory.halves), std::mem::take(&mut memory.generations));
        let mut work = Work::new(plan, shard.clone(), Some(memory), Interrupt::new());
        work.recall_halves(halves, generations);
        let worker = Self::new(shard_id, shard, kernel);
        Ok(Self { life: worker.life.resumed(incarnation, sequence), work: Some(work), ..worker })
    }

    /// A worker that begins with labels, the same numbers as the other workers'.
    pub fn start_from(shard_id: ShardId, shard: Shard, kernel: Kernel, labels: &[u32]) -> Self {
        assert_eq!(labels.len(), shard.n_rows(), "one label a row");
        let name = |number: &u32| PieceName::Component(ComponentId { epoch: 0, number: u64::from(*number) + 1 });
        let used: BTreeSet<u32> = labels.iter().copied().collect();
        let slots: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
        let names = used.iter().map(name).collect();
        let labels = labels.iter().map(|label| slots[label]).collect();
        let memory = Memory { names, labels, alpha: 1.0, ..Memory::default() };
        Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) }
    }

    /// Where each row is; `None` for a row that is in no component yet.
    pub fn labels(&self) -> Vec<Option<RowLabel>> {
        let Some(work) = &self.work else { return vec![None; self.shard().n_rows()] };
        let label_of = |(&label, half): (&u32, &Option<Half>)| {
            let generation = work.generations.get(label as usize).copied().flatten();
            Some(RowLabel { name: *work.names.get(label as usize)?, half: *half, generation })
        };
        work.sampler.labels().iter().zip(work.sampler.halves()).map(label_of).collect()
    }

    /// Whether it has had its last answer, and rests.
    pub fn is_done(&self) -> bool {
        self.life.is_done()
    }

    /// The rows.
    pub fn shard(&self) -> &Shard {
        self.life.shard()
    }

    /// The push that is outstanding, or was last.
    // public for the tests only
    #[doc(hidden)]
    pub fn stamp(&self) -> Stamp {
        self.life.stamp()
    }

    /// What is to be remembered; before there is a plan there is nothing.
    fn current(&self) -> Option<Memory> {
        let work = self.work.as_ref()?;
        let Stamp { incarnation, sequence, .. } = self.life.stamp();
        Some(Memory { incarnation, sequence, ..work.memory() })
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = self.life.open(from, frame, self.work.as_ref().map(|work| &work.plan))?;
        match message {
            Message::Plan(plan) if self.work.is_none() => {
                check_plan(&plan, self.shard()).map_err(|refusal| refusal.of(from))?;
                self.work = Some(Work::new(plan, self.shard().clone(), self.memory.take(), self.interrupt.clone()));
                self.join(stamp.incarnation, out);
            }
            Message::Rejoin if self.work.is_none() => self.life.say_hello(out),
            Message::Rejoin if self.life.is_before(stamp) => self.join(stamp.incarnation, out),
            Message::Reply(reply, snapshot) if self.life.awaits(stamp) => return self.on_reply(&reply, snapshot, out),
            // late or doubled: what it asks for has been done
            _ => {}
        }
        Ok(())
    }

    /// Begins a life with a push of everything.
    fn join(&mut self, incarnation: u32, out: &mut Outbox) {
        self.life.begin(incarnation);
        let work = self.work.as_mut().expect("a worker joins with a plan");
        work.answered.clear();
        // halves are dropped: they were of another life
        work.generations.clear();
        work.sampler.set_halves(vec![None; work.sampler.labels().len()]);
        let joining = Joining { sum_log_base: work.sampler.sum_log_base(), cycle: work.cycle, alpha: work.alpha };
        self.life.push(&Message::Push(work.push(0, Some(joining))), out);
    }

    fn on_reply(&mut self, reply: &Reply, snapshot: Snapshot, out: &mut Outbox) -> Result<()> {
        let before = self.current();
        let work = self.work.as_mut().expect("a reply answers a push");
        work.take_in(reply, snapshot).map_err(|refusal| refusal.of(Address::Coordinator))?;
        self.before = before;
        if work.plan.shows_labels || reply.is_last {
            self.life.show(&Message::ShownLabels(work.show(reply.is_last)), out);
        }
        if reply.is_last {
            self.life.end(out);
            return Ok(());
        }
        let moved = work.sweep(self.life.shard_id());
        if self.interrupt.is_raised() {
            return Err(Error::Interrupted);
        }
        out.swept_rows += work.sampler.labels().len() as u64 * u64::from(work.plan.sweeps_per_cycle);
        self.life.push(&Message::Push(work.push(moved, None)), out);
        Ok(())
    }
}

impl Node for Worker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.work.is_none() => self.life.say_hello(out),
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            Event::Start | Event::Lost(_) | Event::Stop => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        Memory::encode(&self.current())
    }

    fn checkpoint_before_answer(&self) -> Option<Vec<u8>> {
        self.before.is_some().then(|| Memory::encode(&self.before))
    }
}
