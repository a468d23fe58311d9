//! Label entropy: how far the components of a sweep overlap.
//!
//! Two components that overlap have very many labellings, and their union has one, so a single labelling says too little for keeping them apart. The correction
//! for a pair is L(A, B) = Σ log q over the rows of either, q the conditional probability of the row's own side among the two. The sweep has both scores at hand.

/// Probabilities below this share of a row's own component are not counted: with them a pair is off by at most so many nats per row.
pub(crate) const NEGLIGIBLE: f64 = 1e-3;

/// Sums over the rows of the last sweep.
///
/// ```
/// use dirigent::model::{Model, ModelOptions};
/// use dirigent::rng::{Role, Seed};
/// use dirigent::rows::{Shard, Table};
/// use dirigent::stats::{Stats, Sums};
/// use dirigent::survey::Survey;
/// use dirigent::sweep::{Kernel, sampler};
///
/// // a row in the middle of two components of a million rows each
/// let rows = Shard::of_table(Table::from_f64(1, vec![0.0]));
/// let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(9.0), ..ModelOptions::default() };
/// let model = Model::resolve(&options, &Survey::of(&rows))?;
/// let component = |mean: f64| Stats { count: 1_000_000, sums: Sums::Dense([1e6 * mean].into()) };
/// let mut sampler = sampler(&model, rows, Kernel::best());
/// sampler.count_overlaps(true);
/// sampler.load(&[component(-2.0), component(2.0)]);
/// sampler.sweep(1e-9, &mut Seed::new(0).stream(Role::Sweep, 0, 0));
/// let (a, b, log_share) = sampler.overlaps().pairs().next().unwrap();
/// assert_eq!((a, b), (0, 1));
/// assert!((log_share - 0.5f64.ln()).abs() < 1e-3);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlaps {
    is_on: bool,
    /// By the smaller slot, then the larger one: L of the pair. Slots have few neighbours, so lists are short.
    pairs: Vec<Vec<(u32, f64)>>,
    /// L of the two halves of each slot.
    halves: Vec<f64>,
    /// Σ log of the probability of each row's component among all.
    log_certainty: f64,
}

impl Overlaps {
    /// Whether sweeps count them.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn switch(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Begins a sweep over so many loaded slots.
    pub(crate) fn clear(&mut self, n_slots: usize) {
        if !self.is_on {
            return;
        }
        self.pairs.resize_with(n_slots, Vec::new);
        self.pairs.iter_mut().for_each(Vec::clear);
        self.halves.clear();
        self.halves.resize(n_slots, 0.0);
        self.log_certainty = 0.0;
    }

    /// A row is in `slot`; another slot weighs `odds` times as much for it. Slots that were born in this sweep are not known to others.
    #[inline(always)]
    pub(crate) fn add_pair(&mut self, slot: usize, other: usize, odds: f64) {
        let (low, high) = (slot.min(other), slot.max(other));
        if high >= self.pairs.len() {
            return;
        }
        let log_share = -libm::log1p(odds);
        let list = &mut self.pairs[low];
        match list.iter_mut().find(|(with, _)| *with == high as u32) {
            Some((_, sum)) => *sum += log_share,
            None => list.push((high as u32, log_share)),
        }
    }

    /// A row is in a half; the other half weighs `odds` times as much for it.
    #[inline(always)]
    pub(crate) fn add_half(&mut self, slot: usize, odds: f64) {
        if odds > NEGLIGIBLE
            && let Some(sum) = self.halves.get_mut(slot)
        {
            *sum -= libm::log1p(odds);
        }
    }

    /// A row's component has this probability among all.
    #[inline(always)]
    pub(crate) fn add_certainty(&mut self, probability: f64) {
        self.log_certainty += libm::log(probability);
    }

    /// The pairs that overlap, with L of each, by slots.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let of_slot = |(low, list): (usize, &Vec<(u32, f64)>)| {
            let mut list = list.clone();
            list.sort_unstable_by_key(|(high, _)| *high);
            list.into_iter().map(move |(high, log_share)| (low, high as usize, log_share))
        };
        self.pairs.iter().enumerate().flat_map(of_slot)
    }

    /// L of the halves of a slot; 0 while they are not drawn.
    pub fn of_halves(&self, slot: usize) -> f64 {
        self.halves.get(slot).copied().unwrap_or(0.0)
    }

    /// Σ log of the probability of each row's component among all: minus this is the entropy of the labels.
    pub fn log_certainty(&self) -> f64 {
        self.log_certainty
    }
}
