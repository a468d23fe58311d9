//! The `dirigent` command: options, messages and reports. The library `dirigent` does the work.
//!
//! stdout is data, stderr is talk. Exit code 0: done, 1: the run failed, 2: wrong usage or input, 130 or 143: interrupted or terminated.

mod args;
mod closing_words;
mod console;
mod cut;
mod demo;
mod draws;
mod eval;
mod fit;
mod habits;
mod help;
mod info;
mod info_run;
mod predict;
mod progress;
mod report;
mod reproduce;
mod shell;
mod signals;
mod synth;
mod terminal;
mod update;
mod version;
mod watch;
mod words;

use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches};
use dirigent::{Error, OutsideEngines, Result};

use crate::args::{Cli, Command};
use crate::console::Console;

/// Runs the command with its arguments (the first is the program's name) and the engines that the program brings; returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>, engines: &dyn OutsideEngines) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = Cli::program().try_get_matches_from(&args);
    let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches).map(|cli| (cli.told(&args), matches)));
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(message) => {
            // help goes to stdout with code 0, a mistake to stderr with code 2; a closed pipe is no reason to fail
            let message = habits::explained(message);
            let _ = message.print();
            return u8::try_from(message.exit_code()).unwrap_or(2);
        }
    };
    match dispatch(&cli.command, &matches, engines) {
        Ok(code) => code,
        // the run has printed how to continue
        Err(Error::Interrupted) => signals::exit_code(),
        Err(error) => {
            let error = words::error_as_typed(error);
            Console::default().complain(&error);
            match error {
                Error::Input(_) => 2,
                _ => 1,
            }
        }
    }
}

/// Runs a command; returns its exit code.
fn dispatch(command: &Command, matches: &ArgMatches, engines: &dyn OutsideEngines) -> Result<u8> {
    let done = match command {
        Command::Help(args) => return help::run(args),
        Command::Fit(args) => fit::run(args, matches.subcommand_matches("fit").expect("it was chosen"), engines),
        Command::Predict(args) => predict::run(args),
        Command::Cut(args) => cut::run(args),
        Command::Update(args) => update::update(args),
        Command::Merge(args) => update::merge(args),
        Command::Eval(args) => eval::run(args),
        Command::Draws(args) => draws::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Report(args) => report::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Info(args) => info::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    };
    done.map(|()| 0)
}
