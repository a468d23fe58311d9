//! Label entropy without rows: how far components overlap is measured on rows that they would make.

use std::collections::BTreeMap;

use crate::consolidate::{ComponentId, LabelEntropy};
use crate::family::{OwnedRow, table_of_rows};
use crate::method::consolidated::message::SweepOverlap;
use crate::model::Model;
use crate::posterior::generate::rows_of;
use crate::rng::Stream;
use crate::rows::{Shard, Table};
use crate::stats::Stats;
use crate::sweep::{Kernel, sampler};

/// Rows that are made of each component: the fewest, the most, and of all components together.
const FEWEST_ROWS: usize = 16;
const MOST_ROWS: usize = 4096;
const ALL_ROWS: usize = 32_768;
/// Rows of the smallest components for a tree.
const FEWEST_OF_A_TREE: usize = 4;
/// A row says nothing of a component that is this much less probable than its own, in nats.
const NEGLIGIBLE: f64 = -12.0;
/// Components of which nothing is said beyond this: L in nats, as a sweep has it.
const LEAST_OVERLAP: f64 = -0.5;

/// Rows that the components would make, in proportion to their sizes, though some of each.
pub(crate) fn generated_rows(model: &Model, components: &[Stats], rng: &mut Stream) -> Table {
    let n_rows: i64 = components.iter().map(|stats| stats.count).sum();
    let share = |stats: &Stats| (ALL_ROWS as f64 * stats.count as f64 / n_rows as f64).round() as usize;
    let of_all: Vec<OwnedRow> =
        components.iter().flat_map(|stats| rows_of(model, stats, share(stats).max(FEWEST_OF_A_TREE), rng)).collect();
    table_of_rows(model.n_columns(), &of_all)
}

fn rows_per_component(n_components: usize) -> usize {
    (ALL_ROWS / n_components.max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
}

/// What the rows of one component say of another one.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    /// Σ of the entropy of a row's label between the two.
    entropy: f64,
    /// Σ of the probability of the other one.
    other: f64,
}

/// L of all pairs that overlap, as if the rows of a component were like those that it would make.
pub(crate) fn label_entropy(
    model: &Model,
    components: &[(ComponentId, Stats)],
    kernel: Kernel,
    rng: &mut Stream,
) -> LabelEntropy {
    if components.is_empty() {
        return LabelEntropy::default();
    }
    let n_made = rows_per_component(components.len());
    let stats: Vec<Stats> = components.iter().map(|(_, stats)| stats.clone()).collect();
    let ids: Vec<ComponentId> = components.iter().map(|(id, _)| *id).collect();
    let mut sampler = sampler(model, Shard::of_tables(&[], 0..0), kernel);
    sampler.load(&stats);
    let mut shares: BTreeMap<(u32, u32), [Share; 2]> = BTreeMap::new();
    for (own, component) in (0u32..).zip(&stats) {
        let rows = table_of_rows(model.n_columns(), &rows_of(model, component, n_made, rng));
        for scores in sampler.log_shares(&Shard::of_table(rows)).chunks_exact(components.len()) {
            for (other, score) in (0u32..).zip(scores).filter(|(other, _)| *other != own) {
                let odds = f64::from(score - scores[own as usize]);
                if odds > NEGLIGIBLE {
                    let pair = shares.entry((own.min(other), own.max(other))).or_default();
                    let share = &mut pair[usize::from(own > other)];
                    let (log_whole, p_other) = (libm::log1p(libm::exp(odds)), 1.0 / (1.0 + libm::exp(-odds)));
                    share.entropy += log_whole - p_other * odds;
                    share.other += p_other;
                }
            }
        }
    }
    let mut overlap = SweepOverlap::default();
    let n_rows = |ix: u32| stats[ix as usize].count as f64;
    for ((a, b), shares) in shares {
        let log_share = log_share(n_rows(a), n_rows(b), shares, n_made as f64);
        if log_share < LEAST_OVERLAP {
            overlap.pairs.push((a, b, log_share as f32));
        }
    }
    LabelEntropy::of([(ids.as_slice(), &overlap)], ids.iter().copied())
}

/// L of a pair. The mean probability of the first one is known, n_A / (n_A + n_B): how far the made rows are from it corrects their entropy, which matters for
/// two components of the same cluster, whose log ρ + L is a small difference of large numbers.
fn log_share(n_a: f64, n_b: f64, shares: [Share; 2], n_made: f64) -> f64 {
    let [of_a, of_b] = shares;
    let entropy = (n_a * of_a.entropy + n_b * of_b.entropy) / n_made;
    let too_many = (n_b * of_b.other - n_a * of_a.other) / n_made;
    -(entropy - libm::log(n_b / n_a) * too_many).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::{WeighedStats, log_merge_ratio};
    use crate::family::GaussianFixed;
    use crate::rng::{Role, Seed};
    use crate::stats::Sums;

    /// log ρ + L of two components of unit width, `distance` apart.
    fn log_ratio(n_a: i64, n_b: i64, distance: f64, seed: u64) -> f64 {
        let family = GaussianFixed { noise_sd: 1.0, mean_sd: 10.0, prior_mean: vec![0.0; 2], offset: vec![0.0; 2] };
        let stats = |n: i64, mean: f64| Stats { count: n, sums: Sums::Dense([n as f64 * mean, 0.0].into()) };
        let (a, b) = (stats(n_a, 0.0), stats(n_b, distance));
        let ids = [1, 2].map(|number| ComponentId { epoch: 0, number });
        let model = Model::GaussianFixed(family.clone());
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        let pairs = [(ids[0], a.clone()), (ids[1], b.clone())];
        let entropy = label_entropy(&model, &pairs, Kernel::Portable, &mut rng);
        let weigh = |stats| WeighedStats::new(&family, stats);
        log_merge_ratio(&family, 1.0, &weigh(a), &weigh(b)) + entropy.of_pair(ids[0], ids[1])
    }

    #[test]
    fn parts_of_one_cluster_are_merged_and_clusters_that_overlap_are_not() {
        // seeded: no false alarm
        for seed in 0..20 {
            let near = [(300, 300, 2.0), (10_000, 10_000, 2.0), (1_000_000, 1_000_000, 2.0)];
            let far = [(10_000, 500, 3.0), (2_000_000, 90_000, 3.0)];
            for (n_a, n_b, distance) in near.into_iter().chain(far) {
                let by_chance = libm::sqrt(1.0 / n_a as f64 + 1.0 / n_b as f64);
                let same = log_ratio(n_a, n_b, by_chance, seed);
                assert!(same > 0.0, "{n_a} and {n_b} rows of one cluster: {same}");
                let apart = log_ratio(n_a, n_b, distance, seed);
                assert!(apart < 0.0, "{n_a} and {n_b} rows {distance} standard deviations apart: {apart}");
            }
        }
    }
}
