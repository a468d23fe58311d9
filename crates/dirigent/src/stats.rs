//! `Stats`: what a set of rows leaves behind, |S| and ψ(S), without the prior.
//!
//! An abelian group under [`Stats::add`], so contributions of workers can be added, taken out and
//! moved exactly.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A cluster's size and summed sufficient statistics, never the prior.
///
/// ```
/// use dirigent::{Stats, Sums};
///
/// // rows 1 and 2 of one worker, row 4 of another
/// let here = Stats { count: 2, sums: Sums::Dense([3.0].into()) };
/// let there = Stats { count: 1, sums: Sums::Dense([4.0].into()) };
/// let mut all = here.union(&there);
/// assert_eq!((all.count, all.dense()), (3, &[7.0][..]));
/// all.subtract(&there);
/// assert_eq!(all, here);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The number of rows, |S|.
    pub count: i64,
    /// Their summed sufficient statistics, ψ(S).
    pub sums: Sums,
}

/// Summed sufficient statistics, dense or sparse.
///
/// ```
/// use dirigent::{Stats, Sums};
///
/// let sparse = Stats { count: 1, sums: Sums::Counts(vec![(1, 2), (3, 5)]) };
/// let dense = sparse.to_dense(4);
/// assert_eq!(dense.sums, Sums::Dense([0.0, 2.0, 0.0, 5.0].into()));
/// assert_eq!(dense.to_sparse(), sparse);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Sums {
    /// Every coordinate.
    Dense(Box<[f64]>),
    /// Whole numbers that are not zero, sorted by index: the counts of a sparse family.
    Counts(Vec<(u32, i64)>),
}

impl Stats {
    /// Of no rows, every coordinate held.
    pub fn empty_dense(len: usize) -> Self {
        Self { count: 0, sums: Sums::Dense(vec![0.0; len].into()) }
    }

    /// Of no rows, only what is not zero held.
    pub fn empty_counts() -> Self {
        Self { count: 0, sums: Sums::Counts(Vec::new()) }
    }

    /// Joins two sets of rows.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, 1);
    }

    /// Takes a set of rows out again.
    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, -1);
    }

    /// The union of two sets of rows.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.add(other);
        union
    }

    /// The same sums, every coordinate held.
    #[must_use]
    pub fn to_dense(&self, len: usize) -> Self {
        let mut dense = Self::empty_dense(len);
        dense.add(self);
        dense
    }

    /// The entries that are not zero, as whole numbers: for sums that are counts.
    pub fn to_counts(&self) -> Vec<(u32, i64)> {
        match &self.sums {
            Sums::Counts(entries) => entries.clone(),
            Sums::Dense(sums) => {
                let entries = sums.iter().enumerate().filter(|(_, sum)| **sum != 0.0);
                entries.map(|(ix, sum)| (ix as u32, *sum as i64)).collect()
            }
        }
    }

    /// The same sums, only what is not zero held: for sums that are counts.
    #[must_use]
    pub fn to_sparse(&self) -> Self {
        Self { count: self.count, sums: Sums::Counts(self.to_counts()) }
    }

    /// Whether all sums are numbers.
    pub fn is_finite(&self) -> bool {
        match &self.sums {
            Sums::Dense(sums) => sums.iter().all(|sum| sum.is_finite()),
            Sums::Counts(_) => true,
        }
    }

    /// The dense sums; panics for sparse ones (a family knows which it uses).
    #[inline]
    pub fn dense(&self) -> &[f64] {
        match &self.sums {
            Sums::Dense(sums) => sums,
            Sums::Counts(_) => panic!("dense sums expected"),
        }
    }

    fn combine(&mut self, other: &Self, sign: i64) {
        self.count += sign * other.count;
        match (&mut self.sums, &other.sums) {
            (Sums::Dense(sums), Sums::Dense(others)) => {
                assert_eq!(sums.len(), others.len(), "statistics of the same family");
                sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += sign as f64 * other);
            }
            (Sums::Dense(sums), Sums::Counts(others)) => {
                others.iter().for_each(|&(ix, count)| sums[ix as usize] += (sign * count) as f64);
            }
            (Sums::Counts(sums), Sums::Counts(others)) => *sums = combine_counts(sums, others, sign),
            (Sums::Counts(_), Sums::Dense(_)) => panic!("dense sums do not go into sparse ones"),
        }
    }
}

/// Merges two sorted lists; what becomes zero is dropped.
fn combine_counts(left: &[(u32, i64)], right: &[(u32, i64)], sign: i64) -> Vec<(u32, i64)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut l, mut r) = (left.iter().peekable(), right.iter().peekable());
    loop {
        let order = match (l.peek(), r.peek()) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return merged,
        };
        let from_left = if order.is_le() { l.next() } else { None };
        let from_right = if order.is_ge() { r.next() } else { None };
        let ix = from_left.or(from_right).expect("one of them came first").0;
        let count = from_left.map_or(0, |entry| entry.1) + sign * from_right.map_or(0, |entry| entry.1);
        if count != 0 {
            merged.push((ix, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: i64, entries: &[(u32, i64)]) -> Stats {
        Stats { count, sums: Sums::Counts(entries.to_vec()) }
    }

    #[test]
    fn sparse_sums_merge_and_cancel() {
        let (a, b) = (counts(2, &[(1, 2), (5, 1)]), counts(1, &[(0, 1), (5, 3)]));
        let both = a.union(&b);
        assert_eq!(both, counts(3, &[(0, 1), (1, 2), (5, 4)]));
        let mut rest = both.clone();
        rest.subtract(&b);
        assert_eq!(rest, a);
        rest.subtract(&a);
        assert_eq!(rest, Stats::empty_counts());
    }

    #[test]
    fn sparse_goes_into_dense() {
        let dense = counts(2, &[(1, 2), (2, 1)]).to_dense(3);
        assert_eq!((dense.count, dense.dense()), (2, &[0.0, 2.0, 1.0][..]));
    }
}
