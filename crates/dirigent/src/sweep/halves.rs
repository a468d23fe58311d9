//! Halves in the sweep: once a row has its component, it is put into one of the component's halves.
//!
//! In the first sweep of a generation by its cut, because the others' halves are not yet known;
//! from then on with probability ∝ (n_half + α/2) · predictive_half, the row taken out, the other
//! workers' halves included.

use super::batch::Scorer;
use super::overlaps::Overlaps;
use crate::family::Family;
use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::Row;
use crate::stats::Stats;

/// What a sampler knows of the halves of a slot.
#[derive(Debug, Clone, PartialEq)]
pub enum LocalHalves {
    /// There are none.
    None,
    /// Rows are cut.
    Fresh(HalfCut),
    /// Everything that is known of both, this shard's rows included.
    Known([Stats; 2]),
}

/// How the half of a row comes about, slot by slot.
#[derive(Debug, Clone)]
enum Rule {
    None,
    Cut(HalfCut),
    Draw,
}

/// The half of each row, and how it is found.
#[derive(Debug, Default)]
pub(super) struct RowHalves {
    pub(super) labels: Vec<Option<Half>>,
    /// Of the loaded slots; births have no halves.
    rules: Vec<Rule>,
}

impl RowHalves {
    pub(super) fn new(n_rows: usize) -> Self {
        Self { labels: vec![None; n_rows], rules: Vec::new() }
    }

    /// Whether any slot has halves.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Takes over how halves come about; the statistics of those that are known are returned.
    pub(super) fn load(&mut self, halves: Vec<LocalHalves>) -> Vec<Option<[Stats; 2]>> {
        self.rules.clear();
        if halves.iter().all(|halves| *halves == LocalHalves::None) {
            return Vec::new();
        }
        let take = |halves| {
            let (rule, stats) = match halves {
                LocalHalves::None => (Rule::None, None),
                LocalHalves::Fresh(cut) => (Rule::Cut(cut), None),
                LocalHalves::Known(stats) => (Rule::Draw, Some(stats)),
            };
            self.rules.push(rule);
            stats
        };
        halves.into_iter().map(take).collect()
    }

    /// Whether statistics of a slot's halves are kept.
    #[inline(always)]
    fn is_drawn(&self, slot: usize) -> bool {
        matches!(self.rules.get(slot), Some(Rule::Draw))
    }

    /// Puts a row that was in (`own`, its half) and is in `slot` now into a half of it.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn place<S: Scorer>(
        &mut self,
        scorer: &mut S,
        place: RowPlace<'_>,
        own: u32,
        slot: u32,
        half_alpha: f64,
        overlaps: &mut Overlaps,
        rng: &mut Stream,
    ) {
        let RowPlace { row_ix, in_batch, row } = place;
        let (own, slot, before) = (own as usize, slot as usize, self.labels[row_ix]);
        let leaves = own != slot;
        if leaves
            && self.is_drawn(own)
            && let Some(half) = before
        {
            scorer.change_half(in_batch, own, half, -1);
        }
        let now = match self.rules.get(slot) {
            None | Some(Rule::None) => None,
            Some(Rule::Cut(cut)) => Some(side(scorer.family(), row, cut, rng)),
            Some(Rule::Draw) => {
                let taken_out = if leaves { None } else { before };
                let odds = odds_of_right(scorer, in_batch, slot, taken_out, half_alpha);
                let now = draw_half(odds, rng);
                if overlaps.is_on() {
                    overlaps.add_half(slot, if now == Half::Left { odds } else { 1.0 / odds });
                }
                if taken_out != Some(now) {
                    if let Some(half) = taken_out {
                        scorer.change_half(in_batch, slot, half, -1);
                    }
                    scorer.change_half(in_batch, slot, now, 1);
                }
                Some(now)
            }
        };
        self.labels[row_ix] = now;
    }
}

/// A row and where it is.
#[derive(Clone, Copy)]
pub(super) struct RowPlace<'a> {
    pub(super) row_ix: usize,
    pub(super) in_batch: usize,
    pub(super) row: Row<'a>,
}

/// The side of the cut, by a coin where the family has none.
pub(super) fn side<F: Family + ?Sized>(family: &F, row: Row<'_>, cut: &HalfCut, rng: &mut Stream) -> Half {
    family.side(row, cut).unwrap_or_else(|| if rng.uniform() < 0.5 { Half::Left } else { Half::Right })
}

#[inline(always)]
pub(super) fn draw_half(odds: f64, rng: &mut Stream) -> Half {
    // so much smaller than the smallest number, or so much larger than the largest: both are
    // certain
    if rng.uniform() * (1.0 + odds) < 1.0 { Half::Left } else { Half::Right }
}

/// How much more the right half weighs than the left one, the row taken out.
#[inline(always)]
pub(super) fn odds_of_right<S: Scorer>(
    scorer: &S,
    in_batch: usize,
    slot: usize,
    taken_out: Option<Half>,
    half_alpha: f64,
) -> f64 {
    let mut counts = scorer.half_counts(slot);
    if let Some(half) = taken_out {
        counts[half.ix()] -= 1;
    }
    let [left, right] = scorer.log_half_weights(in_batch, slot, taken_out);
    libm::exp(right - left) * prior_share(counts[1], half_alpha) / prior_share(counts[0], half_alpha)
}

/// From a log-weight with n to one with n + α/2; an empty half has no n.
#[inline(always)]
fn prior_share(count: i64, half_alpha: f64) -> f64 {
    if count == 0 { half_alpha } else { 1.0 + half_alpha / count as f64 }
}
