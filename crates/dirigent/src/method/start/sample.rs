//! A sample of the rows: parts that are swept by themselves, and rows that are left out.

use super::cells::in_parts;
use crate::consolidate::{ComponentId, LabelEntropy};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::method::consolidated::message::SweepOverlap;
use crate::model::{Model, with_family};
use crate::rng::{Role, Seed};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{Kernel, UNASSIGNED, reference, sampler};

/// Parts of a sample; the last one is left out of fits and scores them.
const PARTS: usize = 5;
/// Births are all but ruled out: the number of components only falls.
const ALPHA: f64 = f64::MIN_POSITIVE;

/// Some of the rows, in parts.
pub(super) struct Sample {
    pub(super) parts: Vec<Shard>,
    pub(super) held_out: Shard,
    pub(super) n_threads: usize,
    pub(super) kernel: Kernel,
    pub(super) interrupt: Interrupt,
}

/// A labelling of the parts, with the statistics of its components.
#[derive(Debug, Clone, Default)]
pub(super) struct Labelling {
    /// Part by part.
    pub(super) labels: Vec<Vec<u32>>,
    pub(super) components: Vec<Stats>,
}

impl Sample {
    /// About so many rows, at most about twice as many.
    pub(super) fn new(rows: &Shard, n_rows: usize, kernel: Kernel, n_threads: usize, interrupt: Interrupt) -> Self {
        let stride = (rows.n_rows() / n_rows).max(1);
        let mut parts: Vec<Shard> = (0..PARTS).map(|part| rows.every_from(part * stride, PARTS * stride)).collect();
        let held_out = parts.pop().expect("there are parts");
        parts.retain(|part| part.n_rows() > 0);
        Self { parts, held_out, n_threads, kernel, interrupt }
    }

    /// An error once the search is interrupted: what the last sweep has left behind is then of no use.
    pub(super) fn check_interrupt(&self) -> Result<()> {
        if self.interrupt.is_raised() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Rows that take part.
    pub(super) fn n_rows(&self) -> usize {
        self.parts.iter().map(Shard::n_rows).sum()
    }

    /// A labelling by cells, of which some may be empty.
    pub(super) fn label(&self, cells: &[u32], model: &Model) -> Labelling {
        let mut labelling = Labelling { labels: self.by_part(cells), components: Vec::new() };
        labelling.sum_up(self, model);
        labelling
    }

    /// The labels of each part, of all labels one after another.
    pub(super) fn by_part(&self, labels: &[u32]) -> Vec<Vec<u32>> {
        let mut rest = labels;
        let of_part = |part: &Shard| rest.split_off(..part.n_rows()).expect("one label a row").to_vec();
        self.parts.iter().map(of_part).collect()
    }

    /// Draws all labels again, each part given the others as they were. Returns how far components overlapped.
    pub(super) fn sweep(&self, labelling: &mut Labelling, model: &Model, number: u64, seed: Seed) -> LabelEntropy {
        let id = |slot: usize| ComponentId { epoch: 0, number: slot as u64 + 1 };
        let swept = in_parts(self.parts.len(), self.n_threads, |parts| {
            let of_part = |ix: usize| {
                let mut sampler = sampler(model, self.parts[ix].clone(), self.kernel);
                sampler.count_overlaps(true);
                sampler.set_interrupt(self.interrupt.clone());
                sampler.load(&labelling.components);
                sampler.set_labels(labelling.labels[ix].clone());
                sampler.sweep(ALPHA, &mut seed.stream(Role::Start, ix as u32, number));
                let overlaps = sampler.overlaps();
                let pairs =
                    overlaps.pairs().into_iter().map(|(a, b, log_share)| (a as u32, b as u32, log_share as f32));
                let log_certainty = overlaps.log_certainty() as f32;
                let overlap = SweepOverlap { pairs: pairs.collect(), halves: Vec::new(), log_certainty };
                (sampler.labels().to_vec(), overlap)
            };
            parts.map(of_part).collect::<Vec<_>>()
        });
        let (labels, overlaps): (Vec<Vec<u32>>, Vec<SweepOverlap>) = swept.into_iter().flatten().unzip();
        let known: Vec<ComponentId> = (0..labelling.components.len()).map(id).collect();
        let entropy = LabelEntropy::of(overlaps.iter().map(|overlap| (&known[..], overlap)), known.iter().copied());
        labelling.labels = labels;
        labelling.tell_births_apart();
        labelling.sum_up(self, model);
        entropy
    }

    /// The mean log-density of the rows left out.
    pub(super) fn held_out_density(&self, labelling: &Labelling, model: &Model) -> f64 {
        let mut sampler = sampler(model, self.held_out.clone(), self.kernel);
        sampler.load(&labelling.components);
        let predictions = sampler.predict(&self.held_out, 1.0, None);
        predictions.iter().map(|row| row.log_density).sum::<f64>() / (predictions.len() as f64).max(1.0)
    }
}

impl Labelling {
    /// Gives components that were opened in a sweep numbers of their own: parts are swept by
    /// themselves and open the same slots.
    fn tell_births_apart(&mut self) {
        let first = self.components.len() as u32;
        let mut n_opened = 0;
        for labels in &mut self.labels {
            let opened = labels.iter_mut().filter(|label| **label >= first && **label != UNASSIGNED);
            let mut last = None;
            for label in opened {
                *label += n_opened;
                last = last.max(Some(*label));
            }
            n_opened = last.map_or(n_opened, |last| last + 1 - first);
        }
    }

    /// Sums up the components from the labels. Slots stay, so some components may be empty.
    fn sum_up(&mut self, sample: &Sample, model: &Model) {
        let used =
            |labels: &Vec<u32>| labels.iter().filter(|label| **label != UNASSIGNED).max().map_or(0, |label| label + 1);
        let n_slots = self.labels.iter().map(used).max().unwrap_or(0).max(self.components.len() as u32) as usize;
        let parts = in_parts(sample.parts.len(), sample.n_threads, |parts| {
            let of_part = |ix: usize| {
                let (part, labels) = (&sample.parts[ix], &self.labels[ix]);
                with_family!(model, family => reference::contributions(family, part, labels, n_slots))
            };
            parts.map(of_part).collect::<Vec<_>>()
        });
        self.components = vec![model.conjugate().empty_contribution(); n_slots];
        for part in parts.iter().flatten() {
            self.components.iter_mut().zip(part).for_each(|(total, part)| total.add(part));
        }
    }

    /// Gives components other numbers; `to` has one for each slot with rows.
    pub(super) fn renumber(&mut self, to: &[u32], components: Vec<Stats>) {
        for label in self.labels.iter_mut().flatten() {
            *label = to[*label as usize];
        }
        self.components = components;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_that_parts_open_in_one_sweep_are_different() {
        let components = vec![Stats::empty_dense(1); 2];
        let labels = vec![vec![0, 2, 3], vec![1, 0], vec![2, 1, 2], vec![UNASSIGNED, 2]];
        let mut labelling = Labelling { labels, components };
        labelling.tell_births_apart();
        assert_eq!(labelling.labels, [vec![0, 2, 3], vec![1, 0], vec![4, 1, 4], vec![UNASSIGNED, 5]]);
    }
}
