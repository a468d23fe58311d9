//! The shard of SubC: rows, their labels and the half of each.
//!
//! A cycle: take in weights and parameters, draw every label and then its half, push the statistics
//! of all halves.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Subc;
use super::message::{DrawnHalves, HalfPlaces, SubcDraw, SubcPush, SubcReply};
use crate::consolidate::{ComponentId, ShardId};
use crate::family::Family;
use crate::halves::Half;
use crate::interrupt::Interrupt;
use crate::model::with_family;
use crate::protocol::message::{Joining, Plan, ShownLabels};
use crate::protocol::{
    Decoded, FinalComponents, Rejection, Response, ShardContext, ShardState, Worker, assigned, by_final_number,
    check_alpha, check_count, check_last, labels_fit, renamed, require, starting_ids,
};
use crate::rng::{Role, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::UNASSIGNED;
use crate::sweep::reference::half_contributions;
use crate::sweep::slice::{SliceSampler, slice_sampler};

/// Rows, labels, halves, and how far the run has come.
pub struct SubcShard {
    shard_id: ShardId,
    shard: Shard,
    plan: Plan,
    sampler: Box<dyn SliceSampler>,
    interrupt: Interrupt,
    /// What the labels stand for.
    ids: Vec<ComponentId>,
    halves: Vec<Option<Half>>,
    cycle: u64,
    alpha: f64,
}

/// What a checkpoint holds of a shard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubcMemory {
    ids: Vec<ComponentId>,
    labels: Vec<u32>,
    /// Empty: a coin decides.
    halves: Vec<Option<Half>>,
    cycle: u64,
    alpha: f64,
}

impl Worker<Subc> {
    /// The components with rows, and the statistics of both halves of each.
    pub fn contributions(&self) -> Vec<(ComponentId, [Stats; 2])> {
        self.state().map_or_else(Vec::new, SubcShard::contributions)
    }
}

impl ShardState<Subc> for SubcShard {
    type Memory = SubcMemory;

    fn begin(context: ShardContext<'_, Subc>, memory: Option<SubcMemory>) -> Self {
        let ShardContext { shard_id, shard, plan, interrupt, .. } = context;
        let mut sampler = slice_sampler(&plan.model, shard.clone(), plan.kernel);
        sampler.set_interrupt(interrupt.clone());
        let (shard, n_rows) = (shard.clone(), shard.n_rows());
        let Some(SubcMemory { ids, labels, halves, cycle, alpha }) = memory else {
            let (ids, halves) = (Vec::new(), vec![None; n_rows]);
            return Self { shard_id, shard, plan, sampler, interrupt, ids, halves, cycle: 0, alpha: 1.0 };
        };
        sampler.set_labels(labels);
        // rounds are counted from 1, so no other stream has this name
        let mut rng = plan.seed().stream(Role::SliceLabels, shard_id, 0);
        let halves = if halves.is_empty() { (0..n_rows).map(|_| Some(coin(&mut rng))).collect() } else { halves };
        Self { shard_id, shard, plan, sampler, interrupt, ids, halves, cycle, alpha }
    }

    fn start(labels: Vec<u32>, n_components: u32) -> SubcMemory {
        SubcMemory { ids: starting_ids(n_components), labels, halves: Vec::new(), cycle: 0, alpha: 1.0 }
    }

    fn fits(memory: &SubcMemory, shard: &Shard) -> bool {
        labels_fit(&memory.labels, memory.ids.len(), shard)
            && (memory.halves.is_empty() || memory.halves.len() == shard.n_rows())
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.sampler.set_interrupt(interrupt.clone());
        self.interrupt = interrupt;
    }

    fn join(&mut self) -> SubcPush {
        let (cycle, alpha) = (self.cycle, self.alpha);
        let joining = Joining { sum_log_base: self.sampler.sum_log_base(), cycle, alpha };
        SubcPush { joining: Some(joining), moved: None, contributions: self.contributions() }
    }

    fn take(&mut self, (): (), shared: Option<SubcReply>) -> Decoded<Response<Subc>> {
        Ok(match shared.ok_or_else(|| Rejection::new("a reply without its shared part"))? {
            SubcReply::Draw(draw) => {
                let before = self.take_over(&draw)?;
                let shown = self.plan.shows_labels.then(|| self.show(draw.cycle));
                let moved = self.draw(draw, &before);
                let contributions = if moved.is_some() { self.contributions() } else { Vec::new() };
                let push = SubcPush { joining: None, moved, contributions };
                Response::Swept { shown, n_rows: self.shard.n_rows() as u64, push }
            }
            SubcReply::Last { places, last } => Response::Last(self.show_last(&places, last)?),
        })
    }

    fn memory(&self) -> SubcMemory {
        let (ids, labels, halves) = (self.ids.clone(), self.sampler.labels().to_vec(), self.halves.clone());
        SubcMemory { ids, labels, halves, cycle: self.cycle, alpha: self.alpha }
    }
}

impl SubcShard {
    fn contributions(&self) -> Vec<(ComponentId, [Stats; 2])> {
        let (labels, n_slots) = (self.sampler.labels(), self.ids.len());
        let stats = with_family!(&self.plan.model, family => {
            half_contributions(family, &self.shard, labels, &self.halves, n_slots)
        });
        let of_ids = self.ids.iter().copied().zip(stats);
        of_ids.filter(|(_, halves)| halves.iter().any(|half| half.count > 0)).collect()
    }

    /// Moves rows to where splits and merges have put them; the same labels, for what is to be
    /// drawn. Their halves are drawn again before anybody asks for them.
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
    fn moved_over(&self, places: &HalfPlaces) -> (Vec<u32>, Vec<ComponentId>) {
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

    /// Draws all labels and halves; the number of rows that moved, by the labels before. `None` if
    /// it was interrupted.
    fn draw(&mut self, draw: SubcDraw, before: &[u32]) -> Option<u64> {
        // every row is drawn again, by weight and likelihood, wherever it was
        self.sampler.set_labels(vec![UNASSIGNED; before.len()]);
        let mut unused = self.plan.seed().stream(Role::Slice, self.shard_id, draw.round);
        let mut rng = self.plan.seed().stream(Role::SliceLabels, self.shard_id, draw.round);
        self.sampler.draw_labels(&draw.components, &mut unused, &mut rng);
        if self.interrupt.is_raised() {
            // some rows have no label
            return None;
        }
        let labels = self.sampler.labels();
        self.halves = with_family!(&self.plan.model, family => {
            draw_halves(family, &self.shard, labels, &draw.halves, &mut rng)
        });
        (self.ids, self.cycle, self.alpha) = (draw.ids, draw.cycle, draw.alpha);
        Some(before.iter().zip(labels).filter(|(before, after)| before != after).count() as u64)
    }

    fn show(&self, cycle: u64) -> ShownLabels {
        let labels = self.sampler.labels().to_vec();
        ShownLabels { cycle, components: self.ids.clone(), labels, assignments: None, places: None }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, places: &HalfPlaces, last: FinalComponents) -> Decoded<ShownLabels> {
        check_last(last.components.iter().map(|(_, stats)| stats), self.shard.n_rows(), self.plan.model.conjugate())?;
        let (ids, components) = by_final_number(last.components);
        let (labels, ids_before) = self.moved_over(places);
        self.sampler.set_labels(renamed(&labels, &ids_before, &ids)?);
        (self.ids, self.cycle) = (ids, last.cycle);
        let assignments = Some(assigned(&self.plan, self.shard.clone(), &components));
        Ok(ShownLabels { assignments, ..self.show(last.cycle) })
    }
}

fn draw_halves<F: Family + ?Sized>(
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
