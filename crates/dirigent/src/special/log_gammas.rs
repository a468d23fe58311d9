//! ln Γ along whole steps, each computed once: whoever compares thousands of sets asks for the same
//! ones again and again.

use super::log_gamma;

/// Steps that are kept: 512 KiB, as long as they are asked for.
const MOST_KEPT: usize = 1 << 16;

/// ln Γ(start + n) for whole n.
#[derive(Debug)]
pub(crate) struct LogGammas {
    start: f64,
    /// NaN where nobody has asked yet.
    kept: Vec<f64>,
}

impl LogGammas {
    pub(crate) fn new(start: f64) -> Self {
        Self { start, kept: Vec::new() }
    }

    #[inline]
    pub(crate) fn of(&mut self, n: i64) -> f64 {
        match self.kept.get(n as usize) {
            Some(known) if !known.is_nan() => *known,
            _ => self.compute(n),
        }
    }

    #[cold]
    fn compute(&mut self, n: i64) -> f64 {
        let (value, ix) = (log_gamma(self.start + n as f64), n as usize);
        if ix < MOST_KEPT {
            let len = self.kept.len().max((ix + 1).next_power_of_two());
            self.kept.resize(len, f64::NAN);
            self.kept[ix] = value;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_would_be_computed() {
        let mut log_gammas = LogGammas::new(0.25);
        for n in [0, 7, 3, 7, MOST_KEPT as i64 - 1, MOST_KEPT as i64, 1 << 40, 3, 0] {
            assert_eq!(log_gammas.of(n), log_gamma(0.25 + n as f64));
        }
    }
}
