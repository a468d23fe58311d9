//! `dirigent report`: what a run has found, as a page to look at.
//!
//! `page.rs`, `plot.rs`, `drawing.rs`, `heat.rs`, `card.rs`, `html.rs` and `colours.rs` know HTML and nothing of runs; other commands make their pages of them too. `run.rs` reads a
//! run folder, `groups.rs` sums components to clusters, `one.rs` and `compare.rs` lay out a page, the other files are its parts.

pub(crate) mod card;
mod cards;
mod certainty;
mod classes;
pub(crate) mod colours;
mod compare;
mod contrasts;
mod cuts;
mod cycles;
mod dendrogram;
mod distributions;
mod drawing;
mod features;
mod groups;
mod heat;
pub(crate) mod html;
mod map;
mod names;
mod one;
mod overview;
pub(crate) mod page;
mod pairs;
pub(crate) mod plot;
mod posterior;
mod profiles;
mod projection;
mod reasons;
mod run;
mod sample;
mod summary;
pub(crate) mod words;
mod workers;
mod written;

use std::path::{Path, PathBuf};

use dirigent::{InputError, Result};

use self::run::Run;
use crate::args::ReportArgs;
use crate::console::Console;
use crate::info_run;

/// The report in a run folder.
pub(crate) const FILE: &str = "report.html";

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    let out = match (&args.out, args.runs.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [run]) => run.join(FILE),
        (None, _) => {
            let error = InputError::new("several runs are compared on one page, which is in none of their folders");
            return Err(error.hint("name the page with --out, such as --out compared.html").into());
        }
    };
    if out.is_dir() {
        let error = InputError::in_file(&out, "is a folder, expected a name for the page");
        return Err(error.hint("name a file, such as --out compared.html").into());
    }
    let for_one_run = [("--names", args.names.is_some()), ("--profiles", args.profiles.is_some())];
    if let Some((option, _)) = for_one_run.iter().find(|(_, is_given)| *is_given && args.runs.len() > 1) {
        let error = InputError::new(format!("{option} goes with one run, {} are given", args.runs.len()));
        return Err(error.hint(format!("call dirigent report RUN {option} FILE for each run")).into());
    }
    if let (Some(names), [run]) = (&args.names, args.runs.as_slice()) {
        one::take_names(run, names)?;
    }
    if let (Some(profiles), [run]) = (&args.profiles, args.runs.as_slice()) {
        one::write_profiles(run, profiles)?;
    }
    match args.runs.as_slice() {
        [run] => one::page(Run::read(run)?)?.write(&out)?,
        runs => {
            let runs = runs.iter().map(|run| Run::read(run)).collect::<Result<Vec<_>>>()?;
            compare::page(&runs).write(&out)?;
        }
    }
    Console::default().print(out.display())
}

/// The page that follows a run.
pub(crate) fn live_page(run: &Path) -> Result<String> {
    let version = version(run);
    Ok(one::page(Run::read(run)?)?.following(version).render())
}

/// What has changed on that page, and whether the run has ended.
pub(crate) fn live_main(run: &Path) -> Result<(String, bool)> {
    let is_over = !version(run).starts_with("running");
    Ok((one::page(Run::read(run)?)?.render_main(), is_over))
}

/// How far a run is, in a word that changes when it moves on.
pub(crate) fn version(run: &Path) -> String {
    let status = info_run::read(&run.join("run.json")).ok();
    let status = status.as_ref().and_then(|record| words::text(record, "/status")).unwrap_or("running").to_owned();
    format!("{status} {}", run::NumberTable::read(&run.join("trace.csv")).n_rows)
}

/// Writes the report of a run into its folder.
pub(crate) fn write(run: &Path) -> Result<PathBuf> {
    let out = run.join(FILE);
    one::page(Run::read(run)?)?.write(&out)?;
    Ok(out)
}
