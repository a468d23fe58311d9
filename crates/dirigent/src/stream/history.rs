//! What is kept of batches: their pieces, without rows.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::consolidate::ComponentId;
use crate::error::{InputError, Result};
use crate::family::Conjugate;
use crate::stats::{Stats, Sums};

/// Batches that are kept apart. Older ones are added up in pairs, the narrowest pair first, so memory does not grow with the stream.
const MOST_BATCHES: usize = 32;
/// The newest batches, which are not added up.
const NEWEST: usize = 16;

/// How earlier batches lose their weight.
///
/// ```
/// use dirigent::Forget;
///
/// assert_eq!("batches=24".parse(), Ok(Forget::Batches(24)));
/// assert_eq!("half_life=2.5".parse(), Ok(Forget::HalfLife(2.5)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Forget {
    /// Only so many batches count, the new one included. A batch that leaves is removed exactly.
    Batches(u64),
    /// The weight of a batch halves with so many further batches. Its rows are rounded to whole numbers.
    HalfLife(f64),
}

impl Forget {
    const EXPECTED: &str = "expected batches=B with B of at least 1, or half_life=H with H above 0";
}

impl FromStr for Forget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once('=') {
            Some(("batches", number)) => number.parse().ok().filter(|&n| n > 0).map(Self::Batches),
            Some(("half_life", number)) => {
                number.parse().ok().filter(|h: &f64| *h > 0.0 && h.is_finite()).map(Self::HalfLife)
            }
            _ => None,
        };
        parsed.ok_or_else(|| Self::EXPECTED.to_owned())
    }
}

/// A component of a stream as the pool names it: a stream has one epoch.
pub(super) fn id_of(number: u64) -> ComponentId {
    ComponentId { epoch: 0, number }
}

/// What one batch contributes to one component.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) component: u64,
    pub(crate) stats: Stats,
}

/// The pieces of a batch, or of several that follow one another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PieceBatch {
    /// The first and the last batch, counted from 0.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// What a row of it counts.
    pub(crate) weight: f64,
    /// By component, rising.
    pub(crate) pieces: Vec<Piece>,
}

/// The pieces of all batches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct History {
    /// Oldest first.
    pub(crate) batches: Vec<PieceBatch>,
    /// Batches that there have been.
    pub(crate) n_batches: u64,
    /// Above all numbers of components that have been used.
    pub(crate) next_component: u64,
}

impl PieceBatch {
    /// A batch with full weight. `components` are its contributions by number.
    pub(crate) fn new(number: u64, components: impl IntoIterator<Item = (u64, Stats)>) -> Self {
        let mut pieces: Vec<Piece> = components
            .into_iter()
            .filter(|(_, stats)| stats.count > 0)
            .map(|(component, stats)| Piece { component, stats })
            .collect();
        pieces.sort_by_key(|piece| piece.component);
        Self { first: number, last: number, weight: 1.0, pieces }
    }

    /// The pieces as they count, in a family.
    pub(crate) fn weighted(&self, family: &dyn Conjugate) -> impl Iterator<Item = (u64, Stats)> + '_ {
        let has_counts = family.has_counts();
        self.pieces
            .iter()
            .filter_map(move |piece| Some((piece.component, weighted(&piece.stats, self.weight, has_counts)?)))
    }

    /// Moves every piece to the component that has it now.
    pub(crate) fn rename(&mut self, owner_of: impl Fn(u64) -> u64) {
        let mut renamed: BTreeMap<u64, Stats> = BTreeMap::new();
        for Piece { component, stats } in std::mem::take(&mut self.pieces) {
            add_to(&mut renamed, owner_of(component), stats);
        }
        self.pieces = renamed.into_iter().map(|(component, stats)| Piece { component, stats }).collect();
    }

    /// Adds the batches that follow.
    fn absorb(&mut self, next: Self, family: &dyn Conjugate) {
        let mut sums: BTreeMap<u64, Stats> =
            next.pieces.into_iter().map(|piece| (piece.component, piece.stats)).collect();
        // the older batch counts as the newer one does from now on
        let weight = self.weight / next.weight;
        for piece in &self.pieces {
            if let Some(stats) = weighted(&piece.stats, weight, family.has_counts()) {
                add_to(&mut sums, piece.component, stats);
            }
        }
        self.pieces = sums.into_iter().map(|(component, stats)| Piece { component, stats }).collect();
        (self.last, self.weight) = (next.last, next.weight);
    }
}

fn add_to(sums: &mut BTreeMap<u64, Stats>, component: u64, stats: Stats) {
    match sums.get_mut(&component) {
        Some(sum) => sum.add(&stats),
        None => drop(sums.insert(component, stats)),
    }
}

/// Statistics that count as `weight` times as many rows: a whole number of rows, with the same means. `None` if no row is left.
fn weighted(stats: &Stats, weight: f64, has_counts: bool) -> Option<Stats> {
    if weight == 1.0 {
        return Some(stats.clone());
    }
    let count = (stats.count as f64 * weight).round() as i64;
    if count < 1 {
        return None;
    }
    let share = count as f64 / stats.count as f64;
    let sums = match &stats.sums {
        Sums::Dense(sums) => Sums::Dense(sums.iter().map(|sum| sum * share).collect()),
        Sums::Counts(entries) => {
            let mut scaled: Vec<(u32, i64)> =
                entries.iter().map(|&(ix, count)| (ix, (count as f64 * share).round() as i64)).collect();
            // the last coordinate is the total of the others
            if has_counts && let Some((total, words)) = scaled.split_last_mut() {
                total.1 = words.iter().map(|(_, count)| count).sum();
            }
            scaled.retain(|(_, count)| *count > 0);
            Sums::Counts(scaled)
        }
    };
    Some(Stats { count, sums })
}

impl History {
    /// That of a model whose components are one batch.
    pub(crate) fn begin(ids: &[u64], components: &[Stats]) -> Self {
        let numbered = ids.iter().copied().zip(components.iter().cloned());
        let next_component = ids.iter().max().map_or(0, |last| last + 1);
        Self { batches: vec![PieceBatch::new(0, numbered)], n_batches: 1, next_component }
    }

    /// Takes weight from earlier batches before the next one comes.
    pub(crate) fn forget(&mut self, forget: Option<Forget>) {
        match forget {
            None => {}
            Some(Forget::Batches(n)) => {
                let oldest = (self.n_batches + 1).saturating_sub(n);
                self.batches.retain(|batch| batch.last >= oldest);
            }
            Some(Forget::HalfLife(half_life)) => {
                let factor = libm::exp2(-1.0 / half_life);
                self.batches.iter_mut().for_each(|batch| batch.weight *= factor);
                let is_left =
                    |batch: &PieceBatch| batch.pieces.iter().any(|p| p.stats.count as f64 * batch.weight >= 0.5);
                self.batches.retain(is_left);
            }
        }
    }

    /// Adds the newest batch.
    pub(crate) fn push(&mut self, pieces: impl IntoIterator<Item = (u64, Stats)>) {
        self.batches.push(PieceBatch::new(self.n_batches, pieces));
        self.n_batches += 1;
    }

    /// Adds up old batches if there are many, unless batches leave one by one.
    pub(crate) fn consolidate(&mut self, forget: Option<Forget>, family: &dyn Conjugate) {
        while self.batches.len() > MOST_BATCHES && !matches!(forget, Some(Forget::Batches(_))) {
            let span = |pair: &[PieceBatch]| pair[1].last - pair[0].first;
            let old = &self.batches[..self.batches.len() - NEWEST];
            let narrowest = (0..old.len() - 1).min_by_key(|&ix| span(&old[ix..ix + 2])).expect("there are old batches");
            let next = self.batches.remove(narrowest + 1);
            self.batches[narrowest].absorb(next, family);
        }
    }

    /// Every component with rows: the sum of its pieces, oldest first.
    pub(crate) fn totals(&self, family: &dyn Conjugate) -> BTreeMap<u64, Stats> {
        let mut totals = BTreeMap::new();
        for batch in &self.batches {
            batch.weighted(family).for_each(|(component, stats)| add_to(&mut totals, component, stats));
        }
        totals
    }

    /// Rejects what cannot be a history of components with these statistics, by number. It may come from anywhere.
    pub(crate) fn check(&self, family: &dyn Conjugate) -> Result<()> {
        let wrong = |problem: &str| Err(InputError::new(problem).into());
        let ordered = self.batches.is_sorted_by(|a, b| a.last < b.first);
        if !ordered || self.batches.iter().any(|batch| batch.first > batch.last || batch.last >= self.n_batches) {
            return wrong("batches are not in order");
        }
        for batch in &self.batches {
            if !(batch.weight > 0.0 && batch.weight <= 1.0) {
                return wrong("the weight of a batch is not above 0 and at most 1");
            }
            let rising = batch.pieces.is_sorted_by(|a, b| a.component < b.component);
            if !rising || batch.pieces.iter().any(|piece| piece.component >= self.next_component) {
                return wrong("components of a batch are not in order");
            }
            if !batch.pieces.iter().all(|piece| piece.stats.count > 0 && family.could_be(&piece.stats)) {
                return wrong("a piece has sums that no rows have");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{GaussianFixed, Multinomial};

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.0], offset: vec![0.0] }
    }

    fn stats(count: i64, sum: f64) -> Stats {
        Stats { count, sums: Sums::Dense([sum].into()) }
    }

    fn filled(n_batches: u64) -> History {
        let mut history = History::begin(&[0, 1], &[stats(4, 2.0), stats(2, -2.0)]);
        (1..n_batches).for_each(|batch| history.push([(batch % 3, stats(3, batch as f64)), (7, stats(1, 0.5))]));
        history.next_component = 8;
        history
    }

    #[test]
    fn a_batch_that_leaves_was_never_there() {
        let (mut all, mut late) = (filled(6), History { batches: Vec::new(), n_batches: 3, next_component: 8 });
        all.forget(Some(Forget::Batches(4)));
        (3..6).for_each(|batch| late.push([(batch % 3, stats(3, batch as f64)), (7, stats(1, 0.5))]));
        assert_eq!(all, late);
        assert_eq!(all.totals(&family()), late.totals(&family()));
    }

    #[test]
    fn batches_that_are_added_up_change_no_total_and_are_bounded() {
        let (mut history, family) = (filled(500), family());
        let before = history.totals(&family);
        history.consolidate(None, &family);
        let after = history.totals(&family);
        assert_eq!(history.batches.len(), MOST_BATCHES);
        assert!(before.iter().zip(&after).all(|(a, b)| a.0 == b.0 && a.1.count == b.1.count));
        let sums = |totals: &BTreeMap<u64, Stats>| totals.values().map(|stats| stats.dense()[0]).collect::<Vec<_>>();
        assert!(sums(&before).iter().zip(sums(&after)).all(|(a, b)| (a - b).abs() < 1e-9));
        let widths: Vec<u64> = history.batches.iter().map(|batch| batch.last - batch.first).collect();
        assert!(widths[widths.len() - NEWEST..].iter().all(|width| *width == 0), "{widths:?}");
        history.check(&family).unwrap();
    }

    #[test]
    fn a_half_life_halves_rows_and_keeps_means() {
        let (mut history, family) = (filled(1), family());
        history.forget(Some(Forget::HalfLife(1.0)));
        assert_eq!(history.totals(&family), BTreeMap::from([(0, stats(2, 1.0)), (1, stats(1, -1.0))]));
        (0..4).for_each(|_| history.forget(Some(Forget::HalfLife(1.0))));
        assert!(history.totals(&family).is_empty() && history.batches.is_empty());
    }

    #[test]
    fn counts_that_fade_keep_their_total() {
        let family = Multinomial { smoothing: 1.0, n_words: 3 };
        let words = Stats { count: 5, sums: Sums::Counts(vec![(0, 7), (2, 2), (3, 9)]) };
        let mut history = History::begin(&[0], &[words]);
        history.forget(Some(Forget::HalfLife(1.0)));
        let totals = history.totals(&family);
        // 3 of 5 rows: 4.2 and 1.2 words
        assert_eq!(totals[&0], Stats { count: 3, sums: Sums::Counts(vec![(0, 4), (2, 1), (3, 5)]) });
    }
}
