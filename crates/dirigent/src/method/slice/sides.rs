//! A worker's part of a split or a merge: which of its rows are meant, and on which side of the
//! division each of them is.
//!
//! Rows are divided independently of one another, so the probability of a division is a product
//! over rows, and over workers.

use crate::consolidate::{ComponentId, ShardId};
use crate::method::slice::move_message::{Anchor, MoveTask, Odds, SliceMove, SliceSides};
use crate::protocol::{Decoded, Rejection, require};
use crate::rng::Stream;
use crate::stats::Stats;
use crate::sweep::slice::SliceSampler;

/// A worker's rows and what their labels stand for.
pub(super) struct SideRows<'a> {
    pub(super) shard_id: ShardId,
    pub(super) sampler: &'a dyn SliceSampler,
    pub(super) ids: &'a [ComponentId],
    pub(super) parameters_len: usize,
    pub(super) has_counts: bool,
}

/// What came of a step, and the rows on the right, if they were drawn.
pub(super) struct SideAnswer {
    pub(super) said: SliceSides,
    pub(super) right: Vec<usize>,
}

impl SideRows<'_> {
    /// Does what a step asks for; no label changes.
    pub(super) fn answer(&self, step: &SliceMove, rng: &mut Stream) -> Decoded<SideAnswer> {
        let anchors = match step.anchors {
            Some(anchors) => [self.find(anchors[0])?, self.find(anchors[1])?],
            None => [None, None],
        };
        let log_probability = match &step.task {
            MoveTask::Anchors => {
                let [left, right] = anchors.map(|anchor| anchor.into_iter().collect::<Vec<usize>>());
                return Ok(self.said(step, &left, right, 0.0));
            }
            MoveTask::Divide(odds) => return self.divide(step, odds, anchors, rng),
            MoveTask::Weigh(odds) => self.weigh(step, odds, anchors)?,
        };
        Ok(self.said(step, &[], Vec::new(), log_probability))
    }

    fn said(&self, step: &SliceMove, left: &[usize], right: Vec<usize>, log_probability: f64) -> SideAnswer {
        let travelling = |stats: Stats| if self.has_counts { stats.to_sparse() } else { stats };
        let sides = [left, &right].map(|rows| travelling(self.sampler.statistics(rows)));
        SideAnswer { said: SliceSides { step: step.step, sides, log_probability }, right }
    }

    /// Draws a side for every row but the anchors.
    fn divide(
        &self,
        step: &SliceMove,
        odds: &Odds,
        anchors: [Option<usize>; 2],
        rng: &mut Stream,
    ) -> Decoded<SideAnswer> {
        let rows = self.of_components(&step.components);
        let (mut left, mut right, mut log_probability) = (Vec::new(), Vec::new(), 0.0);
        for (&row_ix, log_odds) in rows.iter().zip(self.log_odds(&rows, odds)?) {
            let is_left = match anchors.iter().position(|anchor| *anchor == Some(row_ix)) {
                Some(side) => side == 0,
                None => {
                    let log_left = log_share(log_odds);
                    let is_left = libm::log(rng.uniform_positive()) <= log_left;
                    log_probability += if is_left { log_left } else { log_share(-log_odds) };
                    is_left
                }
            };
            if is_left { left.push(row_ix) } else { right.push(row_ix) }
        }
        Ok(self.said(step, &left, right, log_probability))
    }

    /// The probability that [`SideRows::divide`] would draw the two components as they are.
    fn weigh(&self, step: &SliceMove, odds: &Odds, anchors: [Option<usize>; 2]) -> Decoded<f64> {
        let [left, _] = step.components[..] else { return Err(Rejection::new("two components make a division")) };
        let left = self.label(left);
        let rows = self.of_components(&step.components);
        let mut log_probability = 0.0;
        for (&row_ix, log_odds) in rows.iter().zip(self.log_odds(&rows, odds)?) {
            if !anchors.contains(&Some(row_ix)) {
                let is_left = Some(self.sampler.labels()[row_ix]) == left;
                log_probability += log_share(if is_left { log_odds } else { -log_odds });
            }
        }
        Ok(log_probability)
    }

    fn log_odds(&self, rows: &[usize], odds: &Odds) -> Decoded<Vec<f64>> {
        let Odds { log_prior_odds, parameters } = odds;
        if parameters.is_empty() {
            return Ok(vec![*log_prior_odds; rows.len()]);
        }
        require(parameters.len() == 2 * self.parameters_len, "parameters of another family")?;
        Ok(self.sampler.log_odds(rows, parameters).into_iter().map(|log_odds| log_odds + log_prior_odds).collect())
    }

    fn label(&self, component: ComponentId) -> Option<u32> {
        self.ids.iter().position(|id| *id == component).map(|label| label as u32)
    }

    /// The rows of some components, in order.
    fn of_components(&self, components: &[ComponentId]) -> Vec<usize> {
        let wanted: Vec<u32> = components.iter().filter_map(|component| self.label(*component)).collect();
        let labels = self.sampler.labels().iter().enumerate();
        labels.filter(|(_, label)| wanted.contains(label)).map(|(row_ix, _)| row_ix).collect()
    }

    /// The row that is meant, if it is one of this worker's.
    fn find(&self, anchor: Anchor) -> Decoded<Option<usize>> {
        if anchor.shard != self.shard_id {
            return Ok(None);
        }
        let rows = self.of_components(&[anchor.component]);
        let row = usize::try_from(anchor.index).ok().and_then(|index| rows.get(index).copied());
        row.map(Some).ok_or_else(|| Rejection::new("a row that is not there"))
    }
}

/// The logarithm of the share that log-odds give: −log(1 + exp(−x)).
fn log_share(log_odds: f64) -> f64 {
    let tail = -libm::log1p(libm::exp(-log_odds.abs()));
    if log_odds < 0.0 { log_odds + tail } else { tail }
}
