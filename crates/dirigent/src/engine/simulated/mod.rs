//! The engine of a virtual cluster: deterministic, on a clock of its own, with everything that can
//! go wrong in a real one.
//!
//! For tests (any schedule of late, lost and doubled frames, crashes and returns, from a seed) and
//! for projections to clusters larger than this machine. A node is called when its event begins on
//! the virtual clock, and what it says leaves it when the event's time is over; one that dies
//! before that has said nothing. A worker whose frame is refused is expelled: it dies. The network
//! is told in [`Simulation`]: a link per node, the coordinator's shared by all. What goes to the
//! driver is measurement: it is counted, but takes no time.

mod agenda;
mod cluster;
mod faults;
mod network;
mod options;
#[cfg(test)]
mod tests;
mod traffic;

pub use self::options::{Checkpoints, Cost, Crash, Garbage, Simulation};

use self::cluster::VirtualCluster;
use super::{Driver, RunTotals, failed};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::protocol::Node;

/// Makes nodes again after crashes, and new ones that join.
pub trait Respawn<C = Box<dyn Node>, W = Box<dyn Node>> {
    /// A worker, from its last checkpoint if one was taken. Without one it has only its rows.
    fn worker(&mut self, shard: ShardId, checkpoint: Option<Vec<u8>>) -> Result<W>;

    /// A coordinator that knows nothing yet: it asks the workers.
    fn coordinator(&mut self) -> Result<C>;

    /// Who the workers are when a coordinator is about to be made, those that joined included: the
    /// ones to ask.
    fn on_workers(&mut self, workers: &[ShardId]) {
        let _ = workers;
    }
}

/// For runs in which nobody crashes or joins.
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

/// The nodes, right after one of them received an event.
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

/// Runs the nodes to their end; worker `w` is `workers[w]`. Where the coordinator crashes,
/// `coordinator` is its successor afterwards.
pub fn run<C: Node, W: Node>(
    coordinator: &mut C,
    workers: Vec<W>,
    simulation: &Simulation,
    respawn: &mut dyn Respawn<C, W>,
    driver: &mut dyn Driver,
) -> Result<RunTotals> {
    simulation.check(workers.len())?;
    VirtualCluster::new(coordinator, workers, simulation, respawn, driver, None).run()
}

/// The same, with someone who looks at the nodes after every event: the tests of what must hold at
/// all times.
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
    VirtualCluster::new(coordinator, workers, simulation, respawn, driver, Some(watcher)).run()
}
