//! Crashes, returns, joins, nonsense and checkpoints: what befalls the nodes of a simulated cluster
//! after a report.

use std::collections::BTreeMap;

use super::cluster::{VirtualCluster, VirtualHost};
use super::options::{Checkpoints, Crash, Garbage, Simulation};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::protocol::{Address, Event, Frame, Node};
use crate::rng::{Role, Seed, Stream};

/// What is still going to go wrong, or right again.
#[derive(Debug)]
pub(super) struct Mishaps {
    n_reports: u64,
    crashes: Vec<Crash>,
    garbage: Vec<Garbage>,
    /// After how many reports those come back that have sent noise.
    back_after: BTreeMap<ShardId, u64>,
    noise: Stream,
    coordinator_crash: Option<u64>,
    joins: Vec<(u64, ShardId)>,
    /// Who comes back, and after which report.
    returns: Vec<(u64, ShardId)>,
}

impl Mishaps {
    pub(super) fn new(simulation: &Simulation) -> Self {
        Self {
            n_reports: 0,
            crashes: simulation.crashes.clone(),
            garbage: simulation.garbage.clone(),
            back_after: BTreeMap::new(),
            noise: Seed::new(simulation.seed).stream(Role::Observer, u32::MAX, 1),
            coordinator_crash: simulation.coordinator_crash,
            joins: simulation.joins.clone(),
            returns: Vec::new(),
        }
    }

    /// Whether a worker is going to crash and come back.
    fn awaits_return_of(&self, shard: ShardId) -> bool {
        let crashes = self.crashes.iter().any(|crash| crash.worker == shard && crash.back_after.is_some());
        let is_expelled = self.garbage.iter().any(|garbage| garbage.worker == shard && garbage.back_after.is_some());
        crashes || is_expelled || self.back_after.contains_key(&shard)
    }
}

impl<C: Node, W: Node> VirtualCluster<'_, C, W> {
    /// A new coordinator, or the first, starts and receives what else it cannot know.
    pub(super) fn begin_coordinator(&mut self) {
        self.desk = VirtualHost { life: self.desk.life + 1, ..VirtualHost::default() };
        self.may_idle = false;
        self.roll.enter(Address::Coordinator);
        self.network.reset(Address::Coordinator);
        self.post(Address::Coordinator, Event::Start);
        for shard in 0..self.hosts.len() as ShardId {
            let is_dead = self.hosts[shard as usize].life > 0 && !self.is_there(Address::Worker(shard));
            if is_dead {
                self.post(Address::Coordinator, Event::Lost(shard));
            }
        }
        if self.is_stop_told {
            self.post(Address::Coordinator, Event::Stop);
        }
    }

    /// A worker takes its place and starts.
    pub(super) fn begin_worker(&mut self, shard: ShardId, worker: W) {
        let who = Address::Worker(shard);
        let host = self.host(who);
        let expelled = host.expelled;
        *host =
            VirtualHost { life: host.life + 1, checkpoint: host.checkpoint.take(), expelled, ..VirtualHost::default() };
        self.workers[shard as usize] = Some(worker);
        self.roll.enter(who);
        self.network.reset(who);
        self.post(who, Event::Start);
    }

    /// Applies the faults that were planned for this cycle, unless the coordinator is done: no
    /// message could reach it any more.
    pub(super) fn after_report(&mut self, cycle: u64) -> Result<()> {
        self.mishaps.n_reports += 1;
        if !self.roll.is_active(Address::Coordinator) {
            return Ok(());
        }
        let n_reports = self.mishaps.n_reports;
        for (_, shard) in take_out(&mut self.mishaps.returns, |(due, _)| *due <= n_reports) {
            self.revive(shard)?;
        }
        self.crash_workers(cycle)?;
        self.break_workers(cycle);
        for (_, shard) in take_out(&mut self.mishaps.joins, |(due, _)| *due <= cycle) {
            let worker = self.respawn.worker(shard, None)?;
            self.begin_worker(shard, worker);
            self.watch();
        }
        if self.mishaps.coordinator_crash.is_some_and(|due| due <= cycle) {
            self.mishaps.coordinator_crash = None;
            let shards = 0..self.hosts.len() as ShardId;
            let alive: Vec<ShardId> = shards.filter(|shard| self.is_there(Address::Worker(*shard))).collect();
            self.respawn.on_workers(&alive);
            *self.coordinator = self.respawn.coordinator()?;
            self.begin_coordinator();
            self.watch();
        }
        if self.simulation.checkpoints == Checkpoints::EveryReport {
            (0..self.hosts.len() as ShardId).for_each(|shard| self.ask_for_checkpoint(shard));
        }
        Ok(())
    }

    /// An event of a worker is over: it may be time for a checkpoint.
    pub(super) fn after_worker_event(&mut self, shard: ShardId) {
        let host = &mut self.hosts[shard as usize];
        host.n_events += 1;
        let is_due = match self.simulation.checkpoints {
            Checkpoints::EveryReport => host.wants_checkpoint,
            Checkpoints::EveryEvents(n_apart) => host.n_events.is_multiple_of(n_apart),
        };
        if is_due {
            self.ask_for_checkpoint(shard);
        }
    }

    fn crash_workers(&mut self, cycle: u64) -> Result<()> {
        for crash in std::mem::take(&mut self.mishaps.crashes) {
            // a crash of someone who is dead already waits for the return
            if crash.cycle > cycle || !self.roll.is_active(Address::Worker(crash.worker)) {
                self.mishaps.crashes.push(crash);
                continue;
            }
            self.kill(crash.worker);
            match crash.back_after {
                Some(0) => self.revive(crash.worker)?,
                Some(n) => self.mishaps.returns.push((self.mishaps.n_reports + n, crash.worker)),
                None => {}
            }
        }
        Ok(())
    }

    /// Workers that are due say noise from now on.
    fn break_workers(&mut self, cycle: u64) {
        let is_due = |garbage: &Garbage| garbage.cycle <= cycle;
        for garbage in take_out(&mut self.mishaps.garbage, is_due) {
            if !self.is_there(Address::Worker(garbage.worker)) {
                // it waits for the return
                self.mishaps.garbage.push(garbage);
                continue;
            }
            self.hosts[garbage.worker as usize].is_broken = true;
            if let Some(n_reports) = garbage.back_after {
                self.mishaps.back_after.insert(garbage.worker, n_reports);
            }
        }
    }

    /// A frame as it leaves its sender: of the same length, but noise, where the sender is broken.
    pub(super) fn spoilt(&mut self, from: Address, frame: Frame) -> Frame {
        if from == Address::Coordinator || !self.host(from).is_broken {
            return frame;
        }
        let noise = &mut self.mishaps.noise;
        Frame::new((0..frame.n_bytes()).map(|_| noise.bits() as u8).collect())
    }

    /// A worker sent an invalid message: its messages are ignored, and it is lost until it is made
    /// again.
    pub(super) fn expel(&mut self, shard: ShardId, why: &str) {
        if !self.is_there(Address::Worker(shard)) {
            return;
        }
        self.driver.on_notice(&format!("worker {shard} is expelled: {why}"));
        let is_of = |event: &Event| matches!(event, Event::Frame { from, .. } if *from == Address::Worker(shard));
        self.desk.inbox.retain(|event| !is_of(event));
        let expelled = self.hosts[shard as usize].life;
        self.kill(shard);
        self.hosts[shard as usize].expelled = expelled;
        if let Some(n_reports) = self.mishaps.back_after.remove(&shard) {
            self.mishaps.returns.push((self.mishaps.n_reports + n_reports, shard));
        }
    }

    fn kill(&mut self, shard: ShardId) {
        let who = Address::Worker(shard);
        self.workers[shard as usize] = None;
        let host = self.host(who);
        let was_computing = host.is_busy;
        let expelled = host.expelled;
        *host =
            VirtualHost { life: host.life + 1, checkpoint: host.checkpoint.take(), expelled, ..VirtualHost::default() };
        self.n_computing -= usize::from(was_computing);
        self.ready.retain(|ready| *ready != shard);
        self.roll.leave(who);
        self.post(Address::Coordinator, Event::Lost(shard));
        self.watch();
    }

    fn revive(&mut self, shard: ShardId) -> Result<()> {
        let checkpoint = self.hosts[shard as usize].checkpoint.clone();
        let worker = self.respawn.worker(shard, checkpoint)?;
        self.meter.restarted(shard);
        self.begin_worker(shard, worker);
        self.watch();
        Ok(())
    }

    fn ask_for_checkpoint(&mut self, shard: ShardId) {
        let Some(worker) = &self.workers[shard as usize] else { return };
        if !self.mishaps.awaits_return_of(shard) {
            return;
        }
        let host = &mut self.hosts[shard as usize];
        // a busy node is already what it will be when its event is over
        host.wants_checkpoint = host.is_busy;
        if !host.is_busy {
            host.checkpoint = Some(worker.checkpoint());
        }
    }
}

/// Takes out what is due, in order.
fn take_out<T>(list: &mut Vec<T>, is_due: impl Fn(&T) -> bool) -> Vec<T> {
    let (due, rest) = std::mem::take(list).into_iter().partition(is_due);
    *list = rest;
    due
}
