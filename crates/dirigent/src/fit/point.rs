//! Which partition the labels are, and what the draws say.

use super::prepare::PreparedFit;
use crate::method::cgs::Outcome;
use crate::posterior::draws::Partitions;
use crate::posterior::membership::probability_of_labels;
use crate::posterior::point::{self, PointOptions, numbered_by_size};
use crate::rng::{Role, Seed};
use crate::run_dir::{Point, PosteriorRecord};

/// Puts the partition that was asked for, and how certain it is, in the place of the outcome's
/// labels. Returns what the draws say.
pub(super) fn settle(
    fit: &PreparedFit<'_>,
    draws: Option<&Partitions>,
    best: Option<Vec<u32>>,
    outcome: &mut Outcome,
) -> Option<PosteriorRecord> {
    let chosen = match (fit.asked().run.point, draws) {
        (Point::Argmax, _) => None,
        (Point::Vi, draws) => draws.map(|draws| least_expected_vi(fit, draws, outcome)),
        (Point::Last, _) => Some(outcome.state.clone()),
        // a run that ended before its first draw, or in its sample of rows, has no better state
        // than its last
        (Point::Best, _) => Some(best.unwrap_or_else(|| outcome.state.clone())),
    };
    if let Some(labels) = chosen {
        outcome.labels = numbered_by_size(&labels).0;
        outcome.certainty = match draws {
            Some(draws) => draws.kept_mates(&outcome.labels),
            None => probability_of_labels(&fit.shard, &fit.model, &outcome.labels, fit.setup.kernel()),
        };
    }
    draws.map(|draws| PosteriorRecord {
        n_draws: draws.n_draws(),
        k: draws.k_posterior(),
        expected_vi_labels: draws.expected_vi(&outcome.labels),
    })
}

/// A warning if the partition that was asked for could not be found.
pub(super) fn warning(point: Point, n_draws: usize) -> Option<String> {
    let is_missed = point == Point::Vi && n_draws == 0;
    is_missed.then(|| "`point` vi had no draws to choose from: labels are the most probable components".to_owned())
}

fn least_expected_vi(fit: &PreparedFit<'_>, draws: &Partitions, outcome: &Outcome) -> Vec<u32> {
    let mut rng = Seed::new(fit.setup.seed()).stream(Role::Observer, 0, 0);
    point::find(draws, &[&outcome.labels], PointOptions::default(), &mut rng).labels
}
