//! The coordinator's draw: weights and parameters given the statistics, and as many new components
//! as any slice can reach.

use crate::consolidate::ComponentId;
use crate::error::{InputError, Result};
use crate::family::Conjugate;
use crate::rng::Stream;
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// New sticks of one round, and numbers in their parameters: more would fill the memory.
const MOST_STICKS: usize = 1 << 24;
const MOST_NUMBERS: usize = 1 << 26;

/// A component with rows, of all workers together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SliceTotal {
    pub(super) id: ComponentId,
    pub(super) stats: Stats,
    /// The smallest U of its rows in the round to come.
    pub(super) smallest_uniform: f64,
}

/// Components by falling weight. Without any rows, sticks are broken down to `least_weight`.
pub(super) fn draw(
    family: &dyn Conjugate,
    totals: &[SliceTotal],
    alpha: f64,
    least_weight: f64,
    mut mint: impl FnMut() -> ComponentId,
    rng: &mut Stream,
) -> Result<(Vec<ComponentId>, DrawnComponents)> {
    let mut shapes: Vec<f64> = totals.iter().map(|total| total.stats.count as f64).collect();
    shapes.push(alpha);
    let log_weights = rng.log_dirichlet(&shapes);
    let weights = log_weights.iter().map(|log_weight| libm::exp(*log_weight));
    let mut drawn: Vec<(f64, ComponentId, Vec<f64>)> = Vec::new();
    for (total, weight) in totals.iter().zip(weights) {
        drawn.push((weight, total.id, family.sample_parameters(&total.stats, rng)));
    }
    // rounding is monotone, so this is the smallest of the very products that workers compute
    let slices = totals.iter().zip(&drawn).map(|(total, (weight, ..))| weight * total.smallest_uniform);
    let least_slice = slices.reduce(f64::min).unwrap_or(least_weight);
    for weight in sticks(log_weights[totals.len()], alpha, least_slice, family.parameters_len(), rng)? {
        drawn.push((weight, mint(), family.sample_parameters(&family.empty_stats(), rng)));
    }
    drawn.sort_by(|(weight_a, id_a, _), (weight_b, id_b, _)| weight_b.total_cmp(weight_a).then(id_a.cmp(id_b)));
    let ids = drawn.iter().map(|(_, id, _)| *id).collect();
    let weights = drawn.iter().map(|(weight, ..)| *weight).collect();
    let parameters = drawn.into_iter().flat_map(|(.., parameters)| parameters).collect();
    Ok((ids, DrawnComponents { weights, parameters }))
}

/// Breaks a rest by Beta(1, α) sticks until less than the least slice is left. Sticks below it are
/// of no use to any row and left out.
fn sticks(log_rest: f64, alpha: f64, least_slice: f64, parameters_len: usize, rng: &mut Stream) -> Result<Vec<f64>> {
    let (mut log_rest, mut sticks) = (log_rest, Vec::new());
    for _ in 0..MOST_STICKS {
        let rest = libm::exp(log_rest);
        if rest < least_slice {
            return Ok(sticks);
        }
        // the share that is left of the rest, U^(1/α)
        let log_left = libm::log(rng.uniform_positive()) / alpha;
        let stick = -rest * libm::expm1(log_left);
        if stick >= least_slice {
            sticks.push(stick);
        }
        if sticks.len().saturating_mul(parameters_len) > MOST_NUMBERS {
            break;
        }
        log_rest += log_left;
    }
    let problem = format!("alpha {alpha} opens more components in a cycle than a slice sampler can hold");
    Err(InputError::new(problem).hint("choose a smaller alpha, or another method").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::GaussianFixed;
    use crate::rng::{Role, Seed};

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 1.0, mean_sd: 2.0, prior_mean: vec![0.0], offset: vec![0.0] }
    }

    fn total(number: u64, count: i64, smallest_uniform: f64) -> SliceTotal {
        let sums = crate::stats::Sums::Dense([0.5].into());
        SliceTotal { id: ComponentId { epoch: 0, number }, stats: Stats { count, sums }, smallest_uniform }
    }

    #[test]
    fn no_component_that_a_slice_can_reach_is_missing() {
        let mut next = 10;
        for round in 0..200 {
            let mut rng = Seed::new(1).stream(Role::Coordinator, 0, round);
            let totals = [total(1, 3, 0.01), total(2, 1, 0.2)];
            let mint = || {
                next += 1;
                ComponentId { epoch: 0, number: next }
            };
            let (ids, components) = draw(&family(), &totals, 1.5, 0.1, mint, &mut rng).unwrap();
            assert!(components.weights.is_sorted_by(|a, b| a >= b));
            let weight_of = |number| {
                let ix = ids.iter().position(|id| id.number == number).unwrap();
                components.weights[ix]
            };
            let least = (0.01 * weight_of(1)).min(0.2 * weight_of(2));
            assert!(1.0 - components.weights.iter().sum::<f64>() < least + 100.0 * least, "sticks end too early");
            assert!(components.weights.iter().all(|weight| *weight >= least));
            assert_eq!(components.parameters.len(), ids.len());
        }
    }

    #[test]
    fn an_alpha_that_no_memory_can_hold_is_an_error() {
        let mut rng = Seed::new(1).stream(Role::Coordinator, 0, 0);
        let mint = || ComponentId { epoch: 0, number: 1 };
        let error = draw(&family(), &[total(1, 3, 1e-9)], 1e9, 0.1, mint, &mut rng).unwrap_err();
        assert!(error.to_string().contains("alpha 1000000000"), "{error}");
    }
}
