//! The coordinator of SubC: it owns statistics, α, weights and parameters, proposes splits and merges, and never sees a row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::moves::{Moves, Total, merge, split};
use crate::consolidate::{ComponentId, MergeRatio, ShardId};
use crate::error::Result;
use crate::family::{Conjugate, log_joint};
use crate::message::codec::{Message, decode_between};
use crate::message::slice::SliceLast;
use crate::message::subc::{DrawnHalves, Places, SubcDraw, SubcPush, SubcReply, encode_reply, encode_shared};
use crate::message::{Decoded, Plan, Stamp};
use crate::model::{Alpha, Model};
use crate::node::checks::{check_count, check_ids, check_joining, check_stats};
use crate::node::rounds::{Gathering, Heard, Progress};
use crate::node::{Address, CycleReport, Event, Frame, Node, Outbox, RoundsCoordinatorOptions};
use crate::posterior::alpha::resample_alpha;
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// The node that owns the statistics.
pub struct SubcCoordinator {
    options: RoundsCoordinatorOptions,
    gathering: Gathering<SubcPush>,
    progress: Progress,
    /// What each worker contributes.
    columns: BTreeMap<ShardId, Column>,
    /// Components whose halves were drawn by a coin in the cycle that goes on: they are not yet what they should be.
    fresh: BTreeSet<ComponentId>,
    /// Draws that were told.
    round: u64,
    /// Which coordinator this is; ids and streams carry it.
    epoch: u32,
    last_id: u64,
    /// Set until a coordinator in another's place has heard from everyone.
    is_rebuilding: bool,
}

struct Column {
    sum_log_base: f64,
    contributions: Vec<(ComponentId, [Stats; 2])>,
}

impl SubcCoordinator {
    /// A coordinator of this model that waits for its workers' hellos.
    pub fn new(options: RoundsCoordinatorOptions, model: Model) -> Self {
        Self {
            gathering: Gathering::new(options.n_workers, model),
            progress: Progress::new(&options),
            columns: BTreeMap::new(),
            fresh: BTreeSet::new(),
            round: 0,
            epoch: 0,
            last_id: 0,
            is_rebuilding: false,
            options,
        }
    }

    /// A coordinator in place of one that was lost, for the `n_restarts`-th time: the workers there are, are asked to send everything.
    pub fn rebuild(options: RoundsCoordinatorOptions, plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        let new = Self::new(options, plan.model.clone());
        let gathering = Gathering::again(plan, workers, n_restarts);
        // above whatever the one before can have counted to: rounds name the workers' streams
        let round = u64::from(n_restarts) << 40;
        Self { gathering, round, epoch: n_restarts, is_rebuilding: true, ..new }
    }

    /// Components with rows and their statistics, added up in worker order.
    pub fn components(&self) -> Vec<(ComponentId, Stats)> {
        if self.gathering.plan().is_none() {
            return Vec::new();
        }
        self.totals().into_iter().map(|total| (total.id, total.stats)).collect()
    }

    fn mint(&mut self) -> ComponentId {
        self.last_id += 1;
        ComponentId { epoch: self.epoch, number: self.last_id }
    }

    fn on_frame(&mut self, from: Address, frame: &Frame, out: &mut Outbox) -> Result<()> {
        let (stamp, message) = decode_between(frame, from, Address::Coordinator, self.gathering.stats_len())?;
        match message {
            Message::Hello(hello) => self.gathering.on_hello(stamp, hello, &self.options, out),
            Message::SubcPush(push) => {
                let minted = (self.epoch, self.last_id);
                let check = |push: &SubcPush, heard: &Heard<'_>| check_push(stamp, push, heard, minted);
                if let Some(pushes) = self.gathering.on_push(stamp, push.joining.is_some(), push, check, out)? {
                    self.close_round(pushes, out);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes cycle and α from the worker that had heard last.
    fn recall(&mut self, pushes: &[(Stamp, SubcPush)]) {
        let joining = pushes.iter().filter_map(|(stamp, push)| Some((push.joining?, Reverse(stamp.shard))));
        let Some((newest, _)) = joining.max_by_key(|(joining, shard)| (joining.cycle, *shard)) else { return };
        self.progress.cycle = newest.cycle;
        if self.options.alpha == Alpha::Auto {
            self.progress.alpha = newest.alpha;
        }
    }

    fn close_round(&mut self, pushes: Vec<(Stamp, SubcPush)>, out: &mut Outbox) {
        if std::mem::take(&mut self.is_rebuilding) {
            self.recall(&pushes);
        }
        let moved = pushes.iter().filter_map(|(_, push)| push.moved).reduce(|all, moved| all + moved);
        let stamps: Vec<Stamp> = pushes.iter().map(|(stamp, _)| *stamp).collect();
        for (stamp, push) in pushes {
            let before = self.columns.get(&stamp.shard).map_or(0.0, |column| column.sum_log_base);
            let sum_log_base = push.joining.map_or(before, |joining| joining.sum_log_base);
            let own = push.contributions.iter().map(|(id, _)| id).filter(|id| id.epoch == self.epoch);
            self.last_id = own.map(|id| id.number).fold(self.last_id, u64::max);
            self.columns.insert(stamp.shard, Column { sum_log_base, contributions: push.contributions });
        }
        // streams of a coordinator that was lost are named by its epoch
        let seed = Seed { seed: self.options.seed, chain: self.options.chain };
        let mut rng = seed.stream(Role::SliceWeights, self.epoch, self.round + 1);
        let (mut totals, mut places) = (self.totals(), Places::new());
        if let Some(moved) = moved {
            (totals, places) = self.close_cycle(totals, moved, &mut rng, out);
        }
        let reply = if self.progress.has_closed() {
            self.move_columns(&places);
            SubcReply::Last { last: SliceLast { cycle: self.progress.cycle, components: self.components() }, places }
        } else {
            SubcReply::Draw(self.draw(totals, places, &mut rng))
        };
        let (shared, is_last) = (encode_shared(&reply), self.progress.has_closed());
        for stamp in stamps {
            self.gathering.answer(stamp, encode_reply(stamp, &shared), is_last, out);
        }
        out.is_done = self.is_done();
    }

    /// After the last cycle: what workers have said, with rows where the last splits and merges have put them.
    fn move_columns(&mut self, places: &Places) {
        let places: BTreeMap<ComponentId, [ComponentId; 2]> = places.iter().copied().collect();
        let family = self.gathering.family();
        let empty = || family.empty_contribution();
        for column in self.columns.values_mut() {
            for (id, [left, right]) in std::mem::take(&mut column.contributions) {
                let [left_id, right_id] = places.get(&id).copied().unwrap_or([id, id]);
                column.contributions.push((left_id, [left, empty()]));
                column.contributions.push((right_id, [empty(), right]));
            }
        }
    }

    /// Components with rows, added up in worker order.
    fn totals(&self) -> Vec<Total> {
        let family = self.gathering.family();
        let empty = || family.empty_contribution();
        let mut halves: BTreeMap<ComponentId, [Stats; 2]> = BTreeMap::new();
        for (id, parts) in self.columns.values().flat_map(|column| &column.contributions) {
            let sums = halves.entry(*id).or_insert_with(|| [empty(), empty()]);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(part));
        }
        let total = |(id, halves): (ComponentId, [Stats; 2])| {
            let stats = halves[0].union(&halves[1]);
            (stats.count > 0).then_some(Total { id, stats, halves: Some(halves) })
        };
        halves.into_iter().filter_map(total).collect()
    }

    /// Splits and merges, and reports what comes of it.
    fn close_cycle(
        &mut self,
        totals: Vec<Total>,
        moved: u64,
        rng: &mut Stream,
        out: &mut Outbox,
    ) -> (Vec<Total>, Places) {
        let fresh = std::mem::take(&mut self.fresh);
        let alpha = self.progress.alpha;
        let (epoch, last_id) = (self.epoch, &mut self.last_id);
        let mut mint = || {
            *last_id += 1;
            ComponentId { epoch, number: *last_id }
        };
        let family = self.gathering.family();
        let (ratio, mut moves) = (MergeRatio::new(family, alpha), Moves::default());
        let mut totals = split(totals, |id| !fresh.contains(&id), &ratio, &mut mint, &mut moves, rng);
        merge(&mut totals, &ratio, alpha, &mut mint, &mut moves, rng);
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let log_joint = log_joint(family, totals.iter().map(|total| &total.stats), alpha, sum_log_base);
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        let report = self.progress.close_cycle(log_joint, n_rows, totals.len());
        out.reports.push(CycleReport { moved, merges: moves.n_merges, splits: moves.n_splits, ..report });
        (totals, moves.places())
    }

    /// Weights and parameters for the next cycle; without any rows in components, one that takes them all.
    fn draw(&mut self, mut totals: Vec<Total>, places: Places, rng: &mut Stream) -> SubcDraw {
        self.round += 1;
        if totals.is_empty() {
            let id = self.mint();
            totals.push(Total { id, stats: self.gathering.family().empty_stats(), halves: None });
        }
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        if self.options.alpha == Alpha::Auto && n_rows > 0 {
            self.progress.alpha = resample_alpha(self.progress.alpha, totals.len() as u64, n_rows, rng);
        }
        self.fresh = totals.iter().filter(|total| total.halves.is_none()).map(|total| total.id).collect();
        let Progress { cycle, alpha, .. } = self.progress;
        let family = self.gathering.family();
        // a component without rows, which is alone, has all the weight there is
        let mut shapes: Vec<f64> = totals.iter().map(|total| total.stats.count.max(1) as f64).collect();
        shapes.push(alpha);
        let log_weights = rng.log_dirichlet(&shapes);
        let mut drawn: Vec<Drawn> = Vec::with_capacity(totals.len());
        for (total, log_weight) in totals.iter().zip(log_weights) {
            drawn.push(Drawn {
                weight: libm::exp(log_weight),
                id: total.id,
                parameters: family.sample_parameters(&total.stats, rng),
                halves: total.halves.as_ref().map(|halves| draw_halves(family, halves, alpha, rng)),
            });
        }
        drawn.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
        SubcDraw {
            round: self.round,
            cycle,
            alpha,
            places,
            ids: drawn.iter().map(|drawn| drawn.id).collect(),
            components: DrawnComponents {
                weights: drawn.iter().map(|drawn| drawn.weight).collect(),
                parameters: drawn.iter().flat_map(|drawn| drawn.parameters.iter().copied()).collect(),
            },
            halves: drawn.into_iter().map(|drawn| drawn.halves).collect(),
        }
    }

    fn is_done(&self) -> bool {
        self.progress.has_closed() && self.gathering.all_released()
    }
}

/// What a push may say, given the ids that were handed out: the epoch, and the last of it.
fn check_push(stamp: Stamp, push: &SubcPush, heard: &Heard<'_>, (epoch, last): (u32, u64)) -> Decoded<()> {
    if let Some(joining) = &push.joining {
        check_joining(joining, stamp, heard.n_incarnations)?;
    }
    check_count(push.moved.unwrap_or(0))?;
    // whoever joins may know components by names that labels began with
    let last = if push.joining.is_some() { u64::MAX } else { last };
    check_ids(push.contributions.iter().map(|(id, _)| id), epoch, last)?;
    let halves = || push.contributions.iter().flat_map(|(_, halves)| halves);
    check_stats(halves(), heard.family)?;
    heard.row_counts.check(stamp.shard, halves().map(|half| half.count))
}

/// A component of which weight and parameters were drawn.
struct Drawn {
    weight: f64,
    id: ComponentId,
    parameters: Vec<f64>,
    halves: Option<DrawnHalves>,
}

fn draw_halves(family: &dyn Conjugate, halves: &[Stats; 2], alpha: f64, rng: &mut Stream) -> DrawnHalves {
    let shapes = halves.each_ref().map(|half| half.count as f64 + 0.5 * alpha);
    let log_weights = rng.log_dirichlet(&shapes);
    let parameters = halves.each_ref().map(|half| family.sample_parameters(half, rng));
    DrawnHalves { log_weights: [log_weights[0], log_weights[1]], parameters }
}

impl Node for SubcCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.is_rebuilding => self.gathering.ask_all(out),
            Event::Start => {}
            Event::Frame { from, frame } => self.on_frame(from, &frame, out)?,
            Event::Lost(shard) => {
                self.columns.remove(&shard);
                let pushes = self.gathering.lose(shard);
                out.is_done = self.is_done();
                if let Some(pushes) = pushes {
                    self.close_round(pushes, out);
                }
            }
            Event::Stop => self.progress.stop(),
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        // nothing: the workers' labels are the truth, and a new coordinator is rebuilt from their pushes
        Vec::new()
    }
}
