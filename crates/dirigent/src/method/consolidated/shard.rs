//! A worker's state and its cycle: sweep, push what changed, take in the answer.

use std::collections::HashMap;

use super::message::{ComponentSnapshot, Push, Reply, Snapshot, SweepOverlap};
use super::own::{Own, SlotPlaces, own_or};
use super::shard_memory::ConsolidatedMemory;
use super::{Consolidated, Joins};
use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::error::Result;
use crate::halves::{Half, Halves, Part};
use crate::interrupt::Interrupt;
use crate::protocol::message::{Joining, Plan, ShownLabels};
use crate::protocol::{
    Decoded, Rejection, Response, ShardContext, ShardState, Worker, check_alpha, check_count, check_ids, check_last,
    check_told, require,
};
use crate::rng::Role;
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{Kernel, LocalHalves, Sampler, UNASSIGNED, sampler};

/// L of a pair, in nats, above which nothing is said of it.
const LEAST_OVERLAP: f64 = -0.5;

/// Rows, labels and the local version of the components (section 4.1 of the paper).
pub struct ConsolidatedShard {
    shard_id: ShardId,
    shard: Shard,
    plan: Plan,
    sampler: Box<dyn Sampler>,
    /// What each slot is called. Slots beyond are births without a number.
    names: Vec<PieceName>,
    /// The last snapshot, as it came: the next one says only what has changed.
    told: HashMap<ComponentId, ComponentSnapshot>,
    /// The generation of each slot's halves, of those that keep some.
    generations: Vec<Option<u32>>,
    /// What each slot contributed at the last answered push, as it would be said now; `None` where
    /// halves are to be set first.
    answered: Vec<Option<Part>>,
    /// What each slot contributed at the last push.
    pushed: Vec<Part>,
    next_birth: u64,
    base_version: u64,
    cycle: u64,
    alpha: f64,
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

impl Worker<Consolidated> {
    /// A worker at the border where a checkpoint was taken.
    // public for the tests only
    #[doc(hidden)]
    pub fn resume(shard_id: ShardId, shard: Shard, kernel: Kernel, plan: Plan, checkpoint: &[u8]) -> Result<Self> {
        Self::new(shard_id, shard, kernel).resumed(plan, checkpoint)
    }

    /// Where each row is; `None` for a row that is in no component yet.
    pub fn labels(&self) -> Vec<Option<RowLabel>> {
        let Some(state) = self.state() else { return vec![None; self.shard().n_rows()] };
        let label_of = |(&label, half): (&u32, &Option<Half>)| {
            let generation = state.generations.get(label as usize).copied().flatten();
            Some(RowLabel { name: *state.names.get(label as usize)?, half: *half, generation })
        };
        state.sampler.labels().iter().zip(state.sampler.halves()).map(label_of).collect()
    }
}

impl ShardState<Consolidated> for ConsolidatedShard {
    type Memory = ConsolidatedMemory;

    fn begin(context: ShardContext<'_, Consolidated>, memory: Option<ConsolidatedMemory>) -> Self {
        let ShardContext { shard_id, shard, plan, interrupt, .. } = context;
        let mut sampler = sampler(&plan.model, shard.clone(), plan.kernel);
        sampler.set_interrupt(interrupt);
        sampler.count_overlaps(plan.counts_overlaps);
        let is_new = memory.is_none();
        let memory = memory.unwrap_or_else(|| ConsolidatedMemory { alpha: 1.0, ..ConsolidatedMemory::default() });
        // slots must exist before labels can point at them
        sampler.load(&vec![plan.model.conjugate().empty_stats(); memory.names.len()]);
        if !is_new {
            sampler.set_labels(memory.labels);
        }
        if !memory.halves.is_empty() {
            sampler.set_halves(memory.halves);
        }
        let mut state = Self {
            shard_id,
            shard: shard.clone(),
            plan,
            sampler,
            names: memory.names,
            told: HashMap::new(),
            generations: memory.generations,
            answered: Vec::new(),
            pushed: Vec::new(),
            next_birth: memory.next_birth,
            base_version: memory.base_version,
            cycle: memory.cycle,
            alpha: memory.alpha,
        };
        if !is_new {
            state.pushed = state.contributions();
        }
        state
    }

    fn start(labels: Vec<u32>, _n_components: u32) -> ConsolidatedMemory {
        ConsolidatedMemory::start(&labels)
    }

    fn fits(memory: &ConsolidatedMemory, shard: &Shard) -> bool {
        memory.is_of(shard)
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.sampler.set_interrupt(interrupt);
    }

    fn join(&mut self) -> Push {
        self.answered.clear();
        // halves are dropped: they were of another life
        self.generations.clear();
        self.sampler.set_halves(vec![None; self.sampler.labels().len()]);
        let (cycle, alpha) = (self.cycle, self.alpha);
        self.push(0, Some(Joining { sum_log_base: self.sampler.sum_log_base(), cycle, alpha }))
    }

    fn take(&mut self, reply: Reply, snapshot: Option<Snapshot>) -> Decoded<Response<Consolidated>> {
        let snapshot = snapshot.ok_or_else(|| Rejection::new("a reply without its snapshot"))?;
        self.take_in(&reply, snapshot)?;
        if reply.is_last {
            return Ok(Response::Last(self.show(true)));
        }
        let shown = self.plan.shows_labels.then(|| self.show(false));
        let moved = self.sweep();
        let n_rows = self.sampler.labels().len() as u64 * u64::from(self.plan.sweeps_per_cycle);
        Ok(Response::Swept { shown, n_rows, push: self.push(moved, None) })
    }

    fn memory(&self) -> ConsolidatedMemory {
        let halves = self.sampler.halves();
        ConsolidatedMemory {
            names: self.names.clone(),
            labels: self.sampler.labels().to_vec(),
            halves: if halves.iter().all(Option::is_none) { Vec::new() } else { halves.to_vec() },
            generations: self.generations.clone(),
            next_birth: self.next_birth,
            base_version: self.base_version,
            cycle: self.cycle,
            alpha: self.alpha,
        }
    }
}

impl ConsolidatedShard {
    /// Sweeps the shard; the number of rows that moved.
    fn sweep(&mut self) -> u64 {
        let sweeps = u64::from(self.plan.sweeps_per_cycle);
        let seed = self.plan.seed();
        // at its own pace a worker may sweep more than once in a cycle, and never twice against one
        // snapshot
        let number = if self.plan.is_in_step { self.cycle } else { self.base_version };
        let stream_of = |sweep| seed.stream(Role::Sweep, self.shard_id, number * sweeps + sweep);
        let alpha = if self.cycle == 0 { self.alpha / f64::from(self.plan.alpha_shares) } else { self.alpha };
        (0..sweeps).map(|sweep| self.sampler.sweep(alpha, &mut stream_of(sweep)).moved).sum()
    }

    /// What has changed since the last answered push, or everything when joining. Slots without a
    /// name that have rows are births; where the plan says so, slots that had no rows before are
    /// births too.
    fn push(&mut self, moved: u64, joining: Option<Joining>) -> Push {
        let are_births = self.plan.joins == Joins::Births && joining.is_none();
        let joined = if are_births { self.joined_slots() } else { Vec::new() };
        self.drop_halves_of(&joined);
        let mut left_ids = Vec::new();
        let contributions = self.contributions();
        let mut push = Push {
            base_version: self.base_version,
            joining,
            contributions: Vec::new(),
            births: Vec::new(),
            moved,
            overlap: SweepOverlap::default(),
        };
        for (slot, part) in contributions.iter().enumerate() {
            let name = self.names.get(slot).copied();
            match name {
                Some(PieceName::Component(id)) if joined.binary_search(&slot).is_err() => {
                    if joining.is_some() || self.answered.get(slot).and_then(Option::as_ref) != Some(part) {
                        push.contributions.push((id, part.clone()));
                    }
                }
                // a birth that was never answered is born again, under a number of its own
                _ => {
                    let number = self.next_birth;
                    self.next_birth += 1;
                    match name {
                        Some(name) => {
                            self.names[slot] = PieceName::Birth(number);
                            left_ids.extend(Some(name).filter(|name| matches!(name, PieceName::Component(_))));
                        }
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
        if joining.is_none() && self.plan.counts_overlaps {
            push.overlap = self.overlap();
        }
        // they stay in the worker's vocabulary, without rows: from it a lost coordinator learns
        // which components are alive
        self.names.extend(left_ids);
        self.pushed = contributions;
        self.sampler.rest();
        push
    }

    /// How far the components of the last snapshot overlapped in the sweep. Pairs of less than half
    /// a nat decide nothing.
    fn overlap(&self) -> SweepOverlap {
        let overlaps = self.sampler.overlaps();
        let mut pairs = overlaps.pairs();
        pairs.retain(|(.., log_share)| *log_share < LEAST_OVERLAP);
        pairs.sort_by_key(|(low, high, _)| (*high, *low));
        let pairs = pairs.into_iter().map(|(low, high, log_share)| (low as u32, high as u32, log_share as f32));
        let halves = (0..self.generations.len()).map(|slot| (slot as u32, overlaps.of_halves(slot)));
        let halves = halves.filter(|(_, log_share)| *log_share < LEAST_OVERLAP);
        let halves = halves.map(|(slot, log_share)| (slot, log_share as f32));
        let log_certainty = overlaps.log_certainty() as f32;
        SweepOverlap { pairs: pairs.collect(), halves: halves.collect(), log_certainty }
    }

    /// The slots that have rows and had none at the last answered push, in order.
    fn joined_slots(&self) -> Vec<usize> {
        let mut has_rows = vec![false; self.answered.len()];
        for &label in self.sampler.labels() {
            if let Some(has_rows) = has_rows.get_mut(label as usize) {
                *has_rows = true;
            }
        }
        // a slot whose halves are still to be set has had rows
        let had_none = |slot: usize| self.answered[slot].as_ref().is_some_and(|part| part.count() == 0);
        (0..has_rows.len()).filter(|&slot| has_rows[slot] && had_none(slot)).collect()
    }

    /// A birth is whole: rows of these slots, which are in order, are in no half any more.
    fn drop_halves_of(&mut self, slots: &[usize]) {
        if slots.iter().all(|&slot| self.generations[slot].is_none()) {
            return;
        }
        let is_among = |label: u32| slots.binary_search(&(label as usize)).is_ok();
        let rows = self.sampler.labels().iter().zip(self.sampler.halves());
        let halves = rows.map(|(&label, &half)| half.filter(|_| !is_among(label))).collect();
        self.sampler.set_halves(halves);
        slots.iter().for_each(|&slot| self.generations[slot] = None);
    }

    /// The statistics of the shard's rows by slot.
    fn contributions(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = if self.generations.iter().any(Option::is_some) {
            let halves = self.sampler.half_contributions().into_iter().enumerate();
            halves.map(|(slot, halves)| self.part(slot, halves)).collect()
        } else {
            self.sampler.contributions().into_iter().map(Part::Whole).collect()
        };
        let used = parts.iter().rposition(|part| part.count() > 0).map_or(0, |last| last + 1);
        parts.resize_with(used.max(self.names.len()), || Part::Whole(self.plan.model.conjugate().empty_contribution()));
        parts
    }

    fn part(&self, slot: usize, halves: [Stats; 2]) -> Part {
        match self.generations.get(slot).copied().flatten() {
            Some(generation) => Part::Halved { generation, halves },
            None => {
                let [left, _] = halves;
                Part::Whole(left)
            }
        }
    }

    /// Renames the slots by the reply and rebuilds the local version from the snapshot.
    fn take_in(&mut self, reply: &Reply, snapshot: Snapshot) -> Decoded<()> {
        let version = snapshot.version;
        check_alpha(reply.alpha)?;
        check_count(reply.cycle)?;
        let snapshot = self.complete(snapshot)?;
        if reply.is_last {
            check_last(snapshot.iter().map(|(_, told)| &told.total), self.shard.n_rows(), self.plan.model.conjugate())?;
        }
        let slots: HashMap<ComponentId, usize> =
            snapshot.iter().enumerate().map(|(slot, (id, _))| (*id, slot)).collect();
        let places = self.places(reply, &snapshot, &slots);
        let rows = self.sampler.labels().iter().zip(self.sampler.halves());
        let seats = rows.map(|(&label, &half)| match label {
            UNASSIGNED => Some((UNASSIGNED, None)),
            label => places[label as usize][half.map_or(0, Half::ix)].map(|(slot, half)| (slot as u32, half)),
        });
        let seats: Option<(Vec<u32>, Vec<Option<Half>>)> = seats.collect();
        let (labels, halves) = seats.ok_or_else(|| Rejection::new("a component with rows is missing"))?;
        let own = Own::new(&self.pushed, &places, snapshot.len());
        require(own.is_within(&snapshot), "fewer rows than the worker has itself")?;
        let local: Vec<Stats> =
            snapshot.iter().zip(&own.totals).map(|((_, told), own)| own_or(own, &told.total)).collect();
        self.sampler.load(&local);
        self.sampler.set_labels(labels);
        if snapshot.iter().any(|(_, told)| told.halves != Halves::Resting) {
            self.sampler.load_halves(self.local_halves(&snapshot, &own, &local));
            self.sampler.set_halves(halves);
        }
        self.names = snapshot.iter().map(|(id, _)| PieceName::Component(*id)).collect();
        self.generations = snapshot.iter().map(|(_, told)| told.halves.generation()).collect();
        self.answered = own.answered(&self.generations, self.plan.model.conjugate());
        self.told = snapshot.into_iter().collect();
        self.base_version = version;
        (self.cycle, self.alpha) = (reply.cycle, reply.alpha);
        Ok(())
    }

    /// Where the rows of each slot are now, by the half they were in: the slot, and the half of it.
    fn places(
        &self,
        reply: &Reply,
        snapshot: &[(ComponentId, ComponentSnapshot)],
        slots: &HashMap<ComponentId, usize>,
    ) -> Vec<SlotPlaces> {
        let moved: HashMap<(PieceName, Half), (ComponentId, Option<Half>)> =
            reply.owners.iter().map(|moved| ((moved.name, moved.half), (moved.owner, moved.in_half))).collect();
        let place = |slot: usize, name: PieceName, half: Half| {
            if let Some((owner, in_half)) = moved.get(&(name, half)) {
                let slot = *slots.get(owner)?;
                let has_halves = snapshot[slot].1.halves.generation().is_some();
                return (in_half.is_none() || has_halves).then_some((slot, *in_half));
            }
            let PieceName::Component(id) = name else { return None };
            let new_slot = *slots.get(&id)?;
            let generation = self.generations.get(slot).copied().flatten();
            let keeps_half = generation.is_some() && snapshot[new_slot].1.halves.generation() == generation;
            Some((new_slot, keeps_half.then_some(half)))
        };
        let places = |(slot, name): (usize, &PieceName)| {
            let left = place(slot, *name, Half::Left);
            // halves that nobody keeps stay together
            let is_whole = moved.is_empty() && self.generations.get(slot).copied().flatten().is_none();
            [left, if is_whole { left } else { place(slot, *name, Half::Right) }]
        };
        self.names.iter().enumerate().map(places).collect()
    }

    /// What the sampler is to know of the halves.
    fn local_halves(
        &self,
        snapshot: &[(ComponentId, ComponentSnapshot)],
        own: &Own,
        local: &[Stats],
    ) -> Vec<LocalHalves> {
        let family = self.plan.model.conjugate();
        let halves = |(slot, (id, told)): (usize, &(ComponentId, ComponentSnapshot))| match &told.halves {
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
    fn complete(&self, snapshot: Snapshot) -> Decoded<Vec<(ComponentId, ComponentSnapshot)>> {
        let family = self.plan.model.conjugate();
        check_ids(snapshot.components.iter().map(|(id, _)| id), u32::MAX, u64::MAX)?;
        check_count(snapshot.version)?;
        let complete = |(id, told): (ComponentId, Option<ComponentSnapshot>)| {
            let Some(told) = told else {
                let known = self.told.get(&id).cloned().map(|told| (id, told));
                return known.ok_or_else(|| Rejection::new("what is left out was never told"));
            };
            check_told([&told.total], family)?;
            if let Halves::Known { stats, .. } = &told.halves {
                check_told(stats, family)?;
            }
            Ok((id, told))
        };
        snapshot.components.into_iter().map(complete).collect()
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
            places: None,
        }
    }

    /// The most probable slot of each row under the last snapshot, and its probability. Components
    /// are asked in the order of their final numbers, by falling size, so that ties go to the
    /// smaller number.
    fn assign(&mut self, ids: &[ComponentId]) -> (Vec<u32>, Vec<f32>) {
        let mut slots: Vec<usize> = (0..ids.len()).collect();
        slots.sort_by_key(|&slot| (std::cmp::Reverse(self.told[&ids[slot]].total.count), ids[slot]));
        let components: Vec<Stats> = slots.iter().map(|&slot| self.told[&ids[slot]].total.clone()).collect();
        let assignments = self.sampler.assign(&components);
        self.sampler.rest();
        let labels = assignments.iter().map(|assignment| slots[assignment.label as usize] as u32).collect();
        (labels, assignments.iter().map(|assignment| assignment.certainty).collect())
    }
}
