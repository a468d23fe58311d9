//! What a checkpoint holds of the ledger at the border of a cycle, and the ledger made of it again.
//!
//! Under a synchronous schedule it is exact: the pool, what was sent, and the answers that no
//! worker has heard yet are as they were. Under an asynchronous schedule answers are of many
//! versions, and workers are asked for everything instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use super::ledger::{ConsolidatedColumn, ConsolidatedLedger};
use super::message::ComponentSnapshot;
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{ComponentId, Pool, PoolMemory, ShardId, fits};
use crate::family::Conjugate;
use crate::halves::Halves;
use crate::protocol::{CoordinatorOptions, Ledger};

/// What a checkpoint holds of a ledger.
#[derive(Serialize, Deserialize)]
pub(super) struct LedgerMemory {
    pool: PoolMemory,
    /// Σ log h(x) over the rows of each worker.
    sums_log_base: BTreeMap<ShardId, f64>,
    told: Vec<(ComponentId, ComponentSnapshot, u64)>,
    version: u64,
    n_absorbed: u64,
    n_absorbed_at_idle: u64,
    since_report: ConsolidateInfo,
    moved: u64,
}

impl Serialize for ConsolidatedLedger {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let memory = LedgerMemory {
            pool: self.pool.memory(),
            sums_log_base: self.columns.iter().map(|(shard, column)| (*shard, column.sum_log_base)).collect(),
            told: self.told.iter().map(|(id, (told, since))| (*id, told.clone(), *since)).collect(),
            version: self.version,
            n_absorbed: self.n_absorbed,
            n_absorbed_at_idle: self.n_absorbed_at_idle,
            since_report: self.since_report,
            moved: self.moved,
        };
        memory.serialize(serializer)
    }
}

impl From<LedgerMemory> for ConsolidatedLedger {
    fn from(saved: LedgerMemory) -> Self {
        Self { saved: Some(saved), ..Self::new(&CoordinatorOptions::default(), 0) }
    }
}

impl LedgerMemory {
    /// The ledger again; `None` if its statistics are not this family's.
    pub(super) fn restored(self, options: &CoordinatorOptions, family: &dyn Conjugate) -> Option<ConsolidatedLedger> {
        if !self.told.iter().all(|(_, told, _)| is_of(told, family)) {
            return None;
        }
        let pool = Pool::recall(self.pool, family)?;
        let ids: Arc<[ComponentId]> = self.told.iter().map(|(id, ..)| *id).collect();
        let column = |(shard, sum_log_base)| (shard, ConsolidatedColumn { sum_log_base, ids: Arc::clone(&ids) });
        Some(ConsolidatedLedger {
            pool,
            columns: self.sums_log_base.into_iter().map(column).collect(),
            told: self.told.into_iter().map(|(id, told, since)| (id, (told, since))).collect(),
            version: self.version,
            n_absorbed: self.n_absorbed,
            n_absorbed_at_idle: self.n_absorbed_at_idle,
            n_absorbed_at_close: self.n_absorbed,
            since_report: self.since_report,
            moved: self.moved,
            ..ConsolidatedLedger::new(options, 0)
        })
    }
}

fn is_of(told: &ComponentSnapshot, family: &dyn Conjugate) -> bool {
    let halves: &[_] = match &told.halves {
        Halves::Known { stats, .. } => stats,
        Halves::Resting | Halves::Fresh { .. } => &[],
    };
    fits(&told.total, family) && halves.iter().all(|stats| fits(stats, family))
}
