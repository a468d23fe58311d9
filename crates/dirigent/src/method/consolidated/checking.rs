//! What a push may say, given what its worker received.

use super::ledger::ConsolidatedLedger;
use crate::consolidate::{ComponentId, PieceKey, PieceName};
use crate::halves::{Half, Part};
use crate::method::consolidated::message::{Push, SweepOverlap};
use crate::protocol::message::Stamp;
use crate::protocol::{Decoded, PushContext, require};
use crate::protocol::{check_count, check_ids, check_joining, check_stats};

impl ConsolidatedLedger {
    /// Checks a push that is the next of its worker. Nothing has been done about it yet.
    pub(super) fn check_push(&self, stamp: Stamp, push: &Push, heard: &PushContext<'_>) -> Decoded<()> {
        let is_joining = push.joining.is_some();
        match &push.joining {
            Some(joining) => {
                check_joining(joining, stamp, heard.n_incarnations)?;
                check_count(push.base_version)?;
            }
            None => require(push.base_version <= self.version, "a version that was never told")?,
        }
        check_count(push.moved)?;
        let column = self.columns.get(&stamp.shard).filter(|_| !is_joining);
        check_overlap(&push.overlap, column.map_or(0, |column| column.ids.len()))?;
        let family = heard.family;
        check_stats(push.births.iter().map(|(_, stats)| stats), family)?;
        check_stats(push.contributions.iter().flat_map(|(_, part)| part.stats()), family)?;
        // whoever joins may know components by names that labels began with
        let last = if is_joining { u64::MAX } else { self.pool.n_minted() };
        check_ids(push.contributions.iter().map(|(id, _)| id), self.pool.epoch(), last)?;
        self.check_halves(stamp, push)?;
        self.check_births(stamp, push)?;
        self.check_rows(stamp, push, heard)
    }

    /// Parts come in the halves that their worker received, if any.
    fn check_halves(&self, stamp: Stamp, push: &Push) -> Decoded<()> {
        let pieces = self.pool.pieces_of(stamp.shard).map(|(key, piece)| (key.name, piece.told));
        let told: Vec<(PieceName, Option<u32>)> = pieces.collect();
        let told_of = |id: ComponentId| {
            let first = told.partition_point(|(name, _)| *name < PieceName::Component(id));
            told.get(first).filter(|(name, _)| *name == PieceName::Component(id)).map(|(_, told)| *told)
        };
        let is_as_told = |(id, part): &(ComponentId, Part)| {
            let said = match part {
                Part::Whole(_) => None,
                Part::Halved { generation, .. } => Some(*generation),
            };
            let expected = if push.joining.is_some() { Some(None) } else { told_of(*id) };
            let may_have_halves = self.pool.keeps_halves() || said.is_none();
            may_have_halves && expected.is_none_or(|told| told == said)
        };
        require(push.contributions.iter().all(is_as_told), "halves that were never told")
    }

    /// Births have rows, and numbers that were never used.
    fn check_births(&self, stamp: Stamp, push: &Push) -> Decoded<()> {
        let mut numbers: Vec<u64> = push.births.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let is_known = |number: u64| {
            let key = PieceKey::whole(stamp.shard, PieceName::Birth(number));
            push.joining.is_none() && self.pool.piece(key).is_some()
        };
        let are_new = numbers.is_sorted_by(|a, b| a < b) && !numbers.iter().any(|number| is_known(*number));
        require(are_new, "a birth twice")?;
        require(push.births.iter().all(|(_, stats)| stats.count > 0), "a birth without rows")
    }

    /// What the worker has in the ledger, with what it now says in its place, is not more than its
    /// rows.
    fn check_rows(&self, stamp: Stamp, push: &Push, heard: &PushContext<'_>) -> Decoded<()> {
        let said = push.contributions.iter().flat_map(|(id, part)| {
            let names = Half::BOTH.into_iter().map(|half| (PieceName::Component(*id), half));
            names.zip(part.stats().iter().map(|stats| stats.count))
        });
        let mut replaced: Vec<(PieceName, Half)> = said.clone().map(|(name, _)| name).collect();
        // they come in order, mostly
        replaced.sort();
        let stays = |key: &PieceKey| push.joining.is_none() && replaced.binary_search(&(key.name, key.half)).is_err();
        let kept = self.pool.pieces_of(stamp.shard).filter(|(key, _)| stays(key));
        let kept = kept.filter_map(|(_, piece)| Some(piece.stats.as_ref()?.count));
        let counts = kept.chain(said.map(|(_, count)| count));
        heard.row_counts.check(stamp.shard, counts.chain(push.births.iter().map(|(_, stats)| stats.count)))
    }
}

/// Sums of log-probabilities, of components of a snapshot of this length.
fn check_overlap(overlap: &SweepOverlap, n_components: usize) -> Decoded<()> {
    let log_shares = overlap.pairs.iter().map(|(.., log_share)| log_share);
    let mut log_shares = log_shares.chain(overlap.halves.iter().map(|(_, log_share)| log_share));
    // pairs and halves come in order, so the last ones have the largest places
    let largest = [overlap.pairs.last().map(|pair| pair.1), overlap.halves.last().map(|half| half.0)];
    let are_places = largest.into_iter().flatten().all(|place| (place as usize) < n_components);
    let is_sum = |sum: &f32| *sum <= 0.0 && sum.is_finite();
    require(are_places && log_shares.all(is_sum) && is_sum(&overlap.log_certainty), "invalid overlaps")
}
