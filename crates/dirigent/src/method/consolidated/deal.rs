//! The rows of a checkpoint: what they are in, and how they are dealt again for a run that resumes
//! with another number of workers.
//!
//! At a border a worker has not heard yet what its components have become, but the coordinator's
//! answer is in the checkpoint. So each row's component is known by its id, and rows can be given
//! to anybody. The new workers join with what they are given, as after a loss: halves are
//! forgotten.

use std::collections::HashMap;

use super::{Consolidated, ConsolidatedMemory};
use crate::consolidate::{ComponentId, PieceName};
use crate::error::{InputError, Result};
use crate::halves::Half;
use crate::method::consolidated::message::Reply;
use crate::protocol::{WorkerCheckpoint, saved_answers};
use crate::rows::Shard;
use crate::sweep::UNASSIGNED;

/// All rows at a border.
struct BorderRows {
    /// The component of each; `None` for one that is in none.
    rows: Vec<Option<ComponentId>>,
    cycle: u64,
    alpha: f64,
}

/// The component of each row at the border of a checkpoint; `None` for a row that is in none.
pub(crate) fn components_at_border(coordinator: &[u8], workers: &[Vec<u8>]) -> Result<Vec<Option<ComponentId>>> {
    Ok(BorderRows::read(coordinator, workers)?.rows)
}

/// The checkpoints of workers of these shards, from those of other workers of the same rows.
pub(crate) fn deal_anew(coordinator: &[u8], workers: &[Vec<u8>], shards: &[Shard]) -> Result<Vec<Vec<u8>>> {
    let BorderRows { rows, cycle, alpha } = BorderRows::read(coordinator, workers)?;
    let n_rows: usize = shards.iter().map(Shard::n_rows).sum();
    if rows.len() != n_rows {
        let problem = format!("the checkpoint is of {} rows, but there are {n_rows}", rows.len());
        return Err(InputError::new(problem).into());
    }
    let mut rows = rows.into_iter();
    let deal = |shard: &Shard| {
        let ids: Vec<Option<ComponentId>> = rows.by_ref().take(shard.n_rows()).collect();
        let memory = ConsolidatedMemory { cycle, alpha, ..of_components(&ids) };
        WorkerCheckpoint::encode(Some(&WorkerCheckpoint::of(memory)))
    };
    Ok(shards.iter().map(deal).collect())
}

impl BorderRows {
    fn read(coordinator: &[u8], workers: &[Vec<u8>]) -> Result<Self> {
        let answers = saved_answers::<Consolidated>(coordinator)?;
        let mut border = Self { rows: Vec::new(), cycle: 0, alpha: 1.0 };
        for (worker, checkpoint) in (0..).zip(workers) {
            let checkpoint: Option<WorkerCheckpoint<ConsolidatedMemory>> =
                WorkerCheckpoint::decode(checkpoint, worker)?;
            let memory = checkpoint.ok_or_else(|| unsuited(worker))?.state;
            let answer = answers.get(&worker).ok_or_else(|| unsuited(worker))?;
            (border.cycle, border.alpha) = (memory.cycle, memory.alpha);
            border.rows.extend(components(&memory, answer));
        }
        Ok(border)
    }
}

/// The component of each row, once the answer has been heard.
fn components<'a>(memory: &'a ConsolidatedMemory, answer: &'a Reply) -> impl Iterator<Item = Option<ComponentId>> + 'a {
    let moved: HashMap<_, ComponentId> =
        answer.owners.iter().map(|moved| ((moved.name, moved.half), moved.owner)).collect();
    memory.labels.iter().enumerate().map(move |(row_ix, label)| {
        let name = *memory.names.get(*label as usize)?;
        let half = memory.halves.get(row_ix).copied().flatten().unwrap_or(Half::Left);
        let stayed = match name {
            PieceName::Component(id) => Some(id),
            PieceName::Birth(_) => None,
        };
        moved.get(&(name, half)).copied().or(stayed)
    })
}

fn of_components(ids: &[Option<ComponentId>]) -> ConsolidatedMemory {
    let mut slots: HashMap<ComponentId, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut slot = |id: &ComponentId| {
        *slots.entry(*id).or_insert_with(|| {
            names.push(PieceName::Component(*id));
            names.len() as u32 - 1
        })
    };
    let labels = ids.iter().map(|id| id.as_ref().map_or(UNASSIGNED, &mut slot)).collect();
    ConsolidatedMemory { names, labels, ..ConsolidatedMemory::default() }
}

fn unsuited(worker: u32) -> InputError {
    InputError::new(format!("the checkpoint has nothing of worker {worker} that another could go on from"))
        .hint("go on with as many workers as before, or start the run anew")
}
