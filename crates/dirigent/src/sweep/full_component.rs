//! A component with a full covariance as the sweep keeps it, in double precision: its mean m and
//! the W of Ψ⁻¹ = WᵀW.
//!
//! With κ = κ₀ + n and ν = ν₀ + n, log w = ln n + h(n) − ½ ln|Ψ| − (ν+1)/2 ln(1 + κ/(κ+1)
//! ‖W(x−m)‖²), where h is what only the count decides. A row that is in it need not be taken out to
//! be scored: with q = κ/(κ−1) ‖W(x−m)‖² the determinant without it is |Ψ|(1 − q), so that log w =
//! ln(n−1) + h(n−1) − ½ ln|Ψ| + (ν−1)/2 ln(1 − q).
//!
//! A row that comes or goes changes Ψ by a matrix of rank one, and W with it. Where hardly anything
//! is left of Ψ, or after many rows have left, W is computed again from the sums, so that rounding
//! cannot pile up.

use std::cell::RefCell;

use super::component_halves::LocalComponent;
use super::full_shape::FullShape;
use super::kernel::quick_log;
use crate::cholesky::{self, packed_len};
use crate::family::{Conjugate, GaussianFull, Posterior, add_moments, log_height};
use crate::stats::Stats;

/// Counts up to here have their h tabulated.
const TABULATED: usize = 1 << 16;
/// Where less than this is left of a determinant, what is left is computed again.
const LITTLE_LEFT: f64 = 1e-5;
/// Rows that may leave before W is computed again.
const MOST_REMOVALS: u32 = 10_000;

/// What all components share.
pub(super) struct SharedPrior {
    pub(super) family: GaussianFull,
    /// Left out of all log-weights.
    pub(super) log_unit: f64,
    /// ln n + h(n); without ln n for no rows.
    log_heights: Vec<f64>,
    /// The prior.
    empty: WhitenedRows,
    scratch: RefCell<Vec<f64>>,
}

/// What a component's rows make of the prior.
struct WhitenedRows {
    mean: Vec<f64>,
    /// W, a packed lower triangle.
    whitening: Vec<f64>,
    /// −½ ln|Ψ|.
    log_root: f64,
}

impl SharedPrior {
    pub(super) fn new(family: GaussianFull) -> Self {
        let (scratch, none) = (RefCell::new(vec![0.0; family.n_columns()]), family.empty_stats());
        let empty = whiten(&family, 0, none.dense());
        Self { log_unit: family.log_unit(), log_heights: Vec::new(), empty, scratch, family }
    }

    /// Tabulates what components with these counts will ask for, and then some.
    pub(super) fn prepare(&mut self, counts: &[i64]) {
        let largest = counts.iter().max().map_or(0, |&count| count as usize);
        let wanted = (2 * largest + 16).min(TABULATED);
        let more: Vec<f64> = (self.log_heights.len()..wanted).map(|count| self.compute_height(count as f64)).collect();
        self.log_heights.extend(more);
    }

    /// ln n + h(n). Without ln n for an empty component: that is where α stands.
    fn log_height(&self, count: i64) -> f64 {
        match self.log_heights.get(count as usize) {
            Some(log_height) => *log_height,
            None => self.compute_height(count as f64),
        }
    }

    fn compute_height(&self, count: f64) -> f64 {
        let log_count = if count > 0.0 { libm::log(count) } else { 0.0 };
        let family = &self.family;
        log_count + log_height(family.prior_rows + count, family.degrees + count, family.n_columns())
    }
}

#[cold]
fn whiten(family: &GaussianFull, count: i64, sums: &[f64]) -> WhitenedRows {
    let n = family.n_columns();
    let mut posterior = Posterior::default();
    family.fill_posterior(count, sums, &mut posterior);
    let mut whitening = vec![0.0; packed_len(n)];
    cholesky::invert(&posterior.factor, n, &mut whitening);
    WhitenedRows { mean: posterior.mean, whitening, log_root: -0.5 * posterior.log_determinant }
}

/// A component.
#[derive(Clone)]
pub(super) struct FullComponent<S> {
    pub(super) shape: S,
    count: i64,
    /// −½ ln|Ψ|.
    log_root: f64,
    /// ln n + h(n) with one row less, and as it is.
    log_heights: [f64; 2],
    /// As the family sums.
    sums: Box<[f64]>,
    /// Rows that have left since W was computed.
    n_removed: u32,
}

impl<S: FullShape> FullComponent<S> {
    fn new(shared: &SharedPrior, count: i64, sums: Box<[f64]>) -> Self {
        let whitened = whiten(&shared.family, count, &sums);
        Self::of_whitened(shared, count, sums, &whitened)
    }

    fn of_whitened(shared: &SharedPrior, count: i64, sums: Box<[f64]>, whitened: &WhitenedRows) -> Self {
        Self {
            shape: S::of(&whitened.mean, &whitened.whitening),
            count,
            log_root: whitened.log_root,
            log_heights: [shared.log_height((count - 1).max(0)), shared.log_height(count)],
            sums,
            n_removed: 0,
        }
    }

    /// The constant of the log-weights, their exponent (ν+1)/2, and κ/(κ+1).
    #[inline(always)]
    pub(super) fn weigh(&self, shared: &SharedPrior) -> (f64, f64, f64) {
        let (count, family) = (self.count as f64, &shared.family);
        let rows = family.prior_rows + count;
        (self.log_heights[1] + self.log_root, 0.5 * (family.degrees + count + 1.0), rows / (rows + 1.0))
    }

    #[inline(always)]
    fn log_weight_without(&self, shared: &SharedPrior, row: &S::Row) -> f64 {
        let left = self.left(shared, self.shape.square(row, &shared.scratch));
        if self.count == 1 || left < LITTLE_LEFT {
            return self.log_weight_anew(shared, row);
        }
        self.log_weight_of_left(shared, left)
    }

    /// What is left of the determinant without a row whose ‖W(x−m)‖² is given.
    #[inline(always)]
    pub(super) fn left(&self, shared: &SharedPrior, square: f64) -> f64 {
        let rows = shared.family.prior_rows + self.count as f64;
        1.0 - rows / (rows - 1.0) * square
    }

    /// The log-weight of a row that is taken out.
    #[inline(always)]
    pub(super) fn log_weight_of_left(&self, shared: &SharedPrior, left: f64) -> f64 {
        let degrees = shared.family.degrees + self.count as f64;
        self.log_heights[0] + self.log_root + 0.5 * (degrees - 1.0) * quick_log(left)
    }

    /// The same from the sums without the row.
    #[cold]
    #[inline(never)]
    fn log_weight_anew(&self, shared: &SharedPrior, row: &S::Row) -> f64 {
        let mut rest = self.sums.clone();
        let columns = S::columns(row, shared.family.n_columns());
        if self.count == 1 {
            rest.fill(0.0);
        } else {
            add_moments(columns, -1.0, &mut rest);
        }
        Self::new(shared, self.count - 1, rest).log_weight(shared, row, false)
    }
}

impl<S: FullShape> LocalComponent for FullComponent<S> {
    type Shared = SharedPrior;
    type Row = S::Row;

    fn of(shared: &SharedPrior, stats: &Stats) -> Self {
        Self::new(shared, stats.count, stats.dense().into())
    }

    fn empty(shared: &SharedPrior) -> Self {
        Self::of_whitened(shared, 0, vec![0.0; shared.family.stats_len()].into(), &shared.empty)
    }

    #[inline(always)]
    fn count(&self) -> i64 {
        self.count
    }

    #[inline(always)]
    fn log_weight(&self, shared: &SharedPrior, row: &S::Row, taken_out: bool) -> f64 {
        if taken_out {
            return self.log_weight_without(shared, row);
        }
        let (constant, exponent, weight) = self.weigh(shared);
        constant - exponent * quick_log(1.0 + weight * self.shape.square(row, &shared.scratch))
    }

    #[inline(always)]
    fn change(&mut self, shared: &SharedPrior, row: &S::Row, sign: i64) {
        let rows = shared.family.prior_rows + self.count as f64;
        self.count += sign;
        if self.count == 0 {
            // exactly the prior, not the prior up to rounding
            *self = Self::empty(shared);
            return;
        }
        let after = rows + sign as f64;
        add_moments(S::columns(row, shared.family.n_columns()), sign as f64, &mut self.sums);
        let ratio = self.shape.change(row, sign as f64, rows / after, sign as f64 / after);
        self.n_removed += u32::from(sign < 0);
        if ratio < LITTLE_LEFT || self.n_removed > MOST_REMOVALS {
            *self = Self::new(shared, self.count, std::mem::take(&mut self.sums));
            return;
        }
        self.log_root -= 0.5 * quick_log(ratio);
        self.log_heights = if sign > 0 {
            [self.log_heights[1], shared.log_height(self.count)]
        } else {
            [shared.log_height(self.count - 1), self.log_heights[0]]
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::full_shape::{Narrow, Wide};
    use super::*;
    use crate::family::{Family, OwnedRow, table_of_rows};
    use crate::rng::{Role, Seed};

    /// Rows come and go, in ever other order, some of them far out: the component stays that of its
    /// sums.
    fn assert_changes_equal_computing_anew<S: FullShape>(
        family: &GaussianFull,
        as_row: impl Fn(&[f64]) -> Box<S::Row>,
    ) {
        let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
        let (shared, n) = (SharedPrior::new(family.clone()), family.n_columns());
        let far = |ix: usize| if ix % 50 == 7 { 1e4 } else { 1.0 };
        let rows: Vec<Vec<f64>> = (0..300).map(|ix| (0..n).map(|_| far(ix) * rng.normal()).collect()).collect();
        let mut component = FullComponent::<S>::empty(&shared);
        let mut inside: Vec<usize> = Vec::new();
        let mut stats = family.empty_stats();
        for step in 0..3000 {
            let goes = !inside.is_empty() && (rng.uniform() < 0.5 || inside.len() == rows.len());
            let outside: Vec<usize> = (0..rows.len()).filter(|ix| !inside.contains(ix)).collect();
            let ix = if goes { inside.swap_remove(rng.below(inside.len())) } else { outside[rng.below(outside.len())] };
            let table = table_of_rows(n, &[OwnedRow::Numbers(rows[ix].clone())]);
            if goes {
                component.change(&shared, &as_row(&rows[ix]), -1);
                family.remove_row(table.row(0), &mut stats);
            } else {
                inside.push(ix);
                component.change(&shared, &as_row(&rows[ix]), 1);
                family.add_row(table.row(0), &mut stats);
            }
            if inside.is_empty() {
                stats = family.empty_stats();
            }
            assert_eq!(component.count(), inside.len() as i64);
            let probe = &rows[rng.below(rows.len())];
            let table = table_of_rows(n, &[OwnedRow::Numbers(probe.clone())]);
            let log_count = if stats.count > 0 { libm::log(stats.count as f64) } else { 0.0 };
            let exact = log_count + family.log_predictive(table.row(0), &stats) - shared.log_unit;
            let ours = component.log_weight(&shared, &as_row(probe), false);
            assert!((ours - exact).abs() < 1e-7 * (1.0 + exact.abs()), "step {step}: {ours} is not {exact}");
            if let Some(&own) = inside.last() {
                let table = table_of_rows(n, &[OwnedRow::Numbers(rows[own].clone())]);
                let mut rest = stats.clone();
                family.remove_row(table.row(0), &mut rest);
                let rest = if rest.count == 0 { family.empty_stats() } else { rest };
                let log_count = if rest.count > 0 { libm::log(rest.count as f64) } else { 0.0 };
                let exact = log_count + family.log_predictive(table.row(0), &rest) - shared.log_unit;
                let ours = component.log_weight(&shared, &as_row(&rows[own]), true);
                assert!((ours - exact).abs() < 1e-7 * (1.0 + exact.abs()), "step {step}, without: {ours}, {exact}");
            }
        }
    }

    #[test]
    fn a_component_stays_that_of_its_rows_as_they_come_and_go() {
        let family = |n: usize| super::super::tests::full::full_family(n, 0.0, 1.0);
        assert_changes_equal_computing_anew::<Narrow<2>>(&family(2), |row| Box::new([row[0], row[1]]));
        assert_changes_equal_computing_anew::<Narrow<8>>(&family(3), |row| {
            Box::new([row[0], row[1], row[2], 0.0, 0.0, 0.0, 0.0, 0.0])
        });
        assert_changes_equal_computing_anew::<Wide>(&family(12), |row| row.into());
    }
}
