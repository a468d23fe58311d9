//! The board where workers' events wait and a pool of threads takes them from.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard};

use super::super::call::{CallOutcome, Stopwatch, tell};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::protocol::{Address, Event, Node};

/// What came of one event of a worker.
pub(super) type Handled = (ShardId, Result<CallOutcome>);

/// All workers with the events that wait for them.
pub(super) struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// A thread has put a node back.
    returned: Condvar,
}

struct State {
    slots: Vec<Slot>,
    /// Workers that are here and have something to do, each once, the one that has waited longest
    /// first.
    ready: VecDeque<ShardId>,
    is_closed: bool,
}

struct Slot {
    /// `None` while a thread has it.
    node: Option<Box<dyn Node>>,
    inbox: VecDeque<Event>,
}

impl Board {
    pub(super) fn new(workers: Vec<Box<dyn Node>>) -> Self {
        let slots = workers.into_iter().map(|node| Slot { node: Some(node), inbox: VecDeque::new() }).collect();
        let state = State { slots, ready: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), returned: Condvar::new() }
    }

    /// Leaves an event for a worker.
    pub(super) fn post(&self, shard: ShardId, event: Event) {
        let mut state = self.lock();
        let slot = &mut state.slots[shard as usize];
        slot.inbox.push_back(event);
        if slot.node.is_some() && slot.inbox.len() == 1 {
            state.ready.push_back(shard);
            self.changed.notify_one();
        }
    }

    /// Looks at all nodes, once every thread has put back what it had. Nothing may be left to do
    /// for any of them.
    pub(super) fn look<T>(&self, look: impl Fn(&dyn Node) -> T) -> Vec<T> {
        let is_away = |state: &mut State| state.slots.iter().any(|slot| slot.node.is_none());
        let state = self.returned.wait_while(self.lock(), is_away).expect("nothing panics while the board is locked");
        state.slots.iter().filter_map(|slot| slot.node.as_deref()).map(look).collect()
    }

    /// The work of one thread: any worker's next event, until the board is closed.
    pub(super) fn serve(&self, results: &Sender<Handled>) {
        while let Some((shard, mut node, event)) = self.take() {
            let result = tell(&mut *node, Address::Worker(shard), event, Stopwatch::Wall);
            // before the node goes back: results of one worker stay in order
            let is_wanted = results.send((shard, result)).is_ok();
            self.put_back(shard, node);
            if !is_wanted {
                return;
            }
        }
    }

    /// A guard that sends the threads home, however the run ends.
    pub(super) fn closing(&self) -> Closing<'_> {
        Closing(self)
    }

    fn take(&self) -> Option<(ShardId, Box<dyn Node>, Event)> {
        let state = self.lock();
        let waits = |state: &mut State| !state.is_closed && state.ready.is_empty();
        let mut state = self.changed.wait_while(state, waits).expect("nothing panics while the board is locked");
        if state.is_closed {
            return None;
        }
        let shard = state.ready.pop_front()?;
        let slot = &mut state.slots[shard as usize];
        let node = slot.node.take().expect("a ready worker is here");
        let event = slot.inbox.pop_front().expect("a ready worker has an event");
        Some((shard, node, event))
    }

    fn put_back(&self, shard: ShardId, node: Box<dyn Node>) {
        let mut state = self.lock();
        let slot = &mut state.slots[shard as usize];
        slot.node = Some(node);
        self.returned.notify_one();
        if !slot.inbox.is_empty() {
            state.ready.push_back(shard);
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while the board is locked")
    }
}

/// Closes the board when it is dropped.
pub(super) struct Closing<'a>(&'a Board);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}
