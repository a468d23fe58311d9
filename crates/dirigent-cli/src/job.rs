//! One run, from a resolved model to a finished run folder: what `fit` and `demo` share.

use std::path::{Path, PathBuf};

use dirigent::io::{DataSet, read_draws};
use dirigent::method::best::BestState;
use dirigent::method::cgs;
use dirigent::method::chains::{self, ChainsOutcome, Diagnostics};
use dirigent::method::last_state::LastState;
use dirigent::method::{MethodOptions, advice};
use dirigent::metrics;
use dirigent::model::Model;
use dirigent::posterior::horizon::StoppedBecause;
use dirigent::posterior::point::numbered_by_size;
use dirigent::rows::Shard;
use dirigent::run_dir::{
    DataRecord, FittedModel, NpyWriter, Point, PosteriorRecord, RowSample, RunDir, RunRecord, Status, Summary,
    write_labels,
};
use dirigent::stats::Stats;
use dirigent::transform::Transform;
use dirigent::tree::Tree;
use dirigent::{Error, Result};

use crate::args::OutputArgs;
use crate::closing_words::{describe_interruption, print, with_way_on};
use crate::embed::Watcher;
use crate::keep::Keeper;
use crate::point;
use crate::recorder::Recorder;
use crate::report;
use crate::watch::Watch;

/// What is fitted, and how.
pub(crate) struct Job<'a> {
    pub(crate) shard: &'a Shard,
    /// The rows as they were read.
    pub(crate) as_read: &'a Shard,
    pub(crate) model: &'a Model,
    /// What was done to the rows of the files to give the shard.
    pub(crate) transform: Option<&'a Transform>,
    pub(crate) truth: Option<&'a [u32]>,
    pub(crate) options: &'a MethodOptions,
    pub(crate) n_chains: u16,
    pub(crate) point: Point,
    /// Where the rows came from, if from files.
    pub(crate) data: Option<&'a DataSet>,
}

/// What is told of a run that has ended well.
struct Told {
    summary: Summary,
    posterior: Option<PosteriorRecord>,
    diagnostics: Option<Diagnostics>,
    warnings: Vec<String>,
}

/// Runs the job, fills the run folder, prints the summary. Keeps no checkpoints.
pub(crate) fn run(job: &Job<'_>, run_dir: &RunDir, record: RunRecord<'_>, output: &OutputArgs) -> Result<()> {
    run_kept(job, run_dir, record, output, Keeper::none(), None)
}

/// The same with checkpoints, or watched by another program.
pub(crate) fn run_kept(
    job: &Job<'_>,
    run_dir: &RunDir,
    mut record: RunRecord<'_>,
    output: &OutputArgs,
    mut keeper: Keeper,
    watcher: Option<Watcher<'_>>,
) -> Result<()> {
    record.command.clone_from(&output.command);
    run_dir.write_record(&record)?;
    let watch = output.watch.as_ref().map(|address| Watch::start(address, run_dir.path())).transpose()?;
    if let Some(watch) = &watch {
        output.console().say(format_args!("watch: {}", watch.url()));
    }
    let told = match fill(job, run_dir, &record.data, output, &mut keeper, watcher) {
        Ok(told) => told,
        Err(Error::Interrupted) => {
            record.status = Status::Interrupted;
            run_dir.write_record(&record)?;
            output.console().say(describe_interruption(&keeper, run_dir.path()));
            return Err(Error::Interrupted);
        }
        Err(error) => {
            (record.status, record.error) = (Status::Failed, Some(error.to_string()));
            // best effort: the disk that failed the run may fail its record too, and the first error is the one to report
            let _ = run_dir.write_record(&record);
            return Err(with_way_on(error, &keeper, run_dir.path()));
        }
    };
    let Told { summary, posterior, diagnostics, warnings } = told;
    (record.status, record.summary, record.posterior) = (Status::Finished, Some(summary), posterior);
    (record.diagnostics, record.warnings) = (diagnostics, warnings);
    run_dir.write_record(&record)?;
    let has_settled = |summary: &Summary| summary.stopped_because == StoppedBecause::Stationary;
    keeper.end(run_dir.path(), record.summary.as_ref().is_some_and(has_settled))?;
    record.warnings.iter().for_each(|warning| output.console().say(format_args!("warning: {warning}")));
    let report = if output.no_report { None } else { written_report(run_dir.path(), output) };
    print(&record, run_dir.path(), report.as_deref(), output)?;
    if let Some(watch) = watch {
        watch.finish();
    }
    Ok(())
}

/// The report. A run is no less finished because its report could not be written.
fn written_report(run: &Path, output: &OutputArgs) -> Option<PathBuf> {
    match report::write(run) {
        Ok(path) => Some(path),
        Err(error) => {
            output.console().say(format_args!("warning: there is no report: {error}"));
            None
        }
    }
}

fn fill(
    job: &Job<'_>,
    run_dir: &RunDir,
    data: &DataRecord<'_>,
    output: &OutputArgs,
    keeper: &mut Keeper,
    watcher: Option<Watcher<'_>>,
) -> Result<Told> {
    let n_rows = job.shard.n_rows();
    let files = job.data.map(|files| files.watch(&data.fingerprint));
    let mut recorder = Recorder::new(job, run_dir, output, keeper, files, watcher)?;
    let outcome = chains::run(job.shard, job.model, job.options, job.n_chains, job.truth, &mut recorder);
    let seconds = recorder.seconds();
    recorder.progress.finish();
    if outcome.is_ok() {
        recorder.check_data()?;
    }
    let mut outcome = match (outcome, &recorder.last) {
        (Ok(outcome), _) => outcome,
        (Err(Error::Interrupted), Some(last)) => concluded(job, last, recorder.n_draws),
        (Err(error), _) => {
            if recorder.keeper.has_checkpoint() {
                // what the checkpoint needs of them was written with it, and the first error is the one to report
                let _ = recorder.draws.map(NpyWriter::leave);
            }
            return Err(error);
        }
    };
    recorder.draws.map(NpyWriter::finish_short).transpose()?;
    let components = std::mem::take(&mut outcome.best.components);
    let (model, transform, columns) = (job.model.clone(), job.transform.cloned(), data.fitted_columns());
    let fitted = FittedModel { model, alpha: outcome.best.alpha, columns, transform, components };
    run_dir.write_model(&fitted)?;
    write_tree(job, run_dir, &fitted.components, &outcome)?;
    let best = recorder.best.and_then(BestState::into_state);
    let posterior = point::settle(job, run_dir, best, outcome.n_draws, &mut outcome.best)?;
    run_dir.write_labels(&outcome.best.labels, &outcome.best.certainty)?;
    run_dir.write_sample(&RowSample::draw(job.as_read, output.sample_rows as usize, job.options.seed()))?;
    let (mut bytes, mut messages) = (0, 0);
    if let Some(totals) = &outcome.totals {
        run_dir.write_workers(totals, &job.options.shards(job.shard))?;
        (bytes, messages) = (totals.bytes, totals.messages);
    }
    let summary = Summary { seconds, bytes, messages, ..summarize(job, &outcome) };
    let mut warnings = advice::warnings(job.model, job.options, job.n_chains, n_rows, &outcome);
    warnings.extend(point::warning(job.point, outcome.n_draws));
    Ok(Told { summary, posterior, diagnostics: outcome.diagnostics, warnings })
}

/// The tree over the components, and the component of each row where `labels.npy` will have something else.
fn write_tree(job: &Job<'_>, run_dir: &RunDir, components: &[Stats], outcome: &ChainsOutcome) -> Result<()> {
    let shards = [job.shard.clone()];
    let mut tree = Tree::build(job.model, components, &shards, job.options.kernel(), job.options.n_threads());
    if outcome.n_draws > 0 {
        tree.set_support(&outcome.best.labels, &read_draws(&run_dir.path().join("draws.npy"))?);
    }
    if job.point != Point::Argmax {
        write_labels(&run_dir.path().join("component_labels.npy"), &outcome.best.labels)?;
    }
    tree.write(run_dir.path())
}

fn summarize(job: &Job<'_>, outcome: &ChainsOutcome) -> Summary {
    let n_draws = job.options.draws().map(|_| outcome.n_draws);
    let outcome = &outcome.best;
    let agreement = job.truth.map(|truth| metrics::compare(&outcome.labels, truth));
    let log_joint_of = |truth| cgs::log_joint_of_labels(job.shard, job.model, outcome.alpha, truth);
    Summary {
        k: outcome.k,
        k_labels: point::n_clusters(&outcome.labels),
        log_joint: outcome.log_joint,
        log_joint_truth: job.truth.map(log_joint_of),
        vi: job.truth.map(|truth| metrics::compare(&outcome.state, truth).vi),
        vi_labels: agreement.as_ref().map(|agreement| agreement.vi),
        ari_labels: agreement.as_ref().map(|agreement| agreement.ari),
        nmi_labels: agreement.as_ref().map(|agreement| agreement.nmi),
        alpha: outcome.alpha,
        cycles: outcome.cycles,
        stopped_because: outcome.stopped_because,
        n_draws,
        seconds: 0.0,
        bytes: 0,
        messages: 0,
    }
}

/// What the run would have left behind, had this been its last cycle.
fn concluded(job: &Job<'_>, last: &LastState, n_draws: usize) -> ChainsOutcome {
    let labels = numbered_by_size(&last.labels).0;
    let best = cgs::conclude(job.shard, job.model, job.options.kernel(), last.alpha, &labels, last.cycle);
    ChainsOutcome { best, totals: None, n_draws, diagnostics: None }
}
