//! How far components overlap, counted in the sweep, against the slow twin: the conditional of the row that was swept.

use proptest::prelude::*;

use super::{Batched, Scorer, State, gaussian_state, kernels, multinomial_state};
use crate::family::{Family, table_of_rows};
use crate::rng::{Role, Seed};
use crate::rows::Shard;
use crate::special::log_sum_exp;
use crate::sweep::gaussian_narrow::GaussianNarrowScorer;
use crate::sweep::gaussian_wide::GaussianWideScorer;
use crate::sweep::multinomial::MultinomialScorer;
use crate::sweep::reference::conditional;
use crate::sweep::{Kernel, Sampler};

const ALPHA: f64 = 1.3;
/// Weights are in single precision, and what is below a thousandth of the row's own weight is left out.
const BOUND: f64 = 2e-3;

impl<F: Family> State<F> {
    /// The largest error of L of any pair after a sweep of the one row, and of its certainty.
    fn overlap_error<S: Scorer<Family = F>>(&self, scorer: S, kernel: Kernel, seed: u64) -> f64 {
        let shard = Shard::of_table(table_of_rows(self.n_columns, std::slice::from_ref(&self.row)));
        let mut with_row = self.components.clone();
        self.family.add_row(shard.row(0), &mut with_row[self.own]);
        let mut exact = Vec::new();
        conditional(&self.family, shard.row(0), &self.components, ALPHA, &mut exact);
        let mut sampler = Batched::new(scorer, shard, kernel);
        sampler.count_overlaps(true);
        sampler.load(&with_row);
        sampler.set_labels(vec![self.own as u32]);
        sampler.sweep(ALPHA, &mut Seed::new(seed).stream(Role::Sweep, 0, 0));
        let (n, label) = (self.components.len(), sampler.labels()[0] as usize);
        let chosen = label.min(n);
        let log_certainty = exact[chosen] - log_sum_exp(&exact);
        let mut largest = (sampler.overlaps().log_certainty() - log_certainty).abs();
        let mut expected = vec![0.0; n];
        if chosen < n {
            let log_share = |log_weight: &f64| -libm::log1p(libm::exp(log_weight - exact[chosen]));
            expected = exact[..n].iter().map(log_share).collect();
            expected[chosen] = 0.0;
        }
        for (a, b, log_share) in sampler.overlaps().pairs() {
            assert!(a == label || b == label, "pairs are of the row's own component");
            let other = if a == label { b } else { a };
            largest = largest.max((std::mem::take(&mut expected[other]) - log_share).abs() / (1.0 - log_share));
        }
        expected.iter().fold(largest, |largest, missing| largest.max(missing.abs()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn overlaps_of_gaussians_are_those_of_the_twin(k in 1usize..=120, spread in 0.1f64..4.0, seed: u64) {
        let (narrow, wide) = (gaussian_state(2, k, spread, seed), gaussian_state(12, k, spread, seed));
        for kernel in kernels() {
            let error = narrow.overlap_error(GaussianNarrowScorer::<2>::new(narrow.family.clone()), kernel, seed);
            prop_assert!(error < BOUND, "{kernel}: {error}");
            let error = wide.overlap_error(GaussianWideScorer::new(wide.family.clone()), kernel, seed);
            prop_assert!(error < BOUND, "{kernel}: {error}");
        }
    }

    #[test]
    fn overlaps_of_documents_are_those_of_the_twin(v in 2usize..=40, k in 1usize..=40, seed: u64) {
        let state = multinomial_state(v, k, 0.5, seed);
        for kernel in kernels() {
            let error = state.overlap_error(MultinomialScorer::new(state.family.clone()), kernel, seed);
            prop_assert!(error < BOUND, "{kernel}: {error}");
        }
    }
}
