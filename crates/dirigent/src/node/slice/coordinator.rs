//! The coordinator of the slice sampler: it owns statistics, α, weights and parameters, and never sees a row.

mod memory;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::draw::{Total, draw};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::Result;
use crate::family::log_joint;
use crate::message::codec::{Message, decode_between, encode};
use crate::message::slice::{
    SharedReply, SliceContribution, SliceDraw, SliceLast, SlicePush, SliceReply, encode_draw, encode_last, encode_reply,
};
use crate::message::{Decoded, Plan, Stamp};
use crate::model::Alpha;
use crate::node::checks::{check_count, check_ids, check_joining, check_stats};
use crate::node::rounds::{Gathering, Heard, Progress};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox, RoundsCoordinatorOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;

/// The node that owns the statistics.
pub struct SliceCoordinator {
    options: RoundsCoordinatorOptions,
    gathering: Gathering<SlicePush>,
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
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Column {
    sum_log_base: f64,
    contributions: Vec<SliceContribution>,
}

impl SliceCoordinator {
    /// A coordinator that waits for its workers' hellos.
    pub fn new(options: RoundsCoordinatorOptions) -> Self {
        Self {
            gathering: Gathering::new(options.n_workers),
            progress: Progress::new(&options),
            columns: BTreeMap::new(),
            live: BTreeSet::new(),
            round: 0,
            epoch: 0,
            last_id: 0,
            is_rebuilding: false,
            is_resumed: false,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: RoundsCoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let gathering = Gathering::again(plan, workers, n_restarts);
        Self { gathering, epoch: n_restarts, is_rebuilding: true, ..Self::new(options) }
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
                let stats = if family.has_counts() { Stats::empty_counts() } else { family.empty_stats() };
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
            Message::SlicePush(push) => {
                let minted = (self.epoch, self.last_id);
                let check = |push: &SlicePush, heard: &Heard<'_>| check_push(stamp, push, heard, minted);
                let pushes = self.gathering.on_push(stamp, push.joining.is_some(), push, check, out)?;
                pushes.map_or(Ok(()), |pushes| self.on_all_pushes(pushes, out))
            }
            _ => Ok(()),
        }
    }

    /// Closes the round, if all have pushed for the same one; who has not is told which it is.
    fn on_all_pushes(&mut self, pushes: Vec<(Stamp, SlicePush)>, out: &mut Outbox) -> Result<()> {
        if std::mem::take(&mut self.is_rebuilding) {
            self.recall(&pushes);
        }
        let next = self.round + 1;
        let has_closed = self.progress.has_closed();
        let is_ready = |push: &SlicePush| has_closed || push.round == next;
        if pushes.iter().all(|(_, push)| is_ready(push)) {
            return self.close_round(pushes, out);
        }
        for (stamp, push) in pushes {
            if is_ready(&push) {
                self.gathering.put_back(stamp, push);
                continue;
            }
            if let Some(joining) = push.joining {
                let column = Column { sum_log_base: joining.sum_log_base, contributions: Vec::new() };
                self.columns.insert(stamp.shard, column);
            }
            let frame = encode(stamp, &Message::SliceReply(SliceReply::Again { round: next }));
            self.gathering.answer(stamp, frame, false, out);
        }
        Ok(())
    }

    /// Takes round, cycle and α from the worker that had heard last.
    fn recall(&mut self, pushes: &[(Stamp, SlicePush)]) {
        let newest = pushes.iter().max_by_key(|(stamp, push)| (push.round, std::cmp::Reverse(stamp.shard)));
        let Some((_, push)) = newest else { return };
        self.round = push.round.saturating_sub(1);
        if let Some(joining) = push.joining {
            self.progress.cycle = joining.cycle;
            if self.options.alpha == Alpha::Auto {
                self.progress.alpha = joining.alpha;
            }
        }
    }

    fn close_round(&mut self, pushes: Vec<(Stamp, SlicePush)>, out: &mut Outbox) -> Result<()> {
        let moved = pushes.iter().filter_map(|(_, push)| push.moved).reduce(|all, moved| all + moved);
        let stamps: Vec<Stamp> = pushes.iter().map(|(stamp, _)| *stamp).collect();
        for (stamp, push) in pushes {
            let before = self.columns.get(&stamp.shard).map_or(0.0, |column| column.sum_log_base);
            let sum_log_base = push.joining.map_or(before, |joining| joining.sum_log_base);
            for contribution in &push.contributions {
                if contribution.id.epoch == self.epoch {
                    self.last_id = self.last_id.max(contribution.id.number);
                }
            }
            self.columns.insert(stamp.shard, Column { sum_log_base, contributions: push.contributions });
        }
        let totals = self.totals();
        if let Some(moved) = moved {
            self.close_cycle(&totals, moved, out);
        }
        let reply = self.reply(totals)?;
        for stamp in stamps {
            self.gathering.answer(stamp, encode_reply(stamp, &reply), self.progress.has_closed(), out);
        }
        out.is_done = self.is_done();
        Ok(())
    }

    fn close_cycle(&mut self, totals: &[Total], moved: u64, out: &mut Outbox) {
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let (family, stats) = (self.gathering.family(), totals.iter().map(|total| &total.stats));
        let log_joint = log_joint(family, stats, self.progress.alpha, sum_log_base);
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        let report = self.progress.close_cycle(log_joint, n_rows, totals.len());
        let live: BTreeSet<ComponentId> = totals.iter().map(|total| total.id).collect();
        let births = live.difference(&self.live).count() as u64;
        out.reports.push(CycleReport { moved, births, ..report });
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
                let pushes = self.gathering.lose(shard);
                out.is_done = self.is_done();
                pushes.map_or(Ok(()), |pushes| self.on_all_pushes(pushes, out))
            }
            Event::Stop => {
                self.progress.stop();
                Ok(())
            }
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.remember()
    }
}
