//! A toy method: numbers instead of statistics, and the whole protocol of greetings, pushes, losses
//! and rebuilding.

use std::collections::{BTreeMap, BTreeSet};

use crate::consolidate::ShardId;
use crate::engine::simulated::Respawn;
use crate::error::Result;
use crate::protocol::{Address, CycleReport, Event, Frame, Node, Outbox};

const HELLO: u64 = 0;
const PUSH: u64 = 1;
const GO: u64 = 2;
const FINISH: u64 = 3;
const ASK: u64 = 4;

fn encode(words: [u64; 3]) -> Frame {
    Frame::new(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn decode(bytes: &[u8]) -> [u64; 3] {
    std::array::from_fn(|ix| u64::from_le_bytes(bytes[8 * ix..8 * ix + 8].try_into().unwrap()))
}

/// Depends on the order of what is mixed.
fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

/// A worker that mixes what it receives into a number and says the result.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct ToyWorker {
    pub(in crate::engine) rows: u64,
    pub(in crate::engine) value: u64,
    /// The last cycle it took part in.
    pub(in crate::engine) cycle: u64,
}

impl ToyWorker {
    pub(in crate::engine) fn new(shard: ShardId) -> Self {
        Self { rows: 10, value: u64::from(shard) + 1, cycle: 0 }
    }

    fn push(&self, out: &mut Outbox) {
        // in this order: an engine must show the driver its frame before the coordinator can report
        out.send(Address::Coordinator, encode([PUSH, self.cycle, self.value]));
        out.send(Address::Driver, Frame::new(self.value.to_le_bytes().to_vec()));
    }
}

impl Node for ToyWorker {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        let [kind, cycle, total] = match event {
            Event::Frame { frame, .. } => decode(&frame.own),
            _ => [ASK, 0, 0],
        };
        match kind {
            ASK => out.send(Address::Coordinator, encode([HELLO, self.cycle, self.value])),
            GO if cycle == self.cycle => self.push(out),
            GO if cycle > self.cycle => {
                self.cycle = cycle;
                self.value = mix(self.value, total);
                out.swept_rows += self.rows;
                self.push(out);
            }
            FINISH => out.is_done = true,
            _ => {}
        }
        Ok(())
    }

    fn checkpoint(&self) -> Vec<u8> {
        encode([self.rows, self.value, self.cycle]).own.to_vec()
    }
}

/// A coordinator in step (it waits for all, and mixes their numbers in worker order) or out of step
/// (it answers each at once).
#[derive(Debug, Default)]
pub(in crate::engine) struct ToyCoordinator {
    is_async: bool,
    pub(in crate::engine) n_workers: usize,
    /// Who must have said hello before it begins.
    expected: BTreeSet<ShardId>,
    pub(in crate::engine) n_cycles: u64,
    asks: bool,
    pub(in crate::engine) total: u64,
    pub(in crate::engine) cycle: u64,
    pub(in crate::engine) members: BTreeSet<ShardId>,
    pushes: BTreeMap<ShardId, u64>,
    pub(in crate::engine) lost: Vec<ShardId>,
    pub(in crate::engine) n_idle: usize,
    pub(in crate::engine) n_frames: usize,
    has_begun: bool,
    is_finished: bool,
}

impl ToyCoordinator {
    pub(in crate::engine) fn new(n_workers: usize, n_cycles: u64) -> Self {
        Self { n_workers, n_cycles, expected: (0..n_workers as ShardId).collect(), cycle: 1, ..Self::default() }
    }

    /// The same, answering each push at once.
    pub(in crate::engine) fn out_of_step(n_workers: usize, n_cycles: u64) -> Self {
        Self { is_async: true, ..Self::new(n_workers, n_cycles) }
    }

    /// One that knows nothing and asks these workers.
    pub(in crate::engine) fn rebuilt(workers: &[ShardId], n_cycles: u64) -> Self {
        let expected = workers.iter().copied().collect();
        Self { asks: true, expected, ..Self::new(workers.len(), n_cycles) }
    }

    fn finish(&mut self, out: &mut Outbox) {
        self.is_finished = true;
        out.is_done = true;
        self.members.iter().for_each(|shard| out.send(Address::Worker(*shard), encode([FINISH, 0, 0])));
    }

    fn report(&self, out: &mut Outbox) {
        let [k, alpha] = [self.members.len(), self.n_idle];
        out.reports.push(CycleReport { cycle: self.cycle, k, alpha: alpha as f64, ..CycleReport::default() });
    }

    fn go(&self, shard: ShardId, cycle: u64, out: &mut Outbox) {
        out.send(Address::Worker(shard), encode([GO, cycle, self.total]));
    }

    fn hello(&mut self, from: ShardId, cycle: u64, out: &mut Outbox) {
        self.members.insert(from);
        self.cycle = self.cycle.max(cycle);
        if self.has_begun {
            self.go(from, self.next_cycle(cycle), out);
        } else if self.expected.is_subset(&self.members) {
            self.has_begun = true;
            self.members.iter().for_each(|shard| self.go(*shard, self.cycle, out));
        }
    }

    fn next_cycle(&self, workers: u64) -> u64 {
        if self.is_async { workers + 1 } else { self.cycle }
    }

    fn push(&mut self, from: ShardId, cycle: u64, value: u64, out: &mut Outbox) {
        if self.is_async {
            if self.pushes.get(&from).is_some_and(|last| *last >= cycle) {
                return;
            }
            self.pushes.insert(from, cycle);
            self.total = mix(self.total, value);
            self.go(from, cycle + 1, out);
            if self.pushes.values().sum::<u64>() >= self.cycle * self.n_workers as u64 {
                self.complete(out);
            }
        } else if cycle == self.cycle && self.members.contains(&from) {
            self.pushes.insert(from, value);
            self.complete_if_all(out);
        }
    }

    fn complete_if_all(&mut self, out: &mut Outbox) {
        if self.has_begun && !self.members.is_empty() && self.pushes.keys().eq(self.members.iter()) {
            let pushes = std::mem::take(&mut self.pushes);
            self.total = pushes.into_values().fold(self.total, mix);
            self.complete(out);
            if !self.is_finished {
                self.members.iter().for_each(|shard| self.go(*shard, self.cycle, out));
            }
        }
    }

    fn complete(&mut self, out: &mut Outbox) {
        self.report(out);
        self.cycle += 1;
        if self.cycle > self.n_cycles {
            self.finish(out);
        }
    }
}

impl Node for ToyCoordinator {
    fn on(&mut self, event: Event, out: &mut Outbox) -> Result<()> {
        match event {
            Event::Start if self.asks => {
                self.expected.iter().for_each(|shard| out.send(Address::Worker(*shard), encode([ASK, 0, 0])));
            }
            Event::Start => {}
            Event::Stop => self.n_cycles = self.cycle,
            Event::Lost(shard) => {
                self.members.remove(&shard);
                self.expected.remove(&shard);
                self.pushes.remove(&shard);
                self.lost.push(shard);
                self.complete_if_all(out);
            }
            Event::Frame { from: Address::Worker(from), frame } => {
                self.n_frames += 1;
                let [kind, cycle, value] = decode(&frame.own);
                match kind {
                    _ if self.is_finished => out.send(Address::Worker(from), encode([FINISH, 0, 0])),
                    HELLO => self.hello(from, cycle, out),
                    _ => self.push(from, cycle, value, out),
                }
            }
            Event::Frame { from, .. } => panic!("a frame of {from:?}"),
        }
        Ok(())
    }

    fn idle(&mut self, _out: &mut Outbox) -> Result<bool> {
        self.n_idle += 1;
        Ok(false)
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// Makes toy nodes again and remembers from what.
#[derive(Debug, Default)]
pub(in crate::engine) struct ToyRespawn {
    n_cycles: u64,
    pub(in crate::engine) workers: Vec<(ShardId, Option<ToyWorker>)>,
    pub(in crate::engine) n_coordinators: usize,
    alive: Vec<ShardId>,
}

impl ToyRespawn {
    pub(in crate::engine) fn new(n_cycles: u64) -> Self {
        Self { n_cycles, ..Self::default() }
    }
}

impl Respawn<ToyCoordinator, ToyWorker> for ToyRespawn {
    fn worker(&mut self, shard: ShardId, checkpoint: Option<Vec<u8>>) -> Result<ToyWorker> {
        let restored = checkpoint.map(|bytes| {
            let [rows, value, cycle] = decode(&bytes);
            ToyWorker { rows, value, cycle }
        });
        self.workers.push((shard, restored.clone()));
        Ok(restored.unwrap_or_else(|| ToyWorker::new(shard)))
    }

    fn coordinator(&mut self) -> Result<ToyCoordinator> {
        self.n_coordinators += 1;
        Ok(ToyCoordinator::rebuilt(&self.alive, self.n_cycles))
    }

    fn on_workers(&mut self, workers: &[ShardId]) {
        self.alive = workers.to_vec();
    }
}

/// This many toy workers.
pub(in crate::engine) fn toy_workers(n_workers: usize) -> Vec<ToyWorker> {
    (0..n_workers as ShardId).map(ToyWorker::new).collect()
}
