//! How probable each row's cluster is under the model of a given partition.

use crate::model::Model;
use crate::rows::Shard;
use crate::sweep::{self, Kernel};

/// n_k · predictive(x|S_k) of each row's own cluster, over the sum for all clusters of the
/// partition; the row's contribution is included, and there is no new cluster. Labels must be
/// numbered without gaps.
pub fn probability_of_labels(shard: &Shard, model: &Model, labels: &[u32], kernel: Kernel) -> Vec<f32> {
    let n_clusters = labels.iter().max().map_or(0, |&label| label as usize + 1);
    let mut sampler = sweep::sampler(model, shard.clone(), kernel);
    sampler.load(&vec![model.conjugate().empty_stats(); n_clusters]);
    sampler.set_labels(labels.to_vec());
    let mut clusters = sampler.contributions();
    clusters.truncate(n_clusters);
    let most_probable = sampler.assign(&clusters);
    let probability = |(row_ix, (&label, best)): (usize, (&u32, &sweep::Assignment))| {
        if label == best.label {
            return best.certainty;
        }
        // the odds of the row's cluster against the most probable one, by the slow twin that serves
        // every family
        let row = shard.part(row_ix..row_ix + 1);
        let both = [clusters[best.label as usize].clone(), clusters[label as usize].clone()];
        let of_both = sweep::reference_sampler(model, row).assign(&both)[0];
        let share = if of_both.label == 0 { 1.0 - of_both.certainty } else { of_both.certainty };
        // two sums of different precision may disagree about a tie
        (best.certainty * (share / (1.0 - share))).min(best.certainty)
    };
    labels.iter().zip(&most_probable).enumerate().map(probability).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelOptions;
    use crate::rows::Table;
    use crate::survey::Survey;

    #[test]
    fn probabilities_are_those_of_the_formula() {
        // one column, four rows, σ = σ₀ = 1, prior mean 0; clusters {0, 1} and {1.5, 3}
        let shard = Shard::of_table(Table::from_f64(1, vec![0.0, 1.0, 1.5, 3.0]));
        let options =
            ModelOptions { sigma: Some(1.0), sigma0: Some(1.0), m0: Some(vec![0.0]), ..ModelOptions::default() };
        let model = Model::resolve(&options, &Survey::of(&shard)).unwrap();
        // the posterior of a mean given two rows is N(sum / 3, 1/3), so a row's predictive is N(sum
        // / 3, 4/3); sizes are equal
        let density = |x: f64, sum: f64| libm::exp(-(x - sum / 3.0) * (x - sum / 3.0) / (2.0 * 4.0 / 3.0));
        let share = |x: f64, own: f64, other: f64| (density(x, own) / (density(x, own) + density(x, other))) as f32;
        let expected = [share(0.0, 1.0, 4.5), share(1.0, 1.0, 4.5), share(1.5, 4.5, 1.0), share(3.0, 4.5, 1.0)];
        let found = probability_of_labels(&shard, &model, &[0, 0, 1, 1], Kernel::best());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
        }
        // a label against the odds: rows 1 and 2 exchanged, clusters {0, 1.5} and {1, 3}
        let expected = [share(0.0, 1.5, 4.0), share(1.0, 4.0, 1.5), share(1.5, 1.5, 4.0), share(3.0, 4.0, 1.5)];
        assert!(expected[2] < 0.5, "{expected:?}");
        let found = probability_of_labels(&shard, &model, &[0, 1, 0, 1], Kernel::best());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found}, expected {expected}");
        }
    }
}
