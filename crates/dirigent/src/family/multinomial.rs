//! Documents as counts of words: x ~ Multinomial(L, p), p ~ symmetric Dirichlet(γ). The paper's
//! model of the NYT corpus.
//!
//! A row is a whole document, repeats included, so its predictive is a
//! Dirichlet–compound-multinomial. The sums have one more coordinate than there are words: the last
//! is the number of words in all, which every formula needs.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::described::not_positive;
use super::{Conjugate, Family, FamilyText, NamedArray, OwnedRow, WordIndex};
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

/// More words than any vocabulary has, and what an `i4` can number.
const MOST_WORDS: usize = 1 << 31;
/// Coordinates of a sketch.
const SKETCH: usize = 128;

/// The counts of the words, without their total.
enum WordCounts<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [(u32, i64)]),
}

impl Multinomial {
    /// Vγ: the prior count of all words together.
    pub fn total_smoothing(&self) -> f64 {
        self.smoothing * self.n_words as f64
    }

    fn words<'a>(&self, stats: &'a Stats) -> WordCounts<'a> {
        match &stats.sums {
            Sums::Dense(sums) => WordCounts::Dense(&sums[..self.n_words]),
            Sums::Counts(entries) => WordCounts::Sparse(entries.split_last().map_or(&[], |(_total, words)| words)),
        }
    }

    /// The last coordinate.
    fn n_words_in(&self, stats: &Stats) -> f64 {
        match &stats.sums {
            Sums::Dense(sums) => sums[self.n_words],
            Sums::Counts(entries) => entries.last().map_or(0.0, |&(_, total)| total as f64),
        }
    }
}

fn counts_of(row: Row<'_>) -> CountRow<'_> {
    match row {
        Row::Counts(row) => row,
        Row::F32(_) | Row::F64(_) => panic!("a multinomial has rows of counts"),
    }
}

/// ln Γ(γ+n) − ln Γ(γ) for whole n, from a table as far as it goes.
pub(super) struct Rises {
    smoothing: f64,
    log_gamma_empty: f64,
    table: Vec<f64>,
}

/// More words than any worker has, with room for the sums of all workers.
const MOST_COUNTED: i64 = 1 << 52;
/// More of one word than any component has: sweeps count it in 32 bits, and add to it.
const MOST_OF_A_WORD: i64 = 1 << 31;

/// 32 KiB: most counts of words are below it, and it stays in the nearest cache.
const TABLE_LEN: usize = 4096;

impl Rises {
    fn new(smoothing: f64) -> Self {
        let log_gamma_empty = log_gamma(smoothing);
        let table = (0..TABLE_LEN).map(|count| log_gamma(smoothing + count as f64) - log_gamma_empty).collect();
        Self { smoothing, log_gamma_empty, table }
    }

    #[inline]
    fn of(&self, count: i64) -> f64 {
        match self.table.get(count as usize) {
            Some(rise) => *rise,
            None => log_gamma(self.smoothing + count as f64) - self.log_gamma_empty,
        }
    }

    /// What a word adds to the overlap of two sets: nothing unless both have it.
    #[inline]
    pub(super) fn of_both(&self, a: i64, b: i64) -> f64 {
        self.of(a + b) - self.of(a) - self.of(b)
    }
}

thread_local! {
    // beside the family, not in it: a table is no parameter
    static RISES: RefCell<Option<Rises>> = const { RefCell::new(None) };
}

pub(super) fn with_rises<T>(smoothing: f64, use_them: impl FnOnce(&Rises) -> T) -> T {
    RISES.with_borrow_mut(|rises| {
        if rises.as_ref().is_none_or(|rises| rises.smoothing != smoothing) {
            *rises = Some(Rises::new(smoothing));
        }
        use_them(rises.as_ref().expect("it was just made"))
    })
}

/// Sums over the indices that are in both of two sorted lists.
fn sum_over_shared(a: &[(u32, i64)], b: &[(u32, i64)], of_both: impl Fn(i64, i64) -> f64) -> f64 {
    let (mut ix_a, mut ix_b, mut sum) = (0, 0, 0.0);
    while let (Some(&(word_a, count_a)), Some(&(word_b, count_b))) = (a.get(ix_a), b.get(ix_b)) {
        if word_a == word_b {
            sum += of_both(count_a, count_b);
        }
        // no branch: which list comes next cannot be foretold
        ix_a += usize::from(word_a <= word_b);
        ix_b += usize::from(word_b <= word_a);
    }
    sum
}

impl Conjugate for Multinomial {
    fn n_columns(&self) -> usize {
        self.n_words
    }

    fn stats_len(&self) -> usize {
        self.n_words + 1
    }

    fn has_counts(&self) -> bool {
        true
    }

    fn parameters_len(&self) -> usize {
        self.n_words
    }

    /// The logarithm of each word's probability.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64> {
        let dense = stats.to_dense(self.stats_len());
        let shapes: Vec<f64> = dense.dense()[..self.n_words].iter().map(|count| self.smoothing + count).collect();
        rng.log_dirichlet(&shapes)
    }

    /// Words occur, and the last coordinate is how often all together.
    fn could_be(&self, stats: &Stats) -> bool {
        let Sums::Counts(entries) = &stats.sums else { return false };
        let Some((&(last, total), words)) = entries.split_last() else { return true };
        let sum = words.iter().try_fold(0i64, |sum, &(_, count)| if count > 0 { sum.checked_add(count) } else { None });
        last as usize == self.n_words && sum == Some(total) && total <= MOST_COUNTED
    }

    fn could_be_told(&self, stats: &Stats) -> bool {
        let Sums::Counts(entries) = &stats.sums else { return false };
        let most = |ix: u32| if ix as usize == self.n_words { MOST_COUNTED } else { MOST_OF_A_WORD };
        entries.iter().all(|&(ix, count)| (0..=most(ix)).contains(&count))
    }

    /// Σ_w [ln Γ(γ+n_w) − ln Γ(γ)] − ln Γ(Vγ+n): words that do not occur add nothing.
    fn log_normalizer(&self, stats: &Stats) -> f64 {
        with_rises(self.smoothing, |rises| {
            let of_words: f64 = match self.words(stats) {
                WordCounts::Dense(counts) => counts.iter().map(|&count| rises.of(count as i64)).sum(),
                WordCounts::Sparse(entries) => entries.iter().map(|&(_, count)| rises.of(count)).sum(),
            };
            of_words - log_gamma(self.total_smoothing() + self.n_words_in(stats))
        })
    }

    /// Square roots of the words' shares, folded by a hash of the word with a sign of its own into
    /// few coordinates: distances are those between the square roots up to a little noise.
    fn sketch(&self, stats: &Stats) -> Vec<f32> {
        let mut sketch = vec![0.0; SKETCH];
        let total = 1.0 / self.n_words_in(stats).max(1.0);
        let mut add = |word: u32, count: f64| {
            let hash = word.wrapping_mul(0x9E37_79B1);
            let sign = if hash >> 31 == 0 { 1.0 } else { -1.0 };
            sketch[(hash >> 8) as usize % SKETCH] += sign * (count * total).sqrt() as f32;
        };
        match self.words(stats) {
            WordCounts::Dense(counts) => counts.iter().enumerate().for_each(|(word, &count)| add(word as u32, count)),
            WordCounts::Sparse(entries) => entries.iter().for_each(|&(word, count)| add(word, count as f64)),
        }
        sketch
    }

    fn word_index(&self, asked: &mut dyn Iterator<Item = &Stats>) -> Option<WordIndex> {
        Some(WordIndex::new(self, asked))
    }

    fn log_normalizer_empty(&self) -> f64 {
        -log_gamma(self.total_smoothing())
    }

    /// Sparse sets: only words that are in both count. Dense ones: word after word without a
    /// question is faster.
    fn log_overlap(&self, a: &Stats, b: &Stats, log_apart: f64) -> f64 {
        let (n_a, n_b, prior) = (self.n_words_in(a), self.n_words_in(b), self.total_smoothing());
        with_rises(self.smoothing, |rises| {
            let of_words: f64 = match (self.words(a), self.words(b)) {
                (WordCounts::Dense(a), WordCounts::Dense(b)) => {
                    let of_union: f64 = a.iter().zip(b).map(|(a, b)| rises.of((a + b) as i64)).sum();
                    return of_union - log_gamma(prior + n_a + n_b) - log_apart;
                }
                (WordCounts::Dense(dense), WordCounts::Sparse(entries))
                | (WordCounts::Sparse(entries), WordCounts::Dense(dense)) => {
                    // most small sets have few words in common: asking is faster than adding
                    // nothing
                    let shared = entries.iter().filter(|(word, _)| dense[*word as usize] != 0.0);
                    shared.map(|&(word, count)| rises.of_both(dense[word as usize] as i64, count)).sum()
                }
                (WordCounts::Sparse(a), WordCounts::Sparse(b)) => sum_over_shared(a, b, |a, b| rises.of_both(a, b)),
            };
            of_words + log_gamma(prior + n_a) + log_gamma(prior + n_b) - log_gamma(prior + n_a + n_b) - log_gamma(prior)
        })
    }
}

impl Family for Multinomial {
    /// The logarithm of each word's probability.
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

    /// Nothing: a document stands for its words one after another, in some order that does not
    /// matter, so log-densities are comparable with perplexities.
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

    fn log_likelihood(&self, row: Row<'_>, log_probabilities: &[f64]) -> f64 {
        counts_of(row).iter().map(|(word, count)| f64::from(count) * log_probabilities[word as usize]).sum()
    }

    fn sample_row(&self, log_probabilities: &[f64], like: Row<'_>, rng: &mut Stream) -> OwnedRow {
        let mut words: Vec<usize> = (0..counts_of(like).total()).map(|_| rng.categorical(log_probabilities)).collect();
        words.sort_unstable();
        let runs = words.chunk_by(|a, b| a == b);
        OwnedRow::Counts(runs.map(|run| (run[0] as u32, run.len() as u32)).collect())
    }
}

impl FamilyText for Multinomial {
    fn name(&self) -> &'static str {
        "multinomial"
    }

    fn priors(&self) -> Vec<(&'static str, f64)> {
        vec![("gamma", self.smoothing)]
    }

    fn cause_of_one(&self) -> String {
        format!(
            "gamma ({:.4}) is too large for rows with so few words; try a smaller `gamma` or `prior_documents`",
            self.smoothing
        )
    }

    fn cause_of_many(&self) -> String {
        format!(
            "gamma ({:.6}) is too small, or rows share hardly any words; try a larger `gamma` or `prior_documents`",
            self.smoothing
        )
    }

    fn problem(&self) -> Option<String> {
        let words = (!(1..=MOST_WORDS).contains(&self.n_words)).then(|| format!("`n_words` is {}", self.n_words));
        not_positive("smoothing", self.smoothing).or(words)
    }

    fn formula(&self) -> &'static str {
        "`data`, `indices`, `indptr`, `shape` are the components' word counts n as a sparse matrix (scipy.sparse.load_npz reads the \
         file as it is). For a document with counts c of L words, predictive_k(c) = prod_w G(smoothing + n[k,w] + c[w]) / G(smoothing + n[k,w]) \
         * G(V * smoothing + N[k]) / G(V * smoothing + N[k] + L), G the gamma function, N[k] the sum of n[k], V = n_words: the probability of its \
         words in sequence."
    }

    fn constants(&self) -> Vec<NamedArray> {
        Vec::new()
    }

    fn arrays(&self, _components: &[Stats]) -> Vec<NamedArray> {
        Vec::new()
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
