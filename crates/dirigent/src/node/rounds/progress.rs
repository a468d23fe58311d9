//! Cycles that are complete, and when the last one is.

use crate::node::{CycleReport, RoundsCoordinatorOptions};
use crate::posterior::horizon::Horizon;

/// How far a run has come.
pub(in crate::node) struct Progress {
    /// Cycles that are complete.
    pub(in crate::node) cycle: u64,
    /// The concentration of the cycle that goes on.
    pub(in crate::node) alpha: f64,
    horizon: Horizon,
    wants_stop: bool,
    has_closed: bool,
}

impl Progress {
    pub(in crate::node) fn new(options: &RoundsCoordinatorOptions) -> Self {
        let horizon = Horizon::new(options.cycles, options.n_kept);
        Self { cycle: 0, alpha: options.alpha.start(), horizon, wants_stop: false, has_closed: false }
    }

    /// A run that goes on from the border of a cycle.
    pub(in crate::node) fn resumed(cycle: u64, alpha: f64, horizon: Horizon, has_closed: bool) -> Self {
        Self { cycle, alpha, horizon, wants_stop: false, has_closed }
    }

    /// When it will end, as far as that is known.
    pub(in crate::node) fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// The run is to end with the cycle that goes on.
    pub(in crate::node) fn stop(&mut self) {
        self.wants_stop = true;
    }

    /// Whether the last cycle is complete.
    pub(in crate::node) fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// Completes a cycle: what is to be reported of it, whatever the method has to add.
    pub(in crate::node) fn close_cycle(&mut self, log_joint: f64, n_rows: u64, k: usize) -> CycleReport {
        self.cycle += 1;
        self.horizon.observe(self.cycle, log_joint, k);
        self.has_closed |= self.wants_stop || self.cycle >= self.horizon.last_cycle();
        let (cycle, alpha, ending) = (self.cycle, self.alpha, self.horizon.ending());
        CycleReport { cycle, log_joint, n_rows, k, alpha, ending, ..CycleReport::default() }
    }
}
