//! How lists of statistics lie on the wire: ids and counts as small whole numbers, sums as they
//! are, sparse counts by the gaps between words.
//!
//! Messages are plain serde types. A field with statistics names an adapter of this module:
//! `#[serde(with = "wire::named")]` for a list of names with something [`Packed`] each,
//! `#[serde(with = "wire::one")]` for a single one.
//! Whether statistics are of the model's family is not decided here: receivers check it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::halves::{Halves, Part};
use crate::method::consolidated::message::{ComponentSnapshot, SweepOverlap};
use crate::stats::{Stats, Sums};

/// What is packed in lists.
pub(crate) trait Packed: Sized + 'static {
    /// A list of them on the wire.
    type List: Serialize + DeserializeOwned;

    fn pack<'a>(items: impl Iterator<Item = &'a Self>) -> Self::List;

    /// `None` if the list contradicts itself.
    fn unpack(list: Self::List) -> Option<Vec<Self>>;
}

impl Packed for Stats {
    type List = StatsList;

    fn pack<'a>(items: impl Iterator<Item = &'a Self>) -> StatsList {
        StatsList::pack(&items.collect::<Vec<_>>())
    }

    fn unpack(list: StatsList) -> Option<Vec<Self>> {
        list.unpack()
    }
}

/// Left and right of each, one after another.
impl Packed for [Stats; 2] {
    type List = StatsList;

    fn pack<'a>(items: impl Iterator<Item = &'a Self>) -> StatsList {
        StatsList::pack(&items.flatten().collect::<Vec<_>>())
    }

    fn unpack(list: StatsList) -> Option<Vec<Self>> {
        let mut stats = list.unpack()?.into_iter();
        let n_pairs = stats.len().is_multiple_of(2).then_some(stats.len() / 2)?;
        (0..n_pairs).map(|_| Some([stats.next()?, stats.next()?])).collect()
    }
}

impl Packed for Part {
    type List = PartsList;

    fn pack<'a>(items: impl Iterator<Item = &'a Self>) -> PartsList {
        PartsList::pack(items)
    }

    fn unpack(list: PartsList) -> Option<Vec<Self>> {
        list.unpack()
    }
}

/// An error of what was read.
pub(crate) fn invalid<E: de::Error>(what: &str) -> E {
    E::custom(what)
}

/// The adapter of a list with names: all names, then what they stand for.
pub(crate) mod named {
    use super::*;

    pub(crate) fn serialize<N, T, S>(list: &[(N, T)], serializer: S) -> Result<S::Ok, S::Error>
    where
        N: Serialize,
        T: Packed,
        S: Serializer,
    {
        let names: Vec<&N> = list.iter().map(|(name, _)| name).collect();
        (names, T::pack(list.iter().map(|(_, item)| item))).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, N, T, D>(deserializer: D) -> Result<Vec<(N, T)>, D::Error>
    where
        N: Deserialize<'de>,
        T: Packed,
        D: Deserializer<'de>,
    {
        let (names, list) = <(Vec<N>, T::List)>::deserialize(deserializer)?;
        let items = T::unpack(list).filter(|items| items.len() == names.len());
        let items = items.ok_or_else(|| invalid("names and statistics that do not match"))?;
        Ok(names.into_iter().zip(items).collect())
    }
}

/// The adapter of a single item: a list of one.
pub(crate) mod one {
    use super::*;

    pub(crate) fn serialize<T: Packed, S: Serializer>(item: &T, serializer: S) -> Result<S::Ok, S::Error> {
        T::pack(std::iter::once(item)).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Packed, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let items = T::unpack(T::List::deserialize(deserializer)?).unwrap_or_default();
        let [item] = <[T; 1]>::try_from(items).map_err(|_| invalid("not one item"))?;
        Ok(item)
    }
}

/// Whether statistics are counts, which are worth compressing.
pub(crate) fn is_sparse(stats: &Stats) -> bool {
    matches!(stats.sums, Sums::Counts(_))
}

/// A list of statistics.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StatsList {
    counts: Vec<i64>,
    sums: SumsList,
}

#[derive(Debug, Serialize, Deserialize)]
enum SumsList {
    /// All coordinates of all, one after another.
    Dense(Vec<f64>),
    /// Entries of each: (gap to the word before, count).
    Counts(Vec<Vec<(u32, i64)>>),
    /// The means of all, one after another, as multiples of a step.
    Means {
        /// The step.
        step: f64,
        /// The multiples.
        multiples: Vec<i64>,
    },
}

impl StatsList {
    /// Packs statistics of one family; if any is sparse, all are.
    pub(crate) fn pack(list: &[&Stats]) -> Self {
        let sums = if list.iter().any(|stats| is_sparse(stats)) {
            SumsList::Counts(list.iter().map(|stats| gaps(&stats.to_counts())).collect())
        } else {
            SumsList::Dense(list.iter().flat_map(|stats| stats.dense().iter().copied()).collect())
        };
        Self { counts: list.iter().map(|stats| stats.count).collect(), sums }
    }

    /// Packs dense statistics with their means rounded to multiples of a step, counts exact. The
    /// value itself is rounded, so a receiver never drifts.
    pub(crate) fn pack_rounded(list: &[&Stats], step: f64) -> Self {
        let multiples = list.iter().flat_map(|stats| {
            let scale = 1.0 / (stats.count as f64 * step);
            stats.dense().iter().map(move |sum| nearest(sum * scale))
        });
        let sums = SumsList::Means { step, multiples: multiples.collect() };
        Self { counts: list.iter().map(|stats| stats.count).collect(), sums }
    }

    /// Unpacks; `None` if the sums cannot be divided among the counts.
    pub(crate) fn unpack(self) -> Option<Vec<Stats>> {
        let n_items = self.counts.len();
        let length = |n_sums: usize| {
            let length = n_sums.checked_div(n_items).unwrap_or(0);
            (length * n_items == n_sums && (length > 0 || n_items == 0)).then_some(length.max(1))
        };
        let with_sums = |(count, sums)| Stats { count, sums };
        match self.sums {
            SumsList::Dense(sums) => {
                let chunks = sums.chunks_exact(length(sums.len())?).map(|chunk| Sums::Dense(chunk.into()));
                Some(self.counts.into_iter().zip(chunks).map(with_sums).collect())
            }
            SumsList::Means { step, multiples } => {
                let means = multiples.chunks_exact(length(multiples.len()).filter(|_| step.is_finite())?);
                let sums_of = |(count, means): (i64, &[i64])| {
                    let scale = count as f64 * step;
                    Stats { count, sums: Sums::Dense(means.iter().map(|multiple| *multiple as f64 * scale).collect()) }
                };
                Some(self.counts.into_iter().zip(means).map(sums_of).collect())
            }
            SumsList::Counts(lists) => {
                if lists.len() != n_items {
                    return None;
                }
                let sums: Option<Vec<Sums>> = lists.iter().map(|gaps| words(gaps).map(Sums::Counts)).collect();
                Some(self.counts.into_iter().zip(sums?).map(with_sums).collect())
            }
        }
    }
}

/// A list of contributions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartsList {
    /// For each 0 if it is whole, else 1 more than the generation of its halves; nothing if all are
    /// whole.
    generations: Vec<u32>,
    /// Of a whole one its statistics, of halves left and right.
    stats: StatsList,
}

impl PartsList {
    pub(crate) fn pack<'a>(parts: impl Iterator<Item = &'a Part>) -> Self {
        let (mut generations, mut stats) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Whole(whole) => {
                    generations.push(0);
                    stats.push(whole);
                }
                Part::Halved { generation, halves } => {
                    generations.push(generation + 1);
                    stats.extend(halves);
                }
            }
        }
        if generations.iter().all(|generation| *generation == 0) {
            generations.clear();
        }
        Self { generations, stats: StatsList::pack(&stats) }
    }

    /// Unpacks; `None` if the list does not fit.
    pub(crate) fn unpack(self) -> Option<Vec<Part>> {
        let mut stats = self.stats.unpack()?.into_iter();
        if self.generations.is_empty() {
            return Some(stats.map(Part::Whole).collect());
        }
        let part = |generation: u32| match generation.checked_sub(1) {
            None => Some(Part::Whole(stats.next()?)),
            Some(generation) => Some(Part::Halved { generation, halves: [stats.next()?, stats.next()?] }),
        };
        let parts: Option<Vec<Part>> = self.generations.into_iter().map(part).collect();
        parts.filter(|_| stats.next().is_none())
    }
}

/// The halves of a list of components.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HalvesList {
    /// For each 0 if it rests, else 1 more than twice the generation, and 1 more again if its
    /// halves are known; nothing if all rest.
    heads: Vec<u64>,
    /// The halves that are known, left and right.
    known: KnownHalves,
}

#[derive(Debug, Serialize, Deserialize)]
enum KnownHalves {
    /// As they are.
    Exact(StatsList),
    /// By the difference of their means; where not all rows are in a half, by the differences to
    /// the mean of the component.
    Differences {
        /// The step.
        step: f64,
        /// Rows of each half.
        counts: Vec<i64>,
        /// The multiples.
        multiples: Vec<i64>,
    },
}

/// The halves' means may be rounded so much coarser than those of the components: nothing but the
/// next sweep's halves depends on them.
const COARSER: f64 = 64.0;

impl HalvesList {
    pub(crate) fn pack(told: &[&ComponentSnapshot], step: Option<f64>) -> Self {
        let head = |told: &&ComponentSnapshot| match &told.halves {
            Halves::Resting => 0,
            Halves::Fresh { generation } => 1 + 2 * u64::from(*generation),
            Halves::Known { generation, .. } => 2 + 2 * u64::from(*generation),
        };
        let known: Vec<(&Stats, &[Stats; 2])> = told
            .iter()
            .filter_map(|told| match &told.halves {
                Halves::Known { stats, .. } => Some((&told.total, stats)),
                _ => None,
            })
            .collect();
        let known = match step.map(|step| step * COARSER) {
            None => {
                let halves: Vec<&Stats> = known.iter().flat_map(|(_, halves)| halves.iter()).collect();
                KnownHalves::Exact(StatsList::pack(&halves))
            }
            Some(step) => {
                let mut multiples = Vec::new();
                known.iter().for_each(|(total, halves)| push_differences(total, halves, step, &mut multiples));
                let counts = known.iter().flat_map(|(_, halves)| halves.iter().map(|half| half.count)).collect();
                KnownHalves::Differences { step, counts, multiples }
            }
        };
        let mut heads: Vec<u64> = told.iter().map(head).collect();
        if heads.iter().all(|head| *head == 0) {
            heads.clear();
        }
        Self { heads, known }
    }

    /// Unpacks the halves of these totals; `None` if the list does not fit.
    pub(crate) fn unpack(mut self, totals: &[Stats]) -> Option<Vec<Halves>> {
        if self.heads.is_empty() {
            self.heads.resize(totals.len(), 0);
        }
        if self.heads.len() != totals.len() {
            return None;
        }
        let is_known = |head: u64| head > 0 && head.is_multiple_of(2);
        let of_known: Vec<&Stats> =
            totals.iter().zip(&self.heads).filter(|(_, head)| is_known(**head)).map(|(total, _)| total).collect();
        let stats = match self.known {
            KnownHalves::Exact(list) => list.unpack()?,
            KnownHalves::Differences { step, counts, multiples } => differences(&of_known, step, &counts, &multiples)?,
        };
        if stats.len() != 2 * of_known.len() {
            return None;
        }
        let mut stats = stats.into_iter();
        let halves = |head: u64| {
            let generation = u32::try_from(head.saturating_sub(1) / 2).ok()?;
            Some(match head {
                0 => Halves::Resting,
                head if is_known(head) => Halves::Known { generation, stats: [stats.next()?, stats.next()?] },
                _ => Halves::Fresh { generation },
            })
        };
        self.heads.into_iter().map(halves).collect()
    }
}

/// The halves by the differences of their means, in multiples of a step.
fn push_differences(total: &Stats, halves: &[Stats; 2], step: f64, multiples: &mut Vec<i64>) {
    let [left, right] = halves;
    let mut push = |a: &Stats, b: &Stats| {
        let (of_a, of_b) = (1.0 / (a.count as f64 * step), 1.0 / (b.count as f64 * step));
        let difference = |(a, b): (&f64, &f64)| nearest(a * of_a - b * of_b);
        multiples.extend(a.dense().iter().zip(b.dense()).map(difference));
    };
    match Likeness::of(total.count, [left.count, right.count]) {
        Likeness::One => {}
        Likeness::Complete => push(right, left),
        Likeness::Partial => halves.iter().filter(|half| half.count > 0).for_each(|half| push(half, total)),
    }
}

/// The nearest whole number, ties away from zero: without the call that rounding is on processors
/// of no more than the common instructions.
#[inline]
fn nearest(x: f64) -> i64 {
    (x + 0.5f64.copysign(x)) as i64
}

/// What the counts say of a component and its halves.
enum Likeness {
    /// One half is everything.
    One,
    /// The halves together are everything: one difference says both.
    Complete,
    /// Some rows are in no half.
    Partial,
}

impl Likeness {
    fn of(total: i64, [left, right]: [i64; 2]) -> Self {
        match (left, right) {
            (0, right) if right == total => Self::One,
            (left, 0) if left == total => Self::One,
            (left, right) if left.checked_add(right) == Some(total) => Self::Complete,
            _ => Self::Partial,
        }
    }
}

/// Halves from the differences of their means.
fn differences(totals: &[&Stats], step: f64, counts: &[i64], multiples: &[i64]) -> Option<Vec<Stats>> {
    if counts.len() != 2 * totals.len() || !step.is_finite() {
        return None;
    }
    // totals of one list are of one length
    let stats_len = match totals.first().map(|total| &total.sums) {
        Some(Sums::Dense(sums)) => sums.len(),
        _ => 0,
    };
    let mut multiples = multiples.chunks_exact(stats_len.max(1));
    let mut halves = Vec::with_capacity(counts.len());
    for (total, &[left, right]) in totals.iter().zip(counts.as_chunks::<2>().0) {
        let Sums::Dense(sums) = &total.sums else { return None };
        if total.count <= 0 || left < 0 || right < 0 {
            return None;
        }
        let of_total = 1.0 / total.count as f64;
        // a half of `count` rows whose mean is this many times the differences from the component's
        let half = |count: i64, times: f64, multiples: &[i64]| {
            let sum = |(sum, multiple): (&f64, &i64)| count as f64 * (sum * of_total + times * *multiple as f64 * step);
            Stats { count, sums: Sums::Dense(sums.iter().zip(multiples).map(sum).collect()) }
        };
        match Likeness::of(total.count, [left, right]) {
            Likeness::One => halves.extend(
                [left, right].map(|count| if count > 0 { (*total).clone() } else { Stats::empty_dense(stats_len) }),
            ),
            Likeness::Complete => {
                let multiples = multiples.next()?;
                halves.push(half(left, -(right as f64) * of_total, multiples));
                halves.push(half(right, left as f64 * of_total, multiples));
            }
            Likeness::Partial => {
                for count in [left, right] {
                    halves.push(match count {
                        0 => Stats::empty_dense(stats_len),
                        count => half(count, 1.0, multiples.next()?),
                    });
                }
            }
        }
    }
    (multiples.next().is_none() && multiples.remainder().is_empty()).then_some(halves)
}

/// How far components overlap.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OverlapList {
    /// For each pair of places (low, high) the gap of high (high − 1)/2 + low, which numbers all
    /// pairs, to the next number after the pair before.
    pair_gaps: Vec<u64>,
    /// √−L of each, in quarters.
    pair_roots: Vec<u32>,
    /// For each component with halves the gap of its place to the next after the one before.
    half_gaps: Vec<u32>,
    /// √−L of each, in quarters.
    half_roots: Vec<u32>,
    log_certainty: f32,
}

/// Roots are said in units of one over this.
const ROOT: f32 = 4.0;

fn to_root(log_share: f32) -> u32 {
    ((-log_share).sqrt() * ROOT + 0.5) as u32
}

fn from_root(root: u32) -> f32 {
    let root = root as f32 / ROOT;
    -(root * root)
}

impl OverlapList {
    pub(crate) fn pack(overlap: &SweepOverlap) -> Self {
        let mut next = 0;
        let pair_gap = |&(low, high, _): &(u32, u32, f32)| {
            let number = first_pair_of(high) + u64::from(low);
            let gap = number - next;
            next = number + 1;
            gap
        };
        let pair_gaps = overlap.pairs.iter().map(pair_gap).collect();
        let mut next = 0;
        let half_gap = |&(place, _): &(u32, f32)| {
            let gap = place - next;
            next = place + 1;
            gap
        };
        Self {
            pair_gaps,
            pair_roots: overlap.pairs.iter().map(|(.., log_share)| to_root(*log_share)).collect(),
            half_gaps: overlap.halves.iter().map(half_gap).collect(),
            half_roots: overlap.halves.iter().map(|(_, log_share)| to_root(*log_share)).collect(),
            log_certainty: overlap.log_certainty,
        }
    }

    /// Unpacks; `None` if there are not as many numbers as names, or places beyond all snapshots.
    pub(crate) fn unpack(self) -> Option<SweepOverlap> {
        if self.pair_gaps.len() != self.pair_roots.len() || self.half_gaps.len() != self.half_roots.len() {
            return None;
        }
        let mut next = 0u64;
        let pair = |(gap, root): (&u64, &u32)| {
            let number = next.checked_add(*gap)?;
            next = number.checked_add(1)?;
            let high = larger_place(number)?;
            Some(((number - first_pair_of(high)) as u32, high, from_root(*root)))
        };
        let pairs = self.pair_gaps.iter().zip(&self.pair_roots).map(pair).collect::<Option<_>>()?;
        let mut next = 0u32;
        let half = |(gap, root): (&u32, &u32)| {
            let place = next.checked_add(*gap)?;
            next = place.checked_add(1)?;
            Some((place, from_root(*root)))
        };
        let halves = self.half_gaps.iter().zip(&self.half_roots).map(half).collect::<Option<_>>()?;
        Some(SweepOverlap { pairs, halves, log_certainty: self.log_certainty })
    }
}

impl Serialize for SweepOverlap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        OverlapList::pack(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SweepOverlap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OverlapList::deserialize(deserializer)?.unpack().ok_or_else(|| invalid("overlaps of nothing"))
    }
}

/// The number of the first pair with this larger place.
fn first_pair_of(high: u32) -> u64 {
    u64::from(high) * u64::from(high).saturating_sub(1) / 2
}

/// The larger place of a pair with this number: the largest whose first pair is not beyond it.
fn larger_place(number: u64) -> Option<u32> {
    let high = u32::try_from(number.checked_mul(8)?.checked_add(1)?.isqrt().div_ceil(2)).ok()?;
    (high > 0).then_some(high)
}

fn gaps(entries: &[(u32, i64)]) -> Vec<(u32, i64)> {
    let mut next = 0;
    let gap = |&(word, count): &(u32, i64)| {
        let gap = word - next;
        next = word + 1;
        (gap, count)
    };
    entries.iter().map(gap).collect()
}

fn words(gaps: &[(u32, i64)]) -> Option<Vec<(u32, i64)>> {
    let mut next: u32 = 0;
    let word = |&(gap, count): &(u32, i64)| {
        let word = next.checked_add(gap)?;
        next = word.checked_add(1)?;
        (count != 0).then_some((word, count))
    };
    gaps.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_means_are_within_half_a_step_and_counts_are_exact() {
        let list = [(3, [1.0, -7.7]), (1_000_000, [12_345_678.9, 0.0])]
            .map(|(count, sums)| Stats { count, sums: Sums::Dense(sums.into()) });
        let list = list.each_ref();
        let step = 0.001;
        let back = StatsList::pack_rounded(&list, step).unpack().unwrap();
        for (before, after) in list.iter().zip(&back) {
            assert_eq!(before.count, after.count);
            let gaps = before.dense().iter().zip(after.dense()).map(|(a, b)| (a - b).abs() / before.count as f64);
            assert!(gaps.into_iter().all(|gap| gap <= 0.5001 * step));
        }
        let again = StatsList::pack_rounded(&back.iter().collect::<Vec<_>>(), step).unpack().unwrap();
        assert_eq!(again, back, "rounding what is rounded changes nothing");
        let mut list = StatsList::pack_rounded(&list, step);
        list.counts.push(1);
        list.counts.push(1);
        list.counts.push(1);
        assert!(list.unpack().is_none(), "four sums for five counts");
    }

    #[test]
    fn overlaps_survive_in_two_bytes_each_to_within_what_they_vary_by() {
        let log_share = |low: u32, high: u32| -0.5 - 0.37 * (low + 5 * high) as f32;
        let pairs = (1..40u32).flat_map(|high| (0..high).step_by(7).map(move |low| (low, high, log_share(low, high))));
        let halves = (0..40).step_by(3).map(|place| (place, log_share(place, place)));
        let overlap = SweepOverlap { pairs: pairs.collect(), halves: halves.collect(), log_certainty: -1234.5 };
        let list = OverlapList::pack(&overlap);
        let n_bytes = postcard::to_stdvec(&list).unwrap().len();
        assert!(n_bytes <= 2 * (overlap.pairs.len() + overlap.halves.len()) + 10, "{n_bytes} bytes");
        let back = list.unpack().unwrap();
        let is_near = |a: f32, b: f32| (a - b).abs() <= 0.25 * (-a).sqrt() + 1.0 / 64.0;
        assert_eq!(overlap.pairs.len(), back.pairs.len());
        for (before, after) in overlap.pairs.iter().zip(&back.pairs) {
            assert_eq!((before.0, before.1), (after.0, after.1));
            assert!(is_near(before.2, after.2), "{before:?} {after:?}");
        }
        let halves = overlap.halves.iter().zip(&back.halves);
        assert!(halves.into_iter().all(|(before, after)| before.0 == after.0 && is_near(before.1, after.1)));
        assert_eq!(OverlapList::pack(&back).unpack().unwrap(), back, "rounding what is rounded changes nothing");
        let beyond = OverlapList { pair_gaps: vec![u64::MAX], pair_roots: vec![1], ..OverlapList::pack(&back) };
        assert!(beyond.unpack().is_none());
    }

    #[test]
    fn pairs_are_numbered_by_their_larger_place() {
        let pairs = (1..200u32).chain([1 << 30]).flat_map(|high| [0, high / 2, high - 1].map(|low| (low, high)));
        for (low, high) in pairs {
            assert_eq!(larger_place(first_pair_of(high) + u64::from(low)), Some(high));
        }
    }

    #[test]
    fn halves_survive_to_within_half_a_step() {
        let dense = |count, sums: [f64; 2]| Stats { count, sums: Sums::Dense(sums.into()) };
        let told = |total: Stats, left, right| ComponentSnapshot {
            total,
            halves: Halves::Known { generation: 1, stats: [left, right] },
        };
        let list = [
            told(dense(1_000_001, [5.0e6, -2.0e6]), dense(1_000_000, [5.0e6, -2.0e6]), dense(1, [30.0, 0.5])),
            told(dense(10, [1.0, 2.0]), dense(4, [2.0, 1.0]), dense(5, [-1.0, 1.5])),
            told(dense(3, [1.0, 2.0]), dense(3, [1.0, 2.0]), Stats::empty_dense(2)),
            told(dense(3, [1.0, 2.0]), dense(2, [1.0, 2.0]), Stats::empty_dense(2)),
            ComponentSnapshot { total: dense(1, [0.0, 0.0]), halves: Halves::Fresh { generation: 4 } },
        ];
        let (told, step) = (list.iter().collect::<Vec<_>>(), 1e-3);
        let totals: Vec<Stats> = list.iter().map(|told| told.total.clone()).collect();
        let back = HalvesList::pack(&told, Some(step)).unpack(&totals).unwrap();
        for (before, after) in list.iter().zip(&back) {
            assert_eq!(before.halves.generation(), after.generation());
            let (Halves::Known { stats: before, .. }, Halves::Known { stats: after, .. }) = (&before.halves, after)
            else {
                continue;
            };
            for (before, after) in before.iter().zip(after) {
                assert_eq!(before.count, after.count);
                let gaps = before.dense().iter().zip(after.dense()).map(|(a, b)| (a - b).abs());
                assert!(gaps.into_iter().all(|gap| gap <= 0.51 * COARSER * step * before.count as f64));
            }
        }
        let exact = HalvesList::pack(&told, None).unpack(&totals).unwrap();
        assert!(exact.iter().zip(&list).all(|(halves, told)| *halves == told.halves));
        assert!(HalvesList::pack(&told, Some(step)).unpack(&totals[1..]).is_none());
    }

    #[test]
    fn sparse_counts_survive_and_nonsense_does_not() {
        let entries = vec![(0, 3), (1, -2), (7, 1)];
        assert_eq!(words(&gaps(&entries)), Some(entries.clone()));
        assert_eq!(words(&[(u32::MAX, 1), (5, 1)]), None, "an overflow");
        assert_eq!(words(&[(0, 0)]), None, "a zero that should not be there");
    }
}
