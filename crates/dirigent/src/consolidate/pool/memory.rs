//! The ledger save and taken up again: pieces with their owners, and how far each component has
//! come. Totals are added up again, which gives the same to the last bit.

use serde::{Deserialize, Serialize};

use super::{ComponentId, Piece, PieceKey, Pool, Trial};
use crate::family::Conjugate;
use crate::stats::{Stats, Sums};

/// A settled pool, save.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PoolMemory {
    pieces: Vec<(PieceKey, Piece)>,
    trials: Vec<(ComponentId, Trial)>,
    epoch: u32,
    n_minted: u64,
    keeps_halves: bool,
}

impl Pool {
    /// Puts the pool away. It must be settled.
    pub(crate) fn memory(&self) -> PoolMemory {
        assert!(self.stale.is_empty() && self.stale_halves.is_empty(), "the pool must be settled");
        PoolMemory {
            pieces: self.pieces.iter().map(|(key, piece)| (*key, piece.clone())).collect(),
            trials: self.components.iter().map(|(id, component)| (*id, component.trial)).collect(),
            epoch: self.epoch,
            n_minted: self.n_minted,
            keeps_halves: self.keeps_halves,
        }
    }

    /// Takes a pool up again; `None` if it is not one of this family.
    pub(crate) fn recall(memory: PoolMemory, family: &dyn Conjugate) -> Option<Self> {
        let PoolMemory { pieces, trials, epoch, n_minted, keeps_halves } = memory;
        let mut pool = Self { epoch, n_minted, keeps_halves, ..Self::default() };
        for (key, piece) in pieces {
            let is_ours = piece.stats.as_ref().is_none_or(|stats| has_rows(stats) && fits(stats, family));
            if pool.pieces.contains_key(&key) || !is_ours {
                return None;
            }
            pool.stale_halves.insert(piece.owner);
            pool.insert(key, piece);
        }
        if trials.len() != pool.components.len() {
            return None;
        }
        for (id, trial) in trials {
            pool.components.get_mut(&id)?.trial = trial;
        }
        pool.settle(family);
        Some(pool)
    }
}

/// More rows than any piece has: sums of counts do not overflow.
const MOST_ROWS: i64 = 1 << 48;

/// Whether statistics are such as pieces keep: without rows they keep none.
fn has_rows(stats: &Stats) -> bool {
    (1..=MOST_ROWS).contains(&stats.count) && stats.is_finite()
}

/// Whether statistics have the coordinates of a family.
pub(crate) fn fits(stats: &Stats, family: &dyn Conjugate) -> bool {
    match &stats.sums {
        Sums::Dense(sums) => sums.len() == family.stats_len() && !family.has_counts(),
        Sums::Counts(counts) => {
            let is_sorted = counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
            family.has_counts() && is_sorted && counts.last().is_none_or(|(ix, _)| (*ix as usize) < family.stats_len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::PieceName;
    use crate::family::GaussianFixed;
    use crate::halves::Half;

    #[test]
    fn a_pool_taken_up_again_is_the_same_to_the_last_bit() {
        let family = GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.0], offset: vec![0.0] };
        let mut pool = Pool::new(2).keeping_halves(true);
        let ids = [pool.mint(), pool.mint(), pool.mint()];
        for number in 0..12u64 {
            let stats = Stats { count: 1 + number as i64, sums: Sums::Dense([0.1 * number as f64].into()) };
            let key = PieceKey::whole(number as u32 % 4, PieceName::Birth(number));
            pool.enter(key, Some(stats), ids[number as usize % 3]);
            if number % 2 == 0 {
                pool.set_half(key, Half::BOTH[number as usize / 2 % 2]);
            }
        }
        pool.settle(&family);
        pool.merge(ids[0], ids[2], &family);
        (0..4).for_each(|shard| pool.fuse(shard));
        pool.settle(&family);
        let bytes = postcard::to_stdvec(&pool.memory()).unwrap();
        let again = Pool::recall(postcard::from_bytes(&bytes).unwrap(), &family).unwrap();
        assert_eq!(format!("{again:?}"), format!("{pool:?}"));
        let wider = GaussianFixed { prior_mean: vec![0.0; 2], offset: vec![0.0; 2], ..family };
        assert!(Pool::recall(pool.memory(), &wider).is_none(), "statistics of another family");
    }
}
