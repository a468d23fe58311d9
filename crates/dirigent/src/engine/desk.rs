//! The desk: the coordinator, the driver and the books of a run whose workers are elsewhere, on
//! other threads or other machines.
//!
//! Engines differ in how an event reaches a worker and how what came of it returns ([`Workers`]);
//! what is done with it is the same.

use std::collections::{BTreeSet, VecDeque};

use super::call::{self, CallOutcome, Stopwatch, name};
use super::meter::Meter;
use super::roll::Roll;
use super::{Driver, RunTotals, failed};
use crate::checkpoint::NodesState;
use crate::consolidate::ShardId;
use crate::error::{Error, Result};
use crate::protocol::{Address, Event, Frame, Node};

/// Expulsions that a run bears: what goes on saying nonsense is no accident.
const MOST_EXPELLED: usize = 10;

/// The workers, wherever they are.
pub(super) trait Workers {
    /// Leaves an event for a worker; what comes of it arrives later, in the order of its events.
    fn post(&mut self, shard: ShardId, event: Event) -> Result<()>;

    /// What has come next. Without anything there, it waits a while if it may.
    fn next(&mut self, may_wait: bool) -> Result<Option<Arrival>>;

    /// What each worker would resume from, once all rest; `None` where one has nothing.
    fn states(&mut self, at: Border) -> Result<Vec<Option<Vec<u8>>>>;

    /// Whatever is being computed should break off.
    fn break_off(&mut self) {}

    /// Makes a worker that has said nonsense again, which then arrives as one that is back; whether
    /// that is possible.
    fn expel(&mut self, shard: ShardId) -> Result<bool> {
        let _ = shard;
        Ok(false)
    }
}

/// Something from a worker.
pub(super) enum Arrival {
    /// What came of an event.
    Handled(ShardId, Result<CallOutcome>),
    /// The worker is gone, because of this. Nothing that it received leads to anything any more.
    Lost(ShardId, String),
    /// There is a worker again, which has received nothing yet.
    Back(ShardId),
}

/// Which state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Border {
    /// As it is: it waits for an answer.
    Now,
    /// Before its last answer.
    BeforeAnswer,
}

/// The calling thread: the coordinator, the driver and the books.
pub(super) struct Desk<'a> {
    coordinator: &'a mut dyn Node,
    driver: &'a mut dyn Driver,
    workers: &'a mut dyn Workers,
    inbox: VecDeque<Event>,
    /// Events posted to each worker whose results are not yet here.
    outstanding: Vec<usize>,
    /// Workers that are lost and may come back.
    away: BTreeSet<ShardId>,
    n_expelled: usize,
    may_idle: bool,
    is_stop_told: bool,
    /// What workers are to receive once their state has been taken.
    held_back: Option<Vec<(ShardId, Frame)>>,
    /// Whether the coordinator's first words were counted before.
    goes_on: bool,
    /// As counted at the last border.
    at_border: RunTotals,
    roll: Roll,
    meter: Meter,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        coordinator: &'a mut dyn Node,
        driver: &'a mut dyn Driver,
        workers: &'a mut dyn Workers,
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
            workers,
            inbox: VecDeque::new(),
            outstanding: vec![0; n_workers],
            away: BTreeSet::new(),
            n_expelled: 0,
            may_idle: false,
            is_stop_told: false,
            roll: Roll::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<RunTotals> {
        self.roll.enter(Address::Coordinator);
        self.inbox.push_back(Event::Start);
        for shard in 0..self.outstanding.len() as ShardId {
            self.roll.enter(Address::Worker(shard));
            self.post(shard, Event::Start)?;
        }
        loop {
            while let Some(arrival) = self.workers.next(false)? {
                self.take_in(arrival)?;
            }
            if self.driver.is_interrupted() {
                return Err(self.break_off());
            }
            if let Some(event) = self.inbox.pop_front() {
                self.tell(event)?;
            } else if std::mem::take(&mut self.may_idle) && self.roll.is_active(Address::Coordinator) {
                let (outcome, wants_more) = call::idle(self.coordinator, Address::Coordinator, Stopwatch::Wall)?;
                self.may_idle = wants_more;
                self.publish(Address::Coordinator, outcome)?;
            } else if self.held_back.is_some() && self.all_rest() {
                self.take_checkpoint()?;
            } else if !self.all_rest() || !self.away.is_empty() {
                if let Some(arrival) = self.workers.next(true)? {
                    self.take_in(arrival)?;
                }
            } else {
                break;
            }
        }
        if self.roll.all_done() { Ok(self.meter.totals(None)) } else { Err(self.roll.deadlock()) }
    }

    /// Whether no worker has anything to do.
    fn all_rest(&self) -> bool {
        self.outstanding.iter().all(|outstanding| *outstanding == 0)
    }

    fn take_in(&mut self, arrival: Arrival) -> Result<()> {
        match arrival {
            Arrival::Handled(shard, result) => {
                self.outstanding[shard as usize] -= 1;
                match result {
                    Err(Error::Interrupted) if self.driver.is_interrupted() => Ok(()),
                    Err(error @ Error::BadFrame { .. }) => self.expel(shard, error),
                    result => match self.publish(Address::Worker(shard), result?) {
                        Err(error @ Error::BadFrame { .. }) => self.expel(shard, error),
                        published => published,
                    },
                }
            }
            Arrival::Lost(shard, why) => {
                self.driver.on_notice(&format!("worker {shard} is lost: {why}"));
                self.lose(shard);
                Ok(())
            }
            Arrival::Back(shard) => {
                self.driver.on_notice(&format!("worker {shard} is back"));
                self.away.remove(&shard);
                self.meter.restarted(shard);
                self.roll.enter(Address::Worker(shard));
                self.post(shard, Event::Start)
            }
        }
    }

    /// A worker sent an invalid message, or the network damaged it. The worker begins another life,
    /// of which there is a limited number.
    fn expel(&mut self, shard: ShardId, error: Error) -> Result<()> {
        self.n_expelled += 1;
        if self.n_expelled > MOST_EXPELLED || !self.workers.expel(shard)? {
            return Err(error);
        }
        self.driver.on_notice(&format!("worker {shard} is expelled: {error}"));
        self.lose(shard);
        Ok(())
    }

    /// Nobody waits for a worker any more, until it is back.
    fn lose(&mut self, shard: ShardId) {
        self.outstanding[shard as usize] = 0;
        self.away.insert(shard);
        self.roll.leave(Address::Worker(shard));
        self.inbox.push_back(Event::Lost(shard));
    }

    /// All nodes rest, and the coordinator has answered: this is the state to resume from, unless
    /// somebody is missing from it.
    fn take_checkpoint(&mut self) -> Result<()> {
        if self.away.is_empty()
            && let Some(workers) = self.workers.states(Border::Now)?.into_iter().collect()
        {
            let coordinator = self.coordinator.checkpoint();
            let nodes = NodesState { coordinator, workers, totals: self.meter.so_far(), pending: None };
            self.driver.on_checkpoint(Some(nodes))?;
        }
        self.release()
    }

    fn release(&mut self) -> Result<()> {
        for (shard, frame) in self.held_back.take().into_iter().flatten() {
            self.post(shard, Event::Frame { from: Address::Coordinator, frame })?;
        }
        Ok(())
    }

    /// Lets every worker take in the answer it has, which it does not get far with, and offers the
    /// state before those answers. The coordinator hears nothing more, so that is where it stands,
    /// too.
    fn break_off(&mut self) -> Error {
        self.last_border().and_then(|nodes| self.driver.on_checkpoint(nodes)).err().unwrap_or(Error::Interrupted)
    }

    fn last_border(&mut self) -> Result<Option<NodesState>> {
        self.release()?;
        self.workers.break_off();
        while !self.all_rest() {
            match self.workers.next(true)? {
                Some(Arrival::Handled(shard, Ok(_) | Err(Error::Interrupted))) => {
                    self.outstanding[shard as usize] -= 1;
                }
                Some(Arrival::Handled(_, Err(error))) => return Err(error),
                Some(Arrival::Lost(shard, _)) => self.lose(shard),
                Some(Arrival::Back(_)) | None => {}
            }
        }
        if !self.away.is_empty() {
            return Ok(None);
        }
        let workers: Option<Vec<_>> = self.workers.states(Border::BeforeAnswer)?.into_iter().collect();
        Ok(workers.map(|workers| NodesState {
            coordinator: self.coordinator.checkpoint(),
            workers,
            totals: RunTotals { seconds: self.meter.seconds(), ..self.at_border.clone() },
            pending: None,
        }))
    }

    fn tell(&mut self, event: Event) -> Result<()> {
        self.roll.told(Address::Coordinator, &event);
        self.may_idle |= matches!(event, Event::Frame { .. });
        match call::tell(self.coordinator, Address::Coordinator, event, Stopwatch::Wall) {
            Err(Error::BadFrame { from: Address::Worker(shard), why }) => {
                self.expel(shard, Error::BadFrame { from: Address::Worker(shard), why })
            }
            outcome => self.publish(Address::Coordinator, outcome?),
        }
    }

    /// Does what a node wants said and done.
    fn publish(&mut self, from: Address, outcome: CallOutcome) -> Result<()> {
        let CallOutcome { out, seconds } = outcome;
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
                (Address::Worker(_), Address::Worker(_)) => {
                    let why = "workers speak to the coordinator and to the driver only".to_owned();
                    return Err(Error::BadFrame { from, why });
                }
                (_, Address::Worker(shard)) if (shard as usize) < self.outstanding.len() => match &mut self.held_back {
                    Some(held_back) => held_back.push((shard, frame)),
                    None => self.post(shard, Event::Frame { from, frame })?,
                },
                (_, Address::Worker(_)) => return Err(failed(&name(from), format!("knows no {}", name(to)))),
            }
        }
        for report in &out.reports {
            let info = self.meter.report(report, None);
            self.at_border = self.meter.so_far();
            self.driver.on_report(info)?;
        }
        if from == Address::Coordinator && !self.is_stop_told && self.driver.wants_stop(self.meter.seconds()) {
            self.is_stop_told = true;
            self.inbox.push_back(Event::Stop);
        }
        Ok(())
    }

    /// Who is away hears nothing.
    fn post(&mut self, shard: ShardId, event: Event) -> Result<()> {
        if self.away.contains(&shard) {
            return Ok(());
        }
        self.roll.told(Address::Worker(shard), &event);
        self.outstanding[shard as usize] += 1;
        self.workers.post(shard, event)
    }
}
