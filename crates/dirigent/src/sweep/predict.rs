//! What the components say of a row: the most probable one, the probabilities of all, the density.
//!
//! Scores come in single precision. Those that can be the best, and those that make up most of the
//! total, are computed again in double precision; products of counts are good enough as they are.
//! So labels are those of double precision, and a log-density is within 1e-4.

use super::Assignment;
use super::batch::Scorer;
use super::kernel::{Arithmetic, LANES, exp, lanes};
use crate::family::Conjugate as _;
use crate::rows::Row;

/// What a model says of one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// The most probable component among those there are.
    pub label: u32,
    /// Its probability among those there are.
    pub certainty: f32,
    /// The probability that the row belongs to a component not seen before.
    pub p_new: f64,
    /// log p(x), the log posterior predictive density: all components and a new one, weighed by
    /// their sizes and α.
    pub log_density: f64,
}

impl Prediction {
    /// The same for a row that may belong to no cluster there is: certainty is then the probability
    /// of the label with that possibility counted.
    #[must_use]
    pub fn with_new(self) -> Self {
        let certainty = (f64::from(self.certainty) * (1.0 - self.p_new)) as f32;
        Self { certainty, ..self }
    }
}

/// The weight of a component not seen before, and of all together.
pub(super) struct NewComponent {
    log_alpha: f64,
    /// ln(n + α).
    log_of_all: f64,
}

impl NewComponent {
    pub(super) fn new(alpha: f64, counts: &[i64]) -> Self {
        let n_rows: i64 = counts.iter().sum();
        Self { log_alpha: libm::log(alpha), log_of_all: libm::log(n_rows as f64 + alpha) }
    }
}

/// Scores this close to the best are compared again in double precision.
const NEAR: f32 = 0.01;
/// The same as a share of the score: far from all components scores are large, and so is their
/// rounding.
const NEAR_SHARE: f32 = 1e-6;
/// Weights down to e⁻⁹ of the largest are computed again in double precision.
const REFINED: f32 = 9.0;
/// Vectors whose small weights are added in single precision.
const BLOCK: usize = 8;

/// The components' part of a row.
struct Rating {
    label: usize,
    /// The log-weight of the label.
    best: f64,
    /// All weights as shares of it.
    total: f64,
}

impl Rating {
    fn certainty(&self) -> f32 {
        // where not even doubles tell the components apart, nothing is certain
        if self.best > f64::NEG_INFINITY { (1.0 / self.total).min(1.0) as f32 } else { 0.0 }
    }

    fn log_total(&self) -> f64 {
        if self.best > f64::NEG_INFINITY { self.best + libm::log(self.total) } else { f64::NEG_INFINITY }
    }
}

/// Rates a row. `shares` gets the components' weights as shares of the largest.
#[inline(always)]
fn rate<A: Arithmetic, S: Scorer>(
    scorer: &S,
    in_batch: usize,
    scores: &[[f32; LANES]],
    mut shares: Option<&mut [f64]>,
) -> Rating {
    let mut largest = [f32::NEG_INFINITY; LANES];
    for scores in scores {
        for lane in 0..LANES {
            largest[lane] = if scores[lane] > largest[lane] { scores[lane] } else { largest[lane] };
        }
    }
    let largest = largest.into_iter().fold(f32::NEG_INFINITY, f32::max);
    if !largest.is_finite() {
        return rate_in_double(scorer, in_batch, shares);
    }
    let near = largest - NEAR.max(NEAR_SHARE * largest.abs());
    let refined = if scorer.family().has_counts() { near } else { near - REFINED };
    let (mut label, mut best) = (0, f64::NEG_INFINITY);
    for_slots_above(near, scores, |slot| {
        let log_weight = scorer.log_weight(in_batch, slot);
        if log_weight > best {
            (label, best) = (slot, log_weight);
        }
    });
    // small weights are relative to the largest score, which is the best log-weight but for its
    // rounding
    let rounding = libm::exp(f64::from(largest) - best);
    let light = add_light::<A>(scores, largest, refined, shares.as_deref_mut(), rounding);
    let mut total = if light > 0.0 { light * rounding } else { 0.0 };
    for_slots_above(refined, scores, |slot| {
        let share = libm::exp(scorer.log_weight(in_batch, slot) - best);
        total += share;
        if let Some(shares) = &mut shares {
            shares[slot] = share;
        }
    });
    Rating { label, best, total }
}

/// The sum of exp(score − largest) over the scores below `refined`, in single precision but for
/// sums of blocks.
#[inline(always)]
fn add_light<A: Arithmetic>(
    scores: &[[f32; LANES]],
    largest: f32,
    refined: f32,
    mut shares: Option<&mut [f64]>,
    rounding: f64,
) -> f64 {
    let mut total = 0.0;
    for (block, scores) in scores.chunks(BLOCK).enumerate() {
        let mut sums = [0.0f32; LANES];
        for (vector, &scores) in scores.iter().enumerate() {
            let weights: [f32; LANES] =
                lanes(|lane| if scores[lane] < refined { exp::<A>(scores[lane] - largest) } else { 0.0 });
            sums = lanes(|lane| sums[lane] + weights[lane]);
            if let Some(shares) = &mut shares {
                let first = ((block * BLOCK + vector) * LANES).min(shares.len());
                shares[first..].iter_mut().zip(weights).for_each(|(share, weight)| {
                    *share = if weight > 0.0 { f64::from(weight) * rounding } else { 0.0 };
                });
            }
        }
        total += sums.iter().map(|&sum| f64::from(sum)).sum::<f64>();
    }
    total
}

/// The slots with a score of at least `bound`, in order. Whole vectors are passed over: most have
/// none.
#[inline(always)]
fn for_slots_above(bound: f32, scores: &[[f32; LANES]], mut see: impl FnMut(usize)) {
    for (vector, scores) in scores.iter().enumerate() {
        if scores.iter().fold(false, |any, score| any | (*score >= bound)) {
            for (lane, _) in scores.iter().enumerate().filter(|(_, score)| **score >= bound) {
                see(vector * LANES + lane);
            }
        }
    }
}

/// The same for a row so far away that single precision overflows.
#[cold]
fn rate_in_double<S: Scorer>(scorer: &S, in_batch: usize, mut shares: Option<&mut [f64]>) -> Rating {
    let n_slots = scorer.counts().len();
    let log_weight_of = |slot: usize| finite_or_none(scorer.log_weight(in_batch, slot));
    let (mut label, mut best) = (0, f64::NEG_INFINITY);
    for slot in 0..n_slots {
        if log_weight_of(slot) > best {
            (label, best) = (slot, log_weight_of(slot));
        }
    }
    let mut total = 0.0;
    for slot in 0..n_slots {
        let share = if best > f64::NEG_INFINITY { libm::exp(log_weight_of(slot) - best) } else { 0.0 };
        total += share;
        if let Some(share_of) = shares.as_deref_mut().and_then(|shares| shares.get_mut(slot)) {
            *share_of = share;
        }
    }
    Rating { label, best, total }
}

/// ln(e^a + e^b).
#[inline(always)]
fn log_add(a: f64, b: f64) -> f64 {
    let (larger, smaller) = if a > b { (a, b) } else { (b, a) };
    if smaller == f64::NEG_INFINITY { larger } else { larger + libm::log1p(libm::exp(smaller - larger)) }
}

/// The most probable component.
#[inline(always)]
pub(super) fn assign_row<A: Arithmetic, S: Scorer>(scorer: &S, in_batch: usize, scores: &[[f32; LANES]]) -> Assignment {
    let rating = rate::<A, S>(scorer, in_batch, scores, None);
    Assignment { label: rating.label as u32, certainty: rating.certainty() }
}

/// All there is to say. `probabilities` are those of all rows so far and the number of components.
#[inline(always)]
pub(super) fn predict_row<A: Arithmetic, S: Scorer>(
    scorer: &S,
    row: Row<'_>,
    in_batch: usize,
    scores: &[[f32; LANES]],
    new: &NewComponent,
    probabilities: Option<(&mut Vec<f64>, usize)>,
) -> Prediction {
    let mut of_row = probabilities.map(|(all, n_components)| {
        let first = all.len();
        all.resize(first + n_components + 1, 0.0);
        all[first..].split_last_mut().expect("the new component is there")
    });
    let shares = of_row.as_mut().map(|(_, shares)| &mut **shares);
    let rating = rate::<A, S>(scorer, in_batch, scores, shares);
    let log_weight_new = finite_or_none(new.log_alpha + scorer.log_weight_new(in_batch));
    let log_total = log_add(rating.log_total(), log_weight_new);
    let p_new = share(log_weight_new, log_total);
    if let Some((probability_new, of_components)) = of_row {
        // by their own sum, not by the total: that was added up in another order, and all must sum
        // to 1
        let sum: f64 = of_components.iter().sum();
        let scale = if sum > 0.0 { (1.0 - p_new) / sum } else { 0.0 };
        of_components.iter_mut().for_each(|share| *share *= scale);
        *probability_new = p_new;
    }
    Prediction {
        label: rating.label as u32,
        certainty: rating.certainty(),
        p_new,
        log_density: finite_or_none(log_total + scorer.log_left_out(row, in_batch)) - new.log_of_all,
    }
}

/// The log-weights of the components as differences from the largest.
#[inline(always)]
pub(super) fn log_shares_of_row<S: Scorer>(
    scorer: &S,
    in_batch: usize,
    scores: &[[f32; LANES]],
    n_components: usize,
    log_shares: &mut Vec<f32>,
) {
    let scores = &scores.as_flattened()[..n_components];
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest.is_finite() {
        let score_of = |(slot, &score): (usize, &f32)| {
            if scorer.is_bound(slot) { scorer.log_weight(in_batch, slot) as f32 } else { score }
        };
        log_shares.extend(scores.iter().enumerate().map(score_of).map(|score| score - largest));
        return;
    }
    // so far away that single precision overflows
    let log_weights: Vec<f64> =
        (0..n_components).map(|slot| finite_or_none(scorer.log_weight(in_batch, slot))).collect();
    let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = |log_weight: f64| if largest.is_finite() { (log_weight - largest) as f32 } else { f32::NEG_INFINITY };
    log_shares.extend(log_weights.into_iter().map(share));
}

/// −∞ for what overflowed.
#[inline(always)]
fn finite_or_none(log: f64) -> f64 {
    if log.is_finite() { log } else { f64::NEG_INFINITY }
}

#[inline(always)]
fn share(log_weight: f64, log_total: f64) -> f64 {
    if log_weight > f64::NEG_INFINITY { libm::exp(log_weight - log_total).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::reference::Reference;
    use super::super::tests::full::full_state;
    use super::super::tests::{State, columns, gaussian_state, kernels, multinomial_state};
    use super::super::{Kernel, Sampler, sampler};
    use crate::family::{Family, OwnedRow, table_of_rows};
    use crate::model::Model;
    use crate::rows::Shard;

    const BOUND: f64 = 1e-4;
    /// Shares are in single precision.
    const BOUND_OF_SHARES: f64 = 1e-2;

    /// The largest error of a log-density or a probability, the twin's label being as good as ours.
    fn error<F: Family + Send + Clone>(state: &State<F>, model: &Model, rows: &[OwnedRow], kernel: Kernel) -> f64 {
        let (alpha, shard) = (1.3, Shard::of_table(table_of_rows(state.n_columns, rows)));
        let (mut fast_all, mut slow_all) = (Vec::new(), Vec::new());
        let mut fast_sampler = sampler(model, Shard::of_tables(&[], 0..0), kernel);
        fast_sampler.load(&state.components);
        let fast = fast_sampler.predict(&shard, alpha, Some(&mut fast_all));
        let mut slow_sampler = Reference::new(state.family.clone(), Shard::of_tables(&[], 0..0));
        slow_sampler.load(&state.components);
        let slow = slow_sampler.predict(&shard, alpha, Some(&mut slow_all));
        let mut worst = fast_all.iter().zip(&slow_all).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let n = state.components.len() + 1;
        for (row, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            let sum: f64 = fast_all[row * n..(row + 1) * n].iter().sum();
            let lost = slow_all[row * n + slow.label as usize] - slow_all[row * n + fast.label as usize];
            for error in [
                (sum - 1.0).abs() * 1e8,
                lost * 1e6,
                (fast.p_new - fast_all[(row + 1) * n - 1]).abs(),
                f64::from((fast.certainty - slow.certainty).abs()),
                // far from everything a log-density is large, and its rounding with it
                (fast.log_density - slow.log_density).abs() / (1.0 + 1e-9 * slow.log_density.abs()),
            ] {
                worst = f64::max(worst, error);
            }
        }
        worst
    }

    /// The largest error of a log-share of a row, relative to the row's largest log-weight.
    fn error_of_shares<F: Family + Send + Clone>(
        state: &State<F>,
        model: &Model,
        rows: &[OwnedRow],
        kernel: Kernel,
    ) -> f64 {
        let shard = Shard::of_table(table_of_rows(state.n_columns, rows));
        let mut fast = sampler(model, Shard::of_tables(&[], 0..0), kernel);
        fast.load(&state.components);
        let mut slow = Reference::new(state.family.clone(), Shard::of_tables(&[], 0..0));
        slow.load(&state.components);
        let (fast, slow) = (fast.log_shares(&shard), slow.log_shares(&shard));
        assert_eq!(fast.len(), rows.len() * state.components.len());
        let error = |(fast, slow): (&f32, &f32)| f64::from((fast - slow).abs() / (1.0 + slow.abs()));
        fast.iter().zip(&slow).map(error).fold(0.0, f64::max)
    }

    /// The row of a state, and the same ever farther out.
    fn going_out(row: &OwnedRow) -> Vec<OwnedRow> {
        let OwnedRow::Numbers(numbers) = row else { panic!("dense rows") };
        let times = |factor: f64| OwnedRow::Numbers(numbers.iter().map(|x| factor * x).collect());
        [1.0, 3.0, 30.0, 1e3, 1e6].map(times).to_vec()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]

        #[test]
        fn gaussian_predictions_equal_their_twin(d in 1usize..=200, k in 1usize..=300, spread in 0.3f64..8.0, seed: u64) {
            for d in [d, 1 + d % 8] {
                let state = gaussian_state(d, k, spread, seed);
                let model = Model::GaussianFixed(state.family.clone());
                for kernel in kernels() {
                    let error = error(&state, &model, &going_out(&state.row), kernel);
                    prop_assert!(error < BOUND, "D = {d}, {kernel}: {error}");
                    let error = error_of_shares(&state, &model, &going_out(&state.row)[..3], kernel);
                    prop_assert!(error < BOUND_OF_SHARES, "D = {d}, {kernel}: {error} of shares");
                }
            }
        }

        #[test]
        fn full_gaussian_predictions_equal_their_twin(d in 1usize..=40, k in 1usize..=60, spread in 0.3f64..8.0, seed: u64) {
            for d in [d, 1 + d % 8] {
                let state = full_state(d, k, spread, seed);
                let model = Model::GaussianFull(state.family.clone());
                for kernel in kernels() {
                    let error = error(&state, &model, &going_out(&state.row), kernel);
                    prop_assert!(error < BOUND, "D = {d}, {kernel}: {error}");
                    let error = error_of_shares(&state, &model, &going_out(&state.row)[..3], kernel);
                    prop_assert!(error < BOUND_OF_SHARES, "D = {d}, {kernel}: {error} of shares");
                }
            }
        }

        #[test]
        fn multinomial_predictions_equal_their_twin(v in 2usize..=400, k in 1usize..=60, log_smoothing in -7.0f64..2.0, seed: u64) {
            let state = multinomial_state(v, k, libm::exp(log_smoothing), seed);
            let model = Model::Multinomial(state.family.clone());
            let rows = [state.row.clone(), OwnedRow::Counts(vec![]), OwnedRow::Counts(vec![(0, 1)])];
            for kernel in kernels() {
                let error = error(&state, &model, &rows, kernel);
                prop_assert!(error < BOUND, "{kernel}: {error}");
                let error = error_of_shares(&state, &model, &rows, kernel);
                prop_assert!(error < BOUND_OF_SHARES, "{kernel}: {error} of shares");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

        /// With holes also in columns that had none when the model was fitted.
        #[test]
        fn predictions_of_columns_equal_their_twin(kind in 0usize..5, d in 1usize..=30, k in 1usize..=100, seed: u64) {
            let state = columns::state(columns::family(kind, d, seed), k, seed);
            let model = Model::Columns(state.family.clone());
            let OwnedRow::Numbers(numbers) = &state.row else { panic!("dense rows") };
            let mut holes = numbers.clone();
            holes.iter_mut().step_by(3).for_each(|x| *x = f64::NAN);
            let rows = [state.row.clone(), OwnedRow::Numbers(holes), OwnedRow::Numbers(vec![f64::NAN; d])];
            for kernel in kernels() {
                let error = error(&state, &model, &rows, kernel);
                prop_assert!(error < BOUND, "{kernel}: {error}");
                let error = error_of_shares(&state, &model, &rows, kernel);
                prop_assert!(error < BOUND_OF_SHARES, "{kernel}: {error} of shares");
            }
        }
    }

    #[test]
    fn what_overflows_is_a_row_of_a_new_component_and_no_panic() {
        for d in [2, 48] {
            let state = gaussian_state(d, 40, 1.0, 3);
            let model = Model::GaussianFixed(state.family.clone());
            let far = |x: f64| OwnedRow::Numbers(vec![x; d]);
            let rows = Shard::of_table(table_of_rows(d, &[far(1e30), far(1e200), far(f64::MAX)]));
            let mut sampler = sampler(&model, Shard::of_tables(&[], 0..0), Kernel::best());
            sampler.load(&state.components);
            let mut probabilities = Vec::new();
            let predictions = sampler.predict(&rows, 1.0, Some(&mut probabilities));
            assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "{probabilities:?}");
            for prediction in predictions {
                assert!((prediction.label as usize) < 40 && (0.0..=1.0).contains(&prediction.certainty));
                assert!(prediction.log_density < -1e50, "{prediction:?}");
            }
        }
    }
}
