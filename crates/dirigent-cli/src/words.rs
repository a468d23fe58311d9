//! Options as they are typed. The library names an option in backticks; the command shows it as the flag.

use clap::CommandFactory;
use dirigent::{Error, InputError};

use crate::args::Cli;
use crate::help;

/// The text with every `option` in backticks written as its flag.
pub(crate) fn as_typed(text: &str) -> String {
    let mut typed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        typed += before;
        match after.split_once('`') {
            Some((name, after)) => {
                typed += &flag(name).unwrap_or_else(|| format!("`{name}`"));
                rest = after;
            }
            None => {
                typed.push('`');
                rest = after;
            }
        }
    }
    typed + rest
}

/// The error with its options as they are typed.
pub(crate) fn error_as_typed(error: Error) -> Error {
    match error {
        Error::Input(error) => {
            let InputError { problem, hint, .. } = &*error;
            let (problem, hint) = (as_typed(problem), hint.as_deref().map(as_typed));
            InputError { problem, hint, ..*error }.into()
        }
        Error::Hinted { error, hint } => Error::Hinted { error, hint: as_typed(&hint) },
        other => other,
    }
}

/// How an option or a setting is typed: `--alpha`, `--prior sigma`; with a value `--prior sigma=1`.
fn flag(name: &str) -> Option<String> {
    if let Some((key, value)) = name.split_once('=') {
        return help::typed(key).map(|typed| format!("{typed}={value}"));
    }
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_name {
        return None;
    }
    let command = Cli::command();
    let fit = command.find_subcommand("fit").into_iter();
    let mut arguments = fit.chain(command.get_subcommands()).flat_map(clap::Command::get_arguments);
    if let Some(typed) = help::typed(name) {
        return Some(typed);
    }
    let long = arguments.find(|arg| arg.get_id() == name).and_then(clap::Arg::get_long)?;
    Some(format!("--{long}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_flags_and_all_else_stays() {
        assert_eq!(as_typed("`time_limit` with `method` cgs"), "--time-limit with --method cgs");
        assert_eq!(as_typed("`column_families` and `dirigent fit`"), "--column-family and `dirigent fit`");
        assert_eq!(as_typed("`sigma` and `gamma=learn`"), "--prior sigma and --prior gamma=learn");
        assert_eq!(as_typed("an odd ` and `x"), "an odd ` and `x");
        assert_eq!(as_typed("nothing"), "nothing");
    }
}
