//! How long a run goes on, and why it ends.

use serde::{Deserialize, Serialize};

use super::stationary::Stationarity;

/// How many cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cycles {
    /// This many.
    Fixed(u64),
    /// Until the chain is stationary ([`Stationarity`]).
    Auto {
        /// At most this many until then.
        max: u64,
    },
}

impl Cycles {
    /// Cycles after which a chain that does not settle is ended, unless somebody says.
    pub const USUAL_MAX: u64 = 1000;
}

impl Default for Cycles {
    fn default() -> Self {
        Self::Auto { max: Self::USUAL_MAX }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoppedBecause {
    /// All cycles that were asked for are done.
    Cycles,
    /// The chain was stationary.
    Stationary,
    /// It was not, but the cycles were used up.
    MaxCycles,
    /// The time was used up.
    TimeLimit,
    /// Somebody who watched it had seen enough.
    Interrupted,
}

/// The end of a run, foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The last cycle.
    pub last_cycle: u64,
    /// Why it is the last.
    pub because: StoppedBecause,
}

/// Foresees the end of a run. Where states are to be kept, the chain goes on for as long as that
/// takes once it is stationary; otherwise for one cycle: workers must be told at its beginning that
/// a cycle is the last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    cycles: Cycles,
    /// Cycles whose states are kept.
    n_kept: u64,
    rule: Stationarity,
    ending: Option<Ending>,
}

impl Horizon {
    /// The horizon of a run whose last `n_kept` cycles are kept (0: only the last state counts).
    pub fn new(cycles: Cycles, n_kept: u64) -> Self {
        let ending = match cycles {
            Cycles::Fixed(n) => Some(Ending { last_cycle: n, because: StoppedBecause::Cycles }),
            Cycles::Auto { max } if n_kept == 0 && max <= 1 => {
                Some(Ending { last_cycle: 1, because: StoppedBecause::MaxCycles })
            }
            Cycles::Auto { .. } => None,
        };
        Self { cycles, n_kept, rule: Stationarity::default(), ending }
    }

    /// What this one has seen, with an end of its own: for a run that goes on, perhaps for longer
    /// than was first asked for.
    #[must_use]
    pub fn going_on(self, cycles: Cycles, n_kept: u64) -> Self {
        if (self.cycles, self.n_kept) == (cycles, n_kept) {
            return self;
        }
        let anew = Self::new(cycles, n_kept);
        let is_settled = matches!(cycles, Cycles::Auto { .. })
            && self.ending.is_some_and(|ending| ending.because == StoppedBecause::Stationary);
        Self { rule: self.rule, ending: if is_settled { self.ending } else { anew.ending }, ..anew }
    }

    /// Takes in a cycle, counted from 1.
    pub fn observe(&mut self, cycle: u64, log_joint: f64, k: usize) {
        let is_stationary = self.rule.observe(log_joint, k);
        self.foresee(cycle, is_stationary);
    }

    /// The same for a search by splits and merges whose cycles take this many multiplications:
    /// `is_tried` says whether nearly all components have been tried for a split.
    pub fn observe_search(&mut self, cycle: u64, log_evidence: f64, n_multiplications: f64, is_tried: bool) {
        let is_over = self.rule.observe_search(log_evidence, n_multiplications, is_tried);
        self.foresee(cycle, is_over);
    }

    fn foresee(&mut self, cycle: u64, is_stationary: bool) {
        let Cycles::Auto { .. } = self.cycles else { return };
        let last_cycle = cycle.saturating_add(self.n_kept.max(1));
        if self.ending.is_none() && (is_stationary || last_cycle >= self.last_cycle()) {
            let because = if is_stationary { StoppedBecause::Stationary } else { StoppedBecause::MaxCycles };
            self.ending = Some(Ending { last_cycle, because });
        }
    }

    /// The end, once it is foreseen.
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The last cycle, as far as is known: it can only come sooner.
    pub fn last_cycle(&self) -> u64 {
        match (self.ending, self.cycles) {
            (Some(ending), _) => ending.last_cycle,
            (None, Cycles::Fixed(n)) => n,
            (None, Cycles::Auto { max }) => max.saturating_add(self.n_kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a run with this log-joint in each cycle.
    fn end(cycles: Cycles, n_kept: u64, log_joint: impl Fn(u64) -> f64) -> (u64, StoppedBecause) {
        let mut horizon = Horizon::new(cycles, n_kept);
        let mut cycle = 0;
        while cycle < horizon.last_cycle() {
            cycle += 1;
            horizon.observe(cycle, log_joint(cycle), 3);
        }
        let ending = horizon.ending().unwrap();
        assert_eq!(ending.last_cycle, cycle);
        (cycle, ending.because)
    }

    #[test]
    fn a_run_ends_when_it_should() {
        use StoppedBecause::{MaxCycles, Stationary};
        let (level, climb) = (|_| -5.0, |cycle| 100.0 * cycle as f64);
        assert_eq!(end(Cycles::Fixed(7), 0, level), (7, StoppedBecause::Cycles));
        assert_eq!(end(Cycles::Fixed(30), 4, level), (30, StoppedBecause::Cycles));
        assert_eq!(end(Cycles::Auto { max: 1000 }, 0, level), (9, Stationary));
        assert_eq!(end(Cycles::Auto { max: 1000 }, 40, level), (48, Stationary));
        assert_eq!(end(Cycles::Auto { max: 50 }, 0, climb), (50, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 50 }, 40, climb), (90, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 1 }, 0, level), (1, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 2 }, 0, level), (2, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 2 }, 1, level), (3, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 2 }, 3, level), (5, MaxCycles));
        assert_eq!(end(Cycles::Auto { max: 9 }, 0, level), (9, Stationary));
    }
}
