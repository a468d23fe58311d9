//! What is said of a run that has ended.

use std::io::ErrorKind;
use std::path::Path;

use dirigent::internals::checkpoint::folder::Folder;
use dirigent::internals::posterior::diagnostics::Mixing;
use dirigent::{Diagnostics, Error, Fitted, PosteriorRecord, Result, StoppedBecause, Summary};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::console::grouped;

/// What is said when a signal has ended the run.
pub(crate) fn describe_interruption(path: Option<&Path>) -> String {
    match path {
        Some(path) if has_checkpoint(path) => {
            format!("interrupted; to continue: dirigent fit --resume {}", path.display())
        }
        Some(path) => format!("interrupted; nothing was kept in {}: start the run again", path.display()),
        None => "interrupted before the first cycle: start the run again".to_owned(),
    }
}

/// What has ended the run, with the way to continue.
pub(crate) fn with_way_on(error: Error, path: &Path) -> Error {
    let is_full = matches!(&error, Error::Io { source, .. }
        if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded));
    match (is_full, has_checkpoint(path)) {
        (true, true) => error.with_hint(format!("make room, then `dirigent fit --resume {}`", path.display())),
        (true, false) => error.with_hint("make room, or name a folder on another disk with --out"),
        (false, _) => error,
    }
}

fn has_checkpoint(run: &Path) -> bool {
    Folder::of_run(run).is_ok_and(|folder| folder.has_any())
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct Report<'a> {
    run: String,
    report: Option<String>,
    #[serde(flatten)]
    summary: &'a Summary,
    posterior: Option<&'a PosteriorRecord>,
    diagnostics: Option<&'a Diagnostics>,
    warnings: &'a [String],
}

/// Prints the summary, as it was asked for.
pub(crate) fn print(fitted: &Fitted, path: &Path, report: Option<&Path>, output: &OutputArgs) -> Result<()> {
    let console = output.console();
    let summary = fitted.summary();
    if output.json {
        console.print_json(&Report {
            run: path.display().to_string(),
            report: report.map(|report| report.display().to_string()),
            summary,
            posterior: fitted.posterior(),
            diagnostics: fitted.diagnostics(),
            warnings: fitted.warnings(),
        })
    } else if console.is_quiet() {
        Ok(())
    } else {
        console.print(describe(fitted, path, report))
    }
}

/// The summary for people.
fn describe(fitted: &Fitted, path: &Path, report: Option<&Path>) -> String {
    let summary = fitted.summary();
    let k_posterior = fitted.posterior().map(describe_posterior).unwrap_or_default();
    let mut lines = vec![describe_clusters(fitted), format!("K           {}{k_posterior}", summary.k)];
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
    if let Some(diagnostics) = fitted.diagnostics() {
        lines.push(describe_chains(diagnostics));
    }
    lines.push(format!("run folder  {}", path.display()));
    lines.extend(report.map(|report| format!("report      {}", report.display())));
    lines.join("\n")
}

/// The answer: how many clusters, and how large they are.
fn describe_clusters(fitted: &Fitted) -> String {
    const SHOWN: usize = 8;
    let (n_clusters, n_components) = (fitted.n_clusters(), fitted.n_components());
    let mut sizes = vec![0u64; fitted.labels().iter().max().map_or(0, |&label| label as usize + 1)];
    fitted.labels().iter().for_each(|&label| sizes[label as usize] += 1);
    // a component may be the most probable one of no row
    sizes.retain(|&size| size > 0);
    let shown: Vec<_> = sizes.iter().take(SHOWN).map(|&size| grouped(size)).collect();
    let more = if n_clusters > SHOWN { ", …" } else { "" };
    let clusters = if n_clusters == 1 { "cluster" } else { "clusters" };
    let of = if n_clusters == n_components { String::new() } else { format!(" of {n_components} components") };
    format!("{n_clusters} {clusters}{of}: {}{more} rows", shown.join(", "))
}

/// What the draws say of K, behind the K of the state.
fn describe_posterior(posterior: &PosteriorRecord) -> String {
    let [low, high] = posterior.k.interval_90;
    format!(" (90 %: {low}–{high} in {} draws)", posterior.n_draws)
}

/// Why a run ended, where that is worth a word.
fn ended(because: StoppedBecause) -> &'static str {
    match because {
        StoppedBecause::Stationary => " (settled)",
        StoppedBecause::MaxCycles => " (not settled)",
        StoppedBecause::TimeLimit => " (time limit)",
        StoppedBecause::Interrupted => " (interrupted)",
        _ => "",
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
