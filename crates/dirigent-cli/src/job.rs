//! One run, from a resolved model to a finished run folder: what `fit` and `demo` share.

use std::path::Path;
use std::time::Instant;

use dirigent::Result;
use dirigent::method::best::BestState;
use dirigent::method::cgs::{self, Observer, Outcome};
use dirigent::method::{self, MethodOptions};
use dirigent::metrics;
use dirigent::model::Model;
use dirigent::rows::Shard;
use dirigent::run_dir::{NpyWriter, Point, PosteriorRecord, RunDir, RunRecord, Status, Summary};
use dirigent::trace::{CycleInfo, TraceWriter};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::point;
use crate::progress::Progress;

/// What is fitted, and how.
pub(crate) struct Job<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) model: &'a Model,
    pub(crate) truth: Option<&'a [u32]>,
    pub(crate) options: &'a MethodOptions,
    pub(crate) point: Point,
}

/// Runs the job, fills the run folder, prints the summary.
pub(crate) fn run(job: &Job<'_>, run_dir: &RunDir, mut record: RunRecord<'_>, output: &OutputArgs) -> Result<()> {
    run_dir.write_record(&record)?;
    let (summary, posterior) = match fill(job, run_dir, output) {
        Ok(filled) => filled,
        Err(error) => {
            (record.status, record.error) = (Status::Failed, Some(error.to_string()));
            // best effort: the disk that failed the run may fail its record too, and the first error is the one to report
            let _ = run_dir.write_record(&record);
            return Err(error);
        }
    };
    (record.status, record.summary, record.posterior) = (Status::Finished, Some(summary), posterior);
    run_dir.write_record(&record)?;
    print(&record, run_dir.path(), output)
}

fn fill(job: &Job<'_>, run_dir: &RunDir, output: &OutputArgs) -> Result<(Summary, Option<PosteriorRecord>)> {
    let n_rows = job.shard.n_rows();
    let draws = job.options.draws().map(|draws| run_dir.draws(draws.n_draws, n_rows)).transpose()?;
    let progress = Progress::new(output.console(), n_rows, job.options.cycles());
    let best = (job.point == Point::Best).then(|| BestState::new(job.options));
    let mut recorder = Recorder { trace: run_dir.trace()?, draws, best, progress };
    let start = Instant::now();
    let outcome = method::run(job.shard, job.model, job.options, job.truth, &mut recorder);
    let seconds = start.elapsed().as_secs_f64();
    recorder.progress.finish();
    let (mut outcome, totals) = outcome?;
    recorder.draws.map(NpyWriter::finish).transpose()?;
    let posterior = point::settle(job, run_dir, recorder.best.and_then(BestState::into_state), &mut outcome)?;
    run_dir.write_labels(&outcome.labels, &outcome.certainty)?;
    let (mut bytes, mut messages) = (0, 0);
    if let Some(totals) = totals {
        run_dir.write_workers(&totals, &job.options.shards(job.shard))?;
        (bytes, messages) = (totals.bytes, totals.messages);
    }
    let summary = summarize(job, &outcome);
    Ok((Summary { seconds, bytes, messages, ..summary }, posterior))
}

fn summarize(job: &Job<'_>, outcome: &Outcome) -> Summary {
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
        stopped_because: "cycles",
        seconds: 0.0,
        bytes: 0,
        messages: 0,
    }
}

/// Puts on disk and on the terminal what the chain reports.
struct Recorder {
    trace: TraceWriter,
    draws: Option<NpyWriter<i32>>,
    best: Option<BestState>,
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

    fn watches_states(&self) -> bool {
        self.best.is_some()
    }

    fn on_state(&mut self, info: &CycleInfo, state: &dyn Fn() -> Vec<u32>) {
        if let Some(best) = &mut self.best {
            best.look(info, state);
        }
    }
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    run: String,
    #[serde(flatten)]
    summary: &'a Summary,
    posterior: Option<&'a PosteriorRecord>,
}

fn print(record: &RunRecord<'_>, path: &Path, output: &OutputArgs) -> Result<()> {
    let console = output.console();
    let (summary, posterior) = (record.summary.as_ref().expect("the run has finished"), record.posterior.as_ref());
    if output.json {
        console.print_json(&Report { run: path.display().to_string(), summary, posterior })
    } else if console.is_quiet() {
        Ok(())
    } else {
        console.print(describe(summary, posterior, path))
    }
}

/// The summary for people.
fn describe(summary: &Summary, posterior: Option<&PosteriorRecord>, path: &Path) -> String {
    let mut lines = vec![format!("K           {}{}", summary.k, posterior.map(point::describe).unwrap_or_default())];
    lines.push(match summary.log_joint_truth {
        Some(truth) => {
            format!("log-joint   {:.1} ({:+.1} against the true labels)", summary.log_joint, summary.log_joint - truth)
        }
        None => format!("log-joint   {:.1}", summary.log_joint),
    });
    if let (Some(vi), Some(vi_labels), Some(nmi)) = (summary.vi, summary.vi_labels, summary.nmi_labels) {
        lines.push(format!("VI          {vi:.3} nats (labels: {vi_labels:.3}, NMI {nmi:.3})"));
    }
    lines.push(format!("cycles      {} in {:.1} s", summary.cycles, summary.seconds));
    lines.push(format!("run folder  {}", path.display()));
    lines.join("\n")
}
