//! `dirigent fit`: from files and options to a run.

use std::path::Path;

use dirigent::io::labels::read_labels;
use dirigent::io::{DataSet, Selection, read_vocabulary};
use dirigent::method::cgs::Draws;
use dirigent::method::{MethodOptions, pilot};
use dirigent::model::{Choice, ColumnFamily, FamilyName, Model, ModelOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::rows::Shard;
use dirigent::run_dir::{DataRecord, FILES, RunDir, RunOptions, RunRecord, Status, check_folder};
use dirigent::sweep::Kernel;
use dirigent::transform::{Transform, TransformRecord};
use dirigent::{InputError, Result};

use crate::args::{CyclesArg, FitArgs, OutputArgs, RunArgs};
use crate::choose;
use crate::console::{Console, grouped};
use crate::job::{self, Job};
use crate::point;
use crate::watch::Watch;

/// Cycles after which a chain that has not settled is given up.
const MAX_CYCLES: u64 = 1000;

pub(crate) fn run(args: &FitArgs) -> Result<()> {
    // all that can be refused without reading the data is refused first
    check(args)?;
    if let Some(out) = &args.output.out {
        check_folder(out, &FILES, args.output.force)?;
    }
    let console = args.output.console();
    let input = Input::read(args)?;
    let fit = Fit::prepare(args, &input)?;
    console.say(describe_model(&fit.model, &input.model_options));
    if args.model.explain_prior {
        let say = |Choice { name, value, why }: &Choice| console.say(format_args!("  {name}: {value} ({why})"));
        fit.choices.iter().for_each(say);
    }
    let run_dir = create_run_dir(&args.output, input.data.name())?;
    fit.run(&run_dir)
}

/// Refuses, before any data is read, options that do not go together.
pub(crate) fn check(args: &FitArgs) -> Result<()> {
    choose::check(args)?;
    point::check(&args.run)?;
    Watch::check(args.output.watch.as_deref())?;
    plan_draws(&args.run)?;
    Kernel::choose(&args.run.kernel).map(|_| ())
}

/// What is fitted, as read: fits that differ in nothing but method and run may share it.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) data: DataSet,
    pub(crate) truth: Option<Vec<u32>>,
    selection: Selection,
    transform: Option<(Transform, TransformRecord)>,
    /// The data after the transform.
    rows: DataSet,
    model_options: ModelOptions,
}

impl Input {
    /// The same rows, nothing known of their clusters: what is not measured takes no time.
    pub(crate) fn without_truth(&self) -> Self {
        Self { truth: None, ..self.clone() }
    }

    /// Reads what the options name.
    pub(crate) fn read(args: &FitArgs) -> Result<Self> {
        let console = args.output.console();
        let mut model_options = args.model.options();
        let selection = selection(args, &model_options);
        let data = open(args, &selection, &model_options, console)?;
        let data = with_vocabulary(args, data)?;
        let transform = prepare(args, &data, console)?;
        let rows = transform.as_ref().map_or_else(|| data.clone(), |(transform, _)| data.transformed(transform));
        (model_options.columns.names, model_options.columns.n_levels) = columns_of(&rows);
        let truth = true_labels(args.truth.as_deref(), &data)?;
        Ok(Self { data, truth, selection, transform, rows, model_options })
    }
}

/// A fit that could begin: every prior is resolved.
pub(crate) struct Fit<'a> {
    args: &'a FitArgs,
    input: &'a Input,
    shard: Shard,
    model: Model,
    choices: Vec<Choice>,
    options: MethodOptions,
    kernel: Kernel,
}

impl<'a> Fit<'a> {
    /// Options that [`check`] lets through, and what they have read.
    pub(crate) fn prepare(args: &'a FitArgs, input: &'a Input) -> Result<Self> {
        let Input { data, rows, model_options, .. } = input;
        let (cycles, draws) = plan_draws(&args.run)?;
        let kernel = Kernel::choose(&args.run.kernel)?;
        check_draws(draws, args.run.chains, data.n_rows())?;
        let start = labels_of(args.run.start.as_deref(), "--start", data)?;
        let mut options = choose::method(args, model_options, cycles, draws, kernel, start, data.n_rows())?;
        let shard = rows.all_rows();
        let survey = options.survey(&shard);
        let (mut model, mut choices) = Model::explain(model_options, &survey)?;
        if let Some(pilot) = pilot::learn(&shard, model_options, &model, kernel)? {
            model = Model::resolve(&pilot.options, &survey)?;
            choices.retain(|choice| pilot.choices.iter().all(|learnt| learnt.name != choice.name));
            choices.extend(pilot.choices);
            options.set_model(pilot.options);
        }
        Ok(Self { args, input, shard, model, choices, options, kernel })
    }

    /// The record of the run as it begins.
    pub(crate) fn record(&self) -> RunRecord<'_> {
        let Input { data, selection, transform, model_options, .. } = self.input;
        let mut data_record = DataRecord::of(data, selection);
        data_record.truth = truth_source(self.args);
        data_record.transform = transform.as_ref().map(|(_, record)| *record);
        let (method, n_chains) = (self.args.run.method.name(), self.args.run.chains);
        let mut record =
            new_record(data_record, &self.model, model_options, method, self.kernel, &self.options, n_chains);
        record.options.point = self.args.run.point();
        record
    }

    /// Runs, fills the run folder, prints the summary.
    pub(crate) fn run(&self, run_dir: &RunDir) -> Result<()> {
        let as_read = self.input.data.all_rows();
        let job = Job {
            shard: &self.shard,
            as_read: &as_read,
            model: &self.model,
            transform: self.input.transform.as_ref().map(|(transform, _)| transform),
            truth: self.input.truth.as_deref(),
            options: &self.options,
            n_chains: self.args.run.chains,
            point: self.args.run.point(),
        };
        job::run(&job, run_dir, self.record(), &self.args.output)
    }
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
        command: Vec::new(),
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
fn open(args: &FitArgs, selection: &Selection, options: &ModelOptions, console: Console) -> Result<DataSet> {
    let data = DataSet::open(&args.data, selection)?;
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

/// The rows, with the words of `--vocab` as the names of their columns.
fn with_vocabulary(args: &FitArgs, data: DataSet) -> Result<DataSet> {
    let Some(path) = &args.vocab else { return Ok(data) };
    if !data.is_counts() || data.column_names().is_some() {
        let what = if data.is_counts() { "these have names already" } else { "these rows are not word counts" };
        let error = InputError::new(format!("--vocab names the columns of word counts, and {what}"));
        return Err(error.hint("leave --vocab out").into());
    }
    let words = read_vocabulary(path, data.n_columns())?;
    Ok(data.with_column_names(words))
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
