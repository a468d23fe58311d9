//! What the user said on the command line of `fit`: put away with the run, so that nothing of it must be said again to go on.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, value_parser};
use dirigent::io::is_address;
use dirigent::{InputError, Result};
use serde::{Deserialize, Serialize};

use crate::args::{Cli, Command as Commands, FitArgs, StartArg};

/// The values of each option that was given, by its name in the code; none for a switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Said {
    options: BTreeMap<String, Vec<String>>,
}

/// What may be said anew when a run goes on: where the data is, where and how fast it runs, and how long.
const MAY_CHANGE: [&str; 13] = [
    "data",
    "cache_dir",
    "spill",
    "memory",
    "workers",
    "threads",
    "engine",
    "address",
    "rejoin_timeout",
    "checkpoint_dir",
    "cycles",
    "max_cycles",
    "time_limit",
];
/// Those of them that decide when the run ends.
const ENDINGS: [&str; 3] = ["cycles", "max_cycles", "time_limit"];
/// What is said of a command and not of a run.
const HEADINGS_OF_A_COMMAND: [&str; 2] = ["Output", "Checkpoints"];

impl Said {
    /// What was said of the run; paths are made absolute.
    pub(crate) fn of(fit: &ArgMatches) -> Self {
        let command = fit_command();
        let of_run = command.get_arguments().filter(|arg| !is_of_command(arg));
        Self::collect(of_run, fit)
    }

    fn collect<'a>(args: impl Iterator<Item = &'a Arg>, fit: &ArgMatches) -> Self {
        let is_said = |arg: &&Arg| fit.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let values = |arg: &Arg| match arg.get_action().takes_values() {
            true => fit.get_raw(arg.get_id().as_str()).into_iter().flatten().map(|raw| text_of(arg, raw)).collect(),
            false => Vec::new(),
        };
        Self { options: args.filter(is_said).map(|arg| (arg.get_id().to_string(), values(arg))).collect() }
    }

    /// Whether anything was said that decides when the run ends, and differs.
    pub(crate) fn ends_otherwise(&self, before: &Self) -> bool {
        ENDINGS
            .iter()
            .any(|name| self.options.contains_key(*name) && self.options.get(*name) != before.options.get(*name))
    }

    /// The same with what is said anew; what contradicts it is refused.
    pub(crate) fn with(&self, anew: Self) -> Result<Self> {
        let command = fit_command();
        let mut together = self.clone();
        for (name, values) in anew.options {
            let before = self.options.get(&name);
            if !MAY_CHANGE.contains(&name.as_str()) && before != Some(&values) {
                let typed = |values: &Vec<String>| typed(&command, &name, values).join(" ");
                let was = before.map_or_else(|| "without it".to_owned(), |before| format!("with {}", typed(before)));
                let problem = format!("{} does not go with --resume: the run was started {was}", typed(&values));
                return Err(InputError::new(problem).hint("leave it out: a run goes on as it was started").into());
            }
            together.options.insert(name, values);
        }
        Ok(together)
    }

    /// The options, as if they had been typed together with those of the command that goes on.
    pub(crate) fn parse(&self, fit: &ArgMatches) -> Result<FitArgs> {
        let command = fit_command();
        let of_command = Self::collect(command.get_arguments().filter(|arg| is_of_command(arg)), fit);
        let options = self.options.iter().chain(&of_command.options);
        let arguments = options.flat_map(|(name, values)| typed(&command, name, values));
        let all = ["dirigent", "fit"].into_iter().map(str::to_owned).chain(arguments).map(OsString::from);
        let unknown = |error: clap::Error| {
            InputError::new(format!("the run was started by another version of this command: {error}"))
                .hint("resume it with that version")
        };
        let matches = Cli::command().try_get_matches_from(all).map_err(unknown)?;
        match Cli::from_arg_matches(&matches).map_err(unknown)?.command {
            Commands::Fit(args) => Ok(*args),
            _ => unreachable!("fit was asked for"),
        }
    }
}

fn fit_command() -> Command {
    Cli::command().find_subcommand("fit").expect("there is a fit").clone()
}

fn is_of_command(arg: &Arg) -> bool {
    arg.get_help_heading().is_some_and(|heading| HEADINGS_OF_A_COMMAND.contains(&heading))
}

/// A value as it can be said again from any folder.
fn text_of(arg: &Arg, raw: &OsStr) -> String {
    let is_name = arg.get_id() == "start" && StartArg::is_name(raw);
    let has_path = arg.get_value_parser().type_id() == value_parser!(PathBuf).type_id();
    let is_path = has_path && !is_name && !is_address(Path::new(raw));
    let absolute = is_path.then(|| std::path::absolute(Path::new(raw)).ok()).flatten();
    absolute.map_or_else(|| raw.to_string_lossy().into_owned(), |path| path.to_string_lossy().into_owned())
}

/// An option as it is typed.
fn typed(command: &Command, name: &str, values: &[String]) -> Vec<String> {
    let arg = command.get_arguments().find(|arg| arg.get_id() == name);
    if arg.is_some_and(Arg::is_positional) {
        return values.to_vec();
    }
    // what is not known any more is refused when it is parsed
    let long = arg.and_then(Arg::get_long).unwrap_or(name);
    if values.is_empty() {
        return vec![format!("--{long}")];
    }
    values.iter().map(|value| format!("--{long}={value}")).collect()
}
