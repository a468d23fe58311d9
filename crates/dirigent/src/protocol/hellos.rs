//! Workers' first words, until all have come and a plan can be made of them.

use std::collections::BTreeMap;

use super::Address;
use super::checks::{RowCounts, check_hello};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::model::Model;
use crate::protocol::message::Hello;
use crate::sweep::Kernel;

/// Who has said hello.
#[derive(Debug, Default)]
pub(crate) struct Hellos {
    /// Before the plan.
    said: BTreeMap<ShardId, Hello>,
    row_counts: RowCounts,
}

/// What all workers have said together.
pub(crate) struct AllHellos {
    pub(crate) workers: Vec<ShardId>,
    pub(crate) n_rows: u64,
    /// The instructions that all have.
    pub(crate) kernel: Kernel,
}

impl Hellos {
    /// Takes in a hello, unless its rows are not the model's. Before there is a plan: what all
    /// together come to, once all expected have come.
    pub(crate) fn take_in(
        &mut self,
        shard: ShardId,
        hello: Hello,
        model: &Model,
        has_plan: bool,
        n_workers: u32,
    ) -> Result<Option<AllHellos>> {
        check_hello(&hello, model).map_err(|rejection| rejection.of(Address::Worker(shard)))?;
        self.row_counts.note(shard, &hello);
        if has_plan {
            return Ok(None);
        }
        self.said.insert(shard, hello);
        if self.said.len() < n_workers as usize {
            return Ok(None);
        }
        let said = std::mem::take(&mut self.said);
        let kernel = said.values().map(|hello| hello.kernel).reduce(Kernel::common).expect("there is a worker");
        let n_rows = said.values().map(|hello| hello.n_rows).sum();
        Ok(Some(AllHellos { workers: said.into_keys().collect(), n_rows, kernel }))
    }

    /// A worker is gone; it will say hello again.
    pub(crate) fn forget(&mut self, shard: ShardId) {
        self.said.remove(&shard);
    }

    pub(crate) fn row_counts(&self) -> &RowCounts {
        &self.row_counts
    }
}
