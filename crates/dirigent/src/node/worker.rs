//! The worker: a shard, its labels and the local version of the components (section 4.1 of the paper).
//!
//! A cycle: take in the reply and the snapshot, rebuild the local version, sweep, push what changed. Contributions are recomputed from
//! the labels in row order, so a push is a pure function of the labels. Between a push and its reply the labels rest.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{Address, Event, Frame, Node, Outbox, WarmUp};
use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::error::{InputError, Result};
use crate::halves::{Half, Halves, Part};
use crate::message::codec::{Message, decode, encode};
use crate::message::{Hello, Joining, Plan, Push, Reply, ShownLabels, Snapshot, Stamp, Told};
use crate::rng::Role;
use crate::rows::Shard;
use crate::stats::{Stats, Sums};
use crate::survey::Survey;
use crate::sweep::{Kernel, LocalHalves, Sampler, UNASSIGNED, sampler};

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

/// What a worker does once it has a plan.
struct Work {
    plan: Plan,
    shard: Shard,
    /// Every so manieth row takes part: the sampler's rows.
    stride: usize,
    sampler: Box<dyn Sampler>,
    /// What each slot is called. Slots beyond are births without a number.
    names: Vec<PieceName>,
    /// The last snapshot, as it was told: the next one says only what has changed.
    told: HashMap<ComponentId, Told>,
    /// The generation of each slot's halves, of those that keep some.
    generations: Vec<Option<u32>>,
    /// What each slot contributed at the last answered push, as it would be said now; `None` where halves are to be set first.
    answered: Vec<Option<Part>>,
    /// What each slot contributed at the last push.
    pushed: Vec<Part>,
    next_birth: u64,
    base_version: u64,
    cycle: u64,
    alpha: f64,
    is_generous: bool,
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
    stride: usize,
}

impl Worker {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        Self { shard_id, shard, kernel, work: None, memory: None, incarnation: 0, sequence: 0, is_done: false }
    }

    /// A worker that goes on from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        let memory: Option<Memory> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}")))?;
        let is_whole = |memory: &Memory| {
            memory.stride > 0
                && memory.labels.len() == shard.n_rows().div_ceil(memory.stride)
                && memory.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < memory.names.len())
        };
        if !memory.as_ref().is_none_or(is_whole) {
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {} rows", shard.n_rows());
            return Err(InputError::new(problem).into());
        }
        Ok(Self { memory, ..Self::new(shard_id, shard, kernel) })
    }

    /// A worker that begins with labels, the same numbers as the other workers'.
    pub fn start_from(shard_id: ShardId, shard: Shard, kernel: Kernel, labels: Vec<u32>) -> Self {
        assert_eq!(labels.len(), shard.n_rows(), "one label a row");
        let name = |number: &u32| PieceName::Component(ComponentId { epoch: 0, number: u64::from(*number) + 1 });
        let used: BTreeSet<u32> = labels.iter().copied().collect();
        let slots: HashMap<u32, u32> = used.iter().copied().zip(0..).collect();
        let names = used.iter().map(name).collect();
        let labels = labels.iter().map(|label| slots[label]).collect();
        let memory = Memory { names, labels, next_birth: 0, base_version: 0, cycle: 0, alpha: 1.0, stride: 1 };
        Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) }
    }

    /// Where each row is; `None` for a row that is in no component yet.
    pub fn labels(&self) -> Vec<Option<RowLabel>> {
        let Some(work) = &self.work else { return vec![None; self.shard.n_rows()] };
        let label_of = |(&label, half): (&u32, &Option<Half>)| {
            let generation = work.generations.get(label as usize).copied().flatten();
            Some(RowLabel { name: *work.names.get(label as usize)?, half: *half, generation })
        };
        let mut labels = vec![None; self.shard.n_rows()];
        let sampled = work.sampler.labels().iter().zip(work.sampler.halves());
        labels.iter_mut().step_by(work.stride).zip(sampled).for_each(|(label, sampled)| *label = label_of(sampled));
        labels
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
        // halves are dropped: they were of another life
        work.generations.clear();
        work.sampler.set_halves(vec![None; work.sampler.labels().len()]);
        let joining = Joining {
            sum_log_base: work.sampler.sum_log_base(),
            cycle: work.cycle,
            alpha: work.alpha,
            stride: work.stride as u32,
        };
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
        let stride_before = work.stride;
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
        out.swept_rows += work.sampler.labels().len() as u64 * u64::from(work.plan.sweeps_per_cycle);
        let sum_log_base = (work.stride != stride_before).then(|| work.sampler.sum_log_base());
        let push = Push { sum_log_base, ..work.push(moved, None) };
        self.send_push(push, out);
    }
}

impl Work {
    fn new(plan: Plan, shard: Shard, memory: Option<Memory>) -> Self {
        let stride = memory.as_ref().map_or(1, |memory| memory.stride);
        let mut sampler = sampler(&plan.model, shard.every(stride), plan.kernel);
        let mut work = Self {
            shard,
            stride,
            names: Vec::new(),
            told: HashMap::new(),
            generations: Vec::new(),
            answered: Vec::new(),
            pushed: Vec::new(),
            next_birth: 0,
            base_version: 0,
            cycle: 0,
            alpha: 1.0,
            is_generous: false,
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
        let seed = self.plan.seed();
        let stream_of = |sweep| seed.stream(Role::Sweep, shard_id, self.cycle * sweeps + sweep);
        let n_rows = self.sampler.labels().len() as f64;
        let alpha = if self.is_generous {
            WarmUp::generous_alpha(self.alpha, n_rows, !self.names.is_empty())
        } else {
            self.alpha
        };
        (0..sweeps).map(|sweep| self.sampler.sweep(alpha, &mut stream_of(sweep)).moved).sum()
    }

    /// What has changed since the last answered push, or everything when joining. Slots without a name that have rows are births.
    fn push(&mut self, moved: u64, joining: Option<Joining>) -> Push {
        let contributions = self.contributions();
        let mut push = Push {
            base_version: self.base_version,
            joining,
            contributions: Vec::new(),
            births: Vec::new(),
            moved,
            sum_log_base: None,
        };
        for (slot, part) in contributions.iter().enumerate() {
            let name = self.names.get(slot).copied();
            match name {
                Some(PieceName::Component(id)) => {
                    if joining.is_some() || self.answered.get(slot).and_then(Option::as_ref) != Some(part) {
                        push.contributions.push((id, part.clone()));
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
                    if let Part::Whole(stats) = part
                        && stats.count > 0
                    {
                        push.births.push((number, stats.clone()));
                    }
                }
            }
        }
        self.pushed = contributions;
        push
    }

    /// The statistics of the shard's rows by slot, in the form they travel in.
    fn contributions(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = if self.generations.iter().any(Option::is_some) {
            let halves = self.sampler.half_contributions().into_iter().enumerate();
            halves.map(|(slot, halves)| self.part(slot, halves)).collect()
        } else {
            self.sampler.contributions().into_iter().map(|stats| Part::Whole(self.travelling(stats))).collect()
        };
        let used = parts.iter().rposition(|part| part.count() > 0).map_or(0, |last| last + 1);
        parts.truncate(used.max(self.names.len()));
        parts
    }

    fn part(&self, slot: usize, halves: [Stats; 2]) -> Part {
        match self.generations.get(slot).copied().flatten() {
            Some(generation) => Part::Halved { generation, halves: halves.map(|stats| self.travelling(stats)) },
            None => {
                let [left, _] = halves;
                Part::Whole(self.travelling(left))
            }
        }
    }

    /// Sparse, where statistics are counts.
    fn travelling(&self, stats: Stats) -> Stats {
        if self.plan.model.conjugate().has_counts() { stats.to_sparse() } else { stats }
    }

    /// Renames the slots by the reply and rebuilds the local version from the snapshot.
    fn take_in(&mut self, reply: &Reply, snapshot: Snapshot) {
        let version = snapshot.version;
        let snapshot = self.complete(snapshot);
        let slots: HashMap<ComponentId, usize> =
            snapshot.iter().enumerate().map(|(slot, (id, _))| (*id, slot)).collect();
        let places = self.places(reply, &snapshot, &slots);
        let place_of = |label: u32, half: Option<Half>| {
            places[label as usize][half.map_or(0, Half::ix)].expect("a component with rows is in the snapshot")
        };
        let rows = self.sampler.labels().iter().zip(self.sampler.halves());
        let (labels, halves): (Vec<u32>, Vec<Option<Half>>) = rows
            .map(|(&label, &half)| match label {
                UNASSIGNED => (UNASSIGNED, None),
                label => {
                    let (slot, half) = place_of(label, half);
                    (slot as u32, half)
                }
            })
            .unzip();
        let own = Own::new(&self.pushed, &places, &snapshot);
        let local: Vec<Stats> =
            snapshot.iter().zip(&own.totals).map(|((_, told), own)| own_or(own, &told.total)).collect();
        let stride = if reply.is_last { 1 } else { reply.stride.max(1) as usize };
        let (labels, halves) = self.sample_rows(stride, labels, halves);
        self.sampler.load(&local);
        self.sampler.set_labels(labels);
        if snapshot.iter().any(|(_, told)| told.halves != Halves::Resting) {
            self.sampler.load_halves(self.local_halves(&snapshot, &own, &local));
            self.sampler.set_halves(halves);
        }
        self.names = snapshot.iter().map(|(id, _)| PieceName::Component(*id)).collect();
        self.generations = snapshot.iter().map(|(_, told)| told.halves.generation()).collect();
        self.answered = own.answered(&self.generations);
        self.told = snapshot.into_iter().collect();
        self.base_version = version;
        (self.cycle, self.alpha, self.is_generous) = (reply.cycle, reply.alpha, reply.is_generous);
    }

    /// Lets more rows take part, if it is time, which are in no component yet. Fewer only if none is in one.
    fn sample_rows(
        &mut self,
        stride: usize,
        labels: Vec<u32>,
        halves: Vec<Option<Half>>,
    ) -> (Vec<u32>, Vec<Option<Half>>) {
        let is_possible = self.stride.is_multiple_of(stride) || labels.iter().all(|&label| label == UNASSIGNED);
        if stride == self.stride || !is_possible {
            return (labels, halves);
        }
        let times = (self.stride / stride).max(1);
        self.stride = stride;
        self.sampler = sampler(&self.plan.model, self.shard.every(stride), self.plan.kernel);
        let n_rows = self.sampler.labels().len();
        let (mut more_labels, mut more_halves) = (vec![UNASSIGNED; n_rows], vec![None; n_rows]);
        more_labels.iter_mut().step_by(times).zip(labels).for_each(|(more, label)| *more = label);
        more_halves.iter_mut().step_by(times).zip(halves).for_each(|(more, half)| *more = half);
        (more_labels, more_halves)
    }

    /// Where the rows of each slot are now, by the half they were in: the slot, and the half of it.
    fn places(
        &self,
        reply: &Reply,
        snapshot: &[(ComponentId, Told)],
        slots: &HashMap<ComponentId, usize>,
    ) -> Vec<[Option<(usize, Option<Half>)>; 2]> {
        let moved: HashMap<(PieceName, Half), (ComponentId, Option<Half>)> =
            reply.owners.iter().map(|moved| ((moved.name, moved.half), (moved.owner, moved.in_half))).collect();
        let place = |slot: usize, name: PieceName, half: Half| {
            if let Some((owner, in_half)) = moved.get(&(name, half)) {
                return Some((*slots.get(owner)?, *in_half));
            }
            let PieceName::Component(id) = name else { return None };
            let new_slot = *slots.get(&id)?;
            let generation = self.generations.get(slot).copied().flatten();
            let keeps_half = generation.is_some() && snapshot[new_slot].1.halves.generation() == generation;
            Some((new_slot, keeps_half.then_some(half)))
        };
        self.names.iter().enumerate().map(|(slot, name)| Half::BOTH.map(|half| place(slot, *name, half))).collect()
    }

    /// What the sampler is to know of the halves.
    fn local_halves(&self, snapshot: &[(ComponentId, Told)], own: &Own, local: &[Stats]) -> Vec<LocalHalves> {
        let family = self.plan.model.conjugate();
        let halves = |(slot, (id, told)): (usize, &(ComponentId, Told))| match &told.halves {
            Halves::Resting => LocalHalves::None,
            Halves::Fresh { generation } => {
                let mut rng = self.plan.seed().halves(id.epoch, id.number, *generation);
                LocalHalves::Fresh(family.cut(&local[slot], &mut rng))
            }
            Halves::Known { stats: [left, right], .. } => {
                let [own_left, own_right] = &own.halves[slot];
                LocalHalves::Known([own_or(own_left, left), own_or(own_right, right)])
            }
        };
        snapshot.iter().enumerate().map(halves).collect()
    }

    /// The snapshot with what has not changed filled in.
    fn complete(&mut self, snapshot: Snapshot) -> Vec<(ComponentId, Told)> {
        let mut known = |id| self.told.remove(&id).expect("what is left out was told before");
        snapshot.components.into_iter().map(|(id, told)| (id, told.unwrap_or_else(|| known(id)))).collect()
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
            labels: self.labels_of_all_rows(),
            assignments: is_last.then(|| self.assign(&components)),
            components,
        }
    }

    /// The most probable slot of each row under the last snapshot, and its probability. Components are asked in the order of their final
    /// numbers, by falling size, so that ties go to the smaller number.
    fn assign(&mut self, ids: &[ComponentId]) -> (Vec<u32>, Vec<f32>) {
        let mut slots: Vec<usize> = (0..ids.len()).collect();
        slots.sort_by_key(|&slot| (std::cmp::Reverse(self.told[&ids[slot]].total.count), ids[slot]));
        let components: Vec<Stats> = slots.iter().map(|&slot| self.told[&ids[slot]].total.clone()).collect();
        let assignments = self.sampler.assign(&components);
        let labels = assignments.iter().map(|assignment| slots[assignment.label as usize] as u32).collect();
        (labels, assignments.iter().map(|assignment| assignment.certainty).collect())
    }
}

impl Work {
    /// Also of rows that do not yet take part, which are in no component.
    fn labels_of_all_rows(&self) -> Vec<u32> {
        let mut labels = vec![UNASSIGNED; self.shard.n_rows()];
        labels
            .iter_mut()
            .step_by(self.stride)
            .zip(self.sampler.labels())
            .for_each(|(label, sampled)| *label = *sampled);
        labels
    }
}

/// The worker's own contributions in the vocabulary of a snapshot.
struct Own {
    totals: Vec<Stats>,
    /// Of rows that are in a half of the current generation.
    halves: Vec<[Stats; 2]>,
    /// Whether the slot has rows that are in no half.
    has_unset: Vec<bool>,
}

impl Own {
    fn new(pushed: &[Part], places: &[[Option<(usize, Option<Half>)>; 2]], snapshot: &[(ComponentId, Told)]) -> Self {
        let empty = snapshot.first().map_or_else(Stats::empty_counts, |(_, told)| match &told.total.sums {
            Sums::Dense(sums) => Stats::empty_dense(sums.len()),
            Sums::Counts(_) => Stats::empty_counts(),
        });
        let n_slots = snapshot.len();
        let mut own = Self {
            totals: vec![empty.clone(); n_slots],
            halves: vec![[empty.clone(), empty]; n_slots],
            has_unset: vec![false; n_slots],
        };
        for (part, places) in pushed.iter().zip(places) {
            let halves: &[Stats] = match part {
                Part::Whole(stats) => std::slice::from_ref(stats),
                Part::Halved { halves, .. } => halves,
            };
            for (stats, place) in halves.iter().zip(places).filter(|(stats, _)| stats.count > 0) {
                let Some((slot, half)) = *place else { continue };
                own.totals[slot].add(stats);
                match half {
                    Some(half) => own.halves[slot][half.ix()].add(stats),
                    None => own.has_unset[slot] = true,
                }
            }
        }
        own
    }

    /// What a push would have to differ from to be worth saying.
    fn answered(self, generations: &[Option<u32>]) -> Vec<Option<Part>> {
        let slots = self.totals.into_iter().zip(self.halves).zip(self.has_unset).zip(generations);
        let part = |(((total, halves), has_unset), generation): (((Stats, [Stats; 2]), bool), &Option<u32>)| {
            match generation {
                None => Some(Part::Whole(total)),
                Some(generation) => (!has_unset).then_some(Part::Halved { generation: *generation, halves }),
            }
        };
        slots.map(part).collect()
    }
}

/// Where all rows are the worker's own, nothing of the snapshot is needed.
fn own_or(own: &Stats, told: &Stats) -> Stats {
    if told.count == own.count { own.clone() } else { told.clone() }
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
        // before there is a plan there is nothing to remember
        let memory = self.work.as_ref().map(|work| Memory {
            names: work.names.clone(),
            labels: work.sampler.labels().to_vec(),
            next_birth: work.next_birth,
            base_version: work.base_version,
            cycle: work.cycle,
            alpha: work.alpha,
            stride: work.stride,
        });
        postcard::to_stdvec(&memory).expect("a checkpoint is plain data")
    }
}
