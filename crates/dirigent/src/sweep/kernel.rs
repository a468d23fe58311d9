//! Which instructions the sweep uses: one of the two modules that may use `unsafe`.
//!
//! The hot code is plain Rust over arrays of [`LANES`] numbers, written once and compiled once per
//! instruction set: a [`Task`] is inlined into a function that has the instruction set switched on.
//! The only `unsafe` is the call of such a function after the processor was asked. Kernels differ
//! in nothing but whether a multiply-add is rounded once or twice.
#![allow(unsafe_code)]

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, InputError, Result};

/// The width of the arrays the hot code works on: one AVX-512 register, two of AVX2, four of SSE2
/// or NEON.
pub(crate) const LANES: usize = 16;

/// The instruction sets there is code for.
///
/// ```
/// use dirigent::Kernel;
///
/// assert!(Kernel::best().is_available());
/// assert_eq!(Kernel::choose("portable")?, Kernel::Portable);
/// // all workers of a run use what all of them have
/// assert_eq!(Kernel::Avx512.common(Kernel::Avx2), Kernel::Avx2);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kernel {
    /// What every processor of the architecture has.
    Portable,
    /// AVX2 and fused multiply-add (x86-64).
    Avx2,
    /// AVX-512 (x86-64).
    Avx512,
    /// NEON with fused multiply-add (AArch64).
    Neon,
}

const ALL: [Kernel; 4] = [Kernel::Portable, Kernel::Avx2, Kernel::Avx512, Kernel::Neon];

impl Kernel {
    /// The best kernel this machine has.
    pub fn best() -> Self {
        *ALL.iter().rev().find(|kernel| kernel.is_available()).expect("the portable kernel is always there")
    }

    /// The best kernel of two machines, each with its own best.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Avx2, Self::Avx512) | (Self::Avx512, Self::Avx2) => Self::Avx2,
            _ => Self::Portable,
        }
    }

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Self::Avx2.is_available() && is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            #[allow(unreachable_patterns)] // which are left depends on the architecture
            _ => false,
        }
    }

    /// `auto`, or a name; an error if this machine does not have it.
    pub fn choose(name: &str) -> Result<Self> {
        if name == "auto" {
            return Ok(Self::best());
        }
        let kernel: Self = name.parse()?;
        kernel.check()?;
        Ok(kernel)
    }

    /// An error if this machine does not have the instructions.
    pub fn check(self) -> Result<()> {
        if self.is_available() {
            return Ok(());
        }
        let available: Vec<_> = ALL.iter().filter(|kernel| kernel.is_available()).map(Self::to_string).collect();
        Err(InputError::new(format!("`kernel` {self}: this machine does not have these instructions"))
            .hint(format!("it has {}; `kernel` auto takes the best", available.join(", ")))
            .into())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        })
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = ALL.into_iter().find(|kernel| kernel.to_string() == name);
        found.ok_or_else(|| {
            InputError::new(format!("`kernel` must be auto, portable, avx2, avx512 or neon, got {name}")).into()
        })
    }
}

/// How a kernel rounds.
pub(crate) trait Arithmetic {
    /// a·b + c.
    fn mul_add(a: f32, b: f32, c: f32) -> f32;
}

/// Multiply, round, add, round.
pub(crate) struct Separate;
/// Multiply, add, round once.
pub(crate) struct Fused;

impl Arithmetic for Separate {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

impl Arithmetic for Fused {
    #[inline(always)]
    fn mul_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Work to be compiled for every instruction set. `run` must be `#[inline(always)]`, and so must
/// all it calls that is hot.
pub(crate) trait Task {
    type Output;
    fn run<A: Arithmetic>(self) -> Self::Output;
}

/// Runs a task with the instructions of a kernel, which must be available.
pub(crate) fn run<T: Task>(kernel: Kernel, task: T) -> T::Output {
    assert!(kernel.is_available(), "{kernel} instructions on a machine that has none");
    match kernel {
        // SAFETY: the processor has the instructions, as was just asserted.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx2 => unsafe { run_avx2(task) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Kernel::Avx512 => unsafe { run_avx512(task) },
        // fused multiply-add and NEON are part of the architecture
        #[cfg(target_arch = "aarch64")]
        Kernel::Neon => task.run::<Fused>(),
        _ => task.run::<Separate>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<T: Task>(task: T) -> T::Output {
    task.run::<Fused>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn run_avx512<T: Task>(task: T) -> T::Output {
    task.run::<Fused>()
}

/// `[f(0), f(1), …]`. The standard library's `from_fn` is not always inlined, and then it runs
/// without the kernel's instructions.
#[inline(always)]
pub(crate) fn lanes<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; LANES] {
    let mut result = [T::default(); LANES];
    for (lane, x) in result.iter_mut().enumerate() {
        *x = f(lane);
    }
    result
}

/// exp(x), exactly 0 below −87.7 and at most exp(88) above; the relative error is below 3e-7 + 1e-7
/// |x|.
#[inline(always)]
pub(crate) fn exp<A: Arithmetic>(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // adding it leaves in the low bits the nearest whole number, and on top of it the bias of an
    // exponent
    const ROUND: f32 = 12_582_912.0 + 127.0;
    // −127 ln 2: the exponent's bits become 0 there, and the power is exactly 0
    const LOWEST: f32 = -88.029_69;
    const HIGHEST: f32 = 88.0;
    let x = if x > LOWEST { x } else { LOWEST };
    let x = if x < HIGHEST { x } else { HIGHEST };
    let shifted = A::mul_add(x, LOG2_E, ROUND);
    let r = A::mul_add(x, LOG2_E, -(shifted - ROUND));
    // minimax coefficients of 2^r on |r| ≤ ½
    let p = A::mul_add(1.327_647_2e-3, r, 9.675_541e-3);
    let p = A::mul_add(p, r, 5.550_713_3e-2);
    let p = A::mul_add(p, r, 2.402_212e-1);
    let p = A::mul_add(p, r, 0.693_146_97);
    let p = A::mul_add(p, r, 1.000_000_1);
    p * f32::from_bits(shifted.to_bits() << 23)
}

/// ln(x) for a positive normal x; the error is a few units in the last place.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    let (exponent, s) = reduce(x);
    let z = s * s;
    let mut series = 1.0 / 21.0;
    for denominator in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        series = series * z + 1.0 / denominator;
    }
    exponent * std::f64::consts::LN_2 + 2.0 * s * series
}

/// The same in short chains of dependent operations, for one logarithm that is waited for; many at
/// once are faster with [`log`].
#[inline(always)]
pub(crate) fn quick_log(x: f64) -> f64 {
    let (exponent, s) = reduce(x);
    let z = s * s;
    let (z2, pair) = (z * z, |low: f64, high: f64| 1.0 / low + z * (1.0 / high));
    let z4 = z2 * z2;
    let low = pair(1.0, 3.0) + z2 * pair(5.0, 7.0);
    let middle = pair(9.0, 11.0) + z2 * pair(13.0, 15.0);
    let high = pair(17.0, 19.0) + z2 * (1.0 / 21.0);
    let series = (low + z4 * middle) + (z4 * z4) * high;
    exponent * std::f64::consts::LN_2 + 2.0 * s * series
}

/// x = 2^exponent · m with m between √½ and √2, and the s of ln m = 2 artanh s, |s| below 0.172.
#[inline(always)]
fn reduce(x: f64) -> (f64, f64) {
    const EXPONENT_ONE: u64 = 0x3ff0_0000_0000_0000;
    // 2⁵² + 1023: the exponent's bits put below it become a whole number
    const BIAS: f64 = 4_503_599_627_370_496.0 + 1023.0;
    let bits = x.to_bits();
    let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - BIAS;
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | EXPONENT_ONE);
    let high = mantissa > std::f64::consts::SQRT_2;
    let mantissa = if high { 0.5 * mantissa } else { mantissa };
    let exponent = if high { exponent + 1.0 } else { exponent };
    (exponent, (mantissa - 1.0) / (mantissa + 1.0))
}

/// ln(x) for 1 ≤ x < 2; the error is below 2e-7.
#[inline(always)]
pub(crate) fn log_mantissa<A: Arithmetic>(x: f32) -> f32 {
    let high = x > std::f32::consts::SQRT_2;
    let u = if high { 0.5 * x } else { x } - 1.0;
    log_near_one::<A>(u, if high { std::f32::consts::LN_2 } else { 0.0 })
}

/// ln(1 + u) + c for √½ ≤ 1 + u ≤ √2.
#[inline(always)]
fn log_near_one<A: Arithmetic>(u: f32, c: f32) -> f32 {
    // minimax coefficients of ln(1 + u) between √½ and √2
    let p = A::mul_add(8.264_171e-2, u, -1.443_068e-1);
    let p = A::mul_add(p, u, 1.516_207_6e-1);
    let p = A::mul_add(p, u, -1.655_954_2e-1);
    let p = A::mul_add(p, u, 1.993_116_5e-1);
    let p = A::mul_add(p, u, -2.500_182_8e-1);
    let p = A::mul_add(p, u, 3.333_527e-1);
    let p = A::mul_add(p, u, -4.999_999_5e-1);
    let p = A::mul_add(p, u, 9.999_998e-1);
    A::mul_add(p, u, c)
}

/// ln(1 + x) for 0 ≤ x < 1; the error is below 2e-7, and below 4e-7 of x. NaN for NaN.
#[inline(always)]
pub(crate) fn log1p_below_one<A: Arithmetic>(x: f32) -> f32 {
    let high = x > std::f32::consts::SQRT_2 - 1.0;
    let u = if high { A::mul_add(0.5, x, -0.5) } else { x };
    log_near_one::<A>(u, if high { std::f32::consts::LN_2 } else { 0.0 })
}

/// ln(1 + x) for x ≥ 0; the relative error is below 6e-7, however small x is. Infinity counts as
/// 2¹²⁸.
#[inline(always)]
pub(crate) fn log_one_plus<A: Arithmetic>(x: f32) -> f32 {
    let sum = 1.0 + x;
    let exponent = (sum.to_bits() >> 23) as i32 - 127;
    let mantissa = f32::from_bits((sum.to_bits() & 0x007f_ffff) | 0x3f80_0000);
    // what the sum has lost of x; above 2 that is nothing beside the logarithm
    let lost = if sum < 2.0 { x - (sum - 1.0) } else { 0.0 };
    A::mul_add(exponent as f32, std::f32::consts::LN_2, log_mantissa::<A>(mantissa) + lost)
}

/// Asks for the cache line of something that will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(soon: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fault, and every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ExpOf<'a>(&'a mut [f32]);

    impl Task for ExpOf<'_> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arithmetic>(self) {
            self.0.iter_mut().for_each(|x| *x = exp::<A>(*x));
        }
    }

    #[test]
    fn exp_is_accurate_over_its_whole_range_on_every_kernel() {
        // every 100th single between −87 and 88: exhaustive in exponents, dense in fractions
        let positive = (0..88.0f32.to_bits()).step_by(997).map(f32::from_bits);
        let inputs: Vec<f32> = positive.flat_map(|x| [x, -x]).filter(|x| *x >= -87.0).collect();
        for kernel in ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mut outputs = inputs.clone();
            run(kernel, ExpOf(&mut outputs));
            for (x, y) in inputs.iter().zip(&outputs) {
                let exact = libm::exp(f64::from(*x));
                let error = (f64::from(*y) - exact).abs() / exact;
                let bound = 3e-7 + 1e-7 * f64::from(x.abs());
                assert!(error < bound, "{kernel}: exp({x}) = {y}, off by {error}");
            }
        }
    }

    #[test]
    fn exp_of_hopeless_weights_is_nothing_and_of_enormous_ones_is_enormous() {
        for kernel in ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mut outputs = [-87.8, -1e30, f32::NEG_INFINITY, 89.0, 1e30, f32::INFINITY];
            run(kernel, ExpOf(&mut outputs));
            assert_eq!(outputs[..3], [0.0; 3]);
            assert!(outputs[3..].iter().all(|&y| y > 1e38 && y.is_finite()), "{kernel}: {outputs:?}");
        }
    }

    struct LogOf<'a>(&'a mut [f32]);

    impl Task for LogOf<'_> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arithmetic>(self) {
            self.0.iter_mut().for_each(|x| *x = log_mantissa::<A>(*x));
        }
    }

    #[test]
    fn log_of_every_mantissa_is_accurate_on_every_kernel() {
        let inputs: Vec<f32> = (1.0f32.to_bits()..2.0f32.to_bits()).map(f32::from_bits).collect();
        for kernel in ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mut outputs = inputs.clone();
            run(kernel, LogOf(&mut outputs));
            for (x, y) in inputs.iter().zip(&outputs) {
                let error = (f64::from(*y) - libm::log(f64::from(*x))).abs();
                assert!(error < 2e-7, "{kernel}: ln({x}) = {y}, off by {error}");
            }
        }
    }

    struct LogOnePlusOf<'a>(&'a mut [f32]);

    impl Task for LogOnePlusOf<'_> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arithmetic>(self) {
            self.0.iter_mut().for_each(|x| *x = log_one_plus::<A>(*x));
        }
    }

    #[test]
    fn log_one_plus_is_accurate_from_the_tiniest_to_the_largest_on_every_kernel() {
        let inputs: Vec<f32> = (0..f32::MAX.to_bits()).step_by(1009).map(f32::from_bits).collect();
        for kernel in ALL.into_iter().filter(|kernel| kernel.is_available()) {
            let mut outputs = inputs.clone();
            run(kernel, LogOnePlusOf(&mut outputs));
            for (x, y) in inputs.iter().zip(&outputs) {
                let exact = libm::log1p(f64::from(*x));
                let error = (f64::from(*y) - exact).abs();
                assert!(error <= 6e-7 * exact + 1e-44, "{kernel}: ln(1 + {x}) = {y}, off by {error}");
            }
        }
    }

    #[test]
    fn log_is_accurate_over_its_whole_range() {
        let mut worst: f64 = 0.0;
        for x in (0..2_000_000u64).map(|i| f64::from_bits(0x0010_0000_0000_0000 + i * 4_607_182_418_800)) {
            for ours in [log(x), quick_log(x)] {
                worst = worst.max((ours - libm::log(x)).abs() / libm::log(x).abs().max(1.0));
            }
        }
        for x in (1..1_000_000u32).map(|i| 0.5 + f64::from(i) * 1e-6) {
            worst = worst.max((log(x) - libm::log(x)).abs()).max((quick_log(x) - libm::log(x)).abs());
        }
        assert!(worst < 5e-16, "off by {worst}");
    }

    #[test]
    fn a_kernel_is_chosen_by_name_or_refused() {
        assert_eq!(Kernel::choose("portable").unwrap(), Kernel::Portable);
        assert_eq!(Kernel::choose("auto").unwrap(), Kernel::best());
        assert!(Kernel::choose("sse9").unwrap_err().to_string().contains("got sse9"));
        let missing = ALL.into_iter().find(|kernel| !kernel.is_available()).expect("no machine has NEON and AVX");
        assert!(Kernel::choose(&missing.to_string()).unwrap_err().hint().unwrap().contains("portable"));
    }
}
