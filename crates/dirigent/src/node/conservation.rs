//! The conservation law, checked: the pool equals the statistics recomputed from each member shard's labels as of its last absorbed push,
//! translated by the owners; and from the live labels once nothing is in flight. No row is lost or counted twice.
//!
//! For tests, of this crate and of engines elsewhere. A [`Witness`] looks at the nodes after every event and remembers the labels of each push.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Coordinator, Frame, RowLabel, Worker};
use crate::consolidate::{ComponentId, PieceName, ShardId};
use crate::family::Family;
use crate::halves::Half;
use crate::message::codec::{Message, decode};
use crate::message::{Snapshot, Stamp};
use crate::model::{Model, with_family};
use crate::rows::Shard;
use crate::stats::{Stats, Sums};

/// Looks on and remembers the labels of each push.
#[derive(Debug, Default)]
pub struct Witness {
    labels: HashMap<Stamp, Vec<Option<RowLabel>>>,
    /// What had been absorbed when changes were last looked at.
    seen: BTreeMap<ShardId, Stamp>,
}

impl Witness {
    /// Looks at the nodes after an event; `Err` says what is not conserved.
    pub fn check(&mut self, coordinator: &Coordinator, workers: &[Option<Worker>]) -> Result<(), String> {
        for worker in workers.iter().flatten() {
            // a worker that has had its last answer keeps the stamp of its last push
            self.labels.entry(worker.stamp()).or_insert_with(|| worker.labels());
        }
        let Some(plan) = coordinator.plan() else { return Ok(()) };
        let mut totals: BTreeMap<ComponentId, Stats> = BTreeMap::new();
        for (stamp, reply) in coordinator.absorbed() {
            let Some(reply) = reply else { continue };
            let Some(shard) = workers.get(stamp.shard as usize).and_then(|worker| worker.as_ref()).map(Worker::shard)
            else {
                continue;
            };
            let recomputed = self.by_labels(&plan.model, stamp, reply, shard)?;
            self.check_column(coordinator, stamp.shard, &recomputed, &mut totals)?;
        }
        for shard in (0..workers.len()).filter(|&shard| workers[shard].is_none()) {
            for (_, piece) in coordinator.pool().pieces_of(shard as ShardId) {
                add_to(&mut totals, piece.owner, piece.stats.as_ref());
            }
        }
        self.check_totals(coordinator, &totals)
    }

    /// What the labels of a push say after its answer.
    fn by_labels(
        &self,
        model: &Model,
        stamp: Stamp,
        reply: &Frame,
        shard: &Shard,
    ) -> Result<BTreeMap<(ComponentId, Half), Stats>, String> {
        let (_, Message::Reply(reply, snapshot)) =
            decode(reply, Some(model.conjugate().stats_len())).map_err(|error| error.to_string())?
        else {
            return Err("a stored reply is something else".to_owned());
        };
        let moved: HashMap<(PieceName, Half), Place> =
            reply.owners.iter().map(|moved| ((moved.name, moved.half), (moved.owner, moved.in_half))).collect();
        let labels = self.labels.get(&stamp).ok_or_else(|| format!("{stamp:?} was absorbed but never pushed"))?;
        let named: Vec<Option<Place>> =
            labels.iter().map(|label| label.as_ref().and_then(|label| translate(label, &moved, &snapshot))).collect();
        Ok(recompute(model, shard, &named))
    }

    /// The same, for runs that are long: a column is looked at when its worker has pushed, the sums when anybody has, and only the labels of the last pushes are kept.
    /// Not for methods whose coordinator changes the pool of its own accord.
    pub fn check_changes(&mut self, coordinator: &Coordinator, workers: &[Option<Worker>]) -> Result<(), String> {
        for worker in workers.iter().flatten() {
            let stamp = worker.stamp();
            if !self.labels.contains_key(&stamp) {
                self.labels.insert(stamp, worker.labels());
            }
        }
        let now: BTreeMap<ShardId, Stamp> = coordinator.absorbed().map(|(stamp, _)| (stamp.shard, stamp)).collect();
        if now == self.seen {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.seen, now);
        self.forget_older(workers);
        let Some(plan) = coordinator.plan() else { return Ok(()) };
        let mut totals: BTreeMap<ComponentId, Stats> = BTreeMap::new();
        for (stamp, reply) in coordinator.absorbed() {
            let worker = workers.get(stamp.shard as usize).and_then(Option::as_ref);
            match (worker, reply) {
                (Some(worker), Some(reply)) if before.get(&stamp.shard) != Some(&stamp) => {
                    let recomputed = self.by_labels(&plan.model, stamp, reply, worker.shard())?;
                    self.check_column(coordinator, stamp.shard, &recomputed, &mut totals)?;
                }
                _ => {
                    let pieces = coordinator.pool().pieces_of(stamp.shard);
                    pieces.for_each(|(_, piece)| add_to(&mut totals, piece.owner, piece.stats.as_ref()));
                }
            }
        }
        self.check_totals(coordinator, &totals)
    }

    /// Of each worker the last absorbed push and the one that is under way are kept.
    fn forget_older(&mut self, workers: &[Option<Worker>]) {
        let under_way: HashSet<Stamp> = workers.iter().flatten().map(Worker::stamp).collect();
        let seen = &self.seen;
        self.labels.retain(|stamp, _| under_way.contains(stamp) || seen.get(&stamp.shard) == Some(stamp));
    }

    /// A shard's column of the ledger is what its labels say.
    fn check_column(
        &self,
        coordinator: &Coordinator,
        shard: ShardId,
        recomputed: &BTreeMap<(ComponentId, Half), Stats>,
        totals: &mut BTreeMap<ComponentId, Stats>,
    ) -> Result<(), String> {
        let mut n_pieces = 0;
        for (key, piece) in coordinator.pool().pieces_of(shard) {
            let PieceName::Component(id) = key.name else {
                return Err(format!("shard {shard}: {key:?} after its answer"));
            };
            add_to(totals, piece.owner, piece.stats.as_ref());
            match (piece.stats.as_ref(), recomputed.get(&(id, key.half))) {
                (None, None) => {}
                (Some(stats), Some(expected)) if is_close(stats, expected) => n_pieces += 1,
                (found, expected) => {
                    return Err(format!("shard {shard}, {id:?} {:?}: {found:?}, by its labels {expected:?}", key.half));
                }
            }
        }
        if n_pieces == recomputed.len() {
            return Ok(());
        }
        Err(format!("shard {shard} has {n_pieces} pieces with rows, by its labels {}", recomputed.len()))
    }

    /// Every component is the sum of the pieces it owns.
    fn check_totals(&self, coordinator: &Coordinator, totals: &BTreeMap<ComponentId, Stats>) -> Result<(), String> {
        let live: BTreeMap<ComponentId, &Stats> =
            coordinator.pool().live().map(|(id, total)| (id, &total.stats)).collect();
        if !live.keys().eq(totals.keys()) {
            return Err(format!("live: {:?}, by pieces: {:?}", live.keys(), totals.keys()));
        }
        if let Some((id, stats)) = live.iter().find(|(id, stats)| !is_close(stats, &totals[id])) {
            return Err(format!("{id:?} is {stats:?}, by its pieces {:?}", totals[id]));
        }
        live.keys().try_for_each(|id| check_halves(coordinator, *id))
    }

    /// Once nothing is in flight: the live labels of all workers give the pool.
    pub fn check_at_rest(&self, coordinator: &Coordinator, workers: &[Option<Worker>]) -> Result<(), String> {
        let Some(plan) = coordinator.plan() else { return Ok(()) };
        let mut totals: BTreeMap<ComponentId, Stats> = BTreeMap::new();
        for worker in workers.iter().flatten() {
            let named: Result<Vec<_>, String> = worker
                .labels()
                .into_iter()
                .map(|label| match label {
                    Some(RowLabel { name: PieceName::Component(id), half, .. }) => Ok(Some((id, half))),
                    // its worker came at the very end and has not swept
                    None => Ok(None),
                    Some(birth) => Err(format!("a row at rest is in {birth:?}")),
                })
                .collect();
            for ((id, _), stats) in recompute(&plan.model, worker.shard(), &named?) {
                add_to(&mut totals, id, Some(&stats));
            }
        }
        self.check_totals(coordinator, &totals)
    }
}

/// A component, and the half of it.
type Place = (ComponentId, Option<Half>);

/// Where a row is after a reply, by the rules that its worker follows.
fn translate(label: &RowLabel, moved: &HashMap<(PieceName, Half), Place>, snapshot: &Snapshot) -> Option<Place> {
    if let Some(place) = moved.get(&(label.name, label.half.unwrap_or(Half::Left))) {
        return Some(*place);
    }
    let PieceName::Component(id) = label.name else { return None };
    let told = snapshot.components.iter().find(|(other, _)| *other == id)?.1.as_ref();
    let is_current = told.is_none_or(|told| told.halves.generation() == label.generation) && label.generation.is_some();
    Some((id, label.half.filter(|_| is_current)))
}

/// The halves of a component are the sums of the pieces in them.
fn check_halves(coordinator: &Coordinator, id: ComponentId) -> Result<(), String> {
    let pool = coordinator.pool();
    for (half, total) in Half::BOTH.into_iter().zip(pool.half_totals(id)) {
        let mut sum = BTreeMap::new();
        for (key, stats) in pool.atoms(id) {
            if pool.piece(key).is_some_and(|piece| piece.half == Some(half)) {
                add_to(&mut sum, id, Some(stats));
            }
        }
        match (total, sum.get(&id)) {
            (None, None) => {}
            (Some(total), Some(sum)) if is_close(&total.stats, sum) => {}
            (total, sum) => return Err(format!("{id:?} {half:?} is {total:?}, by its pieces {sum:?}")),
        }
    }
    Ok(())
}

fn add_to(totals: &mut BTreeMap<ComponentId, Stats>, id: ComponentId, stats: Option<&Stats>) {
    let Some(stats) = stats else { return };
    match totals.get_mut(&id) {
        Some(total) => total.add(stats),
        None => drop(totals.insert(id, stats.clone())),
    }
}

/// The statistics of a shard's rows by component and half; rows in no half count as left.
fn recompute(model: &Model, shard: &Shard, labels: &[Option<Place>]) -> BTreeMap<(ComponentId, Half), Stats> {
    let conjugate = model.conjugate();
    let empty = if conjugate.has_counts() { Stats::empty_counts() } else { conjugate.empty_stats() };
    with_family!(model, family => recompute_with(family, empty, shard, labels))
}

fn recompute_with<F: Family>(
    family: &F,
    empty: Stats,
    shard: &Shard,
    labels: &[Option<Place>],
) -> BTreeMap<(ComponentId, Half), Stats> {
    let mut totals = BTreeMap::new();
    for (row, label) in shard.rows().zip(labels) {
        if let Some((id, half)) = label {
            let place = (*id, half.unwrap_or(Half::Left));
            family.add_row(row, totals.entry(place).or_insert_with(|| empty.clone()));
        }
    }
    totals
}

/// Counts to the last one; sums to 1e-9 of their size.
fn is_close(a: &Stats, b: &Stats) -> bool {
    let sums_close = match (&a.sums, &b.sums) {
        (Sums::Dense(a), Sums::Dense(b)) => {
            a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())))
        }
        (a, b) => a == b,
    };
    a.count == b.count && sums_close
}
