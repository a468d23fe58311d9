//! One run, from a resolved model to a finished run folder: what `fit` and `demo` share.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dirigent::checkpoint::Saved;
use dirigent::checkpoint::folder::Files;
use dirigent::interrupt::Interrupt;
use dirigent::io::{DataSet, FittedColumns};
use dirigent::method::best::BestState;
use dirigent::method::cgs::{self, Draws, Observer};
use dirigent::method::chains::{self, ChainsOutcome, Diagnostics};
use dirigent::method::last_state::LastState;
use dirigent::method::{MethodOptions, advice};
use dirigent::metrics;
use dirigent::model::Model;
use dirigent::posterior::diagnostics::Mixing;
use dirigent::posterior::horizon::StoppedBecause;
use dirigent::posterior::point::numbered_by_size;
use dirigent::rows::Shard;
use dirigent::run_dir::{
    FittedModel, NpyWriter, Point, PosteriorRecord, RowSample, RunDir, RunRecord, Status, Summary,
};
use dirigent::trace::{CycleInfo, TraceWriter};
use dirigent::transform::Transform;
use dirigent::{Error, Result};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::embed::Watcher;
use crate::keep::Keeper;
use crate::point;
use crate::progress::Progress;
use crate::report;
use crate::watch::Watch;

/// How often it is looked whether somebody has changed the data: there may be many files.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

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

impl Job<'_> {
    /// What is fitted must stay what it was.
    fn check_data(&self) -> Result<()> {
        self.data.map_or(Ok(()), DataSet::check_unchanged)
    }
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
    let told = match fill(job, run_dir, record.data.fitted_columns(), output, &mut keeper, watcher) {
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
            return Err(error);
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
    columns: FittedColumns,
    output: &OutputArgs,
    keeper: &mut Keeper,
    watcher: Option<Watcher<'_>>,
) -> Result<Told> {
    let n_rows = job.shard.n_rows();
    let mut recorder = Recorder::new(job, run_dir, output, keeper, watcher)?;
    let outcome = chains::run(job.shard, job.model, job.options, job.n_chains, job.truth, &mut recorder);
    let seconds = recorder.seconds();
    recorder.progress.finish();
    if outcome.is_ok() {
        job.check_data()?;
    }
    let mut outcome = match (outcome, &recorder.last) {
        (Ok(outcome), _) => outcome,
        (Err(Error::Interrupted), Some(last)) => concluded(job, last, recorder.n_draws),
        (Err(error), _) => {
            if recorder.keeper.has_checkpoint() {
                recorder.draws.map(NpyWriter::leave).transpose()?;
            }
            return Err(error);
        }
    };
    recorder.draws.map(NpyWriter::finish_short).transpose()?;
    let components = std::mem::take(&mut outcome.best.components);
    let (model, transform) = (job.model.clone(), job.transform.cloned());
    run_dir.write_model(&FittedModel { model, alpha: outcome.best.alpha, columns, transform, components })?;
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

/// Puts on disk and on the terminal what the chain reports.
struct Recorder<'a> {
    job: &'a Job<'a>,
    trace: TraceWriter,
    draws: Option<NpyWriter<i32>>,
    n_rows: usize,
    n_draws: usize,
    best: Option<BestState>,
    progress: Progress,
    keeper: &'a mut Keeper,
    watcher: Option<Watcher<'a>>,
    /// The last state, where somebody watches: what is left when the run is interrupted.
    last: Option<LastState>,
    /// Whether it must be looked at after every cycle, because the method cannot tell it when it is interrupted.
    keeps_last: bool,
    began: Instant,
    /// At the files of the data.
    last_look: Instant,
    seconds_before: f64,
}

impl<'a> Recorder<'a> {
    /// Begins the files of a run, or goes on with them.
    fn new(
        job: &'a Job<'a>,
        run_dir: &RunDir,
        output: &OutputArgs,
        keeper: &'a mut Keeper,
        watcher: Option<Watcher<'a>>,
    ) -> Result<Self> {
        let n_rows = job.shard.n_rows();
        let n_draws = |draws: Draws| draws.n_draws * usize::from(job.n_chains);
        let all_draws = job.options.draws().map(n_draws);
        let progress = Progress::new(output.console(), job.options.cycles(), job.n_chains);
        let (trace, draws, files) = match keeper.files() {
            Some(files) => {
                let draws = all_draws.map(|n_draws| run_dir.draws_again(n_draws, n_rows, files.n_draws)).transpose()?;
                (run_dir.trace_again(files.trace_bytes)?, draws, files.clone())
            }
            None => {
                let draws = all_draws.map(|n_draws| run_dir.draws(n_draws, n_rows)).transpose()?;
                (run_dir.trace()?, draws, Files::default())
            }
        };
        let best = (job.point == Point::Best).then(|| BestState::new(job.options, n_rows));
        Ok(Self {
            job,
            keeps_last: watcher.is_some() && !job.options.offers_last_state(),
            trace,
            draws,
            n_rows,
            n_draws: files.n_draws,
            best: files.best.or(best),
            progress,
            keeper,
            watcher,
            last: None,
            began: Instant::now(),
            last_look: Instant::now(),
            seconds_before: files.seconds,
        })
    }

    fn seconds(&self) -> f64 {
        self.seconds_before + self.began.elapsed().as_secs_f64()
    }
}

impl Observer for Recorder<'_> {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        if self.last_look.elapsed() >= BETWEEN_LOOKS {
            self.job.check_data()?;
            self.last_look = Instant::now();
        }
        self.progress.on_cycle(info);
        self.trace.write(info)?;
        self.watcher.as_mut().map_or(Ok(()), |watcher| (watcher.on_cycle)(info))
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.n_draws += 1;
        self.draws.as_mut().map_or(Ok(()), |draws| draws.write_labels(state))
    }

    fn watches_states(&self) -> bool {
        self.best.is_some() || self.keeps_last
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if let Some(best) = &mut self.best {
            best.look(info, state);
        }
        // in the first cycles only a sample of the rows may have labels
        if self.keeps_last && info.n_rows == self.n_rows as u64 {
            self.last = Some(LastState { labels: state(), alpha: info.alpha, cycle: info.cycle });
        }
    }

    fn interrupt(&self) -> Interrupt {
        self.watcher.as_ref().map_or_else(|| self.keeper.interrupt(), |watcher| watcher.interrupt.clone())
    }

    fn on_notice(&mut self, text: &str) {
        self.progress.say(text);
    }

    fn wants_checkpoint(&mut self) -> bool {
        self.keeper.is_due()
    }

    fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
        // keeps no checkpoints, so this is where it was interrupted
        if self.watcher.is_some() && !self.keeps_last {
            self.last = LastState::of(self.job.shard, self.job.options, &saved)?;
            return Ok(());
        }
        self.draws.as_mut().map_or(Ok(()), NpyWriter::sync)?;
        let trace_bytes = self.trace.sync()?;
        let files = Files { trace_bytes, n_draws: self.n_draws, best: self.best.clone(), seconds: self.seconds() };
        self.keeper.keep(saved, files)
    }

    fn take_saved(&mut self) -> Option<Saved> {
        self.keeper.take_saved()
    }
}

/// What the run would have left behind, had this been its last cycle.
fn concluded(job: &Job<'_>, last: &LastState, n_draws: usize) -> ChainsOutcome {
    let labels = numbered_by_size(&last.labels).0;
    let best = cgs::conclude(job.shard, job.model, job.options.kernel(), last.alpha, &labels, last.cycle);
    ChainsOutcome { best, totals: None, n_draws, diagnostics: None }
}

/// What is said when a signal has ended the run.
fn describe_interruption(keeper: &Keeper, path: &Path) -> String {
    let path = path.display();
    if keeper.has_checkpoint() {
        format!("interrupted; to go on: dirigent fit --resume {path}")
    } else {
        format!("interrupted; nothing was kept in {path}: start the run anew")
    }
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    run: String,
    report: Option<String>,
    #[serde(flatten)]
    summary: &'a Summary,
    posterior: Option<&'a PosteriorRecord>,
    diagnostics: &'a Option<Diagnostics>,
    warnings: &'a [String],
}

fn print(record: &RunRecord<'_>, path: &Path, report: Option<&Path>, output: &OutputArgs) -> Result<()> {
    let console = output.console();
    let summary = record.summary.as_ref().expect("the run has ended");
    if output.json {
        console.print_json(&Report {
            run: path.display().to_string(),
            report: report.map(|report| report.display().to_string()),
            summary,
            posterior: record.posterior.as_ref(),
            diagnostics: &record.diagnostics,
            warnings: &record.warnings,
        })
    } else if console.is_quiet() {
        Ok(())
    } else {
        console.print(describe(record, summary, path, report))
    }
}

/// The summary for people.
fn describe(record: &RunRecord<'_>, summary: &Summary, path: &Path, report: Option<&Path>) -> String {
    let k_posterior = record.posterior.as_ref().map(point::describe).unwrap_or_default();
    let mut lines = vec![format!("K           {}{k_posterior}", summary.k)];
    lines.push(match summary.log_joint_truth {
        Some(truth) => {
            format!("log-joint   {:.1} ({:+.1} against the true labels)", summary.log_joint, summary.log_joint - truth)
        }
        None => format!("log-joint   {:.1}", summary.log_joint),
    });
    if let (Some(vi), Some(vi_labels), Some(nmi)) = (summary.vi, summary.vi_labels, summary.nmi_labels) {
        lines.push(format!("VI          {vi:.3} nats (labels: {vi_labels:.3}, NMI {nmi:.3})"));
    }
    lines.push(format!("cycles      {}{} in {:.1} s", summary.cycles, ended(summary.stopped_because), summary.seconds));
    if let Some(diagnostics) = &record.diagnostics {
        lines.push(describe_chains(diagnostics));
    }
    lines.push(format!("run folder  {}", path.display()));
    lines.extend(report.map(|report| format!("report      {}", report.display())));
    lines.join("\n")
}

/// Why a run ended, where that is worth a word.
fn ended(because: StoppedBecause) -> &'static str {
    match because {
        StoppedBecause::Cycles => "",
        StoppedBecause::Stationary => " (settled)",
        StoppedBecause::MaxCycles => " (not settled)",
        StoppedBecause::TimeLimit => " (time limit)",
        StoppedBecause::Interrupted => " (interrupted)",
    }
}

/// Whether chains agree, in a line.
fn describe_chains(diagnostics: &Diagnostics) -> String {
    let number =
        |value: Option<f64>, decimals: usize| value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"));
    let of = |mixing: &Mixing| format!("R-hat {}, ESS {}", number(mixing.r_hat, 2), number(mixing.ess_bulk, 0));
    let (k, log_joint) = (of(&diagnostics.k), of(&diagnostics.log_joint));
    format!("chains      {} (K: {k}; log-joint: {log_joint})", diagnostics.chains.len())
}
