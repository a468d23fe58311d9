//! When a run is as good as CGS.
//!
//! The level of CGS is the log-joint that every seed of it has reached: the least, over the seeds, of the best of all cycles. Not that of the last cycle, because a
//! chain that begins well may sink. A run is there at the first cycle that reaches it. The paper compares its methods so: by the cycles and the time they
//! take to the level of CGS.

use super::results::{Cycle, Run};
use super::spread::{Spread, mean};

/// The level of CGS.
pub(crate) fn of_reference(reference: &[&Run]) -> Option<f64> {
    let best = |run: &&Run| Some(Spread::of(run.whole_cycles().map(|cycle| cycle.log_joint))?.high);
    Spread::of_all(reference.iter().map(best)).map(|bests| bests.low)
}

/// The first cycle that is as good.
fn reached(run: &Run, level: f64) -> Option<Cycle> {
    run.whole_cycles().find(|cycle| cycle.log_joint >= level).copied()
}

/// How seeds came to the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrival {
    /// Seeds that reached it.
    pub(crate) n_reached: usize,
    /// Means over those seeds.
    pub(crate) cycles: Option<f64>,
    pub(crate) cluster_seconds: Option<f64>,
    pub(crate) real_seconds: Option<f64>,
}

/// How the seeds of a method came to the level.
pub(crate) fn arrival<'a>(runs: impl IntoIterator<Item = &'a Run>, level: f64) -> Arrival {
    let cycles: Vec<Cycle> = runs.into_iter().filter_map(|run| reached(run, level)).collect();
    Arrival {
        n_reached: cycles.len(),
        cycles: mean(cycles.iter().map(|cycle| cycle.cycle as f64)),
        cluster_seconds: mean(cycles.iter().filter_map(|cycle| cycle.cluster_seconds)),
        real_seconds: mean(cycles.iter().map(|cycle| cycle.real_seconds)),
    }
}
