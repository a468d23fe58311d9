//! Algorithm 2: restricted consolidation, which parts the pieces of one component into two groups,
//! or leaves them whole.
//!
//! The pieces come in order. The first opens group 1; each further one joins it with weight ρ or
//! opens group 2 with weight 1; once there are two groups it joins one of them ∝ ρ. Drawing a split
//! and asking for the probability of a given one is the same walk, so the two cannot disagree.

use super::{MergeRatio, WeighedStats};
use crate::rng::Stream;
use crate::stats::Stats;

/// Who decides at each piece.
#[derive(Debug)]
pub enum Guide<'a> {
    /// Chance.
    Draw(&'a mut Stream),
    /// A split that is given: for each piece, whether it goes to group 2. The first piece never
    /// does.
    Follow(&'a [bool]),
}

/// A walk over the pieces of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct RestrictedWalk {
    /// For each piece, whether it went to group 2.
    pub parting: Vec<bool>,
    /// The logarithm of the probability of exactly these choices: log γ_C(A, B), or log β_C if
    /// there is one group.
    pub log_probability: f64,
}

impl RestrictedWalk {
    /// Whether there are two groups.
    pub fn parts(&self) -> bool {
        self.parting.contains(&true)
    }
}

/// Walks over pieces that have rows, in (shard, piece) order.
pub fn walk(ratio: &MergeRatio<'_>, atoms: &[&Stats], mut guide: Guide<'_>) -> RestrictedWalk {
    let weigh = |stats: &Stats| WeighedStats::new(ratio.family, stats.clone());
    let (first, rest) = atoms.split_first().expect("a component has pieces");
    if let Guide::Follow(parting) = guide {
        assert!(parting.len() == atoms.len() && !parting[0], "one choice a piece, and the first opens group 1");
    }
    let (mut whole, mut parted): (WeighedStats, Option<WeighedStats>) =
        (ratio.spread(&weigh(first)).into_owned(), None);
    let mut walk = RestrictedWalk { parting: vec![false], log_probability: 0.0 };
    for (ix, stats) in rest.iter().enumerate() {
        let atom = weigh(stats);
        let log_stay = ratio.log(&whole, &atom);
        let log_part = parted.as_ref().map_or(0.0, |parted| ratio.log(parted, &atom));
        let parts = match &mut guide {
            Guide::Draw(rng) => rng.uniform() >= libm::exp(log_share(log_stay, log_part)),
            Guide::Follow(parting) => parting[ix + 1],
        };
        walk.log_probability += if parts { log_share(log_part, log_stay) } else { log_share(log_stay, log_part) };
        walk.parting.push(parts);
        match (parts, &mut parted) {
            (false, _) => ratio.join(&mut whole, &atom, log_stay),
            (true, Some(parted)) => ratio.join(parted, &atom, log_part),
            (true, parted) => *parted = Some(ratio.spread(&atom).into_owned()),
        }
    }
    walk
}

/// log β_C: the probability that a walk ends with one group.
pub fn log_stay_whole(ratio: &MergeRatio<'_>, atoms: &[&Stats]) -> f64 {
    walk(ratio, atoms, Guide::Follow(&vec![false; atoms.len()])).log_probability
}

/// log of a weight's share of two, of which neither may be exponentiated alone.
fn log_share(log_own: f64, log_other: f64) -> f64 {
    let excess = log_other - log_own;
    -(excess.max(0.0) + libm::log1p(libm::exp(-excess.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::GaussianFixed;
    use crate::rng::{Role, Seed};
    use crate::special::log_sum_exp;
    use crate::stats::Sums;

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.0], offset: vec![0.0] }
    }

    fn atoms(means: &[f64]) -> Vec<Stats> {
        means.iter().map(|mean| Stats { count: 2, sums: Sums::Dense([2.0 * mean].into()) }).collect()
    }

    /// Every way to part pieces of which the first stays.
    fn all_partings(n_atoms: usize) -> impl Iterator<Item = Vec<bool>> {
        (0..1u32 << (n_atoms - 1)).map(move |bits| (0..n_atoms).map(|ix| (bits << 1) >> ix & 1 == 1).collect())
    }

    #[test]
    fn the_probabilities_of_all_walks_sum_to_one() {
        let (family, atoms) = (family(), atoms(&[0.0, 1.5, -1.0, 0.3, 2.0]));
        let (ratio, atoms) = (MergeRatio::new(&family, 0.8), atoms.iter().collect::<Vec<_>>());
        let logs: Vec<f64> =
            all_partings(5).map(|parting| walk(&ratio, &atoms, Guide::Follow(&parting)).log_probability).collect();
        assert_eq!(logs.len(), 16);
        assert!(log_sum_exp(&logs).abs() < 1e-12);
        assert_eq!(logs[0], log_stay_whole(&ratio, &atoms));
    }

    #[test]
    fn drawn_walks_are_as_frequent_as_their_probability_says() {
        let (family, atoms) = (family(), atoms(&[0.0, 1.5, -1.0, 0.3]));
        let (ratio, atoms) = (MergeRatio::new(&family, 0.8), atoms.iter().collect::<Vec<_>>());
        let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
        let n = 40_000;
        let drawn: Vec<RestrictedWalk> = (0..n).map(|_| walk(&ratio, &atoms, Guide::Draw(&mut rng))).collect();
        for parting in all_partings(4) {
            let p = libm::exp(walk(&ratio, &atoms, Guide::Follow(&parting)).log_probability);
            let share = drawn.iter().filter(|walk| walk.parting == parting).count() as f64 / f64::from(n);
            // 5 standard errors, 8 walks: false alarm below 1e-5
            assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt(), "{parting:?}: {share}, not {p}");
        }
        assert!(drawn.iter().all(|walk| walk.parts() == walk.parting.iter().any(|parts| *parts)));
    }

    #[test]
    fn shares_survive_weights_far_beyond_a_float() {
        assert_eq!(log_share(1e5, 0.0), 0.0);
        assert_eq!(log_share(-1e5, 0.0), -1e5);
        assert!((log_share(2.0, 2.0) + std::f64::consts::LN_2).abs() < 1e-15);
    }
}
