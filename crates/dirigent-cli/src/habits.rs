//! Options of other programs that people try, and what to write instead.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What people type, and what helps.
const HABITS: [(&[&str], &str); 5] = [
    (
        &["--k", "--n-clusters", "--n-components", "--num-clusters", "-k"],
        "the number of clusters is inferred from the data; `--clusters K` joins them to K",
    ),
    (&["--jobs", "--n-jobs", "--num-threads"], "`--threads N` or `-j N`"),
    (&["--random-state", "--random-seed"], "`--seed N`"),
    (&["--covariance-type"], "`--covariance full|diag|isotropic`"),
    (&["--output", "--output-dir", "--outdir"], "`--out FOLDER` or `-o FOLDER`"),
];

/// The same error, with a tip if the option is one of another program.
pub(crate) fn explained(mut error: Error) -> Error {
    let typed = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) if error.kind() == ErrorKind::UnknownArgument => typed.clone(),
        _ => return error,
    };
    if let Some((_, tip)) = HABITS.iter().find(|(names, _)| names.contains(&typed.as_str())) {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*tip).into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;

    fn told(words: &str) -> String {
        explained(Cli::program().try_get_matches_from(words.split(' ')).unwrap_err()).to_string()
    }

    #[test]
    fn options_of_other_programs_are_answered() {
        assert!(told("dirigent fit a.csv --k 3").contains("`--clusters K`"), "{}", told("dirigent fit a.csv --k 3"));
        assert!(told("dirigent fit a.csv --n-clusters 3").contains("`--clusters K`"));
        assert!(told("dirigent fit a.csv --random-state 3").contains("`--seed N`"));
        assert!(told("dirigent fit a.csv --n-jobs 3").contains("`-j N`"));
        assert!(!told("dirigent fit a.csv --alhpa 3").contains("--clusters"));
    }

    #[test]
    fn short_help_is_short() {
        let mut program = Cli::program();
        let fit = program.find_subcommand_mut("fit").expect("there is a fit");
        let (short, long) = (fit.render_help().to_string(), fit.render_long_help().to_string());
        let n_options = |help: &str| help.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert!(n_options(&short) <= 17, "{short}");
        assert!(n_options(&long) > 35 && long.contains("--method-option"), "{}", n_options(&long));
    }
}
