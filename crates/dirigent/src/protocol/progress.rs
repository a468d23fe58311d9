//! Cycles that are complete, and when the last one is.

use crate::posterior::horizon::Horizon;
use crate::protocol::{CycleReport, RoundsCoordinatorOptions};

/// How far a run has come.
pub struct Progress {
    /// Cycles that are complete.
    pub(crate) cycle: u64,
    /// The concentration of the cycle that goes on.
    pub(crate) alpha: f64,
    horizon: Horizon,
    wants_stop: bool,
    has_closed: bool,
}

impl Progress {
    pub(crate) fn new(options: &RoundsCoordinatorOptions) -> Self {
        let horizon = Horizon::new(options.cycles, options.n_kept);
        Self { cycle: 0, alpha: options.alpha.start(), horizon, wants_stop: false, has_closed: false }
    }

    /// A run that goes on from the border of a cycle.
    pub(crate) fn resumed(cycle: u64, alpha: f64, horizon: Horizon, has_closed: bool) -> Self {
        Self { cycle, alpha, horizon, wants_stop: false, has_closed }
    }

    /// When it will end, as far as that is known.
    pub(crate) fn horizon(&self) -> &Horizon {
        &self.horizon
    }

    /// The run is to end with the cycle that goes on.
    pub(crate) fn stop(&mut self) {
        self.wants_stop = true;
    }

    /// Whether the last cycle is complete.
    pub(crate) fn has_closed(&self) -> bool {
        self.has_closed
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
