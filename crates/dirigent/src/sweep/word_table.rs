//! How often each word occurs in each slot: word after word, all slots beside one another, in 16
//! bits.
//!
//! Scoring a document is bound by reading these rows, and 16 bits halve them. A word that occurs
//! more than 65,535 times in some slot moves to rows of 32 bits.

use super::kernel::LANES;
use crate::stats::{Stats, Sums};

/// Where a word's row is, if not among the narrow ones.
const IS_NARROW: u32 = u32::MAX;

/// Counts of words in slots.
#[derive(Default)]
pub(super) struct WordTable {
    n_vectors: usize,
    narrow: Vec<[u16; LANES]>,
    wide: Vec<[u32; LANES]>,
    /// The number of each word's wide row.
    wide_row: Vec<u32>,
    /// An upper bound of all counts.
    largest: u32,
}

impl WordTable {
    pub(super) fn new(n_words: usize, n_vectors: usize) -> Self {
        Self {
            n_vectors,
            narrow: vec![[0; LANES]; n_words * n_vectors],
            wide: Vec::new(),
            wide_row: vec![IS_NARROW; n_words],
            largest: 0,
        }
    }

    pub(super) fn n_words(&self) -> usize {
        self.wide_row.len()
    }

    pub(super) fn largest(&self) -> u32 {
        self.largest
    }

    #[inline(always)]
    pub(super) fn has_wide(&self) -> bool {
        !self.wide.is_empty()
    }

    #[inline(always)]
    pub(super) fn is_wide(&self, word: u32) -> bool {
        self.wide_row[word as usize] != IS_NARROW
    }

    /// A word's narrow row.
    #[inline(always)]
    pub(super) fn narrow_row(&self, word: u32) -> &[[u16; LANES]] {
        &self.narrow[word as usize * self.n_vectors..][..self.n_vectors]
    }

    /// `P` vectors of a narrow word's row.
    #[inline(always)]
    pub(super) fn narrow<const P: usize>(&self, word: u32, first_vector: usize) -> &[[u16; LANES]; P] {
        let start = word as usize * self.n_vectors + first_vector;
        self.narrow[start..start + P].try_into().expect("P vectors")
    }

    /// `P` vectors of a wide word's row.
    #[inline(always)]
    pub(super) fn wide<const P: usize>(&self, word: u32, first_vector: usize) -> &[[u32; LANES]; P] {
        let start = self.wide_row[word as usize] as usize * self.n_vectors + first_vector;
        self.wide[start..start + P].try_into().expect("P vectors")
    }

    /// A vector of any word's row.
    #[inline(always)]
    pub(super) fn counts(&self, word: u32, vector: usize) -> [u32; LANES] {
        if self.is_wide(word) {
            self.wide[self.wide_row[word as usize] as usize * self.n_vectors + vector]
        } else {
            self.narrow[word as usize * self.n_vectors + vector].map(u32::from)
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, word: u32, slot: usize) -> u32 {
        let (vector, lane) = (slot / LANES, slot % LANES);
        if self.is_wide(word) {
            self.wide[self.wide_row[word as usize] as usize * self.n_vectors + vector][lane]
        } else {
            u32::from(self.narrow[word as usize * self.n_vectors + vector][lane])
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, word: u32, slot: usize, count: u32) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        self.largest = self.largest.max(count);
        if !self.is_wide(word) {
            if let Ok(count) = u16::try_from(count) {
                self.narrow[word as usize * self.n_vectors + vector][lane] = count;
                return;
            }
            self.widen(word);
        }
        self.wide[self.wide_row[word as usize] as usize * self.n_vectors + vector][lane] = count;
    }

    /// Writes the statistics of a component into an empty slot and returns how many words it has in
    /// all, which is their last coordinate.
    pub(super) fn write(&mut self, slot: usize, stats: &Stats) -> i64 {
        let n_words = self.wide_row.len();
        let mut total = 0;
        let mut write = |word: usize, count: i64| {
            if word == n_words {
                total = count;
            } else if count != 0 {
                let count = u32::try_from(count).expect("a word occurs at most 2³² times in a component");
                self.set(word as u32, slot, count);
            }
        };
        match &stats.sums {
            Sums::Dense(sums) => sums.iter().enumerate().for_each(|(word, &count)| write(word, count as i64)),
            Sums::Counts(entries) => entries.iter().for_each(|&(word, count)| write(word as usize, count)),
        }
        total
    }

    #[cold]
    fn widen(&mut self, word: u32) {
        let row = &self.narrow[word as usize * self.n_vectors..][..self.n_vectors];
        self.wide_row[word as usize] = (self.wide.len() / self.n_vectors) as u32;
        self.wide.extend(row.iter().map(|counts| counts.map(u32::from)));
    }

    /// The same counts with room for more slots.
    pub(super) fn resize(&mut self, n_vectors: usize) {
        self.narrow = resized(&self.narrow, self.n_vectors, n_vectors);
        self.wide = resized(&self.wide, self.n_vectors, n_vectors);
        self.n_vectors = n_vectors;
    }
}

fn resized<T: Copy + Default>(rows: &[[T; LANES]], before: usize, after: usize) -> Vec<[T; LANES]> {
    let mut new_rows = vec![[T::default(); LANES]; rows.len() / before * after];
    for (new, old) in new_rows.chunks_exact_mut(after).zip(rows.chunks_exact(before)) {
        new[..before].copy_from_slice(old);
    }
    new_rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_widening_and_growth() {
        let mut table = WordTable::new(3, 1);
        let cells = [(0, 0, 7), (1, 5, 65_535), (1, 6, 65_536), (1, 7, 3), (2, 15, 4_000_000_000)];
        cells.iter().for_each(|&(word, slot, count)| table.set(word, slot, count));
        table.resize(3);
        table.set(1, 40, 9);
        for (word, slot, count) in cells.into_iter().chain([(1, 40, 9), (0, 40, 0)]) {
            assert_eq!(table.get(word, slot), count, "word {word} in slot {slot}");
        }
        assert_eq!((table.is_wide(0), table.is_wide(1), table.is_wide(2)), (false, true, true));
        assert_eq!(table.wide::<1>(1, 0)[0][..8], [0, 0, 0, 0, 0, 65_535, 65_536, 3]);
        assert_eq!(table.narrow::<1>(0, 0)[0][0], 7);
        assert_eq!(table.largest(), 4_000_000_000);
    }
}
