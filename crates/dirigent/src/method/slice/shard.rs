//! The shard of the slice sampler: rows and their labels.
//!
//! A round: take in weights and parameters, draw every label, push the statistics and the smallest
//! uniforms of the next round.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Slice;
use super::message::{SliceContribution, SliceDraw, SliceHead, SlicePush, SliceReply, SliceWord};
use super::move_message::{SliceMove, SliceSettlement, SliceSides};
use super::sides::SideRows;
use crate::consolidate::{ComponentId, ShardId};
use crate::interrupt::Interrupt;
use crate::protocol::message::{Joining, Plan, ShownLabels};
use crate::protocol::{
    Decoded, FinalComponents, Rejection, Response, ShardContext, ShardState, Worker, assigned, by_final_number,
    check_alpha, check_count, check_last, labels_fit, renamed, require, starting_ids,
};
use crate::rng::{Role, Stream};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::slice::{SliceSampler, slice_sampler, smallest_uniforms};

/// Rows, labels, and how far the run has come.
pub struct SliceShard {
    shard_id: ShardId,
    shard: Shard,
    plan: Plan,
    sampler: Box<dyn SliceSampler>,
    /// What the labels stand for.
    ids: Vec<ComponentId>,
    round: u64,
    cycle: u64,
    alpha: f64,
    /// The rows that were last drawn to the right of a component, until it is settled whether they
    /// leave it.
    right: Option<(ComponentId, Vec<usize>)>,
}

/// What a checkpoint holds of a shard.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SliceMemory {
    ids: Vec<ComponentId>,
    labels: Vec<u32>,
    round: u64,
    cycle: u64,
    alpha: f64,
}

impl SliceMemory {
    /// The component of each row; `None` for a row that is in none.
    pub(crate) fn components(&self) -> impl Iterator<Item = Option<ComponentId>> + '_ {
        self.labels.iter().map(|label| self.ids.get(*label as usize).copied())
    }
}

impl Worker<Slice> {
    /// The components with rows and the statistics of the rows.
    pub fn contributions(&self) -> Vec<(ComponentId, Stats)> {
        self.state().map_or_else(Vec::new, SliceShard::contributions)
    }
}

impl ShardState<Slice> for SliceShard {
    type Memory = SliceMemory;

    fn begin(context: ShardContext<'_, Slice>, memory: Option<SliceMemory>) -> Self {
        let ShardContext { shard_id, shard, plan, interrupt, .. } = context;
        let mut sampler = slice_sampler(&plan.model, shard.clone(), plan.kernel);
        sampler.set_interrupt(interrupt);
        let is_new = memory.is_none();
        let SliceMemory { ids, labels, round, cycle, alpha } =
            memory.unwrap_or_else(|| SliceMemory { alpha: 1.0, ..SliceMemory::default() });
        if !is_new {
            sampler.set_labels(labels);
        }
        Self { shard_id, shard: shard.clone(), plan, sampler, ids, round, cycle, alpha, right: None }
    }

    fn start(labels: Vec<u32>, n_components: u32) -> SliceMemory {
        SliceMemory { ids: starting_ids(n_components), labels, alpha: 1.0, ..SliceMemory::default() }
    }

    fn fits(memory: &SliceMemory, shard: &Shard) -> bool {
        labels_fit(&memory.labels, memory.ids.len(), shard)
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.sampler.set_interrupt(interrupt);
    }

    fn join(&mut self) -> SliceWord {
        let (cycle, alpha) = (self.cycle, self.alpha);
        self.push(None, Some(Joining { sum_log_base: self.sampler.sum_log_base(), cycle, alpha }))
    }

    fn take(&mut self, head: SliceHead, shared: Option<SliceReply>) -> Decoded<Response<Slice>> {
        if let SliceHead::Again { round } = head {
            check_count(round)?;
            self.round = round.saturating_sub(1);
            return Ok(Response::Answer(self.push(None, None)));
        }
        Ok(match shared.ok_or_else(|| Rejection::new("a reply without its shared part"))? {
            SliceReply::Draw(draw) => {
                let shown = self.plan.shows_labels.then(|| self.show(draw.cycle));
                let moved = self.draw(draw)?;
                Response::Swept { shown, n_rows: self.shard.n_rows() as u64, push: self.push(Some(moved), None) }
            }
            SliceReply::Move(step) => Response::Answer(SliceWord::Sides(self.answer(&step)?)),
            SliceReply::Settle(settlement) => {
                self.settle(settlement)?;
                Response::Answer(self.push(None, None))
            }
            SliceReply::Last(last) => Response::Last(self.show_last(last)?),
        })
    }

    /// Where labels are about to be drawn; the steps of a move are none.
    fn is_border(shared: Option<&SliceReply>) -> bool {
        !matches!(shared, Some(SliceReply::Move(_) | SliceReply::Settle(_)))
    }

    fn memory(&self) -> SliceMemory {
        let (ids, labels) = (self.ids.clone(), self.sampler.labels().to_vec());
        SliceMemory { ids, labels, round: self.round, cycle: self.cycle, alpha: self.alpha }
    }
}

impl SliceShard {
    /// The stream of the rows' uniforms in a round: drawn for their minimum first, and again for
    /// the slices.
    fn slices(&self, round: u64) -> Stream {
        self.plan.seed().stream(Role::Slice, self.shard_id, round)
    }

    fn contributions(&self) -> Vec<(ComponentId, Stats)> {
        let of_ids = self.ids.iter().copied().zip(self.sampler.contributions(self.ids.len()));
        of_ids.filter(|(_, stats)| stats.count > 0).collect()
    }

    fn push(&self, moved: Option<u64>, joining: Option<Joining>) -> SliceWord {
        let round = self.round + 1;
        let smallest = smallest_uniforms(self.sampler.labels(), self.ids.len(), &mut self.slices(round));
        let smallest: HashMap<ComponentId, f64> = self.ids.iter().copied().zip(smallest).collect();
        let contribution = |(id, stats)| SliceContribution { id, stats, smallest_uniform: smallest[&id] };
        let contributions = self.contributions().into_iter().map(contribution).collect();
        SliceWord::Push(SlicePush { round, joining, moved, contributions })
    }

    /// Draws all labels; the number of rows that moved.
    fn draw(&mut self, draw: SliceDraw) -> Decoded<u64> {
        let parameters_len = self.plan.model.conjugate().parameters_len();
        let n_numbers = draw.ids.len() * parameters_len;
        require(draw.components.parameters.len() == n_numbers, "parameters of another family")?;
        check_alpha(draw.alpha)?;
        check_count(draw.round)?;
        self.rename(draw.ids)?;
        (self.round, self.cycle, self.alpha, self.right) = (draw.round, draw.cycle, draw.alpha, None);
        let mut slices = self.slices(self.round);
        let mut rng = self.plan.seed().stream(Role::SliceLabels, self.shard_id, self.round);
        Ok(self.sampler.draw_labels(&draw.components, &mut slices, &mut rng))
    }

    /// Does a step of a split or a merge. No label changes before it is settled.
    fn answer(&mut self, step: &SliceMove) -> Decoded<SliceSides> {
        let family = self.plan.model.conjugate();
        let rows = SideRows {
            shard_id: self.shard_id,
            sampler: self.sampler.as_ref(),
            ids: &self.ids,
            parameters_len: family.parameters_len(),
            has_counts: family.has_counts(),
        };
        let answer = rows.answer(step, &mut self.plan.seed().stream(Role::SliceSides, self.shard_id, step.step))?;
        self.right = Some((step.components[0], answer.right));
        Ok(answer.said)
    }

    /// Makes the labels follow a split or a merge.
    fn settle(&mut self, settlement: SliceSettlement) -> Decoded<()> {
        let mut labels = self.sampler.labels().to_vec();
        match settlement {
            SliceSettlement::Split { component, right } => {
                let drawn = self.right.take().filter(|(of, _)| *of == component);
                let (_, rows) = drawn.ok_or_else(|| Rejection::new("a split that was not drawn"))?;
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
        ShownLabels { cycle, components: self.ids.clone(), labels, assignments: None, places: None }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, last: FinalComponents) -> Decoded<ShownLabels> {
        check_last(last.components.iter().map(|(_, stats)| stats), self.shard.n_rows(), self.plan.model.conjugate())?;
        let (ids, components) = by_final_number(last.components);
        self.rename(ids)?;
        self.cycle = last.cycle;
        let assignments = Some(assigned(&self.plan, self.shard.clone(), &components));
        Ok(ShownLabels { assignments, ..self.show(last.cycle) })
    }
}
