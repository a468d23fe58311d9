//! A component of directions, or a half of one, in double precision: t = κ₀m₀ + τΣx and where ‖t‖
//! lies.

use super::component_halves::LocalComponent;
use super::kernel::log;
use super::unit_rows::UnitRow;
use crate::family::{Conjugate, VonMisesFisher};
use crate::special::bessel::{BesselPoint, LogBessel};
use crate::special::dot;
use crate::stats::Stats;

/// What all components share.
pub(super) struct Directions {
    pub(super) family: VonMisesFisher,
    pub(super) bessel: LogBessel,
    /// log C(τ).
    pub(super) log_height: f64,
    /// κ₀m₀ and where its length lies.
    prior_sum: Vec<f64>,
    prior_place: BesselPoint,
}

impl Directions {
    pub(super) fn new(family: VonMisesFisher) -> Self {
        let (bessel, prior_sum) = (family.bessel(), family.prior_sum().collect::<Vec<_>>());
        let prior_place = bessel.place(dot(&prior_sum, &prior_sum));
        Self { bessel, log_height: family.log_height(), prior_sum, prior_place, family }
    }

    /// ‖t ± τx‖² − ‖t‖², given t·x.
    #[inline(always)]
    fn delta(&self, along: f64, row: &UnitRow, sign: f64) -> f64 {
        let concentration = self.family.concentration;
        concentration * (sign * 2.0 * along + concentration * row.square)
    }

    /// The log-predictive of an empty component, log C(τ) left out.
    #[inline(always)]
    pub(super) fn log_weight_new(&self, row: &UnitRow) -> f64 {
        let along = if self.family.prior_strength == 0.0 { 0.0 } else { dot(&self.prior_sum, &row.numbers) };
        self.bessel.difference(&self.prior_place, self.delta(along, row, 1.0))
    }
}

/// A component, the prior included.
pub(super) struct VmfComponent {
    count: i64,
    /// t.
    pub(super) sums: Vec<f64>,
    /// Where ‖t‖ lies.
    pub(super) place: BesselPoint,
}

impl LocalComponent for VmfComponent {
    type Shared = Directions;
    type Row = UnitRow;

    fn of(shared: &Directions, stats: &Stats) -> Self {
        let concentration = shared.family.concentration;
        let sums: Vec<f64> =
            shared.prior_sum.iter().zip(stats.dense()).map(|(prior, sum)| prior + concentration * sum).collect();
        let place = shared.bessel.place(dot(&sums, &sums));
        Self { count: stats.count, sums, place }
    }

    fn empty(shared: &Directions) -> Self {
        debug_assert_eq!(shared.prior_sum.len(), shared.family.stats_len());
        Self { count: 0, sums: shared.prior_sum.clone(), place: shared.prior_place }
    }

    #[inline(always)]
    fn count(&self) -> i64 {
        self.count
    }

    #[inline(always)]
    fn log_weight(&self, shared: &Directions, row: &UnitRow, taken_out: bool) -> f64 {
        let count = self.count - i64::from(taken_out);
        if count == 0 {
            return shared.log_weight_new(row);
        }
        let along = dot(&self.sums, &row.numbers);
        let difference = if taken_out {
            // from t − τx up to t is as far as down from t
            -shared.bessel.difference(&self.place, shared.delta(along, row, -1.0))
        } else {
            shared.bessel.difference(&self.place, shared.delta(along, row, 1.0))
        };
        log(count as f64) + difference
    }

    #[inline(always)]
    fn change(&mut self, shared: &Directions, row: &UnitRow, sign: i64) {
        self.count += sign;
        if self.count == 0 {
            // exactly the prior, not the prior up to rounding
            self.sums.copy_from_slice(&shared.prior_sum);
            self.place = shared.prior_place;
            return;
        }
        let step = sign as f64 * shared.family.concentration;
        self.sums.iter_mut().zip(&row.numbers).for_each(|(sum, x)| *sum += step * x);
        self.place = shared.bessel.place(dot(&self.sums, &self.sums));
    }
}
