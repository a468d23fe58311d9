//! The methods of the paper's comparison, under one roof.
//!
//! | method | consolidation | schedule |
//! |---|---|---|
//! | [`cgs`] | none: one worker | |
//! | Prog, Pooled, Hung ([`consolidated`]) | progressive, pooled, hungarian | synchronous |
//! | Async ([`consolidated`]) | progressive | asynchronous |
//! | Dirigent ([`consolidated`]) | progressive, with splits and merges | synchronous |
//! | SliceMR ([`mod@slice`]) | none: weights and parameters are drawn | synchronous |
//! | SubC ([`subc`]) | none: likewise, with splits into sub-clusters | synchronous |
//! | AV ([`av`]) | none: clusters travel with their rows | synchronous |

pub mod advice;
pub mod av;
pub mod best;
pub mod cgs;
pub mod chains;
mod collector;
pub mod consolidated;
mod crew;

mod drive;
mod finish;
pub mod last_state;
pub mod rounds;
pub mod slice;
pub mod start;
pub mod subc;

use self::av::AvOptions;
use self::cgs::{CgsOptions, Draws, Outcome};
use self::consolidated::{DistributedOptions, DrawsFrom, Engine};
use self::rounds::RoundsOptions;
use self::start::Search;
use self::start::model::ChosenModel;
use crate::checkpoint::Stage;
use crate::engine::RunTotals;
use crate::error::{Error, Result};
use crate::halves::Half;
use crate::model::{Model, ModelOptions};
use crate::observer::Observer;
use crate::posterior::horizon::Cycles;
use crate::posterior::point::numbered_by_size;
use crate::protocol::CoordinatorOptions;
use crate::rng::Seed;
use crate::rows::{Shard, worker_rows};
use crate::survey::Survey;
use crate::sweep::Kernel;
use std::time::{Duration, Instant};

/// A method with all it needs to run.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one in a run")]
pub enum MethodSetup {
    /// Collapsed Gibbs on one worker.
    Cgs(CgsOptions),
    /// A coordinator and workers.
    Distributed(DistributedOptions),
    /// The exact slice sampler.
    Slice(RoundsOptions),
    /// A sampler with splits into sub-clusters.
    Subc(RoundsOptions),
    /// The auxiliary-variable sampler, in which clusters travel.
    Av(AvOptions),
}

/// Bytes that a fit holds for each row beside the row itself, at the least: its label and half,
/// once more for a sweep that breaks off; state, label and certainty of the outcome; of many
/// workers, what they have shown.
pub fn bytes_a_row(has_workers: bool) -> u64 {
    let swept = 2 * (size_of::<u32>() + size_of::<Option<Half>>());
    let outcome = 2 * size_of::<u32>() + size_of::<f32>();
    let shown = if has_workers { collector::BYTES_A_ROW } else { 0 };
    (swept + outcome + shown) as u64
}

impl MethodSetup {
    /// What all methods with workers have: the coordinator's options and the engine.
    fn nodes(&self) -> std::result::Result<(&CoordinatorOptions, &Engine), &CgsOptions> {
        match self {
            Self::Cgs(options) => Err(options),
            Self::Distributed(options) => Ok((&options.coordinator, &options.engine)),
            Self::Slice(options) | Self::Subc(options) | Self::Av(AvOptions { rounds: options, .. }) => {
                Ok((&options.coordinator, &options.engine))
            }
        }
    }

    /// Cycles to run.
    pub fn cycles(&self) -> Cycles {
        self.nodes().map_or_else(|options| options.cycles, |(options, _)| options.cycles)
    }

    /// States to keep.
    pub fn draws(&self) -> Option<Draws> {
        match self {
            Self::Cgs(options) => options.draws,
            Self::Distributed(options) => options.draws,
            Self::Slice(options) | Self::Subc(options) | Self::Av(AvOptions { rounds: options, .. }) => options.draws,
        }
    }

    /// Seconds after which the run ends.
    pub fn time_limit(&self) -> Option<f64> {
        match self {
            Self::Cgs(options) => options.time_limit,
            Self::Distributed(options) => options.time_limit,
            Self::Slice(options) | Self::Subc(options) | Self::Av(AvOptions { rounds: options, .. }) => {
                options.time_limit
            }
        }
    }

    /// The same for one of several chains, from 0, with a time limit of its own.
    #[must_use]
    pub fn for_chain(&self, chain: u16, time_limit: Option<f64>) -> Self {
        let mut options = self.clone();
        match &mut options {
            Self::Cgs(options) => (options.chain, options.time_limit) = (chain, time_limit),
            Self::Distributed(options) => {
                (options.coordinator.chain, options.time_limit) = (chain, time_limit);
            }
            Self::Slice(options) | Self::Subc(options) | Self::Av(AvOptions { rounds: options, .. }) => {
                (options.coordinator.chain, options.time_limit) = (chain, time_limit)
            }
        }
        options
    }

    /// Notes what the model was resolved from.
    pub fn set_model(&mut self, model: ModelOptions) {
        if let Self::Distributed(options) = self {
            options.model = model;
        }
    }

    /// Lets runs begin with the components of small cells, which may have been found already.
    /// Methods without a coordinator's ledger get labels here, the same for all chains; the others
    /// find them as each chain begins.
    pub fn start_fine(
        &mut self,
        rows: &Shard,
        chosen: &ChosenModel,
        n_threads: usize,
        deadline: Option<Instant>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        if let Self::Distributed(options) = self {
            (options.has_fine_start, options.components) = (Some(true), chosen.start.clone());
            return Ok(());
        }
        let (shards, kernel, seed) = (self.shards(rows), self.kernel(), Seed::new(self.seed()));
        let survey = Survey::of_all(&shards);
        let mut search = Search { rows, survey: &survey, seed, kernel, n_threads, deadline, observer };
        let labels = search.labels(&shards, &chosen.model, &chosen.options, chosen.start.as_ref())?;
        // a component of the sample may have no rows in the end
        let labels = Some(numbered_by_size(&labels).0);
        match self {
            Self::Cgs(options) => options.start = labels,
            Self::Distributed(options) => options.start = labels,
            Self::Slice(options) | Self::Subc(options) | Self::Av(AvOptions { rounds: options, .. }) => {
                options.start = labels
            }
        }
        Ok(())
    }

    /// Whether a run keeps checkpoints and can resume from them. A simulation cannot: its clock and
    /// its network would have to be saved, too.
    pub fn keeps_checkpoints(&self) -> bool {
        !matches!(self.nodes(), Ok((_, Engine::Simulated(_))))
    }

    /// The seed of all randomness.
    pub fn seed(&self) -> u64 {
        self.nodes().map_or_else(|options| options.seed, |(options, _)| options.seed)
    }

    /// The instructions to sweep with.
    pub fn kernel(&self) -> Kernel {
        let of_nodes = |(options, _): (&CoordinatorOptions, &Engine)| options.kernel.unwrap_or_else(Kernel::best);
        self.nodes().map_or_else(|options| options.kernel, of_nodes)
    }

    /// The threads that this machine has for work on all rows; they never change a result.
    pub fn n_threads(&self) -> usize {
        match self.nodes() {
            Err(_) => 1,
            Ok((_, Engine::Threads(n_threads))) => *n_threads,
            Ok(_) => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        }
    }

    /// The number of workers.
    pub fn n_workers(&self) -> usize {
        self.nodes().map_or(1, |(options, _)| options.n_workers as usize)
    }

    /// Splits and merges that a slice sampler tries in a cycle, where there is one.
    pub fn moves_per_cycle(&self) -> Option<u8> {
        match self {
            Self::Slice(options) => Some(options.coordinator.moves_per_cycle),
            Self::Distributed(options) => {
                let has_slices = options.draws.is_some() && options.draws_from == DrawsFrom::Exact;
                has_slices.then(|| options.moves_per_cycle.unwrap_or(finish::MOVES_PER_CYCLE))
            }
            Self::Cgs(_) | Self::Subc(_) | Self::Av(_) => None,
        }
    }

    /// The rows of each worker.
    pub fn shards(&self, rows: &Shard) -> Vec<Shard> {
        let part = |worker| rows.part(worker_rows(worker, self.n_workers(), rows.n_rows()));
        (0..self.n_workers()).map(part).collect()
    }

    /// The survey of all rows, put together from the workers' in their order, as the coordinator
    /// does.
    pub fn survey(&self, rows: &Shard) -> Survey {
        Survey::of_all(&self.shards(rows))
    }
}

/// The same options with labels to begin with, where the run is to begin with cells.
fn with_fine_start(
    rows: &Shard,
    model: &Model,
    distributed: &DistributedOptions,
    options: &MethodSetup,
    observer: &mut dyn Observer,
) -> Result<Option<DistributedOptions>> {
    if !distributed.has_fine_start.unwrap_or(distributed.coordinator.splits) || distributed.start.is_some() {
        return Ok(None);
    }
    if observer.has_begun() {
        return Ok(Some(DistributedOptions { start: Some(Vec::new()), ..distributed.clone() }));
    }
    let n_threads = match distributed.engine {
        Engine::Threads(n_threads) => n_threads,
        _ => 1,
    };
    let (kernel, shards, began) = (options.kernel(), options.shards(rows), Instant::now());
    let seed = Seed { seed: options.seed(), chain: distributed.coordinator.chain };
    let (survey, found) = (Survey::of_all(&shards), distributed.components.as_ref().filter(|_| seed.chain == 0));
    // a simulation's seconds are virtual
    let is_timed = !matches!(distributed.engine, Engine::Simulated(_));
    let deadline = distributed.time_limit.filter(|_| is_timed).and_then(|limit| after(began, limit));
    let mut search = Search { rows, survey: &survey, seed, kernel, n_threads, deadline, observer };
    let labels = search.labels(&shards, model, &distributed.model, found)?;
    let spent = if is_timed { began.elapsed().as_secs_f64() } else { 0.0 };
    let time_limit = distributed.time_limit.map(|limit| (limit - spent).max(0.0));
    Ok(Some(DistributedOptions { start: Some(labels), time_limit, ..distributed.clone() }))
}

/// The instant `seconds` after `began`, unless no clock can tell it.
pub(crate) fn after(began: Instant, seconds: f64) -> Option<Instant> {
    Duration::try_from_secs_f64(seconds).ok().and_then(|time| began.checked_add(time))
}

/// The number of workers where the user does not say: it depends on the rows alone, so that it
/// never changes with the machine. The first four keep the cores of a small machine busy, as soon
/// as each of them has 7,000 rows. Further ones must have 50,000: the more rows of a cluster a
/// worker has, the better it tells the cluster from its neighbours, and the fewer cycles are
/// needed.
pub fn default_workers(n_rows: usize) -> usize {
    let of_few = (n_rows / 7000).clamp(1, 4);
    (n_rows / 50_000).clamp(of_few, 20)
}

/// Runs one chain of a method over all rows.
pub fn run(
    rows: &Shard,
    model: &Model,
    options: &MethodSetup,
    truth: Option<&[u32]>,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Option<RunTotals>)> {
    match options {
        MethodSetup::Cgs(cgs) => cgs::run(rows, model, cgs, truth, observer).map(|outcome| (outcome, None)),
        MethodSetup::Distributed(distributed) => {
            let started = match with_fine_start(rows, model, distributed, options, observer) {
                Err(Error::Interrupted) => {
                    observer.on_checkpoint(Stage::Start.into())?;
                    return Err(Error::Interrupted);
                }
                started => started?,
            };
            let distributed = started.as_ref().unwrap_or(distributed);
            let shards = options.shards(rows);
            let (outcome, totals) = match (distributed.draws, distributed.draws_from) {
                (Some(draws), DrawsFrom::Exact) => finish::run(&shards, model, distributed, draws, truth, observer)?,
                _ => consolidated::run(&shards, model, distributed, truth, observer)?,
            };
            Ok((outcome, Some(totals)))
        }
        MethodSetup::Slice(slice) => {
            let (outcome, totals) = slice::run(&options.shards(rows), model, slice, truth, observer)?;
            Ok((outcome, Some(totals)))
        }
        MethodSetup::Subc(subc) => {
            let (outcome, totals) = subc::run(&options.shards(rows), model, subc, truth, observer)?;
            Ok((outcome, Some(totals)))
        }
        MethodSetup::Av(av) => {
            let (outcome, totals) = av::run(&options.shards(rows), model, av, truth, observer)?;
            Ok((outcome, Some(totals)))
        }
    }
}
