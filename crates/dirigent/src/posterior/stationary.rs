//! When a chain has stopped climbing: the rule behind `--cycles auto`.
//!
//! After cycle t (from 1) let w = max(4, ⌊t/5⌋), and compare the last w cycles with the w before them. The chain is *stationary* when t ≥ 2w and
//!
//! - the mean log-joint of the later window is above the earlier one's by at most max(1 nat, 0.3 % of the climb), the climb being that of the
//!   later window's mean above the first cycle;
//! - the window means of K differ by at most max(1, 1 % of K, twice the standard error that K's own fluctuation explains).
//!
//! Once stationary, a chain stays so. Falling counts as stationary: methods that merge greedily pass a peak and then sink, and so does an exact
//! chain that was seated greedily; neither will climb to that peak again. Windows grow with the run, so that a climb which is slow beside its
//! noise, and therefore long, is seen; a run is prolonged by at most two fifths of its length. There is no allowance for the noise
//! of the log-joint: on a level stretch half of all comparisons pass, and the next one comes a cycle later.
//!
//! A climb that goes on with the logarithm of the cycles gains the same between any two such windows, and would never end: with counts of words and
//! Gaussians that do not fit, that gain is a quarter of a percent. Hence no smaller part.
//!
//! What no rule of this kind can see is a chain that rests at one mode and would find a better one much later: see
//! [`super::diagnostics`] for several chains.

use serde::{Deserialize, Serialize};

/// The shortest window, and the part of the run that a window is.
const SHORTEST_WINDOW: usize = 4;
const WINDOWS_A_RUN: usize = 5;
/// The gain between windows that is not worth another cycle: in nats, and as a part of the climb.
const NATS: f64 = 1.0;
const PART_OF_CLIMB: f64 = 3e-3;
/// The gain per cycle of a search by splits and merges that is not worth another one: in nats, and in nats per multiplication of
/// a cycle, a thousand for what a core does in about a second; and the cycles it is measured over.
const NATS_A_CYCLE: f64 = 0.2;
const NATS_A_MULTIPLICATION: f64 = 7e-7;
const SEARCH_WINDOW: usize = 5;
/// The change of K that is none: components, part of K, standard errors.
const COMPONENTS: f64 = 1.0;
const PART_OF_K: f64 = 0.01;
const STANDARD_ERRORS: f64 = 2.0;

/// The trace as far as the rule needs it. α is no part of it: given the rows, it depends on K alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stationarity {
    log_joints: Vec<f64>,
    components: Vec<f64>,
    is_stationary: bool,
}

impl Stationarity {
    /// Takes in a cycle; whether the chain is stationary.
    pub fn observe(&mut self, log_joint: f64, k: usize) -> bool {
        self.log_joints.push(log_joint);
        self.components.push(k as f64);
        self.is_stationary |= self.has_levelled_out();
        self.is_stationary
    }

    /// Takes in a cycle of a search by splits and merges, in which every row was multiplied with every component; whether the search is over. A gain must be worth that work: on
    /// small data a search continues for small gains, which cost next to nothing. A number of components that creeps while the evidence stands still is of no use. A search in which
    /// components have yet to be tried for a split is not over.
    pub fn observe_search(&mut self, log_evidence: f64, n_multiplications: f64, is_tried: bool) -> bool {
        self.log_joints.push(log_evidence);
        self.is_stationary |=
            is_tried && self.gains_at_most(NATS_A_CYCLE.max(NATS_A_MULTIPLICATION * n_multiplications));
        self.is_stationary
    }

    /// Whether the gain per cycle between the last two short windows is no more than this.
    fn gains_at_most(&self, nats_a_cycle: f64) -> bool {
        if self.log_joints.len() < 2 * SEARCH_WINDOW {
            return false;
        }
        let (before, now) = last_windows(&self.log_joints, SEARCH_WINDOW);
        // written so that an evidence that is no number never counts as level
        mean(now) - mean(before) <= nats_a_cycle * SEARCH_WINDOW as f64
    }

    fn has_levelled_out(&self) -> bool {
        let n_cycles = self.log_joints.len();
        let window = SHORTEST_WINDOW.max(n_cycles / WINDOWS_A_RUN);
        if n_cycles < 2 * window {
            return false;
        }
        let (before, now) = last_windows(&self.log_joints, window);
        let climb = mean(now) - self.log_joints[0];
        // written so that a log-joint that is no number never counts as level
        let is_level = mean(now) - mean(before) <= NATS.max(PART_OF_CLIMB * climb);

        let (before, now) = last_windows(&self.components, window);
        let standard_error = ((variance_of_steps(before) + variance_of_steps(now)) / window as f64).sqrt();
        let tolerance = COMPONENTS.max(PART_OF_K * mean(now)).max(STANDARD_ERRORS * standard_error);
        is_level && (mean(now) - mean(before)).abs() <= tolerance
    }
}

/// The last two adjacent windows.
fn last_windows(values: &[f64], window: usize) -> (&[f64], &[f64]) {
    values[values.len() - 2 * window..].split_at(window)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance by differences of neighbours: a drift hardly adds to it.
fn variance_of_steps(values: &[f64]) -> f64 {
    let squares: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0])).sum();
    squares / (2 * (values.len() - 1)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed, Stream};

    /// The cycle at which the rule fires, of at most `n_cycles`.
    fn fires(n_cycles: u64, mut cycle: impl FnMut(f64, &mut Stream) -> (f64, usize), seed: u64) -> Option<u64> {
        let mut rule = Stationarity::default();
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        (1..=n_cycles).find(|&number| {
            let (log_joint, k) = cycle(number as f64, &mut rng);
            rule.observe(log_joint, k)
        })
    }

    /// The same for many seeds; `None` counts as never.
    fn all_fire(n_cycles: u64, cycle: impl Fn(f64, &mut Stream) -> (f64, usize)) -> Vec<u64> {
        let mut cycles: Vec<u64> = (0..200).map(|seed| fires(n_cycles, &cycle, seed).unwrap_or(u64::MAX)).collect();
        cycles.sort_unstable();
        cycles
    }

    #[test]
    fn a_climb_is_waited_out_also_when_slow_beside_its_noise() {
        // a standard deviation a cycle: even the windows of 4 differ by 5.7 standard errors, false alarm below 1e-3 for 200 seeds
        let steady = all_fire(100, |cycle, rng| (30.0 * (cycle + rng.normal()), 20));
        assert_eq!(steady[0], u64::MAX);
        // half of one: 2.8 standard errors until the windows grow, so that some 3 % fire early; a tenth is allowed
        let slow = all_fire(100, |cycle, rng| (30.0 * (0.5 * cycle + rng.normal()), 20));
        assert!(slow[20] == u64::MAX, "{:?}", &slow[..25]);
        // one that slows down, with hardly any noise at a level of millions: it ends when 0.3 % of the climb is left
        let large = all_fire(400, |cycle, rng| (-1e7 - 2e5 * libm::exp(-cycle / 10.0) + rng.normal(), 100));
        assert!(large[0] > 60 && large[199] < 110, "{large:?}");
    }

    #[test]
    fn a_level_chain_ends_soon() {
        // whatever the noise, from the start or after a climb of ten cycles: eight cycles, and in half of all cases at once
        for noise in [0.0, 1e-3, 5.0, 1e4] {
            let level = all_fire(100, |_, rng| (-5e4 + noise * rng.normal(), 7));
            assert!(level[0] == 8 && level[100] <= 11 && level[190] <= 18, "{noise}: {level:?}");
            let climbed = all_fire(100, |cycle, rng| (1e6 * cycle.min(10.0) + noise * rng.normal(), 7));
            assert!(climbed[0] >= 17 && climbed[190] <= 20, "{noise}: {climbed:?}");
        }
    }

    #[test]
    fn a_chain_that_sinks_after_its_peak_is_over() {
        let sinking = all_fire(100, |cycle, rng| {
            (if cycle < 4.0 { 1e4 * cycle } else { 4e4 - 60.0 * cycle } + 100.0 * rng.normal(), 40)
        });
        assert!(sinking[199] <= 13, "{sinking:?}");
    }

    #[test]
    fn a_few_rows_with_k_in_flux_end_soon() {
        let tiny = all_fire(100, |_, rng| (-20.0 + 2.0 * rng.normal(), 2 + rng.below(2)));
        assert!(tiny[100] <= 11 && tiny[190] <= 18, "{tiny:?}");
        let one = all_fire(100, |_, _| (-20.0, 1));
        assert_eq!((one[0], one[199]), (8, 8));
    }

    #[test]
    fn components_that_still_come_are_waited_for() {
        let growing = all_fire(60, |cycle, rng| (rng.normal(), 10 + 2 * cycle as usize));
        assert_eq!(growing[0], u64::MAX);
        // with a thousand components, one more a cycle is no change
        let many = all_fire(60, |cycle, rng| (rng.normal(), 1000 + cycle as usize));
        assert!(many[190] <= 18, "{many:?}");
    }

    #[test]
    fn no_number_is_never_level() {
        assert_eq!(fires(50, |_, _| (f64::NAN, 3), 0), None);
    }

    #[test]
    fn a_search_ends_when_the_evidence_stands_still_and_components_were_tried() {
        let ends = |gain: f64, is_tried: bool| {
            let mut rule = Stationarity::default();
            (1..=60).find(|&cycle| rule.observe_search(gain * f64::from(cycle), 5.0 / 7e-7, is_tried && cycle > 20))
        };
        // 5 nats are not worth the work of such a cycle
        assert_eq!(
            [ends(0.0, true), ends(4.9, true), ends(5.1, true), ends(0.0, false)],
            [Some(21), Some(21), None, None]
        );
        let mut rule = Stationarity::default();
        assert!((0..40).all(|_| !rule.observe_search(f64::NAN, 10.0, true)));
    }

    #[test]
    fn a_rule_put_away_and_taken_up_again_goes_on() {
        let mut rule = Stationarity::default();
        (0..7).for_each(|_| assert!(!rule.observe(-3.5, 2)));
        let mut again: Stationarity = serde_json::from_str(&serde_json::to_string(&rule).unwrap()).unwrap();
        assert_eq!(again, rule);
        assert!(again.observe(-3.5, 2));
    }
}
