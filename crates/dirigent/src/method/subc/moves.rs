//! Splits and merges: proposed by chance, accepted by their ratio.

use std::collections::BTreeMap;

use crate::consolidate::{ComponentId, MergeRatio, WeighedStats};
use crate::method::subc::message::HalfPlaces;
use crate::rng::Stream;
use crate::special::log_gamma;
use crate::stats::Stats;

/// A component with rows, of all workers together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HalvedTotal {
    pub(super) id: ComponentId,
    pub(super) stats: Stats,
    /// `None` for a component that was just split off: nobody knows its halves yet.
    pub(super) halves: Option<[Stats; 2]>,
}

/// What was accepted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SubcMoves {
    pub(super) n_splits: u64,
    pub(super) n_merges: u64,
    places: BTreeMap<ComponentId, [ComponentId; 2]>,
}

impl SubcMoves {
    /// Where the rows of components that are no longer are now.
    pub(super) fn places(self) -> HalfPlaces {
        self.places.into_iter().collect()
    }

    /// The rows of one component are another's.
    fn rename(&mut self, from: ComponentId, to: ComponentId) {
        self.places.values_mut().flatten().filter(|place| **place == from).for_each(|place| *place = to);
        self.places.entry(from).or_insert([to, to]);
    }
}

/// Proposes every component that may be split for a split, with probability min(1, α Γ(n_l)m(l)
/// Γ(n_r)m(r) / (Γ(n_c)m(c))) = min(1, 1/ρ(l, r)).
pub(super) fn split(
    totals: Vec<HalvedTotal>,
    may_split: impl Fn(ComponentId) -> bool,
    ratio: &MergeRatio<'_>,
    mut mint: impl FnMut() -> ComponentId,
    moves: &mut SubcMoves,
    rng: &mut Stream,
) -> Vec<HalvedTotal> {
    let mut after = Vec::with_capacity(totals.len());
    for total in totals {
        let halves = total.halves.as_ref().filter(|halves| halves.iter().all(|half| half.count > 0));
        let halves = halves.filter(|_| may_split(total.id));
        let is_split = halves.is_some_and(|[left, right]| {
            let [left, right] = [left, right].map(|half| WeighedStats::new(ratio.family, half.clone()));
            accepts(-ratio.log(&ratio.spread(&left), &right), rng)
        });
        let Some(halves) = total.halves.clone().filter(|_| is_split) else {
            after.push(total);
            continue;
        };
        let ids = [mint(), mint()];
        moves.places.insert(total.id, ids);
        moves.n_splits += 1;
        after.extend(ids.into_iter().zip(halves).map(|(id, stats)| HalvedTotal { id, stats, halves: None }));
    }
    after
}

/// Proposes a random pair for a merge, in which the two become the halves: ρ(a, b) Γ(α)/Γ(α+n)
/// Γ(α/2+n_a)Γ(α/2+n_b)/Γ(α/2)².
pub(super) fn merge(
    totals: &mut Vec<HalvedTotal>,
    ratio: &MergeRatio<'_>,
    alpha: f64,
    mint: impl FnOnce() -> ComponentId,
    moves: &mut SubcMoves,
    rng: &mut Stream,
) {
    if totals.len() < 2 {
        return;
    }
    let a = rng.below(totals.len());
    let b = (a + 1 + rng.below(totals.len() - 1)) % totals.len();
    let [left, right] = [a.min(b), a.max(b)];
    let log_ratio = {
        let [left, right] = [left, right].map(|ix| WeighedStats::new(ratio.family, totals[ix].stats.clone()));
        ratio.log(&ratio.spread(&left), &right)
    };
    let [n_left, n_right] = [left, right].map(|ix| totals[ix].stats.count as f64);
    let log_halves = log_gamma(alpha) - log_gamma(alpha + n_left + n_right)
        + log_gamma(0.5 * alpha + n_left)
        + log_gamma(0.5 * alpha + n_right)
        - 2.0 * log_gamma(0.5 * alpha);
    if !accepts(log_ratio + log_halves, rng) {
        return;
    }
    let right = totals.remove(right);
    let left = totals.remove(left);
    let id = mint();
    moves.rename(left.id, id);
    moves.rename(right.id, id);
    moves.n_merges += 1;
    totals.push(HalvedTotal { id, stats: left.stats.union(&right.stats), halves: Some([left.stats, right.stats]) });
}

/// Whether a move with this log-ratio is accepted.
fn accepts(log_ratio: f64, rng: &mut Stream) -> bool {
    libm::log(rng.uniform_positive()) < log_ratio
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::GaussianFixed;
    use crate::rng::{Role, Seed};
    use crate::stats::Sums;

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 1.0, mean_sd: 9.0, prior_mean: vec![0.0], offset: vec![0.0] }
    }

    fn stats(count: i64, sum: f64) -> Stats {
        Stats { count, sums: Sums::Dense([sum].into()) }
    }

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 0, number }
    }

    fn total(number: u64, left: Stats, right: Stats) -> HalvedTotal {
        HalvedTotal { id: id(number), stats: left.union(&right), halves: Some([left, right]) }
    }

    #[test]
    fn a_component_of_two_is_split_one_of_one_is_not_and_nobody_loses_a_row() {
        let (family, mut next) = (family(), 10);
        let ratio = MergeRatio::new(&family, 1.0);
        let mut mint = || {
            next += 1;
            id(next)
        };
        let mut rng = Seed::new(1).stream(Role::Coordinator, 0, 0);
        let totals = vec![
            total(1, stats(50, -400.0), stats(60, 480.0)),
            total(2, stats(50, 3.0), stats(60, 2.0)),
            total(3, stats(50, -400.0), stats(60, 480.0)),
            total(4, stats(50, -400.0), stats(0, 0.0)),
        ];
        let mut moves = SubcMoves::default();
        let after = split(totals, |component| component != id(3), &ratio, &mut mint, &mut moves, &mut rng);
        let ids: Vec<u64> = after.iter().map(|total| total.id.number).collect();
        assert_eq!(ids, [11, 12, 2, 3, 4], "3 may not, and 4 has but one half");
        assert_eq!(after.iter().map(|total| total.stats.count).sum::<i64>(), 380);
        assert!(after[0].halves.is_none(), "what is new has no halves yet");
        assert_eq!(moves.places(), [(id(1), [id(11), id(12)])]);
    }

    #[test]
    fn what_was_split_and_merged_again_is_found() {
        let family = family();
        let ratio = MergeRatio::new(&family, 1.0);
        // split into two that the same cycle merges, one of them with a component that was there
        // before
        let mut moves = SubcMoves { places: BTreeMap::from([(id(1), [id(11), id(12)])]), ..SubcMoves::default() };
        let new = |number, stats| HalvedTotal { id: id(number), stats, halves: None };
        let mut n_tries = 0;
        let mut totals = vec![new(12, stats(9, 0.5)), new(2, stats(9, 0.2))];
        while totals.len() == 2 {
            n_tries += 1;
            let mut rng = Seed::new(2).stream(Role::Coordinator, 0, n_tries);
            merge(&mut totals, &ratio, 1.0, || id(20), &mut moves, &mut rng);
        }
        assert_eq!(totals[0].halves, Some([stats(9, 0.5), stats(9, 0.2)]));
        assert_eq!(moves.n_merges, 1);
        let places: BTreeMap<_, _> = moves.places().into_iter().collect();
        assert_eq!((places[&id(1)], places[&id(2)]), ([id(11), id(20)], [id(20), id(20)]));
    }
}
