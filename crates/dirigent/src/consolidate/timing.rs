//! What consolidation costs at the sizes it is meant for. Not run by default: `cargo test --release
//! timing -- --ignored --nocapture`.

use std::time::Instant;

use super::*;
use crate::family::{Conjugate, GaussianFixed, Multinomial};
use crate::rng::{Role, Seed, Stream};
use crate::stats::{Stats, Sums};

const N_WORKERS: u32 = 20;

fn stream() -> Stream {
    Seed::new(1).stream(Role::Observer, 0, 0)
}

/// Time on the processor, where the system reports it: others may be at work too.
fn busy_nanoseconds() -> Option<f64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

#[expect(clippy::print_stderr, reason = "a measurement is read by people")]
fn timed<T>(what: &str, pool: &mut Pool, run: impl FnOnce(&mut Pool) -> T) -> T
where
    T: std::fmt::Debug,
{
    let (start, busy_before) = (Instant::now(), busy_nanoseconds());
    let result = run(pool);
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    let milliseconds = busy_nanoseconds().zip(busy_before).map_or(elapsed, |(after, before)| (after - before) * 1e-6);
    eprintln!("{what}: {milliseconds:.1} ms, K = {}, {result:?}", pool.live().count());
    result
}

fn birth(shard: ShardId, number: u64) -> PieceKey {
    PieceKey::whole(shard, PieceName::Birth(number))
}

/// The paper's ImageNet-like set: centres of standard deviation 6.886, rows of 6.127.
struct Vectors {
    family: GaussianFixed,
    centres: Vec<Vec<f64>>,
    rng: Stream,
}

impl Vectors {
    fn new(n_clusters: usize) -> Self {
        let (n_columns, mut rng) = (48, stream());
        let centre = |_| (0..n_columns).map(|_| 6.886 * rng.normal()).collect();
        let centres = (0..n_clusters).map(centre).collect();
        let zero = vec![0.0; n_columns];
        Self {
            family: GaussianFixed { noise_sd: 8.0, mean_sd: 8.0, prior_mean: zero.clone(), offset: zero },
            centres,
            rng,
        }
    }

    /// `count` rows of a cluster.
    fn stats(&mut self, cluster: usize, count: i64) -> Stats {
        let (n, spread) = (count as f64, 6.127 * (count as f64).sqrt());
        let sums = self.centres[cluster].iter().map(|centre| n * centre + spread * self.rng.normal()).collect();
        Stats { count, sums: Sums::Dense(sums) }
    }

    /// As many pieces of each worker as there are clusters, owned rightly.
    fn settled_pool(&mut self) -> Pool {
        let mut pool = Pool::new(0);
        let ids: Vec<ComponentId> = (0..self.centres.len()).map(|_| pool.mint()).collect();
        for shard in 0..N_WORKERS {
            for (cluster, &id) in ids.iter().enumerate() {
                pool.enter(PieceKey::whole(shard, PieceName::Component(id)), Some(self.stats(cluster, 60)), id);
            }
        }
        pool.settle(&self.family);
        pool
    }

    /// What a cold first cycle brings: a worker has confused some clusters and halved others.
    fn cold_births(&mut self) -> Vec<(PieceKey, Stats)> {
        let mut births = Vec::new();
        for shard in 0..N_WORKERS {
            for number in 0..350 {
                let n_clusters = 1 + self.rng.below(5);
                let mut stats = self.family.empty_stats();
                for _ in 0..n_clusters {
                    let cluster = self.rng.below(self.centres.len());
                    stats.add(&self.stats(cluster, 60));
                }
                births.push((birth(shard, number), stats));
            }
        }
        births
    }
}

#[test]
#[ignore = "a measurement"]
fn vectors() {
    let mut vectors = Vectors::new(1000);
    let family = vectors.family.clone();
    let mut rng = stream();
    let mut pool = Pool::new(0);
    let births = vectors.cold_births();
    timed("progressive, 7000 births, cold", &mut pool, |pool| {
        progressive::absorb(pool, births.clone(), &family, 1.0, &mut rng)
    });
    timed("pooled, 100 moves after them", &mut pool, |pool| pooled::refine(pool, 100, &family, 1.0, &mut rng));
    timed("hungarian, 7000 births, cold", &mut Pool::new(0), |pool| {
        hungarian::absorb(pool, births.clone(), &family, 1.0)
    });

    let few: Vec<_> = (0..N_WORKERS).map(|shard| (birth(shard, 0), vectors.stats(shard as usize, 3))).collect();
    let mut pool = vectors.settled_pool();
    timed("hungarian, 20 births, settled", &mut vectors.settled_pool(), |pool| {
        hungarian::absorb(pool, few.clone(), &family, 1.0)
    });
    timed("progressive, 20 births, settled", &mut pool, |pool| progressive::absorb(pool, few, &family, 1.0, &mut rng));
    timed("pooled, 0 + 1 moves, settled", &mut pool, |pool| pooled::refine(pool, 1, &family, 1.0, &mut rng));
    timed("pooled, 100 moves, settled", &mut pool, |pool| pooled::refine(pool, 100, &family, 1.0, &mut rng));
    timed("pooled, 1000 moves, settled", &mut pool, |pool| pooled::refine(pool, 1000, &family, 1.0, &mut rng));
}

/// Documents of topics whose words have Zipf's frequencies in an order of their own.
fn text_piece(family: &Multinomial, topic: u64, n_documents: i64, rng: &mut Stream) -> Stats {
    let mut order: Vec<u32> = (0..family.n_words as u32).collect();
    Seed::new(topic).stream(Role::Observer, 1, 0).shuffle(&mut order);
    let mut sums = vec![0i64; family.n_words + 1];
    for _ in 0..n_documents * 60 {
        let rank = libm::exp(rng.uniform() * libm::log(family.n_words as f64)) as usize - 1;
        // every third word is common to all topics
        let word = if rng.uniform() < 0.33 { rank as u32 } else { order[rank] };
        sums[word as usize] += 1;
    }
    sums[family.n_words] = n_documents * 60;
    let entries = sums.iter().enumerate().filter(|(_, count)| **count > 0).map(|(ix, count)| (ix as u32, *count));
    Stats { count: n_documents, sums: Sums::Counts(entries.collect()) }
}

#[test]
#[ignore = "a measurement"]
fn text() {
    let family = Multinomial { smoothing: 0.1, n_words: 10_000 };
    let mut rng = stream();
    let births = |rng: &mut Stream| -> Vec<(PieceKey, Stats)> {
        let keys = (0..N_WORKERS).flat_map(|shard| (0..100).map(move |number| birth(shard, number)));
        keys.map(|key| {
            let size = 1 + (1.0 / (0.01 + 0.2 * rng.uniform())) as i64;
            (key, text_piece(&family, rng.below(160) as u64, size, rng))
        })
        .collect()
    };
    let (mut pool, first) = (Pool::new(0), births(&mut rng));
    timed("progressive, 2000 births of text, cold", &mut pool, |pool| {
        progressive::absorb(pool, first.clone(), &family, 1.0, &mut rng)
    });
    timed("hungarian, 2000 births of text, cold", &mut Pool::new(0), |pool| {
        hungarian::absorb(pool, first, &family, 1.0)
    });
    let few = births(&mut rng).into_iter().step_by(100).map(|(key, stats)| (birth(key.shard, 1000), stats)).collect();
    timed("progressive, 20 births of text, settled", &mut pool, |pool| {
        progressive::absorb(pool, few, &family, 1.0, &mut rng)
    });
    timed("pooled, 100 moves on text", &mut pool, |pool| pooled::refine(pool, 100, &family, 1.0, &mut rng));
    let sizes: Vec<usize> = pool.live().map(|(_, total)| total.stats.to_counts().len()).collect();
    timed("mean number of words of a component", &mut pool, |_| sizes.iter().sum::<usize>() / sizes.len());

    let mut pool = Pool::new(0);
    for (shard, topic) in (0..N_WORKERS).flat_map(|shard| (0..160).map(move |topic| (shard, topic))) {
        let id = ComponentId { epoch: 0, number: topic };
        let piece = text_piece(&family, topic, 20, &mut rng);
        pool.enter(PieceKey::whole(shard, PieceName::Component(id)), Some(piece), id);
    }
    timed("settling 160 components of text", &mut pool, |pool| pool.settle(&family));
    timed("pooled, 1 move on text, settled", &mut pool, |pool| pooled::refine(pool, 1, &family, 1.0, &mut rng));
    timed("pooled, 100 moves on text, settled", &mut pool, |pool| pooled::refine(pool, 100, &family, 1.0, &mut rng));
}
