//! From many small cells down to a single component, and the best of what lies between.
//!
//! Cells are merged best-first, a part of them at a time, also where that loses something; in between, sweeps let the components adapt. Each level has an estimate of its
//! evidence, the log-joint plus the entropy of the labels, and the level with the highest one is what a run begins with. Going all the way down passes the barriers at
//! which merges that must gain would stop, and the estimate tells how far to go back.

use super::Search;
use super::sample::{Labelling, Sample};
use crate::consolidate::merges::{Limit, merge_best};
use crate::consolidate::{ComponentId, LabelEntropy, PieceKey, PieceName, Pool};
use crate::error::Result;
use crate::model::{Model, ModelOptions, WidthSearch};

/// Sweeps at each level; the first lets rows settle, the last one is estimated.
const SWEEPS: u64 = 2;
/// One of so many components is merged at each level.
const PART: usize = 4;

/// The best level.
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

/// Goes down from cells. The prior follows `widths` from level to level.
pub(super) fn descend(
    sample: &Sample,
    cells: &[u32],
    mut widths: WidthSearch,
    search: &mut Search<'_>,
) -> Result<Level> {
    let survey = search.survey;
    let mut options = widths.options(&sample.parts, &sample.by_part(cells), survey);
    let mut model = Model::resolve(&options, survey)?;
    let mut labelling = sample.label(cells, &model);
    let mut best: Option<Level> = None;
    let (mut number, mut n_left) = (0, usize::MAX);
    for level in 1.. {
        let n_components = labelling.components.iter().filter(|stats| stats.count > 0).count();
        search.observer.on_start(&format!("{n_components} components, level {level}"));
        let mut entropy = LabelEntropy::default();
        for _ in 0..SWEEPS {
            number += 1;
            entropy = sample.sweep(&mut labelling, &model, number, search.seed);
            sample.check_interrupt()?;
        }
        let log_joint;
        (options, log_joint) = widths.improve(&sample.parts, &labelling.labels, &labelling.components, survey)?;
        model = Model::resolve(&options, survey)?;
        let log_evidence = log_joint - entropy.log_certainty();
        let k = labelling.components.iter().filter(|stats| stats.count > 0).count();
        if best.as_ref().is_none_or(|best| log_evidence > best.log_evidence) {
            best = Some(Level {
                labelling: labelling.clone(),
                options: options.clone(),
                model: model.clone(),
                log_evidence,
            });
        }
        if n_left.min(k) <= 1 || search.is_time_over() {
            break;
        }
        // a sweep may open a component all the same; the way down is no longer for it
        n_left = n_left.min(k) - n_left.min(k).div_ceil(PART);
        merge(&mut labelling, entropy, k - n_left, &model);
    }
    Ok(best.expect("there was a level"))
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
