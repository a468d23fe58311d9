//! From the options of the command to a method that can run; what does not go together is refused.

use std::thread::available_parallelism;

use dirigent::engine::simulated::{Cost, Crash, Garbage, Simulation};
use dirigent::method::av::AvOptions;
use dirigent::method::cgs::{CgsOptions, Draws};
use dirigent::method::distributed::{DistributedOptions, DrawsFrom, Engine};
use dirigent::method::rounds::RoundsOptions;
use dirigent::method::{MethodOptions, default_workers};
use dirigent::model::{Alpha, FamilyName, ModelOptions};
use dirigent::node::{CoordinatorOptions, RoundsCoordinatorOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::sweep::Kernel;
use dirigent::{Error, InputError, Result};

use crate::args::{CyclesArg, DrawsFromArg, EngineArg, EngineArgs, FitArgs, SwitchArg};

/// What a chain begins with, how it computes, and when it ends.
pub(crate) struct Course {
    pub(crate) cycles: Cycles,
    pub(crate) draws: Option<Draws>,
    pub(crate) kernel: Kernel,
    pub(crate) start: Option<Vec<u32>>,
}

/// Workers that another program's engine has.
pub(crate) struct OutsideWorkers<'a> {
    /// How many, where it is not for the user to say.
    pub(crate) n_workers: Option<u32>,
    /// The engine for so many.
    pub(crate) engine: Box<dyn Fn(u32) -> Engine + 'a>,
}

/// Cycles after which a worker of a simulation comes back that has crashed or was expelled.
const BACK_AFTER: u64 = 2;

/// Refuses, before any data is read, options that do not go together.
pub(crate) fn check(args: &FitArgs) -> Result<()> {
    alpha(args)?;
    let option = args.transform().option();
    let is_of_counts = args.model.options().family == Some(FamilyName::Multinomial);
    let with = "--family multinomial, whose counts are fitted as they are";
    refuse(is_of_counts && !args.transform().is_nothing(), option, with, "choose another --family")?;
    let is_fixed = args.run.cycles != CyclesArg::Auto;
    refuse(
        is_fixed && args.run.max_cycles.is_some(),
        "--max-cycles",
        "a fixed number of --cycles",
        "ask for --cycles auto",
    )?;
    check_method(args)?;
    check_engine(args)
}

/// What a method cannot make use of.
fn check_method(args: &FitArgs) -> Result<()> {
    let method = &args.run.method;
    let of_consolidation = [
        ("--consolidation", method.consolidation.is_some()),
        ("--schedule", method.schedule.is_some()),
        ("--splits", method.splits.is_some()),
        ("--draws-from", args.run.draws_from.is_some()),
        ("--joins", method.joins.is_some()),
        ("--first-alpha", method.first_alpha.is_some()),
        ("--sweeps-per-cycle", method.sweeps_per_cycle.is_some()),
    ];
    let refuse_all = |options: &[(&str, bool)], with: &str| {
        let mut options = options.iter();
        options.try_for_each(|(option, is_given)| refuse(*is_given, option, with, "choose another --method"))
    };
    if method.is_cgs() {
        let of_workers = [
            ("--workers", args.run.workers.is_some_and(|workers| workers != 1)),
            ("--threads", args.run.threads.is_some_and(|threads| threads != 1)),
        ];
        let of_engines = [
            ("--engine", args.engine.engine.is_some()),
            (args.engine.simulation_option().unwrap_or_default(), args.engine.simulation_option().is_some()),
            (args.engine.cluster_option().unwrap_or_default(), args.engine.cluster_option().is_some()),
        ];
        for options in [&of_workers[..], &of_consolidation, &of_engines] {
            refuse_all(options, "--method cgs, which is exact, on one worker and one thread")?;
        }
    }
    if method.is_in_rounds() {
        let name = method.name();
        let with = format!("--method {name}, in which all workers are in step and nothing is consolidated");
        refuse_all(&of_consolidation, &with)?;
    }
    let has_merges = method.av_merges.is_some() && !method.is_av();
    refuse(has_merges, "--av-merges", "this method", "choose --method av")?;
    // slicemr itself, or the draws of a slice sampler that follows another method
    let has_slices = method.is_slicemr() || (!method.is_in_rounds() && !method.is_cgs() && draws_are_exact(args));
    let with = "a run without exact draws on many workers";
    let hint = "ask for --draws of dirigent, or for --method slicemr";
    refuse(method.split_merge.is_some() && !has_slices, "--split-merge", with, hint)?;
    let with = "--method av, whose workers take rows with them that nobody else has";
    refuse(method.is_av() && !args.engine.crash.is_empty(), "--crash", with, "choose another --method")?;
    refuse(method.is_av() && !args.engine.garbage.is_empty(), "--garbage", with, "choose another --method")
}

/// What draws are states of.
fn draws_from(args: &FitArgs) -> DrawsFrom {
    args.run.draws_from.map_or(args.run.method.draws_from(), DrawsFromArg::library)
}

fn draws_are_exact(args: &FitArgs) -> bool {
    args.run.draws.is_some() && draws_from(args) == DrawsFrom::Exact
}

/// What an engine cannot make use of.
fn check_engine(args: &FitArgs) -> Result<()> {
    if args.engine.engine != Some(EngineArg::Simulated) {
        let option = args.engine.simulation_option();
        refuse(option.is_some(), option.unwrap_or_default(), "this engine", "add --engine simulated")?;
    } else {
        let threads = args.run.threads.is_some();
        refuse(threads, "--threads", "--engine simulated, which has a clock of its own", "see --cores")?;
    }
    if args.engine.engine != Some(EngineArg::Ray) {
        let option = args.engine.cluster_option();
        refuse(option.is_some(), option.unwrap_or_default(), "this engine", "add --engine ray")?;
    }
    if let Some(name) = args.engine.external() {
        let with = format!("--engine {name}, where every worker has a processor of its own");
        refuse(args.run.threads.is_some(), "--threads", &with, "choose another --engine")?;
    }
    Ok(())
}

fn refuse(is_given: bool, option: &str, with: &str, hint: &str) -> Result<()> {
    if !is_given {
        return Ok(());
    }
    Err(InputError::new(format!("{option} does not go with {with}")).hint(format!("leave it out, or {hint}")).into())
}

fn alpha(args: &FitArgs) -> Result<Alpha> {
    match args.model.alpha {
        Alpha::Auto => Ok(Alpha::Auto),
        Alpha::Fixed(alpha) => Alpha::fixed(alpha),
    }
}

/// The method that was asked for.
pub(crate) fn method(
    args: &FitArgs,
    model: &ModelOptions,
    Course { cycles, draws, kernel, start }: Course,
    n_rows: usize,
    outside: Option<&OutsideWorkers<'_>>,
) -> Result<MethodOptions> {
    let (alpha, seed, time_limit) = (alpha(args)?, args.run.seed, args.run.time_limit);
    if args.run.method.is_cgs() {
        let options = CgsOptions { cycles, time_limit, alpha, seed, chain: 0, draws, kernel, start, first_cycle: 0 };
        return Ok(MethodOptions::Cgs(options));
    }
    let given = outside.and_then(|outside| outside.n_workers).or(args.run.workers);
    let n_workers = given.unwrap_or(default_workers(n_rows) as u32);
    if n_workers as usize > n_rows {
        return Err(InputError::new(format!("--workers {n_workers} is more than there are rows, {n_rows}"))
            .hint("ask for fewer workers")
            .into());
    }
    let engine = match outside {
        Some(outside) => (outside.engine)(n_workers),
        None => engine(&args.engine, args.run.threads, seed, n_workers)?,
    };
    // the machines of a cluster need not be alike: it is the best that all of them have
    let kernel = (outside.is_none() || args.run.kernel != "auto").then_some(kernel);
    if args.run.method.is_in_rounds() {
        let (model, shows_labels) = (model.clone(), false);
        let (n_kept, chain) = (0, 0);
        let moves_per_cycle = args.run.method.split_merge.unwrap_or(0);
        let coordinator = RoundsCoordinatorOptions {
            n_workers,
            model,
            alpha,
            cycles,
            n_kept,
            seed,
            chain,
            shows_labels,
            kernel,
            moves_per_cycle,
        };
        let rounds = RoundsOptions { coordinator, draws, engine, start, time_limit };
        let merges = args.run.method.av_merges == Some(SwitchArg::On);
        return Ok(match &args.run.method {
            method if method.is_av() => MethodOptions::Av(AvOptions { rounds, merges }),
            method if method.is_subc() => MethodOptions::Subc(rounds),
            _ => MethodOptions::Slice(rounds),
        });
    }
    let draws_from = draws_from(args);
    let coordinator = CoordinatorOptions {
        n_workers,
        model: model.clone(),
        alpha,
        consolidation: args.run.method.consolidation(),
        splits: args.run.method.splits(),
        joins: args.run.method.joins(),
        first_alpha: args.run.method.first_alpha(),
        schedule: args.run.method.schedule(),
        cycles,
        n_kept: 0,
        seed,
        chain: 0,
        sweeps_per_cycle: args.run.method.sweeps_per_cycle.unwrap_or(1),
        shows_labels: false,
        kernel,
        has_start: false,
    };
    let moves_per_cycle = args.run.method.split_merge;
    Ok(MethodOptions::Distributed(DistributedOptions {
        coordinator,
        draws,
        draws_from,
        engine,
        components: None,
        has_fine_start: false,
        start,
        time_limit,
        moves_per_cycle,
    }))
}

fn engine(args: &EngineArgs, threads: Option<u32>, seed: u64, n_workers: u32) -> Result<Engine> {
    if args.engine != Some(EngineArg::Simulated) {
        let cores = available_parallelism().map_or(1, |cores| cores.get());
        return Ok(Engine::Threads(threads.map_or(cores, |threads| threads as usize)));
    }
    let usual = Simulation::default();
    let crash = |&(worker, cycle): &(u32, u64)| Crash { worker, cycle, back_after: Some(BACK_AFTER) };
    let garbage = |&(worker, cycle): &(u32, u64)| Garbage { worker, cycle, back_after: Some(BACK_AFTER) };
    let simulation = Simulation {
        seed,
        latency: args.latency.unwrap_or(usual.latency),
        bandwidth: args.bandwidth.unwrap_or(usual.bandwidth),
        stragglers: args.straggler.clone(),
        crashes: args.crash.iter().map(crash).collect(),
        garbage: args.garbage.iter().map(garbage).collect(),
        cores: args.cores.map(|cores| cores as usize),
        cost: args.row_cost.map_or(usual.cost, |worker| Cost::PerRow { worker, coordinator: 0.0 }),
        ..usual
    };
    simulation.check(n_workers as usize).map_err(named_as_option)?;
    Ok(Engine::Simulated(Box::new(simulation)))
}

/// The library speaks of a `field`, the user typed an --option of the same name.
fn named_as_option(error: Error) -> Error {
    match error {
        Error::Input(mut error) => {
            error.problem = error.problem.replacen('`', "--", 1).replacen('`', "", 1);
            Error::Input(error)
        }
        other => other,
    }
}
