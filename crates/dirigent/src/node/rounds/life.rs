//! A worker's name, its life and the push it waits for an answer to.

use crate::consolidate::ShardId;
use crate::message::codec::{Message, encode};
use crate::message::{Hello, Stamp};
use crate::node::{Address, Outbox};
use crate::rows::Shard;
use crate::survey::Survey;
use crate::sweep::Kernel;

/// Who a worker is to its coordinator.
#[derive(Debug)]
pub(in crate::node) struct Life {
    shard_id: ShardId,
    incarnation: u32,
    sequence: u64,
    is_done: bool,
}

impl Life {
    pub(in crate::node) fn new(shard_id: ShardId) -> Self {
        Self { shard_id, incarnation: 0, sequence: 0, is_done: false }
    }

    pub(in crate::node) fn shard_id(&self) -> ShardId {
        self.shard_id
    }

    pub(in crate::node) fn stamp(&self) -> Stamp {
        Stamp { shard: self.shard_id, incarnation: self.incarnation, sequence: self.sequence }
    }

    pub(in crate::node) fn say_hello(&self, shard: &Shard, kernel: Kernel, out: &mut Outbox) {
        let hello = Hello { survey: Survey::of(shard), kernel };
        out.send(Address::Coordinator, encode(self.stamp(), &Message::Hello(hello)));
    }

    /// Begins a life.
    pub(in crate::node) fn begin(&mut self, incarnation: u32) {
        (self.incarnation, self.sequence, self.is_done) = (incarnation, 0, false);
    }

    /// Whether a request to rejoin is for a life after this one.
    pub(in crate::node) fn is_before(&self, stamp: Stamp) -> bool {
        stamp.incarnation > self.incarnation
    }

    /// Whether an answer is to the push that waits for one.
    pub(in crate::node) fn awaits(&self, stamp: Stamp) -> bool {
        stamp == self.stamp() && !self.is_done
    }

    pub(in crate::node) fn push(&mut self, message: &Message, out: &mut Outbox) {
        self.sequence += 1;
        out.send(Address::Coordinator, encode(self.stamp(), message));
    }

    pub(in crate::node) fn show(&self, message: &Message, out: &mut Outbox) {
        out.send(Address::Driver, encode(self.stamp(), message));
    }

    pub(in crate::node) fn end(&mut self, out: &mut Outbox) {
        (self.is_done, out.is_done) = (true, true);
    }
}
