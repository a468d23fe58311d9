//! Cycles that are complete, and when the last one is.

use crate::posterior::horizon::Horizon;
use crate::protocol::{CoordinatorOptions, CycleReport};

/// How far a run has come.
pub struct Progress {
    /// Cycles that are complete.
    pub(crate) cycle: u64,
    /// The concentration of the cycle that goes on.
    pub(crate) alpha: f64,
    pub(crate) horizon: Horizon,
    wants_stop: bool,
    has_closed: bool,
    /// Set until a coordinator in another's place, or one that begins with labels, has heard from
    /// all workers.
    pub(crate) is_rebuilding: bool,
}

impl Progress {
    /// Labels to begin with are recalled as those of a lost coordinator are.
    pub(crate) fn new(options: &CoordinatorOptions) -> Self {
        let horizon = Horizon::new(options.cycles, options.n_kept);
        let (alpha, is_rebuilding) = (options.alpha.start(), options.has_start);
        Self { cycle: 0, alpha, horizon, wants_stop: false, has_closed: false, is_rebuilding }
    }

    /// A run that resumes from the border of a cycle.
    pub(crate) fn resumed(cycle: u64, alpha: f64, horizon: Horizon, has_closed: bool) -> Self {
        Self { cycle, alpha, horizon, wants_stop: false, has_closed, is_rebuilding: false }
    }

    /// The run is to end with the cycle that goes on.
    pub(crate) fn stop(&mut self) {
        self.wants_stop = true;
    }

    /// Whether the last cycle is complete.
    pub(crate) fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// Whether the cycle that goes on is the last one.
    pub(crate) fn is_closing(&self) -> bool {
        self.wants_stop || self.cycle + 1 >= self.horizon.last_cycle()
    }

    /// The last cycle is complete.
    pub(crate) fn close(&mut self) {
        self.has_closed = true;
    }

    /// Completes a cycle: what is to be reported of it, whatever the method has to add.
    pub(crate) fn close_cycle(&mut self, log_joint: f64, n_rows: u64, k: usize) -> CycleReport {
        self.cycle += 1;
        self.horizon.observe(self.cycle, log_joint, k);
        self.has_closed |= self.wants_stop || self.cycle >= self.horizon.last_cycle();
        let (cycle, alpha, ending) = (self.cycle, self.alpha, self.horizon.ending());
        CycleReport { cycle, log_joint, n_rows, k, alpha, ending, ..CycleReport::default() }
    }
}
