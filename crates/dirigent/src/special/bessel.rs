//! L(r) = ln(I_ν(r) / r^ν), I_ν the modified Bessel function of the first kind: what the von
//! Mises–Fisher law is normalised by.
//!
//! L is smooth and finite at 0, and everything is a function of s = √(ν² + r²). Where s is small,
//! the power series, whose terms are all positive; elsewhere Debye's expansion (DLMF 10.41.3),
//! written in powers of 1/s so that it holds from ν = 0 on:
//!
//! L = s − ν ln(ν + s) − ½ ln 2πs + ln(1 + Σ_k s^−k U_k(ν²/s²)).

use std::f64::consts::{LN_2, PI};

use super::log_gamma;

/// From here on Debye's expansion is used: what is left out is below 2e-16.
const FAR: f64 = 25.0;
/// Terms of Debye's expansion.
const N_TERMS: usize = 16;
/// Terms below this are left out.
const NEGLIGIBLE: f64 = 1e-18;

/// U_k, the power of ν²/s² rising.
const DEBYE: [[f64; N_TERMS + 1]; N_TERMS + 1] = debye();
/// The sum of the magnitudes of the coefficients of U_k.
const LARGEST: [f64; N_TERMS + 1] = largest();

/// u_{k+1}(p) = ½p²(1−p²)u_k'(p) + ⅛∫(1−5p²)u_k(p)dp, power by power (DLMF 10.41.9).
const fn debye() -> [[f64; N_TERMS + 1]; N_TERMS + 1] {
    let mut table = [[0.0; N_TERMS + 1]; N_TERMS + 1];
    table[0][0] = 1.0;
    let mut k = 0;
    while k < N_TERMS {
        let mut j = 0;
        while j <= k {
            let (coefficient, power) = (table[k][j], (k + 2 * j) as f64);
            table[k + 1][j] += coefficient * (0.5 * power + 0.125 / (power + 1.0));
            table[k + 1][j + 1] -= coefficient * (0.5 * power + 0.625 / (power + 3.0));
            j += 1;
        }
        k += 1;
    }
    table
}

const fn largest() -> [f64; N_TERMS + 1] {
    let mut sums = [0.0; N_TERMS + 1];
    let mut k = 0;
    while k <= N_TERMS {
        let mut j = 0;
        while j <= k {
            sums[k] += DEBYE[k][j].abs();
            j += 1;
        }
        k += 1;
    }
    sums
}

/// L of one order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogBessel {
    order: f64,
    /// L(0).
    at_zero: f64,
}

/// A place r, with what differences from it need.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct BesselPoint {
    /// r².
    pub(crate) square: f64,
    /// s = √(ν² + r²).
    pub(crate) radius: f64,
    /// L(r).
    pub(crate) value: f64,
    /// The logarithm of Debye's sum, 0 where it is not used.
    correction: f64,
}

impl BesselPoint {
    fn is_far(&self) -> bool {
        self.radius >= FAR
    }
}

impl LogBessel {
    /// That of an order ν ≥ 0.
    pub(crate) fn new(order: f64) -> Self {
        Self { order, at_zero: -order * LN_2 - log_gamma(order + 1.0) }
    }

    /// ν.
    pub(crate) fn order(&self) -> f64 {
        self.order
    }

    /// L(r).
    pub(crate) fn at(&self, r: f64) -> f64 {
        self.place(r * r).value
    }

    /// The place of a given r². What rounding has left of a square that should be 0 is taken for 0.
    pub(crate) fn place(&self, square: f64) -> BesselPoint {
        let square = square.max(0.0);
        let radius = self.radius(square);
        if radius < FAR {
            return BesselPoint { square, radius, value: self.series(square), correction: 0.0 };
        }
        let correction = self.correction(radius);
        let value =
            radius - self.order * libm::log(self.order + radius) - 0.5 * libm::log(2.0 * PI * radius) + correction;
        BesselPoint { square, radius, value, correction }
    }

    /// L(√(r² + δ)) − L(r): small differences of large values are not lost.
    pub(crate) fn difference(&self, from: &BesselPoint, delta: f64) -> f64 {
        let square = (from.square + delta).max(0.0);
        let radius = self.radius(square);
        if radius < FAR {
            return self.series(square) - from.value;
        }
        if !from.is_far() {
            return self.place(square).value - from.value;
        }
        let step = delta / (radius + from.radius);
        let logs = self.order * libm::log1p(step / (self.order + from.radius)) + 0.5 * libm::log1p(step / from.radius);
        step - logs + (self.correction(radius) - from.correction)
    }

    /// L'(r) = I_{ν+1}(r)/I_ν(r): the length of the mean of a von Mises–Fisher law of concentration
    /// r.
    pub(crate) fn slope(&self, r: f64) -> f64 {
        let radius = self.radius(r * r);
        if radius < FAR {
            // the continued fraction (DLMF 10.33.1); r is small beside its last order
            let next = |slope: f64, step: i32| r / (2.0 * (self.order + f64::from(step)) + r * slope);
            return (1..=64).rev().fold(0.0, next);
        }
        let above = Self { order: self.order + 1.0, at_zero: 0.0 };
        let radius_above = above.radius(r * r);
        let step = (self.order + above.order) / (radius + radius_above);
        let logs = self.order * libm::log1p((1.0 + step) / (self.order + radius)) + 0.5 * libm::log1p(step / radius);
        let corrections = above.correction(radius_above) - self.correction(radius);
        r / (above.order + radius_above) * libm::exp(step - logs + corrections)
    }

    fn radius(&self, square: f64) -> f64 {
        (self.order * self.order + square).sqrt()
    }

    /// The power series; some 60 terms at most, because r is below [`FAR`].
    fn series(&self, square: f64) -> f64 {
        let quarter = 0.25 * square;
        let (mut term, mut beyond_one, mut k) = (1.0, 0.0, 0.0);
        while term > 1e-17 * beyond_one {
            k += 1.0;
            term *= quarter / (k * (self.order + k));
            beyond_one += term;
        }
        self.at_zero + libm::log1p(beyond_one)
    }

    /// The logarithm of Debye's sum.
    fn correction(&self, radius: f64) -> f64 {
        let inverse = 1.0 / radius;
        let share = (self.order * inverse) * (self.order * inverse);
        let (mut power, mut sum) = (1.0, 0.0);
        for k in 1..=N_TERMS {
            power *= inverse;
            if power * LARGEST[k] < NEGLIGIBLE {
                break;
            }
            sum += power * DEBYE[k][..=k].iter().rev().fold(0.0, |sum, coefficient| sum * share + coefficient);
        }
        libm::log1p(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (columns, r, L(r)), ν = columns/2 − 1: the power series, and beyond s = 300 twenty terms of
    /// Debye's expansion, with 60 digits.
    #[rustfmt::skip]
    const ORACLE: [(u32, f64, f64); 84] = [
        (2, 0.0, 0.0),
        (2, 1e-9, 2.5e-19),
        (2, 0.001, 2.4999998437500175e-07),
        (2, 1.0, 0.23591435850717865),
        (2, 12.5, 10.328635514617122),
        (2, 24.9, 22.378752955946688),
        (2, 25.1, 22.574711224613928),
        (2, 60.0, 57.035990189655145),
        (2, 700.0, 695.8056999984434),
        (2, 20000.0, 19994.129323940684),
        (2, 1e7, 9999991.022013653),
        (2, 1e10, 9999999987.568136),
        (3, 0.0, -0.22579135264472744),
        (3, 1e-9, -0.22579135264472744),
        (3, 0.001, -0.22579118597806633),
        (3, 1.0, -0.0643519910735318),
        (3, 12.5, 9.055332822473185),
        (3, 24.9, 20.766193663324664),
        (3, 25.1, 20.95819362065759),
        (3, 60.0, 54.98671690457323),
        (3, 700.0, 692.5299811317519),
        (3, 20000.0, 19989.177573914258),
        (3, 1e7, 9999982.962965816),
        (3, 1e10, 9999999976.05521),
        (10, 0.0, -5.950642552587727),
        (10, 1e-9, -5.950642552587727),
        (10, 0.001, -5.950642502587727),
        (10, 1.0, -5.900848925501371),
        (10, 12.5, -0.43556391745319484),
        (10, 24.9, 9.192022595983714),
        (10, 25.1, 9.358631278438594),
        (10, 60.0, 40.52419877754765),
        (10, 700.0, 669.5899419421447),
        (10, 20000.0, 19954.51497372054),
        (10, 1e7, 9999926.54963025),
        (10, 1e10, 9999999895.464733),
        (26, 0.0, -28.30498066238123),
        (26, 1e-9, -28.30498066238123),
        (26, 0.001, -28.30498064315046),
        (26, 1.0, -28.28576307857015),
        (26, 12.5, -25.558479729539727),
        (26, 24.9, -19.093035033206537),
        (26, 25.1, -18.97044045338488),
        (26, 60.0, 6.697827144760853),
        (26, 700.0, 617.0898077812782),
        (26, 20000.0, 19875.283873220353),
        (26, 1e7, 9999797.604858642),
        (26, 1e10, 9999999711.257925),
        (64, 0.0, -99.57978615067361),
        (64, 1e-9, -99.57978615067361),
        (64, 0.001, -99.57978614286111),
        (64, 1.0, -99.5719745751655),
        (64, 12.5, -98.38064578982603),
        (64, 24.9, -95.03749934282182),
        (64, 25.1, -94.96845853363853),
        (64, 60.0, -77.79170825066441),
        (64, 700.0, 492.03540257689593),
        (64, 20000.0, 19687.097184216218),
        (64, 1e7, 9999491.361000424),
        (64, 1e10, 9999999273.766758),
        (384, 0.0, -948.1208477908597),
        (384, 1e-9, -948.1208477908597),
        (384, 0.001, -948.1208477895576),
        (384, 1.0, -948.1195457119186),
        (384, 12.5, -947.9175043538335),
        (384, 24.9, -947.3152222549816),
        (384, 25.1, -947.3022558701633),
        (384, 60.0, -943.4885164278626),
        (384, 700.0, -581.3683059189403),
        (384, 20000.0, 18101.651160536854),
        (384, 1e7, 9996912.463920271),
        (384, 1e10, 9999995589.630606),
        (4096, 0.0, -14983.198631990885),
        (4096, 1e-9, -14983.198631990885),
        (4096, 0.001, -14983.198631990763),
        (4096, 1.0, -14983.198509920576),
        (4096, 12.5, -14983.17955859333),
        (4096, 24.9, -14983.122948574164),
        (4096, 25.1, -14983.12172791649),
        (4096, 60.0, -14982.759225977616),
        (4096, 700.0, -14924.225010635424),
        (4096, 20000.0, -382.9763654068647),
        (4096, 1e7, 9966997.070705682),
        (4096, 1e10, 9999952853.651073),
    ];

    fn of_columns(n_columns: u32) -> LogBessel {
        LogBessel::new(0.5 * f64::from(n_columns) - 1.0)
    }

    #[test]
    fn it_is_accurate_from_zero_to_ten_thousand_millions_and_from_2_to_4096_columns() {
        for (n_columns, r, exact) in ORACLE {
            let value = of_columns(n_columns).at(r);
            let error = (value - exact).abs();
            assert!(error <= 1e-13 * exact.abs(), "{n_columns} columns, r = {r}: {value} is not {exact}");
        }
    }

    /// I_{ν−1} − I_{ν+1} = 2ν/r I_ν, across the border between series and expansion.
    #[test]
    fn neighbouring_orders_obey_the_recurrence() {
        for order in [1.0, 1.5, 7.0, 24.0, 25.0, 300.5, 2046.0] {
            for r in [0.01, 1.0, 24.0, 24.99, 25.01, 30.0, 500.0, 3000.0] {
                let log = |order: f64| LogBessel::new(order).at(r) + order * libm::log(r);
                let middle = log(order);
                let (below, above) = (libm::exp(log(order - 1.0) - middle), libm::exp(log(order + 1.0) - middle));
                let expected = 2.0 * order / r;
                // what large logarithms lose
                let bound = 1e-15 * (10.0 + middle.abs() + (order * libm::log(r)).abs()) * below;
                assert!(
                    (below - above - expected).abs() < bound,
                    "ν = {order}, r = {r}: {below} − {above}, {expected}"
                );
            }
        }
    }

    #[test]
    fn differences_are_those_of_values_and_small_ones_are_not_lost() {
        for n_columns in [2, 3, 40, 384] {
            let bessel = of_columns(n_columns);
            for r in [0.0f64, 0.5, 20.0, 24.0, 26.0, 1e3, 1e5] {
                for end in [0.0f64, 1e-3, 10.0, 25.5, 900.0] {
                    let from = bessel.place(r * r);
                    let difference = bessel.difference(&from, end * end - r * r);
                    let expected = bessel.at(end) - bessel.at(r);
                    // r² + δ is rounded, too
                    let bound = 1e-13 * (1.0 + bessel.at(r).abs() + bessel.at(end).abs()) + 1e-16 * r * r;
                    assert!((difference - expected).abs() < bound, "{n_columns} columns, {r} to {end}: {difference}");
                }
            }
            // far out a step of r by 1e-6 is one of L by slope times as much
            let from = bessel.place(1e18);
            let difference = bessel.difference(&from, 2e3);
            assert!((difference - 1e-6 * bessel.slope(1e9)).abs() < 1e-12, "{n_columns} columns: {difference}");
        }
        assert_eq!(of_columns(2).difference(&of_columns(2).place(1.0), -1.0 - 1e-12), -of_columns(2).at(1.0));
    }

    #[test]
    fn the_slope_is_that_of_the_values() {
        for n_columns in [2, 3, 64, 4096] {
            let bessel = of_columns(n_columns);
            for r in [0.01, 0.5, 3.0, 30.0, 400.0, 1e4] {
                let width = 1e-4 * r;
                let from = bessel.place((r - width) * (r - width));
                let rise = bessel.difference(&from, 4.0 * r * width);
                let (slope, expected) = (bessel.slope(r), rise / (2.0 * width));
                assert!((slope / expected - 1.0).abs() < 1e-7, "{n_columns} columns, r = {r}: {slope}, {expected}");
            }
            assert_eq!(bessel.slope(0.0), 0.0);
        }
    }
}
