//! Documents as counts of words: x ~ Multinomial(L, p), p ~ symmetric Dirichlet(γ). The paper's model of the NYT corpus.
//!
//! A row is a whole document, repeats included, so its predictive is a Dirichlet–compound-multinomial. The sums have one more
//! coordinate than there are words: the last is the number of words in all, which every formula needs.

use serde::{Deserialize, Serialize};

use super::{Conjugate, Family, OwnedRow};
use crate::rng::Stream;
use crate::rows::{CountRow, Row};
use crate::special::log_gamma;
use crate::stats::{Stats, Sums};

/// Multinomial documents with a symmetric Dirichlet prior on the words' probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Multinomial {
    /// γ: the prior count of each word.
    pub smoothing: f64,
    /// V: the size of the vocabulary.
    pub n_words: usize,
}

impl Multinomial {
    /// Vγ: the prior count of all words together.
    pub fn total_smoothing(&self) -> f64 {
        self.smoothing * self.n_words as f64
    }

    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats) {
        let row = counts_of(row);
        stats.count += sign;
        match &mut stats.sums {
            Sums::Dense(sums) => {
                for (word, count) in row.iter() {
                    sums[word as usize] += sign as f64 * f64::from(count);
                }
                sums[self.n_words] += sign as f64 * row.total() as f64;
            }
            Sums::Counts(_) => {
                let mut entries: Vec<_> = row.iter().map(|(word, count)| (word, i64::from(count))).collect();
                entries.push((self.n_words as u32, row.total() as i64));
                let change = Stats { count: 0, sums: Sums::Counts(entries) };
                if sign > 0 { stats.add(&change) } else { stats.subtract(&change) }
            }
        }
    }
}

fn counts_of(row: Row<'_>) -> CountRow<'_> {
    match row {
        Row::Counts(row) => row,
        Row::F32(_) | Row::F64(_) => panic!("a multinomial has rows of counts"),
    }
}

impl Conjugate for Multinomial {
    fn stats_len(&self) -> usize {
        self.n_words + 1
    }

    /// Σ_w [ln Γ(γ+n_w) − ln Γ(γ)] − ln Γ(Vγ+n): words that do not occur add nothing.
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        let log_gamma_empty = log_gamma(self.smoothing);
        let of_word = |count: f64| log_gamma(self.smoothing + count) - log_gamma_empty;
        let (of_words, total): (f64, f64) = match &stats.sums {
            Sums::Dense(sums) => {
                let words = sums[..self.n_words].iter().filter(|&&count| count != 0.0);
                (words.map(|&count| of_word(count)).sum(), sums[self.n_words])
            }
            Sums::Counts(entries) => match entries.split_last() {
                Some((&(_, total), words)) => {
                    (words.iter().map(|&(_, count)| of_word(count as f64)).sum(), total as f64)
                }
                None => (0.0, 0.0),
            },
        };
        of_words - log_gamma(self.total_smoothing() + total)
    }
}

impl Family for Multinomial {
    /// The logarithm of each word's probability.
    type Params = Vec<f64>;

    fn add_row(&self, row: Row<'_>, stats: &mut Stats) {
        self.accumulate(row, 1, stats);
    }

    fn remove_row(&self, row: Row<'_>, stats: &mut Stats) {
        self.accumulate(row, -1, stats);
    }

    /// Nothing: a document stands for its words one after another, in some order that does not matter, so log-densities are comparable
    /// with perplexities.
    fn log_base_measure(&self, _row: Row<'_>) -> f64 {
        0.0
    }

    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64 {
        let (sums, total) = (stats.dense(), stats.dense()[self.n_words]);
        let counts = counts_of(row);
        let of_words: f64 = counts
            .iter()
            .map(|(word, count)| {
                let before = self.smoothing + sums[word as usize];
                log_gamma(before + f64::from(count)) - log_gamma(before)
            })
            .sum();
        let before = self.total_smoothing() + total;
        of_words - log_gamma(before + counts.total() as f64) + log_gamma(before)
    }

    fn sample_params(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let dense = stats.to_dense(self.stats_len());
        let shapes: Vec<f64> = dense.dense()[..self.n_words].iter().map(|count| self.smoothing + count).collect();
        rng.log_dirichlet(&shapes)
    }

    fn sample_row(&self, log_probabilities: &Vec<f64>, like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        let mut words: Vec<usize> = (0..counts_of(like).total()).map(|_| rng.categorical(log_probabilities)).collect();
        words.sort_unstable();
        let runs = words.chunk_by(|a, b| a == b);
        OwnedRow::Counts(runs.map(|run| (run[0] as u32, run.len() as u32)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws::{self, laws};
    use super::*;
    use rv::data::{CategoricalSuffStat, DataOrSuffStat};
    use rv::dist::{Categorical, SymmetricDirichlet};
    use rv::traits::ConjugatePrior;

    fn family() -> Multinomial {
        Multinomial { smoothing: 0.3, n_words: 6 }
    }

    #[test]
    fn marginal_agrees_with_rv_on_the_words_one_by_one() {
        let (family, rows) = (family(), laws::draw_rows(&family(), 9, 3));
        let (stats, _) = laws::summarise(&family, &rows);
        let mut words = CategoricalSuffStat::new(family.n_words);
        for row in &rows {
            let OwnedRow::Counts(entries) = row else { unreachable!() };
            for &(word, count) in entries {
                (0..count).for_each(|_| rv::traits::SuffStat::<usize>::observe(&mut words, &(word as usize)));
            }
        }
        let prior = SymmetricDirichlet::new(family.smoothing, family.n_words).unwrap();
        let data: DataOrSuffStat<usize, Categorical> = DataOrSuffStat::SuffStat(&words);
        laws::assert_close(super::super::log_marginal(&family, &stats, 0.0), prior.ln_m(data), "log_normalizer");
    }

    #[test]
    fn sparse_and_dense_statistics_agree() {
        let (family, rows) = (family(), laws::draw_rows(&family(), 5, 4));
        let (dense, _) = laws::summarise(&family, &rows);
        let mut sparse = Stats::empty_counts();
        let table = super::super::table_of_rows(family.n_words, &rows);
        (0..rows.len()).for_each(|row_ix| family.add_row(table.row(row_ix), &mut sparse));
        assert_eq!(sparse.to_dense(family.stats_len()), dense);
        laws::assert_close(family.log_normalizer(&sparse), family.log_normalizer(&dense), "log_normalizer");
        assert_eq!(family.log_normalizer(&Stats::empty_counts()), family.log_normalizer(&family.empty_stats()));
    }

    laws!(family());
}
