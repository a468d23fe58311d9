//! The best state: the one with the highest log-joint.

use serde::{Deserialize, Serialize};

use super::MethodSetup;
use super::cgs::Draws;
use crate::trace::CycleInfo;

/// Remembers the state with the highest log-joint among the states that are kept as draws or, where
/// none are kept, among those of all cycles in which all rows took part.
///
/// The log-joint is that of the trace. Where α is learned it is taken at the α of its cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BestState {
    draws: Option<Draws>,
    n_rows: u64,
    log_joint: f64,
    state: Option<Vec<u32>>,
}

impl BestState {
    /// Of a run with these options.
    pub fn new(options: &MethodSetup, n_rows: usize) -> Self {
        Self { draws: options.draws(), n_rows: n_rows as u64, log_joint: f64::NEG_INFINITY, state: None }
    }

    /// Looks at a cycle; its state is asked for only if it is a new best.
    pub fn look(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        let is_candidate = match self.draws {
            Some(draws) => draws.keeps(info.cycle, info.ending),
            None => info.n_rows == self.n_rows,
        };
        if is_candidate && info.log_joint > self.log_joint {
            self.log_joint = info.log_joint;
            self.state = Some(state());
        }
    }

    /// The best state, where there was one to choose.
    pub fn into_state(self) -> Option<Vec<u32>> {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::horizon::{Ending, StoppedBecause};

    fn best_of(draws: Option<Draws>, log_joints: &[f64]) -> Option<Vec<u32>> {
        let mut best = BestState { draws, n_rows: 10, log_joint: f64::NEG_INFINITY, state: None };
        let ending = Some(Ending { last_cycle: log_joints.len() as u64, because: StoppedBecause::Cycles });
        for (cycle, &log_joint) in (1..).zip(log_joints) {
            let n_rows = if cycle == 1 { 5 } else { 10 };
            best.look(&CycleInfo { cycle, log_joint, n_rows, ending, ..CycleInfo::default() }, &|| vec![cycle as u32]);
        }
        best.into_state()
    }

    #[test]
    fn the_best_is_chosen_among_the_draws_or_the_cycles_of_all_rows() {
        let log_joints = [9.0, -3.0, 8.0, -1.0, -7.0, -2.0];
        assert_eq!(best_of(None, &log_joints), Some(vec![3]));
        assert_eq!(best_of(Some(Draws { n_draws: 2, thin: 1 }), &log_joints), Some(vec![6]));
        assert_eq!(best_of(Some(Draws { n_draws: 1, thin: 1 }), &[0.0, f64::NAN]), None);
    }
}
