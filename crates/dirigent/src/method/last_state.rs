//! The state of a run that was interrupted, made from its last checkpoint: no worker need show its
//! labels before that.

use super::MethodSetup;
use super::collector::numbered_by_size;
use super::consolidated::{DistributedOptions, Engine};
use super::rounds::RoundsOptions;
use crate::checkpoint::{NodesState, RunState, Stage};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::Result;
use crate::method::cgs::Outcome;
use crate::method::consolidated::{Schedule, components_at_border};
use crate::method::slice::SliceWorker;
use crate::rows::Shard;
use crate::sweep::Kernel;

/// The labels of all rows after a cycle, numbered from 0 without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct LastState {
    /// One a row.
    pub labels: Vec<u32>,
    /// The concentration.
    pub alpha: f64,
    /// How many cycles there were.
    pub cycle: u64,
}

impl MethodSetup {
    /// Whether a run that is interrupted offers a checkpoint that [`LastState::of`] can read.
    pub fn offers_last_state(&self) -> bool {
        match self {
            Self::Cgs(_) => true,
            Self::Distributed(options) => {
                options.coordinator.schedule == Schedule::Sync && !matches!(options.engine, Engine::Simulated(_))
            }
            Self::Slice(options) => !matches!(options.engine, Engine::Simulated(_)),
            Self::Subc(_) | Self::Av(_) => false,
        }
    }
}

impl LastState {
    /// The state that a checkpoint holds: that of the chain that ran, or before it had one of all
    /// rows, what was found before. Nothing where nothing was.
    pub fn of(rows: &Shard, options: &MethodSetup, saved: &RunState) -> Result<Option<Self>> {
        let found = saved.found.as_ref().map(|found| &found.outcome);
        if let Some(state) = of_stage(rows, options, saved)? {
            let cycles_before = found.map_or(0, |outcome| outcome.cycles);
            return Ok(Some(Self { cycle: cycles_before + state.cycle, ..state }));
        }
        Ok(found.or(saved.earlier.best()).map(Self::of_outcome))
    }

    fn of_outcome(outcome: &Outcome) -> Self {
        Self { labels: outcome.state.clone(), alpha: outcome.alpha, cycle: outcome.cycles }
    }
}

fn of_stage(rows: &Shard, options: &MethodSetup, saved: &RunState) -> Result<Option<LastState>> {
    let nodes = match &saved.stage {
        Stage::Start => return Ok(None),
        Stage::Chain(chain) => {
            let (labels, alpha, cycle) = (chain.labels.clone(), chain.alpha, chain.cycle);
            return Ok((cycle > 0).then_some(LastState { labels, alpha, cycle }));
        }
        Stage::Nodes(nodes) => nodes,
    };
    let shards = options.shards(rows);
    let components = match options {
        // the slice sampler goes on where another method has ended
        MethodSetup::Distributed(DistributedOptions { coordinator, .. }) if saved.found.is_some() => {
            of_slice_workers(&shards, coordinator.kernel, nodes)?
        }
        MethodSetup::Slice(RoundsOptions { coordinator, .. }) => of_slice_workers(&shards, coordinator.kernel, nodes)?,
        MethodSetup::Distributed(_) => components_at_border(&nodes.coordinator, &nodes.workers)?,
        MethodSetup::Cgs(_) | MethodSetup::Subc(_) | MethodSetup::Av(_) => return Ok(None),
    };
    let (Some(info), true) = (&nodes.pending, components.iter().all(Option::is_some)) else { return Ok(None) };
    Ok(Some(LastState { labels: numbered_by_size(&components), alpha: info.alpha, cycle: info.cycle }))
}

fn of_slice_workers(shards: &[Shard], kernel: Option<Kernel>, nodes: &NodesState) -> Result<Vec<Option<ComponentId>>> {
    let kernel = kernel.unwrap_or_else(Kernel::best);
    let mut components = Vec::new();
    for ((shard, memory), shard_id) in shards.iter().zip(&nodes.workers).zip(0 as ShardId..) {
        let worker = SliceWorker::restore(shard_id, shard.clone(), kernel, memory)?;
        match worker.memory() {
            Some(memory) => components.extend(memory.components()),
            None => components.resize(components.len() + shard.n_rows(), None),
        }
    }
    Ok(components)
}
