//! Random streams, and the few laws the methods draw from.
//!
//! A stream is derived from (seed, chain, role, worker, cycle), which *is* the ChaCha8 key: no two
//! streams overlap, and no generator state is ever stored. The laws use `libm` only, because the
//! standard library's logarithm differs between platforms; for the same reason they are not taken
//! from a crate, where a feature switched on elsewhere in the dependency tree could exchange one
//! logarithm for another.

use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Who draws from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Role {
    /// A worker's sweep over its shard.
    Sweep = 1,
    /// The coordinator: the concentration α, consolidation.
    Coordinator = 2,
    /// Data made by `synth` and `demo`.
    Synthetic = 3,
    /// The cut with which the halves of a component begin.
    Halves = 8,
    /// Where the clusters of a worker go, under the auxiliary-variable method.
    Places = 9,
    /// Whatever is only looked at: samples for the report, tests.
    Observer = 4,
    /// A slice sampler's uniforms, which cut each row's weight. Its roles are its own: it may
    /// follow another method under the same seed.
    Slice = 5,
    /// A slice sampler's draw of labels.
    SliceLabels = 6,
    /// A slice sampler's draw of α, weights and parameters.
    SliceWeights = 7,
    /// The coordinator's part of a slice sampler's splits and merges.
    SliceMoves = 10,
    /// A worker's part of them: the side of each row.
    SliceSides = 11,
    /// The cells that a run begins with.
    Start = 12,
}

/// The seed of a run, from which every stream is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// The user's number.
    pub seed: u64,
    /// Which of several independent chains.
    pub chain: u16,
}

impl Seed {
    /// The first chain of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, chain: 0 }
    }

    /// The stream of a generation of halves of a component, the same for all workers.
    pub fn halves(self, epoch: u32, number: u64, generation: u32) -> Stream {
        let mut key = self.key(Role::Halves, epoch, number);
        key[24..28].copy_from_slice(&generation.to_le_bytes());
        Stream { generator: ChaCha8Rng::from_seed(key) }
    }

    /// The stream of one role, worker and cycle.
    pub fn stream(self, role: Role, worker: u32, cycle: u64) -> Stream {
        Stream { generator: ChaCha8Rng::from_seed(self.key(role, worker, cycle)) }
    }

    fn key(self, role: Role, worker: u32, cycle: u64) -> [u8; 32] {
        let mut key = [0u8; 32];
        key[0..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..10].copy_from_slice(&self.chain.to_le_bytes());
        key[10..12].copy_from_slice(&(role as u16).to_le_bytes());
        key[12..16].copy_from_slice(&worker.to_le_bytes());
        key[16..24].copy_from_slice(&cycle.to_le_bytes());
        key[24..32].copy_from_slice(b"dirigent");
        key
    }
}

/// A stream of random numbers.
#[derive(Debug)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform on [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * STEP
    }

    /// Uniform on (0, 1]: safe to take the logarithm of.
    #[inline]
    pub fn uniform_positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Uniform on 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a choice among nothing");
        // the high half of a 64×64-bit product: bias below n/2⁶⁴
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Standard normal, by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform_positive())
    }

    /// The logarithm of a Gamma(`shape`, rate 1) variate. In logs because a small shape underflows.
    pub fn log_gamma(&mut self, shape: f64) -> f64 {
        assert!(shape > 0.0, "gamma needs a positive shape, got {shape}");
        if shape < 1.0 {
            // Gamma(a) = Gamma(a+1) · U^(1/a)
            return self.log_gamma(shape + 1.0) + libm::log(self.uniform_positive()) / shape;
        }
        // Marsaglia & Tsang (2000)
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let z = self.normal();
            let v = 1.0 + c * z;
            if v <= 0.0 {
                continue;
            }
            let log_v = 3.0 * libm::log(v);
            if libm::log(self.uniform_positive()) < 0.5 * z * z + d - d * v * v * v + d * log_v {
                return libm::log(d) + log_v;
            }
        }
    }

    /// Gamma(`shape`, rate 1).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        libm::exp(self.log_gamma(shape))
    }

    /// The logarithm of a Beta(a, b) variate.
    pub fn log_beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.log_gamma(a), self.log_gamma(b));
        x - crate::special::log_sum_exp(&[x, y])
    }

    /// Logarithms of a Dirichlet variate.
    pub fn log_dirichlet(&mut self, shapes: &[f64]) -> Vec<f64> {
        let mut logs: Vec<f64> = shapes.iter().map(|&shape| self.log_gamma(shape)).collect();
        let total = crate::special::log_sum_exp(&logs);
        logs.iter_mut().for_each(|log| *log -= total);
        logs
    }

    /// An index with probability proportional to exp(log weight).
    pub fn categorical(&mut self, log_weights: &[f64]) -> usize {
        let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(largest.is_finite(), "a draw needs a positive weight");
        let total: f64 = log_weights.iter().map(|w| libm::exp(w - largest)).sum();
        let mut rest = self.uniform() * total;
        for (ix, w) in log_weights.iter().enumerate() {
            rest -= libm::exp(w - largest);
            if rest < 0.0 {
                return ix;
            }
        }
        // rounding left a crumb: the last weight that is not zero takes it
        log_weights.iter().rposition(|w| *w > f64::NEG_INFINITY).expect("the largest weight is finite")
    }

    /// Puts a slice into random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Seed::new(7).stream(Role::Observer, 0, 0)
    }

    /// |sample mean − mean| ≤ 5 standard errors, for the mean and for the second moment: false alarms below 2e-6 a call.
    fn assert_moments(draws: &[f64], mean: f64, variance: f64, kurtosis: f64) {
        let n = draws.len() as f64;
        let sample_mean = draws.iter().sum::<f64>() / n;
        let sample_variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        assert!((sample_mean - mean).abs() < 5.0 * (variance / n).sqrt(), "mean {sample_mean}, expected {mean}");
        let error = variance * ((kurtosis - 1.0) / n).sqrt();
        assert!((sample_variance - variance).abs() < 5.0 * error, "variance {sample_variance}, expected {variance}");
    }

    #[test]
    fn streams_differ_in_every_part_of_their_name_and_repeat() {
        let first = |seed: Seed, role, worker, cycle| seed.stream(role, worker, cycle).bits();
        let base = first(Seed::new(1), Role::Sweep, 0, 0);
        assert_eq!(base, first(Seed::new(1), Role::Sweep, 0, 0));
        assert_ne!(base, first(Seed::new(2), Role::Sweep, 0, 0));
        assert_ne!(base, first(Seed { seed: 1, chain: 1 }, Role::Sweep, 0, 0));
        assert_ne!(base, first(Seed::new(1), Role::Coordinator, 0, 0));
        assert_ne!(base, first(Seed::new(1), Role::Sweep, 1, 0));
        assert_ne!(base, first(Seed::new(1), Role::Sweep, 0, 1));
    }

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        // a change here changes every labelling ever published with a seed
        let mut stream = Seed::new(0).stream(Role::Sweep, 0, 0);
        assert_eq!([stream.bits(), stream.bits()], [9_091_644_603_160_600_682, 4_043_185_396_416_592_737]);
    }

    #[test]
    fn laws_have_their_moments() {
        let mut rng = stream();
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
        assert_moments(&draws, 0.5, 1.0 / 12.0, 1.8);
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        assert_moments(&draws, 0.0, 1.0, 3.0);
        let draws: Vec<f64> = (0..n).map(|_| rng.exponential()).collect();
        assert_moments(&draws, 1.0, 1.0, 9.0);
        for shape in [0.3, 1.0, 4.5, 100.0] {
            let draws: Vec<f64> = (0..n).map(|_| rng.gamma(shape)).collect();
            assert_moments(&draws, shape, shape, 3.0 + 6.0 / shape);
        }
        let draws: Vec<f64> = (0..n).map(|_| libm::exp(rng.log_beta(2.0, 3.0))).collect();
        assert_moments(&draws, 0.4, 0.04, 3.0 - 9.0 / 14.0);
    }

    #[test]
    fn categorical_follows_its_weights_even_far_below_the_smallest_float() {
        let mut rng = stream();
        let weights = [-5000.0, f64::NEG_INFINITY, -5000.0 + libm::log(3.0)];
        let n = 40_000;
        let thirds = (0..n).filter(|_| rng.categorical(&weights) == 2).count() as f64;
        // 5 standard errors: false alarm 6e-7
        assert!((thirds / f64::from(n) - 0.75).abs() < 5.0 * (0.75 * 0.25 / f64::from(n)).sqrt());
    }

    #[test]
    fn dirichlet_sums_to_one_and_survives_tiny_shapes() {
        let logs = stream().log_dirichlet(&[1e-4; 50]);
        assert!(crate::special::log_sum_exp(&logs).abs() < 1e-12);
        assert!(logs.iter().all(|log| log.is_finite()));
    }
}
