//! The halves of spherical Gaussians, for few columns and many: two distances a row, in double
//! precision.

use super::log_base::LogBases;
use crate::halves::Half;
use crate::stats::Stats;

/// The statistics of all halves.
#[derive(Default)]
pub(super) struct GaussianHalves {
    counts: Vec<[i64; 2]>,
    /// κ₀m₀ + Σx of the left half, then of the right one, slot by slot.
    sums: Vec<f64>,
}

/// What the halves share with their components.
#[derive(Clone, Copy)]
pub(super) struct SharedNoise<'a> {
    pub(super) prior_rows: f64,
    /// 1/2σ².
    pub(super) half_precision: f64,
    pub(super) log_bases: &'a LogBases,
}

impl GaussianHalves {
    /// Takes over the halves; `prior_sum` is κ₀m₀, as long as a row.
    pub(super) fn load(&mut self, halves: &[Option<[Stats; 2]>], prior_sum: &[f64]) {
        self.counts.clear();
        self.sums.clear();
        for halves in halves {
            let count = |half: usize| halves.as_ref().map_or(0, |halves| halves[half].count);
            self.counts.push([count(0), count(1)]);
            for half in 0..2 {
                let start = self.sums.len();
                self.sums.extend_from_slice(prior_sum);
                if let Some(halves) = halves {
                    self.sums[start..].iter_mut().zip(halves[half].dense()).for_each(|(sum, of_rows)| *sum += of_rows);
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn counts(&self, slot: usize) -> [i64; 2] {
        self.counts[slot]
    }

    /// Log-weights of both halves for a row, which is taken out of one; without ln n for an empty
    /// half.
    #[inline(always)]
    pub(super) fn log_weights(
        &self,
        shared: SharedNoise<'_>,
        row: &[f64],
        slot: usize,
        taken_out: Option<Half>,
    ) -> [f64; 2] {
        let sums = &self.sums[2 * slot * row.len()..2 * (slot + 1) * row.len()];
        let (left, right) = sums.split_at(row.len());
        let is_out = |half| f64::from(u8::from(taken_out == Some(half)));
        [
            log_weight(shared, row, left, self.counts[slot][0], is_out(Half::Left)),
            log_weight(shared, row, right, self.counts[slot][1], is_out(Half::Right)),
        ]
    }

    #[inline(always)]
    pub(super) fn change(&mut self, row: &[f64], slot: usize, half: Half, sign: i64) {
        self.counts[slot][half.ix()] += sign;
        let start = (2 * slot + half.ix()) * row.len();
        for (sum, x) in self.sums[start..start + row.len()].iter_mut().zip(row) {
            *sum += sign as f64 * x;
        }
    }
}

/// ln n − D/2 ln((κ+1)/κ) − κ/2σ²(κ+1) ‖x − μ‖², of a half less `is_out` times the row.
#[inline(always)]
pub(super) fn log_weight(shared: SharedNoise<'_>, row: &[f64], sums: &[f64], count: i64, is_out: f64) -> f64 {
    let count = count - is_out as i64;
    let rows = shared.prior_rows + count as f64;
    let inverse = 1.0 / rows;
    let (of_row, of_sum) = (1.0 + is_out * inverse, inverse);
    let (rows4, rest) = row.as_chunks::<4>();
    let (sums4, rest_sums) = sums.as_chunks::<4>();
    let mut squares = [0.0; 4];
    for (x, sum) in rows4.iter().zip(sums4) {
        for lane in 0..4 {
            let difference = x[lane] * of_row - sum[lane] * of_sum;
            squares[lane] += difference * difference;
        }
    }
    let rest = rest.iter().zip(rest_sums).map(|(x, sum)| (x * of_row - sum * of_sum).powi(2));
    let square = (squares[0] + squares[2]) + (squares[1] + squares[3]) + rest.sum::<f64>();
    shared.log_bases.of(count) - shared.half_precision * rows / (rows + 1.0) * square
}
