//! The page: the paper's figures and table, redrawn.

use dirigent::Result;
use dirigent::internals::fit::Input;
use serde_json::json;
use std::path::Path;

use super::communication::{self, Traffic};
use super::data::Source;
use super::figures::Figures;
use super::lines::{self, Quantity};
use super::plan::Scale;
use super::scatter;
use super::speed::Speed;
use super::spread::Spread;
use crate::console::grouped;
use crate::report::colours::colour;
use crate::report::html::Table;
use crate::report::page::Page;
use crate::report::plot::Plot;
use crate::report::words::number;

/// Writes the page.
pub(crate) fn write(path: &Path, figures: &Figures<'_>, source: &Source, scale: &Scale, input: &Input) -> Result<()> {
    let data = input.data().set();
    let (rows, columns) = (grouped(data.n_rows() as u64), grouped(data.n_columns() as u64));
    let lead = format!(
        "{} methods on {}: {rows} rows, {columns} columns; {} seeds, {} cycles, {} workers.",
        scale.methods.len(),
        source.title,
        scale.n_seeds,
        scale.n_cycles,
        scale.n_workers
    );
    let mut page = Page::new("The paper's figures, redrawn", lead);
    add_summary(&mut page, figures);
    add_data(&mut page, source, input);
    add_curves(&mut page, figures);
    add_speed(&mut page, figures, scale);
    add_traffic(&mut page, figures);
    page.write(path)
}

fn add_summary(page: &mut Page, figures: &Figures<'_>) {
    let section = page.section("At a glance");
    let has_truth = figures.summaries.iter().any(|summary| summary.above_truth.is_some());
    let log_joint = if has_truth { "log-joint above the truth's" } else { "log-joint" };
    let columns = ["method", "workers", "K", log_joint, "VI of the state", "VI of the labels"];
    let mut ends = Table::new("Where the runs ended: means over seeds, ranges in brackets", &columns);
    let columns = [
        "method",
        "seeds at CGS's level",
        "cycles to it",
        "seconds to it (cluster)",
        "seconds a cycle (cluster)",
        "seconds a cycle (real)",
    ];
    let mut ways = Table::new("How they came there: means over seeds", &columns);
    let mut methods = Table::new("The methods", &["method", "what it is"]);
    for summary in &figures.summaries {
        let (arrival, title) = (&summary.arrival, summary.method.title.to_owned());
        ends.row([
            title.clone(),
            summary.n_workers.to_string(),
            ranged(Some(summary.k)),
            ranged(if has_truth { summary.above_truth } else { Some(summary.log_joint) }),
            ranged(summary.vi),
            ranged(summary.vi_labels),
        ]);
        ways.row([
            title.clone(),
            format!("{} of {}", arrival.n_reached, summary.n_seeds),
            optional(arrival.cycles),
            optional(arrival.cluster_seconds),
            optional(summary.cluster_cycle),
            optional(summary.real_cycle),
        ]);
        methods.row([title, summary.method.what.to_owned()]);
    }
    section.table(ends).table(ways).paragraph(
        "CGS's level is the log-joint that every seed of CGS has reached in its best cycle; a run is there at its first cycle that reaches it. \
         Time of the cluster is that of a simulation: every worker has a processor of its own, a network of 0.2 ms and 10 Gbit/s lies between, and each \
         node is charged the processor time that it takes here. Real time is this machine's, all workers of a simulation one after another.",
    );
    section.table(methods);
}

fn add_data(page: &mut Page, source: &Source, input: &Input) {
    let section = page.section("The data set");
    match scatter::plot(&input.data().set().all_rows(), input.data().truth()) {
        Some(plot) => section.plots(vec![plot]),
        None => section.paragraph("Rows that have no two columns of numbers are not drawn."),
    };
    section.paragraph("Every run is a fit of this kind, with a method and a seed:");
    section.code(format!("dirigent fit {}", source.words(true).join(" ")));
}

fn add_curves(page: &mut Page, figures: &Figures<'_>) {
    let truth = figures.runs.first().and_then(|run| run.summary.log_joint_truth);
    let base = truth.unwrap_or(0.0);
    let axis = if truth.is_some() { "log-joint above the truth's" } else { "log-joint" };
    let log_joint = Quantity {
        title: "Log-joint",
        axis,
        of_point: &|point| Some(point.log_joint.map(|value| value - base)),
        of_cycle: &|cycle| Some(cycle.log_joint - base),
    };
    let k = Quantity {
        title: "Clusters (K)",
        axis: "K",
        of_point: &|point| Some(point.k),
        of_cycle: &|cycle| Some(cycle.k as f64),
    };
    let vi = Quantity {
        title: "Variation of information",
        axis: "VI to the true labels, nats",
        of_point: &|point| point.vi,
        of_cycle: &|cycle| cycle.vi,
    };
    let curves = &figures.curves;
    let section = page.section("Convergence");
    section.paragraph(
        "Lines are means over seeds, bands reach from the least to the greatest; a click in the legend hides a method or shows its seeds one by one. \
         Cycles of the default method in which only a sample of the rows takes part are left out.",
    );
    section.plots(vec![lines::over_cycles(curves, log_joint)]).plots(vec![lines::over_time(curves, log_joint)]);
    section.plots(vec![lines::over_cycles(curves, k)]);
    if curves.iter().flat_map(|curve| &curve.points).any(|point| point.vi.is_some()) {
        let section = page.section("Clustering performance");
        section.paragraph(
            "The distance of the state to the true labels: less is better. A state places doubtful rows at random.",
        );
        section.plots(vec![lines::over_cycles(curves, vi)]).plots(vec![lines::over_time(curves, vi)]);
    }
}

fn add_speed(page: &mut Page, figures: &Figures<'_>, scale: &Scale) {
    if figures.speeds.is_empty() {
        return;
    }
    let section = page.section("Speed-up over CGS");
    section.paragraph(
        "Of a cycle: how many times as long a cycle of CGS takes, the first cycle left out. To the level of CGS: how many times as long CGS takes to its own level; a method with a seed that \
         is not there by its last cycle has no dot. Means over seeds, up to three but for the number of workers of all other figures.",
    );
    let of_a_cycle = speed_plot("Speed-up of a cycle", figures, scale, &|speed| Some(speed.of_a_cycle));
    let to_the_level = speed_plot("Speed-up to the level of CGS", figures, scale, &|speed| speed.to_the_level);
    section.plots(vec![of_a_cycle, to_the_level]);
    let title = format!("Real threads of this machine, {}", workers(scale.n_workers));
    let mut table =
        Table::new(title, &["method", "threads", "real seconds a cycle", "times CGS", "times CGS to its level"]);
    for speed in figures.speeds.iter().filter(|speed| speed.threads.is_some()) {
        table.row([
            speed.method.title.to_owned(),
            speed.threads.map(|threads| threads.to_string()).unwrap_or_default(),
            number(speed.cycle_seconds),
            number(speed.of_a_cycle),
            optional(speed.to_the_level),
        ]);
    }
    section.table(table);
}

fn speed_plot(title: &str, figures: &Figures<'_>, scale: &Scale, value: &dyn Fn(&Speed) -> Option<f64>) -> Plot {
    let mut traces = Vec::new();
    let mut table = Table::new(format!("{title}, on the simulated cluster"), &["workers"]);
    table.columns.extend(figures.curves.iter().skip(1).map(|curve| curve.method.title.to_owned()));
    let speed_of = |method: &str, n_workers: u32| {
        let is_it =
            |speed: &&Speed| speed.method.name == method && speed.n_workers == n_workers && speed.threads.is_none();
        figures.speeds.iter().find(is_it).and_then(value)
    };
    for (ix, curve) in figures.curves.iter().enumerate().skip(1) {
        let points = scale.scaling.iter().filter_map(|&workers| Some((workers, speed_of(curve.method.name, workers)?)));
        let (xs, ys): (Vec<u32>, Vec<f64>) = points.unzip();
        traces.push(json!({"type": "scatter", "mode": "lines+markers", "name": curve.method.title, "x": xs, "y": ys, "line": {"color": colour(ix)}}));
    }
    let most = scale.scaling.last().copied().unwrap_or(1);
    traces.push(json!({"type": "scatter", "mode": "lines", "name": "as many as workers", "x": [1, most], "y": [1, most], "line": {"color": "--soft", "dash": "dot", "width": 1}}));
    for &n_workers in &scale.scaling {
        let cells = figures.curves.iter().skip(1).map(|curve| optional(speed_of(curve.method.name, n_workers)));
        table.row([n_workers.to_string()].into_iter().chain(cells));
    }
    let best = figures.speeds.iter().filter(|speed| speed.threads.is_none() && speed.n_workers == most);
    let ends: Vec<String> =
        best.filter_map(|speed| Some(format!("{} {}", speed.method.title, number(value(speed)?)))).collect();
    let alt = format!(
        "{title} against the number of workers on the simulated cluster. With {}: {}.",
        workers(most),
        ends.join(", ")
    );
    let plot = Plot::new(title, alt, traces, ["workers", "times as fast as CGS"]).table(table);
    plot.layout(json!({"showlegend": true, "yaxis": {"rangemode": "tozero"}})).wide(380)
}

fn add_traffic(page: &mut Page, figures: &Figures<'_>) {
    let section = page.section("Communication");
    let columns = ["method", "KB a cycle", "messages a cycle", "paper: KB a cycle", "paper: messages a cycle"];
    let mut table =
        Table::new("Means over seeds and cycles, the first cycle left out; as encoded, both directions", &columns);
    for summary in &figures.summaries {
        let Some(measured) = summary.traffic else { continue };
        let published = communication::published(figures.set, summary.method.column);
        let kilobytes = |traffic: Option<Traffic>| optional(traffic.map(|traffic| traffic.bytes / 1e3));
        let messages = |traffic: Option<Traffic>| optional(traffic.map(|traffic| traffic.messages));
        let (measured, title) = (Some(measured), format!("{} ({})", summary.method.title, workers(summary.n_workers)));
        table.row([title, kilobytes(measured), messages(measured), kilobytes(published), messages(published)]);
    }
    section.table(table);
    section.paragraph("The paper's figures are those of its Table 1, for 20 workers; it has none for articles. Frames that serve VI and the trace only are not counted.");
}

fn workers(n_workers: u32) -> String {
    if n_workers == 1 { "1 worker".to_owned() } else { format!("{n_workers} workers") }
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

fn ranged(spread: Option<Spread>) -> String {
    match spread {
        None => "–".to_owned(),
        Some(Spread { mean, low, high }) if low == high => number(mean),
        Some(Spread { mean, low, high }) => format!("{} ({} to {})", number(mean), number(low), number(high)),
    }
}
