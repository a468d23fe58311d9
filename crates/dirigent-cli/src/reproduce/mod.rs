//! `dirigent reproduce`: the paper's figures, redrawn from runs of every method on one data set.
//!
//! [`plan`] lists the runs, each a `dirigent fit` command; [`runs`] does those that are not done yet; [`results`] reads their folders again. From there on
//! everything is arithmetic on what the folders say: [`figures`], which [`tables`] and [`page`] show.

mod communication;
mod curves;
mod data;
mod figures;
mod level;
mod lines;
mod methods;
mod page;
mod plan;
mod results;
mod runs;
mod scatter;
mod speed;
mod spread;
mod summary;
mod tables;

use std::fs;
use std::path::Path;
use std::time::Instant;

use dirigent::internals::run_dir::write_json;
use dirigent::{Error, InputError, Result};
use serde::Serialize;

pub(crate) use self::methods::METHODS;

use self::data::Source;
use self::figures::Figures;
use self::plan::Scale;
use self::runs::Laboratory;
use crate::args::ReproduceArgs;
use crate::console::{Console, Talk};

/// The file that marks a folder as one of ours.
const MARK: &str = "reproduce.json";

/// The page.
const PAGE: &str = "reproduction.html";

pub(crate) fn run(args: &ReproduceArgs) -> Result<()> {
    let began = Instant::now();
    let console = Console { talk: if args.quiet { Talk::Quiet } else { Talk::Normal } };
    let source = Source::of(args)?;
    let scale = Scale::of(args, &source)?;
    let trials = plan::trials(&scale);
    claim(&args.out)?;
    write_json(&args.out.join(MARK), &Record::of(&source, &scale))?;
    source.make(&args.out)?;
    let laboratory = Laboratory { source: &source, scale: &scale, folder: &args.out.join("runs"), console };
    console.say(format_args!("{}: {} runs of {} cycles", source.title, trials.len(), scale.n_cycles));
    let input = laboratory.read(&trials)?;
    let runs = laboratory.runs(&trials, &input)?;
    let figures = Figures::of(&runs, &scale, source.set());
    tables::write(&args.out, &figures)?;
    let path = args.out.join(PAGE);
    page::write(&path, &figures, &source, &scale, &input)?;
    console.say(format_args!("written: {} and its tables, in {:.0} s", path.display(), began.elapsed().as_secs_f64()));
    Ok(())
}

/// `reproduce.json`: what was asked for.
#[derive(Serialize)]
struct Record<'a> {
    version: &'static str,
    data: &'a str,
    options: Vec<String>,
    methods: Vec<&'static str>,
    seeds: u64,
    cycles: u64,
    workers: u32,
    scaling: &'a [u32],
    threads: &'a [u32],
}

impl<'a> Record<'a> {
    fn of(source: &'a Source, scale: &'a Scale) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            data: &source.title,
            options: source.words(true),
            methods: scale.methods.iter().map(|method| method.name).collect(),
            seeds: scale.n_seeds,
            cycles: scale.n_cycles,
            workers: scale.n_workers,
            scaling: &scale.scaling,
            threads: &scale.threads,
        }
    }
}

/// Creates the folder, or takes an empty one or one of ours.
fn claim(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|source| Error::io("cannot create", folder, source))?;
    let entries = fs::read_dir(folder).map_err(|source| Error::io("cannot read the folder", folder, source))?;
    if entries.count() > 0 && !folder.join(MARK).exists() {
        let problem = format!("the folder is not empty and has no {MARK}, so it is not ours to fill");
        return Err(InputError::in_file(folder, problem).hint("name another folder with --out").into());
    }
    Ok(())
}
