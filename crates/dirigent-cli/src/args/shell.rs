//! The options of `dirigent completions` and `dirigent man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print a shell script that completes the options of dirigent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent completions bash > ~/.local/share/bash-completion/completions/dirigent
  dirigent completions zsh > ~/.zfunc/_dirigent
  dirigent completions fish > ~/.config/fish/completions/dirigent.fish")]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: Shell,
}

/// Print the manual page, or write those of all commands to a folder.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  dirigent man | man -l -
  dirigent man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder for dirigent.1, dirigent-fit.1, …; existing pages are replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
