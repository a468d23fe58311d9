//! Halves whose statistics are kept as those of components are: for families whose component has a
//! form of its own in the sweep.

use crate::halves::Half;
use crate::stats::Stats;

/// A component, or a half of one, in the form that makes the predictive of a row cheap: in double
/// precision.
pub(super) trait LocalComponent: Sized + Send {
    /// What all components share: the prior.
    type Shared;
    /// A row as it was read for the sweep.
    type Row: ?Sized;

    /// That of the given rows.
    fn of(shared: &Self::Shared, stats: &Stats) -> Self;

    /// That of no rows.
    fn empty(shared: &Self::Shared) -> Self;

    /// The number of rows.
    fn count(&self) -> i64;

    /// ln n + log-predictive of a row, up to a constant of the row; with `taken_out` as if the row,
    /// which is in it, were not. Without ln n where no row is left.
    fn log_weight(&self, shared: &Self::Shared, row: &Self::Row, taken_out: bool) -> f64;

    /// Adds a row (`sign` 1) or takes it out (−1).
    fn change(&mut self, shared: &Self::Shared, row: &Self::Row, sign: i64);
}

/// Both halves of each slot.
pub(super) struct ComponentHalves<C> {
    halves: Vec<[C; 2]>,
}

impl<C> Default for ComponentHalves<C> {
    fn default() -> Self {
        Self { halves: Vec::new() }
    }
}

impl<C: LocalComponent> ComponentHalves<C> {
    pub(super) fn load(&mut self, shared: &C::Shared, halves: &[Option<[Stats; 2]>]) {
        let take = |halves: &Option<[Stats; 2]>| match halves {
            Some(halves) => halves.each_ref().map(|stats| C::of(shared, stats)),
            None => [C::empty(shared), C::empty(shared)],
        };
        self.halves.clear();
        self.halves.extend(halves.iter().map(take));
    }

    #[inline(always)]
    pub(super) fn counts(&self, slot: usize) -> [i64; 2] {
        self.halves[slot].each_ref().map(C::count)
    }

    /// Log-weights of both halves for a row, which is taken out of one.
    #[inline(always)]
    pub(super) fn log_weights(
        &self,
        shared: &C::Shared,
        row: &C::Row,
        slot: usize,
        taken_out: Option<Half>,
    ) -> [f64; 2] {
        Half::BOTH.map(|half| self.halves[slot][half.ix()].log_weight(shared, row, taken_out == Some(half)))
    }

    #[inline(always)]
    pub(super) fn change(&mut self, shared: &C::Shared, row: &C::Row, slot: usize, half: Half, sign: i64) {
        self.halves[slot][half.ix()].change(shared, row, sign);
    }
}
