//! `dirigent cut`: clusters of a run at another resolution, without the data.

use std::io::{self, Write};
use std::path::Path;

use dirigent::internals::io::labels::read_labels;
use dirigent::internals::run_dir::{write_file, write_labels};
use dirigent::{Cut, InputError, Result, Tree};
use serde::Serialize;

use crate::args::{ClustersArg, CutArgs};
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
    let cut = cut(&tree, args.clusters, args.min_share)?;
    let components = read_components(&args.run, tree.n_components())?;
    let labels = cut.labels(&components);
    let console = args.console();
    let (n_clusters, n_components) = (cut.n_clusters(), tree.n_components());
    let noun = if n_clusters == 1 { "cluster" } else { "clusters" };
    console.say(format_args!("{} {noun} of {} components", grouped(n_clusters as u64), grouped(n_components as u64)));
    if let ClustersArg::Number(asked) = args.clusters
        && n_clusters < asked as usize
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

/// The cut that was asked for.
pub(crate) fn cut(tree: &Tree, clusters: ClustersArg, min_share: Option<f64>) -> Result<Cut> {
    match (clusters, min_share) {
        (ClustersArg::Number(asked), _) if asked as usize > tree.n_components() => {
            let problem = format!("--clusters {asked} is more than the {} components of the run", tree.n_components());
            Err(InputError::new(problem).hint("`--clusters components` has the most clusters").into())
        }
        (ClustersArg::Number(asked), share) => Ok(tree.cut(asked as usize, share.unwrap_or(0.0))),
        (ClustersArg::Auto | ClustersArg::Components, Some(_)) => {
            let error = InputError::new("--min-share needs a number of clusters");
            Err(error.hint("give --clusters 10, or leave --min-share out").into())
        }
        (ClustersArg::Auto, None) => Ok(tree.layer()),
        (ClustersArg::Components, None) => Ok(tree.components()),
    }
}

/// The component of each row of the fit.
fn read_components(run: &Path, n_components: usize) -> Result<Vec<u32>> {
    let own = run.join("component_labels.npy");
    let path = if own.exists() { own } else { run.join("labels.npy") };
    read_labels(&path)?.numbers(n_components).ok_or_else(|| {
        let problem = format!("has labels that are none of the {n_components} components of tree.json");
        InputError::in_file(&path, problem).hint("the files are of different runs: fit again").into()
    })
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
