//! Hungarian consolidation: the births of one worker against the components there are, all at once.
//!
//! A worker's births are different components to it, so at most one of them goes to each component.
//! The matching with the largest summed log ρ is taken, where to stay apart is worth 0. Workers
//! come one after another; a birth that stayed apart is a component for the next.
//!
//! As the paper's text has it, duplicates that a worker opened never meet again. The authors'
//! program lets rows that join a component new to their worker arrive as births
//! ([`Joins::Births`](crate::method::consolidated::Joins)); then they do, and the method uses that
//! by default.

use pathfinding::prelude::{Matrix, kuhn_munkres};

use super::progressive::ConsolidateInfo;
use super::ratio::Room;
use super::{MergeRatio, PieceKey, Pool, WeighedStats};
use crate::family::Conjugate;
use crate::stats::Stats;

/// Takes births into a settled pool, worker by worker; they come in (worker, birth) order.
pub fn absorb(pool: &mut Pool, births: Vec<(PieceKey, Stats)>, family: &dyn Conjugate, alpha: f64) -> ConsolidateInfo {
    let ratio = MergeRatio::new(family, alpha);
    let mut info = ConsolidateInfo { births: births.len() as u64, ..ConsolidateInfo::default() };
    let mut births = births.into_iter().peekable();
    while let Some(first) = births.next() {
        let shard = first.0.shard;
        let mut of_worker = vec![first];
        while let Some(next) = births.next_if(|(key, _)| key.shard == shard) {
            of_worker.push(next);
        }
        let of_worker = of_worker.into_iter().map(|(key, stats)| (key, WeighedStats::new(family, stats)));
        info.merges += absorb_of_worker(pool, of_worker.collect(), &ratio);
    }
    info
}

/// Returns how many were merged.
fn absorb_of_worker(pool: &mut Pool, births: Vec<(PieceKey, WeighedStats)>, ratio: &MergeRatio<'_>) -> u64 {
    let (mut ids, mut gains, mut room) = (Vec::new(), vec![Gains::new(); births.len()], Room::default());
    for (id, total) in pool.live() {
        ratio.with_spread(total, &mut room, |total| {
            for ((_, birth), gains) in births.iter().zip(&mut gains) {
                let log_ratio = ratio.log(total, birth);
                if log_ratio > 0.0 {
                    gains.push((ids.len(), log_ratio));
                }
            }
        });
        ids.push(id);
    }
    let mut n_merged = 0;
    for ((key, birth), partner) in births.into_iter().zip(best_matching(&gains)) {
        n_merged += u64::from(partner.is_some());
        let owner = partner.map_or_else(|| pool.mint(), |partner| ids[partner]);
        pool.enter(key, Some(birth.stats), owner);
    }
    pool.settle(ratio.family);
    n_merged
}

/// The partners that would be a gain, and how much each is worth.
type Gains = Vec<(usize, f64)>;

/// For each row its partner in the matching of the largest summed gain, `None` if it stays apart.
fn best_matching(gains: &[Gains]) -> Vec<Option<usize>> {
    let rows: Vec<usize> = (0..gains.len()).filter(|&row| !gains[row].is_empty()).collect();
    let mut partners: Vec<usize> = gains.iter().flatten().map(|(partner, _)| *partner).collect();
    partners.sort_unstable();
    partners.dedup();
    let mut matching = vec![None; gains.len()];
    if rows.is_empty() {
        return matching;
    }
    // a partner who is no gain is worth 0, which is to stay apart: so there need not be a column
    // for that, only columns enough for all rows
    let mut weights = Matrix::new(rows.len(), partners.len().max(rows.len()), 0);
    for (row_ix, &row) in rows.iter().enumerate() {
        for (partner, gain) in &gains[row] {
            let column = partners.binary_search(partner).expect("every partner has a column");
            weights[(row_ix, column)] = fixed_point(*gain);
        }
    }
    let (_, columns) = kuhn_munkres(&weights);
    for (row_ix, column) in columns.into_iter().enumerate() {
        if weights[(row_ix, column)] > 0 {
            matching[rows[row_ix]] = Some(partners[column]);
        }
    }
    matching
}

/// In steps of 2⁻¹⁶ and at most 2³⁰: the sum of 2¹⁶ of them is far from the end of an i64.
fn fixed_point(log_ratio: f64) -> i64 {
    (log_ratio.min(f64::from(1u32 << 30)) * 65536.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::PieceName;
    use crate::family::GaussianFixed;
    use crate::rng::{Role, Seed};
    use crate::stats::Sums;

    fn summed(gains: &[Gains], matching: &[Option<usize>]) -> f64 {
        let gain = |(gains, partner): (&Gains, &Option<usize>)| {
            partner.map_or(0.0, |partner| gains.iter().find(|(other, _)| *other == partner).expect("a gain").1)
        };
        gains.iter().zip(matching).map(gain).sum()
    }

    /// The largest sum over all matchings of the rows from `first` on.
    fn by_brute_force(gains: &[Gains], taken: &mut Vec<usize>) -> f64 {
        let Some((first, rest)) = gains.split_first() else { return 0.0 };
        let mut best = by_brute_force(rest, taken);
        for &(partner, gain) in first {
            if !taken.contains(&partner) {
                taken.push(partner);
                best = best.max(gain + by_brute_force(rest, taken));
                taken.pop();
            }
        }
        best
    }

    #[test]
    fn the_matching_is_the_best_of_all() {
        let mut rng = Seed::new(2).stream(Role::Observer, 0, 0);
        for _ in 0..300 {
            let (n_rows, n_partners) = (1 + rng.below(5), 1 + rng.below(5));
            let mut gain = |partner| (rng.uniform() < 0.5).then(|| (10 * partner, 100.0 * rng.uniform()));
            let gains: Vec<Gains> = (0..n_rows).map(|_| (0..n_partners).filter_map(&mut gain).collect()).collect();
            let matching = best_matching(&gains);
            let mut partners: Vec<usize> = matching.iter().flatten().copied().collect();
            partners.sort_unstable();
            assert!(partners.windows(2).all(|pair| pair[0] != pair[1]), "at most one birth a component");
            assert!((summed(&gains, &matching) - by_brute_force(&gains, &mut Vec::new())).abs() < 1e-3);
        }
    }

    #[test]
    fn enormous_gains_neither_overflow_nor_hide_others() {
        let gains = vec![vec![(0, 1e300), (1, 2.0)], vec![(0, 1e300)], vec![(1, 1.0)], vec![]];
        assert_eq!(best_matching(&gains), [Some(1), Some(0), None, None]);
    }

    #[test]
    fn births_of_one_worker_stay_apart_and_those_of_another_join_them() {
        let family = GaussianFixed { noise_sd: 1.0, mean_sd: 10.0, prior_mean: vec![0.0], offset: vec![0.0] };
        let birth = |shard, number, mean: f64| {
            let stats = Stats { count: 50, sums: Sums::Dense([50.0 * mean].into()) };
            (PieceKey::whole(shard, PieceName::Birth(number)), stats)
        };
        let mut pool = Pool::new(0);
        // two of worker 0 are alike, but it tells them apart; of worker 1 each finds one of them
        let births = vec![birth(0, 0, 1.0), birth(0, 1, 1.1), birth(1, 0, 1.05), birth(1, 1, 1.0), birth(1, 2, 9.0)];
        let info = absorb(&mut pool, births, &family, 1.0);
        assert_eq!(info, ConsolidateInfo { births: 5, merges: 2, splits: 0 });
        let counts: Vec<i64> = pool.live().map(|(_, total)| total.stats.count).collect();
        assert_eq!(counts, [100, 100, 50]);
    }
}
