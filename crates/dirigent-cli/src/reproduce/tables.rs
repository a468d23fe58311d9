//! The tables that the page is drawn from, as CSV files.

use std::io::Write as _;
use std::path::Path;

use dirigent::Result;
use dirigent::internals::run_dir::write_file;

use super::communication;
use super::figures::Figures;
use super::plan::Place;
use super::results::{Cycle, Run};
use super::spread::Spread;

/// All tables, by file name.
pub(crate) fn write(folder: &Path, figures: &Figures<'_>) -> Result<()> {
    let tables = [
        ("summary.csv", summary(figures)),
        ("curves.csv", curves(figures)),
        ("speedup.csv", speedup(figures)),
        ("communication.csv", traffic(figures)),
        ("runs.csv", runs(figures)),
        ("traces.csv", traces(figures)),
    ];
    tables.into_iter().try_for_each(|(name, table)| table.write(&folder.join(name)))
}

/// A table with the names of its columns; cells never hold a comma.
struct Table {
    header: String,
    lines: Vec<Vec<String>>,
}

impl Table {
    fn write(&self, path: &Path) -> Result<()> {
        write_file(path, |file| {
            writeln!(file, "{}", self.header)?;
            self.lines.iter().try_for_each(|cells| writeln!(file, "{}", cells.join(",")))
        })
    }
}

fn summary(figures: &Figures<'_>) -> Table {
    let spreads = ["k", "log_joint", "above_truth", "vi", "vi_labels", "nmi_labels"];
    let spread_names: Vec<String> = spreads.iter().map(|name| format!("{name}_mean,{name}_low,{name}_high")).collect();
    let header = format!(
        "method,workers,seeds,{},seeds_at_cgs_level,cycles_to_cgs_level,cluster_seconds_to_cgs_level,real_seconds_to_cgs_level,\
         cluster_seconds_a_cycle,real_seconds_a_cycle,bytes_a_cycle,messages_a_cycle",
        spread_names.join(",")
    );
    let line = |summary: &super::summary::MethodSummary| {
        let mut cells =
            vec![summary.method.name.to_owned(), summary.n_workers.to_string(), summary.n_seeds.to_string()];
        let spreads = [
            Some(summary.k),
            Some(summary.log_joint),
            summary.above_truth,
            summary.vi,
            summary.vi_labels,
            summary.nmi_labels,
        ];
        cells.extend(spreads.into_iter().flat_map(three));
        let arrival = &summary.arrival;
        cells.push(arrival.n_reached.to_string());
        let numbers = [
            arrival.cycles,
            arrival.cluster_seconds,
            arrival.real_seconds,
            summary.cluster_cycle,
            summary.real_cycle,
            summary.traffic.map(|traffic| traffic.bytes),
            summary.traffic.map(|traffic| traffic.messages),
        ];
        cells.extend(numbers.map(one));
        cells
    };
    Table { header, lines: figures.summaries.iter().map(line).collect() }
}

fn curves(figures: &Figures<'_>) -> Table {
    let header = "method,cycle,seeds,cluster_seconds,real_seconds,log_joint_mean,log_joint_low,log_joint_high,\
                  k_mean,k_low,k_high,vi_mean,vi_low,vi_high";
    let mut lines = Vec::new();
    for curve in &figures.curves {
        for point in &curve.points {
            let mut cells = vec![curve.method.name.to_owned(), point.cycle.to_string(), curve.runs.len().to_string()];
            cells.extend([Some(point.cluster_seconds), Some(point.real_seconds)].map(one));
            cells.extend([Some(point.log_joint), Some(point.k), point.vi].into_iter().flat_map(three));
            lines.push(cells);
        }
    }
    Table { header: header.to_owned(), lines }
}

fn speedup(figures: &Figures<'_>) -> Table {
    let line = |speed: &super::speed::Speed| {
        let clock = if speed.threads.is_some() { "real" } else { "cluster" };
        let threads = speed.threads.map(|threads| threads.to_string()).unwrap_or_default();
        let mut cells = vec![speed.method.name.to_owned(), clock.to_owned(), speed.n_workers.to_string(), threads];
        cells.extend([Some(speed.cycle_seconds), Some(speed.of_a_cycle), speed.to_the_level].map(one));
        cells
    };
    let header = "method,clock,workers,threads,seconds_a_cycle,speedup_of_a_cycle,speedup_to_cgs_level".to_owned();
    Table { header, lines: figures.speeds.iter().map(line).collect() }
}

fn traffic(figures: &Figures<'_>) -> Table {
    let mut lines = Vec::new();
    for summary in &figures.summaries {
        let Some(measured) = summary.traffic else { continue };
        let published = communication::published(figures.set, summary.method.column);
        let mut cells = vec![summary.method.name.to_owned(), summary.n_workers.to_string()];
        cells.extend([Some(measured.bytes), Some(measured.messages)].map(one));
        cells.extend(
            [published.map(|published| published.bytes), published.map(|published| published.messages)].map(one),
        );
        lines.push(cells);
    }
    let header = "method,workers,bytes_a_cycle,messages_a_cycle,paper_bytes_a_cycle,paper_messages_a_cycle".to_owned();
    Table { header, lines }
}

fn runs(figures: &Figures<'_>) -> Table {
    let line = |run: &Run| {
        let summary = &run.summary;
        let mut cells = names(run);
        cells.push(run.cycles.len().to_string());
        cells.push(summary.k.to_string());
        let cluster_seconds = run.cycles.last().and_then(|cycle| cycle.cluster_seconds);
        let numbers = [
            Some(summary.log_joint),
            summary.log_joint_truth,
            summary.vi,
            summary.vi_labels,
            summary.nmi_labels,
            Some(summary.seconds),
            cluster_seconds,
        ];
        cells.extend(numbers.map(one));
        cells.push(format!("runs/{}", run.trial.name()));
        cells
    };
    let header = "method,place,workers,seed,cycles,k,log_joint,log_joint_truth,vi,vi_labels,nmi_labels,real_seconds,cluster_seconds,folder";
    Table { header: header.to_owned(), lines: figures.runs.iter().map(line).collect() }
}

fn traces(figures: &Figures<'_>) -> Table {
    let mut lines = Vec::new();
    for run in figures.runs {
        for cycle in &run.cycles {
            let Cycle { cycle, real_seconds, cluster_seconds, log_joint, k, vi, bytes, messages, rows } = cycle;
            let mut cells = names(run);
            cells.push(cycle.to_string());
            cells.extend([*cluster_seconds, Some(*real_seconds), Some(*log_joint), *vi].map(one));
            cells.extend([k, bytes, messages, rows].map(u64::to_string));
            lines.push(cells);
        }
    }
    let header = "method,place,workers,seed,cycle,cluster_seconds,real_seconds,log_joint,vi,k,bytes,messages,rows";
    Table { header: header.to_owned(), lines }
}

/// What tells a run from others.
fn names(run: &Run) -> Vec<String> {
    let trial = &run.trial;
    let place = match trial.place {
        Place::Serial => "one worker".to_owned(),
        Place::Cluster => "simulated cluster".to_owned(),
        Place::Threads(threads) => format!("threads {threads}"),
    };
    vec![trial.method.name.to_owned(), place, trial.n_workers.to_string(), trial.seed.to_string()]
}

fn three(spread: Option<Spread>) -> [String; 3] {
    [spread.map(|spread| spread.mean), spread.map(|spread| spread.low), spread.map(|spread| spread.high)].map(one)
}

/// A number in as many digits as matter; nothing where there is none.
fn one(number: Option<f64>) -> String {
    match number {
        Some(number) if number.is_finite() && (number == 0.0 || number.abs() >= 1.0) => trimmed(format!("{number:.4}")),
        Some(number) if number.is_finite() => trimmed(format!("{number:.7}")),
        _ => String::new(),
    }
}

fn trimmed(number: String) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [Some(0.0), Some(-123_456.5), Some(0.000_123_4), Some(f64::NAN), None].map(one);
        assert_eq!(shown, ["0", "-123456.5", "0.0001234", "", ""]);
    }
}
