//! The simulated cluster: its hosts, and the loop that lets happen what is next.

use std::collections::VecDeque;

use super::agenda::Agenda;
use super::faults::Mishaps;
use super::network::Network;
use super::options::{Cost, Simulation};
use super::traffic::{Flight, Happening};
use super::{Moment, Respawn, Watcher};
use crate::consolidate::ShardId;
use crate::engine::call::{self, CallOutcome, Stopwatch, name};
use crate::engine::meter::Meter;
use crate::engine::roll::Roll;
use crate::engine::{Driver, RunTotals, failed};
use crate::error::{Error, Result};
use crate::protocol::{Address, Event, Node, Outbox};

/// All there is.
pub(super) struct VirtualCluster<'a, C, W> {
    pub(super) simulation: &'a Simulation,
    pub(super) coordinator: &'a mut C,
    /// `None`: dead, or not yet joined.
    pub(super) workers: Vec<Option<W>>,
    pub(super) desk: VirtualHost,
    pub(super) hosts: Vec<VirtualHost>,
    /// Workers that wait for a processor, each once, the one that has waited longest first.
    pub(super) ready: VecDeque<ShardId>,
    pub(super) n_computing: usize,
    pub(super) may_idle: bool,
    pub(super) is_stop_told: bool,
    pub(super) now: f64,
    pub(super) agenda: Agenda<Happening>,
    pub(super) network: Network,
    pub(super) mishaps: Mishaps,
    pub(super) roll: Roll,
    pub(super) meter: Meter,
    pub(super) respawn: &'a mut dyn Respawn<C, W>,
    pub(super) driver: &'a mut dyn Driver,
    watcher: Option<&'a mut Watcher<'a, C, W>>,
}

/// The place of a node: it stays when the node dies.
#[derive(Debug, Default)]
pub(super) struct VirtualHost {
    pub(super) inbox: VecDeque<Event>,
    pub(super) is_busy: bool,
    /// Which of the nodes that lived here: 0 before the first.
    pub(super) life: u64,
    pub(super) n_events: u64,
    pub(super) wants_checkpoint: bool,
    pub(super) checkpoint: Option<Vec<u8>>,
    /// Set for a worker whose next word is noise.
    pub(super) is_broken: bool,
    /// What nodes up to this one have sent is not delivered any more.
    pub(super) expelled: u64,
}

impl<'a, C: Node, W: Node> VirtualCluster<'a, C, W> {
    pub(super) fn new(
        coordinator: &'a mut C,
        workers: Vec<W>,
        simulation: &'a Simulation,
        respawn: &'a mut dyn Respawn<C, W>,
        driver: &'a mut dyn Driver,
        watcher: Option<&'a mut Watcher<'a, C, W>>,
    ) -> Self {
        let n_places = workers.len() + simulation.joins.len();
        let mut cluster = Self {
            simulation,
            coordinator,
            workers: (0..n_places).map(|_| None).collect(),
            desk: VirtualHost::default(),
            hosts: (0..n_places).map(|_| VirtualHost::default()).collect(),
            ready: VecDeque::new(),
            n_computing: 0,
            may_idle: false,
            is_stop_told: false,
            now: 0.0,
            agenda: Agenda::new(),
            network: Network::new(simulation),
            mishaps: Mishaps::new(simulation),
            roll: Roll::default(),
            meter: Meter::new(n_places),
            respawn,
            driver,
            watcher,
        };
        cluster.begin_coordinator();
        workers.into_iter().zip(0..).for_each(|(worker, shard)| cluster.begin_worker(shard, worker));
        cluster
    }

    pub(super) fn run(mut self) -> Result<RunTotals> {
        self.let_compute()?;
        while let Some((at, happening)) = self.agenda.next() {
            if self.driver.is_interrupted() {
                return Err(Error::Interrupted);
            }
            if self.is_void(&happening) {
                continue;
            }
            self.now = at;
            match happening {
                Happening::Reaches(flight) => self.reach(flight),
                Happening::Arrives(flight) => self.arrive(flight),
                Happening::Resends(flight) => self.resend(flight),
                Happening::Completes { who, life, outcome } => self.complete(who, life, outcome)?,
            }
            self.let_compute()?;
        }
        if self.roll.all_done() { Ok(self.meter.totals(Some(self.now))) } else { Err(self.roll.deadlock()) }
    }

    /// Leaves an event for a node.
    pub(super) fn post(&mut self, to: Address, event: Event) {
        let host = self.host(to);
        host.inbox.push_back(event);
        let is_newly_ready = !host.is_busy && host.inbox.len() == 1;
        if let (Address::Worker(shard), true) = (to, is_newly_ready) {
            self.ready.push_back(shard);
        }
    }

    /// The place of the coordinator or a worker.
    pub(super) fn host(&mut self, who: Address) -> &mut VirtualHost {
        match who {
            Address::Worker(shard) => &mut self.hosts[shard as usize],
            Address::Coordinator | Address::Driver => &mut self.desk,
        }
    }

    /// Every node that has something to do and a processor to do it on begins.
    fn let_compute(&mut self) -> Result<()> {
        if !self.desk.is_busy {
            if let Some(event) = self.desk.inbox.pop_front() {
                self.may_idle |= matches!(event, Event::Frame { .. });
                self.compute(Address::Coordinator, Some(event))?;
            } else if std::mem::take(&mut self.may_idle) && self.roll.is_active(Address::Coordinator) {
                self.compute(Address::Coordinator, None)?;
            }
        }
        while self.simulation.cores.is_none_or(|cores| self.n_computing < cores) {
            let Some(shard) = self.ready.pop_front() else { break };
            let event = self.hosts[shard as usize].inbox.pop_front().expect("a ready worker has an event");
            self.n_computing += 1;
            self.compute(Address::Worker(shard), Some(event))?;
        }
        Ok(())
    }

    /// A node takes in an event, or an idle step. What it says is kept until the time that takes is
    /// over.
    fn compute(&mut self, who: Address, event: Option<Event>) -> Result<()> {
        let node: &mut dyn Node = match who {
            Address::Worker(shard) => self.workers[shard as usize].as_mut().expect("only the living are ready"),
            Address::Coordinator | Address::Driver => self.coordinator,
        };
        let stopwatch = if self.simulation.cost == Cost::Measured { Stopwatch::ThreadCpu } else { Stopwatch::Wall };
        let mut outcome = match event {
            Some(event) => {
                self.roll.told(who, &event);
                match call::tell(node, who, event, stopwatch) {
                    Err(Error::BadFrame { from: Address::Worker(shard), why }) if who == Address::Coordinator => {
                        self.expel(shard, &why);
                        CallOutcome { out: Outbox::default(), seconds: 0.0 }
                    }
                    outcome => outcome?,
                }
            }
            None => {
                let (outcome, wants_more) = call::idle(node, who, stopwatch)?;
                self.may_idle = wants_more;
                outcome
            }
        };
        outcome.seconds = self.cost(who, &outcome);
        let host = self.host(who);
        host.is_busy = true;
        let life = host.life;
        self.agenda.enter(self.now + outcome.seconds, Happening::Completes { who, life, outcome });
        self.watch();
        Ok(())
    }

    fn cost(&self, who: Address, outcome: &CallOutcome) -> f64 {
        match (who, self.simulation.cost) {
            (Address::Worker(shard), Cost::Measured) => outcome.seconds * self.simulation.slowness(shard),
            (Address::Worker(shard), Cost::PerRow { worker, .. }) => {
                outcome.out.swept_rows as f64 * worker * self.simulation.slowness(shard)
            }
            (_, Cost::Measured) => outcome.seconds,
            (_, Cost::PerRow { coordinator, .. }) => coordinator,
        }
    }

    fn complete(&mut self, who: Address, life: u64, outcome: CallOutcome) -> Result<()> {
        let host = self.host(who);
        host.is_busy = false;
        let has_more = !host.inbox.is_empty();
        if let Address::Worker(shard) = who {
            self.n_computing -= 1;
            if has_more {
                self.ready.push_back(shard);
            }
            self.after_worker_event(shard);
        }
        self.publish(who, life, outcome)
    }

    /// Does what a node wants said and done.
    fn publish(&mut self, from: Address, life: u64, outcome: CallOutcome) -> Result<()> {
        let CallOutcome { out, seconds } = outcome;
        self.meter.count(from, &out, seconds);
        if out.is_done {
            self.roll.done(from);
        }
        for (to, frame) in out.frames {
            match (from, to) {
                (Address::Worker(shard), Address::Driver) => match self.driver.on_frame(shard, frame) {
                    Err(Error::BadFrame { why, .. }) => {
                        self.expel(shard, &why);
                        return Ok(());
                    }
                    taken_in => taken_in?,
                },
                (_, Address::Driver) => self.driver.on_coordinator_frame(frame)?,
                (_, Address::Worker(shard)) if shard as usize >= self.hosts.len() => {
                    return Err(failed(&name(from), format!("knows no {}", name(to))));
                }
                _ => {
                    let frame = self.spoilt(from, frame);
                    self.send(Flight { from, life, to, frame });
                }
            }
        }
        for report in &out.reports {
            let info = self.meter.report(report, Some(self.now));
            self.driver.on_report(info)?;
            self.after_report(report.cycle)?;
        }
        if from == Address::Coordinator && !self.is_stop_told && self.driver.wants_stop(self.now) {
            self.is_stop_told = true;
            self.post(Address::Coordinator, Event::Stop);
        }
        Ok(())
    }

    pub(super) fn watch(&mut self) {
        if self.watcher.is_none() {
            return;
        }
        let in_flight = self.n_in_flight();
        let moment = Moment { at: self.now, coordinator: &*self.coordinator, workers: &self.workers, in_flight };
        self.watcher.as_mut().expect("checked above")(&moment);
    }
}
