//! The worker of AV: the clusters it holds for now, with all their rows.
//!
//! A cycle: take clusters in, sweep them, send clusters away.

use serde::{Deserialize, Serialize};

use super::held::Held;
use crate::consolidate::merges::merge_alike;
use crate::consolidate::{ComponentId, LabelEntropy, PieceKey, PieceName, Pool, ShardId};
use crate::error::Result;
use crate::family::{Conjugate, Family};
use crate::message::av::{AvPush, AvReply, AvSwept, Parcel, ShownRows};
use crate::message::codec::Message;
use crate::message::slice::SliceLast;
use crate::message::{Decoded, Plan, ShownLabels};
use crate::model::with_family;
use crate::node::checks::{check_alpha, check_count, check_last, check_plan};
use crate::node::life::Life;
use crate::node::rounds::{assigned, by_final_number, renamed};
use crate::node::{Address, Event, Frame, Node, Outbox};
use crate::rng::Role;
use crate::rows::Shard;
use crate::special::log_gamma;
use crate::stats::Stats;
use crate::sweep::reference::contributions;
use crate::sweep::{Kernel, SweepInfo, UNASSIGNED, sampler};

/// Clusters that a run begins with have no worker to be named after.
const START: u32 = u32::MAX;

/// What a worker is told before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvWorkerOptions {
    /// All workers.
    pub n_workers: u32,
    /// The place of its first row in the input.
    pub first_row: u64,
    /// Whether it merges its own clusters after a sweep.
    pub merges: bool,
}

/// The worker that begins with a shard.
pub struct AvWorker {
    life: Life,
    options: AvWorkerOptions,
    /// Labels to begin with, until the plan has come.
    start: Option<Vec<u32>>,
    /// `None` until the plan has come.
    work: Option<Work>,
}

/// What a worker does once it has a plan.
struct Work {
    shard_id: ShardId,
    options: AvWorkerOptions,
    plan: Plan,
    held: Held,
    /// Clusters it has named.
    n_minted: u64,
}

impl AvWorker {
    /// A worker that begins with the rows of a shard, and with labels for them if the run has some.
    pub fn new(
        shard_id: ShardId,
        shard: Shard,
        kernel: Kernel,
        options: AvWorkerOptions,
        start: Option<Vec<u32>>,
    ) -> Self {
        assert!(start.as_ref().is_none_or(|labels| labels.len() == shard.n_rows()), "one label a row");
        Self { life: Life::new(shard_id, shard, kernel), options, start, work: None }
    }

    /// The places in the input of the rows it holds; `None` before it has a plan.
    pub fn places(&self) -> Option<&[u64]> {
        self.work.as_ref().map(|work| work.held.places.as_slice())
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = self.life.open(from, frame, self.work.as_ref().map(|work| &work.plan))?;
        match message {
            Message::Plan(plan) if self.work.is_none() => {
                check_plan(&plan, self.life.shard()).map_err(|refusal| refusal.of(from))?;
                self.life.begin(stamp.incarnation);
                let (shard_id, shard) = (self.life.shard_id(), self.life.shard());
                let work = self.work.insert(Work::new(shard_id, self.options, plan, shard, self.start.take()));
                let push = AvPush::Join { sum_log_base: work.sum_log_base(), parcels: work.deal() };
                self.life.push(&Message::AvPush(push), out);
                Ok(())
            }
            Message::AvReply(reply) if self.life.awaits(stamp) => {
                self.on_reply(reply, out).map_err(|refusal| refusal.of(from))
            }
            // late or doubled: what it asks for has been done
            _ => Ok(()),
        }
    }

    fn on_reply(&mut self, reply: AvReply, out: &mut Outbox) -> Decoded<()> {
        let work = self.work.as_mut().expect("a reply answers a push");
        match reply {
            AvReply::Sweep { cycle, alpha, parcels } => {
                check_alpha(alpha)?;
                check_count(cycle)?;
                work.held.take_in(&parcels)?;
                if work.plan.shows_labels {
                    self.life.show(&Message::ShownRows(work.show(cycle)), out);
                }
                out.swept_rows += work.held.rows.n_rows() as u64;
                let swept = work.sweep(cycle, alpha);
                self.life.push(&Message::AvPush(AvPush::Swept(swept)), out);
            }
            AvReply::Sum { parcels } => {
                work.held.take_in(&parcels)?;
                let totals = work.held.ids.iter().copied().zip(work.contributions()).collect();
                self.life.push(&Message::AvPush(AvPush::Totals(totals)), out);
            }
            AvReply::Last(last) => {
                self.life.show(&Message::ShownRows(work.show_last(last)?), out);
                self.life.end(out);
            }
        }
        Ok(())
    }
}

impl Work {
    fn new(shard_id: ShardId, options: AvWorkerOptions, plan: Plan, shard: &Shard, start: Option<Vec<u32>>) -> Self {
        let n_labels = start.iter().flatten().max().map_or(0, |largest| u64::from(*largest) + 1);
        let ids = (1..=n_labels).map(|number| ComponentId { epoch: START, number }).collect();
        let labels = start.unwrap_or_else(|| vec![UNASSIGNED; shard.n_rows()]);
        let held = Held::new(shard.clone(), options.first_row, labels, ids, plan.n_rows);
        Self { shard_id, options, plan, held, n_minted: 0 }
    }

    fn family(&self) -> &dyn Conjugate {
        self.plan.model.conjugate()
    }

    fn sum_log_base(&self) -> f64 {
        let rows = self.held.rows.rows();
        with_family!(&self.plan.model, family => rows.map(|row| family.log_base_measure(row)).sum())
    }

    /// The statistics of its clusters.
    fn contributions(&self) -> Vec<Stats> {
        let Held { rows, labels, ids, .. } = &self.held;
        with_family!(&self.plan.model, family => contributions(family, rows, labels, ids.len()))
    }

    /// Brings the parts of clusters that the run begins with together: all workers draw the same worker for each.
    fn deal(&mut self) -> Vec<(ShardId, Parcel)> {
        let worker = |id: &ComponentId| {
            let mut rng = self.plan.seed().stream(Role::Places, START, id.number);
            rng.below(self.options.n_workers as usize) as ShardId
        };
        let workers: Vec<ShardId> = self.held.ids.iter().map(worker).collect();
        self.held.send_away(&workers, self.shard_id)
    }

    /// A sweep over what it holds, after which clusters leave.
    fn sweep(&mut self, cycle: u64, alpha: f64) -> AvSwept {
        let SweepInfo { moved, births } = self.sweep_rows(cycle, alpha / f64::from(self.options.n_workers));
        let mut stats = self.contributions();
        let mut n_merges = 0;
        if self.options.merges {
            n_merges = self.merge(&stats, alpha);
            stats = self.contributions();
        }
        let (family, log_normalizer_empty) = (self.family(), self.family().log_normalizer_empty());
        let log_density =
            |stats: &Stats| log_gamma(stats.count as f64) + family.log_normalizer(stats) - log_normalizer_empty;
        let log_density = stats.iter().map(log_density).sum();
        let (n_rows, k) = (self.held.rows.n_rows() as u64, self.held.ids.len() as u64);
        let mut rng = self.plan.seed().stream(Role::Places, self.shard_id, cycle);
        let workers: Vec<ShardId> = (0..k).map(|_| rng.below(self.options.n_workers as usize) as ShardId).collect();
        let parcels = self.held.send_away(&workers, self.shard_id);
        AvSwept { moved, births, merges: n_merges, n_rows, k, log_density, parcels }
    }

    /// Draws every row's cluster; those without rows are forgotten, new ones get a name.
    fn sweep_rows(&mut self, cycle: u64, alpha: f64) -> SweepInfo {
        let mut sampler = sampler(&self.plan.model, self.held.rows.clone(), self.plan.kernel);
        sampler.load(&self.contributions());
        sampler.set_labels(self.held.labels.clone());
        let mut rng = self.plan.seed().stream(Role::Sweep, self.shard_id, cycle);
        let info = sampler.sweep(alpha, &mut rng);
        let before = std::mem::take(&mut self.held.ids);
        let mut numbers: Vec<Option<u32>> = Vec::new();
        let mut labels = sampler.labels().to_vec();
        for label in &mut labels {
            let slot = *label as usize;
            if numbers.len() <= slot {
                numbers.resize(slot + 1, None);
            }
            *label = *numbers[slot].get_or_insert_with(|| {
                self.held.ids.push(before.get(slot).copied().unwrap_or_else(|| {
                    self.n_minted += 1;
                    ComponentId { epoch: self.shard_id, number: self.n_minted }
                }));
                self.held.ids.len() as u32 - 1
            });
        }
        self.held.labels = labels;
        info
    }

    /// Merges its clusters wherever the partition of all rows is more probable then, the best pair first; the number of merges.
    fn merge(&mut self, stats: &[Stats], alpha: f64) -> u64 {
        let mut pool = Pool::new(START);
        let key = |id: ComponentId| PieceKey::whole(self.shard_id, PieceName::Component(id));
        for (&id, stats) in self.held.ids.iter().zip(stats) {
            pool.enter(key(id), Some(stats.clone()), id);
        }
        pool.settle(self.family());
        let mut entropy = LabelEntropy::of([], self.held.ids.iter().copied());
        let n_merges = merge_alike(&mut pool, &[], &mut entropy, self.family(), alpha);
        let owner = |id: &ComponentId| pool.piece(key(*id)).expect("it was entered").owner;
        let owners: Vec<ComponentId> = self.held.ids.iter().map(owner).collect();
        let mut ids = owners.clone();
        ids.sort_unstable();
        ids.dedup();
        let number = |owner: &ComponentId| ids.binary_search(owner).expect("it is among them") as u32;
        let numbers: Vec<u32> = owners.iter().map(number).collect();
        self.held.labels.iter_mut().for_each(|label| *label = numbers[*label as usize]);
        self.held.ids = ids;
        n_merges as u64
    }

    fn show(&self, cycle: u64) -> ShownRows {
        let Held { places, labels, ids, .. } = &self.held;
        let labels = ShownLabels { cycle, components: ids.clone(), labels: labels.clone(), assignments: None };
        ShownRows { rows: places.clone(), labels }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, last: SliceLast) -> Decoded<ShownRows> {
        check_last(last.components.iter().map(|(_, stats)| stats), self.held.rows.n_rows(), self.family())?;
        let (ids, components) = by_final_number(last.components);
        self.held.labels = renamed(&self.held.labels, &self.held.ids, &ids)?;
        self.held.ids = ids;
        let mut shown = self.show(last.cycle);
        shown.labels.assignments = Some(assigned(&self.plan, self.held.rows.clone(), &components));
        Ok(shown)
    }
}

impl Node for AvWorker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start => self.life.say_hello(out),
            Event::Frame { from, frame } => return self.on_frame(from, &frame, out),
            Event::Lost(_) | Event::Stop => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        // nobody could go on from it: rows are under way
        Vec::new()
    }
}
