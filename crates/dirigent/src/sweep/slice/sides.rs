//! Some rows of a shard, looked at for a split or a merge: which of two components each of them is
//! more like, and their statistics.
//!
//! In double precision, a row at a time, for any family: what decides is how probable a division
//! is, and few rows are asked about at once.

use crate::family::Family;
use crate::rows::Shard;
use crate::stats::Stats;

/// log f(x|left) − log f(x|right) of each row; `parameters` are those of the left, then those of
/// the right.
pub(super) fn log_odds<F: Family + ?Sized>(family: &F, shard: &Shard, rows: &[usize], parameters: &[f64]) -> Vec<f64> {
    let (left, right) = parameters.split_at(family.parameters_len());
    let of_row = |&row_ix: &usize| {
        let row = shard.row(row_ix);
        let log_odds = family.log_likelihood(row, left) - family.log_likelihood(row, right);
        // a row that neither side can have says nothing
        if log_odds.is_nan() { 0.0 } else { log_odds }
    };
    rows.iter().map(of_row).collect()
}

/// The statistics of rows, added up in the order given.
pub(super) fn statistics<F: Family + ?Sized>(family: &F, shard: &Shard, rows: &[usize]) -> Stats {
    let mut stats = family.empty_stats();
    rows.iter().for_each(|&row_ix| family.add_row(shard.row(row_ix), &mut stats));
    stats
}
