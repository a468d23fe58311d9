//! From many small cells down to a single component, and the best of what lies between.
//!
//! Cells are merged best-first, a part of them at a time, also where that loses something; in between, sweeps let the components adapt. Each level has an estimate of its
//! evidence, the log-joint plus the entropy of the labels, and the level with the highest one is what a run begins with. Going all the way down passes the barriers at
//! which merges that must gain would stop, and the estimate tells how far to go back.

use super::sample::{Labelling, Sample};
use super::{MORE_CELLS, Search};
use crate::consolidate::merges::{Limit, merge_best};
use crate::consolidate::{ComponentId, LabelEntropy, PieceKey, PieceName, Pool};
use crate::error::Result;
use crate::model::{Model, ModelOptions, WidthSearch};

/// Sweeps at each level; the first lets rows settle, the last one is estimated.
const SWEEPS: u64 = 2;
/// One of so many components is merged at each level.
const PART: usize = 4;

/// The standard deviation of the weights of a curve through the estimates, in logarithms of the number of components: about two levels.
const SMOOTHING: f64 = 0.5;
/// Steps to the top of that curve.
const PEAK_STEPS: usize = 8;
/// How far estimates differ by chance, in standard deviations. The log-likelihood of n fitted numbers varies by √(n/2) nats.
const CHANCE: f64 = 2.0;
/// The same in nats per number of the sample: with few rows that is less.
const CHANCE_A_NUMBER: f64 = 2e-3;

/// The way down ends where the best level has this many times the components.
const FAR: usize = 8;

/// A level of the descent.
#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) labelling: Labelling,
    pub(super) options: ModelOptions,
    pub(super) model: Model,
    /// The estimate of the evidence.
    pub(super) log_evidence: f64,
}

impl Level {
    pub(super) fn n_components(&self) -> usize {
        self.labelling.components.iter().filter(|stats| stats.count > 0).count()
    }
}

/// Where a descent has come to.
pub(super) struct Descent {
    /// The level to begin with.
    pub(super) level: Level,
    /// The highest estimate of the evidence.
    pub(super) log_evidence: f64,
    /// How much higher that is than with a part of the components: what [`MORE_CELLS`] times as many have gained.
    pub(super) gain: f64,
}

/// A level with what the next one needs of it.
struct Step {
    level: Level,
    entropy: LabelEntropy,
    widths: WidthSearch,
}

/// Goes down from cells. The prior follows `widths` from level to level.
pub(super) fn descend(sample: &Sample, cells: &[u32], widths: WidthSearch, search: &mut Search<'_>) -> Result<Descent> {
    let options = widths.options(&sample.parts, &sample.by_part(cells), search.survey);
    let labelling = sample.label(cells, &Model::resolve(&options, search.survey)?);
    let mut number = 0;
    let mut steps = vec![settle(sample, labelling, options, widths, &mut number, search)?];
    let (mut n_left, mut best_ix) = (usize::MAX, 0);
    while let Some(step) = steps.last() {
        let k = step.level.n_components();
        // the first of several equal ones
        if step.level.log_evidence > steps[best_ix].level.log_evidence {
            best_ix = steps.len() - 1;
        }
        let is_far = FAR * n_left.min(k) < steps[best_ix].level.n_components();
        if n_left.min(k) <= 1 || is_far || search.is_time_over() {
            break;
        }
        // a sweep may open a component all the same; the way down is no longer for it
        n_left = n_left.min(k) - n_left.min(k).div_ceil(PART);
        let next = step.merged(sample, k - n_left, &mut number, search)?;
        steps.push(next);
    }
    let best = &steps[best_ix].level;
    let (log_evidence, n_best) = (best.log_evidence, best.n_components());
    let coarse = steps[best_ix..].iter().find(|step| MORE_CELLS * step.level.n_components() <= n_best);
    let gain = coarse.map_or(f64::INFINITY, |step| log_evidence - step.level.log_evidence);
    let between =
        if search.is_time_over() { None } else { top_of_curve(&steps, best_ix, sample, &mut number, search)? };
    let level = between.unwrap_or_else(|| steps.swap_remove(best_ix).level);
    Ok(Descent { level, log_evidence, gain })
}

/// The level at the top of a smooth curve through the estimates, unless it is clearly worse than the best level. Estimates scatter from level to level: where the curve is flat, the best
/// level is the best by chance, and a few rows more would make it another one.
fn top_of_curve(
    steps: &[Step],
    best_ix: usize,
    sample: &Sample,
    number: &mut u64,
    search: &mut Search<'_>,
) -> Result<Option<Level>> {
    let point = |step: &Step| (libm::log(step.level.n_components() as f64), step.level.log_evidence);
    let points: Vec<(f64, f64)> = steps.iter().map(point).collect();
    let wanted = libm::exp(peak(&points, points[best_ix].0)).round() as usize;
    // from the last level that has more
    let Some(above) = steps.iter().rev().find(|step| step.level.n_components() >= wanted) else { return Ok(None) };
    let n_merges = above.level.n_components() - wanted;
    let level = if n_merges == 0 { above.level.clone() } else { above.merged(sample, n_merges, number, search)?.level };
    let n_numbers = wanted * search.numbers_a_component(&level.model);
    let of_rows = CHANCE_A_NUMBER * sample.n_rows() as f64 * search.numbers_a_row();
    let chance = of_rows.min(CHANCE * (0.5 * n_numbers as f64).sqrt());
    let is_as_good = level.log_evidence >= steps[best_ix].level.log_evidence - chance;
    Ok(is_as_good.then_some(level))
}

/// Where a parabola through points, the nearer ones counting more, is highest; near `first`, where it is looked for first.
fn peak(points: &[(f64, f64)], first: f64) -> f64 {
    let (least, most) =
        points.iter().fold((first, first), |(least, most), &(place, _)| (least.min(place), most.max(place)));
    let height = points.iter().map(|&(_, height)| height).fold(f64::NEG_INFINITY, f64::max);
    let mut at = first;
    for _ in 0..PEAK_STEPS {
        // moments of the weighted points about the present place
        let (mut x, mut y) = ([0.0; 5], [0.0; 3]);
        for &(place, log_evidence) in points {
            let distance = (place - at) / SMOOTHING;
            let mut term = libm::exp(-0.5 * distance * distance);
            for power in 0..5 {
                x[power] += term;
                if power < 3 {
                    y[power] += term * (log_evidence - height);
                }
                term *= place - at;
            }
        }
        let determinant = |a: [f64; 3], b: [f64; 3], c: [f64; 3]| {
            a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1])
        };
        let (x0, x1, x2) = ([x[0], x[1], x[2]], [x[1], x[2], x[3]], [x[2], x[3], x[4]]);
        let all = determinant(x0, x1, x2);
        let (slope, bend) = (determinant(x0, y, x2) / all, determinant(x0, x1, y) / all);
        // also where the points are too few
        if bend.is_nan() || bend >= 0.0 || !slope.is_finite() {
            break;
        }
        at = (at + (-0.5 * slope / bend).clamp(-SMOOTHING, SMOOTHING)).clamp(least, most);
    }
    at
}

/// Sweeps a labelling, lets the prior follow, and estimates the evidence.
fn settle(
    sample: &Sample,
    mut labelling: Labelling,
    options: ModelOptions,
    mut widths: WidthSearch,
    number: &mut u64,
    search: &mut Search<'_>,
) -> Result<Step> {
    let n_components = labelling.components.iter().filter(|stats| stats.count > 0).count();
    search.observer.on_start(&format!("{n_components} components"));
    let model = Model::resolve(&options, search.survey)?;
    let mut entropy = LabelEntropy::default();
    for _ in 0..SWEEPS {
        *number += 1;
        entropy = sample.sweep(&mut labelling, &model, *number, search.seed);
        sample.check_interrupt()?;
    }
    let (options, log_joint) =
        widths.improve(&sample.parts, &labelling.labels, &labelling.components, search.survey)?;
    let model = Model::resolve(&options, search.survey)?;
    let log_evidence = log_joint - entropy.log_certainty();
    Ok(Step { level: Level { labelling, options, model, log_evidence }, entropy, widths })
}

impl Step {
    /// A level with fewer components.
    fn merged(&self, sample: &Sample, n_merges: usize, number: &mut u64, search: &mut Search<'_>) -> Result<Self> {
        let mut labelling = self.level.labelling.clone();
        merge(&mut labelling, self.entropy.clone(), n_merges, &self.level.model);
        settle(sample, labelling, self.level.options.clone(), self.widths.clone(), number, search)
    }
}

/// Merges so many pairs, those that gain most or lose least.
fn merge(labelling: &mut Labelling, mut entropy: LabelEntropy, n_merges: usize, model: &Model) {
    let family = model.conjugate();
    let mut pool = Pool::new(0);
    let key = |slot: usize| PieceKey::whole(0, PieceName::Birth(slot as u64));
    let id = |slot: usize| ComponentId { epoch: 0, number: slot as u64 + 1 };
    for (slot, stats) in labelling.components.iter().enumerate().filter(|(_, stats)| stats.count > 0) {
        pool.enter(key(slot), Some(stats.clone()), id(slot));
        entropy.know(id(slot));
    }
    pool.settle(family);
    let limit = Limit { floor: f64::NEG_INFINITY, n_merges };
    merge_best(&mut pool, &[], &mut entropy, limit, family, 1.0);
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).collect();
    let number = |slot: usize| {
        let owner = pool.piece(key(slot))?.owner;
        ids.binary_search(&owner).ok().map(|ix| ix as u32)
    };
    let to: Vec<u32> = (0..labelling.components.len()).map(|slot| number(slot).unwrap_or(0)).collect();
    let components = pool.live().map(|(_, total)| total.stats.clone()).collect();
    labelling.renumber(&to, components);
}
