//! Labels and what they stand for.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::consolidate::ComponentId;
use crate::protocol::message::Plan;
use crate::protocol::{Decoded, Rejection};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{UNASSIGNED, sampler};

/// Names of the components of a run that begins with labels below `n_components`.
pub(crate) fn starting_ids(n_components: u32) -> Vec<ComponentId> {
    (1..=u64::from(n_components)).map(|number| ComponentId { epoch: 0, number }).collect()
}

/// Whether labels can be those of a shard's rows, in this many components.
pub(crate) fn labels_fit(labels: &[u32], n_components: usize, shard: &Shard) -> bool {
    labels.len() == shard.n_rows() && labels.iter().all(|&label| label == UNASSIGNED || (label as usize) < n_components)
}

/// Labels that stood for `from`, so that they stand for `to`, among which all with rows must be.
pub(crate) fn renamed(labels: &[u32], from: &[ComponentId], to: &[ComponentId]) -> Decoded<Vec<u32>> {
    let places: HashMap<ComponentId, u32> = to.iter().copied().zip(0..).collect();
    let new_labels: Vec<Option<u32>> = from.iter().map(|id| places.get(id).copied()).collect();
    let new_label = |&label: &u32| match label {
        UNASSIGNED => Some(UNASSIGNED),
        label => new_labels[label as usize],
    };
    let labels: Option<Vec<u32>> = labels.iter().map(new_label).collect();
    labels.ok_or_else(|| Rejection::new("a component with rows is missing"))
}

/// Components in the order of their final numbers, so that ties go to the smaller number.
pub(crate) fn by_final_number(mut components: Vec<(ComponentId, Stats)>) -> (Vec<ComponentId>, Vec<Stats>) {
    components.sort_by_key(|(id, stats)| (Reverse(stats.count), *id));
    components.into_iter().unzip()
}

/// The most probable component of each row, and its probability.
pub(crate) fn assigned(plan: &Plan, shard: Shard, components: &[Stats]) -> (Vec<u32>, Vec<f32>) {
    let assignments = sampler(&plan.model, shard, plan.kernel).assign(components);
    assignments.iter().map(|assignment| (assignment.label, assignment.certainty)).unzip()
}
