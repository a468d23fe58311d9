//! A cycle at the coordinator: pushes are entered, births consolidated, α resampled, everyone
//! answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ledger::{ConsolidatedColumn, ConsolidatedLedger, Work};
use super::{Consolidation, Schedule};
use crate::consolidate::progressive::ConsolidateInfo;
use crate::consolidate::{
    ComponentId, LabelEntropy, Piece, PieceKey, PieceName, ShardId, WeighedStats, hungarian, merges, pooled,
    progressive, splits,
};
use crate::family::{Conjugate, log_joint};
use crate::halves::{Half, Halves, Part};
use crate::method::consolidated::message::{ComponentSnapshot, MovedPiece, Push, Reply, Snapshot};
use crate::model::Alpha;
use crate::posterior::alpha::resample_alpha;
use crate::protocol::CycleReport;
use crate::protocol::codec::{encode_reply, encode_shared};
use crate::protocol::message::Stamp;
use crate::rng::{Role, Seed, Stream};
use crate::stats::Stats;

/// Labels that a run begins with are taken as they are up to this many components.
const MOST_STARTED: usize = 5000;
/// A search goes on while more than one row in this many is in a component that has not been tried
/// for a split.
const UNTRIED: u64 = 10;
/// Words of a document, when the gain of a cycle is compared with its work.
const DOCUMENT: usize = 30;

impl ConsolidatedLedger {
    /// Absorbs pushes and answers them.
    pub(super) fn absorb_all(&mut self, pushes: Vec<(Stamp, Push)>, round: &mut Work<'_>) {
        let swept = pushes.iter().filter(|(_, push)| push.joining.is_none()).count() as u64;
        self.n_absorbed += swept;
        self.moved += pushes.iter().map(|(_, push)| push.moved).sum::<u64>();
        // whoever joins has nothing yet
        let has = |push: &Push| if push.joining.is_some() { 0 } else { push.base_version };
        let stamps: Vec<(Stamp, u64)> = pushes.iter().map(|(stamp, push)| (*stamp, has(push))).collect();
        let births = self.enter(pushes, round);
        let next = self.next_cycle(swept, round);
        let mut rng = self.stream(next, round);
        self.consolidate(births, round, &mut rng);
        let mut log_evidence = None;
        if round.options.splits {
            let overlaps = self.overlaps.values().map(|(ids, overlap)| (&ids[..], overlap));
            let entropy = LabelEntropy::of(overlaps, self.told.keys().copied());
            log_evidence = (swept > 0).then(|| self.log_joint(round) - entropy.log_certainty());
            self.split_and_merge(&stamps, entropy, next > round.progress.cycle, round, &mut rng);
        }
        if swept > 0 && round.progress.is_closing() {
            round.progress.close();
        }
        if next > round.progress.cycle {
            let n_closed = self.n_absorbed_at_close + (next - round.progress.cycle) * self.columns.len() as u64;
            self.n_absorbed_at_close = n_closed.min(self.n_absorbed);
            round.progress.cycle = next;
            self.close_cycle(log_evidence, round, &mut rng);
        }
        self.answer(&stamps, round);
    }

    /// The cycle that pushes close, `swept` of them from a sweep. Workers at their own pace
    /// have closed one when as many pushes have come as there are workers now: who leaves or joins
    /// does not change how many cycles there have been. The last one they close together.
    fn next_cycle(&self, swept: u64, round: &Work<'_>) -> u64 {
        let is_common = round.options.schedule == Schedule::Sync || round.progress.is_closing();
        match swept {
            0 => round.progress.cycle,
            _ if is_common => round.progress.cycle + 1,
            _ => {
                let n_since = self.n_absorbed.saturating_sub(self.n_absorbed_at_close);
                (round.progress.cycle + n_since / self.columns.len() as u64)
                    .min(round.progress.horizon.last_cycle() - 1)
            }
        }
    }

    /// The coordinator's stream is named by the cycle that closes, or under an asynchronous
    /// schedule by the number of the event.
    pub(super) fn stream(&self, cycle: u64, round: &Work<'_>) -> Stream {
        let event = match round.options.schedule {
            Schedule::Sync => cycle,
            Schedule::Async => self.version,
        };
        let seed = Seed { seed: round.options.seed, chain: round.options.chain };
        seed.stream(Role::Coordinator, self.pool.epoch(), event)
    }

    /// Enters contributions in worker order; what is new to the pool is returned in the same order.
    fn enter(&mut self, pushes: Vec<(Stamp, Push)>, round: &Work<'_>) -> Vec<(PieceKey, Stats)> {
        let mut births = Vec::new();
        for (Stamp { shard, .. }, push) in pushes {
            if let Some(joining) = push.joining {
                self.pool.take_out(shard);
                self.columns
                    .insert(shard, ConsolidatedColumn { sum_log_base: joining.sum_log_base, ids: Arc::default() });
            }
            let column = self.columns.get(&shard).expect("it has joined");
            self.overlaps.insert(shard, (Arc::clone(&column.ids), push.overlap));
            for (id, part) in push.contributions {
                let halves = match part {
                    Part::Whole(stats) => vec![stats],
                    Part::Halved { halves, .. } => halves.into(),
                };
                for (half, stats) in Half::BOTH.into_iter().zip(halves) {
                    let key = PieceKey { shard, name: PieceName::Component(id), half };
                    let Err(stats) = self.pool.contribute(key, stats) else { continue };
                    if self.pool.has(id) {
                        self.pool.enter(key, Some(stats), id);
                    } else if stats.count > 0 {
                        births.push((key, stats));
                    }
                }
            }
            let named = |(number, stats)| (PieceKey::whole(shard, PieceName::Birth(number)), stats);
            births.extend(push.births.into_iter().map(named));
        }
        let family = round.gathering.family();
        self.pool.settle(family);
        births
    }

    fn consolidate(&mut self, births: Vec<(PieceKey, Stats)>, round: &Work<'_>, rng: &mut Stream) {
        let family = round.gathering.family();
        let (pool, alpha) = (&mut self.pool, round.progress.alpha);
        // once workers rest, the components they know must stay: who comes later may join them or
        // stand apart, and no more
        let consolidation =
            if round.progress.has_closed() { Consolidation::Progressive } else { round.options.consolidation };
        self.since_report += match consolidation {
            Consolidation::Progressive if round.options.splits => {
                progressive::absorb_near(pool, births, family, alpha, rng)
            }
            Consolidation::Progressive => progressive::absorb(pool, births, family, alpha, rng),
            Consolidation::Pooled => pooled::absorb(pool, births, family, alpha, rng),
            Consolidation::Hungarian => hungarian::absorb(pool, births, family, alpha),
        };
    }

    /// Puts what has come into halves; at the close of a cycle also splits and merges, unless
    /// workers rest on the components they know.
    fn split_and_merge(
        &mut self,
        stamps: &[(Stamp, u64)],
        mut entropy: LabelEntropy,
        closes_cycle: bool,
        round: &Work<'_>,
        rng: &mut Stream,
    ) {
        let is_last = round.progress.is_closing();
        let family = round.gathering.family();
        let (pool, alpha) = (&mut self.pool, round.progress.alpha);
        stamps.iter().for_each(|(stamp, _)| splits::place(pool, stamp.shard, family, alpha, rng));
        if closes_cycle && !round.progress.has_closed() {
            // what is split at the end would not be swept any more
            let children = if is_last { Vec::new() } else { splits::propose(pool, &entropy, family, alpha, rng) };
            let n_merges = merges::merge_alike(pool, &children, &mut entropy, family, alpha);
            splits::age(pool, &entropy, family, alpha);
            self.since_report += splits::info(children.len(), n_merges);
        }
    }

    /// The log-joint of the pool as it is.
    fn log_joint(&self, round: &Work<'_>) -> f64 {
        let sum_log_base = self.columns.values().map(|column| column.sum_log_base).sum();
        log_joint(
            round.gathering.family(),
            self.pool.live().map(|(_, total)| &total.stats),
            round.progress.alpha,
            sum_log_base,
        )
    }

    /// Whether components that hold nearly all rows have been tried for a split.
    fn is_tried(&self, n_rows: u64) -> bool {
        let untried = self.pool.live().filter(|(id, _)| self.pool.trial(*id).n_failures == 0);
        let untried = untried.map(|(_, total)| total.stats.count).sum::<i64>() as u64;
        untried * UNTRIED <= n_rows
    }

    /// Resamples α and reports.
    fn close_cycle(&mut self, log_evidence: Option<f64>, round: &mut Work<'_>, rng: &mut Stream) {
        let k = self.pool.live().count();
        let n_rows = self.pool.live().map(|(_, total)| total.stats.count).sum::<i64>() as u64;
        let log_joint = self.log_joint(round);
        let ConsolidateInfo { births, merges, splits } = std::mem::take(&mut self.since_report);
        match log_evidence {
            Some(log_evidence) => {
                let (is_tried, model) =
                    (self.is_tried(n_rows), &round.gathering.plan().expect("there is a plan").model);
                let family = model.conjugate();
                let numbers = if family.has_counts() { DOCUMENT } else { family.stats_len() };
                let n_multiplications = n_rows as f64 * k as f64 * numbers as f64;
                round.progress.horizon.observe_search(round.progress.cycle, log_evidence, n_multiplications, is_tried);
            }
            None => round.progress.horizon.observe(round.progress.cycle, log_joint, k),
        }
        round.out.reports.push(CycleReport {
            cycle: round.progress.cycle,
            log_joint,
            log_evidence,
            n_rows,
            k,
            alpha: round.progress.alpha,
            moved: std::mem::take(&mut self.moved),
            births,
            merges,
            splits,
            attempts: 0,
            ending: round.progress.horizon.ending(),
        });
        if round.options.alpha == Alpha::Auto {
            round.progress.alpha = resample_alpha(round.progress.alpha, k as u64, n_rows, rng);
        }
    }

    /// Answers pushes, each with what has changed since the version its worker has. Workers of one
    /// version share one snapshot.
    fn answer(&mut self, stamps: &[(Stamp, u64)], round: &mut Work<'_>) {
        self.version += 1;
        self.note_changes(round);
        let mut snapshots: BTreeMap<u64, Arc<[u8]>> = BTreeMap::new();
        let ids: Arc<[ComponentId]> = self.told.keys().copied().collect();
        let is_last = round.progress.has_closed();
        for (stamp, has) in stamps {
            let snapshot =
                snapshots.entry(*has).or_insert_with(|| self.snapshot_since(*has, is_last, round.gathering.family()));
            let owners = self.pool.pieces_of(stamp.shard).filter_map(|(key, piece)| self.moved(key, piece)).collect();
            let reply = Reply { cycle: round.progress.cycle, alpha: round.progress.alpha, owners, is_last };
            let frame = encode_reply(*stamp, &reply, Some(snapshot));
            self.pool.fuse(stamp.shard);
            self.columns.get_mut(&stamp.shard).expect("it has pushed").ids = Arc::clone(&ids);
            round.gathering.answer(*stamp, frame, is_last, round.out);
        }
        self.pool.settle(round.gathering.family());
    }

    /// What a worker must learn about a piece, if anything.
    fn moved(&self, key: PieceKey, piece: &Piece) -> Option<MovedPiece> {
        // without halves sent there is nothing to look up
        let is_current = piece.told.is_some() && {
            let trial = self.pool.trial(piece.owner);
            trial.is_on && piece.told == Some(trial.generation)
        };
        let expected = (key.name == PieceName::Component(piece.owner)).then_some(is_current.then_some(key.half));
        let is_news = piece.stats.is_some() && expected != Some(piece.half);
        is_news.then_some(MovedPiece { name: key.name, half: key.half, owner: piece.owner, in_half: piece.half })
    }

    /// Notes which components are no longer as they were last sent.
    fn note_changes(&mut self, round: &Work<'_>) {
        // both are in the order of ids: a walk along them needs no search
        let mut told = std::mem::take(&mut self.told).into_iter().peekable();
        let now = |(id, total, halves): (ComponentId, &WeighedStats, Halves)| {
            while told.next_if(|(before, _)| *before < id).is_some() {}
            match told.next_if(|(before, _)| *before == id) {
                Some((_, (told, since))) if told.total == total.stats && told.halves == halves => (id, (told, since)),
                _ => (id, (ComponentSnapshot { total: total.stats.clone(), halves }, self.version)),
            }
        };
        self.told = self.pool.live_with_halves(round.gathering.family()).map(now).collect();
    }

    /// What has changed since a version. The last snapshot says everything and rounds nothing: it
    /// is the model that labels are read from.
    pub(super) fn snapshot_since(&self, version: u64, is_last: bool, family: &dyn Conjugate) -> Arc<[u8]> {
        let (version, step) = if is_last { (0, None) } else { (version, family.snapshot_step()) };
        let news = |(id, (told, since)): (&ComponentId, &(ComponentSnapshot, u64))| {
            (*id, (*since > version).then(|| told.clone()))
        };
        let components = self.told.iter().map(news).collect();
        encode_shared(&Snapshot { version: self.version, step, components })
    }

    /// Takes the live ids, α and cycle from the worker that had heard last.
    pub(super) fn recall_from(&mut self, pushes: &[(Stamp, Push)], round: &mut Work<'_>) {
        let newest = pushes.iter().max_by_key(|(stamp, push)| (push.base_version, std::cmp::Reverse(stamp.shard)));
        let Some((stamp, push)) = newest else { return };
        let joining = push.joining.expect("a rebuild begins with full pushes");
        // one that resumes from a checkpoint knows its cycle
        (self.version, round.progress.cycle) = (push.base_version, round.progress.cycle.max(joining.cycle));
        self.n_absorbed = round.progress.cycle * pushes.len() as u64;
        self.n_absorbed_at_close = self.n_absorbed;
        if round.options.alpha == Alpha::Auto {
            round.progress.alpha = joining.alpha;
        }
        // its vocabulary is what is alive: an empty piece of it holds each name until the
        // contributions are entered
        let lives =
            |shard: ShardId, push: &Push| shard == stamp.shard || (round.options.has_start && push.base_version == 0);
        let named = pushes.iter().filter(|(stamp, push)| lives(stamp.shard, push));
        let named = named.flat_map(|(stamp, push)| push.contributions.iter().map(|(id, _)| (stamp.shard, *id)));
        let mut alive: Vec<(ShardId, ComponentId)> = named.collect();
        alive.iter().for_each(|(_, id)| self.pool.keep_clear_of(*id));
        let n_alive = alive.iter().map(|(_, id)| id).collect::<BTreeSet<_>>().len();
        if round.options.has_start && n_alive > MOST_STARTED {
            // this many are hardly clusters: each finds its place as a birth does
            alive.clear();
        }
        for (shard, id) in alive {
            self.pool.enter(PieceKey::whole(shard, PieceName::Component(id)), None, id);
        }
    }
}
