//! What all workers have alike: a name, rows, a life, and the push they wait for an answer to.

use super::{Address, Frame, Outbox};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::message::codec::{Message, decode_between, encode};
use crate::message::{Hello, Plan, Stamp};
use crate::rows::Shard;
use crate::sweep::Kernel;

/// Who a worker is to its coordinator.
#[derive(Debug)]
pub(super) struct Life {
    shard_id: ShardId,
    shard: Shard,
    kernel: Kernel,
    incarnation: u32,
    sequence: u64,
    is_done: bool,
}

impl Life {
    pub(super) fn new(shard_id: ShardId, shard: Shard, kernel: Kernel) -> Self {
        Self { shard_id, shard, kernel, incarnation: 0, sequence: 0, is_done: false }
    }

    /// The same worker, waiting for the answer to a push of a life that goes on.
    pub(super) fn resumed(self, incarnation: u32, sequence: u64) -> Self {
        Self { incarnation, sequence, ..self }
    }

    pub(super) fn shard_id(&self) -> ShardId {
        self.shard_id
    }

    /// The rows it began with.
    pub(super) fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The push that is outstanding, or was last.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { shard: self.shard_id, incarnation: self.incarnation, sequence: self.sequence }
    }

    /// Whether it has had its last answer.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) fn say_hello(&self, out: &mut Outbox) {
        let (n_rows, n_columns) = (self.shard.n_rows() as u64, self.shard.n_columns() as u64);
        let hello = Hello { n_rows, n_columns, is_counts: self.shard.is_counts(), kernel: self.kernel };
        out.send(Address::Coordinator, encode(self.stamp(), &Message::Hello(hello)));
    }

    /// What a frame says to this worker, which has this plan by now.
    pub(super) fn open(&self, from: Address, frame: &Frame, plan: Option<&Plan>) -> Result<(Stamp, Message)> {
        let stats_len = plan.map(|plan| plan.model.conjugate().stats_len());
        decode_between(frame, from, Address::Worker(self.shard_id), stats_len)
    }

    /// Begins a life.
    pub(super) fn begin(&mut self, incarnation: u32) {
        (self.incarnation, self.sequence, self.is_done) = (incarnation, 0, false);
    }

    /// Whether a request to rejoin is for a life after this one.
    pub(super) fn is_before(&self, stamp: Stamp) -> bool {
        stamp.incarnation > self.incarnation
    }

    /// Whether an answer is to the push that waits for one.
    pub(super) fn awaits(&self, stamp: Stamp) -> bool {
        stamp == self.stamp() && !self.is_done
    }

    pub(super) fn push(&mut self, message: &Message, out: &mut Outbox) {
        self.sequence += 1;
        out.send(Address::Coordinator, encode(self.stamp(), message));
    }

    pub(super) fn show(&self, message: &Message, out: &mut Outbox) {
        out.send(Address::Driver, encode(self.stamp(), message));
    }

    pub(super) fn end(&mut self, out: &mut Outbox) {
        (self.is_done, out.is_done) = (true, true);
    }
}
