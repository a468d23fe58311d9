//! What other nodes say, checked before it is believed: a node may run elsewhere, and be broken.
//!
//! Bytes are checked where they are decoded. Here is what can be told from a message and from what a coordinator knows of its sender; what is refused has changed
//! nothing. A consistent lie is not found: these are the mistakes of machines, not of enemies.

use std::collections::BTreeMap;

use crate::consolidate::{ComponentId, ShardId, fits};
use crate::family::Conjugate;
use crate::message::{Decoded, Hello, Joining, Plan, Stamp, require};
use crate::rows::Shard;
use crate::stats::Stats;
use crate::survey::{CellSummary, ColumnSummary, CountsSummary, Survey};

/// More rows, cycles, versions and components than any run has: sums of them do not overflow.
const MOST: u64 = 1 << 48;
/// More columns than any data have: words are numbered in four bytes.
const MOST_COLUMNS: usize = u32::MAX as usize - 1;
/// More sweeps between two pushes than anybody waits for.
const MOST_SWEEPS: u32 = 1 << 20;
/// The part of a column's largest cell by which its summary may be off.
const ROUNDING: f64 = 1e-6;

/// How many rows each worker has said it has.
#[derive(Debug, Clone, Default)]
pub(super) struct RowCounts(BTreeMap<ShardId, u64>);

impl RowCounts {
    /// Notes what a worker says in its hello.
    pub(super) fn note(&mut self, shard: ShardId, hello: &Hello) {
        self.0.insert(shard, hello.survey.n_rows);
    }

    /// At most so many; a worker that another coordinator has heard may have any number.
    pub(super) fn most(&self, shard: ShardId) -> u64 {
        self.0.get(&shard).copied().unwrap_or(MOST)
    }

    /// Whether a worker can have so many rows in components.
    pub(super) fn check(&self, shard: ShardId, counts: impl Iterator<Item = i64>) -> Decoded<()> {
        let total = counts.map(|count| u64::try_from(count).ok()).try_fold(0u64, |sum, count| sum.checked_add(count?));
        require(total.is_some_and(|total| total <= self.most(shard)), "more rows than the worker has")
    }
}

/// A worker's first word. It must go together with the plan, where there is one.
pub(super) fn check_hello(hello: &Hello, plan: Option<&Plan>) -> Decoded<()> {
    check_survey(&hello.survey)?;
    let fits = plan.is_none_or(|plan| plan.model.n_columns() == hello.survey.n_columns);
    require(fits, "rows of other columns")
}

fn check_survey(survey: &Survey) -> Decoded<()> {
    let n_rows = survey.n_rows;
    require(n_rows <= MOST && survey.n_columns <= MOST_COLUMNS, "more rows or columns than there are")?;
    match &survey.cells {
        CellSummary::Numbers { columns, squared_lengths } => {
            let could_be = |column: &ColumnSummary| column.n <= n_rows && column_could_be(column);
            require(columns.len() == survey.n_columns, "as many summaries as columns")?;
            require(columns.iter().all(could_be), "a summary that no column has")?;
            require(!squared_lengths.iter().any(|length| length.is_nan()), "a row of no length")
        }
        CellSummary::Counts(counts) => check_counts(counts, survey.n_columns),
    }
}

/// Sums over documents of a vocabulary of this size.
fn check_counts(counts: &CountsSummary, n_columns: usize) -> Decoded<()> {
    let &CountsSummary { n_entries, n_words, n_words_with_others, repeats, ref word_totals } = counts;
    require(n_words <= MOST && n_entries <= n_words, "more words than there are")?;
    let is_share = n_words_with_others <= n_words && (0.0..=n_words_with_others as f64).contains(&repeats);
    require(is_share, "more repeats than words")?;
    let are_words = word_totals.is_sorted_by(|(a, _), (b, _)| a < b)
        && word_totals.iter().all(|(word, total)| (*word as usize) < n_columns && *total > 0);
    require(are_words, "words that are not in the vocabulary")?;
    let sum = word_totals.iter().try_fold(0u64, |sum, (_, total)| sum.checked_add(*total));
    require(sum == Some(n_words), "other words than there are in all")
}

/// Whether some cells have this summary: the mean is between the smallest and the largest, and none is further from it than these two are apart.
fn column_could_be(column: &ColumnSummary) -> bool {
    let ColumnSummary { n, mean, squares, min, max, common, n_common, .. } = *column;
    if n_common > n || (n_common > 0 && !(min..=max).contains(&common)) {
        return false;
    }
    if n == 0 {
        return !mean.is_nan() && squares >= 0.0;
    }
    let range = max - min;
    let rounding = ROUNDING * min.abs().max(max.abs());
    let squares_at_most = n as f64 * (range + rounding) * (range + rounding);
    min <= max && (min - rounding..=max + rounding).contains(&mean) && (0.0..=squares_at_most).contains(&squares)
}

/// What a worker that joins says beside its contributions, and the stamp it says it under: it must be the first word of a life that was given to it.
pub(super) fn check_joining(joining: &Joining, stamp: Stamp, n_incarnations: u32) -> Decoded<()> {
    require(stamp.sequence == 1 && stamp.incarnation <= n_incarnations, "a life that nobody gave")?;
    let Joining { sum_log_base, cycle, alpha } = *joining;
    require(!sum_log_base.is_nan(), "a base measure that is none")?;
    check_count(cycle)?;
    check_alpha(alpha)
}

/// A plan, by a worker of these rows.
pub(super) fn check_plan(plan: &Plan, shard: &Shard) -> Decoded<()> {
    let model = &plan.model;
    require(model.described().problem().is_none(), "a prior that is none")?;
    let fits = model.n_columns() == shard.n_columns() && model.conjugate().has_counts() == shard.is_counts();
    require(fits && model.fits_rows(shard), "a model of other rows")?;
    require(plan.kernel.is_available(), "instructions that the worker has not")?;
    require((1..=MOST_SWEEPS).contains(&plan.sweeps_per_cycle), "sweeps without end")?;
    require(plan.alpha_shares > 0, "a concentration that is none")?;
    check_count(plan.n_rows)
}

/// Statistics of a worker's rows: of this family, and such as rows can have.
pub(super) fn check_stats<'a>(stats: impl IntoIterator<Item = &'a Stats>, family: &dyn Conjugate) -> Decoded<()> {
    for stats in stats {
        require(fits(stats, family), "statistics of another family")?;
        let is_count = u64::try_from(stats.count).is_ok_and(|count| count <= MOST);
        require(is_count && family.could_be(stats), "statistics that no rows have")?;
    }
    Ok(())
}

/// Statistics of all workers, as a coordinator says them: of this family, and numbers. They may be rounded.
pub(super) fn check_told<'a>(stats: impl IntoIterator<Item = &'a Stats>, family: &dyn Conjugate) -> Decoded<()> {
    let is_sound = |stats: &Stats| stats.count >= 0 && fits(stats, family) && family.could_be_told(stats);
    require(stats.into_iter().all(is_sound), "statistics that no rows have")
}

/// The components at the end of a run, from which a worker of so many rows reads their labels.
pub(super) fn check_last<'a>(
    components: impl ExactSizeIterator<Item = &'a Stats>,
    n_rows: usize,
    family: &dyn Conjugate,
) -> Decoded<()> {
    require(components.len() > 0 || n_rows == 0, "an end without components")?;
    check_told(components, family)
}

/// Names of components: each once, and handed out by somebody: no epoch is later than `epoch`, and no number of it greater than `last`.
pub(super) fn check_ids<'a>(ids: impl Iterator<Item = &'a ComponentId>, epoch: u32, last: u64) -> Decoded<()> {
    let mut ids: Vec<ComponentId> = ids.copied().collect();
    let is_minted = |id: &ComponentId| id.epoch < epoch || (id.epoch == epoch && id.number <= last);
    require(ids.iter().all(|id| is_minted(id) && id.number <= MOST), "a component that there is not")?;
    // they come in order, mostly
    ids.sort();
    require(ids.is_sorted_by(|a, b| a < b), "a component twice")
}

/// What a number that is only counted must be.
pub(super) fn check_count(count: u64) -> Decoded<()> {
    require(count <= MOST, "more than there are")
}

/// A concentration.
pub(super) fn check_alpha(alpha: f64) -> Decoded<()> {
    require(alpha > 0.0 && alpha.is_finite(), "a concentration that is none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{CountTable, Table};

    #[test]
    fn surveys_that_no_rows_have_are_rejected() {
        let mut documents = CountTable::new(9);
        documents.push_row([(2, 3), (8, 1)]);
        documents.push_row([(2, 1)]);
        let sound = Survey::of(&Shard::of_table(Table::Counts(documents)));
        assert!(check_survey(&sound).is_ok());
        let changes: [fn(&mut CountsSummary); 8] = [
            |counts| counts.n_words += 1,
            |counts| counts.n_entries = 6,
            |counts| counts.n_words_with_others = 6,
            |counts| counts.repeats = f64::NAN,
            |counts| counts.repeats = 4.5,
            |counts| counts.word_totals[1].0 = 9,
            |counts| counts.word_totals.swap(0, 1),
            |counts| counts.word_totals[0].1 = u64::MAX,
        ];
        for (ix, change) in changes.iter().enumerate() {
            let mut survey = sound.clone();
            let CellSummary::Counts(counts) = &mut survey.cells else { panic!("documents") };
            change(counts);
            assert!(check_survey(&survey).is_err(), "change {ix}");
        }
        let numbers = Survey::of(&Shard::of_table(Table::from_f64(1, vec![2.0, 2.0, 5.0])));
        assert!(check_survey(&numbers).is_ok());
        let changes: [fn(&mut ColumnSummary); 3] =
            [|column| column.n_common = 4, |column| column.common = 6.0, |column| column.common = f64::NAN];
        for (ix, change) in changes.iter().enumerate() {
            let mut survey = numbers.clone();
            let CellSummary::Numbers { columns, .. } = &mut survey.cells else { panic!("numbers") };
            change(&mut columns[0]);
            assert!(check_survey(&survey).is_err(), "change {ix} of a column");
        }
    }
}
