//! The slow twin: a row at a time, in double precision, for any family.

use std::sync::Arc;

use super::{DrawnComponents, SliceSampler, n_allowed, sides};
use crate::family::Family;
use crate::interrupt::Interrupt;
use crate::rng::Stream;
use crate::rows::{Row, Shard};
use crate::stats::Stats;
use crate::sweep::{UNASSIGNED, reference};

/// The reference slice sampler of a family.
#[derive(Debug)]
pub struct SliceReference<F: ?Sized> {
    family: Arc<F>,
    shard: Shard,
    labels: Vec<u32>,
    interrupt: Interrupt,
}

impl<F: Family + ?Sized> SliceReference<F> {
    /// A sampler with all rows unassigned.
    pub fn new(family: impl Into<Arc<F>>, shard: Shard) -> Self {
        let labels = vec![UNASSIGNED; shard.n_rows()];
        Self { family: family.into(), shard, labels, interrupt: Interrupt::new() }
    }
}

/// Logs of the weights that a row draws its component by, −∞ for those its slice forbids.
pub(super) fn log_conditional<F: Family + ?Sized>(
    family: &F,
    row: Row<'_>,
    own: u32,
    components: &DrawnComponents,
    uniform: f64,
) -> Vec<f64> {
    let n_allowed = n_allowed(&components.weights, own, uniform);
    let log_weight = |(ix, parameters): (usize, &[f64])| match own {
        _ if ix >= n_allowed => f64::NEG_INFINITY,
        UNASSIGNED => libm::log(components.weights[ix]) + family.log_likelihood(row, parameters),
        _ => family.log_likelihood(row, parameters),
    };
    components.parameters.chunks_exact(family.parameters_len()).enumerate().map(log_weight).collect()
}

impl<F: Family + ?Sized> SliceSampler for SliceReference<F> {
    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn set_labels(&mut self, labels: Vec<u32>) {
        assert_eq!(labels.len(), self.shard.n_rows(), "one label a row");
        self.labels = labels;
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    fn draw_labels(&mut self, components: &DrawnComponents, slices: &mut Stream, rng: &mut Stream) -> u64 {
        let mut moved = 0;
        for (row, label) in self.shard.rows().zip(&mut self.labels) {
            if self.interrupt.is_raised() {
                break;
            }
            let log_weights = log_conditional(&*self.family, row, *label, components, slices.uniform_positive());
            let choice = rng.categorical(&log_weights) as u32;
            moved += u64::from(choice != *label);
            *label = choice;
        }
        moved
    }

    fn contributions(&self, n_components: usize) -> Vec<Stats> {
        reference::contributions(&*self.family, &self.shard, &self.labels, n_components)
    }

    fn log_odds(&self, rows: &[usize], parameters: &[f64]) -> Vec<f64> {
        sides::log_odds(&*self.family, &self.shard, rows, parameters)
    }

    fn statistics(&self, rows: &[usize]) -> Stats {
        sides::statistics(&*self.family, &self.shard, rows)
    }

    fn sum_log_base(&self) -> f64 {
        self.shard.rows().map(|row| self.family.log_base_measure(row)).sum()
    }
}
