//! `dirigent predict`: what the model of a run says of rows.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use dirigent::internals::fit::read_clusters;
use dirigent::internals::io::DataSet;
use dirigent::internals::posterior::predictive::Predictor;
use dirigent::internals::rows::Shard;
use dirigent::internals::run_dir::{FittedModel, NpyWriter, write_file};
use dirigent::{Cut, InputError, Kernel, Prediction, Result};
use serde::Serialize;

use crate::args::{PredictArgs, PredictOutputArgs};
use crate::console::{Console, grouped};
use crate::fit::say_what_is_fetched;

pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    // all that can be refused without reading the data is refused first
    let target = Target::new(&args.output, &args.data)?;
    let mut fitted = FittedModel::read(&args.run)?;
    if let Some(header) = args.header {
        fitted.columns.selection.header = header.library();
    }
    let cut = read_clusters(&args.run, fitted.components.len(), args.clusters, args.min_share)?;
    let console = args.output.console();
    let data = open(&fitted, args, console)?;
    let cores = || available_parallelism().map_or(1, |cores| cores.get());
    let n_threads = args.threads.map_or_else(cores, |threads| threads as usize).min(data.n_rows());
    let mut job = Job {
        predictor: Predictor::new(&fitted.model, &fitted.components, fitted.alpha, Kernel::best(), n_threads),
        cut,
        rows: data.all_rows(),
        has_probabilities: args.output.proba,
        has_log_density: args.output.log_density,
        tally: Tally::default(),
    };
    match target {
        Target::Nowhere => job.each(|_, _, _| dirigent::Result::<()>::Ok(()))?,
        Target::Stdout => console.stream(|out| job.write_table(out))?,
        Target::Table(path) => write_file(&path, |file| job.write_table(file))?,
        Target::Labels(path) => job.write_labels(&path)?,
        Target::LogDensity(path) => job.write_log_density(&path)?,
        Target::Probabilities(path) => job.write_probabilities(&path)?,
    }
    job.tally.report(&args.output, console)
}

/// The rows with the columns of the fit.
fn open(fitted: &FittedModel, args: &PredictArgs, console: Console) -> Result<DataSet> {
    say_what_is_fetched(&args.data, console);
    let (data, notes) = fitted.columns.open_with(&args.data, &args.storage.storage())?;
    let (rows, components) = (grouped(data.n_rows() as u64), grouped(fitted.components.len() as u64));
    console.say(format_args!("data: {} ({rows} rows), model: {components} components", data.name()));
    notes.iter().for_each(|note| console.say(note));
    fitted.prepare(data)
}

/// Where the predictions go.
enum Target {
    Nowhere,
    Stdout,
    Table(PathBuf),
    Labels(PathBuf),
    LogDensity(PathBuf),
    Probabilities(PathBuf),
}

impl Target {
    fn new(args: &PredictOutputArgs, data: &[PathBuf]) -> Result<Self> {
        let Some(out) = &args.out else { return Ok(if args.json { Self::Nowhere } else { Self::Stdout }) };
        let is_same = |data: &PathBuf| {
            fs::canonicalize(data).is_ok_and(|data| fs::canonicalize(out).is_ok_and(|out| out == data))
        };
        if data.iter().any(is_same) {
            let error = InputError::in_file(out, "is a file of the data, which --out would replace");
            return Err(error.hint("name another file").into());
        }
        let extension = out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match (extension.as_deref(), args.proba, args.log_density) {
            (Some("csv"), ..) => Ok(Self::Table(out.clone())),
            (Some("npy"), false, false) => Ok(Self::Labels(out.clone())),
            (Some("npy"), true, false) => Ok(Self::Probabilities(out.clone())),
            (Some("npy"), false, true) => Ok(Self::LogDensity(out.clone())),
            (Some("npy"), true, true) => {
                let error = InputError::in_file(out, "--proba and --log-density do not fit one array");
                Err(error.hint("write a .csv, which holds both, or two arrays one after the other").into())
            }
            _ => {
                let error = InputError::in_file(out, "--out must end in .csv (a table) or .npy (an array)");
                Err(error.hint("name the file so").into())
            }
        }
    }
}

/// Rows to predict, and what was found of them so far.
struct Job {
    predictor: Predictor,
    /// What labels are.
    cut: Cut,
    rows: Shard,
    has_probabilities: bool,
    has_log_density: bool,
    tally: Tally,
}

impl Job {
    /// Predicts the rows block by block: `take` gets the first row of a block, its predictions and, where they are asked for, its probabilities.
    fn each<E>(&mut self, mut take: impl FnMut(usize, &[Prediction], &[f64]) -> Result<(), E>) -> Result<(), E> {
        let Self { predictor, cut, rows, has_probabilities, tally, .. } = self;
        predictor.each_block(rows, Some(cut), *has_probabilities, |first_row, predictions, probabilities| {
            tally.add(predictions);
            take(first_row, predictions, probabilities)
        })
    }

    /// The number of clusters that labels are of.
    fn n_labels(&self) -> usize {
        self.cut.n_clusters()
    }

    fn write_table(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let (has_log_density, has_probabilities) = (self.has_log_density, self.has_probabilities);
        let n_components = self.n_labels();
        write!(out, "row,label,certainty,p_new{}", if has_log_density { ",log_density" } else { "" })?;
        if self.has_probabilities {
            (0..n_components).try_for_each(|component| write!(out, ",p_{component}"))?;
        }
        writeln!(out)?;
        self.each(|first_row, predictions, probabilities| {
            let probabilities = if has_probabilities { probabilities } else { &[] };
            let mut probabilities = probabilities.chunks_exact(n_components + 1);
            for (ix, prediction) in predictions.iter().enumerate() {
                let Prediction { label, certainty, p_new, log_density } = prediction.with_new();
                // {:?} writes small numbers with an exponent
                write!(out, "{},{label},{certainty:?},{p_new:?}", first_row + ix)?;
                if has_log_density {
                    write!(out, ",{log_density}")?;
                }
                if let Some((_, of_components)) = probabilities.next().and_then(<[f64]>::split_last) {
                    of_components.iter().try_for_each(|p| write!(out, ",{p:?}"))?;
                }
                writeln!(out)?;
            }
            Ok(())
        })
    }

    fn write_labels(&mut self, path: &Path) -> Result<()> {
        let mut file = NpyWriter::create(path, &[self.rows.n_rows()])?;
        self.each(|_, predictions, _| {
            let labels: Vec<u32> = predictions.iter().map(|prediction| prediction.label).collect();
            file.write_labels(&labels)
        })?;
        file.finish()
    }

    fn write_log_density(&mut self, path: &Path) -> Result<()> {
        let mut file = NpyWriter::create(path, &[self.rows.n_rows()])?;
        self.each(|_, predictions, _| file.write(predictions.iter().map(|prediction| prediction.log_density)))?;
        file.finish()
    }

    fn write_probabilities(&mut self, path: &Path) -> Result<()> {
        let mut file = NpyWriter::create(path, &[self.rows.n_rows(), self.n_labels() + 1])?;
        self.each(|_, _, probabilities| file.write(probabilities.iter().copied()))?;
        file.finish()
    }
}

/// Rows that fit no cluster and are named.
const SHOWN_ROWS: usize = 10;

/// What there is to say of all rows together.
#[derive(Default)]
struct Tally {
    rows: u64,
    /// The first of the rows that fit no cluster.
    first_new: Vec<u64>,
    new_rows: u64,
    sum_log_density: f64,
}

/// The tally as `--json` prints it.
#[derive(Serialize)]
struct Report {
    rows: u64,
    /// Rows with p_new above one half.
    new_rows: u64,
    mean_log_density: Option<f64>,
}

impl Tally {
    fn add(&mut self, predictions: &[Prediction]) {
        let new = (self.rows..).zip(predictions).filter(|(_, prediction)| prediction.p_new > 0.5).map(|(row, _)| row);
        self.first_new.extend(new.take(SHOWN_ROWS.saturating_sub(self.first_new.len())));
        self.rows += predictions.len() as u64;
        self.new_rows += predictions.iter().filter(|prediction| prediction.p_new > 0.5).count() as u64;
        self.sum_log_density += predictions.iter().map(|prediction| prediction.log_density).sum::<f64>();
    }

    fn report(&self, args: &PredictOutputArgs, console: Console) -> Result<()> {
        let mean_log_density = self.sum_log_density / self.rows as f64;
        if self.new_rows > 0 {
            let (new, rows) = (grouped(self.new_rows), grouped(self.rows));
            let (fit, row) = if self.new_rows == 1 { ("fits", "row") } else { ("fit", "rows") };
            let shown: Vec<_> = self.first_new.iter().map(u64::to_string).collect();
            let more = if self.new_rows as usize > shown.len() { ", …" } else { "" };
            let shown = shown.join(", ");
            console.say(format_args!(
                "note: {new} of {rows} rows {fit} no known cluster (p_new above 0.5): {row} {shown}{more}"
            ));
        }
        if args.log_density {
            console.say(format_args!("mean log density: {mean_log_density} over {} rows", grouped(self.rows)));
        }
        if args.json {
            let mean_log_density = args.log_density.then_some(mean_log_density);
            return console.print_json(&Report { rows: self.rows, new_rows: self.new_rows, mean_log_density });
        }
        Ok(())
    }
}
