//! The engine of a virtual cluster: deterministic, on a clock of its own, with everything that can go wrong in a real one.
//!
//! For tests (any schedule of late, lost and doubled frames, crashes and returns, from a seed) and for projections to clusters larger than
//! this machine. A node is called when its event begins on the virtual clock, and what it says leaves it when the event's time is over; one
//! that dies before that has said nothing. A worker whose frame is refused is expelled: it dies. The network is told in [`Simulation`]: a link per node, the coordinator's shared by
//! all. What goes to the driver is measurement: it is counted, but takes no time.

mod agenda;
mod cluster;
mod faults;
mod network;
mod options;
#[cfg(test)]
mod tests;
mod traffic;

pub use self::options::{Checkpoints, Cost, Crash, Garbage, Simulation};

use self::cluster::Cluster;
use super::{Driver, RunTotals, failed};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::node::Node;

/// Makes nodes again after crashes, and new ones that join.
///
/// ```
/// use dirigent::Result;
/// use dirigent::consolidate::ShardId;
/// use dirigent::engine::simulated::{self, Crash, Respawn, Simulation};
/// use dirigent::model::ModelOptions;
/// use dirigent::node::{Coordinator, CoordinatorOptions, Worker};
/// use dirigent::posterior::horizon::Cycles;
/// use dirigent::rows::{Shard, Table, worker_rows};
/// use dirigent::sweep::Kernel;
/// # use dirigent::{engine::Driver, node::Frame, trace::CycleInfo};
/// # struct Nobody;
/// # impl Driver for Nobody {
/// #     fn on_report(&mut self, _info: CycleInfo) -> Result<()> {
/// #         Ok(())
/// #     }
/// #     fn on_frame(&mut self, _from: ShardId, _frame: Frame) -> Result<()> {
/// #         Ok(())
/// #     }
/// # }
///
/// /// Makes workers again from their rows and what they put away.
/// struct FromRows(Shard);
///
/// impl FromRows {
///     fn rows_of(&self, shard: ShardId) -> Shard {
///         self.0.part(worker_rows(shard as usize, 2, self.0.n_rows()))
///     }
/// }
///
/// impl Respawn<Coordinator, Worker> for FromRows {
///     fn worker(&mut self, shard: ShardId, checkpoint: Option<Vec<u8>>) -> Result<Worker> {
///         let rows = self.rows_of(shard);
///         match checkpoint {
///             Some(checkpoint) => Worker::restore(shard, rows, Kernel::best(), &checkpoint),
///             None => Ok(Worker::new(shard, rows, Kernel::best())),
///         }
///     }
///
///     fn coordinator(&mut self) -> Result<Coordinator> {
///         unreachable!("only a worker dies here")
///     }
/// }
///
/// let mut from_rows = FromRows(Shard::of_table(Table::from_f64(1, vec![0.0, 0.1, 0.2, 9.0, 9.1, 9.2])));
/// let workers = (0..2).map(|id| Worker::new(id, from_rows.rows_of(id), Kernel::best())).collect();
/// let mut coordinator = Coordinator::new(CoordinatorOptions {
///     n_workers: 2,
///     model: ModelOptions { noise_sd: Some(0.5), mean_sd: Some(5.0), ..ModelOptions::default() },
///     cycles: Cycles::Fixed(6),
///     ..CoordinatorOptions::default()
/// });
/// let crash = Crash { worker: 1, cycle: 2, back_after: Some(1) };
/// let simulation = Simulation { crashes: vec![crash], ..Simulation::default() };
/// let totals = simulated::run(&mut coordinator, workers, &simulation, &mut from_rows, &mut Nobody)?;
/// assert_eq!(totals.workers[1].restarts, 1);
/// # Ok::<(), dirigent::Error>(())
/// ```
pub trait Respawn<C = Box<dyn Node>, W = Box<dyn Node>> {
    /// A worker, from its last checkpoint if one was taken. Without one it has only its rows.
    fn worker(&mut self, shard: ShardId, checkpoint: Option<Vec<u8>>) -> Result<W>;

    /// A coordinator that knows nothing yet: it asks the workers.
    fn coordinator(&mut self) -> Result<C>;

    /// Who the workers are when a coordinator is about to be made, those that joined included: the ones to ask.
    fn on_workers(&mut self, workers: &[ShardId]) {
        let _ = workers;
    }
}

/// For runs in which nobody crashes or joins.
///
/// ```
/// use dirigent::Result;
/// use dirigent::engine::simulated::{NoRespawn, Respawn};
/// use dirigent::node::Worker;
///
/// let made: Result<Worker> = Respawn::<(), Worker>::worker(&mut NoRespawn, 3, None);
/// assert!(made.is_err_and(|error| error.to_string().contains("worker 3")));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NoRespawn;

impl<C, W> Respawn<C, W> for NoRespawn {
    fn worker(&mut self, shard: ShardId, _checkpoint: Option<Vec<u8>>) -> Result<W> {
        Err(failed("simulation", format!("worker {shard} was to be made, but nobody makes nodes in this run")))
    }

    fn coordinator(&mut self) -> Result<C> {
        Err(failed("simulation", "the coordinator was to be made again, but nobody makes nodes in this run"))
    }
}

/// The nodes, right after one of them was told something.
// public for the tests only
#[doc(hidden)]
#[derive(Debug)]
pub struct Moment<'a, C, W> {
    /// The virtual time.
    pub at: f64,
    /// The coordinator.
    pub coordinator: &'a C,
    /// The workers by number; `None` for one that is dead or has not yet joined.
    pub workers: &'a [Option<W>],
    /// Frames between nodes that are under way or wait for their receiver, doubles included.
    pub in_flight: usize,
}

/// Looks at the nodes after every event.
#[doc(hidden)]
pub type Watcher<'a, C, W> = dyn FnMut(&Moment<'_, C, W>) + 'a;

/// Runs the nodes to their end; worker `w` is `workers[w]`. Where the coordinator crashes, `coordinator` is its successor afterwards.
///
/// ```
/// use dirigent::engine::simulated::{self, NoRespawn, Simulation};
/// use dirigent::model::ModelOptions;
/// use dirigent::node::{Coordinator, CoordinatorOptions, Worker};
/// use dirigent::posterior::horizon::Cycles;
/// use dirigent::rows::{Shard, Table, worker_rows};
/// use dirigent::sweep::Kernel;
/// # use dirigent::{Result, consolidate::ShardId, engine::Driver, node::Frame, trace::CycleInfo};
/// # struct Lines(Vec<u64>);
/// # impl Driver for Lines {
/// #     fn on_report(&mut self, info: CycleInfo) -> Result<()> {
/// #         self.0.push(info.cycle);
/// #         Ok(())
/// #     }
/// #     fn on_frame(&mut self, _from: ShardId, _frame: Frame) -> Result<()> {
/// #         Ok(())
/// #     }
/// # }
///
/// let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 0.1, 0.2, 9.0, 9.1, 9.2]));
/// let mut coordinator = Coordinator::new(CoordinatorOptions {
///     n_workers: 2,
///     model: ModelOptions { noise_sd: Some(0.5), mean_sd: Some(5.0), ..ModelOptions::default() },
///     cycles: Cycles::Fixed(4),
///     ..CoordinatorOptions::default()
/// });
/// let worker = |id| Worker::new(id, rows.part(worker_rows(id as usize, 2, rows.n_rows())), Kernel::best());
/// // a message takes a second, and nobody waits for it
/// let simulation = Simulation { latency: 1.0, ..Simulation::default() };
/// // `driver` is whoever looks on
/// # let mut driver = Lines(Vec::new());
/// let workers = (0..2).map(worker).collect();
/// let totals = simulated::run(&mut coordinator, workers, &simulation, &mut NoRespawn, &mut driver)?;
/// assert_eq!(driver.0, [1, 2, 3, 4]);
/// assert!(totals.virtual_seconds.unwrap() > 8.0, "there and back in each of four cycles");
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn run<C: Node, W: Node>(
    coordinator: &mut C,
    workers: Vec<W>,
    simulation: &Simulation,
    respawn: &mut dyn Respawn<C, W>,
    driver: &mut dyn Driver,
) -> Result<RunTotals> {
    simulation.check(workers.len())?;
    Cluster::new(coordinator, workers, simulation, respawn, driver, None).run()
}

/// The same, with someone who looks at the nodes after every event: the tests of what must hold at all times.
// public for the tests only
#[doc(hidden)]
pub fn run_watched<C: Node, W: Node>(
    coordinator: &mut C,
    workers: Vec<W>,
    simulation: &Simulation,
    respawn: &mut dyn Respawn<C, W>,
    driver: &mut dyn Driver,
    watcher: &mut Watcher<'_, C, W>,
) -> Result<RunTotals> {
    simulation.check(workers.len())?;
    Cluster::new(coordinator, workers, simulation, respawn, driver, Some(watcher)).run()
}
