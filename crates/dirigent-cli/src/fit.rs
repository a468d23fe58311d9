//! `dirigent fit`: from files and options to a run.

use std::path::Path;

use dirigent::io::labels::read_labels;
use dirigent::io::{DataSet, Selection};
use dirigent::method::cgs::{CgsOptions, Draws};
use dirigent::model::{Alpha, FamilyName, Model, ModelOptions};
use dirigent::run_dir::{DataRecord, FILES, RunDir, RunOptions, RunRecord, Status, check_folder};
use dirigent::survey::Survey;
use dirigent::sweep::Kernel;
use dirigent::{InputError, Result};

use crate::args::{FitArgs, OutputArgs, RunArgs};
use crate::console::{Console, grouped};
use crate::job::{self, Job};

pub(crate) fn run(args: &FitArgs) -> Result<()> {
    // all that can be refused without reading the data is refused first
    let options = chain_options(args)?;
    if let Some(out) = &args.output.out {
        check_folder(out, &FILES, args.output.force)?;
    }
    let console = args.output.console();
    let (selection, model_options) = (args.selection.selection(), args.model.options());
    let data = open(args, &selection, &model_options, console)?;
    check_draws(&options, data.n_rows())?;
    let truth = true_labels(args.truth.as_deref(), &data)?;
    let shard = data.all_rows();
    let model = Model::resolve(&model_options, &Survey::of(&shard))?;
    console.say(describe_model(&model, &model_options));

    let run_dir = create_run_dir(&args.output, data.name())?;
    let mut data_record = DataRecord::of(&data, &selection);
    data_record.truth = truth_source(args);
    let record = new_record(data_record, &model, &model_options, &options);
    let job = Job { shard: &shard, model: &model, truth: truth.as_deref(), options: &options };
    job::run(&job, &run_dir, record, &args.output)
}

/// The record of a run that begins.
pub(crate) fn new_record<'a>(
    data: DataRecord<'a>,
    model: &'a Model,
    model_options: &ModelOptions,
    options: &CgsOptions,
) -> RunRecord<'a> {
    RunRecord {
        status: Status::Running,
        error: None,
        version: env!("CARGO_PKG_VERSION"),
        kernel: options.kernel,
        data,
        model,
        options: RunOptions::cgs(options, model_options),
        summary: None,
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
    let chosen = |option: Option<f64>| if option.is_none() { " (from the data)" } else { "" };
    let family = if options.family.is_none() { " (chosen for this kind of rows)" } else { "" };
    match model {
        Model::GaussianFixed(model) => format!(
            "model: gaussian{family}, covariance fixed, sigma {:.4}{}, sigma0 {:.4}{}",
            model.noise_sd,
            chosen(options.noise_sd),
            model.mean_sd,
            chosen(options.mean_sd)
        ),
        Model::Multinomial(model) => {
            format!("model: multinomial{family}, gamma {:.4}{}", model.smoothing, chosen(options.smoothing))
        }
    }
}

fn chain_options(args: &FitArgs) -> Result<CgsOptions> {
    if args.run.workers != 1 {
        let problem = format!("--method cgs has one worker, got --workers {}", args.run.workers);
        return Err(InputError::new(problem).hint("leave --workers out").into());
    }
    let alpha = match args.model.alpha {
        Alpha::Auto => Alpha::Auto,
        Alpha::Fixed(alpha) => Alpha::fixed(alpha)?,
    };
    let (cycles, draws) = plan_draws(&args.run)?;
    let kernel = Kernel::choose(&args.run.kernel)?;
    Ok(CgsOptions { cycles, alpha, seed: args.run.seed, draws, kernel })
}

/// The chain is twice as long as the part that is kept: the first half is its way in.
fn plan_draws(args: &RunArgs) -> Result<(u64, Option<Draws>)> {
    let Some(n_draws) = args.draws else { return Ok((args.cycles, None)) };
    let thin = args.thin.unwrap_or((args.cycles / n_draws.saturating_mul(2)).max(1));
    let length = n_draws.checked_mul(thin).and_then(|kept| kept.checked_mul(2));
    match (length, usize::try_from(n_draws)) {
        (Some(length), Ok(n_draws)) => Ok((args.cycles.max(length), Some(Draws { n_draws, thin }))),
        _ => Err(too_many_draws(format!("--draws {n_draws} with --thin {thin} needs more cycles than can be counted"))),
    }
}

fn check_draws(options: &CgsOptions, n_rows: usize) -> Result<()> {
    match options.draws {
        Some(draws) if draws.n_draws.checked_mul(n_rows).is_none_or(|cells| cells > isize::MAX as usize / 4) => {
            Err(too_many_draws(format!("--draws {} of {n_rows} rows do not fit a file", draws.n_draws)))
        }
        _ => Ok(()),
    }
}

fn too_many_draws(problem: String) -> dirigent::Error {
    InputError::new(problem).hint("ask for fewer with --draws").into()
}

/// The rows, as counts where the family wants counts.
fn open(args: &FitArgs, selection: &Selection, options: &ModelOptions, console: Console) -> Result<DataSet> {
    let data = DataSet::open(&args.data, selection)?;
    let (rows, columns) = (grouped(data.n_rows() as u64), grouped(data.n_columns() as u64));
    console.say(format_args!("data: {} ({rows} rows, {columns} columns)", data.name()));
    if options.family == Some(FamilyName::Multinomial) && !data.is_counts() { data.into_counts() } else { Ok(data) }
}

fn true_labels(file: Option<&Path>, data: &DataSet) -> Result<Option<Vec<u32>>> {
    let Some(file) = file else { return Ok(data.truth().map(|truth| truth.labels.clone())) };
    let truth = read_labels(file)?.labels;
    if truth.len() != data.n_rows() {
        let problem = format!("has {} labels, but the data has {} rows", truth.len(), data.n_rows());
        return Err(InputError::in_file(file, problem).hint("--truth needs one label a row, in the same order").into());
    }
    Ok(Some(truth))
}

fn truth_source(args: &FitArgs) -> Option<String> {
    let column = args.selection.label_column.as_ref().map(|column| format!("column {column}"));
    args.truth.as_ref().map(|file| file.display().to_string()).or(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn plan(options: &[&str]) -> Result<(u64, Option<Draws>)> {
        let args = ["dirigent", "fit", "x.npy"].iter().chain(options);
        let cli = crate::args::Cli::try_parse_from(args).unwrap();
        let crate::args::Command::Fit(args) = cli.command else { panic!("fit was asked for") };
        plan_draws(&args.run)
    }

    #[test]
    fn the_chain_is_at_least_twice_as_long_as_what_is_kept() {
        let draws = |n_draws, thin| Some(Draws { n_draws, thin });
        assert_eq!(plan(&[]).unwrap(), (50, None));
        assert_eq!(plan(&["--draws", "5"]).unwrap(), (50, draws(5, 5)));
        assert_eq!(plan(&["--draws", "100"]).unwrap(), (200, draws(100, 1)));
        assert_eq!(plan(&["--draws", "5", "--thin", "7"]).unwrap(), (70, draws(5, 7)));
        assert_eq!(plan(&["--draws", "5", "--thin", "2", "--cycles", "90"]).unwrap(), (90, draws(5, 2)));
        assert!(plan(&["--draws", "18446744073709551615"]).is_err());
    }
}
