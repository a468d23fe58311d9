//! Pooled consolidation: merge and split moves on the pieces, by Metropolis–Hastings (section 4.2.2
//! of the paper).
//!
//! A move is a merge or a split with probability ½ each, also where one is impossible: then nothing
//! happens. A merge takes an unordered pair ∝ ρ(A, B). A split takes a component C of several
//! pieces ∝ 1/β_C and parts it by Algorithm 2; if that ends with one group nothing changes. The
//! acceptance needs both proposal probabilities, with the pools before and after; it leaves the
//! posterior over the partitions of the pieces exactly invariant.

use std::collections::BTreeSet;

use super::pair_table::PairTable;
use super::pool::sum_of;
use super::progressive::{self, ConsolidateInfo};
use super::restricted::{self, Guide, RestrictedWalk};
use super::{ComponentId, MergeRatio, PieceKey, Pool, WeighedStats};
use crate::family::Conjugate;
use crate::rng::Stream;
use crate::special::log_sum_exp;
use crate::stats::Stats;

/// Moves after each absorption, unless told otherwise.
pub const DEFAULT_MOVES: usize = 100;

/// Takes births into a settled pool one by one, then refines the pool.
pub fn absorb(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    let mut info = progressive::absorb(pool, births, family, alpha, rng);
    info += refine(pool, DEFAULT_MOVES, family, alpha, rng);
    info
}

/// Makes a number of moves on a settled pool.
pub fn refine(
    pool: &mut Pool,
    n_moves: usize,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    let mut info = ConsolidateInfo::default();
    if n_moves == 0 {
        return info;
    }
    let mut moves = Moves::new(pool, family, alpha);
    for _ in 0..n_moves {
        if rng.uniform() < 0.5 {
            info.merges += u64::from(moves.merge_step(pool, rng));
        } else {
            info.splits += u64::from(moves.split_step(pool, rng));
        }
    }
    info
}

/// What the moves need to know of the pool, kept up to date as it changes. Components sit in slots;
/// a merge frees one.
struct Moves<'a> {
    ratio: MergeRatio<'a>,
    slots: Vec<Option<PooledMember>>,
    pairs: PairTable,
    /// log 1/β_C; −∞ for a free slot and for a component of one piece.
    log_split_weights: Vec<f64>,
}

struct PooledMember {
    id: ComponentId,
    /// Beside the pool's own: a row of ratios is computed over all of them.
    total: WeighedStats,
}

/// A merge that could be made, with the logarithms of the probabilities to propose it, given that
/// the move is a merge, and to propose the split that undoes it, given that the move is a split.
struct MergeMove {
    slots: (usize, usize),
    log_ratio: f64,
    log_proposal: f64,
    log_reverse: f64,
    /// 1/β of the union, in logs.
    log_split_weight: f64,
}

impl MergeMove {
    /// Before the cut at one.
    fn log_acceptance(&self) -> f64 {
        self.log_ratio + self.log_reverse - self.log_proposal
    }
}

/// A split that could be made, with the logarithms of the probabilities to propose it and to
/// propose the merge that undoes it.
struct Split {
    slot: usize,
    parting: BTreeSet<PieceKey>,
    log_ratio: f64,
    log_proposal: f64,
    log_reverse: f64,
    left: SplitPart,
    right: SplitPart,
}

impl Split {
    /// Before the cut at one.
    fn log_acceptance(&self) -> f64 {
        -self.log_ratio + self.log_reverse - self.log_proposal
    }
}

/// One side of a split.
struct SplitPart {
    total: WeighedStats,
    /// log ρ with every other slot; −∞ with free ones and the one that is split.
    log_ratios: Vec<f64>,
    log_split_weight: f64,
}

impl<'a> Moves<'a> {
    fn new(pool: &Pool, family: &'a dyn Conjugate, alpha: f64) -> Self {
        let ratio = MergeRatio::new(family, alpha);
        let mut moves = Self { ratio, slots: Vec::new(), pairs: PairTable::default(), log_split_weights: Vec::new() };
        for (id, total) in pool.live() {
            let atoms: Vec<&Stats> = pool.atoms(id).map(|(_, stats)| stats).collect();
            moves.pairs.push(moves.log_ratios(total, None));
            moves.log_split_weights.push(moves.log_split_weight(&atoms));
            moves.slots.push(Some(PooledMember { id, total: total.clone() }));
        }
        moves
    }

    fn merge_step(&mut self, pool: &mut Pool, rng: &mut Stream) -> bool {
        let Some(slots) = self.pairs.draw(rng) else { return false };
        let merge = self.merge(pool, slots);
        let is_accepted = libm::log(rng.uniform_positive()) < merge.log_acceptance();
        if is_accepted {
            self.apply_merge(pool, &merge);
        }
        is_accepted
    }

    fn split_step(&mut self, pool: &mut Pool, rng: &mut Stream) -> bool {
        if self.log_split_weights.iter().all(|log| *log == f64::NEG_INFINITY) {
            return false;
        }
        let slot = rng.categorical(&self.log_split_weights);
        let atoms: Vec<&Stats> = pool.atoms(self.member(slot).id).map(|(_, stats)| stats).collect();
        let walk = restricted::walk(&self.ratio, &atoms, Guide::Draw(rng));
        if !walk.parts() {
            return false;
        }
        let split = self.split(pool, slot, &walk);
        let is_accepted = libm::log(rng.uniform_positive()) < split.log_acceptance();
        if is_accepted {
            self.apply_split(pool, split);
        }
        is_accepted
    }

    /// The merge of two slots: how it is proposed and accepted.
    fn merge(&self, pool: &Pool, slots: (usize, usize)) -> MergeMove {
        let (atoms, parting) = union_of_atoms(pool, self.member(slots.0).id, self.member(slots.1).id);
        let log_ratio = self.pairs.get(slots.0, slots.1);
        let log_proposal = log_ratio - self.pairs.log_total(None);
        let log_split_weight = self.log_split_weight(&atoms);
        let others = self.log_split_weights.iter().enumerate().filter(|(slot, _)| *slot != slots.0 && *slot != slots.1);
        let mut log_weights_after: Vec<f64> = others.map(|(_, log)| *log).collect();
        log_weights_after.push(log_split_weight);
        let log_split_path = restricted::walk(&self.ratio, &atoms, Guide::Follow(&parting)).log_probability;
        let log_reverse = log_split_weight - log_sum_exp(&log_weights_after) + log_split_path;
        MergeMove { slots, log_ratio, log_proposal, log_reverse, log_split_weight }
    }

    /// The split of a slot by a walk that ended with two groups: how it is proposed and accepted.
    fn split(&self, pool: &Pool, slot: usize, walk: &RestrictedWalk) -> Split {
        let (left, _) = self.part(pool, slot, walk, false);
        let (right, parting) = self.part(pool, slot, walk, true);
        let log_ratio = self.ratio.log(&left.total, &right.total);
        let log_totals_after = [
            log_ratio,
            self.pairs.log_total(Some(slot)),
            log_sum_exp(&left.log_ratios),
            log_sum_exp(&right.log_ratios),
        ];
        let log_reverse = log_ratio - log_sum_exp(&log_totals_after);
        let log_proposal = self.log_split_weights[slot] - log_sum_exp(&self.log_split_weights) + walk.log_probability;
        Split { slot, parting, log_ratio, log_proposal, log_reverse, left, right }
    }

    fn part(
        &self,
        pool: &Pool,
        slot: usize,
        walk: &RestrictedWalk,
        is_parting: bool,
    ) -> (SplitPart, BTreeSet<PieceKey>) {
        let atoms = pool.atoms(self.member(slot).id).zip(&walk.parting).filter(|(_, parts)| **parts == is_parting);
        let (keys, atoms): (BTreeSet<PieceKey>, Vec<&Stats>) = atoms.map(|(atom, _)| atom).unzip();
        let total = WeighedStats::new(self.ratio.family, sum_of(atoms[0].clone(), &atoms[1..], self.ratio.family));
        let log_ratios = self.log_ratios(&total, Some(slot));
        let log_split_weight = self.log_split_weight(&atoms);
        (SplitPart { total, log_ratios, log_split_weight }, keys)
    }

    fn apply_merge(&mut self, pool: &mut Pool, merge: &MergeMove) {
        let (slot, freed) = merge.slots;
        let id = pool.merge(self.member(slot).id, self.member(freed).id, self.ratio.family);
        let total = pool.total(id).expect("it has rows").clone();
        self.free(freed);
        let log_ratios = self.log_ratios(&total, Some(slot));
        self.put(slot, PooledMember { id, total }, &log_ratios, merge.log_split_weight);
    }

    fn apply_split(&mut self, pool: &mut Pool, split: Split) {
        let (left_id, right_id) = pool.split(self.member(split.slot).id, &split.parting, self.ratio.family);
        let Split { slot, left, mut right, log_ratio, .. } = split;
        self.put(slot, PooledMember { id: left_id, total: left.total }, &left.log_ratios, left.log_split_weight);
        let free_slot = self.slots.iter().position(Option::is_none).unwrap_or_else(|| self.add_slot());
        right.log_ratios.resize(self.slots.len(), f64::NEG_INFINITY);
        right.log_ratios[slot] = log_ratio;
        self.put(
            free_slot,
            PooledMember { id: right_id, total: right.total },
            &right.log_ratios,
            right.log_split_weight,
        );
    }

    fn add_slot(&mut self) -> usize {
        self.pairs.push(vec![f64::NEG_INFINITY; self.slots.len()]);
        self.log_split_weights.push(f64::NEG_INFINITY);
        self.slots.push(None);
        self.slots.len() - 1
    }

    fn put(&mut self, slot: usize, member: PooledMember, log_ratios: &[f64], log_split_weight: f64) {
        self.pairs.set(slot, log_ratios);
        self.log_split_weights[slot] = log_split_weight;
        self.slots[slot] = Some(member);
    }

    fn free(&mut self, slot: usize) {
        self.pairs.set(slot, &vec![f64::NEG_INFINITY; self.slots.len()]);
        self.log_split_weights[slot] = f64::NEG_INFINITY;
        self.slots[slot] = None;
    }

    fn member(&self, slot: usize) -> &PooledMember {
        self.slots[slot].as_ref().expect("a move concerns slots that are taken")
    }

    /// log ρ with every slot, −∞ with free ones and the one left out.
    fn log_ratios(&self, total: &WeighedStats, left_out: Option<usize>) -> Vec<f64> {
        let total = self.ratio.spread(total);
        let log_ratio = |(slot, member): (usize, &Option<PooledMember>)| match member {
            Some(member) if Some(slot) != left_out => self.ratio.log(&total, &member.total),
            _ => f64::NEG_INFINITY,
        };
        self.slots.iter().enumerate().map(log_ratio).collect()
    }

    /// log 1/β_C, −∞ where there is nothing to part.
    fn log_split_weight(&self, atoms: &[&Stats]) -> f64 {
        if atoms.len() < 2 { f64::NEG_INFINITY } else { -restricted::log_stay_whole(&self.ratio, atoms) }
    }
}

/// The pieces of two components in (shard, piece) order, and which of them would part if the union
/// were split into the two again.
fn union_of_atoms(pool: &Pool, a: ComponentId, b: ComponentId) -> (Vec<&Stats>, Vec<bool>) {
    let mut atoms: Vec<(PieceKey, &Stats, bool)> =
        [a, b].into_iter().flat_map(|id| pool.atoms(id).map(move |(key, stats)| (key, stats, id == b))).collect();
    atoms.sort_unstable_by_key(|(key, ..)| *key);
    let first_group = atoms[0].2;
    atoms.into_iter().map(|(_, stats, group)| (stats, group != first_group)).unzip()
}

#[cfg(test)]
mod tests;
