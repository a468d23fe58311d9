//! What a row is scored by: the posteriors of all slots in single precision, [`LANES`] slots beside one another.
//!
//! Columns are multiplied, and there is one logarithm at the end. Of numbers it is Π (1 + z) − 1 that is accumulated, because with n rows z is of the order of 1/n and its power of
//! the order of n: what 1 + z would round off matters. Exponents are split off before they can overflow; what overflows all the same becomes NaN, and is computed in
//! double precision by whoever asked.

use std::f32::consts::LN_2;

use super::super::component_halves::LocalComponent as _;
use super::super::kernel::{self, Arithmetic, LANES, lanes, log_mantissa, log1p_below_one};
use super::super::length_table::stirling;
use super::cells::{Cells, SMALL};
use super::layout::Layout;
use super::local::Local;

/// Columns of numbers between two splits of their product's exponent.
const COLUMNS_BEFORE_SPLIT: usize = 4;
/// A product that is larger than this before its exponent is split off has overflowed, or nearly: 2¹²⁰.
const TOO_LARGE: f32 = (1u128 << 120) as f32;
/// Stirling's series begins here; smaller shapes are lifted by as much.
const LIFT: usize = 8;

/// All slots, vector after vector.
#[derive(Default)]
pub(super) struct Table {
    n_vectors: usize,
    n_shared: usize,
    n_own: usize,
    n_factors: usize,
    n_counts: usize,
    n_added: usize,
    /// √w and −m√w of the columns of numbers that share their exponent, w = κ/2b(κ+1).
    shared: Vec<[[f32; LANES]; 2]>,
    /// The same of the others; their exponent and their constant.
    own: Vec<[[f32; LANES]; 4]>,
    /// What a level multiplies with; then of each column of counts what the first event does, and what each further one adds to that.
    factors: Vec<[f32; LANES]>,
    /// Shape, and rate + 1, of the columns of counts.
    counts: Vec<[[f64; LANES]; 2]>,
    /// Constants of the columns of counts that may have missing cells.
    added: Vec<[f32; LANES]>,
    /// The part of a log-weight that no row changes, −∞ for a free slot.
    constants: Vec<[f64; LANES]>,
    /// a + ½.
    exponents: Vec<[f64; LANES]>,
    /// Bounds of the factors.
    smallest: f32,
    largest: f32,
    /// The largest mean of a column in units of its component's standard deviation: that many times coarser than singles are the distances.
    pub(super) sharpness: f64,
}

impl Table {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            n_shared: layout.n_shared,
            n_own: layout.n_own(),
            n_factors: layout.n_levels + 2 * layout.counts.len(),
            n_counts: layout.counts.len(),
            n_added: layout.counts.iter().filter(|column| column.has_missing).count(),
            smallest: 1.0,
            largest: 1.0,
            ..Self::default()
        }
    }

    pub(super) fn n_vectors(&self) -> usize {
        self.n_vectors
    }

    pub(super) fn clear(&mut self) {
        self.resize(0);
        (self.smallest, self.largest, self.sharpness) = (1.0, 1.0, 0.0);
    }

    /// Free slots up to a number of vectors.
    pub(super) fn resize(&mut self, n_vectors: usize) {
        self.n_vectors = n_vectors;
        self.shared.resize(n_vectors * self.n_shared, [[0.0; LANES]; 2]);
        self.own.resize(n_vectors * self.n_own, [[0.0; LANES]; 4]);
        self.factors.resize(n_vectors * self.n_factors, [1.0; LANES]);
        self.counts.resize(n_vectors * self.n_counts, [[1.0; LANES]; 2]);
        self.added.resize(n_vectors * self.n_added, [0.0; LANES]);
        self.constants.resize(n_vectors, [f64::NEG_INFINITY; LANES]);
        self.exponents.resize(n_vectors, [0.0; LANES]);
    }

    /// Takes over a slot's component.
    pub(super) fn write(&mut self, slot: usize, local: &Local, layout: &Layout) {
        let (vector, lane) = (slot / LANES, slot % LANES);
        if local.count() == 0 {
            self.constants[vector][lane] = f64::NEG_INFINITY;
            return;
        }
        self.constants[vector][lane] = local.log_constant(layout);
        self.exponents[vector][lane] = local.shape(layout) + 0.5;
        self.write_normals(vector, lane, local, layout);
        self.write_levels(vector, lane, local, layout);
        self.write_counts(vector, lane, local, layout);
    }

    fn write_normals(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let mut sharpest = 0.0f64;
        for place in 0..self.n_shared {
            let (mean, width) = (local.means[place], local.widths[place]);
            sharpest = sharpest.max(mean * mean * width);
            let (root, entry) = (width.sqrt(), &mut self.shared[vector * self.n_shared + place]);
            entry[0][lane] = root as f32;
            entry[1][lane] = (-mean * root) as f32;
        }
        let mut sharpness = (sharpest * 2.0 * self.exponents[vector][lane]).sqrt();
        for (place, column) in layout.normals.iter().enumerate().skip(self.n_shared) {
            let (mean, width, rows) = (local.means[place], local.widths[place], local.rows[place]);
            let shape = column.law.shape + 0.5 * (rows - column.law.prior_rows);
            sharpness = sharpness.max(mean.abs() * (width * (2.0 * shape + 1.0)).sqrt());
            let constant =
                super::local::log_half_step(shape) - 0.5 * libm::log(local.rates[place] * (rows + 1.0) / rows);
            let (root, entry) = (width.sqrt(), &mut self.own[vector * self.n_own + place - self.n_shared]);
            entry[0][lane] = root as f32;
            entry[1][lane] = (-mean * root) as f32;
            entry[2][lane] = (shape + 0.5) as f32;
            entry[3][lane] = constant as f32;
        }
        self.sharpness = self.sharpness.max(sharpness);
    }

    fn write_levels(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let (mut smallest, mut largest) = (self.smallest, self.largest);
        let factors = &mut self.factors[vector * self.n_factors..][..layout.n_levels];
        for (column, total) in layout.levels.iter().zip(&local.totals) {
            // a column whose cells are all there has its total in the constant
            let share = if column.has_missing { 1.0 / total } else { 1.0 };
            let levels = column.first_level..column.first_level + column.priors.len();
            for (entry, level) in factors[levels.clone()].iter_mut().zip(&local.levels[levels]) {
                let factor = (level * share) as f32;
                (smallest, largest) = (smallest.min(factor), largest.max(factor));
                entry[lane] = factor;
            }
        }
        (self.smallest, self.largest) = (smallest, largest);
    }

    fn write_counts(&mut self, vector: usize, lane: usize, local: &Local, layout: &Layout) {
        let factors = &mut self.factors[vector * self.n_factors + layout.n_levels..][..2 * self.n_counts];
        let mut n_with_missing = 0;
        for (place, column) in layout.counts.iter().enumerate() {
            let (shape, rate) = (local.shapes[place], local.count_rates[place]);
            let share = 1.0 / (rate + 1.0);
            let (first, further) = ((shape * share) as f32, share as f32);
            self.smallest = self.smallest.min(first);
            self.largest = self.largest.max(first + SMALL as f32 * further);
            factors[2 * place][lane] = first;
            factors[2 * place + 1][lane] = further;
            let entry = &mut self.counts[vector * self.n_counts + place];
            entry[0][lane] = shape;
            entry[1][lane] = rate + 1.0;
            if column.has_missing {
                self.added[vector * self.n_added + n_with_missing][lane] = (-shape * libm::log1p(1.0 / rate)) as f32;
                n_with_missing += 1;
            }
        }
    }

    /// How many factors a product in single precision can take after its exponent was split off.
    pub(super) fn factors_before_split(&self) -> usize {
        let bits = |x: f32| (i64::from(x.to_bits() >> 23) - 127).abs() + 1;
        (125 / bits(self.smallest).max(bits(self.largest))).max(1) as usize
    }

    /// Whether a slot is taken.
    #[inline(always)]
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        self.constants[slot / LANES][slot % LANES] > f64::NEG_INFINITY
    }

    /// Log-weights of `P` vectors of slots: −∞ for free ones, not finite where single precision does not suffice.
    #[inline(always)]
    pub(super) fn score<A: Arithmetic, const P: usize>(
        &self,
        row: &Cells,
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
        row: &Cells,
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
    fn add_own<A: Arithmetic, const P: usize>(&self, row: &Cells, first: usize, log_weights: &mut [[f64; LANES]; P]) {
        for vector in 0..P {
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
            add(&mut log_weights[vector], &sum);
        }
    }

    #[inline(always)]
    fn add_products<A: Arithmetic, const P: usize>(
        &self,
        row: &Cells,
        first: usize,
        factors_before_split: usize,
        log_weights: &mut [[f64; LANES]; P],
    ) {
        let n = self.n_factors;
        let table = &self.factors[first * n..][..P * n];
        let mut products = [[1.0f32; LANES]; P];
        let mut exponents = [[0i32; LANES]; P];
        for factors in row.factors.chunks(factors_before_split) {
            for &factor in factors {
                for vector in 0..P {
                    let entries = table[vector * n + factor as usize];
                    let before = products[vector];
                    products[vector] = lanes(|lane| before[lane] * entries[lane]);
                }
            }
            split(&mut products, &mut exponents);
        }
        for repeats in row.repeats.chunks(factors_before_split) {
            for &(factor, repeat) in repeats {
                for vector in 0..P {
                    let entries = table[vector * n + factor as usize];
                    let further = table[vector * n + factor as usize + 1];
                    let before = products[vector];
                    products[vector] = lanes(|lane| before[lane] * A::mul_add(repeat, further[lane], entries[lane]));
                }
            }
            split(&mut products, &mut exponents);
        }
        for vector in 0..P {
            let (mantissas, before) = (products[vector], log_weights[vector]);
            let logs: [f32; LANES] = lanes(|lane| log_mantissa::<A>(mantissas[lane]));
            log_weights[vector] = lanes(|lane| {
                let log = f64::from(exponents[vector][lane]) * std::f64::consts::LN_2 + f64::from(logs[lane]);
                before[lane] + log
            });
        }
    }

    /// Constants of columns that may have missing cells; large counts.
    #[inline(always)]
    fn add_rest_of_counts<const P: usize>(&self, row: &Cells, first: usize, log_weights: &mut [[f64; LANES]; P]) {
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

/// Splits the exponents off the products.
#[inline(always)]
fn split<const P: usize>(products: &mut [[f32; LANES]; P], exponents: &mut [[i32; LANES]; P]) {
    for (product, exponent) in products.iter_mut().zip(exponents) {
        for lane in 0..LANES {
            let bits = product[lane].to_bits();
            exponent[lane] += (bits >> 23) as i32 - 127;
            product[lane] = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
        }
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
