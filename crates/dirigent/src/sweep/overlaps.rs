//! Label entropy: how far the components of a sweep overlap.
//!
//! Two components that overlap have very many labellings, and their union has one, so a single
//! labelling says too little for keeping them apart. The correction for a pair is L(A, B) = Σ log q
//! over the rows of either, q the conditional probability of the row's own side among the two. The
//! sweep has both scores at hand.
//!
//! −log q is log(1 + odds), so a sum over rows is the logarithm of a product. The sweep multiplies,
//! a vector of slots at a time, and takes no logarithm.
//!
//! A row that surely stays is not weighed, unless overlaps are counted. Of those rows one of
//! [`SAMPLED`] is counted, with as many times the weight: all of them have a small −log q, so the
//! sum is hardly less exact. Rows whose weights are at hand are all counted.

use std::f64::consts::LN_2;

use super::kernel::{Arithmetic, LANES, lanes};

/// Slots below this share of a row's own component are not counted, unless others of their vector
/// are.
pub(crate) const NEGLIGIBLE: f32 = 1e-3;
/// One of this many rows that surely stay is counted.
pub(crate) const SAMPLED: u32 = 8;
/// Rows whose other components weigh no more than this, by the bound that shows that they stay, are
/// taken as certain: their −log q is below a hundredth.
const CERTAIN: f64 = 0.02;
/// Rows whose other components may weigh more than this, by the same bound, are all counted.
const UNCERTAIN: f64 = 64.0;
/// Odds count as at most this. A row has such a component with a probability of less than a
/// ten-thousandth.
const LARGEST_ODDS: f32 = 16_384.0;
/// Rows that are counted before exponents are taken out of the factors. Each brings two factors of
/// at most 1 + [`LARGEST_ODDS`]: 2¹¹³ in all.
const MOST_ROWS: u32 = 4;
/// Up to this many vectors of slots each slot has products with all of them; otherwise with those
/// in which it has neighbours.
const FEW_VECTORS: usize = 8;

/// Sums over the rows of the last sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlaps {
    is_on: bool,
    /// Whether rows that surely stay are all counted.
    #[cfg(test)]
    has_all_rows: bool,
    /// By the slot that rows are in.
    pairs: Vec<Neighbours>,
    /// Of the two halves of each slot.
    halves: Vec<Product>,
    /// Of the inverse probability of each row's component among all.
    certainty: Product,
}

/// Products with the neighbours of a slot.
#[derive(Debug, Clone, Default, PartialEq)]
struct Neighbours {
    /// By vectors of slots; all of them in order if there are few.
    list: Vec<Products>,
    /// Rows counted since exponents were taken out of the factors.
    n_rows: u32,
}

/// Π (1 + odds) with each slot of a vector.
#[derive(Debug, Clone, PartialEq)]
struct Products {
    /// Which vector of slots.
    vector: u32,
    factors: [f32; LANES],
    exponents: [i32; LANES],
}

impl Products {
    fn new(vector: usize) -> Self {
        Self { vector: vector as u32, factors: [1.0; LANES], exponents: [0; LANES] }
    }

    #[inline(always)]
    fn multiply<A: Arithmetic>(&mut self, odds: [f32; LANES]) {
        let factors = self.factors;
        self.factors = lanes(|lane| A::mul_add(factors[lane], odds[lane], factors[lane]));
    }

    #[inline(always)]
    fn take_out_exponents(&mut self) {
        let (factors, exponents) = (self.factors, self.exponents);
        self.exponents = lanes(|lane| exponents[lane] + (factors[lane].to_bits() >> 23) as i32 - 127);
        self.factors = lanes(|lane| f32::from_bits((factors[lane].to_bits() & 0x007f_ffff) | 0x3f80_0000));
    }

    fn log(&self, lane: usize) -> f64 {
        f64::from(self.exponents[lane]) * LN_2 + libm::log(f64::from(self.factors[lane]))
    }
}

/// How a row is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Not at all.
    No,
    Once,
    /// For [`SAMPLED`] rows.
    ForOthers,
}

/// A product of numbers of at least 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Product {
    factor: f64,
    exponent: i64,
}

impl Default for Product {
    fn default() -> Self {
        Self { factor: 1.0, exponent: 0 }
    }
}

impl Product {
    #[inline(always)]
    fn multiply(&mut self, by: f64) {
        const LARGE: f64 = (1u128 << 100) as f64;
        self.factor *= if by < LARGE { by } else { LARGE };
        if self.factor >= LARGE {
            let bits = self.factor.to_bits();
            self.exponent += (bits >> 52) as i64 - 1023;
            self.factor = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
        }
    }

    fn log(&self) -> f64 {
        self.exponent as f64 * LN_2 + libm::log(self.factor)
    }
}

impl Overlaps {
    /// Whether sweeps count them.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn switch(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// Begins a sweep over the loaded slots.
    pub(crate) fn clear(&mut self, n_slots: usize) {
        if !self.is_on {
            return;
        }
        let n_vectors = n_slots.div_ceil(LANES);
        self.pairs.resize_with(n_slots, Neighbours::default);
        for neighbours in &mut self.pairs {
            neighbours.n_rows = 0;
            neighbours.list.clear();
            if n_vectors <= FEW_VECTORS {
                neighbours.list.extend((0..n_vectors).map(Products::new));
            }
        }
        self.halves.clear();
        self.halves.resize(n_slots, Product::default());
        self.certainty = Product::default();
    }

    /// How a row is to be counted. `uniform` decides whether it stays; `others` is a bound of the
    /// weight of all other components, in units of its own one.
    #[inline(always)]
    pub(crate) fn count(&self, surely_stays: bool, others: f64, uniform: f64) -> Count {
        const UNIFORMS: f64 = (1u64 << 53) as f64;
        if !self.is_on {
            return Count::No;
        }
        if !surely_stays || others > UNCERTAIN || self.has_all_rows() {
            return Count::Once;
        }
        // the last bits of a uniform have no part in whether the row stays
        let is_sampled = ((uniform * UNIFORMS) as u64).is_multiple_of(u64::from(SAMPLED));
        if is_sampled && others > CERTAIN { Count::ForOthers } else { Count::No }
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn has_all_rows(&self) -> bool {
        false
    }

    #[cfg(test)]
    fn has_all_rows(&self) -> bool {
        self.has_all_rows
    }

    /// For tests that compare with a twin row by row.
    #[cfg(test)]
    pub(crate) fn count_all_rows(&mut self) {
        self.has_all_rows = true;
    }

    /// Whether pairs of a slot are counted: slots that were born in this sweep are not known to
    /// others.
    #[inline(always)]
    pub(crate) fn counts(&self, slot: usize) -> bool {
        slot < self.pairs.len()
    }

    /// A row is in `slot`, which is counted; all slots have these weights in units of the
    /// reciprocal of `inverse`. Their total is at most `total` such units.
    #[inline(always)]
    pub(crate) fn add_row<A: Arithmetic>(
        &mut self,
        slot: usize,
        weights: &[[f32; LANES]],
        inverse: f32,
        total: f64,
        count: Count,
    ) {
        let Neighbours { list, n_rows } = &mut self.pairs[slot];
        let is_extreme = total > f64::from(LARGEST_ODDS) || count == Count::ForOthers;
        if is_extreme {
            // rarely
            for (vector, &weights) in weights.iter().enumerate() {
                let odds = lanes(|lane| odds_of(weights[lane] * inverse, count));
                if weights.iter().any(|weight| weight * inverse > NEGLIGIBLE) {
                    with_vector(list, vector).multiply::<A>(odds);
                }
            }
        } else if list.len() <= FEW_VECTORS && weights.len() <= FEW_VECTORS {
            for (products, &weights) in list.iter_mut().zip(weights) {
                products.multiply::<A>(lanes(|lane| weights[lane] * inverse));
            }
        } else {
            for (vector, &weights) in weights.iter().enumerate() {
                let odds = lanes(|lane| weights[lane] * inverse);
                let is_above = lanes(|lane| u32::from(odds[lane] > NEGLIGIBLE));
                if is_above.iter().fold(0, |any, is_above| any | is_above) > 0 {
                    with_vector(list, vector).multiply::<A>(odds);
                }
            }
        }
        *n_rows += 1;
        if *n_rows == MOST_ROWS {
            *n_rows = 0;
            list.iter_mut().for_each(Products::take_out_exponents);
        }
    }

    /// A row is in `slot`, which is counted; another slot weighs `odds` times as much for it.
    /// [`Overlaps::add_row`] comes after it.
    #[inline(always)]
    pub(crate) fn add_pair(&mut self, slot: usize, other: usize, odds: f64) {
        let products = with_vector(&mut self.pairs[slot].list, other / LANES);
        products.factors[other % LANES] *= 1.0 + odds_of(odds as f32, Count::Once);
    }

    /// A row is in a half; the other half weighs `odds` times as much for it.
    #[inline(always)]
    pub(crate) fn add_half(&mut self, slot: usize, odds: f64) {
        if let Some(product) = self.halves.get_mut(slot) {
            product.multiply(1.0 + odds);
        }
    }

    /// All components together weigh `total` times as much as a row's own one.
    #[inline(always)]
    pub(crate) fn add_certainty(&mut self, total: f64, count: Count) {
        let total = if total > 1.0 { total } else { 1.0 };
        self.certainty.multiply(if count == Count::ForOthers { to_the_eighth(total) } else { total });
    }

    /// The pairs that overlap, with L of each, by slots, the smaller slot first.
    pub fn pairs(&self) -> Vec<(usize, usize, f64)> {
        let mut pairs = Vec::new();
        for (slot, neighbours) in self.pairs.iter().enumerate() {
            for products in &neighbours.list {
                for lane in 0..LANES {
                    let (other, log_share) = (products.vector as usize * LANES + lane, -products.log(lane));
                    if other != slot && self.counts(other) && log_share < -f64::from(NEGLIGIBLE) {
                        pairs.push((slot.min(other), slot.max(other), log_share));
                    }
                }
            }
        }
        // stable: what either slot's rows say is added in the order of the slots
        pairs.sort_by_key(|(low, high, _)| (*low, *high));
        pairs.dedup_by(|next, pair| {
            let is_same = (next.0, next.1) == (pair.0, pair.1);
            if is_same {
                pair.2 += next.2;
            }
            is_same
        });
        pairs
    }

    /// L of the halves of a slot; 0 while they are not drawn.
    pub fn of_halves(&self, slot: usize) -> f64 {
        self.halves.get(slot).map_or(0.0, |product| -product.log())
    }

    /// Σ log of the probability of each row's component among all: minus this is the entropy of the
    /// labels.
    pub fn log_certainty(&self) -> f64 {
        -self.certainty.log()
    }
}

/// The products with a vector of slots.
#[inline(always)]
fn with_vector(list: &mut Vec<Products>, vector: usize) -> &mut Products {
    let is_it = |products: &Products| products.vector == vector as u32;
    let ix = if list.get(vector).is_some_and(is_it) { Some(vector) } else { list.iter().position(is_it) };
    let ix = ix.unwrap_or_else(|| {
        list.push(Products::new(vector));
        list.len() - 1
    });
    &mut list[ix]
}

/// Odds that make a factor which is counted as it should be, and not too large.
#[inline(always)]
fn odds_of(odds: f32, count: Count) -> f32 {
    let odds = match count {
        Count::ForOthers => {
            let squared = (1.0 + odds) * (1.0 + odds);
            squared * squared * (squared * squared) - 1.0
        }
        Count::No | Count::Once => odds,
    };
    if odds < LARGEST_ODDS { odds } else { LARGEST_ODDS }
}

#[inline(always)]
fn to_the_eighth(x: f64) -> f64 {
    let fourth = x * x * (x * x);
    fourth * fourth
}
