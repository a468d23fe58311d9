//! Algorithm 1 for documents: ρ of a birth with all components at once, from an index of the
//! components by their words.
//!
//! The first cycle of a corpus brings tens of thousands of births into thousands of components.
//! Nothing is approximated but this: what is hopeless beside the best choice is left out of the
//! draw.

use super::progressive::ConsolidateInfo;
use super::{ComponentId, PieceKey, Pool};
use crate::family::{Conjugate, WordIndex};
use crate::rng::Stream;
use crate::special::log_gammas::LogGammas;
use crate::stats::Stats;

/// Nats below the best at which a choice is hopeless: all components together are then less than a
/// draw can tell.
const HOPELESS: f64 = 40.0;

/// Takes births into a settled pool, in the given order.
pub(super) fn absorb(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    index: WordIndex,
    family: &dyn Conjugate,
    alpha: f64,
    rng: &mut Stream,
) -> ConsolidateInfo {
    let mut info = ConsolidateInfo { births: births.len() as u64, ..ConsolidateInfo::default() };
    if births.is_empty() {
        return info;
    }
    let mut components = Components::new(pool, index, alpha);
    for (key, stats) in births {
        let (hopeful, log_weights) = components.hopeful(&stats);
        let choice = hopeful.get(rng.categorical(&log_weights));
        info.merges += u64::from(choice.is_some());
        let owner = match choice {
            Some(&chosen) => components.join(chosen, &stats),
            None => components.push(pool.mint(), &stats),
        };
        pool.enter(key, Some(stats), owner);
    }
    // the index knows the totals: those of the pool are added up once
    pool.settle(family);
    info
}

/// What births are compared with.
struct Components {
    ids: Vec<ComponentId>,
    n_documents: Vec<i64>,
    index: WordIndex,
    log_alpha: f64,
    log_gammas: LogGammas,
}

impl Components {
    fn new(pool: &Pool, index: WordIndex, alpha: f64) -> Self {
        let log_alpha = libm::log(alpha);
        let mut components =
            Self { ids: Vec::new(), n_documents: Vec::new(), index, log_alpha, log_gammas: LogGammas::new(0.0) };
        for (id, total) in pool.live() {
            components.push(id, &total.stats);
        }
        components
    }

    fn push(&mut self, id: ComponentId, stats: &Stats) -> ComponentId {
        self.ids.push(id);
        self.n_documents.push(stats.count);
        self.index.push(stats);
        id
    }

    fn join(&mut self, ix: usize, stats: &Stats) -> ComponentId {
        self.n_documents[ix] += stats.count;
        self.index.add(ix, stats);
        self.ids[ix]
    }

    /// The components that are not hopeless, and log ρ with each; at the end that of standing
    /// alone.
    fn hopeful(&mut self, birth: &Stats) -> (Vec<usize>, Vec<f64>) {
        let mut log_ratios = self.index.log_overlaps(birth);
        let alone = self.log_gammas.of(birth.count) + self.log_alpha;
        for (log_ratio, &count) in log_ratios.iter_mut().zip(&self.n_documents) {
            *log_ratio += self.log_gammas.of(count + birth.count) - self.log_gammas.of(count) - alone;
        }
        let least = log_ratios.iter().copied().fold(0.0, f64::max) - HOPELESS;
        let hopeful = log_ratios.iter().copied().enumerate().filter(|(_, log_ratio)| *log_ratio > least);
        let (hopeful, mut log_weights): (Vec<usize>, Vec<f64>) = hopeful.unzip();
        log_weights.push(0.0);
        (hopeful, log_weights)
    }
}

#[cfg(test)]
mod tests {
    use super::super::progressive::absorb_in_batches;
    use super::*;
    use crate::consolidate::PieceName;
    use crate::family::Multinomial;
    use crate::rng::{Role, Seed};
    use crate::stats::Sums;

    /// A few documents of ten words each, of one of twenty topics that have most words alone.
    fn documents(family: &Multinomial, rng: &mut Stream) -> Stats {
        let (topic, count) = (rng.below(20), 1 + rng.below(4));
        let mut sums = vec![0.0; family.stats_len()];
        for _ in 0..10 * count {
            let word = if rng.uniform() < 0.3 { rng.below(20) } else { 20 + 10 * topic + rng.below(10) };
            sums[word] += 1.0;
        }
        sums[family.n_words] = 10.0 * count as f64;
        Stats { count: count as i64, sums: Sums::Dense(sums.into()) }.to_sparse()
    }

    #[test]
    fn by_words_births_go_where_a_comparison_with_all_puts_them() {
        let family = Multinomial { smoothing: 0.2, n_words: 220 };
        let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
        let births: Vec<(PieceKey, Stats)> = (0..600)
            .map(|number| (PieceKey::whole(number / 60, PieceName::Birth(number.into())), documents(&family, &mut rng)))
            .collect();
        let (early, late) = births.split_at(300);
        let (mut fast, mut slow) = (Pool::new(0), Pool::new(0));
        for births in [early, late] {
            let rng = || Seed::new(7).stream(Role::Coordinator, 0, births.len() as u64);
            let index = family.word_index(&mut births.iter().map(|(_, stats)| stats)).unwrap();
            let by_words = absorb(&mut fast, births.to_vec(), index, &family, 0.5, &mut rng());
            assert_eq!(by_words, absorb_in_batches(&mut slow, births.to_vec(), &family, 0.5, &mut rng()));
            assert!(by_words.merges > 200, "{by_words:?}");
        }
        let owners = |pool: &Pool| births.iter().map(|(key, _)| pool.piece(*key).unwrap().owner).collect::<Vec<_>>();
        assert_eq!(owners(&fast), owners(&slow));
        assert!(fast.live().zip(slow.live()).all(|((_, a), (_, b))| a.stats == b.stats));
    }
}
