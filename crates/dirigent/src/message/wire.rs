//! How lists of statistics lie on the wire: ids and counts as small whole numbers, sums as they are, sparse counts by the gaps between words.

use serde::{Deserialize, Serialize};

use crate::stats::{Stats, Sums};

/// A list of statistics.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StatsList {
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
    /// Packs statistics of one family. Dense whole numbers (a multinomial's) are packed as counts where that is shorter.
    pub(super) fn pack<'a>(list: impl ExactSizeIterator<Item = &'a Stats> + Clone) -> Self {
        let counts = list.clone().map(|stats| stats.count).collect();
        let is_sparse = list.clone().any(|stats| matches!(stats.sums, Sums::Counts(_)));
        let sums = if is_sparse {
            SumsList::Counts(list.map(|stats| gaps(&stats.to_counts())).collect())
        } else {
            SumsList::Dense(list.flat_map(|stats| stats.dense().iter().copied()).collect())
        };
        Self { counts, sums }
    }

    /// Packs dense statistics with their means rounded to multiples of a step, counts exact. What is rounded is the value itself, so a
    /// receiver never drifts.
    pub(super) fn pack_rounded<'a>(list: impl ExactSizeIterator<Item = &'a Stats> + Clone, step: f64) -> Self {
        let multiples = list.clone().flat_map(|stats| {
            let scale = 1.0 / (stats.count as f64 * step);
            stats.dense().iter().map(move |sum| (sum * scale).round() as i64)
        });
        Self {
            counts: list.clone().map(|stats| stats.count).collect(),
            sums: SumsList::Means { step, multiples: multiples.collect() },
        }
    }

    /// Unpacks; `None` if the list does not fit `stats_len` coordinates each.
    pub(super) fn unpack(self, stats_len: usize) -> Option<Vec<Stats>> {
        let with_sums = |(count, sums)| Stats { count, sums };
        match self.sums {
            SumsList::Dense(sums) => {
                let fits = self.counts.len().checked_mul(stats_len) == Some(sums.len());
                let chunks = sums.chunks_exact(stats_len.max(1)).map(|chunk| Sums::Dense(chunk.into()));
                fits.then(|| self.counts.into_iter().zip(chunks).map(with_sums).collect())
            }
            SumsList::Means { step, multiples } => {
                let fits = self.counts.len().checked_mul(stats_len) == Some(multiples.len()) && step.is_finite();
                let means = multiples.chunks_exact(stats_len.max(1));
                let sums_of = |(count, means): (i64, &[i64])| {
                    let scale = count as f64 * step;
                    Stats { count, sums: Sums::Dense(means.iter().map(|multiple| *multiple as f64 * scale).collect()) }
                };
                fits.then(|| self.counts.into_iter().zip(means).map(sums_of).collect())
            }
            SumsList::Counts(lists) => {
                if lists.len() != self.counts.len() {
                    return None;
                }
                let sums: Option<Vec<Sums>> =
                    lists.iter().map(|gaps| words(gaps, stats_len).map(Sums::Counts)).collect();
                Some(self.counts.into_iter().zip(sums?).map(with_sums).collect())
            }
        }
    }
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

fn words(gaps: &[(u32, i64)], stats_len: usize) -> Option<Vec<(u32, i64)>> {
    let mut next: u32 = 0;
    let word = |&(gap, count): &(u32, i64)| {
        let word = next.checked_add(gap)?;
        next = word.checked_add(1)?;
        ((word as usize) < stats_len && count != 0).then_some((word, count))
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
        let step = 0.001;
        let back = StatsList::pack_rounded(list.iter(), step).unpack(2).unwrap();
        for (before, after) in list.iter().zip(&back) {
            assert_eq!(before.count, after.count);
            let gaps = before.dense().iter().zip(after.dense()).map(|(a, b)| (a - b).abs() / before.count as f64);
            assert!(gaps.into_iter().all(|gap| gap <= 0.5001 * step));
        }
        let again = StatsList::pack_rounded(back.iter(), step).unpack(2).unwrap();
        assert_eq!(again, back, "rounding what is rounded changes nothing");
        assert!(StatsList::pack_rounded(list.iter(), step).unpack(3).is_none(), "another family");
    }

    #[test]
    fn sparse_counts_survive_and_nonsense_does_not() {
        let entries = vec![(0, 3), (1, -2), (7, 1)];
        assert_eq!(words(&gaps(&entries), 8), Some(entries.clone()));
        assert_eq!(words(&gaps(&entries), 7), None, "a word beyond the vocabulary");
        assert_eq!(words(&[(u32::MAX, 1), (5, 1)], usize::MAX), None, "an overflow");
        assert_eq!(words(&[(0, 0)], 4), None, "a zero that should not be there");
    }
}
