//! The figures over cycles and time: what the seeds of a method say of each cycle.

use super::methods::Method;
use super::plan::{Place, Scale};
use super::results::{Cycle, Run};
use super::spread::{Spread, mean};

/// A method's line.
#[derive(Debug, Clone)]
pub(crate) struct Curve<'a> {
    pub(crate) method: &'static Method,
    /// One of each seed.
    pub(crate) runs: Vec<&'a Run>,
    pub(crate) points: Vec<Point>,
}

/// A cycle, over the seeds. Time is the mean of the times at which the seeds ended it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) cycle: u64,
    pub(crate) cluster_seconds: f64,
    pub(crate) real_seconds: f64,
    pub(crate) log_joint: Spread,
    pub(crate) k: Spread,
    pub(crate) vi: Option<Spread>,
}

/// The lines of all methods, at the number of workers that the figures over cycles have.
pub(crate) fn curves<'a>(runs: &'a [Run], scale: &Scale) -> Vec<Curve<'a>> {
    let curve = |method: &&'static Method| {
        let runs: Vec<&Run> = runs.iter().filter(|run| is_drawn(run, method, scale)).collect();
        let points = points(&runs);
        Curve { method, runs, points }
    };
    scale.methods.iter().map(curve).collect()
}

fn is_drawn(run: &Run, method: &Method, scale: &Scale) -> bool {
    let trial = &run.trial;
    let is_there =
        trial.place == Place::Serial || (trial.place == Place::Cluster && trial.n_workers == scale.n_workers);
    trial.method == method && is_there
}

/// The cycles that all rows took part in, with every seed.
fn points(runs: &[&Run]) -> Vec<Point> {
    let Some(first) = runs.first() else { return Vec::new() };
    let of_cycle = |number: u64| {
        let same = |run: &&Run| run.whole_cycles().find(|cycle| cycle.cycle == number).copied();
        runs.iter().map(same).collect::<Option<Vec<Cycle>>>()
    };
    let numbers: Vec<u64> = first.whole_cycles().map(|cycle| cycle.cycle).collect();
    numbers.into_iter().filter_map(of_cycle).filter_map(|cycles| point(&cycles)).collect()
}

fn point(cycles: &[Cycle]) -> Option<Point> {
    Some(Point {
        cycle: cycles.first()?.cycle,
        cluster_seconds: mean(cycles.iter().map(|cycle| cycle.cluster_seconds.unwrap_or(f64::NAN)))?,
        real_seconds: mean(cycles.iter().map(|cycle| cycle.real_seconds))?,
        log_joint: Spread::of(cycles.iter().map(|cycle| cycle.log_joint))?,
        k: Spread::of(cycles.iter().map(|cycle| cycle.k as f64))?,
        vi: Spread::of_all(cycles.iter().map(|cycle| cycle.vi)),
    })
}
