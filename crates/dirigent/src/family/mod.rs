//! Families: a likelihood and its conjugate prior (Eq. 2 of the paper).
//!
//! [`Conjugate`] is all the coordinator needs: it works on statistics alone and never sees a row.
//! [`Family`] adds what a worker needs to know about rows. A family is one file that ends with one
//! line: the laws it must obey.

pub(crate) mod columns;
mod described;
mod gaussian_fixed;
mod gaussian_full;
#[cfg(test)]
mod laws;
mod multinomial;
mod own;
mod vmf;
mod wishart;
mod word_index;

pub use columns::{Column, ColumnLaw, Columns, ColumnsKind};
pub use described::{FamilyText, NamedArray};
pub use gaussian_fixed::GaussianFixed;
pub use gaussian_full::GaussianFull;
pub(crate) use gaussian_full::add_moments;
pub use multinomial::Multinomial;
pub use own::OwnFamily;
pub use vmf::VonMisesFisher;
pub(crate) use wishart::{Posterior, log_height};
pub use word_index::WordIndex;

use crate::halves::{Half, HalfCut};
use crate::rng::Stream;
use crate::rows::{CountTable, Row, Table};
use crate::special::log_gamma;
use crate::stats::{Stats, Sums};

/// Sums of rows are not farther out: their squares are numbers.
pub(crate) const FARTHEST_SUM: f64 = 1e152;

/// A conjugate pair, as seen through statistics only.
pub trait Conjugate: Send + Sync {
    /// The columns of a row (for counts: the size of the vocabulary).
    fn n_columns(&self) -> usize;

    /// The length of dense sums.
    fn stats_len(&self) -> usize;

    /// b(β₀ + ψ(S), κ₀ + c|S|): the log-normaliser of the posterior given the rows, up to a
    /// constant of the family.
    fn log_normalizer(&self, stats: &Stats) -> f64;

    /// Whether sums are whole numbers, mostly zero: then statistics travel and are pooled sparse.
    fn has_counts(&self) -> bool {
        false
    }

    /// The step to which means may be rounded in a snapshot: far below what they are known to.
    /// `None`: they travel as they are.
    fn snapshot_step(&self) -> Option<f64> {
        None
    }

    /// The length of what [`Conjugate::sample_parameters`] draws.
    fn parameters_len(&self) -> usize;

    /// Draws the parameters φ of a component from their posterior given the rows (from the prior
    /// given none), as plain numbers that can travel.
    fn sample_parameters(&self, stats: &Stats, rng: &mut Stream) -> Vec<f64>;

    /// The statistics of no rows.
    fn empty_stats(&self) -> Stats {
        Stats::empty_dense(self.stats_len())
    }

    /// The same in the form in which contributions travel: sparse where they are counts.
    fn empty_contribution(&self) -> Stats {
        if self.has_counts() { Stats::empty_counts() } else { self.empty_stats() }
    }

    /// Whether rows can have these statistics, which have the right coordinates: what comes from
    /// another node is asked before it is pooled, because a distribution with a negative count could not be
    /// drawn from. Cheap, so not every lie is found.
    fn could_be(&self, stats: &Stats) -> bool {
        let is_near = |sum: &f64| sum.abs() <= FARTHEST_SUM;
        match &stats.sums {
            Sums::Dense(sums) => sums.iter().all(is_near),
            Sums::Counts(entries) => entries.iter().all(|(_, count)| *count > 0),
        }
    }

    /// Whether statistics of the rows of all workers, as a coordinator sends them, could be such:
    /// they may be rounded.
    fn could_be_told(&self, stats: &Stats) -> bool {
        stats.is_finite()
    }

    /// b₀: the log-normaliser of the prior.
    fn log_normalizer_empty(&self) -> f64 {
        self.log_normalizer(&self.empty_stats())
    }

    /// b(A ∪ B), without making the union where a family can.
    fn log_normalizer_of_union(&self, a: &Stats, b: &Stats) -> f64 {
        self.log_normalizer(&a.union(b))
    }

    /// b(A ∪ B) + b₀ − b(A) − b(B): how well two sets go together, the family's part of log ρ.
    /// The caller compares a set with many others and so knows `log_apart` = b(A) + b(B) − b₀; a
    /// family that can do without b(A ∪ B) need not look at it.
    fn log_overlap(&self, a: &Stats, b: &Stats, log_apart: f64) -> f64 {
        self.log_normalizer_of_union(a, b) - log_apart
    }

    /// Where sets are counts of words: an index by which one set is compared with many, for sets
    /// with the words of `asked`.
    fn word_index(&self, asked: &mut dyn Iterator<Item = &Stats>) -> Option<WordIndex> {
        let _ = asked;
        None
    }

    /// A point such that components that could be one are near one another: where there are many,
    /// only near ones are compared.
    fn sketch(&self, stats: &Stats) -> Vec<f32>;

    /// How a component is cut in two when a generation of halves begins. The stream is of the
    /// component and the generation, so that all workers cut alike.
    fn cut(&self, stats: &Stats, rng: &mut Stream) -> HalfCut {
        let _ = (stats, rng);
        HalfCut::Coin
    }
}

/// A conjugate pair that knows its rows. Fits take any family as an object ([`OwnFamily`]).
pub trait Family: Conjugate {
    /// Puts a row into a set of rows (`sign` 1), or takes it out (−1).
    fn accumulate(&self, row: Row<'_>, sign: i64, stats: &mut Stats);

    /// Puts a row into a set of rows.
    fn add_row(&self, row: Row<'_>, stats: &mut Stats) {
        self.accumulate(row, 1, stats);
    }

    /// Takes a row out of a set of rows.
    fn remove_row(&self, row: Row<'_>, stats: &mut Stats) {
        self.accumulate(row, -1, stats);
    }

    /// log h(x): the part of the likelihood that no parameter touches.
    fn log_base_measure(&self, row: Row<'_>) -> f64;

    /// log f̄(x|S) = log h(x) + b(S ∪ x) − b(S), written out: the slow twin of every fast scorer.
    fn log_predictive(&self, row: Row<'_>, stats: &Stats) -> f64;

    /// The side of a cut that a row is on; `None` where a coin decides.
    fn side(&self, row: Row<'_>, cut: &HalfCut) -> Option<Half> {
        let _ = (row, cut);
        None
    }

    /// log f(x|φ) for parameters as [`Conjugate::sample_parameters`] draws them.
    fn log_likelihood(&self, row: Row<'_>, parameters: &[f64]) -> f64;

    /// Draws a row given parameters. What the family does not model is taken from `like`: a
    /// document's length.
    fn sample_row(&self, parameters: &[f64], like: Row<'_>, rng: &mut Stream) -> OwnedRow;
}

/// A row of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedRow {
    /// Dense numbers.
    Numbers(Vec<f64>),
    /// (word, count), words rising.
    Counts(Vec<(u32, u32)>),
}

/// A table of drawn rows; all are of one kind.
pub fn table_of_rows(n_columns: usize, rows: &[OwnedRow]) -> Table {
    match rows.first() {
        Some(OwnedRow::Counts(_)) => {
            let mut table = CountTable::new(n_columns);
            for row in rows {
                let OwnedRow::Counts(entries) = row else { panic!("rows of one kind") };
                table.push_row(entries.iter().copied());
            }
            Table::Counts(table)
        }
        _ => Table::from_f64(
            n_columns,
            rows.iter()
                .flat_map(|row| match row {
                    OwnedRow::Numbers(numbers) => numbers.iter().copied(),
                    OwnedRow::Counts(_) => panic!("rows of one kind"),
                })
                .collect(),
        ),
    }
}

/// log p(X|one component) = b(S) − b₀ + Σ log h(x).
pub fn log_marginal(family: &dyn Conjugate, stats: &Stats, sum_log_base: f64) -> f64 {
    family.log_normalizer(stats) - family.log_normalizer_empty() + sum_log_base
}

/// The log-joint of a partition and its rows, the paper's likelihood curve: K log α + ln Γ(α) − ln
/// Γ(α+n) + Σ_k [ln Γ(n_k) + b(S_k) − b₀] + Σ_i log h(x_i). Empty components do not count.
pub fn log_joint<'a>(
    family: &dyn Conjugate,
    components: impl IntoIterator<Item = &'a Stats>,
    alpha: f64,
    sum_log_base: f64,
) -> f64 {
    let log_normalizer_empty = family.log_normalizer_empty();
    let mut n_rows = 0.0;
    let mut total = log_gamma(alpha) + sum_log_base;
    for stats in components.into_iter().filter(|stats| stats.count > 0) {
        let count = stats.count as f64;
        n_rows += count;
        total += libm::log(alpha) + log_gamma(count) + family.log_normalizer(stats) - log_normalizer_empty;
    }
    total - log_gamma(alpha + n_rows)
}
