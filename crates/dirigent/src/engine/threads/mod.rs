//! The engine of one machine: logical workers on a pool of threads, the coordinator on the calling one.
//!
//! Any thread may run any worker's next event, so the number of threads is a matter of speed alone: a schedule that does not depend on
//! the order in which pushes arrive gives the same labels for every number of them.

mod board;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use self::board::{Board, Handled};
use super::call::{self, Outcome, Stopwatch, name};
use super::meter::Meter;
use super::roll::Roll;
use super::{Driver, RunTotals, failed};
use crate::checkpoint::NodesState;
use crate::consolidate::ShardId;
use crate::error::{Error, Result};
use crate::node::{Address, Event, Frame, Node};

/// Runs the nodes to their end; worker `w` is `workers[w]`. At least one thread works, and never more than there are workers.
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
        Desk::new(coordinator, driver, &board, results, n_workers).run()
    })
}

/// The calling thread: the coordinator, the driver and the books.
struct Desk<'a> {
    coordinator: &'a mut dyn Node,
    driver: &'a mut dyn Driver,
    board: &'a Board,
    results: Receiver<Handled>,
    n_workers: usize,
    inbox: VecDeque<Event>,
    /// Events posted to workers whose results are not yet here.
    n_outstanding: usize,
    may_idle: bool,
    is_stop_told: bool,
    /// What workers are to be told once their state has been taken.
    held_back: Option<Vec<(ShardId, Frame)>>,
    /// Whether the coordinator's first words were counted before.
    goes_on: bool,
    /// As counted at the last border.
    at_border: RunTotals,
    roll: Roll,
    meter: Meter,
}

impl<'a> Desk<'a> {
    fn new(
        coordinator: &'a mut dyn Node,
        driver: &'a mut dyn Driver,
        board: &'a Board,
        results: Receiver<Handled>,
        n_workers: usize,
    ) -> Self {
        let before = driver.totals_before();
        Self {
            goes_on: before.is_some(),
            at_border: before.clone().unwrap_or_default(),
            meter: before.map_or_else(|| Meter::new(n_workers), Meter::going_on),
            held_back: None,
            coordinator,
            driver,
            board,
            results,
            n_workers,
            inbox: VecDeque::new(),
            n_outstanding: 0,
            may_idle: false,
            is_stop_told: false,
            roll: Roll::default(),
        }
    }

    fn run(mut self) -> Result<RunTotals> {
        self.roll.enter(Address::Coordinator);
        self.inbox.push_back(Event::Start);
        for shard in 0..self.n_workers as ShardId {
            self.roll.enter(Address::Worker(shard));
            self.post(shard, Event::Start);
        }
        loop {
            while let Ok(handled) = self.results.try_recv() {
                self.take_in(handled)?;
            }
            if self.driver.is_interrupted() {
                return Err(self.break_off());
            }
            if let Some(event) = self.inbox.pop_front() {
                self.tell(event)?;
            } else if self.held_back.is_some() && self.n_outstanding == 0 {
                self.take_checkpoint()?;
            } else if std::mem::take(&mut self.may_idle) && self.roll.is_active(Address::Coordinator) {
                let outcome = call::idle(self.coordinator, Address::Coordinator, Stopwatch::Wall)?;
                self.publish(Address::Coordinator, outcome)?;
            } else if self.n_outstanding > 0 {
                let handled = self.results.recv().expect("threads serve until the board is closed");
                self.take_in(handled)?;
            } else {
                break;
            }
        }
        if self.roll.all_done() { Ok(self.meter.totals(None)) } else { Err(self.roll.deadlock()) }
    }

    fn take_in(&mut self, (shard, result): Handled) -> Result<()> {
        self.n_outstanding -= 1;
        match result {
            Err(Error::Interrupted) if self.driver.is_interrupted() => Ok(()),
            result => self.publish(Address::Worker(shard), result?),
        }
    }

    /// All nodes rest, and the coordinator has answered: this is the state to go on from.
    fn take_checkpoint(&mut self) -> Result<()> {
        let nodes = NodesState {
            coordinator: self.coordinator.checkpoint(),
            workers: self.board.look(|node| node.checkpoint()),
            totals: self.meter.so_far(),
            pending: None,
        };
        self.driver.on_checkpoint(Some(nodes))?;
        self.release();
        Ok(())
    }

    fn release(&mut self) {
        for (shard, frame) in self.held_back.take().into_iter().flatten() {
            self.post(shard, Event::Frame { from: Address::Coordinator, frame });
        }
    }

    /// Lets every worker take in the answer it has, which it does not get far with, and offers the state before those answers. The coordinator
    /// hears nothing more, so that is where it stands, too.
    fn break_off(&mut self) -> Error {
        self.release();
        while self.n_outstanding > 0 {
            let (_, result) = self.results.recv().expect("threads serve until the board is closed");
            self.n_outstanding -= 1;
            match result {
                Ok(_) | Err(Error::Interrupted) => {}
                Err(error) => return error,
            }
        }
        let workers = self.board.look(|node| node.checkpoint_before_answer());
        let workers: Option<Vec<_>> = workers.into_iter().collect();
        let nodes = workers.map(|workers| NodesState {
            coordinator: self.coordinator.checkpoint(),
            workers,
            totals: RunTotals { seconds: self.meter.seconds(), ..self.at_border.clone() },
            pending: None,
        });
        self.driver.on_checkpoint(nodes).err().unwrap_or(Error::Interrupted)
    }

    fn tell(&mut self, event: Event) -> Result<()> {
        self.roll.told(Address::Coordinator, &event);
        self.may_idle |= matches!(event, Event::Frame { .. });
        let outcome = call::tell(self.coordinator, Address::Coordinator, event, Stopwatch::Wall)?;
        self.publish(Address::Coordinator, outcome)?;
        if !self.is_stop_told && self.driver.wants_stop(self.meter.seconds()) {
            self.is_stop_told = true;
            self.inbox.push_back(Event::Stop);
        }
        Ok(())
    }

    /// Does what a node wants said and done.
    fn publish(&mut self, from: Address, outcome: Outcome) -> Result<()> {
        let Outcome { out, seconds } = outcome;
        let was_counted = from == Address::Coordinator && std::mem::take(&mut self.goes_on);
        if !was_counted {
            self.meter.count(from, &out, seconds);
        }
        // at the last border there is nothing left to go on with
        let is_border = !out.reports.is_empty() && !out.is_done;
        if is_border && self.held_back.is_none() && self.driver.wants_checkpoint() {
            self.held_back = Some(Vec::new());
        }
        if out.is_done {
            self.roll.done(from);
        }
        for (to, frame) in out.frames {
            match (from, to) {
                (Address::Worker(shard), Address::Driver) => self.driver.on_frame(shard, frame)?,
                (_, Address::Driver) => self.driver.on_coordinator_frame(frame)?,
                (_, Address::Coordinator) => self.inbox.push_back(Event::Frame { from, frame }),
                (_, Address::Worker(shard)) if (shard as usize) < self.n_workers => match &mut self.held_back {
                    Some(held_back) => held_back.push((shard, frame)),
                    None => self.post(shard, Event::Frame { from, frame }),
                },
                (_, Address::Worker(_)) => return Err(failed(&name(from), format!("knows no {}", name(to)))),
            }
        }
        for report in &out.reports {
            let info = self.meter.report(report, None);
            self.at_border = self.meter.so_far();
            self.driver.on_report(info)?;
        }
        Ok(())
    }

    fn post(&mut self, shard: ShardId, event: Event) {
        self.roll.told(Address::Worker(shard), &event);
        self.n_outstanding += 1;
        self.board.post(shard, event);
    }
}
