//! `dirigent update` and `dirigent merge`: runs that grow, without the rows that made them.

use std::path::Path;

use dirigent::internals::fit::grouped;
use dirigent::{Error, Fitted, InputError, Interrupt, Observer, Result};
use serde::Serialize;

use crate::args::{MergeArgs, ResultArgs, UpdateArgs};
use crate::fit::say_what_is_fetched;
use crate::{report, signals};

/// What has come of it, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    run: String,
    batches: u64,
    rows: i64,
    n_clusters: usize,
    n_components: usize,
    /// The number of each cluster, by its label.
    clusters: Vec<u64>,
    /// What happened to clusters in the last batch.
    events: Vec<dirigent::ClusterEvent>,
    seconds: f64,
}

/// Sees Ctrl-C.
struct Watcher(Interrupt);

impl Observer for Watcher {
    fn interrupt(&mut self) -> Interrupt {
        self.0.clone()
    }
}

pub(crate) fn update(args: &UpdateArgs) -> Result<()> {
    let console = args.output.console();
    let before = Fitted::load(&args.run)?;
    say_what_is_fetched(&args.data, console);
    let read = before.columns().open_with(&args.data, &args.storage.storage())?;
    let updated = before.update_with(read, None, args.forget, &mut Watcher(signals::watch()))?;
    let out = args.output.out.as_deref();
    match out {
        Some(out) => updated.save(out)?,
        None => updated.save_over(&args.run)?,
    }
    conclude(&updated, out.unwrap_or(&args.run), &args.output)
}

pub(crate) fn merge(args: &MergeArgs) -> Result<()> {
    let Some(out) = &args.output.out else {
        let error = InputError::new("`out` is missing: the merged run needs a folder of its own");
        return Err(error.hint("name it with `out`").into());
    };
    let models: Vec<Fitted> = args.runs.iter().map(Fitted::load).collect::<Result<_, Error>>()?;
    let merged = Fitted::merge(&models)?;
    merged.save(out)?;
    conclude(&merged, out, &args.output)
}

fn conclude(fitted: &Fitted, run: &Path, output: &ResultArgs) -> Result<()> {
    let console = output.console();
    fitted.warnings().iter().for_each(|warning| console.say(format_args!("warning: {warning}")));
    if let Err(error) = report::write(run) {
        console.say(format_args!("warning: there is no report: {error}"));
    }
    let last = fitted.n_batches() - 1;
    let events: Vec<_> = fitted.events().iter().filter(|event| event.batch == last && last > 0).cloned().collect();
    if output.json {
        return console.print_json(&Report {
            run: run.display().to_string(),
            batches: fitted.n_batches(),
            rows: fitted.components().iter().map(|stats| stats.count).sum(),
            n_clusters: fitted.clusters().n_clusters(),
            n_components: fitted.n_components(),
            clusters: fitted.cluster_ids(),
            events,
            seconds: fitted.summary().seconds,
        });
    }
    let n_rows: i64 = fitted.components().iter().map(|stats| stats.count).sum();
    console.say(format_args!(
        "{} clusters of {} components, {} rows in {} batches",
        grouped(fitted.clusters().n_clusters() as u64),
        grouped(fitted.n_components() as u64),
        grouped(n_rows as u64),
        fitted.n_batches()
    ));
    for event in &events {
        let other = match (event.kind.name(), event.other) {
            ("split", Some(other)) => format!(" from cluster {other}"),
            (_, Some(other)) => format!(" into cluster {other}"),
            (_, None) => String::new(),
        };
        console.say(format_args!("cluster {} {}{other} ({} rows)", event.cluster, event.kind.name(), event.n_rows));
    }
    console.say(format_args!("written to {}", run.display()));
    Ok(())
}
