//! A worker's own contributions in the vocabulary of a snapshot.

use crate::consolidate::ComponentId;
use crate::halves::{Half, Halves, Part};
use crate::message::Told;
use crate::stats::{Stats, Sums};

/// Where the rows of a slot are now, by the half they were in: the slot, and the half of it.
pub(super) type Places = [Option<(usize, Option<Half>)>; 2];

/// The worker's own contributions in the vocabulary of a snapshot.
pub(super) struct Own {
    pub(super) totals: Vec<Stats>,
    /// Of rows that are in a half of the current generation.
    pub(super) halves: Vec<[Stats; 2]>,
    /// Whether the slot has rows that are in no half.
    has_unset: Vec<bool>,
}

impl Own {
    pub(super) fn new(pushed: &[Part], places: &[Places], snapshot: &[(ComponentId, Told)]) -> Self {
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

    /// Whether the worker's own rows are among those that were told.
    pub(super) fn is_within(&self, snapshot: &[(ComponentId, Told)]) -> bool {
        let slots = snapshot.iter().zip(&self.totals).zip(&self.halves);
        slots.into_iter().all(|(((_, told), total), own)| {
            let are_halves_within = match &told.halves {
                Halves::Known { stats, .. } => stats.iter().zip(own).all(|(told, own)| own.count <= told.count),
                Halves::Resting | Halves::Fresh { .. } => true,
            };
            total.count <= told.total.count && are_halves_within
        })
    }

    /// What a push would have to differ from to be worth saying.
    pub(super) fn answered(self, generations: &[Option<u32>]) -> Vec<Option<Part>> {
        let mut parts = Vec::with_capacity(generations.len());
        let slots = self.totals.into_iter().zip(self.halves).zip(self.has_unset);
        for (((total, halves), has_unset), generation) in slots.zip(generations) {
            parts.push(match generation {
                None => Some(Part::Whole(total)),
                Some(generation) => (!has_unset).then_some(Part::Halved { generation: *generation, halves }),
            });
        }
        parts
    }
}

/// Where all rows are the worker's own, nothing of the snapshot is needed.
pub(super) fn own_or(own: &Stats, told: &Stats) -> Stats {
    if told.count == own.count { own.clone() } else { told.clone() }
}
