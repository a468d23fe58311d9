//! Merges and splits of components by the pieces of batches, once no row is at hand any more.

use std::collections::{BTreeMap, BTreeSet};

use super::entropy::label_entropy;
use super::history::{History, id_of};
use crate::consolidate::merges::merge_alike;
use crate::consolidate::{ComponentId, MergeRatio, PieceKey, PieceName, Pool, ShardId, WeighedStats};
use crate::model::Model;
use crate::rng::Stream;
use crate::stats::Stats;
use crate::sweep::Kernel;

/// A component is split if that gains more than this, in nats: label entropy is known by a sample only.
const LEAST_GAIN: f64 = 10.0;

/// Splits components whose earlier and later pieces are better apart and merges components that are better as one, label entropy included. Returns the
/// component that each piece is in now, by batch and former component.
pub(crate) fn settle(
    history: &mut History,
    model: &Model,
    alpha: f64,
    kernel: Kernel,
    rng: &mut Stream,
) -> BTreeMap<(usize, u64), u64> {
    let family = model.conjugate();
    let mut pool = Pool::new(0);
    pool.keep_clear_of(id_of(history.next_component.max(1) - 1));
    let key_of =
        |batch_ix: usize, component: u64| PieceKey::whole(batch_ix as ShardId, PieceName::Component(id_of(component)));
    for (batch_ix, batch) in history.batches.iter().enumerate() {
        for (component, stats) in batch.weighted(family) {
            pool.enter(key_of(batch_ix, component), Some(stats), id_of(component));
        }
    }
    pool.settle(family);
    let parts = split_in_time(&mut pool, history.batches.len(), model, alpha, kernel, rng);
    merge(&mut pool, &parts, model, alpha, kernel, rng);
    history.next_component = history.next_component.max(pool.n_minted() + 1);
    let mut owners = BTreeMap::new();
    for (batch_ix, batch) in history.batches.iter_mut().enumerate() {
        let owner_of = |component: u64| {
            // a piece too light to count stays where it was
            pool.piece(key_of(batch_ix, component)).map_or(component, |piece| piece.owner.number)
        };
        for piece in &batch.pieces {
            owners.insert((batch_ix, piece.component), owner_of(piece.component));
        }
        batch.rename(owner_of);
    }
    owners
}

/// Merges components that are better as one, until there are none. What is known of the overlap of a merged component is a bound, so it is measured between rounds.
pub(super) fn merge(
    pool: &mut Pool,
    apart: &[(ComponentId, ComponentId)],
    model: &Model,
    alpha: f64,
    kernel: Kernel,
    rng: &mut Stream,
) {
    loop {
        let live: Vec<(ComponentId, Stats)> = pool.live().map(|(id, total)| (id, total.stats.clone())).collect();
        let mut entropy = label_entropy(model, &live, kernel, rng);
        if merge_alike(pool, apart, &mut entropy, model.conjugate(), alpha) == 0 {
            return;
        }
    }
}

/// The cut between two batches whose sides go together worst: log ρ of the sides, the pieces before it, and the sides. Pieces are in the order of their batches.
fn best_cut(
    ratio: &MergeRatio<'_>,
    pieces: &[(PieceKey, Stats)],
    total: &Stats,
) -> Option<(f64, usize, [WeighedStats; 2])> {
    let mut early = ratio.family.empty_contribution();
    let sides_of = |(n_early, (_, stats)): (usize, &(PieceKey, Stats))| {
        early.add(stats);
        let mut late = total.clone();
        late.subtract(&early);
        let sides = [&early, &late].map(|stats| WeighedStats::new(ratio.family, stats.clone()));
        (ratio.log(&sides[0], &sides[1]), n_early, sides)
    };
    (1..pieces.len()).zip(pieces).map(sides_of).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Splits components between two batches, where that is better by more than [`LEAST_GAIN`]. Returns the parts.
fn split_in_time(
    pool: &mut Pool,
    n_batches: usize,
    model: &Model,
    alpha: f64,
    kernel: Kernel,
    rng: &mut Stream,
) -> Vec<(ComponentId, ComponentId)> {
    let ratio = MergeRatio::new(model.conjugate(), alpha);
    let mut pieces: BTreeMap<ComponentId, Vec<(PieceKey, Stats)>> = BTreeMap::new();
    for (key, piece) in (0..n_batches as ShardId).flat_map(|batch_ix| pool.pieces_of(batch_ix)) {
        let stats = piece.stats.clone().expect("pieces have rows");
        pieces.entry(piece.owner).or_default().push((key, stats));
    }
    let mut parts = Vec::new();
    for (id, pieces) in pieces.into_iter().filter(|(_, pieces)| pieces.len() > 1) {
        let total = pool.total(id).expect("it has rows").stats.clone();
        let Some((log_ratio, n_early, sides)) = best_cut(&ratio, &pieces, &total) else { continue };
        if log_ratio >= -LEAST_GAIN {
            continue;
        }
        let [early, late] = sides.map(|side| side.stats);
        let ids = [ComponentId { epoch: 0, number: 0 }, ComponentId { epoch: 0, number: 1 }];
        let entropy = label_entropy(model, &[(ids[0], early), (ids[1], late)], kernel, rng);
        if log_ratio + entropy.of_pair(ids[0], ids[1]) < -LEAST_GAIN {
            let late: BTreeSet<PieceKey> = pieces[n_early..].iter().map(|(key, _)| *key).collect();
            parts.push(pool.split(id, &late, ratio.family));
        }
    }
    parts
}
