//! `dirigent fit`: from files and options to a run.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use dirigent::io::labels::read_labels;
use dirigent::io::{DataSet, MemoryRows, Selection};
use dirigent::method::cgs::Draws;
use dirigent::method::{MethodOptions, pilot};
use dirigent::model::{Choice, ColumnFamily, FamilyName, Model, ModelOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::run_dir::{DataRecord, FILES, RunDir, RunOptions, RunRecord, Status, check_folder};
use dirigent::sweep::Kernel;
use dirigent::transform::{Transform, TransformRecord};
use dirigent::{InputError, Result};

use crate::args::{CyclesArg, FitArgs, OutputArgs, RunArgs};
use crate::choose;
use crate::console::{Console, grouped};
use crate::embed::Watcher;
use crate::job::{self, Job};
use crate::keep::{self, Keeper};
use crate::point;
use crate::resume::{self, Resumed};
use crate::said::Said;

/// Cycles after which a chain that has not settled is given up.
pub(crate) const MAX_CYCLES: u64 = 1000;

/// Where the rows are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// In the files that the options name.
    Files,
    /// In memory, with the names of the columns.
    Memory(&'a [MemoryRows], Option<&'a [String]>),
}

pub(crate) fn run(args: &FitArgs, matches: &ArgMatches) -> Result<()> {
    let path = match &args.checkpoints.resume {
        Some(run) => {
            let (args, resumed) = resume::read(run, matches)?;
            fit(&args, Source::Files, &Said::default(), Some(resumed), None)
        }
        None => fit(args, Source::Files, &Said::of(matches), None, None),
    };
    path.map(drop)
}

/// Fits the rows; returns the run folder. A run that somebody watches keeps no checkpoints: it is not the command that would go on with it.
pub(crate) fn fit(
    args: &FitArgs,
    source: Source<'_>,
    said: &Said,
    resumed: Option<Resumed>,
    watcher: Option<Watcher<'_>>,
) -> Result<PathBuf> {
    // all that can be refused without reading the data is refused first
    choose::check(args)?;
    point::check(&args.run)?;
    let (cycles, draws) = plan_draws(&args.run)?;
    let kernel = Kernel::choose(&args.run.kernel)?;
    if let Some(out) = &args.output.out {
        check_folder(out, &FILES, args.output.force)?;
    }
    let console = args.output.console();
    let mut model_options = args.model.options();
    let selection = selection(args, &model_options);
    let data = open(args, source, &selection, &model_options, console)?;
    let transform = prepare(args, &data, console)?;
    let rows = transform.as_ref().map_or_else(|| data.clone(), |(transform, _)| data.transformed(transform));
    (model_options.columns.names, model_options.columns.n_levels) = columns_of(&rows);
    check_draws(draws, args.run.chains, data.n_rows())?;
    let start = labels_of(args.run.start.as_deref(), "--start", &data)?;
    let mut options = choose::method(args, &model_options, cycles, draws, kernel, start, data.n_rows())?;
    let truth = true_labels(args.truth.as_deref(), &data)?;
    let shard = rows.all_rows();
    let survey = options.survey(&shard);
    let (mut model, mut choices) = Model::explain(&model_options, &survey)?;
    if let Some(pilot) = pilot::learn(&shard, &model_options, &model, kernel)? {
        model = Model::resolve(&pilot.options, &survey)?;
        choices.retain(|choice| pilot.choices.iter().all(|learnt| learnt.name != choice.name));
        choices.extend(pilot.choices);
        options.set_model(pilot.options);
    }
    console.say(describe_model(&model, &model_options));
    if args.model.explain_prior {
        choices.iter().for_each(|Choice { name, value, why }| console.say(format_args!("  {name}: {value} ({why})")));
    }

    let keeps_checkpoints = options.keeps_checkpoints();
    if !keeps_checkpoints && args.checkpoints.checkpoint_every.is_some() {
        let problem = "--checkpoint-every does not go with this method on this engine, which keeps no checkpoints";
        return Err(InputError::new(problem).hint("leave it out").into());
    }
    let every = args.checkpoints.checkpoint_every;
    let mut data_record = DataRecord::of(&data, &selection);
    data_record.truth = truth_source(args);
    data_record.transform = transform.as_ref().map(|(_, record)| *record);
    let mut record =
        new_record(data_record, &model, &model_options, args.run.method.name(), kernel, &options, args.run.chains);
    record.options.point = args.run.point();
    let job = Job {
        shard: &shard,
        model: &model,
        transform: transform.as_ref().map(|(transform, _)| transform),
        truth: truth.as_deref(),
        options: &options,
        n_chains: args.run.chains,
        point: args.run.point(),
    };
    let (run_dir, keeper) = match resumed {
        Some(mut resumed) => {
            let checkpoint = resumed.check(&record.data.fingerprint, &model)?;
            (RunDir::reopen(&resumed.run), Keeper::go_on(&resumed.run, every, checkpoint)?)
        }
        None => {
            let run_dir = create_run_dir(&args.output, data.name())?;
            let keeper = if keeps_checkpoints && watcher.is_none() {
                Keeper::begin(run_dir.path(), said, every)?
            } else {
                keep::forget(run_dir.path())?;
                Keeper::none()
            };
            (run_dir, keeper)
        }
    };
    job::run_kept(&job, &run_dir, record, &args.output, keeper, watcher)?;
    Ok(run_dir.path().to_path_buf())
}

/// The record of a run that begins.
pub(crate) fn new_record<'a>(
    data: DataRecord<'a>,
    model: &'a Model,
    model_options: &ModelOptions,
    method: &'static str,
    kernel: Kernel,
    options: &MethodOptions,
    n_chains: u16,
) -> RunRecord<'a> {
    RunRecord {
        status: Status::Running,
        error: None,
        version: env!("CARGO_PKG_VERSION"),
        kernel,
        data,
        model,
        options: RunOptions::new(method, options, n_chains, model_options),
        posterior: None,
        summary: None,
        diagnostics: None,
        warnings: Vec::new(),
    }
}

/// The folder of `--out`, or the next free one.
pub(crate) fn create_run_dir(output: &OutputArgs, name: &str) -> Result<RunDir> {
    match &output.out {
        Some(out) => RunDir::create(out, output.force),
        None => RunDir::create_next(Path::new("runs"), name),
    }
}

/// The family and its priors in words; what the user left out is marked as chosen.
pub(crate) fn describe_model(model: &Model, options: &ModelOptions) -> String {
    let family = if options.family.is_none() { " (chosen for this kind of rows)" } else { "" };
    let mut text = format!("model: {}{family}", model.described().name());
    for (name, value) in model.described().priors() {
        let chosen = if options.gives(name) { "" } else { " (from the data)" };
        text += &format!(", {name} {value:.4}{chosen}");
    }
    text
}

/// A chain that ends by itself keeps states once it has settled. One of fixed length is twice as long as the part that is kept: the first half is
/// its way in.
fn plan_draws(args: &RunArgs) -> Result<(Cycles, Option<Draws>)> {
    let (cycles, usual_thin) = match args.cycles {
        CyclesArg::Auto => (Cycles::Auto { max: args.max_cycles.unwrap_or(MAX_CYCLES) }, 1),
        CyclesArg::Fixed(n) => (Cycles::Fixed(n), (n / args.draws.unwrap_or(1).saturating_mul(2)).max(1)),
    };
    let Some(n_draws) = args.draws else { return Ok((cycles, None)) };
    let thin = args.thin.unwrap_or(usual_thin);
    let twice = n_draws.checked_mul(thin).and_then(|kept| kept.checked_mul(2));
    match (twice, usize::try_from(n_draws)) {
        (Some(twice), Ok(n_draws)) => {
            let cycles = match cycles {
                Cycles::Auto { .. } => cycles,
                Cycles::Fixed(n) => Cycles::Fixed(n.max(twice)),
            };
            Ok((cycles, Some(Draws { n_draws, thin })))
        }
        _ => Err(too_many_draws(format!("--draws {n_draws} with --thin {thin} needs more cycles than can be counted"))),
    }
}

fn check_draws(draws: Option<Draws>, n_chains: u16, n_rows: usize) -> Result<()> {
    let Some(Draws { n_draws, .. }) = draws else { return Ok(()) };
    let cells = n_draws.checked_mul(n_rows).and_then(|cells| cells.checked_mul(usize::from(n_chains)));
    if cells.is_none_or(|cells| cells > isize::MAX as usize / 4) {
        let of_chains = if n_chains > 1 { format!(" and {n_chains} chains") } else { String::new() };
        return Err(too_many_draws(format!("--draws {n_draws} of {n_rows} rows{of_chains} do not fit a file")));
    }
    Ok(())
}

fn too_many_draws(problem: String) -> dirigent::Error {
    InputError::new(problem).hint("ask for fewer with --draws").into()
}

/// The rows, as counts where the family wants counts.
fn open(
    args: &FitArgs,
    source: Source<'_>,
    selection: &Selection,
    options: &ModelOptions,
    console: Console,
) -> Result<DataSet> {
    let data = match source {
        Source::Files => DataSet::open(&args.data, selection)?,
        Source::Memory(parts, names) => DataSet::of_memory(parts, names, selection)?,
    };
    let (rows, columns) = (grouped(data.n_rows() as u64), grouped(data.n_columns() as u64));
    console.say(format_args!("data: {} ({rows} rows, {columns} columns)", data.name()));
    if options.family == Some(FamilyName::Multinomial) && !data.is_counts() {
        return data.into_counts();
    }
    if options.family.is_none()
        && let Some(ix) = data.levels().iter().position(Option::is_some)
    {
        let name = data.column_names().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone());
        console.say(format_args!(
            "column {name} holds text and is fitted too; if it has the true labels: --label-column {name}"
        ));
    }
    Ok(data)
}

/// The columns to read; those that are to be categorical are text.
fn selection(args: &FitArgs, options: &ModelOptions) -> Selection {
    let families = &options.columns.families;
    let is_text = |(_, family): &&(String, ColumnFamily)| *family == ColumnFamily::Categorical;
    let text_columns = families.iter().filter(is_text).map(|(name, _)| name.clone()).collect();
    Selection { text_columns, ..args.selection.selection() }
}

/// What the columns are called, and how many levels those have that hold text.
fn columns_of(data: &DataSet) -> (Vec<String>, Vec<Option<usize>>) {
    let names = data.column_names().map(<[String]>::to_vec).unwrap_or_default();
    let levels = data.levels();
    let n_levels = if levels.iter().any(Option::is_some) {
        levels.iter().map(|levels| levels.as_ref().map(Vec::len)).collect()
    } else {
        Vec::new()
    };
    (names, n_levels)
}

/// What is to be done to the rows before the fit, if anything was asked for.
fn prepare(args: &FitArgs, data: &DataSet, console: Console) -> Result<Option<(Transform, TransformRecord)>> {
    let options = args.transform();
    if options.is_nothing() {
        return Ok(None);
    }
    let (transform, record) = options.resolve(data)?;
    if record.standardize {
        console.say("standardized: every column has mean 0 and standard deviation 1");
    }
    if record.normalize {
        console.say("normalized: every row has length 1");
    }
    if let (Some(n_components), Some(kept)) = (record.pca, record.variance_kept) {
        let (columns, percent) = (data.n_columns(), 100.0 * kept);
        console
            .say(format_args!("pca: kept {n_components} of {columns} components, with {percent:.1} % of the variance"));
    }
    Ok(Some((transform, record)))
}

fn true_labels(file: Option<&Path>, data: &DataSet) -> Result<Option<Vec<u32>>> {
    let in_data = || data.truth().map(|truth| truth.labels.clone());
    Ok(labels_of(file, "--truth", data)?.or_else(in_data))
}

/// The labels in a file, one for each row of the data.
fn labels_of(file: Option<&Path>, option: &str, data: &DataSet) -> Result<Option<Vec<u32>>> {
    let Some(file) = file else { return Ok(None) };
    let labels = read_labels(file)?.labels;
    if labels.len() != data.n_rows() {
        let problem = format!("has {} labels, but the data has {} rows", labels.len(), data.n_rows());
        let hint = format!("{option} needs one label a row, in the same order");
        return Err(InputError::in_file(file, problem).hint(hint).into());
    }
    Ok(Some(labels))
}

fn truth_source(args: &FitArgs) -> Option<String> {
    let column = args.selection.label_column.as_ref().map(|column| format!("column {column}"));
    args.truth.as_ref().map(|file| file.display().to_string()).or(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn plan(options: &[&str]) -> Result<(Cycles, Option<Draws>)> {
        let args = ["dirigent", "fit", "x.npy"].iter().chain(options);
        let cli = crate::args::Cli::try_parse_from(args).unwrap();
        let crate::args::Command::Fit(args) = cli.command else { panic!("fit was asked for") };
        plan_draws(&args.run)
    }

    #[test]
    fn the_chain_is_at_least_twice_as_long_as_what_is_kept() {
        let draws = |n_draws, thin| Some(Draws { n_draws, thin });
        let fixed = |options: &[&str]| match plan(&[&["--cycles", "50"], options].concat()).unwrap() {
            (Cycles::Fixed(cycles), draws) => (cycles, draws),
            (Cycles::Auto { .. }, _) => panic!("fixed cycles were asked for"),
        };
        assert_eq!(fixed(&[]), (50, None));
        assert_eq!(fixed(&["--draws", "5"]), (50, draws(5, 5)));
        assert_eq!(fixed(&["--draws", "100"]), (200, draws(100, 1)));
        assert_eq!(fixed(&["--draws", "5", "--thin", "7"]), (70, draws(5, 7)));
        assert_eq!(fixed(&["--draws", "5", "--thin", "2"]), (50, draws(5, 2)));
        assert!(plan(&["--cycles", "9", "--draws", "18446744073709551615"]).is_err());
    }

    #[test]
    fn a_chain_that_ends_by_itself_keeps_every_state_unless_told_otherwise() {
        let auto = |max| Cycles::Auto { max };
        assert_eq!(plan(&[]).unwrap(), (auto(1000), None));
        assert_eq!(plan(&["--cycles", "auto", "--max-cycles", "7"]).unwrap(), (auto(7), None));
        assert_eq!(plan(&["--draws", "5"]).unwrap(), (auto(1000), Some(Draws { n_draws: 5, thin: 1 })));
        assert_eq!(plan(&["--draws", "5", "--thin", "3"]).unwrap(), (auto(1000), Some(Draws { n_draws: 5, thin: 3 })));
        assert!(plan(&["--draws", "18446744073709551615"]).is_err());
    }
}
