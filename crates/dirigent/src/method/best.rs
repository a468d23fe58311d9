//! The best state: the one with the highest log-joint.

use super::MethodOptions;
use super::cgs::Draws;
use crate::trace::CycleInfo;

/// Remembers the state with the highest log-joint among the states that are kept as draws or, where none are kept, among those of the second half
/// of the cycles: before that a chain climbs, and nearly every state is better than the one before.
///
/// The log-joint is that of the trace. Where α is learned it is taken at the α of its cycle.
#[derive(Debug)]
pub struct BestState {
    draws: Option<Draws>,
    cycles: u64,
    log_joint: f64,
    state: Option<Vec<u32>>,
}

impl BestState {
    /// Of a run with these options.
    pub fn new(options: &MethodOptions) -> Self {
        Self { draws: options.draws(), cycles: options.cycles(), log_joint: f64::NEG_INFINITY, state: None }
    }

    /// Looks at a cycle; its state is asked for only if it is a new best.
    pub fn look(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        let is_candidate = match self.draws {
            Some(draws) => info.cycle <= self.cycles && draws.keeps(info.cycle, self.cycles),
            None => info.cycle > self.cycles / 2,
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

    fn best_of(draws: Option<Draws>, log_joints: &[f64]) -> Option<Vec<u32>> {
        let mut best = BestState { draws, cycles: log_joints.len() as u64, log_joint: f64::NEG_INFINITY, state: None };
        for (cycle, &log_joint) in (1..).zip(log_joints) {
            best.look(&CycleInfo { cycle, log_joint, ..CycleInfo::default() }, &|| vec![cycle as u32]);
        }
        best.into_state()
    }

    #[test]
    fn the_best_is_chosen_in_the_second_half_or_among_the_draws() {
        let log_joints = [9.0, -3.0, 8.0, -1.0, -7.0, -2.0];
        assert_eq!(best_of(None, &log_joints), Some(vec![4]));
        assert_eq!(best_of(Some(Draws { n_draws: 2, thin: 1 }), &log_joints), Some(vec![6]));
        assert_eq!(best_of(Some(Draws { n_draws: 1, thin: 1 }), &[0.0, f64::NAN]), None);
    }
}
