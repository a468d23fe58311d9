//! The ledger of the slice sampler: statistics, from which α, weights and parameters are drawn.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Slice;
use super::draw::{SliceTotal, draw};
use super::message::{SliceContribution, SliceDraw, SliceHead, SlicePush, SliceReply, SliceWord};
use super::moves::MoveRound;
use crate::consolidate::{ComponentId, ShardId, fits};
use crate::error::Result;
use crate::family::{Conjugate, log_joint};
use crate::model::Alpha;
use crate::posterior::alpha::resample_alpha;
use crate::protocol::codec::{encode_reply, encode_shared};
use crate::protocol::message::Stamp;
use crate::protocol::{
    CoordinatorOptions, CycleReport, Decoded, FinalComponents, IdMint, Ledger, PushContext, Round, check_count,
    check_joining, check_stats, require,
};
use crate::rng::{Role, Seed};
use crate::stats::Stats;

/// What workers contribute, and how many draws there were.
#[derive(Serialize, Deserialize)]
pub struct SliceLedger {
    pub(super) columns: BTreeMap<ShardId, SliceColumn>,
    /// Components with rows, at the last report.
    live: BTreeSet<ComponentId>,
    /// Draws that were sent. A round that no worker completes, because all are lost, is not a
    /// cycle; its streams are not used again.
    pub(super) round: u64,
    pub(super) ids: IdMint,
    /// The cycle whose labels are drawn, while splits and merges are tried.
    #[serde(skip)]
    pub(super) moving: Option<MoveRound>,
}

/// What a worker contributes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SliceColumn {
    sum_log_base: f64,
    pub(super) contributions: Vec<SliceContribution>,
}

impl Ledger<Slice> for SliceLedger {
    fn new(_options: &CoordinatorOptions, n_restarts: u32) -> Self {
        let (columns, live) = (BTreeMap::new(), BTreeSet::new());
        Self { columns, live, round: 0, ids: IdMint::new(n_restarts), moving: None }
    }

    fn restore(&mut self, _options: &CoordinatorOptions, family: &dyn Conjugate) -> bool {
        let mut contributions = self.columns.values().flat_map(|column| &column.contributions);
        contributions.all(|contribution| fits(&contribution.stats, family))
    }

    fn check(&self, stamp: Stamp, word: &SliceWord, context: &PushContext<'_>) -> Decoded<()> {
        match (word, &self.moving) {
            (SliceWord::Push(push), _) => self.check_push(stamp, push, context),
            (SliceWord::Sides(sides), Some(moving)) => moving.check(stamp.shard, sides, context),
            (SliceWord::Sides(_), None) => require(false, "an answer to what nobody asked"),
        }
    }

    /// Takes round, cycle and α from the worker that had heard last.
    fn recall(&mut self, words: &[(Stamp, SliceWord)], round: &mut Round<'_, Slice>) {
        let pushes = words.iter().filter_map(|(stamp, word)| match word {
            SliceWord::Push(push) => Some((stamp, push)),
            SliceWord::Sides(_) => None,
        });
        let newest = pushes.max_by_key(|(stamp, push)| (push.round, std::cmp::Reverse(stamp.shard)));
        let Some((_, push)) = newest else { return };
        self.round = push.round.saturating_sub(1);
        if let Some(joining) = &push.joining {
            round.recall(joining);
        }
    }

    /// Goes on with a split or a merge, or closes the round, if all have pushed for the same one;
    /// other workers learn which it is.
    fn absorb(&mut self, words: Vec<(Stamp, SliceWord)>, round: &mut Round<'_, Slice>) -> Result<()> {
        let n_sides = words.iter().filter(|(_, word)| matches!(word, SliceWord::Sides(_))).count();
        let goes_on = self.moving.as_ref().is_some_and(MoveRound::goes_on);
        if n_sides == words.len() && goes_on {
            return self.on_all_sides(words, round);
        }
        if let Some(moving) = self.moving.as_mut().filter(|_| n_sides > 0) {
            moving.give_up();
        }
        let next = self.round + 1;
        let has_closed = round.progress.has_closed();
        // a worker that has answered a step has pushed for this round before
        let is_ready = |word: &SliceWord| match word {
            SliceWord::Push(push) => has_closed || push.round == next,
            SliceWord::Sides(_) => true,
        };
        if words.iter().all(|(_, word)| is_ready(word)) {
            return self.close_round(words, round);
        }
        for (stamp, word) in words {
            let is_ready = is_ready(&word);
            match word {
                SliceWord::Push(push) if !is_ready => self.ask_again(stamp, &push, round),
                word => round.gathering.put_back(stamp, word),
            }
        }
        Ok(())
    }

    fn lose(&mut self, shard: ShardId, _round: &mut Round<'_, Slice>) {
        self.columns.remove(&shard);
        if let Some(moving) = &mut self.moving {
            moving.give_up();
        }
        // labels that were drawn are gone with the last worker that had some
        self.moving = self.moving.take().filter(|_| !self.columns.is_empty());
    }

    fn is_between_borders(&self) -> bool {
        self.moving.is_some()
    }

    fn components(&self, family: &dyn Conjugate) -> Vec<(ComponentId, Stats)> {
        self.totals(family).into_iter().map(|total| (total.id, total.stats)).collect()
    }
}

impl SliceLedger {
    pub(super) fn totals(&self, family: &dyn Conjugate) -> Vec<SliceTotal> {
        let mut totals: BTreeMap<ComponentId, SliceTotal> = BTreeMap::new();
        for contribution in self.columns.values().flat_map(|column| &column.contributions) {
            let SliceContribution { id, stats, smallest_uniform } = contribution;
            let total = totals.entry(*id).or_insert_with(|| SliceTotal {
                id: *id,
                stats: family.empty_contribution(),
                smallest_uniform: 1.0,
            });
            total.stats.add(stats);
            total.smallest_uniform = smallest_uniform.min(total.smallest_uniform);
        }
        totals.into_values().collect()
    }

    fn check_push(&self, stamp: Stamp, push: &SlicePush, context: &PushContext<'_>) -> Decoded<()> {
        if let Some(joining) = &push.joining {
            check_joining(joining, stamp, context.n_incarnations)?;
        }
        check_count(push.round)?;
        check_count(push.moved.unwrap_or(0))?;
        self.ids.check(push.contributions.iter().map(|contribution| &contribution.id), push.joining.as_ref())?;
        check_stats(push.contributions.iter().map(|contribution| &contribution.stats), context.family)?;
        let counts = push.contributions.iter().map(|contribution| contribution.stats.count);
        context.row_counts.check(stamp.shard, counts)
    }

    fn ask_again(&mut self, stamp: Stamp, push: &SlicePush, round: &mut Round<'_, Slice>) {
        if let Some(joining) = push.joining {
            let column = SliceColumn { sum_log_base: joining.sum_log_base, contributions: Vec::new() };
            self.columns.insert(stamp.shard, column);
        }
        let frame = encode_reply(stamp, &SliceHead::Again { round: self.round + 1 }, None);
        round.gathering.answer(stamp, frame, false, round.out);
    }

    fn close_round(&mut self, words: Vec<(Stamp, SliceWord)>, round: &mut Round<'_, Slice>) -> Result<()> {
        let stamps: Vec<Stamp> = words.iter().map(|(stamp, _)| *stamp).collect();
        let mut all_moved = None;
        for (stamp, word) in words {
            let SliceWord::Push(push) = word else { continue };
            let before = self.columns.get(&stamp.shard).map_or(0.0, |column| column.sum_log_base);
            let sum_log_base = push.joining.map_or(before, |joining| joining.sum_log_base);
            self.ids.note(push.contributions.iter().map(|contribution| &contribution.id));
            self.columns.insert(stamp.shard, SliceColumn { sum_log_base, contributions: push.contributions });
            all_moved = push.moved.map(|moved| all_moved.unwrap_or(0) + moved).or(all_moved);
        }
        if let Some(moved) = all_moved {
            self.moving.get_or_insert_default().moved += moved;
        }
        self.try_moves(&stamps, round)
    }

    /// Completes the cycle, if labels were drawn, and sends what comes next.
    pub(super) fn complete(&mut self, stamps: &[Stamp], round: &mut Round<'_, Slice>) -> Result<()> {
        let totals = self.totals(round.gathering.family());
        if let Some(moving) = self.moving.take() {
            self.close_cycle(&totals, &moving, round);
        }
        let reply = self.reply(totals, round)?;
        tell_all(stamps, &reply, round);
        round.is_border = round.options.moves_per_cycle > 0;
        Ok(())
    }

    fn close_cycle(&mut self, totals: &[SliceTotal], moving: &MoveRound, round: &mut Round<'_, Slice>) {
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let (family, stats) = (round.gathering.family(), totals.iter().map(|total| &total.stats));
        let log_joint = log_joint(family, stats, round.progress.alpha, sum_log_base);
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        let report = round.progress.close_cycle(log_joint, n_rows, totals.len());
        let live: BTreeSet<ComponentId> = totals.iter().map(|total| total.id).collect();
        let births = live.difference(&self.live).filter(|id| !moving.from_splits.contains(id)).count() as u64;
        let MoveRound { moved, n_judged: attempts, splits, merges, .. } = *moving;
        round.out.reports.push(CycleReport { moved, births, attempts, splits, merges, ..report });
        self.live = live;
    }

    /// The final state, or what labels are drawn from next.
    fn reply(&mut self, totals: Vec<SliceTotal>, round: &mut Round<'_, Slice>) -> Result<SliceReply> {
        if round.progress.has_closed() {
            let components = totals.into_iter().map(|total| (total.id, total.stats)).collect();
            return Ok(SliceReply::Last(FinalComponents { cycle: round.progress.cycle, components }));
        }
        self.round += 1;
        let seed = Seed { seed: round.options.seed, chain: round.options.chain };
        let mut rng = seed.stream(Role::SliceWeights, self.ids.epoch, self.round);
        if round.options.alpha == Alpha::Auto && !totals.is_empty() {
            let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
            round.progress.alpha = resample_alpha(round.progress.alpha, totals.len() as u64, n_rows, &mut rng);
        }
        let (cycle, alpha) = (round.progress.cycle, round.progress.alpha);
        let plan = round.gathering.plan().expect("there is a plan");
        let least_weight = 1.0 / plan.n_rows as f64;
        let mint = || self.ids.mint();
        let (ids, components) = draw(plan.model.conjugate(), &totals, alpha, least_weight, mint, &mut rng)?;
        Ok(SliceReply::Draw(SliceDraw { round: self.round, cycle, alpha, ids, components }))
    }
}

/// Answers all workers alike.
pub(super) fn tell_all(stamps: &[Stamp], reply: &SliceReply, round: &mut Round<'_, Slice>) {
    let is_last = round.progress.has_closed();
    let shared = encode_shared(reply);
    for stamp in stamps {
        let frame = encode_reply(*stamp, &SliceHead::All, Some(&shared));
        round.gathering.answer(*stamp, frame, is_last, round.out);
    }
}
