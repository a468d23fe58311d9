//! Which runs a reproduction consists of: a list of `dirigent fit` commands.

use std::ffi::OsString;
use std::path::Path;
use std::thread::available_parallelism;

use clap::Parser as _;
use dirigent::{InputError, Result};

use super::data::Source;
use super::methods::{METHODS, Method, REFERENCE};
use crate::args::{Cli, Command, FitArgs, ReproduceArgs};

/// Seeds of a speed-up, at most: times differ little between them, and every one costs a run for each method and number of workers.
const TIMED_SEEDS: u64 = 3;

/// How much is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) methods: Vec<&'static Method>,
    pub(crate) n_seeds: u64,
    pub(crate) n_cycles: u64,
    pub(crate) n_workers: u32,
    /// Seeds of the runs that are made for the speed-up alone.
    pub(crate) n_timed_seeds: u64,
    /// Numbers of workers for the speed-up.
    pub(crate) scaling: Vec<u32>,
    /// Numbers of real threads for the speed-up.
    pub(crate) threads: Vec<u32>,
}

impl Scale {
    /// What the options ask for. Without the reference there is nothing to compare with: it is always run.
    pub(crate) fn of(args: &ReproduceArgs, source: &Source) -> Result<Self> {
        let asks_for = |method: &&Method| {
            args.methods.as_ref().is_none_or(|names| names.iter().any(|name| name == method.name))
                || *method == REFERENCE
        };
        let mut scaling =
            args.scaling.clone().unwrap_or(if args.quick { vec![1, 5, 20] } else { vec![1, 2, 5, 10, 20, 30] });
        if scaling.contains(&0) && scaling.len() > 1 {
            let problem = "--scaling 0 means no speed-up and excludes other numbers of workers";
            return Err(InputError::new(problem).hint("leave the 0 out").into());
        }
        scaling.retain(|workers| *workers > 0);
        scaling.sort_unstable();
        scaling.dedup();
        let cores = available_parallelism().map_or(1, |cores| cores.get()) as u32;
        let powers = (0..).map(|power| 1u32 << power).take_while(|threads| *threads < cores);
        let threads = if scaling.is_empty() { Vec::new() } else { powers.chain([cores]).collect() };
        let n_seeds = args.seeds.unwrap_or(if args.quick { 2 } else { 10 });
        Ok(Self {
            methods: METHODS.iter().filter(asks_for).collect(),
            n_seeds,
            n_timed_seeds: if args.quick { 1 } else { n_seeds.min(TIMED_SEEDS) },
            n_cycles: args.cycles.unwrap_or(source.usual_cycles(args.quick)),
            n_workers: args.workers,
            scaling,
            threads,
        })
    }
}

/// Where a run's workers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// One worker, no engine.
    Serial,
    /// A simulated cluster: every worker on a machine of its own.
    Cluster,
    /// Threads of this machine, for their real time; the serial reference has one.
    Threads(u32),
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) method: &'static Method,
    pub(crate) n_workers: u32,
    pub(crate) seed: u64,
    pub(crate) place: Place,
}

impl Trial {
    fn new(method: &'static Method, n_workers: u32, seed: u64, place: Place) -> Self {
        match (method.is_serial(), place) {
            (false, place) => Self { method, n_workers, seed, place },
            (true, Place::Threads(_)) => Self { method, n_workers: 1, seed, place: Place::Threads(1) },
            (true, _) => Self { method, n_workers: 1, seed, place: Place::Serial },
        }
    }

    /// Whether it is compared with the true labels. That takes real time, which has no part in what threads are measured for.
    pub(crate) fn has_truth(&self) -> bool {
        !matches!(self.place, Place::Threads(_))
    }

    /// The name of its folder.
    pub(crate) fn name(&self) -> String {
        let Self { method, n_workers, seed, .. } = self;
        let threads = match self.place {
            Place::Threads(threads) => format!("-t{threads}"),
            Place::Serial | Place::Cluster => String::new(),
        };
        format!("{}-w{n_workers}{threads}-s{seed}", method.name)
    }

    /// The command that it is, as words after `dirigent`.
    pub(crate) fn command(&self, source: &Source, n_cycles: u64, folder: &Path) -> Vec<String> {
        let mut words = vec!["fit".to_owned()];
        words.extend(source.words(self.has_truth()));
        words.extend(self.method.options.iter().map(|word| (*word).to_owned()));
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--method", self.method.name.to_owned());
        add("--clusters", "components".to_owned());
        add("--cycles", n_cycles.to_string());
        add("--seed", self.seed.to_string());
        match self.place {
            _ if self.method.is_serial() => {}
            Place::Serial => {}
            Place::Cluster => {
                add("--workers", self.n_workers.to_string());
                add("--engine", "simulated".to_owned());
            }
            Place::Threads(threads) => {
                add("--workers", self.n_workers.to_string());
                add("--threads", threads.to_string());
            }
        }
        add("--out", folder.join(self.name()).display().to_string());
        words.extend(["--force", "--no-report", "--quiet"].map(str::to_owned));
        words
    }
}

/// All runs, the figures over cycles first.
pub(crate) fn trials(scale: &Scale) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |trial: Trial| {
        if !trials.contains(&trial) {
            trials.push(trial);
        }
    };
    for seed in 0..scale.n_seeds {
        scale.methods.iter().for_each(|method| add(Trial::new(method, scale.n_workers, seed, Place::Cluster)));
    }
    for seed in 0..scale.n_timed_seeds {
        for method in &scale.methods {
            scale.scaling.iter().for_each(|workers| add(Trial::new(method, *workers, seed, Place::Cluster)));
            let threads = scale.threads.iter().map(|threads| Place::Threads(*threads));
            threads.for_each(|place| add(Trial::new(method, scale.n_workers, seed, place)));
        }
    }
    trials
}

/// The options of `fit` for a command, checked.
pub(crate) fn parse(words: &[String]) -> Result<Box<FitArgs>> {
    let words: Vec<OsString> = ["dirigent".to_owned()].iter().chain(words).map(OsString::from).collect();
    let message = match Cli::try_parse_from(&words).map(|cli| cli.told(&words).command) {
        Ok(Command::Fit(args)) => {
            args.options()?.check()?;
            return Ok(args);
        }
        Ok(_) => "it is not a fit".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let hint = "what follows -- is for every run: options of the model or of the data; reproduce sets method, run and engine itself";
    let command = words.join(&OsString::from(" "));
    Err(InputError::new(format!("{}: {message}", command.display())).hint(hint).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(options: &str) -> Box<ReproduceArgs> {
        let words = ["dirigent", "reproduce", "--out", "x"].into_iter().chain(options.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Reproduce(args) => args,
            _ => panic!("a reproduction was asked for"),
        }
    }

    fn planned(options: &str) -> (Scale, Source, Vec<Trial>) {
        let args = asked(options);
        let source = Source::of(&args).unwrap();
        let scale = Scale::of(&args, &source).unwrap();
        let trials = trials(&scale);
        (scale, source, trials)
    }

    #[test]
    fn every_method_runs_with_every_seed_and_no_run_comes_twice() {
        let (scale, source, trials) = planned("--seeds 3 --scaling 1,20");
        let over_cycles = |method: &Method| {
            let of = |trial: &&Trial| trial.method == method && trial.n_workers == 20 && trial.place == Place::Cluster;
            trials.iter().filter(of).count()
        };
        METHODS[1..].iter().for_each(|method| assert_eq!(over_cycles(method), 3, "{}", method.title));
        assert_eq!(trials.iter().filter(|trial| trial.method.is_serial()).count(), 3 + 3);
        let names: std::collections::BTreeSet<String> = trials.iter().map(Trial::name).collect();
        assert_eq!(names.len(), trials.len());
        assert_eq!(trials.len(), 3 * (METHODS.len() + (METHODS.len() - 1) * (1 + scale.threads.len()) + 1));
        for trial in &trials {
            parse(&trial.command(&source, scale.n_cycles, Path::new("runs"))).unwrap();
        }
    }

    #[test]
    fn the_reference_is_always_there() {
        let (scale, _, trials) = planned("--methods prog --seeds 1 --scaling 0");
        let methods: Vec<_> = scale.methods.iter().map(|method| method.name).collect();
        assert_eq!((methods, trials.len()), (vec!["cgs", "prog"], 2));
    }

    #[test]
    fn quick_is_less_of_everything_but_methods() {
        let ((quick, ..), (full, ..)) = (planned("--quick"), planned(""));
        assert_eq!(quick.methods, full.methods);
        assert!(quick.n_seeds < full.n_seeds && quick.n_cycles < full.n_cycles);
        assert!(quick.scaling.len() < full.scaling.len() && quick.n_timed_seeds < full.n_timed_seeds);
    }

    #[test]
    fn what_reproduce_sets_itself_is_refused() {
        let args = asked("--dataset x.npy -- --prior sigma=8 --method prog");
        let source = Source::of(&args).unwrap();
        let trial = Trial::new(&METHODS[1], 20, 0, Place::Cluster);
        let error = parse(&trial.command(&source, 5, Path::new("runs"))).unwrap_err();
        assert!(error.to_string().contains("--method"), "{error}");
        assert!(error.hint().is_some());
        assert!(Scale::of(&asked("--scaling 0,3"), &source).is_err());
    }
}
