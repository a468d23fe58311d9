//! The coordinator of the slice sampler: it owns statistics, α, weights and parameters, and never sees a row.

mod memory;
mod moves;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::moves::Moving;
use super::draw::{Total, draw};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::Result;
use crate::family::log_joint;
use crate::message::codec::{Message, decode_between, encode};
use crate::message::slice::{
    SharedReply, SliceContribution, SliceDraw, SliceLast, SlicePush, SliceReply, encode_draw, encode_last,
};
use crate::message::slice_move::SliceSides;
use crate::message::{Decoded, Plan, Stamp, require};
use crate::model::{Alpha, Model};
use crate::node::checks::{check_count, check_ids, check_joining, check_stats};
use crate::node::rounds::{Gathering, Heard, Progress};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox, RoundsCoordinatorOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct SliceCoordinator {
    options: RoundsCoordinatorOptions,
    gathering: Gathering<Said>,
    progress: Progress,
    /// What each worker contributes.
    columns: BTreeMap<ShardId, Column>,
    /// Components with rows, at the last report.
    live: BTreeSet<ComponentId>,
    /// Draws that were told. A round that nobody completes, because all are lost, is not a cycle; its streams are not used again.
    round: u64,
    /// Which coordinator this is; ids and streams carry it.
    epoch: u32,
    last_id: u64,
    /// Set until a coordinator in another's place has heard from everyone.
    is_rebuilding: bool,
    /// Set for one that goes on from a checkpoint: its first word is what it said last.
    is_resumed: bool,
    /// The cycle whose labels are drawn, while splits and merges are tried.
    moving: Option<Moving>,
    /// As it was when the last draw was told: where it stands while splits and merges are tried.
    border: Option<Vec<u8>>,
}

/// What a round waits for from each worker.
enum Said {
    Push(SlicePush),
    Sides(SliceSides),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Column {
    sum_log_base: f64,
    contributions: Vec<SliceContribution>,
}

impl SliceCoordinator {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: RoundsCoordinatorOptions, model: Model) -> Self {
        Self {
            gathering: Gathering::new(options.n_workers, model),
            progress: Progress::new(&options),
            columns: BTreeMap::new(),
            live: BTreeSet::new(),
            round: 0,
            epoch: 0,
            last_id: 0,
            is_rebuilding: false,
            is_resumed: false,
            moving: None,
            border: None,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: RoundsCoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let new = Self::new(options, plan.model.clone());
        let gathering = Gathering::again(plan, workers, n_restarts);
        Self { gathering, epoch: n_restarts, is_rebuilding: true, ..new }
    }

    /// The plan, once there is one.
    pub fn plan(&self) -> Option<&Plan> {
        self.gathering.plan()
    }

    /// Components with rows and their statistics, added up in worker order.
    pub fn components(&self) -> Vec<(ComponentId, Stats)> {
        if self.plan().is_none() {
            return Vec::new();
        }
        self.totals().into_iter().map(|total| (total.id, total.stats)).collect()
    }

    fn totals(&self) -> Vec<Total> {
        let mut totals: BTreeMap<ComponentId, Total> = BTreeMap::new();
        for contribution in self.columns.values().flat_map(|column| &column.contributions) {
            let SliceContribution { id, stats, smallest_uniform } = contribution;
            let total = totals.entry(*id).or_insert_with(|| {
                let family = self.gathering.family();
                let stats = family.empty_contribution();
                Total { id: *id, stats, smallest_uniform: 1.0 }
            });
            total.stats.add(stats);
            total.smallest_uniform = smallest_uniform.min(total.smallest_uniform);
        }
        totals.into_values().collect()
    }

    fn stream(&self, round: u64) -> Stream {
        Seed { seed: self.options.seed, chain: self.options.chain }.stream(Role::SliceWeights, self.epoch, round)
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, self.gathering.stats_len())?;
        match message {
            Message::Hello(hello) => self.gathering.on_hello(stamp, hello, &self.options, out),
            Message::SlicePush(push) => self.on_said(stamp, Said::Push(push), out),
            Message::SliceSides(sides) => self.on_said(stamp, Said::Sides(sides), out),
            _ => Ok(()),
        }
    }

    fn on_said(&mut self, stamp: Stamp, said: Said, out: &mut Outbox) -> Result<()> {
        let is_joining = matches!(&said, Said::Push(push) if push.joining.is_some());
        let (minted, moving) = ((self.epoch, self.last_id), self.moving.as_ref());
        let check = |said: &Said, heard: &Heard<'_>| match said {
            Said::Push(push) => check_push(stamp, push, heard, minted),
            Said::Sides(sides) => moving.map_or_else(
                || require(false, "an answer to what nobody asked"),
                |moving| moving.check(stamp.shard, sides, heard),
            ),
        };
        let all = self.gathering.on_push(stamp, is_joining, said, check, out)?;
        all.map_or(Ok(()), |all| self.on_all_said(all, out))
    }

    /// Goes on with a split or a merge, or closes the round, if all have pushed for the same one; who has not is told which it is.
    fn on_all_said(&mut self, all: Vec<(Stamp, Said)>, out: &mut Outbox) -> Result<()> {
        if std::mem::take(&mut self.is_rebuilding) {
            self.recall(&all);
        }
        let n_sides = all.iter().filter(|(_, said)| matches!(said, Said::Sides(_))).count();
        let goes_on = self.moving.as_ref().is_some_and(Moving::goes_on);
        if n_sides == all.len() && goes_on {
            return self.on_all_sides(all, out);
        }
        if let Some(moving) = self.moving.as_mut().filter(|_| n_sides > 0) {
            moving.give_up();
        }
        let next = self.round + 1;
        let has_closed = self.progress.has_closed();
        // whoever has answered a step has pushed for this round before
        let is_ready = |said: &Said| match said {
            Said::Push(push) => has_closed || push.round == next,
            Said::Sides(_) => true,
        };
        if all.iter().all(|(_, said)| is_ready(said)) {
            return self.close_round(all, out);
        }
        for (stamp, said) in all {
            let is_ready = is_ready(&said);
            match said {
                Said::Push(push) if !is_ready => self.ask_again(stamp, &push, out),
                said => self.gathering.put_back(stamp, said),
            }
        }
        Ok(())
    }

    fn ask_again(&mut self, stamp: Stamp, push: &SlicePush, out: &mut Outbox) {
        if let Some(joining) = push.joining {
            let column = Column { sum_log_base: joining.sum_log_base, contributions: Vec::new() };
            self.columns.insert(stamp.shard, column);
        }
        let frame = encode(stamp, &Message::SliceReply(SliceReply::Again { round: self.round + 1 }));
        self.gathering.answer(stamp, frame, false, out);
    }

    /// Takes round, cycle and α from the worker that had heard last.
    fn recall(&mut self, all: &[(Stamp, Said)]) {
        let pushes = all.iter().filter_map(|(stamp, said)| match said {
            Said::Push(push) => Some((stamp, push)),
            Said::Sides(_) => None,
        });
        let newest = pushes.max_by_key(|(stamp, push)| (push.round, std::cmp::Reverse(stamp.shard)));
        let Some((_, push)) = newest else { return };
        self.round = push.round.saturating_sub(1);
        if let Some(joining) = push.joining {
            self.progress.cycle = joining.cycle;
            if self.options.alpha == Alpha::Auto {
                self.progress.alpha = joining.alpha;
            }
        }
    }

    fn close_round(&mut self, all: Vec<(Stamp, Said)>, out: &mut Outbox) -> Result<()> {
        let stamps: Vec<Stamp> = all.iter().map(|(stamp, _)| *stamp).collect();
        let mut all_moved = None;
        for (stamp, said) in all {
            let Said::Push(push) = said else { continue };
            let before = self.columns.get(&stamp.shard).map_or(0.0, |column| column.sum_log_base);
            let sum_log_base = push.joining.map_or(before, |joining| joining.sum_log_base);
            for contribution in &push.contributions {
                if contribution.id.epoch == self.epoch {
                    self.last_id = self.last_id.max(contribution.id.number);
                }
            }
            self.columns.insert(stamp.shard, Column { sum_log_base, contributions: push.contributions });
            all_moved = push.moved.map(|moved| all_moved.unwrap_or(0) + moved).or(all_moved);
        }
        if let Some(moved) = all_moved {
            self.moving.get_or_insert_default().moved += moved;
        }
        self.go_on(&stamps, out)
    }

    /// Completes the cycle, if labels were drawn, and tells what comes next.
    fn complete(&mut self, stamps: &[Stamp], out: &mut Outbox) -> Result<()> {
        let totals = self.totals();
        if let Some(moving) = self.moving.take() {
            self.close_cycle(&totals, &moving, out);
        }
        let reply = self.reply(totals)?;
        self.tell_all(stamps, &reply, out);
        self.border = (self.options.moves_per_cycle > 0).then(|| self.remember());
        out.is_done = self.is_done();
        Ok(())
    }

    fn close_cycle(&mut self, totals: &[Total], moving: &Moving, out: &mut Outbox) {
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let (family, stats) = (self.gathering.family(), totals.iter().map(|total| &total.stats));
        let log_joint = log_joint(family, stats, self.progress.alpha, sum_log_base);
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        let report = self.progress.close_cycle(log_joint, n_rows, totals.len());
        let live: BTreeSet<ComponentId> = totals.iter().map(|total| total.id).collect();
        let births = live.difference(&self.live).filter(|id| !moving.from_splits.contains(id)).count() as u64;
        let Moving { moved, n_judged: attempts, splits, merges, .. } = *moving;
        out.reports.push(CycleReport { moved, births, attempts, splits, merges, ..report });
        self.live = live;
    }

    /// The next draw, or the last word.
    fn reply(&mut self, totals: Vec<Total>) -> Result<SharedReply> {
        if self.progress.has_closed() {
            let components = totals.into_iter().map(|total| (total.id, total.stats)).collect();
            return Ok(encode_last(&SliceLast { cycle: self.progress.cycle, components }));
        }
        self.round += 1;
        let mut rng = self.stream(self.round);
        if self.options.alpha == Alpha::Auto && !totals.is_empty() {
            let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
            self.progress.alpha = resample_alpha(self.progress.alpha, totals.len() as u64, n_rows, &mut rng);
        }
        let plan = self.gathering.plan().expect("there is a plan");
        let Progress { cycle, alpha, .. } = self.progress;
        let (epoch, last_id) = (self.epoch, &mut self.last_id);
        let mint = || {
            *last_id += 1;
            ComponentId { epoch, number: *last_id }
        };
        let least_weight = 1.0 / plan.n_rows as f64;
        let (ids, components) = draw(plan.model.conjugate(), &totals, alpha, least_weight, mint, &mut rng)?;
        Ok(encode_draw(&SliceDraw { round: self.round, cycle, alpha, ids, components }))
    }

    fn is_done(&self) -> bool {
        self.progress.has_closed() && self.gathering.all_released()
    }
}

/// What a push may say, given the ids that were handed out: the epoch, and the last of it.
fn check_push(stamp: Stamp, push: &SlicePush, heard: &Heard<'_>, (epoch, last): (u32, u64)) -> Decoded<()> {
    if let Some(joining) = &push.joining {
        check_joining(joining, stamp, heard.n_incarnations)?;
    }
    check_count(push.round)?;
    check_count(push.moved.unwrap_or(0))?;
    // whoever joins may know components by names that labels began with
    let last = if push.joining.is_some() { u64::MAX } else { last };
    check_ids(push.contributions.iter().map(|contribution| &contribution.id), epoch, last)?;
    check_stats(push.contributions.iter().map(|contribution| &contribution.stats), heard.family)?;
    heard.row_counts.check(stamp.shard, push.contributions.iter().map(|contribution| contribution.stats.count))
}

impl Node for SliceCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.is_rebuilding => {
                self.gathering.ask_all(out);
                Ok(())
            }
            Event::Start if self.is_resumed => {
                self.gathering.answer_again(out);
                out.is_done = self.is_done();
                Ok(())
            }
            Event::Start => Ok(()),
            Event::Frame { from, frame } => self.on_frame(from, &frame, out),
            Event::Lost(shard) => {
                self.columns.remove(&shard);
                if let Some(moving) = &mut self.moving {
                    moving.give_up();
                }
                // labels that were drawn are gone with the last who had some
                self.moving = self.moving.take().filter(|_| !self.columns.is_empty());
                let all = self.gathering.lose(shard);
                out.is_done = self.is_done();
                all.map_or(Ok(()), |all| self.on_all_said(all, out))
            }
            Event::Stop => {
                self.progress.stop();
                Ok(())
            }
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.border.clone().filter(|_| self.moving.is_some()).unwrap_or_else(|| self.remember())
    }
}
