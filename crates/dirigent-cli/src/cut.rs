//! `dirigent cut`: clusters of a run at another resolution, without the data.

use std::io::{self, Write};
use std::path::Path;

use dirigent::internals::fit::read_component_labels;
use dirigent::internals::run_dir::{write_file, write_labels};
use dirigent::{Clusters, InputError, Result, Tree};
use serde::Serialize;

use crate::args::CutArgs;
use crate::console::grouped;

/// What was cut, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    n_clusters: usize,
    n_components: usize,
    /// The rows of each cluster.
    sizes: Vec<u64>,
    /// The cluster of each component.
    clusters: Vec<u32>,
}

pub(crate) fn run(args: &CutArgs) -> Result<()> {
    check(&args.out)?;
    let tree = Tree::read(&args.run)?;
    let cut = tree.clusters(args.clusters, args.min_share)?;
    let labels = cut.labels(&read_component_labels(&args.run, tree.n_components())?);
    let console = args.console();
    let (n_clusters, n_components) = (cut.n_clusters(), tree.n_components());
    let noun = if n_clusters == 1 { "cluster" } else { "clusters" };
    console.say(format_args!("{} {noun} of {} components", grouped(n_clusters as u64), grouped(n_components as u64)));
    if let Clusters::Number(asked) = args.clusters
        && n_clusters < asked
    {
        console.say(format_args!(
            "note: no more clusters have the least share of the rows: found {n_clusters}, expected {asked}"
        ));
    }
    match &args.out {
        Some(path) if is_array(path) => write_labels(path, &labels)?,
        Some(path) => write_file(path, |file| write_table(file, &labels))?,
        None if args.json => {}
        None => console.stream(|out| write_table(out, &labels))?,
    }
    if args.json {
        let mut sizes = vec![0; n_clusters];
        labels.iter().for_each(|&label| sizes[label as usize] += 1);
        return console.print_json(&Report { n_clusters, n_components, sizes, clusters: cut.clusters().to_vec() });
    }
    Ok(())
}

fn is_array(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

fn check(out: &Option<std::path::PathBuf>) -> Result<()> {
    let Some(path) = out else { return Ok(()) };
    if is_array(path) || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return Ok(());
    }
    let error = InputError::in_file(path, "--out must end in .csv (a table) or .npy (an array)");
    Err(error.hint("name the file so").into())
}

fn write_table(out: &mut dyn Write, labels: &[u32]) -> io::Result<()> {
    writeln!(out, "row,label")?;
    labels.iter().enumerate().try_for_each(|(row, label)| writeln!(out, "{row},{label}"))
}
