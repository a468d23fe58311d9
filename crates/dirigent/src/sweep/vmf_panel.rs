//! Log-weights of directions in single precision: from what a row adds to ‖t‖² to what it adds to
//! ln(I_ν(r)/r^ν).
//!
//! With s = √(ν² + ‖t‖²) and e = (‖t + τx‖² − ‖t‖²)/s² the row takes s to s(1 + g), 1 + g = √(1 +
//! e), and by Debye's expansion adds
//!
//! sg − ν ln(1 + gs/(ν+s)) − ½ ln(1 + g) + c(s + sg) − c(s), c(s) = Σ_k s^−k E_k(ν²/s²),
//!
//! where nothing large is subtracted from anything large. Four terms of c are enough from [`NEAR`]
//! on.

use super::kernel::{Arithmetic, LANES, lanes};
use crate::special::bessel::BesselPoint;

/// Below this s the four terms of c are too coarse: beyond it they are within 3e-7.
pub(super) const NEAR: f64 = 16.0;

/// What a vector of slots is scored by.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct DirectionPanel {
    /// ln n − c(s), −∞ for a free slot.
    constants: [f32; LANES],
    /// s.
    radii: [f32; LANES],
    /// 1/s.
    inverses: [f32; LANES],
    /// s/(ν+s).
    shares: [f32; LANES],
    /// τ²/s².
    pub(super) scales: [f32; LANES],
}

impl DirectionPanel {
    pub(super) const FREE: Self = Self {
        constants: [f32::NEG_INFINITY; LANES],
        radii: [1.0; LANES],
        inverses: [1.0; LANES],
        shares: [0.0; LANES],
        scales: [0.0; LANES],
    };

    /// Makes a lane that of a component; what its t is to be multiplied by is returned.
    pub(super) fn write(
        &mut self,
        lane: usize,
        log_count: f64,
        order: f64,
        place: &BesselPoint,
        concentration: f64,
    ) -> f64 {
        let (radius, inverse) = (place.radius, 1.0 / place.radius);
        self.constants[lane] =
            (log_count - f64::from(correction::<super::kernel::Separate>(order as f32, inverse as f32))) as f32;
        self.radii[lane] = radius as f32;
        self.inverses[lane] = inverse as f32;
        self.shares[lane] = (radius / (order + radius)) as f32;
        self.scales[lane] = (concentration * inverse * concentration * inverse) as f32;
        2.0 * concentration * inverse * inverse
    }

    /// Makes a lane a free one.
    pub(super) fn clear(&mut self, lane: usize) {
        self.constants[lane] = f32::NEG_INFINITY;
        (self.radii[lane], self.inverses[lane], self.shares[lane], self.scales[lane]) = (1.0, 1.0, 0.0, 0.0);
    }

    /// Log-weights, given e of every slot.
    #[inline(always)]
    pub(super) fn score<A: Arithmetic>(&self, order: f32, gains: [f32; LANES]) -> [f32; LANES] {
        /// A row opposite to a component of one: rounding must not take it beyond.
        const LEAST: f32 = -0.999_999_9;
        let (constants, radii, inverses, shares) = (self.constants, self.radii, self.inverses, self.shares);
        lanes(|lane| {
            let gain = if gains[lane] > LEAST { gains[lane] } else { LEAST };
            let ratio = (1.0 + gain).sqrt();
            let step = gain / (1.0 + ratio);
            let logs = A::mul_add(0.5, log_1p::<A>(step), -correction::<A>(order, inverses[lane] / ratio));
            let large = A::mul_add(radii[lane], step, -order * log_1p::<A>(step * shares[lane]));
            large + (constants[lane] - logs)
        })
    }
}

/// c(s), given 1/s.
#[inline(always)]
fn correction<A: Arithmetic>(order: f32, inverse: f32) -> f32 {
    let p = order * inverse;
    let q = p * p;
    let first = A::mul_add(-5.0 / 24.0, q, 0.125);
    let second = A::mul_add(A::mul_add(0.3125, q, -0.375), q, 0.0625);
    let third = A::mul_add(A::mul_add(-1105.0 / 1152.0, q, 221.0 / 128.0), q, -531.0 / 640.0);
    let third = A::mul_add(third, q, 25.0 / 384.0);
    let fourth = A::mul_add(A::mul_add(565.0 / 128.0, q, -339.0 / 32.0), q, 531.0 / 64.0);
    let fourth = A::mul_add(A::mul_add(fourth, q, -71.0 / 32.0), q, 13.0 / 128.0);
    let sum = A::mul_add(fourth, inverse, third);
    let sum = A::mul_add(sum, inverse, second);
    A::mul_add(sum, inverse, first) * inverse
}

/// ln(1 + x) for x above −1; the relative error is below 3e-7.
#[inline(always)]
fn log_1p<A: Arithmetic>(x: f32) -> f32 {
    /// The bits of √½.
    const LOWEST: i32 = 0x3f35_04f3;
    let bits = (1.0 + x).to_bits() as i32;
    let exponent = (bits - LOWEST) >> 23;
    let mantissa = f32::from_bits((bits - (exponent << 23)) as u32);
    // near 1 all of x counts, also what 1 + x has lost
    let beyond = if exponent == 0 { x } else { mantissa - 1.0 };
    // 2 artanh(b/(2+b)), the argument below 0.172
    let v = beyond / (2.0 + beyond);
    let z = v * v;
    let p = A::mul_add(1.0 / 11.0, z, 1.0 / 9.0);
    let p = A::mul_add(p, z, 1.0 / 7.0);
    let p = A::mul_add(p, z, 0.2);
    let p = A::mul_add(p, z, 1.0 / 3.0);
    let log = A::mul_add(2.0 * v * z, p, 2.0 * v);
    A::mul_add(exponent as f32, std::f32::consts::LN_2, log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::bessel::LogBessel;
    use crate::sweep::kernel::{self, Task};
    use crate::sweep::tests::kernels;

    struct LogOf<'a>(&'a mut [f32]);

    impl Task for LogOf<'_> {
        type Output = ();
        #[inline(always)]
        fn run<A: Arithmetic>(self) {
            self.0.iter_mut().for_each(|x| *x = log_1p::<A>(*x));
        }
    }

    #[test]
    fn log_1p_is_accurate_on_every_kernel() {
        let positive = (0..8.0f32.to_bits()).step_by(1009).map(f32::from_bits);
        let inputs: Vec<f32> = positive.flat_map(|x| [x, -x]).filter(|x| *x > -0.999_99 && x.abs() > 1e-30).collect();
        for kernel in kernels() {
            let mut outputs = inputs.clone();
            kernel::run(kernel, LogOf(&mut outputs));
            for (x, y) in inputs.iter().zip(&outputs) {
                let exact = libm::log1p(f64::from(*x));
                let error = (f64::from(*y) - exact).abs() / exact.abs();
                assert!(error < 3e-7, "{kernel}: ln(1 + {x}) = {y}, off by {error}");
            }
        }
    }

    struct ScoreOf(DirectionPanel, f32, [f32; LANES]);

    impl Task for ScoreOf {
        type Output = [f32; LANES];
        #[inline(always)]
        fn run<A: Arithmetic>(self) -> [f32; LANES] {
            self.0.score::<A>(self.1, self.2)
        }
    }

    /// Rows at sixteen angles to t, from along it to opposite.
    #[test]
    fn differences_are_those_of_the_bessel_function_to_single_precision() {
        for order in [0.0, 0.5, 4.0, 15.0, 31.0, 191.0, 2047.0] {
            let bessel = LogBessel::new(order);
            for length in [0.0, 17.0, 40.0, 300.0, 1e4, 1e7] {
                for concentration in [0.5, 10.0, 200.0, 3000.0] {
                    let place = bessel.place(length * length);
                    let least = (order * order + f64::max(length - concentration, 0.0).powi(2)).sqrt();
                    if least < NEAR {
                        continue;
                    }
                    let mut panel = DirectionPanel::FREE;
                    for lane in 0..LANES {
                        panel.write(lane, 0.0, order, &place, concentration);
                    }
                    let cosines: [f64; LANES] = std::array::from_fn(|lane| 1.0 - 2.0 * lane as f64 / 15.0);
                    let deltas = cosines.map(|cosine| concentration * (2.0 * length * cosine + concentration));
                    let gains = deltas.map(|delta| (delta / place.radius.powi(2)) as f32);
                    for kernel in kernels() {
                        let scores = kernel::run(kernel, ScoreOf(panel, order as f32, gains));
                        for lane in 0..LANES {
                            let exact = bessel.difference(&place, deltas[lane]);
                            let error = (f64::from(scores[lane]) - exact).abs();
                            // what the rounding of e to single precision does where 1 + e is small
                            let ratio = (1.0 + deltas[lane] / place.radius.powi(2)).sqrt();
                            let bound = 5e-7 + 2e-7 * concentration / ratio.min(1.0);
                            assert!(
                                error < bound,
                                "{kernel}, ν = {order}, ‖t‖ = {length}, τ = {concentration}, {}: {exact}, off by {error}",
                                cosines[lane]
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn free_slots_and_opposite_rows_give_no_nan() {
        let mut panel = DirectionPanel::FREE;
        let bessel = LogBessel::new(20.0);
        panel.write(1, 0.0, 20.0, &bessel.place(1e12), 1e6);
        let gains = std::array::from_fn(|lane| if lane == 0 { 0.0 } else { -1.1 });
        for kernel in kernels() {
            let scores = kernel::run(kernel, ScoreOf(panel, 20.0, gains));
            assert!(scores[0] == f32::NEG_INFINITY && scores[1].is_finite(), "{kernel}: {scores:?}");
        }
    }
}
