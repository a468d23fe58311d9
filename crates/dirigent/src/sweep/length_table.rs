//! What a document's length decides, tabulated: ln Γ(z+L) − ln Γ(z) as a polynomial in 1/z.
//!
//! Σ_{j<L} ln(z+j) = L ln z + Σ_p (−1)^{p+1} S_p / (p z^p) with the power sums S_p = Σ_{j<L} j^p:
//! one logarithm a component, kept until the component changes, and no division.

use super::kernel::log;
use crate::special::log_gamma;

/// Terms of the polynomial.
pub(super) const TERMS: usize = 10;
/// Longer documents are computed one by one.
const LONGEST: usize = 4096;
/// The polynomial is used where z ≥ 8L: what is left out is below L·8⁻¹¹/132.
const ROOM: f64 = 8.0;
/// From here on Stirling's series is exact to 1e-10.
pub(super) const STIRLING: f64 = 8.0;

/// Polynomials by length.
pub(super) struct LengthTable {
    /// z of an empty component.
    z_empty: f64,
    /// (−1)^{p+1} S_p / p.
    coefficients: Vec<[f64; TERMS]>,
    /// ln Γ(z+L) − ln Γ(z) of an empty component.
    of_empty: Vec<f64>,
}

impl LengthTable {
    pub(super) fn new(z_empty: f64) -> Self {
        Self { z_empty, coefficients: vec![[0.0; TERMS]], of_empty: vec![0.0] }
    }

    /// Tabulates up to a length.
    pub(super) fn prepare(&mut self, length: usize) {
        while self.of_empty.len() <= length.min(LONGEST) {
            let last = self.of_empty.len() - 1;
            let (mut coefficients, mut power) = (self.coefficients[last], -1.0);
            for (ix, coefficient) in coefficients.iter_mut().enumerate() {
                power *= -(last as f64);
                *coefficient += power / (ix + 1) as f64;
            }
            self.coefficients.push(coefficients);
            self.of_empty.push(self.of_empty[last] + libm::log(self.z_empty + last as f64));
        }
    }

    /// The coefficients of 1/z, 1/z², …, if the polynomial serves for all z from `smallest_z` on.
    /// The length was prepared.
    #[inline(always)]
    pub(super) fn polynomial(&self, length: usize, smallest_z: f64) -> Option<[f64; TERMS]> {
        let coefficients = self.coefficients.get(length)?;
        (smallest_z >= ROOM * length as f64).then_some(*coefficients)
    }

    /// ln Γ(z+L) − ln Γ(z). The length was prepared.
    #[inline(always)]
    pub(super) fn log_rise(&self, length: usize, z: f64) -> f64 {
        match self.polynomial(length, z) {
            Some(coefficients) => length as f64 * libm::log(z) + evaluate(&coefficients, 1.0 / z),
            None => log_gamma(z + length as f64) - log_gamma(z),
        }
    }

    /// ln Γ(z+L) − ln Γ(z) of an empty component. The length was prepared.
    #[inline(always)]
    pub(super) fn of_empty(&self, length: usize) -> f64 {
        match self.of_empty.get(length) {
            Some(&head) => head,
            None => log_gamma(self.z_empty + length as f64) - log_gamma(self.z_empty),
        }
    }
}

/// A series in 1/z, without its constant: what lies beyond L ln z.
#[inline(always)]
pub(super) fn evaluate<const TERMS: usize>(coefficients: &[f64; TERMS], inverse_z: f64) -> f64 {
    let mut value = 0.0;
    for coefficient in coefficients.iter().rev() {
        value = (value + coefficient) * inverse_z;
    }
    value
}

/// ln Γ(z+L) − ln Γ(z) − L ln z by Stirling's series, for z ≥ [`STIRLING`].
#[inline(always)]
pub(super) fn stirling(z: f64, length: f64) -> f64 {
    let log_ratio = log((z + length) / z);
    length * (log_ratio - 1.0) + (z - 0.5) * log_ratio + stirling_rest(z + length) - stirling_rest(z)
}

/// Stirling's series beyond (z − ½) ln z − z + ½ ln 2π.
#[inline(always)]
fn stirling_rest(z: f64) -> f64 {
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomial_and_series_equal_log_gamma() {
        let mut table = LengthTable::new(40.0);
        for length in [0, 1, 2, 50, 700, 4096] {
            table.prepare(length);
            for z in [8.0 * length as f64 + 8.0, 100.0 * length as f64 + 8.0, 1e7] {
                let exact = log_gamma(z + length as f64) - log_gamma(z) - length as f64 * libm::log(z);
                let tolerance = 1e-8 + 1e-15 * log_gamma(z);
                let polynomial = evaluate(&table.polynomial(length, z).expect("room"), 1.0 / z);
                assert!((polynomial - exact).abs() < tolerance, "L {length}, z {z}: {polynomial}, not {exact}");
                let series = stirling(z, length as f64);
                assert!((series - exact).abs() < tolerance, "L {length}, z {z}: {series}, not {exact}");
            }
            let exact = log_gamma(40.0 + length as f64) - log_gamma(40.0);
            assert!((table.of_empty(length) - exact).abs() < 1e-9, "empty, L {length}");
        }
        table.prepare(9000);
        assert!(table.polynomial(9000, 1e9).is_none() && table.polynomial(50, 399.0).is_none());
        assert_eq!(table.of_empty(9000), log_gamma(9040.0) - log_gamma(40.0));
    }
}
