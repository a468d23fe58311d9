//! Labels and what they stand for.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::consolidate::ComponentId;
use crate::message::{Decoded, Plan, Refusal};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{UNASSIGNED, sampler};

/// Labels that stood for `from`, so that they stand for `to`, among which all with rows must be.
pub(in crate::node) fn renamed(labels: &[u32], from: &[ComponentId], to: &[ComponentId]) -> Decoded<Vec<u32>> {
    let places: HashMap<ComponentId, u32> = to.iter().copied().zip(0..).collect();
    let new_labels: Vec<Option<u32>> = from.iter().map(|id| places.get(id).copied()).collect();
    let new_label = |&label: &u32| match label {
        UNASSIGNED => Some(UNASSIGNED),
        label => new_labels[label as usize],
    };
    let labels: Option<Vec<u32>> = labels.iter().map(new_label).collect();
    labels.ok_or_else(|| Refusal::new("a component with rows is missing"))
}

/// Components in the order of their final numbers, so that ties go to the smaller number.
pub(in crate::node) fn by_final_number(mut components: Vec<(ComponentId, Stats)>) -> (Vec<ComponentId>, Vec<Stats>) {
    components.sort_by_key(|(id, stats)| (Reverse(stats.count), *id));
    components.into_iter().unzip()
}

/// The most probable component of each row, and its probability.
pub(in crate::node) fn assigned(plan: &Plan, shard: Shard, components: &[Stats]) -> (Vec<u32>, Vec<f32>) {
    let assignments = sampler(&plan.model, shard, plan.kernel).assign(components);
    assignments.iter().map(|assignment| (assignment.label, assignment.certainty)).unzip()
}
