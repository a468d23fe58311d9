//! Workers' first words, until all have come and a plan can be made of them.

use std::collections::BTreeMap;

use super::Address;
use super::checks::{RowCounts, check_hello};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::message::{Hello, Plan, Refusal};
use crate::survey::{CellSummary, Survey};
use crate::sweep::Kernel;

/// Who has said hello.
#[derive(Debug, Default)]
pub(super) struct Hellos {
    /// Before the plan.
    said: BTreeMap<ShardId, Hello>,
    row_counts: RowCounts,
}

/// What all workers have said together.
pub(super) struct Gathered {
    pub(super) workers: Vec<ShardId>,
    pub(super) survey: Survey,
    /// The instructions that all have.
    pub(super) kernel: Kernel,
}

impl Hellos {
    /// Takes in a hello. Before there is a plan: what all together come to, once so many have come. One whose rows are not like those of most others is
    /// forgotten, and refused by name, whoever came last.
    pub(super) fn take_in(
        &mut self,
        shard: ShardId,
        hello: Hello,
        plan: Option<&Plan>,
        n_workers: u32,
    ) -> Result<Option<Gathered>> {
        check_hello(&hello, plan).map_err(|refusal| refusal.of(Address::Worker(shard)))?;
        self.row_counts.note(shard, &hello);
        if plan.is_some() {
            return Ok(None);
        }
        self.said.insert(shard, hello);
        if self.said.len() < n_workers as usize {
            return Ok(None);
        }
        if let Some(odd) = self.odd_one_out() {
            self.said.remove(&odd);
            return Err(Refusal::new("rows of other columns than most workers have").of(Address::Worker(odd)));
        }
        let workers = self.said.keys().copied().collect();
        let (surveys, kernels): (Vec<Survey>, Vec<Kernel>) =
            std::mem::take(&mut self.said).into_values().map(|hello| (hello.survey, hello.kernel)).unzip();
        let survey = surveys.into_iter().reduce(|all, survey| all.merge(&survey)).expect("there is a worker");
        let kernel = kernels.into_iter().reduce(Kernel::common).expect("there is a worker");
        Ok(Some(Gathered { workers, survey, kernel }))
    }

    /// A worker is gone; it will say hello again.
    pub(super) fn forget(&mut self, shard: ShardId) {
        self.said.remove(&shard);
    }

    pub(super) fn row_counts(&self) -> &RowCounts {
        &self.row_counts
    }

    /// The first whose rows are not of the kind that most have.
    fn odd_one_out(&self) -> Option<ShardId> {
        let mut n_alike: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        self.said.values().for_each(|hello| *n_alike.entry(kind_of(hello)).or_default() += 1);
        let most = n_alike.values().copied().max()?;
        let usual = self.said.values().map(kind_of).find(|kind| n_alike[kind] == most)?;
        self.said.iter().find(|(_, hello)| kind_of(hello) != usual).map(|(shard, _)| *shard)
    }
}

/// How many columns rows have, and whether they are counts.
fn kind_of(hello: &Hello) -> (usize, bool) {
    (hello.survey.n_columns, matches!(hello.survey.cells, CellSummary::Counts(_)))
}
