//! A worker's own contributions in the vocabulary of a snapshot.

use super::message::ComponentSnapshot;
use crate::consolidate::ComponentId;
use crate::family::Conjugate;
use crate::halves::{Half, Halves, Part};
use crate::stats::Stats;

/// Where the rows of a slot are now, by the half they were in: the slot, and the half of it.
pub(super) type SlotPlaces = [Option<(usize, Option<Half>)>; 2];

/// The worker's own contributions in the vocabulary of a snapshot.
pub(super) struct Own {
    /// `None` of a slot without own rows.
    pub(super) totals: Vec<Option<Stats>>,
    /// Of rows that are in a half of the current generation.
    pub(super) halves: Vec<[Option<Stats>; 2]>,
    /// Whether the slot has rows that are in no half.
    has_unset: Vec<bool>,
}

impl Own {
    pub(super) fn new(pushed: &[Part], places: &[SlotPlaces], n_slots: usize) -> Self {
        let mut own =
            Self { totals: vec![None; n_slots], halves: vec![[None, None]; n_slots], has_unset: vec![false; n_slots] };
        for (part, places) in pushed.iter().zip(places) {
            for (stats, place) in part.stats().iter().zip(places).filter(|(stats, _)| stats.count > 0) {
                let Some((slot, half)) = *place else { continue };
                add(&mut own.totals[slot], stats);
                match half {
                    Some(half) => add(&mut own.halves[slot][half.ix()], stats),
                    None => own.has_unset[slot] = true,
                }
            }
        }
        own
    }

    /// Whether the worker's own rows are among those that were sent.
    pub(super) fn is_within(&self, snapshot: &[(ComponentId, ComponentSnapshot)]) -> bool {
        let slots = snapshot.iter().zip(&self.totals).zip(&self.halves);
        slots.into_iter().all(|(((_, told), total), own)| {
            let are_halves_within = match &told.halves {
                Halves::Known { stats, .. } => stats.iter().zip(own).all(|(told, own)| count(own) <= told.count),
                Halves::Resting | Halves::Fresh { .. } => true,
            };
            count(total) <= told.total.count && are_halves_within
        })
    }

    /// What a push would have to differ from to be worth saying.
    pub(super) fn answered(self, generations: &[Option<u32>], family: &dyn Conjugate) -> Vec<Option<Part>> {
        let empty = || family.empty_contribution();
        let mut parts = Vec::with_capacity(generations.len());
        let slots = self.totals.into_iter().zip(self.halves).zip(self.has_unset);
        for (((total, halves), has_unset), generation) in slots.zip(generations) {
            parts.push(match generation {
                None => Some(Part::Whole(total.unwrap_or_else(empty))),
                Some(generation) => (!has_unset).then(|| Part::Halved {
                    generation: *generation,
                    halves: halves.map(|half| half.unwrap_or_else(empty)),
                }),
            });
        }
        parts
    }
}

/// Where all rows are the worker's own, nothing of the snapshot is needed.
pub(super) fn own_or(own: &Option<Stats>, told: &Stats) -> Stats {
    own.as_ref().filter(|own| own.count == told.count).unwrap_or(told).clone()
}

fn add(sum: &mut Option<Stats>, stats: &Stats) {
    match sum {
        Some(sum) => sum.add(stats),
        None => *sum = Some(stats.clone()),
    }
}

fn count(stats: &Option<Stats>) -> i64 {
    stats.as_ref().map_or(0, |stats| stats.count)
}
