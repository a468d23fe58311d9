//! The ledger of SubC: statistics of halves, from which α, weights and parameters are drawn, and by
//! which splits and merges are proposed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Subc;
use super::message::{DrawnHalves, HalfPlaces, SubcDraw, SubcPush, SubcReply};
use super::moves::{HalvedTotal, SubcMoves, merge, split};
use crate::consolidate::{ComponentId, MergeRatio, ShardId, fits};
use crate::error::Result;
use crate::family::{Conjugate, log_joint};
use crate::model::Alpha;
use crate::posterior::alpha::resample_alpha;
use crate::protocol::codec::{encode_reply, encode_shared};
use crate::protocol::message::Stamp;
use crate::protocol::{
    CoordinatorOptions, CycleReport, Decoded, FinalComponents, IdMint, Ledger, PushContext, Round, check_count,
    check_joining, check_stats,
};
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// What workers contribute, and how many draws there were.
#[derive(Serialize, Deserialize)]
pub struct SubcLedger {
    columns: BTreeMap<ShardId, SubcColumn>,
    /// Components whose halves were drawn by a coin in the current cycle: they are not yet what
    /// they should be.
    fresh: BTreeSet<ComponentId>,
    /// Draws that were sent.
    round: u64,
    ids: IdMint,
}

/// What a worker contributes.
#[derive(Serialize, Deserialize)]
struct SubcColumn {
    sum_log_base: f64,
    contributions: Vec<(ComponentId, [Stats; 2])>,
}

impl Ledger<Subc> for SubcLedger {
    fn new(_options: &CoordinatorOptions, n_restarts: u32) -> Self {
        // above all that the one before can have counted to: rounds name the workers' streams
        let round = u64::from(n_restarts) << 40;
        Self { columns: BTreeMap::new(), fresh: BTreeSet::new(), round, ids: IdMint::new(n_restarts) }
    }

    fn restore(&mut self, _options: &CoordinatorOptions, family: &dyn Conjugate) -> bool {
        let mut contributions = self.columns.values().flat_map(|column| &column.contributions);
        contributions.all(|(_, halves)| halves.iter().all(|half| fits(half, family)))
    }

    fn check(&self, stamp: Stamp, push: &SubcPush, context: &PushContext<'_>) -> Decoded<()> {
        if let Some(joining) = &push.joining {
            check_joining(joining, stamp, context.n_incarnations)?;
        }
        check_count(push.moved.unwrap_or(0))?;
        self.ids.check(push.contributions.iter().map(|(id, _)| id), push.joining.as_ref())?;
        let halves = || push.contributions.iter().flat_map(|(_, halves)| halves);
        check_stats(halves(), context.family)?;
        context.row_counts.check(stamp.shard, halves().map(|half| half.count))
    }

    /// Takes cycle and α from the worker that had heard last.
    fn recall(&mut self, pushes: &[(Stamp, SubcPush)], round: &mut Round<'_, Subc>) {
        let joining = pushes.iter().filter_map(|(stamp, push)| Some((push.joining?, Reverse(stamp.shard))));
        if let Some((newest, _)) = joining.max_by_key(|(joining, shard)| (joining.cycle, *shard)) {
            round.recall(&newest);
        }
    }

    fn absorb(&mut self, pushes: Vec<(Stamp, SubcPush)>, round: &mut Round<'_, Subc>) -> Result<()> {
        let moved = pushes.iter().filter_map(|(_, push)| push.moved).reduce(|all, moved| all + moved);
        let stamps: Vec<Stamp> = pushes.iter().map(|(stamp, _)| *stamp).collect();
        for (stamp, push) in pushes {
            let before = self.columns.get(&stamp.shard).map_or(0.0, |column| column.sum_log_base);
            let sum_log_base = push.joining.map_or(before, |joining| joining.sum_log_base);
            self.ids.note(push.contributions.iter().map(|(id, _)| id));
            self.columns.insert(stamp.shard, SubcColumn { sum_log_base, contributions: push.contributions });
        }
        // streams of a coordinator that was lost are named by its epoch
        let seed = Seed { seed: round.options.seed, chain: round.options.chain };
        let mut rng = seed.stream(Role::SliceWeights, self.ids.epoch, self.round + 1);
        let (mut totals, mut places) = (self.totals(round.gathering.family()), HalfPlaces::new());
        if let Some(moved) = moved {
            (totals, places) = self.close_cycle(totals, moved, &mut rng, round);
        }
        let is_last = round.progress.has_closed();
        let reply = if is_last {
            let family = round.gathering.family();
            self.move_columns(&places, family);
            let last = FinalComponents { cycle: round.progress.cycle, components: self.components(family) };
            SubcReply::Last { last, places }
        } else {
            SubcReply::Draw(self.draw(totals, places, &mut rng, round))
        };
        let shared = encode_shared(&reply);
        for stamp in stamps {
            round.gathering.answer(stamp, encode_reply(stamp, &(), Some(&shared)), is_last, round.out);
        }
        Ok(())
    }

    fn lose(&mut self, shard: ShardId, _round: &mut Round<'_, Subc>) {
        self.columns.remove(&shard);
    }

    fn components(&self, family: &dyn Conjugate) -> Vec<(ComponentId, Stats)> {
        self.totals(family).into_iter().map(|total| (total.id, total.stats)).collect()
    }
}

impl SubcLedger {
    /// After the last cycle: what workers have said, with rows where the last splits and merges
    /// have put them.
    fn move_columns(&mut self, places: &HalfPlaces, family: &dyn Conjugate) {
        let places: BTreeMap<ComponentId, [ComponentId; 2]> = places.iter().copied().collect();

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
    fn totals(&self, family: &dyn Conjugate) -> Vec<HalvedTotal> {
        let empty = || family.empty_contribution();
        let mut halves: BTreeMap<ComponentId, [Stats; 2]> = BTreeMap::new();
        for (id, parts) in self.columns.values().flat_map(|column| &column.contributions) {
            let sums = halves.entry(*id).or_insert_with(|| [empty(), empty()]);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.add(part));
        }
        let total = |(id, halves): (ComponentId, [Stats; 2])| {
            let stats = halves[0].union(&halves[1]);
            (stats.count > 0).then_some(HalvedTotal { id, stats, halves: Some(halves) })
        };
        halves.into_iter().filter_map(total).collect()
    }

    /// Splits and merges, and reports what comes of it.
    fn close_cycle(
        &mut self,
        totals: Vec<HalvedTotal>,
        moved: u64,
        rng: &mut Stream,
        round: &mut Round<'_, Subc>,
    ) -> (Vec<HalvedTotal>, HalfPlaces) {
        let fresh = std::mem::take(&mut self.fresh);
        let (alpha, family) = (round.progress.alpha, round.gathering.family());
        let mut mint = || self.ids.mint();

        let (ratio, mut moves) = (MergeRatio::new(family, alpha), SubcMoves::default());
        let mut totals = split(totals, |id| !fresh.contains(&id), &ratio, &mut mint, &mut moves, rng);
        merge(&mut totals, &ratio, alpha, &mut mint, &mut moves, rng);
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        let log_joint = log_joint(family, totals.iter().map(|total| &total.stats), alpha, sum_log_base);
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        let report = round.progress.close_cycle(log_joint, n_rows, totals.len());
        round.out.reports.push(CycleReport { moved, merges: moves.n_merges, splits: moves.n_splits, ..report });
        (totals, moves.places())
    }

    /// Weights and parameters for the next cycle; without any rows in components, one that takes
    /// them all.
    fn draw(
        &mut self,
        mut totals: Vec<HalvedTotal>,
        places: HalfPlaces,
        rng: &mut Stream,
        round: &mut Round<'_, Subc>,
    ) -> SubcDraw {
        self.round += 1;
        if totals.is_empty() {
            let id = self.ids.mint();
            totals.push(HalvedTotal { id, stats: round.gathering.family().empty_stats(), halves: None });
        }
        let n_rows = totals.iter().map(|total| total.stats.count as u64).sum();
        if round.options.alpha == Alpha::Auto && n_rows > 0 {
            round.progress.alpha = resample_alpha(round.progress.alpha, totals.len() as u64, n_rows, rng);
        }
        self.fresh = totals.iter().filter(|total| total.halves.is_none()).map(|total| total.id).collect();
        let (cycle, alpha, family) = (round.progress.cycle, round.progress.alpha, round.gathering.family());

        // a component without rows, which is alone, has all the weight there is
        let mut shapes: Vec<f64> = totals.iter().map(|total| total.stats.count.max(1) as f64).collect();
        shapes.push(alpha);
        let log_weights = rng.log_dirichlet(&shapes);
        let mut drawn: Vec<DrawnComponent> = Vec::with_capacity(totals.len());
        for (total, log_weight) in totals.iter().zip(log_weights) {
            drawn.push(DrawnComponent {
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
}

/// A component of which weight and parameters were drawn.
struct DrawnComponent {
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
