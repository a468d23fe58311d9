//! The exact transition matrix of the moves over all 203 partitions of 6 pieces, from the same
//! functions the sampler uses.

use std::collections::BTreeMap;

use super::*;
use crate::consolidate::PieceName;
use crate::family::{GaussianFixed, Multinomial, log_joint};
use crate::rng::{Role, Seed};
use crate::stats::Sums;

const N_PIECES: usize = 6;
const ALPHA: f64 = 0.8;

/// For each piece, its group; groups are numbered as they appear, so a partition has one form.
type Partition = Vec<usize>;

/// What could be done wrong, for tests that must fail then.
#[derive(Clone, Copy, PartialEq)]
enum Slip {
    None,
    /// Where only one kind of move is possible it is always taken.
    TypeByAvailability,
    /// The probability of a pair is taken for that of an ordered one.
    OrderedPairs,
}

struct Case {
    family: Box<dyn Conjugate>,
    pieces: Vec<Stats>,
}

fn cases() -> [Case; 2] {
    let family = GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.3], offset: vec![0.0] };
    let means = [(2, 0.0), (1, 1.4), (3, 0.5), (2, -1.2), (1, 2.5), (2, 1.0)];
    let pieces = means.map(|(count, mean)| Stats { count, sums: Sums::Dense([count as f64 * mean].into()) });
    let gaussian = Case { family: Box::new(family), pieces: pieces.to_vec() };

    let family = Multinomial { smoothing: 0.5, n_words: 4 };
    let words = [[3, 1, 0, 0], [1, 2, 0, 0], [0, 1, 2, 1], [0, 0, 3, 1], [1, 1, 1, 1], [2, 0, 0, 2]];
    let of_words = |(ix, words): (usize, [i64; 4])| {
        let entries = words.iter().copied().chain([words.iter().sum()]).enumerate().filter(|(_, count)| *count > 0);
        Stats { count: 1 + ix as i64 % 3, sums: Sums::Counts(entries.map(|(ix, count)| (ix as u32, count)).collect()) }
    };
    let counts = Case { family: Box::new(family), pieces: words.into_iter().enumerate().map(of_words).collect() };
    [gaussian, counts]
}

/// Of shards in another order than they are numbered: (shard, piece) order is not the order of
/// arrival.
fn key(piece_ix: usize) -> PieceKey {
    PieceKey::whole((piece_ix as u32 * 5) % 3, PieceName::Birth(piece_ix as u64))
}

fn all_partitions() -> Vec<Partition> {
    let mut partitions: Vec<Partition> = vec![vec![]];
    for _ in 0..N_PIECES {
        let extend = |partition: Partition| {
            let n_groups = partition.iter().max().map_or(0, |last| last + 1);
            (0..=n_groups).map(move |group| [partition.as_slice(), &[group]].concat())
        };
        partitions = partitions.into_iter().flat_map(extend).collect();
    }
    partitions
}

fn in_order_of_appearance<T: Ord>(groups: impl IntoIterator<Item = T>) -> Partition {
    let mut numbers = BTreeMap::new();
    let number = |group| {
        let next = numbers.len();
        *numbers.entry(group).or_insert(next)
    };
    groups.into_iter().map(number).collect()
}

fn pool_of(case: &Case, partition: &Partition) -> Pool {
    let mut pool = Pool::new(0);
    let ids: Vec<ComponentId> = (0..N_PIECES).map(|_| pool.mint()).collect();
    for (ix, stats) in case.pieces.iter().enumerate() {
        pool.enter(key(ix), Some(stats.clone()), ids[partition[ix]]);
    }
    pool.settle(case.family.as_ref());
    pool
}

fn partition_of(pool: &Pool) -> Partition {
    in_order_of_appearance((0..N_PIECES).map(|ix| pool.piece(key(ix)).unwrap().owner))
}

fn posterior(case: &Case, partitions: &[Partition]) -> Vec<f64> {
    let log_weight = |partition: &Partition| {
        let pool = pool_of(case, partition);
        log_joint(case.family.as_ref(), pool.live().map(|(_, total)| &total.stats), ALPHA, 0.0)
    };
    let logs: Vec<f64> = partitions.iter().map(log_weight).collect();
    let total = log_sum_exp(&logs);
    logs.iter().map(|log| libm::exp(log - total)).collect()
}

/// The distribution of the next state. What stays is added up move by move, so that the sum tells
/// whether proposals are normalised.
fn row_of_matrix(case: &Case, partitions: &BTreeMap<Partition, usize>, from: &Partition, slip: Slip) -> Vec<f64> {
    let pool = pool_of(case, from);
    let moves = Moves::new(&pool, case.family.as_ref(), ALPHA);
    let mut row = vec![0.0; partitions.len()];
    let here = partitions[from];
    let can_merge = moves.slots.len() > 1;
    let can_split = moves.log_split_weights.iter().any(|log| *log > f64::NEG_INFINITY);
    let (merge_share, split_share) = match slip {
        Slip::TypeByAvailability if !can_merge => (0.0, 1.0),
        Slip::TypeByAvailability if !can_split => (1.0, 0.0),
        _ => (0.5, 0.5),
    };
    let log_slip = if slip == Slip::OrderedPairs { std::f64::consts::LN_2 } else { 0.0 };
    let mut add = |to: usize, log_proposal: f64, share: f64, log_acceptance: f64| {
        let (proposal, acceptance) = (share * libm::exp(log_proposal), libm::exp(log_acceptance).min(1.0));
        row[to] += proposal * acceptance;
        row[here] += proposal * (1.0 - acceptance);
    };

    let id_of = |slot: usize| moves.member(slot).id;
    let pairs = (0..moves.slots.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    for slots in pairs {
        let merge = moves.merge(&pool, slots);
        let merged = |owner| if owner == id_of(slots.1) { id_of(slots.0) } else { owner };
        let to = in_order_of_appearance((0..N_PIECES).map(|ix| merged(pool.piece(key(ix)).unwrap().owner)));
        add(partitions[&to], merge.log_proposal, merge_share, merge.log_acceptance() + log_slip);
    }
    for slot in 0..moves.slots.len() {
        let atoms: Vec<(PieceKey, &Stats)> = pool.atoms(id_of(slot)).collect();
        if atoms.len() < 2 {
            continue;
        }
        let stats: Vec<&Stats> = atoms.iter().map(|(_, stats)| *stats).collect();
        for bits in 0..1u32 << (atoms.len() - 1) {
            let parting: Vec<bool> = (0..atoms.len()).map(|ix| (bits << 1) >> ix & 1 == 1).collect();
            let walk = restricted::walk(&moves.ratio, &stats, Guide::Follow(&parting));
            if !walk.parts() {
                let log_choice = moves.log_split_weights[slot] - log_sum_exp(&moves.log_split_weights);
                add(here, log_choice + walk.log_probability, split_share, 0.0);
                continue;
            }
            let split = moves.split(&pool, slot, &walk);
            let owner = |ix| (pool.piece(key(ix)).unwrap().owner, split.parting.contains(&key(ix)));
            let to = in_order_of_appearance((0..N_PIECES).map(owner));
            add(partitions[&to], split.log_proposal, split_share, split.log_acceptance() - log_slip);
        }
    }
    row[here] += if can_merge { 0.0 } else { merge_share } + if can_split { 0.0 } else { split_share };
    row
}

/// Σ |πT − π| and max |row sum − 1|.
fn errors(case: &Case, slip: Slip) -> (f64, f64) {
    let list = all_partitions();
    assert_eq!(list.len(), 203);
    let partitions: BTreeMap<Partition, usize> = list.iter().cloned().zip(0..).collect();
    let posterior = posterior(case, &list);
    let mut after = vec![0.0; list.len()];
    let mut row_error = 0.0f64;
    for (from, p) in list.iter().zip(&posterior) {
        let row = row_of_matrix(case, &partitions, from, slip);
        row_error = row_error.max((row.iter().sum::<f64>() - 1.0).abs());
        after.iter_mut().zip(&row).for_each(|(after, step)| *after += p * step);
    }
    let error = after.iter().zip(&posterior).map(|(after, p)| (after - p).abs()).sum();
    (error, row_error)
}

#[test]
fn moves_leave_the_posterior_over_all_partitions_invariant() {
    for case in cases() {
        let (error, row_error) = errors(&case, Slip::None);
        assert!(error < 1e-12 && row_error < 1e-12, "|πT − π| = {error:e}, rows off by {row_error:e}");
    }
}

#[test]
fn the_test_of_invariance_finds_the_slips() {
    for case in cases() {
        for slip in [Slip::TypeByAvailability, Slip::OrderedPairs] {
            let (error, row_error) = errors(&case, slip);
            assert!(error > 0.01 && row_error < 1e-12, "|πT − π| = {error:e}, rows off by {row_error:e}");
        }
    }
}

/// A chi-square of the next states from one state, with those expected less than 5 times taken
/// together. Its mean is the degrees of freedom f, its variance 2f: f + 6√(2f) is exceeded with
/// probability below 1e-4 for f ≥ 5.
#[test]
fn drawn_moves_follow_the_matrix() {
    let (n, list) = (20_000, all_partitions());
    let partitions: BTreeMap<Partition, usize> = list.iter().cloned().zip(0..).collect();
    for (case, seed) in cases().iter().zip(0..) {
        let from = vec![0, 0, 1, 0, 2, 1];
        let expected = row_of_matrix(case, &partitions, &from, Slip::None);
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        let mut counts = vec![0.0; list.len()];
        for _ in 0..n {
            let mut pool = pool_of(case, &from);
            let info = refine(&mut pool, 1, case.family.as_ref(), ALPHA, &mut rng);
            let to = partition_of(&pool);
            assert_eq!(info.merges + info.splits, u64::from(to != from));
            counts[partitions[&to]] += 1.0;
        }
        let (mut square, mut n_cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
        for (count, p) in counts.iter().zip(&expected) {
            let mean = p * f64::from(n);
            if mean < 5.0 {
                rare = (rare.0 + count, rare.1 + mean);
            } else {
                square += (count - mean).powi(2) / mean;
                n_cells += 1.0;
            }
        }
        let freedom: f64 = n_cells - 1.0;
        assert!(freedom >= 5.0 && square < freedom + 6.0 * (2.0 * freedom).sqrt(), "{square} for {freedom}");
        // Poisson: 6 standard errors and a bit for small means
        assert!((rare.0 - rare.1).abs() < 6.0 * rare.1.sqrt() + 4.0, "{rare:?}");
    }
}

/// Many moves in one call equal as many calls of one move: what is kept up to date is what would be
/// computed again.
#[test]
fn bookkeeping_over_many_moves_equals_a_fresh_start() {
    for case in cases() {
        let family = case.family.as_ref();
        let mut pool = pool_of(&case, &vec![0, 1, 2, 3, 4, 5]);
        let mut rng = Seed::new(9).stream(Role::Observer, 0, 0);
        let mut moves = Moves::new(&pool, family, ALPHA);
        let mut n_changes = 0;
        for _ in 0..300 {
            n_changes += u32::from(moves.merge_step(&mut pool, &mut rng));
            n_changes += u32::from(moves.split_step(&mut pool, &mut rng));
            let fresh = Moves::new(&pool, family, ALPHA);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9 || a == b;
            assert!(close(moves.pairs.log_total(None), fresh.pairs.log_total(None)));
            assert!(close(log_sum_exp(&moves.log_split_weights), log_sum_exp(&fresh.log_split_weights)));
            let ids = |moves: &Moves<'_>| moves.slots.iter().flatten().map(|member| member.id).collect::<BTreeSet<_>>();
            assert_eq!(ids(&moves), ids(&fresh));
        }
        assert!(n_changes > 50);
    }
}
