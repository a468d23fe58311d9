//! The speed-up over CGS: of a cycle, and of the way to CGS's level.

use super::curves::Curve;
use super::level;
use super::methods::Method;
use super::plan::{Place, Scale};
use super::results::Run;
use super::spread::mean;

/// How fast a method is with a number of workers, or threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Speed {
    pub(crate) method: &'static Method,
    pub(crate) n_workers: u32,
    /// Real threads; none on the simulated cluster.
    pub(crate) threads: Option<u32>,
    /// Seconds a cycle, the mean over seeds: on the clock of the cluster, or on the real one.
    pub(crate) cycle_seconds: f64,
    /// The time of a cycle of CGS, as a multiple.
    pub(crate) of_a_cycle: f64,
    /// The time of CGS to its own level, as a multiple; `None` if a seed did not reach it.
    pub(crate) to_the_level: Option<f64>,
}

/// All speed-ups.
pub(crate) fn speeds(runs: &[Run], scale: &Scale, reference: &Curve<'_>) -> Vec<Speed> {
    let is_timed = |run: &&Run| run.trial.method.is_serial() && run.trial.place == Place::Threads(1);
    let timed: Vec<&Run> = runs.iter().filter(is_timed).collect();
    let mut speeds = Vec::new();
    for method in scale.methods.iter().filter(|method| !method.is_serial()) {
        let on_cluster = scale.scaling.iter().map(|&n_workers| (n_workers, Place::Cluster));
        let on_threads = scale.threads.iter().map(|&threads| (scale.n_workers, Place::Threads(threads)));
        for (n_workers, place) in on_cluster.chain(on_threads) {
            let is_it = |run: &&Run| {
                let trial = &run.trial;
                trial.method == *method && trial.n_workers == n_workers && trial.place == place
            };
            let serial: &[&Run] = if place == Place::Cluster { &reference.runs } else { &timed };
            speeds.extend(speed(&runs.iter().filter(is_it).collect::<Vec<&Run>>(), serial));
        }
    }
    speeds
}

/// Of the runs of one method, number of workers and place.
fn speed(runs: &[&Run], reference: &[&Run]) -> Option<Speed> {
    let trial = runs.first()?.trial;
    let threads = match trial.place {
        Place::Threads(threads) => Some(threads),
        Place::Serial | Place::Cluster => None,
    };
    let clock = if threads.is_some() { Clock::Real } else { Clock::Cluster };
    let mean_cycle = |runs: &[&Run]| mean(runs.iter().filter_map(|run| cycle_seconds(run, clock)));
    let (serial_seconds, cycle_seconds) = (mean_cycle(reference)?, mean_cycle(runs)?);
    let to_the_level = level::of_reference(reference).and_then(|level| {
        let serial = level::arrival(reference.iter().copied(), level);
        let parallel = level::arrival(runs.iter().copied(), level);
        if parallel.n_reached < runs.len() {
            return None;
        }
        match clock {
            Clock::Cluster => Some(serial.cluster_seconds? / parallel.cluster_seconds?),
            Clock::Real => Some(serial.real_seconds? / parallel.real_seconds?),
        }
    });
    Some(Speed {
        method: trial.method,
        n_workers: trial.n_workers,
        threads,
        cycle_seconds,
        of_a_cycle: serial_seconds / cycle_seconds,
        to_the_level,
    })
}

/// Which time is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Cluster,
    Real,
}

/// The mean length of the cycles that all rows took part in, without the first, in which rows are seated.
pub(crate) fn cycle_seconds(run: &Run, clock: Clock) -> Option<f64> {
    let (first, last) = (run.whole_cycles().next()?, run.whole_cycles().last()?);
    let n_cycles = last.cycle - first.cycle;
    let seconds = match clock {
        Clock::Cluster => last.cluster_seconds? - first.cluster_seconds?,
        Clock::Real => last.real_seconds - first.real_seconds,
    };
    (n_cycles > 0 && seconds > 0.0).then(|| seconds / n_cycles as f64)
}
