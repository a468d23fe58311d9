//! The options of the command. What is offered here works; what is not offered does not exist yet.

mod checkpoints;
mod cut;
mod draws;
mod engine;
mod fit;
mod help;
mod predict;
mod report;
mod reproduce;
mod shell;
mod storage;
mod synth;
mod update;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use dirigent::internals::io::Selection;
use dirigent::{Header, RunFolder};

pub(crate) use self::checkpoints::CheckpointArgs;
pub(crate) use self::cut::CutArgs;
pub(crate) use self::draws::DrawsArgs;
pub(crate) use self::engine::EngineArgs;
pub(crate) use self::fit::FitArgs;
pub(crate) use self::help::HelpArgs;
pub(crate) use self::predict::{PredictArgs, PredictOutputArgs};
pub(crate) use self::report::ReportArgs;
pub(crate) use self::reproduce::ReproduceArgs;
pub(crate) use self::shell::{CompletionsArgs, ManArgs};
pub(crate) use self::storage::StorageArgs;
pub(crate) use self::synth::{SetArg, SizesArg, SynthArgs};
pub(crate) use self::update::{MergeArgs, ResultArgs, UpdateArgs};

use crate::console::{Console, Talk};
use crate::version;

/// Cluster rows without choosing the number of clusters: Dirichlet-process mixture models.
#[derive(Debug, Parser)]
#[command(
    name = "dirigent",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 120
)]
#[command(after_help = "Examples:
  dirigent demo                                   cluster a generated table and write a report
  dirigent fit measurements.csv                   cluster a table; results in runs/measurements-1
  dirigent fit points.npy --watch                 watch the report in a browser while the fit runs
  dirigent report runs/measurements-1             write the report again
  dirigent predict runs/measurements-1 more.csv   label new rows
  dirigent cut runs/measurements-1 --clusters 10  coarser labels of the same rows

Results go to stdout, messages to stderr. Exit code 0: done, 1: the run failed, 2: wrong usage or input, 130: interrupted by Ctrl-C,
143: terminated. Colours follow the terminal and NO_COLOR. For your shell: `dirigent completions SHELL` and `dirigent man`.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of `fit` that `-h` shows; `--help` shows all.
const SHORT_HELP: [&str; 16] = [
    "data",
    "family",
    "covariance",
    "prior",
    "alpha",
    "columns",
    "exclude",
    "label_column",
    "standardize",
    "clusters",
    "seed",
    "time_limit",
    "draws",
    "threads",
    "engine",
    "out",
];

impl Cli {
    /// The command line that is parsed: `fit -h` is short, `--version` is long. The manual page has neither, so it is the same on all machines.
    pub(crate) fn program() -> clap::Command {
        let shown = |arg: clap::Arg| match SHORT_HELP.contains(&arg.get_id().as_str()) {
            true => arg,
            false => arg.hide_short_help(true),
        };
        Self::command().long_version(version::long()).mut_subcommand("fit", |fit| fit.mut_args(shown))
    }

    /// With what was typed, where it goes into a record. The program is called by its name, wherever it lies.
    pub(crate) fn told(mut self, args: &[OsString]) -> Self {
        let typed = args.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        let typed = std::iter::once("dirigent".to_owned()).chain(typed).collect();
        match &mut self.command {
            Command::Fit(args) => args.output.command = typed,
            Command::Demo(args) => args.output.command = typed,
            _ => {}
        }
        self
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Fit(Box<FitArgs>),
    Predict(PredictArgs),
    Cut(CutArgs),
    Update(UpdateArgs),
    Merge(MergeArgs),
    Eval(EvalArgs),
    Draws(DrawsArgs),
    Synth(SynthArgs),
    Report(ReportArgs),
    Reproduce(Box<ReproduceArgs>),
    Info(InfoArgs),
    Demo(DemoArgs),
    Help(HelpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct SelectionArgs {
    /// Columns to use, by name or by number from 1 [default: all]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,
    /// Columns to leave out
    #[arg(long, value_name = "C,D", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Column with the true labels: compared with, not fitted
    #[arg(long, value_name = "NAME")]
    pub(crate) label_column: Option<String>,
    /// Whether the first line of a .csv or .tsv file is a header [default: auto]
    #[arg(long, value_enum, default_value_t = HeaderArg::Auto, hide_default_value = true, hide_possible_values = true, value_name = "auto|yes|no")]
    header: HeaderArg,
}

/// What the first line of a text table is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum HeaderArg {
    Auto,
    Yes,
    No,
}

impl HeaderArg {
    pub(crate) fn library(self) -> Header {
        match self {
            Self::Auto => Header::Auto,
            Self::Yes => Header::Yes,
            Self::No => Header::No,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Run folder [default: runs/NAME-N, the first free number N]
    #[arg(long, short, value_name = "RUN")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the files of an earlier run in the folder
    #[arg(long)]
    pub(crate) force: bool,
    /// Number of rows to keep for the report
    #[arg(long, value_name = "N", default_value_t = 5000, allow_negative_numbers = true)]
    pub(crate) sample_rows: u32,
    /// Write no report.html
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Serve the report to a browser during the run [default address: 127.0.0.1]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0", conflicts_with = "quiet")]
    pub(crate) watch: Option<String>,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only, or with --json the summary only
    #[arg(long, short)]
    quiet: bool,
    /// Print every cycle, and figures of the sampler in the summary
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    /// What was typed, for the record.
    #[arg(skip)]
    pub(crate) command: Vec<String>,
}

/// Compare two labellings of the same rows.
///
/// Prints one JSON object: vi (variation of information, nats), ari (adjusted Rand index), nmi (normalised mutual information), and
/// k_a, k_b (the numbers of clusters).
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  dirigent eval runs/points-1/labels.npy points/labels.npy")]
pub(crate) struct EvalArgs {
    /// Labels: .npy, or a text file with one label per line
    #[arg(value_name = "LABELS_A")]
    pub(crate) a: PathBuf,
    /// Labels of the same rows
    #[arg(value_name = "LABELS_B")]
    pub(crate) b: PathBuf,
}

/// Describe a data set or a run folder.
///
/// For a table: type, levels, missing cells and range of each column, and the columns that `fit` leaves out, with the reason.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dirigent info measurements.csv\n  dirigent info runs/measurements-1 --json")]
pub(crate) struct InfoArgs {
    /// Data as for fit, or one run folder
    #[arg(required = true, value_name = "DATA|RUN")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Write a table of customers in five groups and cluster it, in a second.
///
/// The table, runs/demo.csv, has 2,000 rows: numbers, counts, text and missing cells. The column segment has the true groups and is only compared with.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  dirigent demo\n  dirigent demo --out first --json")]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl SelectionArgs {
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            columns: self.columns.clone(),
            exclude: self.exclude.clone(),
            label_column: self.label_column.clone(),
            header: self.header.library(),
            ..Selection::default()
        }
    }
}

impl OutputArgs {
    /// Where the run is written.
    pub(crate) fn folder(&self) -> RunFolder {
        RunFolder {
            path: self.out.clone(),
            force: self.force,
            sample_rows: self.sample_rows as usize,
            command: self.command.clone(),
            ..RunFolder::default()
        }
    }

    pub(crate) fn console(&self) -> Console {
        let talk = match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Normal,
        };
        Console { talk }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_do_not_contradict_each_other() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
