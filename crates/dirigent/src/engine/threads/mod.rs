//! The engine of one machine: logical workers on a pool of threads, the coordinator on the calling one.
//!
//! Any thread may run any worker's next event, so the number of threads is a matter of speed alone: a schedule that does not depend on
//! the order in which pushes arrive gives the same labels for every number of them.

mod board;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, channel};
use std::thread;

use self::board::{Board, Handled};
use super::desk::{Arrival, Border, Desk, Workers};
use super::{Driver, RunTotals};
use crate::consolidate::ShardId;
use crate::error::{Error, Result};
use crate::node::{Event, Node};

/// Runs the nodes to their end; worker `w` is `workers[w]`. At least one thread works, and never more than there are workers.
///
/// ```
/// use dirigent::engine::threads;
/// use dirigent::model::ModelOptions;
/// use dirigent::node::{Coordinator, CoordinatorOptions, Node, Worker};
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
/// let worker = |id: u32| -> Box<dyn Node> {
///     let own = rows.part(worker_rows(id as usize, 2, rows.n_rows()));
///     Box::new(Worker::new(id, own, Kernel::best()))
/// };
/// // `driver` is whoever looks on
/// # let mut driver = Lines(Vec::new());
/// let totals = threads::run(&mut coordinator, (0..2).map(worker).collect(), 2, &mut driver)?;
/// assert_eq!(driver.0, [1, 2, 3, 4]);
/// assert_eq!(totals.workers.len(), 2);
/// # Ok::<(), dirigent::Error>(())
/// ```
pub fn run(
    coordinator: &mut dyn Node,
    workers: Vec<Box<dyn Node>>,
    n_threads: usize,
    driver: &mut dyn Driver,
) -> Result<RunTotals> {
    let n_workers = workers.len();
    let board = Board::new(workers);
    let (sender, results) = channel();
    thread::scope(|scope| {
        let _closing = board.closing();
        for _ in 0..n_threads.clamp(1, n_workers.max(1)) {
            let (board, sender) = (&board, sender.clone());
            let thread = thread::Builder::new().spawn_scoped(scope, move || board.serve(&sender));
            thread.map_err(|source| Error::Io { doing: "cannot start a thread".to_owned(), source })?;
        }
        // the threads hold the only senders: were all gone, waiting for a result would end
        drop(sender);
        Desk::new(coordinator, driver, &mut Pool { board: &board, results }, n_workers).run()
    })
}

/// Workers of which any thread runs any.
struct Pool<'a> {
    board: &'a Board,
    results: Receiver<Handled>,
}

impl Workers for Pool<'_> {
    fn post(&mut self, shard: ShardId, event: Event) -> Result<()> {
        self.board.post(shard, event);
        Ok(())
    }

    fn next(&mut self, may_wait: bool) -> Result<Option<Arrival>> {
        let handled = if may_wait {
            Some(self.results.recv().expect("threads serve until the board is closed"))
        } else {
            self.results.try_recv().ok()
        };
        Ok(handled.map(|(shard, result)| Arrival::Handled(shard, result)))
    }

    fn states(&mut self, at: Border) -> Result<Vec<Option<Vec<u8>>>> {
        Ok(self.board.look(|node| match at {
            Border::Now => Some(node.checkpoint()),
            Border::BeforeAnswer => node.checkpoint_before_answer(),
        }))
    }
}
