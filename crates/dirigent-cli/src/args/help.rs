//! The options of `dirigent help`.

use clap::Args;

/// Print the help of a command, or the keys of --prior, --method-option or --engine-option.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dirigent help fit\n  dirigent help prior\n  dirigent help engine")]
pub(crate) struct HelpArgs {
    /// A command, or one of prior, method and engine
    #[arg(value_name = "COMMAND|TOPIC")]
    pub(crate) topic: Option<String>,
}
