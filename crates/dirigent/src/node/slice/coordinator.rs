//! The coordinator of the slice sampler: it owns statistics, α, weights and parameters, and never sees a row.

mod memory;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::draw::{Total, draw};
use super::members::{Members, Verdict};
use crate::consolidate::{ComponentId, ShardId};
use crate::error::Result;
use crate::family::{Conjugate, log_joint};
use crate::message::codec::{Message, decode_between, encode};
use crate::message::slice::{
    SharedReply, SliceContribution, SliceDraw, SliceLast, SlicePush, SliceReply, encode_draw, encode_last, encode_reply,
};
use crate::message::{Hello, Plan, Stamp};
use crate::model::{Alpha, Model, ModelOptions};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox};
use crate::posterior::alpha::resample_alpha;
use crate::posterior::horizon::{Cycles, Horizon};
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// What the coordinator of a slice sampler must know to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceCoordinatorOptions {
    /// Workers that take part from the beginning.
    pub n_workers: u32,
    /// What the user said of the model.
    pub model: ModelOptions,
    /// The concentration.
    pub alpha: Alpha,
    /// Cycles to run.
    pub cycles: Cycles,
    /// Cycles at the end whose states are kept.
    pub n_kept: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Which of several chains, from 0.
    pub chain: u16,
    /// Whether workers show their labels to the driver after every cycle.
    pub shows_labels: bool,
    /// The instructions to score with; `None`: the best that all workers have.
    pub kernel: Option<Kernel>,
}

impl SliceCoordinatorOptions {
    /// The plan for data of which all workers' surveys together say `survey`, on machines that all have `kernel`.
    pub fn plan(&self, survey: &Survey, kernel: Kernel) -> Result<Plan> {
        Ok(Plan {
            model: Model::resolve(&self.model, survey)?,
            kernel: self.kernel.unwrap_or(kernel),
            seed: self.seed,
            chain: self.chain,
            sweeps_per_cycle: 1,
            shows_labels: self.shows_labels,
            n_rows: survey.n_rows,
        })
    }
}

/// The node that owns the statistics.
pub struct SliceCoordinator {
    options: SliceCoordinatorOptions,
    /// Workers that have said hello, before the plan.
    hellos: BTreeMap<ShardId, Hello>,
    plan: Option<Plan>,
    members: Members<SlicePush>,
    /// What each worker contributes.
    columns: BTreeMap<ShardId, Column>,
    /// Components with rows, at the last report.
    live: BTreeSet<ComponentId>,
    alpha: f64,
    /// Cycles that are complete.
    cycle: u64,
    /// Draws that were told. A round that nobody completes, because all are lost, is not a cycle; its streams are not used again.
    round: u64,
    /// Which coordinator this is; ids and streams carry it.
    epoch: u32,
    last_id: u64,
    /// Set until a coordinator in another's place has heard from everyone.
    is_rebuilding: bool,
    /// Set for one that goes on from a checkpoint: its first word is what it said last.
    is_resumed: bool,
    horizon: Horizon,
    wants_stop: bool,
    has_closed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Column {
    sum_log_base: f64,
    contributions: Vec<SliceContribution>,
}

impl SliceCoordinator {
    /// A coordinator that waits for its workers' hellos.
    pub fn new(options: SliceCoordinatorOptions) -> Self {
        Self {
            alpha: options.alpha.start(),
            members: Members::new(0..options.n_workers, 0),
            hellos: BTreeMap::new(),
            plan: None,
            columns: BTreeMap::new(),
            live: BTreeSet::new(),
            cycle: 0,
            round: 0,
            epoch: 0,
            last_id: 0,
            is_rebuilding: false,
            is_resumed: false,
            horizon: Horizon::new(options.cycles, options.n_kept),
            wants_stop: false,
            has_closed: false,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: SliceCoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        // above whatever the one before can have handed out
        let members = Members::new(workers.iter().copied(), n_restarts << 24);
        Self { plan: Some(plan), members, epoch: n_restarts, is_rebuilding: true, ..Self::new(options) }
    }

    /// The plan, once there is one.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Components with rows and their statistics, added up in worker order.
    pub fn components(&self) -> Vec<(ComponentId, Stats)> {
        if self.plan.is_none() {
            return Vec::new();
        }
        self.totals().into_iter().map(|total| (total.id, total.stats)).collect()
    }

    fn totals(&self) -> Vec<Total> {
        let mut totals: BTreeMap<ComponentId, Total> = BTreeMap::new();
        for contribution in self.columns.values().flat_map(|column| &column.contributions) {
            let SliceContribution { id, stats, smallest_uniform } = contribution;
            let total = totals.entry(*id).or_insert_with(|| {
                let family = self.family();
                let stats = if family.has_counts() { Stats::empty_counts() } else { family.empty_stats() };
                Total { id: *id, stats, smallest_uniform: 1.0 }
            });
            total.stats.add(stats);
            total.smallest_uniform = smallest_uniform.min(total.smallest_uniform);
        }
        totals.into_values().collect()
    }

    fn family(&self) -> &dyn Conjugate {
        self.plan.as_ref().expect("there is a plan before there are statistics").model.conjugate()
    }

    fn stream(&self, round: u64) -> Stream {
        Seed { seed: self.options.seed, chain: self.options.chain }.stream(Role::SliceWeights, self.epoch, round)
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let stats_len = self.plan.as_ref().map(|plan| plan.model.conjugate().stats_len());
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, stats_len)?;
        match message {
            Message::Hello(hello) => self.on_hello(stamp, hello, out),
            Message::SlicePush(push) => {
                match self.members.on_push(stamp, push.joining.is_some(), push) {
                    Verdict::Waits => return self.close_round_if_all_have_come(out),
                    Verdict::SendAgain(reply) => out.send(Address::Worker(stamp.shard), reply),
                    Verdict::Rejoin => self.send_rejoin(stamp.shard, out),
                    Verdict::Nothing => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn on_hello(&mut self, stamp: Stamp, hello: Hello, out: &mut Outbox) -> Result<()> {
        if self.plan.is_some() {
            self.send_plan(stamp.shard, out);
            return Ok(());
        }
        self.hellos.insert(stamp.shard, hello);
        if self.hellos.len() == self.options.n_workers as usize {
            let hellos = std::mem::take(&mut self.hellos);
            let surveys = hellos.values().map(|hello| hello.survey.clone());
            let survey = surveys.reduce(|all, survey| all.merge(&survey)).expect("there is a worker");
            let kernel = hellos.values().map(|hello| hello.kernel).reduce(Kernel::common).expect("there is a worker");
            self.plan = Some(self.options.plan(&survey, kernel)?);
            hellos.into_keys().for_each(|shard| self.send_plan(shard, out));
        }
        Ok(())
    }

    fn send_plan(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        let plan = self.plan.clone().expect("there is a plan");
        out.send(Address::Worker(shard), encode(stamp, &Message::Plan(plan)));
    }

    fn send_rejoin(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        out.send(Address::Worker(shard), encode(stamp, &Message::Rejoin));
    }

    fn close_round_if_all_have_come(&mut self, out: &mut Outbox) -> Result<()> {
        let Some(pushes) = self.members.take_round() else { return Ok(()) };
        if std::mem::take(&mut self.is_rebuilding) {
            self.recall(&pushes);
        }
        let next = self.round + 1;
        let is_ready = |push: &SlicePush| self.has_closed || push.round == next;
        if pushes.iter().all(|(_, push)| is_ready(push)) {
            return self.close_round(pushes, out);
        }
        for (stamp, push) in pushes {
            if self.has_closed || push.round == next {
                self.members.put_back(stamp, push);
                continue;
            }
            if let Some(joining) = push.joining {
                let column = Column { sum_log_base: joining.sum_log_base, contributions: Vec::new() };
                self.columns.insert(stamp.shard, column);
            }
            let frame = encode(stamp, &Message::SliceReply(SliceReply::Again { round: next }));
            self.answer(stamp, frame, false, out);
        }
        Ok(())
    }

    /// Takes round, cycle and α from the worker that had heard last.
    fn recall(&mut self, pushes: &[(Stamp, SlicePush)]) {
        let newest = pushes.iter().max_by_key(|(stamp, push)| (push.round, std::cmp::Reverse(stamp.shard)));
        let Some((_, push)) = newest else { return };
        self.round = push.round.saturating_sub(1);
        if let Some(joining) = push.joining {
            self.cycle = joining.cycle;
            if self.options.alpha == Alpha::Auto {
                self.alpha = joining.alpha;
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
            self.answer(stamp, encode_reply(stamp, &reply), self.has_closed, out);
        }
        out.is_done = self.is_done();
        Ok(())
    }

    fn close_cycle(&mut self, totals: &[Total], moved: u64, out: &mut Outbox) {
        self.cycle += 1;
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let log_joint = log_joint(self.family(), totals.iter().map(|total| &total.stats), self.alpha, sum_log_base);
        self.horizon.observe(self.cycle, log_joint, totals.len());
        self.has_closed |= self.wants_stop || self.cycle >= self.horizon.last_cycle();
        let live: BTreeSet<ComponentId> = totals.iter().map(|total| total.id).collect();
        out.reports.push(CycleReport {
            cycle: self.cycle,
            log_joint,
            n_rows: totals.iter().map(|total| total.stats.count as u64).sum(),
            k: totals.len(),
            alpha: self.alpha,
            moved,
            births: live.difference(&self.live).count() as u64,
            merges: 0,
            splits: 0,
            ending: self.horizon.ending(),
        });
        self.live = live;
    }

    /// The next draw, or the last word.
    fn reply(&mut self, totals: Vec<Total>) -> Result<SharedReply> {
        if self.has_closed {
            let components = totals.into_iter().map(|total| (total.id, total.stats)).collect();
            return Ok(encode_last(&SliceLast { cycle: self.cycle, components }));
        }
        self.round += 1;
        let mut rng = self.stream(self.round);
        if self.options.alpha == Alpha::Auto && !totals.is_empty() {
            let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
            self.alpha = resample_alpha(self.alpha, totals.len() as u64, n_rows, &mut rng);
        }
        let plan = self.plan.as_ref().expect("there is a plan");
        let (epoch, last_id) = (self.epoch, &mut self.last_id);
        let mint = || {
            *last_id += 1;
            ComponentId { epoch, number: *last_id }
        };
        let least_weight = 1.0 / plan.n_rows as f64;
        let (ids, components) = draw(plan.model.conjugate(), &totals, self.alpha, least_weight, mint, &mut rng)?;
        let draw = SliceDraw { round: self.round, cycle: self.cycle, alpha: self.alpha, ids, components };
        Ok(encode_draw(&draw))
    }

    fn answer(&mut self, stamp: Stamp, frame: Frame, is_last: bool, out: &mut Outbox) {
        self.members.answered(stamp, frame.clone(), is_last);
        out.send(Address::Worker(stamp.shard), frame);
    }

    fn is_done(&self) -> bool {
        self.has_closed && self.members.all_released()
    }
}

impl Node for SliceCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => {
                if self.is_rebuilding {
                    self.members.awaited().into_iter().for_each(|shard| self.send_rejoin(shard, out));
                }
                if self.is_resumed {
                    self.members.answers().for_each(|(shard, answer)| out.send(Address::Worker(shard), answer));
                    out.is_done = self.is_done();
                }
                Ok(())
            }
            Event::Frame { from, frame } => self.on_frame(from, &frame, out),
            Event::Lost(shard) => {
                self.members.lose(shard);
                self.columns.remove(&shard);
                out.is_done = self.is_done();
                self.close_round_if_all_have_come(out)
            }
            Event::Stop => {
                self.wants_stop = true;
                Ok(())
            }
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.remember()
    }
}
