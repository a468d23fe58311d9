//! From options to the method that runs. The only place that knows both.

use std::thread::available_parallelism;

use super::options::{EngineName, EngineOptions, FitOptions, MethodName};
use crate::engine::simulated::{Cost, Crash, Garbage, Simulation};
use crate::error::{InputError, Result};
use crate::method::av::AvOptions;
use crate::method::cgs::CgsOptions;
use crate::method::consolidated::{DistributedOptions, Engine};
use crate::method::rounds::RoundsOptions;
use crate::method::{MethodSetup, default_workers};
use crate::model::ModelOptions;
use crate::posterior::horizon::Cycles;
use crate::protocol::CoordinatorOptions;
use crate::sweep::Kernel;

/// Workers that an engine from outside has.
pub(super) struct OutsideWorkers<'a> {
    /// How many, if that is not for the user to say.
    pub(super) n_workers: Option<u32>,
    /// Makes the engine for a number of workers.
    pub(super) engine: Box<dyn Fn(u32) -> Engine + 'a>,
}

/// Cycles after which a worker of a simulation returns that has crashed or was expelled.
const BACK_AFTER: u64 = 2;

/// The method that the options ask for. `model` is what is known of the model: the options and the
/// columns.
pub(super) fn method(
    options: &FitOptions,
    model: &ModelOptions,
    start: Option<Vec<u32>>,
    n_rows: usize,
    outside: Option<&OutsideWorkers<'_>>,
) -> Result<MethodSetup> {
    let FitOptions { method, run, .. } = options;
    let (cycles, draws) = options.draws()?;
    let (alpha, seed, time_limit) = (options.model.alpha, run.seed, run.time_limit);
    let kernel = method.kernel.unwrap_or_else(Kernel::best);
    if method.name == MethodName::Cgs {
        let options = CgsOptions { cycles, time_limit, alpha, seed, chain: 0, draws, kernel, start, first_cycle: 0 };
        return Ok(MethodSetup::Cgs(options));
    }
    let given = outside.and_then(|outside| outside.n_workers).or(options.engine.workers);
    let n_workers = given.unwrap_or(default_workers(n_rows) as u32);
    if n_workers as usize > n_rows {
        return Err(InputError::new(format!("`workers` {n_workers} is more than there are rows, {n_rows}"))
            .hint("ask for fewer workers")
            .into());
    }
    let engine = match outside {
        Some(outside) => (outside.engine)(n_workers),
        None => engine(&options.engine, seed, n_workers)?,
    };
    // the machines of a cluster need not be alike: it is the best that all of them have
    let kernel = if outside.is_some() { method.kernel } else { Some(kernel) };
    if method.name.is_in_rounds() {
        let coordinator = CoordinatorOptions {
            n_workers,
            alpha,
            cycles,
            n_kept: 0,
            seed,
            chain: 0,
            shows_labels: false,
            kernel,
            moves_per_cycle: method.split_merge.unwrap_or(0),
            splits: false,
            ..CoordinatorOptions::default()
        };
        let rounds = RoundsOptions { coordinator, draws, engine, start, time_limit };
        let merges = method.av_merges == Some(true);
        return Ok(match method.name {
            MethodName::Av => MethodSetup::Av(AvOptions { rounds, merges }),
            MethodName::Subc => MethodSetup::Subc(rounds),
            _ => MethodSetup::Slice(rounds),
        });
    }
    let coordinator = CoordinatorOptions {
        n_workers,
        alpha,
        consolidation: method.consolidation(),
        splits: method.splits(),
        joins: method.joins(),
        first_alpha: method.first_alpha(),
        schedule: method.schedule(),
        cycles,
        n_kept: 0,
        seed,
        chain: 0,
        sweeps_per_cycle: method.sweeps_per_cycle.unwrap_or(1),
        shows_labels: false,
        kernel,
        has_start: false,
        moves_per_cycle: 0,
    };
    Ok(MethodSetup::Distributed(DistributedOptions {
        coordinator,
        model: model.clone(),
        draws,
        draws_from: method.draws_from(),
        engine,
        components: None,
        has_fine_start: Some(false),
        start,
        time_limit,
        moves_per_cycle: method.split_merge,
    }))
}

fn engine(options: &EngineOptions, seed: u64, n_workers: u32) -> Result<Engine> {
    if options.name != EngineName::Simulated {
        return Ok(Engine::Threads(n_threads(options)));
    }
    let usual = Simulation::default();
    let crash = |&(worker, cycle): &(u32, u64)| Crash { worker, cycle, back_after: Some(BACK_AFTER) };
    let garbage = |&(worker, cycle): &(u32, u64)| Garbage { worker, cycle, back_after: Some(BACK_AFTER) };
    let simulation = Simulation {
        seed,
        latency: options.latency.unwrap_or(usual.latency),
        bandwidth: options.bandwidth.unwrap_or(usual.bandwidth),
        stragglers: options.straggler.clone(),
        crashes: options.crash.iter().map(crash).collect(),
        garbage: options.garbage.iter().map(garbage).collect(),
        cores: options.cores.map(|cores| cores as usize),
        cost: options.row_cost.map_or(usual.cost, |worker| Cost::PerRow { worker, coordinator: 0.0 }),
        ..usual
    };
    simulation.check(n_workers as usize)?;
    Ok(Engine::Simulated(Box::new(simulation)))
}

/// The threads to use: those that were asked for, or the cores.
pub(super) fn n_threads(options: &EngineOptions) -> usize {
    let cores = || available_parallelism().map_or(1, |cores| cores.get());
    options.threads.map_or_else(cores, |threads| threads as usize)
}

/// The options with what was left open filled in, as `run.json` records them. Model options stay as
/// asked: the record has the model itself.
pub(super) fn as_used(options: &FitOptions, setup: &MethodSetup, kernel: Kernel) -> FitOptions {
    let mut used = options.clone();
    (used.run.cycles, used.run.max_cycles) = match setup.cycles() {
        Cycles::Auto { max } => (None, Some(max)),
        Cycles::Fixed(cycles) => (Some(cycles), None),
    };
    used.run.thin = setup.draws().map(|draws| draws.thin);
    used.method.kernel = Some(kernel);
    used.method.split_merge = setup.moves_per_cycle();
    match setup {
        MethodSetup::Cgs(_) => {
            used.engine.workers = Some(1);
            return used;
        }
        MethodSetup::Av(av) => used.method.av_merges = Some(av.merges),
        MethodSetup::Distributed(distributed) => {
            let coordinator = &distributed.coordinator;
            used.method.consolidation = Some(coordinator.consolidation);
            used.method.schedule = Some(coordinator.schedule);
            used.method.splits = Some(coordinator.splits);
            used.method.joins = Some(coordinator.joins);
            used.method.first_alpha = Some(coordinator.first_alpha);
            used.method.sweeps_per_cycle = Some(coordinator.sweeps_per_cycle);
            used.method.draws_from = distributed.draws.map(|_| distributed.draws_from);
        }
        MethodSetup::Slice(_) | MethodSetup::Subc(_) => {}
    }
    used.engine.workers = Some(setup.n_workers() as u32);
    if used.engine.name == EngineName::Threads {
        used.engine.threads = Some(n_threads(&options.engine) as u32);
    }
    used
}
