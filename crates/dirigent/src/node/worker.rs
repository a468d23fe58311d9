//! The worker: a shard, its labels and the local version of the components (section 4.1 of the paper).
//!
//! A cycle: take in the reply and the snapshot, rebuild the local version, sweep, push what changed. Contributions are recomputed from
//! the labels in row order, so a push is a pure function of the labels. Between a push and its reply the labels rest.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Address, Event, Frame, Node, Outbox};
use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::error::{InputError, Result};
use crate::message::codec::{Message, decode, encode};
use crate::message::{Hello, Joining, Plan, Push, Reply, ShownLabels, Snapshot, Stamp};
use crate::rng::{Role, Seed};
use crate::rows::Shard;
use crate::stats::{Stats, Sums};
use crate::survey::Survey;
use crate::sweep::{Kernel, Sampler, UNASSIGNED, sampler};

/// The worker of a shard.
pub struct Worker {
    shard_id: ShardId,
    shard: Shard,
    kernel: Kernel,
    /// `None` until the plan has come.
    work: Option<Work>,
    /// Labels from an earlier life, until the plan has come.
    memory: Option<Memory>,
    incarnation: u32,
    sequence: u64,
    is_done: bool,
}

/// What a worker does once it has a plan.
struct Work {
    plan: Plan,
    sampler: Box<dyn Sampler>,
    /// What each slot is called. Slots beyond are births without a number.
    names: Vec<PieceName>,
    /// The last snapshot, as it was told: the next one says only what has changed.
    told: HashMap<ComponentId, Stats>,
    /// What each slot contributed at the last answered push.
    answered: Vec<Stats>,
    /// The same at the last push.
    pushed: Vec<Stats>,
    next_birth: u64,
    base_version: u64,
    cycle: u64,
    alpha: f64,
}

/// A checkpoint: the labels and what they stand for. Everything else can be made again.
#[derive(Serialize, Deserialize)]
struct Memory {
    names: Vec<PieceName>,
    labels: Vec<u32>,
    next_birth: u64,
    base_version: u64,
    cycle: u64,
    alpha: f64,
}

impl Worker {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        Self { shard_id, shard, kernel, work: None, memory: None, incarnation: 0, sequence: 0, is_done: false }
    }

    /// A worker that goes on from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        let memory: Memory = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}")))?;
        let is_whole = memory.labels.len() == shard.n_rows()
            && memory.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < memory.names.len());
        if !is_whole {
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {} rows", shard.n_rows());
            return Err(InputError::new(problem).into());
        }
        Ok(Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) })
    }

    /// A worker that begins with labels below `n_components`, the same numbers as the other workers'.
    pub fn start_from(shard_id: ShardId, shard: Shard, kernel: Kernel, labels: Vec<u32>, n_components: u32) -> Self {
        assert_eq!(labels.len(), shard.n_rows(), "one label a row");
        let name = |number| PieceName::Component(ComponentId { epoch: 0, number: u64::from(number) + 1 });
        let names = (0..n_components).map(name).collect();
        let memory = Memory { names, labels, next_birth: 0, base_version: 0, cycle: 0, alpha: 1.0 };
        Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) }
    }

    /// The component of each row, as the worker names it; `None` for a row that is in none yet.
    pub fn labels(&self) -> Vec<Option<PieceName>> {
        let Some(work) = &self.work else { return vec![None; self.shard.n_rows()] };
        work.sampler.labels().iter().map(|&label| work.names.get(label as usize).copied()).collect()
    }

    /// Whether it has had its last answer, and rests.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The rows.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The push that is outstanding, or was last.
    pub fn stamp(&self) -> Stamp {
        Stamp { shard: self.shard_id, incarnation: self.incarnation, sequence: self.sequence }
    }

    fn on_frame(&mut self, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let stats_len = self.work.as_ref().map(|work| work.plan.model.conjugate().stats_len());
        let (stamp, message) = decode(frame, stats_len)?;
        match message {
            Message::Plan(plan) if self.work.is_none() => {
                self.work = Some(Work::new(plan, self.shard.clone(), self.memory.take()));
                self.join(stamp.incarnation, out);
            }
            Message::Rejoin if self.work.is_none() => self.say_hello(out),
            Message::Rejoin if stamp.incarnation > self.incarnation => self.join(stamp.incarnation, out),
            Message::Reply(reply, snapshot) if stamp == self.stamp() && !self.is_done => {
                self.on_reply(&reply, snapshot, out);
            }
            // late or doubled: what it asks for has been done
            _ => {}
        }
        Ok(())
    }

    fn say_hello(&self, out: &mut Outbox) {
        let hello = Hello { survey: Survey::of(&self.shard), kernel: self.kernel };
        out.send(Address::Coordinator, encode(self.stamp(), &Message::Hello(hello)));
    }

    /// Begins a life with a push of everything.
    fn join(&mut self, incarnation: u32, out: &mut Outbox) {
        (self.incarnation, self.sequence) = (incarnation, 0);
        self.is_done = false;
        let work = self.work.as_mut().expect("a worker joins with a plan");
        work.answered.clear();
        let joining = Joining { sum_log_base: work.sampler.sum_log_base(), cycle: work.cycle, alpha: work.alpha };
        let push = work.push(0, Some(joining));
        self.send_push(push, out);
    }

    fn send_push(&mut self, push: Push, out: &mut Outbox) {
        self.sequence += 1;
        out.send(Address::Coordinator, encode(self.stamp(), &Message::Push(push)));
    }

    fn on_reply(&mut self, reply: &Reply, snapshot: Snapshot, out: &mut Outbox) {
        let shard_id = self.shard_id;
        let work = self.work.as_mut().expect("a reply answers a push");
        work.take_in(reply, snapshot);
        if work.plan.shows_labels || reply.is_last {
            let shown = work.show(reply.is_last);
            let stamp = Stamp { shard: shard_id, incarnation: self.incarnation, sequence: self.sequence };
            out.send(Address::Driver, encode(stamp, &Message::ShownLabels(shown)));
        }
        if reply.is_last {
            self.is_done = true;
            out.is_done = true;
            return;
        }
        let moved = work.sweep(shard_id);
        out.swept_rows += self.shard.n_rows() as u64 * u64::from(work.plan.sweeps_per_cycle);
        let push = work.push(moved, None);
        self.send_push(push, out);
    }
}

impl Work {
    fn new(plan: Plan, shard: Shard, memory: Option<Memory>) -> Self {
        let mut sampler = sampler(&plan.model, shard, plan.kernel);
        let mut work = Self {
            names: Vec::new(),
            told: HashMap::new(),
            answered: Vec::new(),
            pushed: Vec::new(),
            next_birth: 0,
            base_version: 0,
            cycle: 0,
            alpha: 1.0,
            sampler: {
                sampler.load(&[]);
                sampler
            },
            plan,
        };
        if let Some(memory) = memory {
            // slots must exist before labels can point at them
            work.sampler.load(&vec![work.plan.model.conjugate().empty_stats(); memory.names.len()]);
            work.sampler.set_labels(memory.labels);
            (work.names, work.next_birth) = (memory.names, memory.next_birth);
            (work.base_version, work.cycle, work.alpha) = (memory.base_version, memory.cycle, memory.alpha);
        }
        work
    }

    /// Sweeps the shard; the number of rows that moved.
    fn sweep(&mut self, shard_id: ShardId) -> u64 {
        let sweeps = u64::from(self.plan.sweeps_per_cycle);
        let stream_of = |sweep| Seed::new(self.plan.seed).stream(Role::Sweep, shard_id, self.cycle * sweeps + sweep);
        (0..sweeps).map(|sweep| self.sampler.sweep(self.alpha, &mut stream_of(sweep)).moved).sum()
    }

    /// What has changed since the last answered push, or everything when joining. Slots without a name that have rows are births.
    fn push(&mut self, moved: u64, joining: Option<Joining>) -> Push {
        let contributions = self.contributions();
        let mut push =
            Push { base_version: self.base_version, joining, contributions: Vec::new(), births: Vec::new(), moved };
        for (slot, stats) in contributions.iter().enumerate() {
            let name = self.names.get(slot).copied();
            match name {
                Some(PieceName::Component(id)) => {
                    if joining.is_some() || self.answered.get(slot) != Some(stats) {
                        push.contributions.push((id, stats.clone()));
                    }
                }
                // a birth that was never answered is born again, under a number of its own
                _ => {
                    let number = self.next_birth;
                    self.next_birth += 1;
                    match name {
                        Some(_) => self.names[slot] = PieceName::Birth(number),
                        None => self.names.push(PieceName::Birth(number)),
                    }
                    if stats.count > 0 {
                        push.births.push((number, stats.clone()));
                    }
                }
            }
        }
        self.pushed = contributions;
        push
    }

    /// The statistics of the shard's rows by slot, in the form they travel in.
    fn contributions(&self) -> Vec<Stats> {
        let mut contributions = self.sampler.contributions();
        let used = contributions.iter().rposition(|stats| stats.count > 0).map_or(0, |last| last + 1);
        contributions.truncate(used.max(self.names.len()));
        if self.plan.model.conjugate().has_counts() {
            contributions.iter_mut().for_each(|stats| *stats = stats.to_sparse());
        }
        contributions
    }

    /// Renames the slots by the reply and rebuilds the local version from the snapshot.
    fn take_in(&mut self, reply: &Reply, snapshot: Snapshot) {
        let version = snapshot.version;
        let snapshot = self.complete(snapshot);
        let owners: HashMap<PieceName, ComponentId> = reply.owners.iter().copied().collect();
        let slots: HashMap<ComponentId, usize> =
            snapshot.iter().enumerate().map(|(slot, (id, _))| (*id, slot)).collect();
        let new_slot = |name: &PieceName| {
            let owner = owners.get(name).copied().or(match name {
                PieceName::Component(id) => Some(*id),
                PieceName::Birth(_) => None,
            });
            owner.and_then(|id| slots.get(&id).copied())
        };
        let new_slots: Vec<Option<usize>> = self.names.iter().map(new_slot).collect();
        let labels = self.sampler.labels().iter().map(|&label| match label {
            UNASSIGNED => UNASSIGNED,
            label => new_slots[label as usize].expect("a component with rows is in the snapshot") as u32,
        });
        let labels = labels.collect();
        let empty = empty_like(&snapshot, &self.pushed);
        let mut own = vec![empty; snapshot.len()];
        for (stats, slot) in self.pushed.iter().zip(&new_slots) {
            if let (Some(slot), true) = (slot, stats.count > 0) {
                own[*slot].add(stats);
            }
        }
        // where all rows are the worker's own, nothing of the snapshot is needed
        let local: Vec<Stats> = snapshot
            .iter()
            .zip(&own)
            .map(|((_, total), own)| if total.count == own.count { own.clone() } else { total.clone() })
            .collect();
        self.sampler.load(&local);
        self.sampler.set_labels(labels);
        self.names = snapshot.iter().map(|(id, _)| PieceName::Component(*id)).collect();
        self.answered = own;
        self.told = snapshot.into_iter().collect();
        self.base_version = version;
        (self.cycle, self.alpha) = (reply.cycle, reply.alpha);
    }

    /// The snapshot with what has not changed filled in.
    fn complete(&mut self, snapshot: Snapshot) -> Vec<(ComponentId, Stats)> {
        let mut known = |id| self.told.remove(&id).expect("what is left out was told before");
        snapshot.components.into_iter().map(|(id, stats)| (id, stats.unwrap_or_else(|| known(id)))).collect()
    }

    /// The labels for the driver; at the end also the most probable component of each row.
    fn show(&mut self, is_last: bool) -> ShownLabels {
        let component = |name: &PieceName| match name {
            PieceName::Component(id) => *id,
            PieceName::Birth(_) => panic!("labels are shown after a reply"),
        };
        let components: Vec<ComponentId> = self.names.iter().map(component).collect();
        ShownLabels {
            cycle: self.cycle,
            labels: self.sampler.labels().to_vec(),
            assignments: is_last.then(|| self.assign(&components)),
            components,
        }
    }

    /// The most probable slot of each row under the last snapshot, and its probability. Components are asked in the order of their final
    /// numbers, by falling size, so that ties go to the smaller number.
    fn assign(&mut self, ids: &[ComponentId]) -> (Vec<u32>, Vec<f32>) {
        let mut slots: Vec<usize> = (0..ids.len()).collect();
        slots.sort_by_key(|&slot| (std::cmp::Reverse(self.told[&ids[slot]].count), ids[slot]));
        let components: Vec<Stats> = slots.iter().map(|&slot| self.told[&ids[slot]].clone()).collect();
        let assignments = self.sampler.assign(&components);
        let labels = assignments.iter().map(|assignment| slots[assignment.label as usize] as u32).collect();
        (labels, assignments.iter().map(|assignment| assignment.certainty).collect())
    }
}

/// Statistics of no rows, of the kind the others are.
fn empty_like(snapshot: &[(ComponentId, Stats)], pushed: &[Stats]) -> Stats {
    let example = snapshot.first().map(|(_, stats)| stats).or(pushed.first());
    match example.map(|stats| &stats.sums) {
        Some(Sums::Dense(sums)) => Stats::empty_dense(sums.len()),
        _ => Stats::empty_counts(),
    }
}

impl Node for Worker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => {
                self.say_hello(out);
                Ok(())
            }
            Event::Frame { frame, .. } => self.on_frame(&frame, out),
            Event::Lost(_) | Event::Stop => Ok(()),
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        let memory = match &self.work {
            Some(work) => Memory {
                names: work.names.clone(),
                labels: work.sampler.labels().to_vec(),
                next_birth: work.next_birth,
                base_version: work.base_version,
                cycle: work.cycle,
                alpha: work.alpha,
            },
            None => {
                let labels = vec![UNASSIGNED; self.shard.n_rows()];
                Memory { names: Vec::new(), labels, next_birth: 0, base_version: 0, cycle: 0, alpha: 1.0 }
            }
        };
        postcard::to_stdvec(&memory).expect("a checkpoint is plain data")
    }
}
