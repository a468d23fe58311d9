//! The shard of AV: the clusters that are here for now, with all their rows.
//!
//! A cycle: take clusters in, sweep them, send clusters away.

use serde::{Deserialize, Serialize};

use super::Av;
use super::held::HeldRows;
use super::message::{AvPush, AvReply, AvSwept, Parcel};
use crate::consolidate::merges::merge_alike;
use crate::consolidate::{ComponentId, LabelEntropy, PieceKey, PieceName, Pool, ShardId};
use crate::family::{Conjugate, Family};
use crate::interrupt::Interrupt;
use crate::model::with_family;
use crate::protocol::message::{Plan, ShownLabels};
use crate::protocol::{
    Decoded, FinalComponents, Rejection, Response, ShardContext, ShardState, Worker, assigned, by_final_number,
    check_alpha, check_count, check_last, renamed,
};
use crate::rng::Role;
use crate::rows::Shard;
use crate::special::log_gamma;
use crate::stats::Stats;
use crate::sweep::reference::contributions;
use crate::sweep::{SweepInfo, UNASSIGNED, sampler};

/// Clusters that a run begins with have no worker to be named after.
const START: u32 = u32::MAX;

/// What a worker knows before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AvWorkerOptions {
    /// All workers.
    pub n_workers: u32,
    /// The place of its first row in the input.
    pub first_row: u64,
    /// Whether it merges its own clusters after a sweep.
    pub merges: bool,
}

/// The rows and clusters that are here, and how many of them were named here.
pub struct AvShard {
    shard_id: ShardId,
    options: AvWorkerOptions,
    plan: Plan,
    interrupt: Interrupt,
    held: HeldRows,
    /// Clusters it has named.
    n_minted: u64,
}

/// What a checkpoint holds of a shard: rows travel, so they are in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum AvMemory {
    /// Labels to begin with.
    Start(Vec<u32>),
    /// What was here.
    Held {
        /// Rows and clusters.
        held: HeldRows,
        /// Clusters that were named here.
        n_minted: u64,
    },
}

impl Worker<Av> {
    /// The places in the input of the rows it holds; `None` before it has a plan.
    pub fn places(&self) -> Option<&[u64]> {
        self.state().map(|state| state.held.places.as_slice())
    }
}

impl ShardState<Av> for AvShard {
    type Memory = AvMemory;

    fn begin(context: ShardContext<'_, Av>, memory: Option<AvMemory>) -> Self {
        let ShardContext { shard_id, shard, options, plan, interrupt } = context;
        let labels = match memory {
            Some(AvMemory::Held { held, n_minted }) => {
                return Self { shard_id, options: *options, plan, interrupt, held, n_minted };
            }
            Some(AvMemory::Start(labels)) => Some(labels),
            None => None,
        };
        let n_labels = labels.iter().flatten().max().map_or(0, |largest| u64::from(*largest) + 1);
        let ids = (1..=n_labels).map(|number| ComponentId { epoch: START, number }).collect();
        let labels = labels.unwrap_or_else(|| vec![UNASSIGNED; shard.n_rows()]);
        let held = HeldRows::new(shard.clone(), options.first_row, labels, ids, plan.n_rows);
        Self { shard_id, options: *options, plan, interrupt, held, n_minted: 0 }
    }

    fn start(labels: Vec<u32>, _n_components: u32) -> AvMemory {
        AvMemory::Start(labels)
    }

    fn fits(memory: &AvMemory, shard: &Shard) -> bool {
        match memory {
            AvMemory::Start(labels) => labels.len() == shard.n_rows() && !labels.contains(&UNASSIGNED),
            AvMemory::Held { held, .. } => held.is_sound(shard),
        }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
    }

    fn join(&mut self) -> AvPush {
        AvPush::Join { sum_log_base: self.sum_log_base(), parcels: self.deal() }
    }

    fn take(&mut self, reply: AvReply, last: Option<FinalComponents>) -> Decoded<Response<Av>> {
        Ok(match reply {
            AvReply::Sweep { cycle, alpha, parcels } => {
                check_alpha(alpha)?;
                check_count(cycle)?;
                self.held.take_in(&parcels)?;
                let shown = self.plan.shows_labels.then(|| self.show(cycle));
                let n_rows = self.held.rows.n_rows() as u64;
                Response::Swept { shown, n_rows, push: AvPush::Swept(self.sweep(cycle, alpha)) }
            }
            AvReply::Sum { parcels } => {
                self.held.take_in(&parcels)?;
                let totals = self.held.ids.iter().copied().zip(self.contributions()).collect();
                Response::Answer(AvPush::Totals(totals))
            }
            AvReply::Last => {
                let last = last.ok_or_else(|| Rejection::new("an end without its components"))?;
                Response::Last(self.show_last(last)?)
            }
        })
    }

    fn memory(&self) -> AvMemory {
        AvMemory::Held { held: self.held.clone(), n_minted: self.n_minted }
    }
}

impl AvShard {
    fn family(&self) -> &dyn Conjugate {
        self.plan.model.conjugate()
    }

    fn sum_log_base(&self) -> f64 {
        let rows = self.held.rows.rows();
        with_family!(&self.plan.model, family => rows.map(|row| family.log_base_measure(row)).sum())
    }

    /// The statistics of its clusters.
    fn contributions(&self) -> Vec<Stats> {
        let HeldRows { rows, labels, ids, .. } = &self.held;
        with_family!(&self.plan.model, family => contributions(family, rows, labels, ids.len()))
    }

    /// Brings the parts of clusters that the run begins with together: all workers draw the same
    /// worker for each.
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
        if self.interrupt.is_raised() {
            return AvSwept::default();
        }
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
        sampler.set_interrupt(self.interrupt.clone());
        let info = sampler.sweep(alpha, &mut rng);
        if self.interrupt.is_raised() {
            // some rows may have no cluster: the state before is what counts
            return info;
        }
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

    /// Merges its clusters wherever the partition of all rows is more probable then, the best pair
    /// first; the number of merges.
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

    fn show(&self, cycle: u64) -> ShownLabels {
        let HeldRows { places, labels, ids, .. } = &self.held;
        let (components, labels, places) = (ids.clone(), labels.clone(), Some(places.clone()));
        ShownLabels { cycle, components, labels, assignments: None, places }
    }

    /// The labels, and the most probable component of each row under the final statistics.
    fn show_last(&mut self, last: FinalComponents) -> Decoded<ShownLabels> {
        check_last(last.components.iter().map(|(_, stats)| stats), self.held.rows.n_rows(), self.family())?;
        let (ids, components) = by_final_number(last.components);
        self.held.labels = renamed(&self.held.labels, &self.held.ids, &ids)?;
        self.held.ids = ids;
        let mut shown = self.show(last.cycle);
        shown.assignments = Some(assigned(&self.plan, self.held.rows.clone(), &components));
        Ok(shown)
    }
}
