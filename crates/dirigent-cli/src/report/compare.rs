//! Several runs on one page.

use super::colours::colour;
use super::cycles::{self, Line};
use super::html::Table;
use super::page::Page;
use super::run::Run;
use super::summary;
use super::words::{counted, float, number, seconds, text, whole};
use crate::console::bytes;

/// The page.
pub(crate) fn page(runs: &[Run]) -> Page {
    let names: Vec<&str> = runs.iter().map(Run::data_name).collect();
    let mut data = names.clone();
    data.sort_unstable();
    data.dedup();
    let lead = format!("{} of {}, side by side.", counted(runs.len() as u64, "run"), data.join(", "));
    let mut page = Page::new("Runs compared", lead);
    let section = page.section("Summary");
    section.table(table(runs));
    let mut notes = Vec::new();
    let differ = |pointer: &str| runs.iter().any(|run| run.record.pointer(pointer) != runs[0].record.pointer(pointer));
    if differ("/data/fingerprint") {
        notes.push("The runs are of different rows: their log-joints cannot be compared.".to_owned());
    } else if differ("/model") {
        notes.push("The runs have different models: their log-joints compare models as much as states.".to_owned());
    }
    for run in runs {
        notes.extend(summary::warnings(run).into_iter().map(|warning| format!("{}: {warning}", run.name())));
    }
    if !notes.is_empty() {
        section.notes(notes);
    }
    let plots = cycles::plots(&lines(runs));
    if !plots.is_empty() {
        page.section("How the runs went").plots(plots);
    }
    let section = page.section("What was fitted");
    runs.iter().for_each(|run| {
        section.paragraph(format!("{}: {}", run.name(), summary::sentence(run)));
    });
    page
}

/// A line a chain; all lines of a run have its colour.
fn lines(runs: &[Run]) -> Vec<Line<'_>> {
    let of_run = |(ix, run)| {
        let run: &Run = run;
        let lines = cycles::lines(&run.trace);
        let has_chains = lines.len() > 1;
        lines.into_iter().map(move |line| {
            let name = if has_chains { format!("{}, {}", run.name(), line.name) } else { run.name() };
            Line { name, colour: colour(ix), ..line }
        })
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

fn table(runs: &[Run]) -> Table {
    let columns = [
        "run",
        "data",
        "method",
        "clusters",
        "K",
        "log-joint",
        "VI of labels",
        "NMI of labels",
        "cycles",
        "time",
        "sent",
        "seed",
    ];
    let mut table = Table::new("The runs", &columns);
    for run in runs {
        let record = &run.record;
        let cell = |name: &str| float(record, &format!("/summary/{name}")).map_or_else(String::new, number);
        let time = float(record, "/summary/seconds").map(seconds).unwrap_or_default();
        let sent = whole(record, "/summary/bytes").filter(|sent| *sent > 0).map(bytes).unwrap_or_default();
        let seed = whole(record, "/options/run/seed").map(|seed| seed.to_string()).unwrap_or_default();
        let method = text(record, "/options/method/name").unwrap_or_default().to_owned();
        let data = run.data_name().to_owned();
        let numbers = ["n_clusters", "k", "log_joint", "vi_labels", "nmi_labels", "cycles"].map(cell);
        table.row([run.name(), data, method].into_iter().chain(numbers).chain([time, sent, seed]));
    }
    table
}
