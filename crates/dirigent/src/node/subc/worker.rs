//! The worker of SubC: a shard, its labels and the half of each row.
//!
//! A cycle: take in weights and parameters, draw every label and then its half, push the statistics of all halves.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, ShardId};
use crate::error::{InputError, Result};
use crate::family::Family;
use crate::halves::Half;
use crate::message::codec::Message;
use crate::message::slice::SliceLast;
use crate::message::subc::{DrawnHalves, Places, SubcDraw, SubcPush, SubcReply};
use crate::message::{Decoded, Joining, Plan, ShownLabels, require};
use crate::model::with_family;
use crate::node::checks::{check_alpha, check_count, check_last, check_plan};
use crate::node::life::Life;
use crate::node::rounds::{assigned, by_final_number, renamed};
use crate::node::{Address, Event, Frame, Node, Outbox};
use crate::rng::{Role, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::reference::half_contributions;
use crate::sweep::slice::{SliceSampler, slice_sampler};
use crate::sweep::{Kernel, UNASSIGNED};

/// The worker of a shard.
pub struct SubcWorker {
    life: Life,
    /// `None` until the plan has come.
    work: Option<Work>,
    /// Labels from an earlier life, until the plan has come.
    memory: Option<Memory>,
}

/// What a worker does once it has a plan.
struct Work {
    plan: Plan,
    shard: Shard,
    sampler: Box<dyn SliceSampler>,
    /// What the labels stand for.
    ids: Vec<ComponentId>,
    halves: Vec<Option<Half>>,
    cycle: u64,
    alpha: f64,
}

/// A checkpoint: the labels, what they stand for, and the halves. Everything else can be made again.
#[derive(Clone, Serialize, Deserialize)]
struct Memory {
    ids: Vec<ComponentId>,
    labels: Vec<u32>,
    /// Empty: a coin decides.
    halves: Vec<Option<Half>>,
    cycle: u64,
    alpha: f64,
}

impl SubcWorker {
    /// The worker of a shard whose rows are all unassigned.
    pub fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        Self { life: Life::new(shard_id, shard, kernel), work: None, memory: None }
    }

    /// A worker that goes on from a checkpoint of an earlier life.
    pub fn restore(shard_id: ShardId, shard: Shard, kernel: Kernel, checkpoint: &[u8]) -> Result<Self> {
        let memory: Option<Memory> = postcard::from_bytes(checkpoint)
            .map_err(|error| InputError::new(format!("the checkpoint of worker {shard_id} cannot be read: {error}")))?;
        let is_whole = |memory: &Memory| {
            memory.labels.len() == shard.n_rows()
                && (memory.halves.is_empty() || memory.halves.len() == shard.n_rows())
                && memory.labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < memory.ids.len())
        };
        if !memory.as_ref().is_none_or(is_whole) {
            let problem = format!("the checkpoint of worker {shard_id} does not fit its {} rows", shard.n_rows());
            return Err(InputError::new(problem).into());
        }
        Ok(Self { memory, ..Self::new(shard_id, shard, kernel) })
    }

    /// A worker that begins with labels below `n_components`, the same numbers as the other workers'. Halves begin with a fair coin.
    pub fn start_from(shard_id: ShardId, shard: Shard, kernel: Kernel, labels: Vec<u32>, n_components: u32) -> Self {
        assert_eq!(labels.len(), shard.n_rows(), "one label a row");
        let ids = (0..n_components).map(|number| ComponentId { epoch: 0, number: u64::from(number) + 1 }).collect();
        let memory = Memory { ids, labels, halves: Vec::new(), cycle: 0, alpha: 1.0 };
        Self { memory: Some(memory), ..Self::new(shard_id, shard, kernel) }
    }

    /// The components with rows, and the statistics of both halves of each.
    pub fn contributions(&self) -> Vec<(ComponentId, [Stats; 2])> {
        self.work.as_ref().map_or_else(Vec::new, Work::contributions)
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = self.life.open(from, frame, self.work.as_ref().map(|work| &work.plan))?;
        match message {
            Message::Plan(plan) if self.work.is_none() => {
                let shard = self.life.shard();
                check_plan(&plan, shard).map_err(|refusal| refusal.of(from))?;
                self.work = Some(Work::new(plan, shard.clone(), self.memory.take(), self.life.shard_id()));
                self.join(stamp.incarnation, out);
            }
            Message::Rejoin if self.work.is_none() => self.life.say_hello(out),
            Message::Rejoin if self.life.is_before(stamp) => self.join(stamp.incarnation, out),
            Message::SubcReply(reply) if self.life.awaits(stamp) => {
                return self.on_reply(reply, out).map_err(|refusal| refusal.of(from));
            }
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
        let push = SubcPush { joining: Some(joining), moved: None, contributions: work.contributions() };
        self.life.push(&Message::SubcPush(push), out);
    }

    fn on_reply(&mut self, reply: SubcReply, out: &mut Outbox) -> Decoded<()> {
        let work = self.work.as_mut().expect("a reply answers a push");
        match reply {
            SubcReply::Draw(draw) => {
                let before = work.take_over(&draw)?;
                if work.plan.shows_labels {
                    self.life.show(&Message::ShownLabels(work.show(draw.cycle)), out);
                }
                let moved = work.draw(draw, &before, self.life.shard_id());
                out.swept_rows += work.shard.n_rows() as u64;
                let push = SubcPush { joining: None, moved: Some(moved), contributions: work.contributions() };
                self.life.push(&Message::SubcPush(push), out);
            }
            SubcReply::Last { places, last } => {
                self.life.show(&Message::ShownLabels(work.show_last(&places, last)?), out);
                self.life.end(out);
            }
        }
        Ok(())
    }
}

impl Work {
    fn new(plan: Plan, shard: Shard, memory: Option<Memory>, shard_id: ShardId) -> Self {
        let mut sampler = slice_sampler(&plan.model, shard.clone(), plan.kernel);
        let n_rows = shard.n_rows();
        let Some(Memory { ids, labels, halves, cycle, alpha }) = memory else {
            return Self { plan, shard, sampler, ids: Vec::new(), halves: vec![None; n_rows], cycle: 0, alpha: 1.0 };
        };
        sampler.set_labels(labels);
        // rounds are counted from 1, so this stream is nobody else's
        let mut rng = plan.seed().stream(Role::SliceLabels, shard_id, 0);
        let halves = if halves.is_empty() { (0..n_rows).map(|_| Some(coin(&mut rng))).collect() } else { halves };
        Self { plan, shard, sampler, ids, halves, cycle, alpha }
    }

    fn contributions(&self) -> Vec<(ComponentId, [Stats; 2])> {
        let (labels, n_slots) = (self.sampler.labels(), self.ids.len());
        let stats = with_family!(&self.plan.model, family => {
            half_contributions(family, &self.shard, labels, &self.halves, n_slots)
        });
        let of_ids = self.ids.iter().copied().zip(stats);
        of_ids.filter(|(_, halves)| halves.iter().any(|half| half.count > 0)).collect()
    }

    /// Moves rows to where splits and merges have put them; the same labels, for what is to be drawn. Their halves are drawn afresh before
    /// anybody asks for them.
    fn take_over(&mut self, draw: &SubcDraw) -> Decoded<Vec<u32>> {
        let parameters_len = self.plan.model.conjugate().parameters_len();
        let n_numbers = draw.ids.len() * parameters_len;
        require(draw.components.parameters.len() == n_numbers, "parameters of another family")?;
        check_alpha(draw.alpha)?;
        check_count(draw.round)?;
        let (labels, ids) = self.moved_over(&draw.places);
        let before = renamed(&labels, &ids, &draw.ids)?;
        self.sampler.set_labels(labels);
        self.ids = ids;
        Ok(before)
    }

    /// The labels where splits and merges have put the rows, and what they stand for.
    fn moved_over(&self, places: &Places) -> (Vec<u32>, Vec<ComponentId>) {
        let places: HashMap<_, _> = places.iter().copied().collect();
        let mut ids = Vec::new();
        let mut slots = HashMap::new();
        let mut slot_of = |id: ComponentId| {
            *slots.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() as u32 - 1
            })
        };
        let new: Vec<[u32; 2]> =
            self.ids.iter().map(|id| places.get(id).copied().unwrap_or([*id, *id]).map(&mut slot_of)).collect();
        let rows = self.sampler.labels().iter().zip(&self.halves);
        let labels = rows.map(|(&label, half)| match label {
            UNASSIGNED => UNASSIGNED,
            label => new[label as usize][half.map_or(0, Half::ix)],
        });
        (labels.collect(), ids)
    }

    /// Draws all labels and halves; the number of rows that moved, by the labels before.
    fn draw(&mut self, draw: SubcDraw, before: &[u32], shard_id: ShardId) -> u64 {
        // every row is drawn afresh, by weight and likelihood, wherever it was
        self.sampler.set_labels(vec![UNASSIGNED; before.len()]);
        let mut unused = self.plan.seed().stream(Role::Slice, shard_id, draw.round);
        let mut rng = self.plan.seed().stream(Role::SliceLabels, shard_id, draw.round);
        self.sampler.draw_labels(&draw.components, &mut unused, &mut rng);
        let labels = self.sampler.labels();
        self.halves = with_family!(&self.plan.model, family => {
            draw_halves(family, &self.shard, labels, &draw.halves, &mut rng)
        });
        (self.ids, self.cycle, self.alpha) = (draw.ids, draw.cycle, draw.alpha);
        before.iter().zip(labels).filter(|(before, after)| before != after).count() as u64
    }

    fn show(&self, cycle: u64) -> ShownLabels {
        let labels = self.sampler.labels().to_vec();
        ShownLabels { cycle, components: self.ids.clone(), labels, assignments: None }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, places: &Places, last: SliceLast) -> Decoded<ShownLabels> {
        check_last(last.components.iter().map(|(_, stats)| stats), self.shard.n_rows(), self.plan.model.conjugate())?;
        let (ids, components) = by_final_number(last.components);
        let (labels, ids_before) = self.moved_over(places);
        self.sampler.set_labels(renamed(&labels, &ids_before, &ids)?);
        (self.ids, self.cycle) = (ids, last.cycle);
        let assignments = Some(assigned(&self.plan, self.shard.clone(), &components));
        Ok(ShownLabels { assignments, ..self.show(last.cycle) })
    }
}

fn draw_halves<F: Family>(
    family: &F,
    shard: &Shard,
    labels: &[u32],
    halves: &[Option<DrawnHalves>],
    rng: &mut Stream,
) -> Vec<Option<Half>> {
    let half_of = |(row, &label)| {
        Some(match &halves[label as usize] {
            None => coin(rng),
            Some(DrawnHalves { log_weights, parameters }) => {
                let log_weight =
                    |half: Half| log_weights[half.ix()] + family.log_likelihood(row, &parameters[half.ix()]);
                let difference = log_weight(Half::Right) - log_weight(Half::Left);
                if rng.uniform() * (1.0 + libm::exp(difference)) < 1.0 { Half::Left } else { Half::Right }
            }
        })
    };
    shard.rows().zip(labels).map(half_of).collect()
}

fn coin(rng: &mut Stream) -> Half {
    if rng.uniform() < 0.5 { Half::Left } else { Half::Right }
}

impl Node for SubcWorker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => self.life.say_hello(out),
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            Event::Lost(_) | Event::Stop => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        let of_work = |work: &Work| Memory {
            ids: work.ids.clone(),
            labels: work.sampler.labels().to_vec(),
            halves: work.halves.clone(),
            cycle: work.cycle,
            alpha: work.alpha,
        };
        // before there is a plan there is nothing to remember but what it began with
        let memory = self.work.as_ref().map(of_work).or_else(|| self.memory.clone());
        postcard::to_stdvec(&memory).expect("a checkpoint is plain data")
    }
}
