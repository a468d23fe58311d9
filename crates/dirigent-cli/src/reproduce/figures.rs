//! All that is shown, computed from the runs.

use super::curves::{Curve, curves};
use super::plan::Scale;
use super::results::Run;
use super::speed::{Speed, speeds};
use super::summary::{MethodSummary, summaries};

/// What tables and page show.
pub(crate) struct Figures<'a> {
    /// The name of a made set.
    pub(crate) set: Option<&'static str>,
    pub(crate) runs: &'a [Run],
    pub(crate) curves: Vec<Curve<'a>>,
    pub(crate) summaries: Vec<MethodSummary>,
    pub(crate) speeds: Vec<Speed>,
}

impl<'a> Figures<'a> {
    /// From finished runs.
    pub(crate) fn of(runs: &'a [Run], scale: &Scale, set: Option<&'static str>) -> Self {
        let curves = curves(runs, scale);
        let speeds = curves.first().map(|reference| speeds(runs, scale, reference)).unwrap_or_default();
        Self { set, runs, summaries: summaries(&curves), curves, speeds }
    }
}

#[cfg(test)]
mod tests;
