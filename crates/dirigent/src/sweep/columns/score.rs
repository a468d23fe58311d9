//! Scores of a row from the table: products over the columns, and one logarithm at the end.
//!
//! Of numbers it is Π (1 + z) − 1 that is accumulated, because with n rows z is of the order of 1/n
//! and its power of the order of n: what 1 + z would round off matters. Exponents are split off
//! before they can overflow; what overflows all the same becomes NaN, and is computed in double
//! precision by whoever asked.

use std::f32::consts::LN_2;

use super::super::kernel::{self, Arithmetic, LANES, lanes, log_mantissa, log1p_below_one};
use super::super::length_table::stirling;
use super::cells::ColumnCells;
use super::table::ColumnTable;

/// Columns of numbers between two splits of their product's exponent.
const COLUMNS_BEFORE_SPLIT: usize = 6;
/// A product that is larger than this before its exponent is split off has overflowed, or nearly:
/// 2¹²⁰.
const TOO_LARGE: f32 = (1u128 << 120) as f32;
/// Stirling's series begins here; smaller shapes are lifted by as much.
const LIFT: usize = 8;

impl ColumnTable {
    /// Log-weights of `P` vectors of slots: −∞ for free ones, not finite where single precision
    /// does not suffice.
    #[inline(always)]
    pub(super) fn score<A: Arithmetic, const P: usize>(
        &self,
        row: &ColumnCells,
        first_vector: usize,
        factors_before_split: usize,
    ) -> [[f64; LANES]; P] {
        let mut log_weights = [[0.0; LANES]; P];
        for (log_weights, constants) in log_weights.iter_mut().zip(&self.constants[first_vector..]) {
            *log_weights = *constants;
        }
        if self.n_shared > 0 {
            self.add_shared::<A, P>(row, first_vector, &mut log_weights);
        }
        if self.n_own > 0 {
            self.add_own::<A, P>(row, first_vector, &mut log_weights);
        }
        if self.n_factors > 0 {
            self.add_products::<A, P>(row, first_vector, factors_before_split, &mut log_weights);
        }
        if self.n_counts > 0 {
            self.add_rest_of_counts(row, first_vector, &mut log_weights);
        }
        for (log_weights, constants) in log_weights.iter_mut().zip(&self.constants[first_vector..]) {
            let before = *log_weights;
            *log_weights =
                lanes(|lane| if constants[lane] > f64::NEG_INFINITY { before[lane] } else { f64::NEG_INFINITY });
        }
        log_weights
    }

    #[inline(always)]
    fn add_shared<A: Arithmetic, const P: usize>(
        &self,
        row: &ColumnCells,
        first: usize,
        log_weights: &mut [[f64; LANES]; P],
    ) {
        let n = self.n_shared;
        let table = &self.shared[first * n..][..P * n];
        let mut excess = [[0.0f32; LANES]; P];
        let mut exponents = [[0i32; LANES]; P];
        let mut column = 0;
        for cells in row.singles[..n].chunks(COLUMNS_BEFORE_SPLIT) {
            for &x in cells {
                for vector in 0..P {
                    let [roots, means] = table[vector * n + column];
                    let before = excess[vector];
                    excess[vector] = lanes(|lane| {
                        let y = A::mul_add(x, roots[lane], means[lane]);
                        let z = y * y;
                        A::mul_add(1.0 + z, before[lane], z)
                    });
                }
                column += 1;
            }
            for vector in 0..P {
                split_excess::<A>(&mut excess[vector], &mut exponents[vector]);
            }
        }
        for vector in 0..P {
            let excess = excess[vector];
            let logs: [f32; LANES] = lanes(|lane| log1p_below_one::<A>(excess[lane]));
            let (before, powers) = (log_weights[vector], self.exponents[first + vector]);
            log_weights[vector] = lanes(|lane| {
                let log = f64::from(exponents[vector][lane]) * std::f64::consts::LN_2 + f64::from(logs[lane]);
                before[lane] - powers[lane] * log
            });
        }
    }

    #[inline(always)]
    fn add_own<A: Arithmetic, const P: usize>(
        &self,
        row: &ColumnCells,
        first: usize,
        log_weights: &mut [[f64; LANES]; P],
    ) {
        for (vector, log_weights) in log_weights.iter_mut().enumerate() {
            let table = &self.own[(first + vector) * self.n_own..][..self.n_own];
            let mut sum = [0.0f32; LANES];
            for &(place, x) in &row.own {
                let [roots, means, powers, constants] = table[place];
                let mut excess: [f32; LANES] = lanes(|lane| {
                    let y = A::mul_add(x, roots[lane], means[lane]);
                    y * y
                });
                let mut exponents = [0i32; LANES];
                split_excess::<A>(&mut excess, &mut exponents);
                let before = sum;
                sum = lanes(|lane| {
                    let log = A::mul_add(exponents[lane] as f32, LN_2, log1p_below_one::<A>(excess[lane]));
                    before[lane] + A::mul_add(-powers[lane], log, constants[lane])
                });
            }
            add(log_weights, &sum);
        }
    }

    #[inline(always)]
    fn add_products<A: Arithmetic, const P: usize>(
        &self,
        row: &ColumnCells,
        first: usize,
        factors_before_split: usize,
        log_weights: &mut [[f64; LANES]; P],
    ) {
        for (vector, log_weights) in log_weights.iter_mut().enumerate() {
            let table = &self.factors[(first + vector) * self.n_factors..][..self.n_factors];
            let (mantissas, exponents) = multiply::<A>(table, row, factors_before_split);
            let logs: [f32; LANES] = lanes(|lane| log_mantissa::<A>(mantissas[lane]));
            let before = *log_weights;
            *log_weights = lanes(|lane| {
                let log = f64::from(exponents[lane]) * std::f64::consts::LN_2 + f64::from(logs[lane]);
                before[lane] + log
            });
        }
    }

    /// Constants of columns that may have missing cells; large counts.
    #[inline(always)]
    fn add_rest_of_counts<const P: usize>(&self, row: &ColumnCells, first: usize, log_weights: &mut [[f64; LANES]; P]) {
        for (vector, log_weights) in log_weights.iter_mut().enumerate() {
            let mut sum = [0.0f32; LANES];
            for &place in &row.present {
                let added = self.added[(first + vector) * self.n_added + place];
                let before = sum;
                sum = lanes(|lane| before[lane] + added[lane]);
            }
            add(log_weights, &sum);
            for &(place, x) in &row.large {
                let [shapes, rates] = self.counts[(first + vector) * self.n_counts + place];
                let before = *log_weights;
                *log_weights = lanes(|lane| before[lane] + log_rise(shapes[lane], x) - x * kernel::log(rates[lane]));
            }
        }
    }
}

#[inline(always)]
fn add(log_weights: &mut [f64; LANES], sum: &[f32; LANES]) {
    let before = *log_weights;
    *log_weights = lanes(|lane| before[lane] + f64::from(sum[lane]));
}

/// ln Γ(z+x) − ln Γ(z) for x > 0.
#[inline(always)]
fn log_rise(z: f64, x: f64) -> f64 {
    let (mut above, mut below) = (1.0, 1.0);
    for step in 0..LIFT {
        above *= z + x + step as f64;
        below *= z + step as f64;
    }
    let lifted = z + LIFT as f64;
    stirling(lifted, x) + x * kernel::log(lifted) - kernel::log(above / below)
}

/// Splits the exponents off 1 + excess; an excess below 1 is left as it is, to the last bit.
#[inline(always)]
fn split_excess<A: Arithmetic>(excess: &mut [f32; LANES], exponents: &mut [i32; LANES]) {
    for lane in 0..LANES {
        let x = excess[lane];
        let x = if x < TOO_LARGE { x } else { f32::NAN };
        let exponent = ((1.0 + x).to_bits() >> 23) as i32 - 127;
        let scale = f32::from_bits(((127 - exponent) as u32) << 23);
        excess[lane] = A::mul_add(x, scale, scale - 1.0);
        exponents[lane] += exponent;
    }
}

/// The product of a vector's factors: mantissas and exponents. One vector at a time, and by value:
/// several at once the compiler takes apart.
#[inline(always)]
fn multiply<A: Arithmetic>(
    table: &[[f32; LANES]],
    row: &ColumnCells,
    factors_before_split: usize,
) -> ([f32; LANES], [i32; LANES]) {
    let (mut product, mut exponents) = ([1.0f32; LANES], [0i32; LANES]);
    for factors in row.factors.chunks(factors_before_split) {
        // two factors are multiplied on their own before they join the rest: a short chain
        let (pairs, last) = factors.as_chunks::<2>();
        for &[a, b] in pairs {
            let (a, b, before) = (table[a as usize], table[b as usize], product);
            product = lanes(|lane| before[lane] * (a[lane] * b[lane]));
        }
        for &factor in last {
            let (entries, before) = (table[factor as usize], product);
            product = lanes(|lane| before[lane] * entries[lane]);
        }
        split(&mut product, &mut exponents);
    }
    for repeats in row.repeats.chunks(factors_before_split) {
        for &(factor, repeat) in repeats {
            let (entries, further) = (table[factor as usize], table[factor as usize + 1]);
            let before = product;
            product = lanes(|lane| before[lane] * A::mul_add(repeat, further[lane], entries[lane]));
        }
        split(&mut product, &mut exponents);
    }
    (product, exponents)
}

/// Splits the exponents off a product.
#[inline(always)]
fn split(product: &mut [f32; LANES], exponents: &mut [i32; LANES]) {
    for lane in 0..LANES {
        let bits = product[lane].to_bits();
        exponents[lane] += (bits >> 23) as i32 - 127;
        product[lane] = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::kernel::{Fused, Separate};
    use super::*;
    use crate::special::log_gamma;

    #[test]
    fn rises_are_those_of_log_gamma() {
        for z in [1e-6, 0.3, 1.0, 7.9, 50.0, 1e6] {
            for x in [65.0, 1000.0, 1e6, 1e12] {
                let exact = log_gamma(z + x) - log_gamma(z);
                let tolerance = 1e-8 + 1e-14 * log_gamma(z + x);
                assert!((log_rise(z, x) - exact).abs() < tolerance, "z {z}, x {x}: {}, not {exact}", log_rise(z, x));
            }
        }
    }

    fn check_split<A: Arithmetic>() {
        for x in [0.0f32, 1e-30, 1e-9, 0.3, 0.999_999_9, 1.0, 1.5, 3.0, 1e6, 1e35] {
            let (mut excess, mut exponents) = ([x; LANES], [0; LANES]);
            split_excess::<A>(&mut excess, &mut exponents);
            let log = f64::from(exponents[0]) * std::f64::consts::LN_2 + f64::from(log1p_below_one::<A>(excess[0]));
            let exact = libm::log1p(f64::from(x));
            assert!(
                (log - exact).abs() <= 4e-7 * exact.max(f64::from(x).min(1.0)),
                "ln(1 + {x}) is {exact}, not {log}"
            );
        }
        for x in [1e37, f32::INFINITY, f32::NAN] {
            let (mut excess, mut exponents) = ([x; LANES], [0; LANES]);
            split_excess::<A>(&mut excess, &mut exponents);
            assert!(log1p_below_one::<A>(excess[0]).is_nan(), "{x}");
        }
    }

    #[test]
    fn splitting_keeps_small_excesses_and_finds_out_what_is_too_large() {
        check_split::<Fused>();
        check_split::<Separate>();
    }
}
