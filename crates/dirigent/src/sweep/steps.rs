//! What a count decides in ln Γ(z+c) − ln Γ(z), tabulated: the coefficients of 1/z in its series.
//!
//! With the c words taken out the sum runs over z−1, …, z−c instead, and its series has S'_p =
//! Σ_{j≤c} j^p and no change of sign.

use super::length_table::evaluate;
use super::rising::Rising;

/// Terms of the series.
const TERMS: usize = 4;
/// From this many times c on, z is large enough for the series: what is left out is below 1.1e-9 c
/// of the rising one and 6.2e-9 c of the falling one.
const ROOM: f64 = 32.0;
/// Larger counts are computed one by one.
const LARGEST: usize = 4096;

/// What a count decides.
#[derive(Clone, Copy)]
pub(super) struct CountStep {
    /// The largest 1/z for which the series serve.
    pub(super) largest_inverse: f64,
    /// At least ln Γ(z+c) − ln Γ(z) where they do not.
    pub(super) bound: f64,
    /// ln Γ(z+c) − ln Γ(z) − c ln z: coefficients of 1/z, 1/z², ….
    pub(super) rising: [f64; TERMS],
    /// ln Γ(z) − ln Γ(z−c) − c ln z.
    pub(super) falling: [f64; TERMS],
}

/// More than any log-weight; finite, because a free slot has −∞.
const UNBOUNDED: f64 = 1e300;

/// No series serves, and nothing is known.
const UNTABULATED: CountStep =
    CountStep { largest_inverse: 0.0, bound: UNBOUNDED, rising: [0.0; TERMS], falling: [0.0; TERMS] };

/// A step for each count.
#[derive(Default)]
pub(super) struct Steps {
    by_count: Vec<CountStep>,
}

impl Steps {
    /// Tabulates up to a count, and in the table of logarithms what is asked for where no series
    /// serves.
    #[inline(always)]
    pub(super) fn prepare(&mut self, largest: u32, rising: &mut Rising) {
        let wanted = (largest as usize).min(LARGEST);
        if self.by_count.len() <= wanted {
            self.extend(wanted);
            rising.prepare(largest.saturating_mul(1 + ROOM as u32));
        }
    }

    #[cold]
    fn extend(&mut self, wanted: usize) {
        for count in self.by_count.len()..=wanted {
            self.by_count.push(CountStep::after(self.by_count.last(), count));
        }
    }

    /// The step of a count. It was prepared.
    #[inline(always)]
    pub(super) fn of(&self, count: u32) -> &CountStep {
        self.by_count.get(count as usize).unwrap_or(&UNTABULATED)
    }
}

impl CountStep {
    /// The step of a count, from that of the count before.
    fn after(before: Option<&CountStep>, count: usize) -> Self {
        let CountStep { mut rising, mut falling, .. } = *before.unwrap_or(&UNTABULATED);
        let (mut last, mut taken_out) = (-1.0, 1.0);
        for term in 0..TERMS {
            last *= -(count.saturating_sub(1) as f64);
            taken_out *= count as f64;
            rising[term] += last / (term + 1) as f64;
            falling[term] -= taken_out / (term + 1) as f64;
        }
        let smallest = ROOM * count.max(1) as f64;
        // it grows with z, and what the series leaves out is far below the half
        let bound = count as f64 * libm::log(smallest) + evaluate(&rising, 1.0 / smallest) + 0.5;
        Self { largest_inverse: 1.0 / smallest, bound, rising, falling }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_sums_of_logarithms_and_bounds_are_above_them() {
        let (mut steps, mut rising) = (Steps::default(), Rising::new(0.3));
        steps.prepare(u32::MAX, &mut rising);
        for count in [1u32, 2, 3, 24, 700, 4096] {
            let (step, c) = (steps.of(count), f64::from(count));
            for z in [ROOM * c, 40.0 * c + 0.3, 1e4 * c, 1e9] {
                let up: f64 = (0..count).map(|j| libm::log(z + f64::from(j))).sum();
                let down: f64 = (1..=count).map(|j| libm::log(z - f64::from(j))).sum();
                assert!(1.0 / z <= step.largest_inverse);
                for (series, exact, left_out) in [(&step.rising, up, 1.1e-9), (&step.falling, down, 6.2e-9)] {
                    let error = (c * libm::log(z) + evaluate(series, 1.0 / z) - exact).abs();
                    assert!(error < left_out * c + 1e-13 * exact.abs(), "{count} {z}: {error}");
                }
            }
            for z in [0.3, 1.3, 10.3, ROOM * c - 0.7] {
                let up: f64 = (0..count).map(|j| libm::log(z + f64::from(j))).sum();
                assert!(1.0 / z > step.largest_inverse && up < step.bound, "{count} {z}");
            }
        }
        assert_eq!(steps.of(4097).bound, UNBOUNDED);
        assert_eq!(steps.of(4097).largest_inverse, 0.0);
    }
}
