//! Who takes part in a run, who is done, and what each received last: to see the end, and to
//! explain a deadlock.

use std::collections::BTreeMap;
use std::fmt;

use super::call::name;
use super::failed;
use crate::error::Error;
use crate::protocol::{Address, Event};

/// The nodes of a run.
#[derive(Debug, Default)]
pub(super) struct Roll {
    entries: BTreeMap<Address, RollEntry>,
}

#[derive(Debug)]
struct RollEntry {
    last: Told,
    n_events: u64,
    is_done: bool,
}

/// An event without what it carries.
#[derive(Debug)]
enum Told {
    Nothing,
    Start,
    Frame(Address, u64),
    Lost(u32),
    Stop,
}

impl Roll {
    /// A node takes part, for the first time or again.
    pub(super) fn enter(&mut self, who: Address) {
        self.entries.insert(who, RollEntry { last: Told::Nothing, n_events: 0, is_done: false });
    }

    /// A node is gone: nobody waits for it.
    pub(super) fn leave(&mut self, who: Address) {
        self.entries.remove(&who);
    }

    /// A node received an event.
    pub(super) fn told(&mut self, who: Address, event: &Event) {
        let Some(entry) = self.entries.get_mut(&who) else { return };
        entry.n_events += 1;
        entry.last = match event {
            Event::Frame { from, frame } => Told::Frame(*from, frame.n_bytes()),
            Event::Start => Told::Start,
            Event::Lost(shard) => Told::Lost(*shard),
            Event::Stop => Told::Stop,
        };
    }

    /// A node has nothing more to do; it stays so, also if it receives more.
    pub(super) fn done(&mut self, who: Address) {
        if let Some(entry) = self.entries.get_mut(&who) {
            entry.is_done = true;
        }
    }

    /// Whether a node takes part and has more to do.
    pub(super) fn is_active(&self, who: Address) -> bool {
        self.entries.get(&who).is_some_and(|entry| !entry.is_done)
    }

    /// Whether nobody has anything more to do.
    pub(super) fn all_done(&self) -> bool {
        self.entries.values().all(|entry| entry.is_done)
    }

    /// Nothing is in flight, nobody computes, and still not all are done: a mistake of a node.
    pub(super) fn deadlock(&self) -> Error {
        let waiting = self.entries.iter().filter(|(_, entry)| !entry.is_done);
        let waiting: Vec<String> = waiting
            .map(|(who, entry)| format!("{} (last of {} events: {})", name(*who), entry.n_events, entry.last))
            .collect();
        failed("deadlock", format!("nothing is in flight, but these nodes are not done: {}", waiting.join("; ")))
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::Start => f.write_str("start"),
            Self::Frame(from, n_bytes) => write!(f, "a frame of {n_bytes} bytes from {}", name(*from)),
            Self::Lost(shard) => write!(f, "worker {shard} is lost"),
            Self::Stop => f.write_str("stop"),
        }
    }
}
