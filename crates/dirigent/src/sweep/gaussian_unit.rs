//! The unit in which spherical Gaussians are rounded to single precision: a power of two near σ.
//!
//! Squares of singles overflow beyond 10¹⁹ and vanish below 10⁻²³: charges in coulombs, or
//! distances in metres between galaxies. In units of σ they do neither, and a power of two leaves
//! every digit as it is.

use crate::family::GaussianFixed;

/// Longer lengths are rounded to this one, 2¹⁰⁰: their squares overflow, and differences of two of
/// them are still numbers.
const LONGEST: f64 = (1u128 << 100) as f64;
/// ‖x‖²/2σ² from which on products in single precision are off by more nats than components are
/// apart: 2³⁰.
const FAR: f64 = (1u64 << 30) as f64;
/// The exponent of a double, with some room for squares.
const GREATEST_EXPONENT: i32 = 500;

/// A power of two, a little less than σ or equal to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    /// Units in 1.
    inverse: f64,
    /// 1/2σ².
    half_precision: f64,
}

impl Unit {
    pub(super) fn of(family: &GaussianFixed) -> Self {
        let exponent = libm::ilogb(family.noise_sd).clamp(-GREATEST_EXPONENT, GREATEST_EXPONENT);
        Self { inverse: libm::scalbn(1.0, -exponent), half_precision: 0.5 * family.noise_sd.powi(-2) }
    }

    /// A length.
    #[inline(always)]
    pub(super) fn length(self, x: f64) -> f32 {
        (x * self.inverse).clamp(-LONGEST, LONGEST) as f32
    }

    /// A squared length.
    #[inline(always)]
    pub(super) fn square(self, x: f64) -> f32 {
        (x * self.inverse * self.inverse) as f32
    }

    /// What a length is multiplied by.
    #[inline(always)]
    pub(super) fn per_length(self, x: f64) -> f32 {
        (x / self.inverse).clamp(-LONGEST, LONGEST) as f32
    }

    /// What a squared length is multiplied by.
    #[inline(always)]
    pub(super) fn per_square(self, x: f64) -> f32 {
        (x / self.inverse / self.inverse) as f32
    }

    /// Whether a row of this ‖x‖² about the offset is too far for products: even those in double
    /// precision cancel there, and distances are taken instead.
    #[inline(always)]
    pub(super) fn is_far(self, square: f64) -> bool {
        self.half_precision * square > FAR
    }
}
