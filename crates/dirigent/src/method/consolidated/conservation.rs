//! The conservation law, checked: the pool equals the statistics recomputed from each member
//! shard's labels as of its last absorbed push, translated by the owners; and from the live labels
//! once nothing is in flight. No row is lost or counted twice.
//!
//! For tests, of this crate and of engines elsewhere. A [`Witness`] looks at the nodes after every
//! event and remembers the labels of each push.

use std::collections::{BTreeMap, HashMap};

use super::{Consolidated, ConsolidatedCoordinator, ConsolidatedWorker, RowLabel};
use crate::consolidate::{ComponentId, Piece, PieceName, ShardId};
use crate::family::Family;
use crate::halves::Half;
use crate::method::consolidated::message::Snapshot;
use crate::model::{Model, with_family};
use crate::protocol::Frame;
use crate::protocol::codec::{Message, decode};
use crate::protocol::message::Stamp;
use crate::rows::Shard;
use crate::stats::{Stats, Sums};

/// Looks on and remembers the labels of each push.
#[derive(Debug, Default)]
pub struct Witness {
    labels: HashMap<Stamp, Vec<Option<RowLabel>>>,
    /// What had been absorbed when changes were last looked at.
    seen: BTreeMap<ShardId, Stamp>,
    n_changes: u64,
}

/// One change of this many is followed by a check of everything.
const FULL_LOOK: u64 = 100;

impl Witness {
    /// Looks at the nodes after an event; `Err` says what is not conserved.
    pub fn check(
        &mut self,
        coordinator: &ConsolidatedCoordinator,
        workers: &[Option<ConsolidatedWorker>],
    ) -> Result<(), String> {
        for worker in workers.iter().flatten() {
            // a worker that has had its last answer keeps the stamp of its last push
            self.labels.entry(worker.stamp()).or_insert_with(|| worker.labels());
        }
        let Some(plan) = coordinator.plan() else { return Ok(()) };
        let mut added = PieceTotals::default();
        for (stamp, reply) in coordinator.absorbed() {
            let Some(reply) = reply else { continue };
            let Some(shard) =
                workers.get(stamp.shard as usize).and_then(|worker| worker.as_ref()).map(ConsolidatedWorker::shard)
            else {
                continue;
            };
            let recomputed = self.by_labels(&plan.model, stamp, reply, shard)?;
            self.check_column(coordinator, stamp.shard, &recomputed, &mut added)?;
        }
        for shard in (0..workers.len()).filter(|&shard| workers[shard].is_none()) {
            coordinator.pool().pieces_of(shard as ShardId).for_each(|(_, piece)| added.add(piece));
        }
        check_totals(coordinator, &added.totals)?;
        check_halves(coordinator, &added.halves)?;
        check_halves(coordinator, &halves_of_components(coordinator))
    }

    /// What the labels of a push say after its answer.
    fn by_labels(
        &self,
        model: &Model,
        stamp: Stamp,
        reply: &Frame,
        shard: &Shard,
    ) -> Result<BTreeMap<(ComponentId, Half), Stats>, String> {
        let (_, Message::<Consolidated>::Reply(reply, Some(snapshot))) =
            decode(reply).map_err(|error| error.to_string())?
        else {
            return Err("a stored reply is something else".to_owned());
        };
        let moved: HashMap<(PieceName, Half), LabelPlace> =
            reply.owners.iter().map(|moved| ((moved.name, moved.half), (moved.owner, moved.in_half))).collect();
        let labels = self.labels.get(&stamp).ok_or_else(|| format!("{stamp:?} was absorbed but never pushed"))?;
        let named: Vec<Option<LabelPlace>> =
            labels.iter().map(|label| label.as_ref().and_then(|label| translate(label, &moved, &snapshot))).collect();
        Ok(recompute(model, shard, &named))
    }

    /// The same, for runs that are long: a column is looked at when its worker has pushed, the sums
    /// when anybody has, everything after every hundredth push, and only the labels of the last
    /// pushes are kept. Not for methods whose coordinator changes the pool of its own accord.
    pub fn check_changes(
        &mut self,
        coordinator: &ConsolidatedCoordinator,
        workers: &[Option<ConsolidatedWorker>],
    ) -> Result<(), String> {
        for worker in workers.iter().flatten() {
            self.labels.entry(worker.stamp()).or_insert_with(|| worker.labels());
        }
        let now: BTreeMap<ShardId, Stamp> = coordinator.absorbed().map(|(stamp, _)| (stamp.shard, stamp)).collect();
        if now == self.seen {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.seen, now);
        self.n_changes += 1;
        if self.n_changes.is_multiple_of(FULL_LOOK) {
            self.forget_older();
            return self.check(coordinator, workers);
        }
        let Some(plan) = coordinator.plan() else { return Ok(()) };
        let mut added = PieceTotals::default();
        for (stamp, reply) in coordinator.absorbed() {
            let worker = workers.get(stamp.shard as usize).and_then(Option::as_ref);
            match (worker, reply) {
                (Some(worker), Some(reply)) if before.get(&stamp.shard) != Some(&stamp) => {
                    let recomputed = self.by_labels(&plan.model, stamp, reply, worker.shard())?;
                    self.check_column(coordinator, stamp.shard, &recomputed, &mut added)?;
                }
                _ => coordinator.pool().pieces_of(stamp.shard).for_each(|(_, piece)| added.add(piece)),
            }
        }
        check_totals(coordinator, &added.totals)?;
        check_halves(coordinator, &added.halves)
    }

    /// Of each worker the last absorbed push is kept and all after it: one of a life that has ended
    /// may still be under way.
    fn forget_older(&mut self) {
        let since = |stamp: &Stamp| (stamp.incarnation, stamp.sequence);
        let seen = &self.seen;
        self.labels.retain(|stamp, _| seen.get(&stamp.shard).is_none_or(|last| since(stamp) >= since(last)));
    }

    /// A shard's column of the ledger is what its labels say.
    fn check_column(
        &self,
        coordinator: &ConsolidatedCoordinator,
        shard: ShardId,
        recomputed: &BTreeMap<(ComponentId, Half), Stats>,
        added: &mut PieceTotals,
    ) -> Result<(), String> {
        let mut n_pieces = 0;
        for (key, piece) in coordinator.pool().pieces_of(shard) {
            let PieceName::Component(id) = key.name else {
                return Err(format!("shard {shard}: {key:?} after its answer"));
            };
            added.add(piece);
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

    /// Once nothing is in flight: the live labels of all workers give the pool.
    pub fn check_at_rest(
        &self,
        coordinator: &ConsolidatedCoordinator,
        workers: &[Option<ConsolidatedWorker>],
    ) -> Result<(), String> {
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
                add_to(&mut totals, id, &stats);
            }
        }
        check_totals(coordinator, &totals)?;
        check_halves(coordinator, &halves_of_components(coordinator))
    }
}

/// What pieces of the ledger add up to, by owner and by the half they count in.
#[derive(Default)]
struct PieceTotals {
    totals: BTreeMap<ComponentId, Stats>,
    halves: BTreeMap<(ComponentId, Half), Stats>,
}

impl PieceTotals {
    fn add(&mut self, piece: &Piece) {
        let Some(stats) = &piece.stats else { return };
        add_to(&mut self.totals, piece.owner, stats);
        if let Some(half) = piece.half {
            add_to(&mut self.halves, (piece.owner, half), stats);
        }
    }
}

/// A component, and the half of it.
type LabelPlace = (ComponentId, Option<Half>);

/// Where a row is after a reply, by the rules that its worker follows.
fn translate(
    label: &RowLabel,
    moved: &HashMap<(PieceName, Half), LabelPlace>,
    snapshot: &Snapshot,
) -> Option<LabelPlace> {
    if let Some(place) = moved.get(&(label.name, label.half.unwrap_or(Half::Left))) {
        return Some(*place);
    }
    let PieceName::Component(id) = label.name else { return None };
    let told = snapshot.components.iter().find(|(other, _)| *other == id)?.1.as_ref();
    let is_current = told.is_none_or(|told| told.halves.generation() == label.generation) && label.generation.is_some();
    Some((id, label.half.filter(|_| is_current)))
}

/// Every component is the sum of the pieces it owns.
fn check_totals(coordinator: &ConsolidatedCoordinator, totals: &BTreeMap<ComponentId, Stats>) -> Result<(), String> {
    let live: BTreeMap<ComponentId, &Stats> = coordinator.pool().live().map(|(id, total)| (id, &total.stats)).collect();
    if !live.keys().eq(totals.keys()) {
        return Err(format!("live: {:?}, by pieces: {:?}", live.keys(), totals.keys()));
    }
    match live.iter().find(|(id, stats)| !is_close(stats, &totals[id])) {
        Some((id, stats)) => Err(format!("{id:?} is {stats:?}, by its pieces {:?}", totals[id])),
        None => Ok(()),
    }
}

/// The halves of every component are the sums of the pieces in them.
fn check_halves(
    coordinator: &ConsolidatedCoordinator,
    halves: &BTreeMap<(ComponentId, Half), Stats>,
) -> Result<(), String> {
    let pool = coordinator.pool();
    let mut n_halves = 0;
    for (id, _) in pool.live() {
        for (half, total) in Half::BOTH.into_iter().zip(pool.half_totals(id)) {
            match (total, halves.get(&(id, half))) {
                (None, None) => {}
                (Some(total), Some(sum)) if is_close(&total.stats, sum) => n_halves += 1,
                (total, sum) => return Err(format!("{id:?} {half:?} is {total:?}, by its pieces {sum:?}")),
            }
        }
    }
    if n_halves == halves.len() { Ok(()) } else { Err(format!("{n_halves} halves, by pieces {}", halves.len())) }
}

/// The halves by the pieces that components say they own, rather than by the owners that pieces
/// have.
fn halves_of_components(coordinator: &ConsolidatedCoordinator) -> BTreeMap<(ComponentId, Half), Stats> {
    let pool = coordinator.pool();
    let mut halves = BTreeMap::new();
    for (id, _) in pool.live() {
        for (key, stats) in pool.atoms(id) {
            if let Some(half) = pool.piece(key).and_then(|piece| piece.half) {
                add_to(&mut halves, (id, half), stats);
            }
        }
    }
    halves
}

fn add_to<K: Ord>(totals: &mut BTreeMap<K, Stats>, key: K, stats: &Stats) {
    match totals.get_mut(&key) {
        Some(total) => total.add(stats),
        None => drop(totals.insert(key, stats.clone())),
    }
}

/// The statistics of a shard's rows by component and half; rows in no half count as left.
fn recompute(model: &Model, shard: &Shard, labels: &[Option<LabelPlace>]) -> BTreeMap<(ComponentId, Half), Stats> {
    let conjugate = model.conjugate();
    let empty = conjugate.empty_contribution();
    with_family!(model, family => recompute_with(family, empty, shard, labels))
}

fn recompute_with<F: Family + ?Sized>(
    family: &F,
    empty: Stats,
    shard: &Shard,
    labels: &[Option<LabelPlace>],
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
