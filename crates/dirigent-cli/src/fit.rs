//! `dirigent fit`: from options and rows to a run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use dirigent::interrupt::Interrupt;
use dirigent::io::amount;
use dirigent::method::MethodOptions;
use dirigent::method::cgs::{Draws, Observer};
use dirigent::method::start::model::{self, ChosenModel};
use dirigent::model::{Choice, Model, ModelOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::rows::Shard;
use dirigent::run_dir::{
    DataRecord, FILES, RunDir, RunOptions, RunRecord, Status, check_folder, check_writable, nearest_folder,
};
use dirigent::sweep::Kernel;
use dirigent::{InputError, Result};

use crate::args::{CyclesArg, EngineArg, FitArgs, OutputArgs, RunArgs, StartArg};
use crate::choose::{self, Course, OutsideWorkers};
use crate::embed::Watcher;
use crate::engines::{Outside, OutsideEngines};
use crate::input::{Input, Source, labels_of};
use crate::job::{self, Job};
use crate::keep::{self, Keeper};
use crate::point;
use crate::progress::Progress;
use crate::resume::{self, Resumed};
use crate::said::Said;
use crate::watch::Watch;

/// Choices that every fit reports; `--explain-prior` adds the others.
const WORTH_SAYING: [&str; 3] = ["family", "covariance", "start"];

/// The folder of run folders, where none is named.
const RUNS: &str = "runs";

pub(crate) fn run(args: &FitArgs, matches: &ArgMatches, engines: &dyn OutsideEngines) -> Result<()> {
    let path = match &args.checkpoints.resume {
        Some(run) => {
            let (args, resumed) = resume::read(run, matches)?;
            fit(&args, Source::Files, &Said::default(), Some(resumed), None, engines)
        }
        None => fit(args, Source::Files, &Said::of(matches), None, None, engines),
    };
    path.map(drop)
}

/// Fits the rows; returns the run folder. A run that somebody watches keeps no checkpoints: it is not the command that would go on with it.
pub(crate) fn fit(
    args: &FitArgs,
    source: Source<'_>,
    said: &Said,
    resumed: Option<Resumed>,
    watcher: Option<Watcher<'_>>,
    engines: &dyn OutsideEngines,
) -> Result<PathBuf> {
    // all that can be refused without reading the data is refused first
    check(args)?;
    match &args.output.out {
        Some(out) => check_folder(out, &FILES, args.output.force)?,
        None if resumed.is_none() => check_writable(Path::new(RUNS))?,
        None => {}
    }
    let console = args.output.console();
    let outside = Outside::open(&args.engine, args.run.workers, engines)?;
    let input = Input::read(args, source)?;
    if resumed.is_none() {
        check_disk(args, input.data.n_rows())?;
    }
    let interrupt = watcher.as_ref().map_or_else(Interrupt::new, |watcher| watcher.interrupt.clone());
    let mut choosing = Choosing { interrupt, progress: Progress::of_start(console) };
    let fit = Fit::prepare_for(args, &input, outside.as_ref(), &mut choosing);
    choosing.progress.finish();
    let fit = fit?;
    console.say(describe_model(&fit.model, &input.model_options));
    for Choice { name, value, why } in fit.choices.iter().filter(|choice| WORTH_SAYING.contains(&choice.name.as_str()))
    {
        console.say(format_args!("{name}: {value} ({why})"));
    }
    if args.model.explain_prior {
        let say = |Choice { name, value, why }: &Choice| console.say(format_args!("  {name}: {value} ({why})"));
        fit.choices.iter().filter(|choice| !WORTH_SAYING.contains(&choice.name.as_str())).for_each(say);
    }
    let (run_dir, keeper) = fit.keeper(said, resumed, watcher.is_some())?;
    if let Some(outside) = &outside {
        outside.start(fit.options.n_workers() as u32)?;
    }
    job::run_kept(&fit.job(), &run_dir, fit.record(), &args.output, keeper, watcher)?;
    if let Some(outside) = outside {
        outside.finish();
    }
    Ok(run_dir.path().to_path_buf())
}

/// Refuses, before any data is read, options that do not go together.
pub(crate) fn check(args: &FitArgs) -> Result<()> {
    choose::check(args)?;
    point::check(&args.run)?;
    Watch::check(args.output.watch.as_deref())?;
    plan_draws(&args.run)?;
    Kernel::choose(&args.run.kernel).map(|_| ())
}

/// Watches the choice of the model, before there is a run.
struct Choosing {
    interrupt: Interrupt,
    progress: Progress,
}

impl Observer for Choosing {
    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    fn on_start(&mut self, text: &str) {
        self.progress.on_start(text);
    }
}

/// A fit that could begin: every prior is resolved.
pub(crate) struct Fit<'a> {
    args: &'a FitArgs,
    input: &'a Input,
    /// The rows as they are fitted, and as they were read.
    shard: Shard,
    as_read: Shard,
    model: Model,
    choices: Vec<Choice>,
    options: MethodOptions,
    kernel: Kernel,
}

impl<'a> Fit<'a> {
    /// Options that [`check`] lets through, and what they have read.
    pub(crate) fn prepare(args: &'a FitArgs, input: &'a Input) -> Result<Self> {
        Self::prepare_for(args, input, None, &mut ())
    }

    /// The same with workers that another program's engine has.
    fn prepare_for(
        args: &'a FitArgs,
        input: &'a Input,
        outside: Option<&Outside>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let began = Instant::now();
        let Input { data, rows, model_options, .. } = input;
        let (cycles, draws) = plan_draws(&args.run)?;
        let kernel = Kernel::choose(&args.run.kernel)?;
        check_draws(draws, args.run.chains, data.n_rows())?;
        let (start, has_fine_start) = match args.run.start() {
            StartArg::Fine => (None, true),
            StartArg::Rows => (None, false),
            StartArg::Labels(file) => (labels_of(Some(file), "--start", data)?, false),
        };
        let outside = outside.map(|outside| OutsideWorkers {
            n_workers: outside.n_workers,
            engine: Box::new(|n_workers| outside.engine(input, n_workers)),
        });
        let course = Course { cycles, draws, kernel, start };
        let mut options = choose::method(args, model_options, course, data.n_rows(), outside.as_ref())?;
        if !options.keeps_checkpoints() && args.checkpoints.checkpoint_every.is_some() {
            let problem = "--checkpoint-every does not go with this method on this engine, which keeps no checkpoints";
            return Err(InputError::new(problem).hint("leave it out").into());
        }
        let shard = rows.all_rows();
        let survey = options.survey(&shard);
        // a simulation's seconds are virtual
        let is_timed = args.engine.engine != Some(EngineArg::Simulated);
        let limit = options.time_limit().filter(|_| is_timed).and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        let deadline = limit.and_then(|limit| began.checked_add(limit));
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let n_threads = args.run.threads.map_or_else(cores, |threads| threads as usize);
        let chosen = model::choose(&shard, model_options, &survey, kernel, n_threads, deadline, observer)?;
        options.set_model(chosen.options.clone());
        if has_fine_start {
            options.start_fine(&shard, &chosen, n_threads, deadline, observer)?;
        }
        let ChosenModel { model, choices, .. } = chosen;
        // the limit is for everything after reading
        let spent = if is_timed { began.elapsed().as_secs_f64() } else { 0.0 };
        let left = options.time_limit().map(|limit| (limit - spent).max(0.0));
        let options = options.for_chain(0, left);
        Ok(Self { args, input, shard, as_read: data.all_rows(), model, choices, options, kernel })
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
        record.options.time_limit = self.args.run.time_limit;
        record
    }

    fn job(&self) -> Job<'_> {
        Job {
            shard: &self.shard,
            as_read: &self.as_read,
            model: &self.model,
            transform: self.input.transform.as_ref().map(|(transform, _)| transform),
            truth: self.input.truth.as_deref(),
            options: &self.options,
            n_chains: self.args.run.chains,
            point: self.args.run.point(),
            data: Some(&self.input.data),
        }
    }

    /// The run folder, and who keeps checkpoints in it.
    fn keeper(&self, said: &Said, resumed: Option<Resumed>, is_watched: bool) -> Result<(RunDir, Keeper)> {
        let every = self.args.checkpoints.checkpoint_every;
        if let Some(mut resumed) = resumed {
            if !self.options.keeps_checkpoints() {
                let problem = "this engine keeps no checkpoints and cannot go on from one";
                return Err(InputError::new(problem).hint("resume the run on the engine it was started on").into());
            }
            let checkpoint = resumed.check(&self.record().data, &self.model, self.options.n_workers())?;
            return Ok((RunDir::reopen(&resumed.run), Keeper::go_on(&resumed.run, every, checkpoint)?));
        }
        let run_dir = create_run_dir(&self.args.output, self.input.data.name())?;
        if self.options.keeps_checkpoints() && !is_watched {
            let keeper = Keeper::begin(run_dir.path(), said, every)?;
            return Ok((run_dir, keeper));
        }
        keep::forget(run_dir.path())?;
        let keeper = if is_watched { Keeper::of_watched_run() } else { Keeper::none() };
        Ok((run_dir, keeper))
    }

    /// Runs, fills the run folder, prints the summary. Keeps no checkpoints.
    pub(crate) fn run(&self, run_dir: &RunDir) -> Result<()> {
        job::run(&self.job(), run_dir, self.record(), &self.args.output)
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
        None => RunDir::create_next(Path::new(RUNS), name),
    }
}

/// The family and its priors in words; what the user left out is marked as chosen.
pub(crate) fn describe_model(model: &Model, options: &ModelOptions) -> String {
    let names = ["sigma", "sigma0", "nu0", "psi0", "a0", "b0", "tau"];
    let is_said =
        options.family.is_some() || options.covariance.is_some() || names.iter().any(|name| options.gives(name));
    let family = if is_said { "" } else { " (chosen)" };
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
        CyclesArg::Auto => (Cycles::Auto { max: args.max_cycles.unwrap_or(Cycles::USUAL_MAX) }, 1),
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

/// Refuses draws for which the disk of the run folder has no room.
fn check_disk(args: &FitArgs, n_rows: usize) -> Result<()> {
    let Some(n_draws) = args.run.draws else { return Ok(()) };
    let out = args.output.out.as_deref().unwrap_or(Path::new(RUNS));
    let n_bytes = n_draws.saturating_mul(4 * u64::from(args.run.chains)).saturating_mul(n_rows as u64);
    match free_on_disk(nearest_folder(out)) {
        Some(free) if n_bytes > free => {
            let (needed, free) = (amount(n_bytes), amount(free));
            let problem = format!("--draws {n_draws} of {n_rows} rows need {needed} on the disk, {free} are free");
            let hint = "ask for fewer with --draws, make room, or name a folder on another disk with --out";
            Err(InputError::in_file(out, problem).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// Bytes that may still be written, if the system tells.
#[cfg(unix)]
fn free_on_disk(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_on_disk(_: &Path) -> Option<u64> {
    None
}

fn too_many_draws(problem: String) -> dirigent::Error {
    InputError::new(problem).hint("ask for fewer with --draws").into()
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
