//! Label entropy at the coordinator: what all workers say of how far components overlap.
//!
//! ρ compares two single labellings. Where components overlap there are very many labellings with
//! both of them, and log ρ + L compares the two mixtures' marginal likelihoods to first order: L(A,
//! B) = Σ log q, q the conditional probability of a row's own side among the two.

use std::collections::{BTreeMap, BTreeSet};

use super::ComponentId;
use crate::method::consolidated::message::SweepOverlap;

/// L of pairs of components and of halves, over all rows.
#[derive(Debug, Clone, Default)]
pub struct LabelEntropy {
    /// Both ways.
    pairs: BTreeMap<ComponentId, BTreeMap<ComponentId, f64>>,
    halves: BTreeMap<ComponentId, f64>,
    /// Components that workers have swept against; of others nothing is known yet.
    known: BTreeSet<ComponentId>,
    log_certainty: f64,
}

impl LabelEntropy {
    /// Sums what the workers say, in their order, each with the components that it names by their
    /// places.
    pub fn of<'a>(
        workers: impl IntoIterator<Item = (&'a [ComponentId], &'a SweepOverlap)>,
        known: impl IntoIterator<Item = ComponentId>,
    ) -> Self {
        let mut entropy = Self { known: known.into_iter().collect(), ..Self::default() };
        for (ids, overlap) in workers {
            let id = |place: u32| ids[place as usize];
            for &(a, b, log_share) in &overlap.pairs {
                entropy.add(id(a), id(b), f64::from(log_share));
            }
            for &(place, log_share) in &overlap.halves {
                *entropy.halves.entry(id(place)).or_default() += f64::from(log_share);
            }
            entropy.log_certainty += f64::from(overlap.log_certainty);
        }
        entropy
    }

    fn add(&mut self, a: ComponentId, b: ComponentId, log_share: f64) {
        for (a, b) in [(a, b), (b, a)] {
            *self.pairs.entry(a).or_default().entry(b).or_default() += log_share;
        }
    }

    /// Whether rows have been swept against the component: only then is its overlap known.
    pub fn knows(&self, id: ComponentId) -> bool {
        self.known.contains(&id)
    }

    /// Says that rows have been swept against a component.
    pub(crate) fn know(&mut self, id: ComponentId) {
        self.known.insert(id);
    }

    /// L of two components; 0 where they do not overlap.
    pub fn of_pair(&self, a: ComponentId, b: ComponentId) -> f64 {
        self.pairs.get(&a).and_then(|with| with.get(&b)).copied().unwrap_or(0.0)
    }

    /// L of the two halves of a component.
    pub fn of_halves(&self, id: ComponentId) -> f64 {
        self.halves.get(&id).copied().unwrap_or(0.0)
    }

    /// The components that overlap with one.
    pub(super) fn overlapping(&self, id: ComponentId) -> impl Iterator<Item = ComponentId> + '_ {
        self.pairs.get(&id).into_iter().flat_map(|with| with.keys().copied())
    }

    /// Σ log of the probability of each row's component among all.
    pub fn log_certainty(&self) -> f64 {
        self.log_certainty
    }

    /// Two components have become one. The sum of L is a bound from below: it may keep a pair apart
    /// for a cycle, until it is counted again.
    pub fn join(&mut self, kept: ComponentId, gone: ComponentId) {
        for (other, log_share) in self.pairs.remove(&gone).unwrap_or_default() {
            if let Some(with) = self.pairs.get_mut(&other) {
                with.remove(&gone);
            }
            if other != kept {
                self.add(kept, other, log_share);
            }
        }
    }
}
