//! Merges of existing components: beyond the paper. Pairs that are better as one, label entropy included, are merged, the best first.
//!
//! Without them the duplicates that many workers bring in their first cycle would take long to die. Where components are many, only pairs
//! whose sketches are near are looked at.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use super::ratio::Room;
use super::sketches::Sketches;
use super::{ComponentId, LabelEntropy, MergeRatio, Pool};
use crate::family::Conjugate;

/// Up to so many components all pairs are looked at.
const ALL_PAIRS: usize = 64;
/// Of more, each with so many of its nearest.
const NEAREST: usize = 12;

/// A pair that would be better as one.
#[derive(PartialEq)]
struct MergeCandidate {
    log_ratio: f64,
    ids: (ComponentId, ComponentId),
    /// How often each had been merged when the ratio was computed.
    versions: (u32, u32),
}

impl Eq for MergeCandidate {}

impl Ord for MergeCandidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.log_ratio.total_cmp(&other.log_ratio).then_with(|| other.ids.cmp(&self.ids))
    }
}

impl PartialOrd for MergeCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Merges pairs with log ρ + L > 0 in falling order, ties by ids; ratios are computed again after each merge. Pairs of `apart` are left alone, and so are
/// components whose overlap is not known yet.
/// Returns how many merges were made.
pub fn merge_alike(
    pool: &mut Pool,
    apart: &[(ComponentId, ComponentId)],
    entropy: &mut LabelEntropy,
    family: &dyn Conjugate,
    alpha: f64,
) -> usize {
    merge_best(pool, apart, entropy, Limit { floor: 0.0, n_merges: usize::MAX }, family, alpha)
}

/// Which pairs are merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// Those with log ρ + L above this.
    pub(crate) floor: f64,
    /// At most so many.
    pub(crate) n_merges: usize,
}

/// Merges the best pairs within a limit.
pub(crate) fn merge_best(
    pool: &mut Pool,
    apart: &[(ComponentId, ComponentId)],
    entropy: &mut LabelEntropy,
    limit: Limit,
    family: &dyn Conjugate,
    alpha: f64,
) -> usize {
    let mut merging = Merging {
        ratio: MergeRatio::new(family, alpha),
        apart: apart.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect(),
        neighbours: neighbours(pool, entropy, family),
        entropy,
        versions: Versions::default(),
        queue: BinaryHeap::new(),
        floor: limit.floor,
        room: Room::default(),
    };
    let ids: Vec<ComponentId> = merging.neighbours.keys().copied().collect();
    ids.iter().for_each(|&id| merging.consider(pool, id, |other| other < id));
    let mut n_merges = 0;
    while n_merges < limit.n_merges
        && let Some(MergeCandidate { ids: (a, b), versions, .. }) = merging.queue.pop()
    {
        if (merging.versions.of(a), merging.versions.of(b)) != versions
            || pool.total(a).is_none()
            || pool.total(b).is_none()
        {
            continue;
        }
        let kept = pool.merge(a, b, family);
        let gone = if kept == a { b } else { a };
        merging.join(kept, gone);
        merging.consider(pool, kept, |_| true);
        n_merges += 1;
    }
    n_merges
}

struct Merging<'a> {
    ratio: MergeRatio<'a>,
    apart: HashSet<(ComponentId, ComponentId)>,
    neighbours: BTreeMap<ComponentId, Vec<ComponentId>>,
    entropy: &'a mut LabelEntropy,
    versions: Versions,
    queue: BinaryHeap<MergeCandidate>,
    /// Pairs below are not looked at.
    floor: f64,
    room: Room,
}

/// How often each component has been merged.
#[derive(Default)]
struct Versions(HashMap<ComponentId, u32>);

impl Versions {
    fn of(&self, id: ComponentId) -> u32 {
        self.0.get(&id).copied().unwrap_or(0)
    }

    fn rise(&mut self, id: ComponentId) {
        *self.0.entry(id).or_default() += 1;
    }
}

impl Merging<'_> {
    /// Looks at a component's pairs.
    fn consider(&mut self, pool: &Pool, id: ComponentId, wanted: impl Fn(ComponentId) -> bool) {
        let Some(total) = pool.total(id) else { return };
        let Self { ratio, apart, neighbours, entropy, versions, queue, floor, room } = self;
        ratio.with_spread(total, room, |total| {
            for &other in &neighbours[&id] {
                if !wanted(other) || apart.contains(&(id, other)) {
                    continue;
                }
                let Some(set) = pool.total(other) else { continue };
                let log_ratio = ratio.log(total, set) + entropy.of_pair(id, other);
                if log_ratio > *floor {
                    let versions = (versions.of(id), versions.of(other));
                    queue.push(MergeCandidate { log_ratio, ids: (id, other), versions });
                }
            }
        });
    }

    /// A merged component has the neighbours of both, and stays apart from whatever either stayed apart from.
    fn join(&mut self, kept: ComponentId, gone: ComponentId) {
        self.versions.rise(kept);
        self.versions.rise(gone);
        self.entropy.join(kept, gone);
        let more = self.neighbours.remove(&gone).unwrap_or_default();
        for &other in &more {
            if let Some(list) = self.neighbours.get_mut(&other) {
                list.retain(|id| *id != gone);
                if other != kept && !list.contains(&kept) {
                    list.push(kept);
                }
            }
            if self.apart.contains(&(gone, other)) {
                self.apart.extend([(kept, other), (other, kept)]);
            }
        }
        let list = self.neighbours.get_mut(&kept).expect("it is still there");
        list.extend(more);
        list.retain(|id| *id != kept && *id != gone);
        list.sort_unstable();
        list.dedup();
    }
}

/// For each component those it may be merged with: those near it and those that overlap with it. If a has b, b has a.
fn neighbours(pool: &Pool, entropy: &LabelEntropy, family: &dyn Conjugate) -> BTreeMap<ComponentId, Vec<ComponentId>> {
    let ids: Vec<ComponentId> = pool.live().map(|(id, _)| id).filter(|id| entropy.knows(*id)).collect();
    if ids.len() <= ALL_PAIRS {
        let others = |&id: &ComponentId| (id, ids.iter().copied().filter(|other| *other != id).collect());
        return ids.iter().map(others).collect();
    }
    let totals = ids.iter().map(|id| pool.total(*id).expect("it is alive"));
    let sketches = Sketches::of(totals.map(|total| family.sketch(&total.stats)));
    let mut lists: Vec<Vec<usize>> = vec![Vec::new(); ids.len()];
    for ix in 0..sketches.len() {
        let near = sketches.nearest(sketches.point(ix), NEAREST, Some(ix));
        let overlapping = entropy.overlapping(ids[ix]).filter_map(|other| ids.binary_search(&other).ok());
        for other in near.into_iter().chain(overlapping) {
            lists[ix].push(other);
            lists[other].push(ix);
        }
    }
    let named = |(ix, mut list): (usize, Vec<usize>)| {
        list.sort_unstable();
        list.dedup();
        (ids[ix], list.into_iter().map(|other| ids[other]).collect())
    };
    lists.into_iter().enumerate().map(named).collect()
}
