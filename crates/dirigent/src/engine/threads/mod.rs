//! The engine of one machine: logical workers on a pool of threads, the coordinator on the calling
//! one.
//!
//! Any thread may run any worker's next event, so the number of threads is a matter of speed alone:
//! a schedule that does not depend on the order in which pushes arrive gives the same labels for
//! every number of them.

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
use crate::protocol::{Event, Node};

/// Runs the nodes to their end; worker `w` is `workers[w]`. At least one thread works, and never
/// more than there are workers.
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
        Desk::new(coordinator, driver, &mut ThreadPool { board: &board, results }, n_workers).run()
    })
}

/// Workers of which any thread runs any.
struct ThreadPool<'a> {
    board: &'a Board,
    results: Receiver<Handled>,
}

impl Workers for ThreadPool<'_> {
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
