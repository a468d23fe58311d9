//! One run, from a chosen model to a fitted one: chains, point partition, and the files of the run
//! folder.

use std::path::{Path, PathBuf};

use super::fitted::Fitted;
use super::keeper::{self, Keeper};
use super::outside::{Outside, OutsideEngines};
use super::point;
use super::prepare::{Input, PreparedFit};
use super::recorder::Recorder;
use super::stored::StoredRun;
use super::{Data, FitOptions};
use crate::error::{Error, InputError, Result};
use crate::io::{amount, read_draws};
use crate::method::advice;
use crate::method::best::BestState;
use crate::method::cgs;
use crate::method::chains::{self, ChainsOutcome};
use crate::method::last_state::LastState;
use crate::metrics;
use crate::model::Model;
use crate::observer::Observer;
use crate::posterior::draws::Partitions;
use crate::posterior::horizon::StoppedBecause;
use crate::posterior::point::numbered_by_size;
use crate::posterior::predictive::Predictor;
use crate::rows::Cells;
use crate::run_dir::{
    FILES, FittedModel, NpyWriter, RowSample, RunDir, RunRecord, Status, Summary, check_folder, check_writable,
    nearest_folder,
};
use crate::tree::{Clusters, Cut, Tree};

/// The folder of run folders, if none is named.
const RUNS: &str = "runs";

/// Where a run is written while it runs, and what is kept of it.
#[derive(Debug, Clone)]
pub struct RunFolder {
    /// The folder; `None` is the next free `runs/NAME-N`.
    pub path: Option<PathBuf>,
    /// Whether files of an earlier run in it are replaced.
    pub force: bool,
    /// Rows that are kept for the report.
    pub sample_rows: usize,
    /// Whether the run writes checkpoints, so that it can be resumed. A run without them ends with
    /// its last state when it is interrupted.
    pub has_checkpoints: bool,
    /// Seconds between checkpoints; by default 60.
    pub checkpoint_every: Option<f64>,
    /// The command line, for the record.
    pub command: Vec<String>,
}

impl Default for RunFolder {
    fn default() -> Self {
        Self {
            path: None,
            force: false,
            sample_rows: 5000,
            has_checkpoints: true,
            checkpoint_every: None,
            command: Vec::new(),
        }
    }
}

impl RunFolder {
    /// Rejects a folder that is taken or cannot be written.
    pub fn check(&self) -> Result<()> {
        match &self.path {
            Some(path) => check_folder(path, &FILES, self.force),
            None => check_writable(Path::new(RUNS)),
        }
    }
}

/// Fits the rows and writes the run folder while the run is under way.
pub fn fit_into(
    folder: &RunFolder,
    data: &Data,
    options: &FitOptions,
    engines: &dyn OutsideEngines,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    fit_read_into(folder, || Ok(data.clone()), options, engines, observer)
}

/// The same with rows that are read once everything else is known to be sound.
#[doc(hidden)]
pub fn fit_read_into(
    folder: &RunFolder,
    read: impl FnOnce() -> Result<Data>,
    options: &FitOptions,
    engines: &dyn OutsideEngines,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    options.check()?;
    folder.check()?;
    let outside = Outside::open(&options.engine, engines)?;
    let data = read()?;
    check_disk(folder, options, data.n_rows())?;
    let input = Input::new(&data, options, observer)?;
    let fit = PreparedFit::on(&input, options, outside.as_ref(), observer)?;
    no_own_family(&fit.model)?;
    let keeps = fit.setup.keeps_checkpoints();
    if !keeps && folder.checkpoint_every.is_some() {
        let problem = "`checkpoint_every` requires checkpoints, which this method does not write on this engine";
        return Err(InputError::new(problem).hint("leave it out").into());
    }
    let run_dir = match &folder.path {
        Some(path) => RunDir::create(path, folder.force)?,
        None => RunDir::create_next(Path::new(RUNS), data.name())?,
    };
    let keeper = if keeps && folder.has_checkpoints {
        Keeper::begin(run_dir.path(), folder.checkpoint_every)?
    } else {
        keeper::forget(run_dir.path())?;
        Keeper::none()
    };
    run_on(outside, &fit, Some((&run_dir, folder)), keeper, observer)
}

/// Continues a run from its last checkpoint, as [`StoredRun::read`] found it.
pub fn resume(
    stored: &mut StoredRun,
    folder: &RunFolder,
    data: &Data,
    engines: &dyn OutsideEngines,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    let options = stored.options.clone();
    options.check()?;
    let outside = Outside::open(&options.engine, engines)?;
    let input = Input::new(data, &options, observer)?;
    let fit = PreparedFit::on(&input, &options, outside.as_ref(), observer)?;
    if !fit.setup.keeps_checkpoints() {
        let problem = "this engine writes no checkpoints and cannot continue from one";
        return Err(InputError::new(problem).hint("resume the run on the engine it was started on").into());
    }
    let checkpoint = stored.take_checkpoint(&fit.record().data, &fit.model, fit.setup.n_workers())?;
    let run_dir = RunDir::reopen(&stored.path);
    let keeper = Keeper::resume(&stored.path, folder.checkpoint_every, checkpoint)?;
    run_on(outside, &fit, Some((&run_dir, folder)), keeper, observer)
}

/// Fits the rows in memory.
/// A family from outside the crate cannot be read from files.
pub(super) fn no_own_family(model: &Model) -> Result<()> {
    if model.own_family().is_some() {
        let problem = "a family of your own cannot be written to a run folder";
        return Err(InputError::new(problem).hint("fit in memory, with `fit` or `fit_with`").into());
    }
    Ok(())
}

pub(super) fn fit_in_memory(data: &Data, options: &FitOptions, observer: &mut dyn Observer) -> Result<Fitted> {
    options.check()?;
    let input = Input::new(data, options, observer)?;
    let fit = PreparedFit::new(&input, options, observer)?;
    run(&fit, None, Keeper::none(), observer)
}

impl PreparedFit<'_> {
    /// Runs into a folder that is claimed already, without checkpoints.
    #[doc(hidden)]
    pub fn run_into(&self, run_dir: &RunDir, folder: &RunFolder, observer: &mut dyn Observer) -> Result<Fitted> {
        run(self, Some((run_dir, folder)), Keeper::none(), observer)
    }
}

fn run_on(
    outside: Option<Outside>,
    fit: &PreparedFit<'_>,
    folder: Option<(&RunDir, &RunFolder)>,
    keeper: Keeper,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    if let Some(outside) = &outside {
        outside.start(fit.setup.n_workers() as u32)?;
    }
    let fitted = run(fit, folder, keeper, observer)?;
    if let Some(outside) = outside {
        outside.finish();
    }
    Ok(fitted)
}

/// Runs, and keeps the record of the run true.
fn run(
    fit: &PreparedFit<'_>,
    folder: Option<(&RunDir, &RunFolder)>,
    mut keeper: Keeper,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    let mut record = fit.record();
    if let Some((run_dir, folder)) = folder {
        record.command.clone_from(&folder.command);
        run_dir.write_record(&record)?;
        observer.on_folder(run_dir.path())?;
    }
    let fitted = match fill(fit, folder, &record, &mut keeper, observer) {
        Ok(fitted) => fitted,
        Err(error) => {
            if let Some((run_dir, _)) = folder {
                match &error {
                    Error::Interrupted => record.status = Status::Interrupted,
                    error => (record.status, record.error) = (Status::Failed, Some(error.to_string())),
                }
                // best effort: the disk that failed the run may fail its record too, and the first
                // error is the one to report
                let _ = run_dir.write_record(&record);
            }
            return Err(error);
        }
    };
    if let Some((run_dir, _)) = folder {
        record.status = Status::Finished;
        record.summary = Some(fitted.summary().clone());
        record.posterior = fitted.posterior().cloned();
        record.diagnostics = fitted.diagnostics().cloned();
        record.warnings = fitted.warnings().to_vec();
        run_dir.write_record(&record)?;
        keeper.end(run_dir.path(), fitted.summary().stopped_because == StoppedBecause::Stationary)?;
    }
    Ok(fitted)
}

fn fill(
    fit: &PreparedFit<'_>,
    folder: Option<(&RunDir, &RunFolder)>,
    record: &RunRecord<'_>,
    keeper: &mut Keeper,
    observer: &mut dyn Observer,
) -> Result<Fitted> {
    let (n_rows, data, run) = (fit.shard.n_rows(), &fit.input.data, &fit.asked().run);
    let files = data.set().watch(&record.data.fingerprint);
    let run_dir = folder.map(|(run_dir, _)| run_dir);
    let concludes = folder.is_none_or(|(_, folder)| !folder.has_checkpoints);
    let mut recorder = Recorder::new(fit, run_dir, concludes, keeper, Some(files), observer)?;
    let outcome = chains::run(&fit.shard, &fit.model, &fit.setup, run.chains, data.truth(), &mut recorder);
    let seconds = recorder.seconds();
    if outcome.is_ok() {
        recorder.check_data()?;
    }
    let mut outcome = match (outcome, &recorder.last) {
        (Ok(outcome), _) => outcome,
        (Err(Error::Interrupted), Some(last)) => concluded(fit, last, recorder.n_draws),
        (Err(error), _) => {
            if recorder.keeper.has_checkpoint() {
                // what the checkpoint needs of them was written with it, and the first error is the
                // one to report
                let _ = recorder.draws_file.map(NpyWriter::leave);
            }
            return Err(error);
        }
    };
    recorder.draws_file.map(NpyWriter::finish_short).transpose()?;
    // a time limit may have come before the first draw
    let draws = match run_dir {
        _ if outcome.n_draws == 0 => None,
        Some(run_dir) => Some(read_draws(&run_dir.path().join("draws.npy"))?),
        None => Some(Partitions::new(n_rows, Cells::Owned(std::mem::take(&mut recorder.draws)))?),
    };
    let (trace, best) = (recorder.trace, recorder.best.and_then(BestState::into_state));
    let model = FittedModel {
        model: fit.model.clone(),
        alpha: outcome.best.alpha,
        columns: record.data.fitted_columns(),
        transform: fit.input.transform.as_ref().map(|(transform, _)| transform.clone()),
        components: std::mem::take(&mut outcome.best.components),
    };
    let shards = [fit.shard.clone()];
    let mut tree = Tree::build(&fit.model, &model.components, &shards, fit.setup.kernel(), fit.setup.n_threads());
    if let Some(draws) = &draws {
        tree.set_support(&outcome.best.labels, draws);
    }
    let component_labels = outcome.best.labels.clone();
    let posterior = point::settle(fit, draws.as_ref(), best, &mut outcome.best);
    let (cut, too_few) = clusters_of(&tree, fit.asked().clusters());
    if !cut.is_of_single_components() {
        let n_threads = fit.setup.n_threads();
        let mut predictor = Predictor::new(&fit.model, &model.components, model.alpha, fit.setup.kernel(), n_threads);
        let predictions = predictor.predict_all(&fit.shard, Some(&cut));
        outcome.best.labels = cut.labels(&component_labels);
        outcome.best.certainty = predictions.iter().map(|prediction| prediction.certainty).collect();
    }
    let component_labels = (outcome.best.labels != component_labels).then_some(component_labels);
    let totals = outcome.totals.as_ref();
    let summary = Summary {
        seconds,
        bytes: totals.map_or(0, |totals| totals.bytes),
        messages: totals.map_or(0, |totals| totals.messages),
        ..summarize(fit, &outcome)
    };
    let mut warnings = fit.input.data.set().warnings();
    warnings.extend(advice::warnings(&fit.model, &fit.setup, run.chains, n_rows, &outcome));
    warnings.extend(point::warning(run.point, outcome.n_draws));
    warnings.extend(too_few);
    let sample_rows = folder.map_or(RunFolder::default().sample_rows, |(_, folder)| folder.sample_rows);
    let sample = RowSample::draw(&fit.as_read, sample_rows, fit.setup.seed());
    if let Some(run_dir) = run_dir {
        run_dir.write_model(&model)?;
        run_dir.write_tree(&tree, component_labels.as_deref())?;
        run_dir.write_labels(&outcome.best.labels, &outcome.best.certainty)?;
        run_dir.write_sample(&sample)?;
        if let Some(truth) = data.truth() {
            run_dir.write_classes(&outcome.best.labels, truth, |class| data.class_name(class))?;
        }
        if let Some(totals) = &outcome.totals {
            run_dir.write_workers(totals, &fit.setup.shards(&fit.shard))?;
        }
    }
    Ok(Fitted {
        labels: outcome.best.labels,
        certainty: outcome.best.certainty,
        component_labels,
        cut,
        tree,
        model,
        kernel: fit.setup.kernel(),
        choices: fit.choices.clone(),
        summary,
        posterior,
        diagnostics: outcome.diagnostics,
        warnings,
        trace,
        draws,
        sample: Some(sample),
        record: serde_json::to_value(record).expect("our own types become JSON"),
        path: run_dir.map(|run_dir| run_dir.path().to_path_buf()),
        past: None,
    })
}

fn summarize(fit: &PreparedFit<'_>, outcome: &ChainsOutcome) -> Summary {
    let (n_draws, truth) = (fit.setup.draws().map(|_| outcome.n_draws), fit.input.data.truth());
    let outcome = &outcome.best;
    let agreement = truth.map(|truth| metrics::compare(&outcome.labels, truth));
    let log_joint_of = |truth| cgs::log_joint_of_labels(&fit.shard, &fit.model, outcome.alpha, truth);
    Summary {
        k: outcome.k,
        n_clusters: numbered_by_size(&outcome.labels).1,
        log_joint: outcome.log_joint,
        log_joint_truth: truth.map(log_joint_of),
        vi: truth.map(|truth| metrics::compare(&outcome.state, truth).vi),
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

/// The clusters that were asked for, and a warning if there are fewer.
pub(super) fn clusters_of(tree: &Tree, asked: Clusters) -> (Cut, Option<String>) {
    let n_components = tree.n_components();
    match asked {
        Clusters::Number(n) if n > n_components => {
            let what = if n_components == 1 { "component was" } else { "components were" };
            let warning = format!("`clusters` {n} were asked for, but {n_components} {what} found: each is a cluster");
            (tree.components(), Some(warning))
        }
        asked => (tree.clusters(asked, None).expect("there are as many components"), None),
    }
}

/// What the run would have left behind if this had been its last cycle.
fn concluded(fit: &PreparedFit<'_>, last: &LastState, n_draws: usize) -> ChainsOutcome {
    let labels = numbered_by_size(&last.labels).0;
    let best = cgs::conclude(&fit.shard, &fit.model, fit.setup.kernel(), last.alpha, &labels, last.cycle);
    ChainsOutcome { best, totals: None, n_draws, diagnostics: None }
}

/// Rejects draws for which the disk of the run folder has no room.
fn check_disk(folder: &RunFolder, options: &FitOptions, n_rows: usize) -> Result<()> {
    let Some(n_draws) = options.run.draws else { return Ok(()) };
    let out = folder.path.as_deref().unwrap_or(Path::new(RUNS));
    let n_bytes = n_draws.saturating_mul(4 * u64::from(options.run.chains)).saturating_mul(n_rows as u64);
    match free_on_disk(nearest_folder(out)) {
        Some(free) if n_bytes > free => {
            let (needed, free) = (amount(n_bytes), amount(free));
            let problem = format!("`draws` {n_draws} of {n_rows} rows need {needed} on the disk, {free} are free");
            let hint = "ask for fewer `draws`, make room, or name a folder on another disk with `out`";
            Err(InputError::in_file(out, problem).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// Bytes that may still be written, if the system reports it.
#[cfg(target_os = "linux")]
fn free_on_disk(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_on_disk(_: &Path) -> Option<u64> {
    None
}
