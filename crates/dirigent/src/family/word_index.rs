//! Sets of documents, found by their words.
//!
//! Two sets overlap by the words that both have. A birth of a few documents has some dozens of
//! words, and most sets have few of them: going through the sets of each word meets just what there
//! is to add, where a look at every set for every word mostly finds nothing.

use std::borrow::Cow;

use super::multinomial::{Multinomial, with_rises};
use crate::special::log_gamma;
use crate::special::log_gammas::LogGammas;
use crate::stats::{Stats, Sums};

/// An index of sets, numbered from 0, for log overlaps of one set with all of them.
#[derive(Debug)]
pub struct WordIndex {
    smoothing: f64,
    total_smoothing: f64,
    /// For each word the sets that have it, in no order.
    sets_of: Vec<Vec<Posting>>,
    /// Nobody will ask about other words: they are left out.
    is_asked: Vec<bool>,
    /// The number of words of each set.
    totals: Vec<i64>,
    of_totals: LogGammas,
}

#[derive(Debug)]
struct Posting {
    set: u32,
    count: i64,
}

impl WordIndex {
    /// Of no sets yet; only the words of `asked` will be asked about.
    pub(super) fn new<'a>(family: &Multinomial, asked: impl Iterator<Item = &'a Stats>) -> Self {
        let mut is_asked = vec![false; family.n_words];
        for stats in asked {
            words_of(&entries(stats)).iter().for_each(|&(word, _)| is_asked[word as usize] = true);
        }
        Self {
            smoothing: family.smoothing,
            total_smoothing: family.total_smoothing(),
            sets_of: (0..family.n_words).map(|_| Vec::new()).collect(),
            is_asked,
            totals: Vec::new(),
            of_totals: LogGammas::new(family.total_smoothing()),
        }
    }

    /// A set of its own for these documents.
    pub fn push(&mut self, stats: &Stats) {
        let (set, entries) = (self.totals.len() as u32, entries(stats));
        for &(word, count) in words_of(&entries) {
            if self.is_asked[word as usize] {
                self.sets_of[word as usize].push(Posting { set, count });
            }
        }
        self.totals.push(total_of(&entries));
    }

    /// Puts documents into a set.
    pub fn add(&mut self, set_ix: usize, stats: &Stats) {
        let (set, entries) = (set_ix as u32, entries(stats));
        for &(word, count) in words_of(&entries) {
            let sets = &mut self.sets_of[word as usize];
            match sets.iter_mut().find(|posting| posting.set == set) {
                Some(posting) => posting.count += count,
                None if self.is_asked[word as usize] => sets.push(Posting { set, count }),
                None => {}
            }
        }
        self.totals[set_ix] += total_of(&entries);
    }

    /// The log overlap with every set: [`super::Conjugate::log_overlap`] is the slow twin.
    pub fn log_overlaps(&mut self, stats: &Stats) -> Vec<f64> {
        let mut overlaps = vec![0.0; self.totals.len()];
        let entries = entries(stats);
        with_rises(self.smoothing, |rises| {
            for &(word, count) in words_of(&entries) {
                for posting in &self.sets_of[word as usize] {
                    overlaps[posting.set as usize] += rises.of_both(posting.count, count);
                }
            }
        });
        let total = total_of(&entries);
        let (of_none, of_total) = (log_gamma(self.total_smoothing), self.of_totals.of(total));
        for (overlap, &other) in overlaps.iter_mut().zip(&self.totals) {
            *overlap = *overlap + self.of_totals.of(other) + of_total - self.of_totals.of(other + total) - of_none;
        }
        overlaps
    }
}

fn entries(stats: &Stats) -> Cow<'_, [(u32, i64)]> {
    match &stats.sums {
        Sums::Counts(entries) => Cow::Borrowed(entries),
        Sums::Dense(_) => Cow::Owned(stats.to_counts()),
    }
}

/// All entries but the last, the total.
fn words_of(entries: &[(u32, i64)]) -> &[(u32, i64)] {
    entries.split_last().map_or(&[], |(_, words)| words)
}

fn total_of(entries: &[(u32, i64)]) -> i64 {
    entries.last().map_or(0, |&(_, total)| total)
}

#[cfg(test)]
mod tests {
    use super::super::{Conjugate, Family, laws, table_of_rows};
    use super::*;

    #[test]
    fn overlaps_by_words_are_those_of_the_family() {
        let family = Multinomial { smoothing: 0.3, n_words: 40 };
        let rows = laws::draw_rows(&family, 60, 8);
        let table = table_of_rows(family.n_words, &rows);
        let sum_of = |rows: std::ops::Range<usize>| {
            let mut stats = Stats::empty_counts();
            rows.for_each(|row_ix| family.add_row(table.row(row_ix), &mut stats));
            stats
        };
        let mut sets: Vec<Stats> = (0..10).map(|ix| sum_of(4 * ix..4 * ix + 4)).collect();
        let asked = [sum_of(40..42), sum_of(42..43), Stats::empty_counts()];
        let mut index = WordIndex::new(&family, asked.iter());
        sets.iter().for_each(|set| index.push(set));
        sets[3].add(&asked[0]);
        index.add(3, &asked[0]);
        for birth in &asked {
            for (overlap, set) in index.log_overlaps(birth).into_iter().zip(&sets) {
                let apart = family.log_normalizer(set) + family.log_normalizer(birth) - family.log_normalizer_empty();
                laws::assert_close(overlap, family.log_overlap(set, birth, apart), "overlap by words");
            }
        }
    }
}
