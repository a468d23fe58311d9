//! How far components overlap: O = QᵀQ and w = Qᵀ1, q_ik ∝ p_ik^(1/T) the membership of row i in component k at temperature T.
//!
//! Memberships are whole multiples of 2⁻³², and sums are whole numbers. So the sums of several workers or threads can be added in any order and are those of one
//! pass, bit for bit. A membership below 2⁻³³ is 0, and a row keeps its 64 largest. What it keeps sums to 1, but for roundings of 2⁻³³ each.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::model::Model;
use crate::rows::Shard;
use crate::stats::Stats;
use crate::sweep::{Kernel, Sampler, sampler};

/// A membership of 1.
const ONE: f64 = 4_294_967_296.0;
/// ln 2⁻³³: what is less probable rounds to 0.
const LEAST_LOG_MEMBERSHIP: f64 = -22.873_856_958_594_79;
/// Memberships that a row keeps: pairs cost their square.
const MOST_MEMBERSHIPS: usize = 64;
/// The temperatures that are tried, rising.
const TEMPERATURES: [f64; 13] = [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];
/// A temperature is high enough if 1 − tr(O)/n reaches this.
const MIXED: f64 = 0.1;
/// Rows that the temperature is chosen by.
const SAMPLED_ROWS: usize = 1 << 12;
/// Rows that overlaps are summed over, and rows for each component, whichever are more; of more rows every n-th takes part.
const MOST_ROWS: usize = 1 << 17;
const ROWS_A_COMPONENT: usize = 64;
/// Log-shares that are held together.
const MOST_LOG_SHARES: usize = 1 << 19;
/// Pairs of components up to which sums are a triangle; of more only those that occur are held.
const MOST_DENSE_PAIRS: usize = 1 << 20;

/// How mixed rows are at each temperature. Sums of workers add up exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MixtureSums {
    n_rows: u64,
    /// Σ_i Σ_k q_ik² at each temperature, in 2⁻³².
    squares: [u64; TEMPERATURES.len()],
}

impl MixtureSums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.squares.iter_mut().zip(other.squares).for_each(|(sum, other)| *sum += other);
    }

    /// The least temperature at which memberships are mixed enough; the highest one, if none is.
    pub(crate) fn temperature(&self) -> f64 {
        let is_mixed = |squares: u64| 1.0 - squares as f64 / (self.n_rows as f64 * ONE) >= MIXED;
        let found = self.squares.iter().position(|squares| is_mixed(*squares));
        TEMPERATURES[found.unwrap_or(TEMPERATURES.len() - 1)]
    }
}

/// O and w at one temperature. Sums of workers add up exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OverlapSums {
    n_rows: u64,
    /// w, in 2⁻³².
    weights: Vec<u64>,
    /// (a, b, O_ab) with a ≤ b, rising, in 2⁻⁶⁴.
    pairs: Vec<(u32, u32, u128)>,
}

impl OverlapSums {
    /// Adds the sums of other rows over the same components.
    pub(crate) fn add(&mut self, other: &Self) {
        assert_eq!(self.weights.len(), other.weights.len(), "sums over the same components");
        self.n_rows += other.n_rows;
        self.weights.iter_mut().zip(&other.weights).for_each(|(sum, other)| *sum += other);
        let mut pairs: Vec<_> = self.pairs.iter().chain(&other.pairs).copied().collect();
        pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        pairs.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if is_same { next.2 } else { 0 };
            is_same
        });
        self.pairs = pairs;
    }

    pub(crate) fn n_components(&self) -> usize {
        self.weights.len()
    }

    /// The rows that were summed over.
    pub(crate) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// w in whole steps of 2⁻³².
    pub(crate) fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// w_k.
    pub(crate) fn weight(&self, component: usize) -> f64 {
        weight_of(self.weights[component])
    }

    /// (a, b, O_ab) with a ≤ b, rising; pairs that are not there have 0.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.pairs.iter().map(|&(a, b, overlap)| (a as usize, b as usize, overlap as f64 / (ONE * ONE)))
    }

    /// Sums as they would be after a pass: for tests and measurements of what is done with them.
    #[cfg(test)]
    pub(super) fn of(n_rows: u64, weights: &[f64], pairs: &[(u32, u32, f64)]) -> Self {
        let weights = weights.iter().map(|weight| (weight * ONE) as u64).collect();
        let pairs = pairs.iter().map(|&(a, b, overlap)| (a, b, (overlap * ONE * ONE) as u128)).collect();
        Self { n_rows, weights, pairs }
    }
}

/// A weight of so many steps.
pub(super) fn weight_of(steps: u64) -> f64 {
    steps as f64 / ONE
}

/// O and w at the temperature of the tree, and without any.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overlap {
    pub(crate) temperature: f64,
    pub(crate) tempered: OverlapSums,
    /// At T = 1, if that is another temperature.
    plain: Option<OverlapSums>,
}

impl Overlap {
    pub(crate) fn new(temperature: f64, tempered: OverlapSums, plain: Option<OverlapSums>) -> Self {
        Self { temperature, tempered, plain }
    }

    /// At T = 1.
    pub(crate) fn plain(&self) -> &OverlapSums {
        self.plain.as_ref().unwrap_or(&self.tempered)
    }
}

/// The overlap of components over all rows of some shards, which are runs of rows of one set in their order. Neither the shards nor the threads change it.
pub(crate) fn overlap(
    model: &Model,
    components: &[Stats],
    shards: &[Shard],
    kernel: Kernel,
    n_threads: usize,
) -> Overlap {
    let n_rows: usize = shards.iter().map(Shard::n_rows).sum();
    let mut raters: Vec<Rater> = (0..n_threads.max(1)).map(|_| Rater::new(model, components, kernel)).collect();
    let mut mixture = MixtureSums::default();
    for part in
        on_threads(&mut raters, &blocks(shards, n_rows.div_ceil(SAMPLED_ROWS), components.len()), Rater::mixture)
    {
        mixture.add(&part);
    }
    let temperature = mixture.temperature();
    let n_used = MOST_ROWS.max(components.len().saturating_mul(ROWS_A_COMPONENT));
    let rows = blocks(shards, n_rows.div_ceil(n_used), components.len());
    let parts = on_threads(&mut raters, &rows, |rater, rows| rater.overlap(rows, temperature));
    let add = |mut sums: Vec<OverlapSums>, part: Vec<OverlapSums>| {
        sums.iter_mut().zip(&part).for_each(|(sums, part)| sums.add(part));
        sums
    };
    let sums = parts.into_iter().reduce(add);
    let mut sums = sums.expect("there is a thread").into_iter();
    let tempered = sums.next().expect("there is a temperature");
    Overlap::new(temperature, tempered, sums.next())
}

/// Every n-th row of all shards together, in blocks.
fn blocks(shards: &[Shard], stride: usize, n_components: usize) -> Vec<Shard> {
    let stride = stride.max(1);
    let block = (MOST_LOG_SHARES / n_components.max(1)).clamp(64, 4096) * stride;
    let (mut first_row, mut blocks) = (0usize, Vec::new());
    for shard in shards {
        let n_rows = shard.n_rows();
        let first = first_row.next_multiple_of(stride) - first_row;
        let ranges = (first..n_rows).step_by(block).map(|first| first..(first + block).min(n_rows));
        blocks.extend(ranges.map(|rows| shard.part(rows).every(stride)));
        first_row += n_rows;
    }
    blocks
}

/// Lets every thread take blocks of rows, whichever is next: sums do not depend on who adds what.
fn on_threads<T: Send>(
    raters: &mut [Rater],
    blocks: &[Shard],
    work: impl Fn(&mut Rater, &mut dyn Iterator<Item = &Shard>) -> T + Sync,
) -> Vec<T> {
    let (next, work) = (&AtomicUsize::new(0), &work);
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(raters.len());
        for rater in raters.iter_mut() {
            threads.push(scope.spawn(move || {
                work(rater, &mut std::iter::from_fn(|| blocks.get(next.fetch_add(1, Ordering::Relaxed))))
            }));
        }
        threads.into_iter().map(|thread| thread.join().expect("overlaps do not panic")).collect()
    })
}

/// Rates rows by the components of a model: what a worker needs.
pub(crate) struct Rater {
    sampler: Box<dyn Sampler>,
    n_components: usize,
}

impl Rater {
    pub(crate) fn new(model: &Model, components: &[Stats], kernel: Kernel) -> Self {
        let mut sampler = sampler(model, Shard::of_tables(&[], 0..0), kernel);
        sampler.load(components);
        Self { sampler, n_components: components.len() }
    }

    /// How mixed the rows are at each temperature.
    pub(crate) fn mixture(&mut self, blocks: &mut dyn Iterator<Item = &Shard>) -> MixtureSums {
        let (mut sums, mut kept) = (MixtureSums::default(), Vec::new());
        self.each_row(blocks, |log_shares| {
            sums.n_rows += 1;
            for (temperature, squares) in TEMPERATURES.into_iter().zip(&mut sums.squares) {
                memberships(log_shares, temperature, &mut kept);
                *squares += kept.iter().map(|&(_, q)| (product(q, q) >> 32) as u64).sum::<u64>();
            }
        });
        sums
    }

    /// O and w at the temperature and, if that is not 1, also at 1.
    pub(crate) fn overlap(&mut self, blocks: &mut dyn Iterator<Item = &Shard>, temperature: f64) -> Vec<OverlapSums> {
        let temperatures = if temperature == 1.0 { vec![1.0] } else { vec![temperature, 1.0] };
        let mut adders: Vec<Adder> = temperatures.iter().map(|_| Adder::new(self.n_components)).collect();
        let mut kept = Vec::new();
        self.each_row(blocks, |log_shares| {
            for (temperature, adder) in temperatures.iter().zip(&mut adders) {
                memberships(log_shares, *temperature, &mut kept);
                adder.add_row(&kept);
            }
        });
        adders.into_iter().map(Adder::sums).collect()
    }

    fn each_row(&mut self, blocks: &mut dyn Iterator<Item = &Shard>, mut see: impl FnMut(&[f32])) {
        for rows in blocks {
            self.sampler.log_shares(rows).chunks_exact(self.n_components).for_each(&mut see);
        }
    }
}

/// The memberships of a row that count, components rising: (component, q in 2⁻³²).
fn memberships(log_shares: &[f32], temperature: f64, kept: &mut Vec<(u32, u64)>) {
    kept.clear();
    let least = (LEAST_LOG_MEMBERSHIP * temperature) as f32;
    // the bits of a log-share stand in for q until all are known
    let near = log_shares.iter().enumerate().filter(|(_, log_share)| **log_share >= least);
    kept.extend(near.map(|(component, log_share)| (component as u32, u64::from(log_share.to_bits()))));
    if kept.len() > MOST_MEMBERSHIPS {
        // log-shares are at most 0, so fewer bits are a larger share
        kept.select_nth_unstable_by_key(MOST_MEMBERSHIPS, |&(component, bits)| (bits & 0x7fff_ffff, component));
        kept.truncate(MOST_MEMBERSHIPS);
        kept.sort_unstable_by_key(|&(component, _)| component);
    }
    let share = |bits: u64| libm::exp(f64::from(f32::from_bits(bits as u32)) / temperature);
    let mut total = 0.0;
    for (_, bits) in kept.iter_mut() {
        let share = share(*bits);
        total += share;
        *bits = share.to_bits();
    }
    kept.iter_mut().for_each(|(_, bits)| *bits = libm::round(f64::from_bits(*bits) / total * ONE) as u64);
    kept.retain(|&(_, q)| q > 0);
}

/// Sums rows.
struct Adder {
    n_rows: u64,
    weights: Vec<u64>,
    pairs: PairSums,
}

enum PairSums {
    /// O_ab at b(b + 1)/2 + a, a ≤ b.
    Triangle(Vec<u128>),
    /// By the same number.
    Sparse(HashMap<u64, u128, BuildHasherDefault<PairHasher>>),
}

impl Adder {
    fn new(n_components: usize) -> Self {
        let n_pairs = n_components * (n_components + 1) / 2;
        let pairs = if n_pairs <= MOST_DENSE_PAIRS {
            PairSums::Triangle(vec![0; n_pairs])
        } else {
            PairSums::Sparse(HashMap::default())
        };
        Self { n_rows: 0, weights: vec![0; n_components], pairs }
    }

    fn add_row(&mut self, memberships: &[(u32, u64)]) {
        self.n_rows += 1;
        for (ix, &(b, q_b)) in memberships.iter().enumerate() {
            self.weights[b as usize] += q_b;
            let first = u64::from(b) * (u64::from(b) + 1) / 2;
            match &mut self.pairs {
                PairSums::Triangle(sums) => {
                    let of_b = &mut sums[first as usize..];
                    memberships[..=ix].iter().for_each(|&(a, q_a)| of_b[a as usize] += product(q_a, q_b));
                }
                PairSums::Sparse(sums) => memberships[..=ix].iter().for_each(|&(a, q_a)| {
                    *sums.entry(first + u64::from(a)).or_default() += product(q_a, q_b);
                }),
            }
        }
    }

    fn sums(self) -> OverlapSums {
        let mut pairs = Vec::new();
        match self.pairs {
            PairSums::Triangle(sums) => {
                let mut sums = sums.into_iter();
                for b in 0..self.weights.len() as u32 {
                    let of_b = (0..=b).zip(sums.by_ref().take(b as usize + 1));
                    pairs.extend(of_b.filter(|(_, sum)| *sum > 0).map(|(a, sum)| (a, b, sum)));
                }
            }
            PairSums::Sparse(sums) => pairs.extend(sums.into_iter().map(|(pair, sum)| {
                // the largest b with b(b + 1)/2 ≤ pair
                let b = ((8 * pair + 1).isqrt() - 1) / 2;
                ((pair - b * (b + 1) / 2) as u32, b as u32, sum)
            })),
        }
        pairs.sort_unstable();
        OverlapSums { n_rows: self.n_rows, weights: self.weights, pairs }
    }
}

fn product(q_a: u64, q_b: u64) -> u128 {
    u128::from(q_a) * u128::from(q_b)
}

/// Spreads the numbers of pairs, which are no secret to be hidden by a stronger hash.
#[derive(Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only numbers are hashed")
    }

    fn write_u64(&mut self, pair: u64) {
        let mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests;
