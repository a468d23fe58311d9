//! `--point`: which partition stands for the chain, and what the draws say.

use dirigent::io::read_draws;
use dirigent::method::cgs::Outcome;
use dirigent::posterior::draws::Partitions;
use dirigent::posterior::membership::probability_of_labels;
use dirigent::posterior::point::{self, PointOptions, numbered_by_size};
use dirigent::rng::{Role, Seed};
use dirigent::run_dir::{Point, PosteriorRecord, RunDir};
use dirigent::{InputError, Result};

use crate::args::RunArgs;
use crate::job::Job;

/// Refuses, before any data is read, a partition that the run will not have.
pub(crate) fn check(args: &RunArgs) -> Result<()> {
    if args.point() == Point::Vi && args.draws.is_none() {
        let problem = "--point vi needs draws: it is the partition that is closest to all of them";
        return Err(InputError::new(problem).hint("add --draws 100, or choose another --point").into());
    }
    Ok(())
}

/// Puts the partition that was asked for, and how certain it is, in the place of the outcome's labels. What the draws say is returned.
pub(crate) fn settle(
    job: &Job<'_>,
    run_dir: &RunDir,
    best: Option<Vec<u32>>,
    n_draws: usize,
    outcome: &mut Outcome,
) -> Result<Option<PosteriorRecord>> {
    // a time limit may have come before the first draw
    let draws = (n_draws > 0).then(|| read_draws(&run_dir.path().join("draws.npy"))).transpose()?;
    let chosen = match (job.point, &draws) {
        (Point::Argmax, _) => None,
        (Point::Vi, draws) => draws.as_ref().map(|draws| least_expected_vi(job, draws, outcome)),
        (Point::Last, _) => Some(outcome.state.clone()),
        // a run that ended before its first draw, or in its sample of rows, has no better state than its last
        (Point::Best, _) => Some(best.unwrap_or_else(|| outcome.state.clone())),
    };
    if let Some(labels) = chosen {
        outcome.labels = numbered_by_size(&labels).0;
        outcome.certainty = match &draws {
            Some(draws) => draws.kept_mates(&outcome.labels),
            None => probability_of_labels(job.shard, job.model, &outcome.labels, job.options.kernel()),
        };
    }
    Ok(draws.map(|draws| PosteriorRecord {
        n_draws: draws.n_draws(),
        k: draws.k_posterior(),
        expected_vi_labels: draws.expected_vi(&outcome.labels),
    }))
}

/// Where the partition that was asked for could not be found.
pub(crate) fn warning(point: Point, n_draws: usize) -> Option<String> {
    let is_missed = point == Point::Vi && n_draws == 0;
    is_missed.then(|| "--point vi had no draws to choose from: labels are the most probable components".to_owned())
}

fn least_expected_vi(job: &Job<'_>, draws: &Partitions, outcome: &Outcome) -> Vec<u32> {
    let mut rng = Seed::new(job.options.seed()).stream(Role::Observer, 0, 0);
    point::find(draws, &[&outcome.labels], PointOptions::default(), &mut rng).labels
}

/// The number of clusters of a labelling.
pub(crate) fn n_clusters(labels: &[u32]) -> usize {
    numbered_by_size(labels).1
}

/// What the draws say of K, behind the K of the state.
pub(crate) fn describe(posterior: &PosteriorRecord) -> String {
    let [low, high] = posterior.k.interval_90;
    format!(" (90 %: {low}–{high} in {} draws)", posterior.n_draws)
}
