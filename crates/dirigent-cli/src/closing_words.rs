//! What is said of a run that has ended.

use std::io::ErrorKind;
use std::path::Path;

use dirigent::method::chains::Diagnostics;
use dirigent::posterior::diagnostics::Mixing;
use dirigent::posterior::horizon::StoppedBecause;
use dirigent::run_dir::{PosteriorRecord, RunRecord, Summary};
use dirigent::{Error, Result};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::keep::Keeper;
use crate::point;

/// What is said when a signal has ended the run.
pub(crate) fn describe_interruption(keeper: &Keeper, path: &Path) -> String {
    let path = path.display();
    if keeper.has_checkpoint() {
        format!("interrupted; to go on: dirigent fit --resume {path}")
    } else {
        format!("interrupted; nothing was kept in {path}: start the run anew")
    }
}

/// What has ended the run, with the way to go on.
pub(crate) fn with_way_on(error: Error, keeper: &Keeper, path: &Path) -> Error {
    let is_full = matches!(&error, Error::Io { source, .. }
        if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded));
    match (is_full, keeper.has_checkpoint()) {
        (true, true) => error.with_hint(format!("make room, then `dirigent fit --resume {}`", path.display())),
        (true, false) => error.with_hint("make room, or name a folder on another disk with --out"),
        (false, _) => error,
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

/// Prints the summary, as it was asked for.
pub(crate) fn print(record: &RunRecord<'_>, path: &Path, report: Option<&Path>, output: &OutputArgs) -> Result<()> {
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
