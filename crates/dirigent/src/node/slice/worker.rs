//! The worker of the slice sampler: a shard and its labels.
//!
//! A round: take in weights and parameters, draw every label, push the statistics and the smallest uniforms of the next round. Between a
//! push and its reply the labels rest.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::sides::Rows;
use crate::consolidate::{ComponentId, ShardId};
use crate::error::{Error, InputError, Result};
use crate::interrupt::Interrupt;
use crate::message::codec::Message;
use crate::message::slice::{SliceContribution, SliceDraw, SliceLast, SlicePush, SliceReply};
use crate::message::slice_move::{SliceMove, SliceSettlement, SliceSides};
use crate::message::{Decoded, Joining, Plan, Refusal, ShownLabels, Stamp, require};
use crate::node::checks::{check_alpha, check_count, check_last, check_plan};
use crate::node::life::Life;
use crate::node::rounds::{assigned, by_final_number, renamed};
use crate::node::{Address, Event, Frame, Node, Outbox};
use crate::rng::{Role, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::slice::{SliceSampler, slice_sampler, smallest_uniforms};
use crate::sweep::{Kernel, UNASSIGNED};

/// The worker of a shard.
pub struct SliceWorker {
    life: Life,
    /// `None` until the plan has come.
    work: Option<Work>,
    /// Labels from an earlier life, until the plan has come.
    memory: Option<Memory>,
    interrupt: Interrupt,
    /// As it was when the last answer came, until the next one.
    before: Option<Memory>,
}

/// What a worker does once it has a plan.
struct Work {
    plan: Plan,
    sampler: Box<dyn SliceSampler>,
    /// What the labels stand for.
    ids: Vec<ComponentId>,
    round: u64,
    cycle: u64,
    alpha: f64,
    /// The rows that were last drawn to the right of a component, until it is settled whether they leave it.
    right: Option<(ComponentId, Vec<usize>)>,
}

/// A checkpoint: the labels and what they stand for. Everything else can be made again.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Memory {
    ids: Vec<ComponentId>,
    labels: Vec<u32>,
    round: u64,
    cycle: u64,
    alpha: f64,
    /// The push that waits for its answer.
    incarnation: u32,
    sequence: u64,
}

impl Memory {
    fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a checkpoint is plain data")
    }

    /// Decodes the checkpoint of a worker of these rows.
    fn decode(bytes: &[u8], shard_id: ShardId, shard: &Shard) -> Result<Self> {
        let memory: Self = postcard::from_bytes(bytes)
            .map_err(|error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}")))?;
        let is_whole = memory.labels.len() == shard.n_rows()
            && memory.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < memory.ids.len());
        if !is_whole {
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {} rows", shard.n_rows());
            return Err(InputError::new(problem).into());
        }
        Ok(memory)
    }
}

impl SliceWorker {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        let life = Life::new(shard_id, shard, kernel);
        Self { life, work: None, memory: None, interrupt: Interrupt::new(), before: None }
    }

    /// Lets draws break off once the flag is raised.
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Interrupt) -> Self {
        if let Some(work) = &mut self.work {
            work.sampler.set_interrupt(interrupt.clone());
        }
        Self { interrupt, ..self }
    }

    /// A worker that goes on from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        let memory = Memory::decode(checkpoint, shard_id, &shard)?;
        Ok(Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) })
    }

    /// A worker at the border where a checkpoint was taken: it waits for the answer to its push. The coordinator goes on likewise, under the same plan.
    pub fn resume(shard_id: ShardId, shard: Shard, kernel: Kernel, plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        let memory = Memory::decode(checkpoint, shard_id, &shard)?;
        let Memory { incarnation, sequence, .. } = memory;
        let work = Some(Work::new(plan, shard.clone(), Some(memory)));
        let worker = Self::new(shard_id, shard, kernel);
        Ok(Self { life: worker.life.resumed(incarnation, sequence), work, ..worker })
    }

    /// A worker that begins with labels below `n_components`, the same numbers as the other workers'.
    pub fn start_from(shard_id: ShardId, shard: Shard, kernel: Kernel, labels: Vec<u32>, n_components: u32) -> Self {
        assert_eq!(labels.len(), shard.n_rows(), "one label a row");
        let ids = (0..n_components).map(|number| ComponentId { epoch: 0, number: u64::from(number) + 1 }).collect();
        let memory = Memory { ids, labels, alpha: 1.0, ..Memory::default() };
        Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) }
    }

    /// The component of each row, of a worker that goes on from a checkpoint and has done nothing since; `None` for a row that is in none.
    pub fn remembered(&self) -> Vec<Option<ComponentId>> {
        let Some(Memory { ids, labels, .. }) = &self.memory else { return vec![None; self.life.shard().n_rows()] };
        labels.iter().map(|label| ids.get(*label as usize).copied()).collect()
    }

    /// The components with rows and the statistics of the rows.
    pub fn contributions(&self) -> Vec<(ComponentId, Stats)> {
        self.work.as_ref().map_or_else(Vec::new, Work::contributions)
    }

    /// What is to be remembered, once there is a plan.
    fn current(&self) -> Option<Memory> {
        let Stamp { incarnation, sequence, .. } = self.life.stamp();
        self.work.as_ref().map(|work| Memory {
            ids: work.ids.clone(),
            labels: work.sampler.labels().to_vec(),
            round: work.round,
            cycle: work.cycle,
            alpha: work.alpha,
            incarnation,
            sequence,
        })
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = self.life.open(from, frame, self.work.as_ref().map(|work| &work.plan))?;
        match message {
            Message::Plan(plan) if self.work.is_none() => {
                check_plan(&plan, self.life.shard()).map_err(|refusal| refusal.of(from))?;
                let mut work = Work::new(plan, self.life.shard().clone(), self.memory.take());
                work.sampler.set_interrupt(self.interrupt.clone());
                self.work = Some(work);
                self.join(stamp.incarnation, out);
            }
            Message::Rejoin if self.work.is_none() => self.life.say_hello(out),
            Message::Rejoin if self.life.is_before(stamp) => self.join(stamp.incarnation, out),
            Message::SliceReply(reply) if self.life.awaits(stamp) => return self.on_reply(reply, out),
            // late or doubled: what it asks for has been done
            _ => {}
        }
        Ok(())
    }

    /// Begins a life.
    fn join(&mut self, incarnation: u32, out: &mut Outbox) {
        self.life.begin(incarnation);
        let work = self.work.as_ref().expect("a worker joins with a plan");
        let joining = Joining { sum_log_base: work.sampler.sum_log_base(), cycle: work.cycle, alpha: work.alpha };
        self.push(None, Some(joining), out);
    }

    fn push(&mut self, moved: Option<u64>, joining: Option<Joining>, out: &mut Outbox) {
        let work = self.work.as_ref().expect("a worker pushes with a plan");
        let push = work.push(self.life.shard_id(), moved, joining);
        self.life.push(&Message::SlicePush(push), out);
    }

    fn on_reply(&mut self, reply: SliceReply, out: &mut Outbox) -> Result<()> {
        // a border is where labels are about to be drawn; the steps of a move are none
        let is_border = !matches!(reply, SliceReply::Move(_) | SliceReply::Settle(_));
        let before = if is_border { self.current() } else { None };
        let work = self.work.as_mut().expect("a reply answers a push");
        match reply {
            SliceReply::Again { round } => {
                check_count(round).map_err(|refusal| refusal.of(Address::Coordinator))?;
                work.round = round.saturating_sub(1);
                self.before = before;
                self.push(None, None, out);
            }
            SliceReply::Draw(draw) => {
                if work.plan.shows_labels {
                    self.life.show(&Message::ShownLabels(work.show(draw.cycle)), out);
                }
                let moved =
                    work.draw(draw, self.life.shard_id()).map_err(|refusal| refusal.of(Address::Coordinator))?;
                self.before = before;
                if self.interrupt.is_raised() {
                    return Err(Error::Interrupted);
                }
                out.swept_rows += self.life.shard().n_rows() as u64;
                self.push(Some(moved), None, out);
            }
            SliceReply::Move(step) => {
                let said = work.answer(&step, self.life.shard_id());
                let said = said.map_err(|refusal| refusal.of(Address::Coordinator))?;
                self.life.push(&Message::SliceSides(said), out);
            }
            SliceReply::Settle(settlement) => {
                work.settle(settlement).map_err(|refusal| refusal.of(Address::Coordinator))?;
                self.push(None, None, out);
            }
            SliceReply::Last(last) => {
                let shown = work.show_last(last, self.life.shard().clone());
                let shown = shown.map_err(|refusal| refusal.of(Address::Coordinator))?;
                self.before = before;
                self.life.show(&Message::ShownLabels(shown), out);
                self.life.end(out);
            }
        }
        Ok(())
    }
}

impl Work {
    fn new(plan: Plan, shard: Shard, memory: Option<Memory>) -> Self {
        let mut sampler = slice_sampler(&plan.model, shard, plan.kernel);
        match memory {
            Some(Memory { ids, labels, round, cycle, alpha, .. }) => {
                sampler.set_labels(labels);
                Self { plan, sampler, ids, round, cycle, alpha, right: None }
            }
            None => Self { plan, sampler, ids: Vec::new(), round: 0, cycle: 0, alpha: 1.0, right: None },
        }
    }

    /// The stream of the rows' uniforms in a round: drawn for their minimum first, and again for the slices.
    fn slices(&self, shard_id: ShardId, round: u64) -> Stream {
        self.plan.seed().stream(Role::Slice, shard_id, round)
    }

    fn contributions(&self) -> Vec<(ComponentId, Stats)> {
        let of_ids = self.ids.iter().copied().zip(self.sampler.contributions(self.ids.len()));
        of_ids.filter(|(_, stats)| stats.count > 0).collect()
    }

    fn push(&self, shard_id: ShardId, moved: Option<u64>, joining: Option<Joining>) -> SlicePush {
        let round = self.round + 1;
        let smallest = smallest_uniforms(self.sampler.labels(), self.ids.len(), &mut self.slices(shard_id, round));
        let smallest: HashMap<ComponentId, f64> = self.ids.iter().copied().zip(smallest).collect();
        let contribution = |(id, stats)| SliceContribution { id, stats, smallest_uniform: smallest[&id] };
        let contributions = self.contributions().into_iter().map(contribution).collect();
        SlicePush { round, joining, moved, contributions }
    }

    /// Draws all labels; the number of rows that moved.
    fn draw(&mut self, draw: SliceDraw, shard_id: ShardId) -> Decoded<u64> {
        let parameters_len = self.plan.model.conjugate().parameters_len();
        let n_numbers = draw.ids.len() * parameters_len;
        require(draw.components.parameters.len() == n_numbers, "parameters of another family")?;
        check_alpha(draw.alpha)?;
        check_count(draw.round)?;
        self.rename(draw.ids)?;
        (self.round, self.cycle, self.alpha, self.right) = (draw.round, draw.cycle, draw.alpha, None);
        let mut slices = self.slices(shard_id, self.round);
        let mut rng = self.plan.seed().stream(Role::SliceLabels, shard_id, self.round);
        Ok(self.sampler.draw_labels(&draw.components, &mut slices, &mut rng))
    }

    /// Does a step of a split or a merge. No label changes before it is settled.
    fn answer(&mut self, step: &SliceMove, shard_id: ShardId) -> Decoded<SliceSides> {
        let family = self.plan.model.conjugate();
        let rows = Rows {
            shard_id,
            sampler: self.sampler.as_ref(),
            ids: &self.ids,
            parameters_len: family.parameters_len(),
            has_counts: family.has_counts(),
        };
        let answer = rows.answer(step, &mut self.plan.seed().stream(Role::SliceSides, shard_id, step.step))?;
        self.right = Some((step.components[0], answer.right));
        Ok(answer.said)
    }

    /// Makes the labels follow a split or a merge.
    fn settle(&mut self, settlement: SliceSettlement) -> Decoded<()> {
        let mut labels = self.sampler.labels().to_vec();
        match settlement {
            SliceSettlement::Split { component, right } => {
                let drawn = self.right.take().filter(|(of, _)| *of == component);
                let (_, rows) = drawn.ok_or_else(|| Refusal::new("a split that was not drawn"))?;
                require(!self.ids.contains(&right), "a component twice")?;
                let label = self.label(right);
                rows.into_iter().for_each(|row_ix| labels[row_ix] = label);
            }
            SliceSettlement::Merge { into, from } => {
                let [into, from] = [into, from].map(|id| self.label(id));
                labels.iter_mut().filter(|label| **label == from).for_each(|label| *label = into);
            }
        }
        self.sampler.set_labels(labels);
        Ok(())
    }

    /// The label that stands for a component, which may be new here.
    fn label(&mut self, component: ComponentId) -> u32 {
        let known = self.ids.iter().position(|id| *id == component);
        let label = known.unwrap_or(self.ids.len());
        if known.is_none() {
            self.ids.push(component);
        }
        label as u32
    }

    /// Makes the labels stand for these ids, among which all with rows must be.
    fn rename(&mut self, ids: Vec<ComponentId>) -> Decoded<()> {
        self.sampler.set_labels(renamed(self.sampler.labels(), &self.ids, &ids)?);
        self.ids = ids;
        Ok(())
    }

    fn show(&self, cycle: u64) -> ShownLabels {
        let labels = self.sampler.labels().to_vec();
        ShownLabels { cycle, components: self.ids.clone(), labels, assignments: None }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, last: SliceLast, shard: Shard) -> Decoded<ShownLabels> {
        check_last(last.components.iter().map(|(_, stats)| stats), shard.n_rows(), self.plan.model.conjugate())?;
        let (ids, components) = by_final_number(last.components);
        self.rename(ids)?;
        self.cycle = last.cycle;
        let assignments = Some(assigned(&self.plan, shard, &components));
        Ok(ShownLabels { assignments, ..self.show(last.cycle) })
    }
}

impl Node for SliceWorker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.work.is_none() => self.life.say_hello(out),
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            Event::Start | Event::Lost(_) | Event::Stop => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        let nothing =
            || Memory { labels: vec![UNASSIGNED; self.life.shard().n_rows()], alpha: 1.0, ..Memory::default() };
        self.current().or_else(|| self.memory.clone()).unwrap_or_else(nothing).encode()
    }

    fn checkpoint_before_answer(&self) -> Option<Vec<u8>> {
        self.before.as_ref().map(Memory::encode)
    }
}
