//! Warnings about a run that ended well but looks odd, with the likely cause.

use super::MethodSetup;
use super::chains::{ChainsOutcome, Diagnostics, Over};
use crate::model::Model;
use crate::posterior::diagnostics::disagreement;
use crate::posterior::horizon::StoppedBecause;

/// Below this many rows any number of components is plausible.
const FEW_ROWS: usize = 10;

/// Warnings, each a sentence or two.
pub fn warnings(
    model: &Model,
    options: &MethodSetup,
    n_chains: u16,
    n_rows: usize,
    outcome: &ChainsOutcome,
) -> Vec<String> {
    let of_k = odd_number_of_components(model, outcome.best.k, n_rows);
    let is_unsettled = outcome.best.stopped_because == StoppedBecause::MaxCycles;
    let unsettled = is_unsettled.then(|| {
        format!(
            "the chain was not yet stationary when its cycles were used up ({}): the log-joint still rose, or K still changed; raise \
             `max_cycles`",
            outcome.best.cycles
        )
    });
    let n_asked = options.draws().map_or(0, |draws| draws.n_draws) * usize::from(n_chains.max(1));
    let too_few = (outcome.n_draws < n_asked).then(|| {
        let n_draws = outcome.n_draws;
        format!("the time limit came before all draws were kept: draws.npy holds {n_draws} of {n_asked}")
    });
    let disagreement = outcome.diagnostics.as_ref().and_then(disagreement_of_chains);
    [of_k, unsettled, too_few, disagreement].into_iter().flatten().collect()
}

fn odd_number_of_components(model: &Model, k: usize, n_rows: usize) -> Option<String> {
    let is_one = k == 1 && n_rows >= FEW_ROWS;
    let is_many = 2 * k > n_rows && n_rows >= FEW_ROWS;
    if is_one {
        let cause = model.described().cause_of_one();
        return Some(format!("all rows ended in one component: unless they are one cluster, {cause}"));
    }
    is_many.then(|| {
        let cause = model.described().cause_of_many();
        format!("{k} components for {n_rows} rows, fewer than two rows each: probably {cause}")
    })
}

fn disagreement_of_chains(diagnostics: &Diagnostics) -> Option<String> {
    let worst = diagnostics.k.r_hat.into_iter().chain(diagnostics.log_joint.r_hat).fold(0.0, f64::max);
    if worst <= disagreement(diagnostics.n_values) {
        return None;
    }
    let over = match diagnostics.over {
        Over::Draws => "the kept draws",
        Over::SecondHalf => "the second half of the cycles",
    };
    let cause = if diagnostics.chains.len() > 1 {
        "the chains probably sit at different modes, so their draws together are no sample of the posterior; labels are of the best chain"
    } else {
        "the chain drifts or mixes slowly; keep more draws, further apart (`draws`, `thin`), or run several `chains`"
    };
    Some(format!("R-hat is {worst:.2} over {over} (1 is agreement): {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{GaussianFixed, Multinomial};
    use crate::method::chains::ChainEnd;
    use crate::posterior::diagnostics::Mixing;

    fn models() -> [Model; 2] {
        let gaussian = GaussianFixed { noise_sd: 2.5, mean_sd: 9.0, prior_mean: vec![0.0], offset: vec![0.0] };
        [Model::GaussianFixed(gaussian), Model::Multinomial(Multinomial { smoothing: 0.125, n_words: 7 })]
    }

    #[test]
    fn an_odd_number_of_components_is_told_with_its_cause() {
        for (model, parts) in models().iter().zip([["sigma (2.5000)", "`sigma`"], ["gamma (0.125", "`gamma`"]]) {
            let (one, many) = (odd_number_of_components(model, 1, 100), odd_number_of_components(model, 60, 100));
            for part in parts {
                assert!(
                    one.as_ref().unwrap().contains(part) && many.as_ref().unwrap().contains(part),
                    "{one:?} {many:?}"
                );
            }
            assert_eq!(odd_number_of_components(model, 50, 100), None);
            assert_eq!(odd_number_of_components(model, 2, 100), None);
            assert_eq!(odd_number_of_components(model, 1, 9), None);
            assert_eq!(odd_number_of_components(model, 9, 9), None);
        }
    }

    #[test]
    fn chains_that_disagree_are_told_of() {
        let mixing = |r_hat| Mixing { r_hat, ess_bulk: None };
        let end = |chain| ChainEnd { chain, k: 2, log_joint: 0.0, cycles: 9, stopped_because: StoppedBecause::Cycles };
        let of = |k, n_values, chains: Vec<ChainEnd>| {
            let (k, log_joint) = (mixing(k), mixing(Some(1.01)));
            disagreement_of_chains(&Diagnostics { over: Over::Draws, n_values, k, log_joint, chains })
        };
        assert!(of(Some(1.2), 1000, vec![end(1), end(2)]).unwrap().contains("different modes"));
        assert!(of(Some(1.2), 1000, vec![end(1)]).unwrap().contains("`thin`"));
        assert_eq!(of(Some(1.04), 1000, vec![end(1), end(2)]), None);
        assert_eq!(of(Some(1.2), 10, vec![end(1), end(2)]), None, "ten values say little");
        assert_eq!(of(None, 1000, vec![end(1), end(2)]), None);
    }
}
