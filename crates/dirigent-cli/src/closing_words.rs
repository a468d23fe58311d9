//! The closing summary: the clusters first, then how certain they are, then where the files are.

use std::io::ErrorKind;
use std::path::Path;

use dirigent::internals::checkpoint::folder::Folder;
use dirigent::internals::posterior::diagnostics::Mixing;
use dirigent::{Diagnostics, Error, Fitted, PosteriorRecord, Result, StoppedBecause, Summary};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::console::{Console, Talk, grouped};

/// The message after a signal has ended the run.
pub(crate) fn describe_interruption(path: Option<&Path>) -> String {
    match path {
        Some(path) if has_checkpoint(path) => {
            format!("interrupted; to continue: dirigent fit --resume {}", path.display())
        }
        Some(path) => format!("interrupted; no checkpoint was written in {}: start the run again", path.display()),
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
        console.print(describe(fitted, path, report, console))?;
        suggest_another_cut(fitted, path, console);
        Ok(())
    }
}

/// The summary for people. What the sampler did is for `--verbose`.
fn describe(fitted: &Fitted, path: &Path, report: Option<&Path>, console: Console) -> String {
    let summary = fitted.summary();
    let mut lines = vec![describe_clusters(fitted), describe_certainty(fitted.certainty())];
    if let (Some(vi), Some(ari), Some(nmi)) = (summary.vi_labels, summary.ari_labels, summary.nmi_labels) {
        lines.push(format!("true labels ARI {ari:.3}, NMI {nmi:.3}, VI {vi:.3} nats"));
    }
    lines.extend(fitted.posterior().map(describe_posterior));
    lines.extend(fitted.diagnostics().map(describe_chains));
    if summary.stopped_because == StoppedBecause::TimeLimit {
        lines.push(format!("ended       by the time limit, after {} cycles", summary.cycles));
    }
    if console.talk == Talk::Verbose {
        lines.extend(describe_sampler(summary));
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
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let shown: Vec<_> = sizes.iter().take(SHOWN).map(|&size| grouped(size)).collect();
    let more = if sizes.len() > SHOWN { ", …" } else { "" };
    let clusters = if n_clusters == 1 { "cluster" } else { "clusters" };
    let rows = if sizes == [1] { "row" } else { "rows" };
    let of = if n_clusters == n_components { String::new() } else { format!(" of {n_components} components") };
    format!("{n_clusters} {clusters}{of}: {}{more} {rows}", shown.join(", "))
}

/// How certain the labels are.
fn describe_certainty(certainty: &[f32]) -> String {
    const DOUBTFUL: f32 = 0.5;
    let mean = certainty.iter().map(|&certainty| f64::from(certainty)).sum::<f64>() / certainty.len() as f64;
    let n_doubtful = certainty.iter().filter(|&&certainty| certainty < DOUBTFUL).count() as u64;
    let (doubtful, rows) = (grouped(n_doubtful), grouped(certainty.len() as u64));
    // two decimals of 0.9999 would say that all is certain
    let mean = if mean < 0.995 { format!("{mean:.2}") } else { format!("{mean:.3}") };
    format!("certainty   {mean} on average; {doubtful} of {rows} rows below {DOUBTFUL}")
}

/// How the labels can be made coarser or finer.
fn suggest_another_cut(fitted: &Fitted, path: &Path, console: Console) {
    let (n_clusters, n_components) = (fitted.n_clusters(), fitted.n_components());
    let coarser = (n_clusters > 2).then(|| format!("--clusters {}", (n_clusters / 2).clamp(2, 10)));
    let finer = (n_clusters < n_components).then(|| "--clusters components".to_owned());
    let ways: Vec<String> = coarser.into_iter().chain(finer).collect();
    if !ways.is_empty() {
        let (path, ways) = (path.display(), ways.join(" or "));
        console.say(format_args!("for fewer or more clusters: dirigent cut {path} {ways}"));
    }
}

/// What the draws say of the number of components.
fn describe_posterior(posterior: &PosteriorRecord) -> String {
    let [low, high] = posterior.k.interval_90;
    let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
    format!("components  {range} in 90 % of {} draws", posterior.n_draws)
}

/// Figures of the sampler.
fn describe_sampler(summary: &Summary) -> Vec<String> {
    let mut lines = vec![format!("K           {}", summary.k)];
    let against =
        summary.log_joint_truth.map(|truth| format!(" ({:+.1} against the true labels)", summary.log_joint - truth));
    lines.push(format!("log-joint   {:.1}{}", summary.log_joint, against.unwrap_or_default()));
    lines.extend(summary.vi.map(|vi| format!("VI          {vi:.3} nats, of the last state")));
    lines.push(format!("alpha       {:.4}", summary.alpha));
    lines.push(format!("cycles      {}{} in {:.1} s", summary.cycles, ended(summary.stopped_because), summary.seconds));
    lines
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
