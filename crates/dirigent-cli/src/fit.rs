//! `dirigent fit`: from the command line to a fit, and from its end to the summary.

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory};
use dirigent::internals::fit::{fit_read_into, grouped, option_value, resume as resume_run};
use dirigent::internals::io::is_address;
use dirigent::{
    Data, DataOptions, Error, FitOptions, Fitted, GivenOption, OutsideEngines, Result, RunFolder, StoredRun,
};

use crate::args::{Cli, FitArgs, OutputArgs};
use crate::closing_words::{describe_interruption, print, with_way_on};
use crate::console::Console;
use crate::report;
use crate::terminal::Terminal;
use crate::watch::Watch;
use crate::words::as_typed;

/// Headings of options of the command that are not options of the fit.
const HEADINGS_OF_A_COMMAND: [&str; 2] = ["Output", "Checkpoints"];

pub(crate) fn run(args: &FitArgs, matches: &ArgMatches, engines: &dyn OutsideEngines) -> Result<()> {
    Watch::check(args.output.watch.as_deref())?;
    let folder = run_folder(args);
    match &args.checkpoints.resume {
        Some(run) => resume(args, run, matches, &folder, engines),
        None => {
            let options = args.options()?;
            let read = || open(&args.data_options(), args.output.console());
            let fit = |terminal: &mut Terminal<'_>| fit_read_into(&folder, read, &options, engines, terminal);
            show(&args.output, &options, args.model.explain_prior, fit)
        }
    }
}

fn resume(
    args: &FitArgs,
    run: &Path,
    matches: &ArgMatches,
    folder: &RunFolder,
    engines: &dyn OutsideEngines,
) -> Result<()> {
    let console = args.output.console();
    let mut stored = StoredRun::read(run, &given(args, matches)?)?;
    for problem in &stored.damaged {
        console.say(format_args!("warning: a checkpoint is damaged and skipped: {problem}"));
    }
    match stored.place() {
        Some((chain, cycle)) => {
            let of_chain = if stored.options.run.chains > 1 { format!(" of chain {chain}") } else { String::new() };
            console.say(format_args!("resumed: continues after cycle {cycle}{of_chain}"));
        }
        None if stored.damaged.is_empty() => {
            console.say("resumed: there is no checkpoint yet, so the run starts again");
        }
        None => console.say("resumed: none of its checkpoints can be read, so the run starts again"),
    }
    let (options, data) = (stored.options.clone(), open(&stored.data, console)?);
    let fit = |terminal: &mut Terminal<'_>| resume_run(&mut stored, folder, &data, engines, terminal);
    show(&args.output, &options, args.model.explain_prior, fit)
}

/// Runs a fit before the user's eyes, then writes the report and prints the summary.
pub(crate) fn show(
    output: &OutputArgs,
    options: &FitOptions,
    explains_prior: bool,
    fit: impl FnOnce(&mut Terminal<'_>) -> Result<Fitted>,
) -> Result<()> {
    let console = output.console();
    let mut terminal = Terminal::new(output, options, explains_prior);
    let fitted = fit(&mut terminal);
    terminal.finish();
    let fitted = match (fitted, &terminal.path) {
        (Ok(fitted), _) => fitted,
        (Err(Error::Interrupted), path) => {
            console.say(describe_interruption(path.as_deref()));
            return Err(Error::Interrupted);
        }
        (Err(error), Some(path)) => return Err(with_way_on(error, path)),
        (Err(error), None) => return Err(error),
    };
    fitted.warnings().iter().for_each(|warning| console.say(format_args!("warning: {}", as_typed(warning))));
    let path = fitted.path().expect("the command writes a run folder");
    let report = if output.no_report { None } else { written_report(path, console) };
    print(&fitted, path, report.as_deref(), output)?;
    terminal.serve();
    Ok(())
}

/// The report. A run is no less finished because its report could not be written.
fn written_report(run: &Path, console: Console) -> Option<PathBuf> {
    match report::write(run) {
        Ok(path) => Some(path),
        Err(error) => {
            console.say(format_args!("warning: there is no report: {error}"));
            None
        }
    }
}

/// Reads the rows.
pub(crate) fn open(options: &DataOptions, console: Console) -> Result<Data> {
    say_what_is_fetched(&options.paths, console);
    let data = Data::open(options)?;
    let (rows, columns) = (grouped(data.n_rows() as u64), grouped(data.n_columns() as u64));
    console.say(format_args!("data: {} ({rows} rows, {columns} columns)", data.name()));
    Ok(data)
}

/// What comes over a network may take its time. A build without the feature rejects addresses, and says nothing before.
pub(crate) fn say_what_is_fetched(paths: &[PathBuf], console: Console) {
    if !cfg!(feature = "object-store") {
        return;
    }
    for path in paths.iter().filter(|path| is_address(path)) {
        // what follows may be a secret
        let shown = path.to_string_lossy();
        console.say(format_args!("fetching {}, unless it is in the cache", shown.split('?').next().unwrap_or(&shown)));
    }
}

/// Where the run is written.
fn run_folder(args: &FitArgs) -> RunFolder {
    RunFolder { checkpoint_every: args.checkpoints.checkpoint_every, ..args.output.folder() }
}

/// The options of the fit that were typed, by name.
fn given(args: &FitArgs, matches: &ArgMatches) -> Result<Vec<GivenOption>> {
    let command = fit_command();
    let is_typed = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let is_of_fit =
        |arg: &&Arg| !arg.get_help_heading().is_some_and(|heading| HEADINGS_OF_A_COMMAND.contains(&heading));
    let (data, options) = (args.data_options(), args.options()?);
    let typed = command.get_arguments().filter(is_typed).filter(is_of_fit).map(|arg| match arg.get_id().as_str() {
        "data" => "paths",
        "start" if data.start_labels.is_some() => "start_labels",
        name => name,
    });
    let settings = args.settings()?;
    let settings = settings.iter().map(|(setting, _)| setting.key);
    let value = |name: &str| option_value(&data, &options, name).map(|value| (name.to_owned(), value));
    Ok(typed.chain(settings).filter_map(value).collect())
}

fn fit_command() -> Command {
    Cli::command().find_subcommand("fit").expect("there is a fit").clone()
}
