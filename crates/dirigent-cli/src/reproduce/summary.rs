//! A line a method: where its seeds ended, how fast they came to the level of CGS, what a cycle costs.

use super::communication::{self, Traffic};
use super::curves::Curve;
use super::level::{self, Arrival};
use super::methods::Method;
use super::results::Run;
use super::speed::{Clock, cycle_seconds};
use super::spread::{Spread, mean};

/// A method, over its seeds.
#[derive(Debug, Clone)]
pub(crate) struct MethodSummary {
    pub(crate) method: &'static Method,
    pub(crate) n_workers: u32,
    pub(crate) n_seeds: usize,
    pub(crate) k: Spread,
    pub(crate) log_joint: Spread,
    pub(crate) above_truth: Option<Spread>,
    pub(crate) vi: Option<Spread>,
    pub(crate) vi_labels: Option<Spread>,
    pub(crate) nmi_labels: Option<Spread>,
    pub(crate) arrival: Arrival,
    /// Seconds a cycle.
    pub(crate) cluster_cycle: Option<f64>,
    pub(crate) real_cycle: Option<f64>,
    pub(crate) traffic: Option<Traffic>,
}

/// A line a method; the first curve is that of CGS.
pub(crate) fn summaries(curves: &[Curve<'_>]) -> Vec<MethodSummary> {
    let level = curves.first().and_then(|reference| level::of_reference(&reference.runs)).unwrap_or(f64::INFINITY);
    curves.iter().filter_map(|curve| summary(curve, level)).collect()
}

fn summary(curve: &Curve<'_>, level: f64) -> Option<MethodSummary> {
    let ends = || curve.runs.iter().map(|run| &run.summary);
    let seconds = |clock| mean(curve.runs.iter().filter_map(|run: &&Run| cycle_seconds(run, clock)));
    Some(MethodSummary {
        method: curve.method,
        n_workers: curve.runs.first()?.trial.n_workers,
        n_seeds: curve.runs.len(),
        k: Spread::of(ends().map(|end| end.k as f64))?,
        log_joint: Spread::of(ends().map(|end| end.log_joint))?,
        above_truth: Spread::of_all(ends().map(|end| Some(end.log_joint - end.log_joint_truth?))),
        vi: Spread::of_all(ends().map(|end| end.vi)),
        vi_labels: Spread::of_all(ends().map(|end| end.vi_labels)),
        nmi_labels: Spread::of_all(ends().map(|end| end.nmi_labels)),
        arrival: level::arrival(curve.runs.iter().copied(), level),
        cluster_cycle: seconds(Clock::Cluster),
        real_cycle: seconds(Clock::Real),
        traffic: communication::measured(curve),
    })
}
