//! What other nodes say, checked before it is believed: a node may run elsewhere, and be broken.
//!
//! Bytes are checked where they are decoded. Here is what follows from a message and from what
//! a coordinator knows of its sender; what is refused has changed nothing. A consistent lie is not
//! found: these are the mistakes of machines, not of enemies.

use std::collections::BTreeMap;

use crate::consolidate::{ComponentId, ShardId, fits};
use crate::family::Conjugate;
use crate::model::Model;
use crate::protocol::message::{Hello, Joining, Plan, Stamp};
use crate::protocol::{Decoded, require};
use crate::rows::Shard;
use crate::stats::Stats;

/// More rows, cycles, versions and components than any run has: sums of them do not overflow.
const MOST: u64 = 1 << 48;
/// More sweeps between two pushes than anybody waits for.
const MOST_SWEEPS: u32 = 1 << 20;

/// How many rows each worker has said it has.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowCounts(BTreeMap<ShardId, u64>);

impl RowCounts {
    /// Notes what a worker says in its hello.
    pub(crate) fn note(&mut self, shard: ShardId, hello: &Hello) {
        self.0.insert(shard, hello.n_rows);
    }

    /// At most this many; a worker that another coordinator has heard may have any number.
    pub(crate) fn most(&self, shard: ShardId) -> u64 {
        self.0.get(&shard).copied().unwrap_or(MOST)
    }

    /// Whether a worker can have this many rows in components.
    pub(crate) fn check(&self, shard: ShardId, counts: impl Iterator<Item = i64>) -> Decoded<()> {
        let total = counts.map(|count| u64::try_from(count).ok()).try_fold(0u64, |sum, count| sum.checked_add(count?));
        require(total.is_some_and(|total| total <= self.most(shard)), "more rows than the worker has")
    }
}

/// A worker's first word: its rows must be such as the model is of.
pub(crate) fn check_hello(hello: &Hello, model: &Model) -> Decoded<()> {
    check_count(hello.n_rows)?;
    let is_fitting = hello.n_columns == model.n_columns() as u64 && hello.is_counts == model.conjugate().has_counts();
    require(is_fitting, "rows of other columns than the model's")
}

/// What a worker that joins says beside its contributions, and the stamp it says it under: it must
/// be the first word of a life that was given to it.
pub(crate) fn check_joining(joining: &Joining, stamp: Stamp, n_incarnations: u32) -> Decoded<()> {
    require(stamp.sequence == 1 && stamp.incarnation <= n_incarnations, "a life that nobody gave")?;
    let Joining { sum_log_base, cycle, alpha } = *joining;
    require(!sum_log_base.is_nan(), "a base measure that is none")?;
    check_count(cycle)?;
    check_alpha(alpha)
}

/// A plan, by a worker of these rows.
pub(crate) fn check_plan(plan: &Plan, shard: &Shard) -> Decoded<()> {
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
pub(crate) fn check_stats<'a>(stats: impl IntoIterator<Item = &'a Stats>, family: &dyn Conjugate) -> Decoded<()> {
    for stats in stats {
        require(fits(stats, family), "statistics of another family")?;
        let is_count = u64::try_from(stats.count).is_ok_and(|count| count <= MOST);
        require(is_count && family.could_be(stats), "statistics that no rows have")?;
    }
    Ok(())
}

/// Statistics of all workers, as a coordinator says them: of this family, and numbers. They may be
/// rounded.
pub(crate) fn check_told<'a>(stats: impl IntoIterator<Item = &'a Stats>, family: &dyn Conjugate) -> Decoded<()> {
    let is_sound = |stats: &Stats| stats.count >= 0 && fits(stats, family) && family.could_be_told(stats);
    require(stats.into_iter().all(is_sound), "statistics that no rows have")
}

/// The components at the end of a run, from which a worker of this many rows reads their labels.
pub(crate) fn check_last<'a>(
    components: impl ExactSizeIterator<Item = &'a Stats>,
    n_rows: usize,
    family: &dyn Conjugate,
) -> Decoded<()> {
    require(components.len() > 0 || n_rows == 0, "an end without components")?;
    check_told(components, family)
}

/// Names of components: each once, and handed out by somebody: no epoch is later than `epoch`, and
/// no number of it greater than `last`.
pub(crate) fn check_ids<'a>(ids: impl Iterator<Item = &'a ComponentId>, epoch: u32, last: u64) -> Decoded<()> {
    let mut ids: Vec<ComponentId> = ids.copied().collect();
    let is_minted = |id: &ComponentId| id.epoch < epoch || (id.epoch == epoch && id.number <= last);
    require(ids.iter().all(|id| is_minted(id) && id.number <= MOST), "a component that there is not")?;
    // they come in order, mostly
    ids.sort();
    require(ids.is_sorted_by(|a, b| a < b), "a component twice")
}

/// What a number that is only counted must be.
pub(crate) fn check_count(count: u64) -> Decoded<()> {
    require(count <= MOST, "more than there are")
}

/// A concentration.
pub(crate) fn check_alpha(alpha: f64) -> Decoded<()> {
    require(alpha > 0.0 && alpha.is_finite(), "a concentration that is none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelOptions;
    use crate::rows::Table;
    use crate::survey::Survey;
    use crate::sweep::Kernel;

    #[test]
    fn a_hello_of_other_rows_than_the_models_is_rejected() {
        let rows = Shard::of_table(Table::from_f64(2, vec![0.0, 1.0, 5.0, 7.0]));
        let model = Model::resolve(&ModelOptions::default(), &Survey::of(&rows)).unwrap();
        let sound = Hello { n_rows: 2, n_columns: 2, is_counts: false, kernel: Kernel::Portable };
        assert!(check_hello(&sound, &model).is_ok());
        let changes: [fn(&mut Hello); 3] =
            [|hello| hello.n_rows = MOST + 1, |hello| hello.n_columns = 3, |hello| hello.is_counts = true];
        for (ix, change) in changes.iter().enumerate() {
            let mut hello = sound.clone();
            change(&mut hello);
            assert!(check_hello(&hello, &model).is_err(), "change {ix}");
        }
    }
}
