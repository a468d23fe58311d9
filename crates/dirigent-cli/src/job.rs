//! One run, from a resolved model to a finished run folder: what `fit` and `demo` share.

use std::path::Path;
use std::time::Instant;

use dirigent::Result;
use dirigent::io::FittedColumns;
use dirigent::method::cgs::{self, Observer};
use dirigent::method::chains::{self, ChainsOutcome, Diagnostics};
use dirigent::method::{MethodOptions, advice};
use dirigent::metrics;
use dirigent::model::Model;
use dirigent::posterior::diagnostics::Mixing;
use dirigent::posterior::horizon::StoppedBecause;
use dirigent::rows::Shard;
use dirigent::run_dir::{FittedModel, NpyWriter, RunDir, RunRecord, Status, Summary};
use dirigent::trace::{CycleInfo, TraceWriter};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::progress::Progress;

/// What is fitted, and how.
pub(crate) struct Job<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) model: &'a Model,
    pub(crate) truth: Option<&'a [u32]>,
    pub(crate) options: &'a MethodOptions,
    pub(crate) n_chains: u16,
}

/// What is told of a run that has ended well.
struct Told {
    summary: Summary,
    diagnostics: Option<Diagnostics>,
    warnings: Vec<String>,
}

/// Runs the job, fills the run folder, prints the summary.
pub(crate) fn run(job: &Job<'_>, run_dir: &RunDir, mut record: RunRecord<'_>, output: &OutputArgs) -> Result<()> {
    run_dir.write_record(&record)?;
    let told = match fill(job, run_dir, record.data.fitted_columns(), output) {
        Ok(told) => told,
        Err(error) => {
            (record.status, record.error) = (Status::Failed, Some(error.to_string()));
            // best effort: the disk that failed the run may fail its record too, and the first error is the one to report
            let _ = run_dir.write_record(&record);
            return Err(error);
        }
    };
    let Told { summary, diagnostics, warnings } = told;
    (record.status, record.summary) = (Status::Finished, Some(summary));
    (record.diagnostics, record.warnings) = (diagnostics, warnings);
    run_dir.write_record(&record)?;
    record.warnings.iter().for_each(|warning| output.console().say(format_args!("warning: {warning}")));
    print(&record, run_dir.path(), output)
}

fn fill(job: &Job<'_>, run_dir: &RunDir, columns: FittedColumns, output: &OutputArgs) -> Result<Told> {
    let n_rows = job.shard.n_rows();
    let n_chains = usize::from(job.n_chains);
    let draws = job.options.draws().map(|draws| run_dir.draws(draws.n_draws * n_chains, n_rows)).transpose()?;
    let progress = Progress::new(output.console(), job.options.cycles(), job.n_chains);
    let mut recorder = Recorder { trace: run_dir.trace()?, draws, progress };
    let start = Instant::now();
    let outcome = chains::run(job.shard, job.model, job.options, job.n_chains, job.truth, &mut recorder);
    let seconds = start.elapsed().as_secs_f64();
    recorder.progress.finish();
    let mut outcome = outcome?;
    recorder.draws.map(NpyWriter::finish_short).transpose()?;
    run_dir.write_labels(&outcome.best.labels, &outcome.best.certainty)?;
    let components = std::mem::take(&mut outcome.best.components);
    run_dir.write_model(&FittedModel { model: job.model.clone(), alpha: outcome.best.alpha, columns, components })?;
    let (mut bytes, mut messages) = (0, 0);
    if let Some(totals) = &outcome.totals {
        run_dir.write_workers(totals, &job.options.shards(job.shard))?;
        (bytes, messages) = (totals.bytes, totals.messages);
    }
    let summary = Summary { seconds, bytes, messages, ..summarize(job, &outcome) };
    let warnings = advice::warnings(job.model, job.options, job.n_chains, n_rows, &outcome);
    Ok(Told { summary, diagnostics: outcome.diagnostics, warnings })
}

fn summarize(job: &Job<'_>, outcome: &ChainsOutcome) -> Summary {
    let n_draws = job.options.draws().map(|_| outcome.n_draws);
    let outcome = &outcome.best;
    let agreement = job.truth.map(|truth| metrics::compare(&outcome.labels, truth));
    let log_joint_of = |truth| cgs::log_joint_of_labels(job.shard, job.model, outcome.alpha, truth);
    Summary {
        k: outcome.k,
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
struct Recorder {
    trace: TraceWriter,
    draws: Option<NpyWriter<i32>>,
    progress: Progress,
}

impl Observer for Recorder {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.progress.on_cycle(info);
        self.trace.write(info)
    }

    fn on_draw(&mut self, state: &[u32]) -> Result<()> {
        self.draws.as_mut().map_or(Ok(()), |draws| draws.write_labels(state))
    }
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    run: String,
    #[serde(flatten)]
    summary: &'a Summary,
    diagnostics: &'a Option<Diagnostics>,
    warnings: &'a [String],
}

fn print(record: &RunRecord<'_>, path: &Path, output: &OutputArgs) -> Result<()> {
    let console = output.console();
    let summary = record.summary.as_ref().expect("the run has ended");
    if output.json {
        console.print_json(&Report {
            run: path.display().to_string(),
            summary,
            diagnostics: &record.diagnostics,
            warnings: &record.warnings,
        })
    } else if console.is_quiet() {
        Ok(())
    } else {
        console.print(describe(summary, record.diagnostics.as_ref(), path))
    }
}

/// The summary for people.
fn describe(summary: &Summary, diagnostics: Option<&Diagnostics>, path: &Path) -> String {
    let mut lines = vec![format!("K           {}", summary.k)];
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
    if let Some(diagnostics) = diagnostics {
        lines.push(describe_chains(diagnostics));
    }
    lines.push(format!("run folder  {}", path.display()));
    lines.join("\n")
}

/// Why a run ended, where that is worth a word.
fn ended(because: StoppedBecause) -> &'static str {
    match because {
        StoppedBecause::Cycles => "",
        StoppedBecause::Stationary => " (settled)",
        StoppedBecause::MaxCycles => " (not settled)",
        StoppedBecause::TimeLimit => " (time limit)",
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
