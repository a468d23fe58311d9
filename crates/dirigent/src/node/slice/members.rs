//! Who takes part: lives, numbers of pushes, and whom a round waits for.
//!
//! Next number: it waits for the others. Same number: the same reply again. Anything else is from another life. Nothing here knows what a
//! push says.

use std::collections::{BTreeMap, BTreeSet};

use crate::consolidate::ShardId;
use crate::message::Stamp;
use crate::node::Frame;

/// The workers, as a synchronous coordinator sees them.
pub(in crate::node) struct Members<P> {
    joined: BTreeMap<ShardId, Member>,
    /// Whom the round waits for.
    awaited: BTreeSet<ShardId>,
    /// Pushes that wait for the others.
    waiting: BTreeMap<ShardId, (Stamp, P)>,
    n_incarnations: u32,
    /// The last incarnation a lost worker can have had: what it said may still be under way.
    gone: BTreeMap<ShardId, u32>,
    /// Whom the last answer was sent to.
    released: BTreeSet<ShardId>,
}

struct Member {
    incarnation: u32,
    sequence: u64,
    /// The answer to its last push, to be sent again if asked again.
    reply: Option<Frame>,
}

/// What to do about a push.
#[derive(Debug, PartialEq)]
pub(in crate::node) enum Verdict {
    /// It waits for the others now.
    Waits,
    /// Send this once more.
    SendAgain(Frame),
    /// Ask for a new life.
    Rejoin,
    /// It was late or doubled.
    Nothing,
}

impl<P> Members<P> {
    /// Nobody has joined yet; incarnations begin above `n_incarnations`.
    pub(in crate::node) fn new(awaited: impl IntoIterator<Item = ShardId>, n_incarnations: u32) -> Self {
        Self {
            joined: BTreeMap::new(),
            awaited: awaited.into_iter().collect(),
            waiting: BTreeMap::new(),
            n_incarnations,
            gone: BTreeMap::new(),
            released: BTreeSet::new(),
        }
    }

    pub(in crate::node) fn new_incarnation(&mut self) -> u32 {
        self.n_incarnations += 1;
        self.n_incarnations
    }

    pub(in crate::node) fn awaited(&self) -> Vec<ShardId> {
        self.awaited.iter().copied().collect()
    }

    pub(in crate::node) fn on_push(&mut self, stamp: Stamp, is_joining: bool, push: P) -> Verdict {
        let waiting = self.waiting.get(&stamp.shard).map(|(stamp, _)| *stamp);
        if waiting == Some(stamp) {
            return Verdict::Nothing;
        }
        let member = self.joined.get(&stamp.shard);
        let is_next = match member {
            Some(member) if member.incarnation == stamp.incarnation => {
                if stamp.sequence == member.sequence {
                    return member.reply.clone().map_or(Verdict::Nothing, Verdict::SendAgain);
                }
                stamp.sequence == member.sequence + 1
            }
            Some(member) => is_joining && stamp.incarnation > member.incarnation,
            None => is_joining && self.gone.get(&stamp.shard).is_none_or(|gone| stamp.incarnation > *gone),
        };
        let is_superseded = waiting.is_some_and(|waiting| waiting.incarnation > stamp.incarnation);
        if is_superseded || !is_next {
            let is_alive = member.is_some_and(|member| member.incarnation == stamp.incarnation);
            return if is_alive { Verdict::Nothing } else { Verdict::Rejoin };
        }
        self.awaited.insert(stamp.shard);
        // what waits of an earlier life is no longer true
        self.waiting.insert(stamp.shard, (stamp, push));
        Verdict::Waits
    }

    /// All pushes of the round, in worker order, if all have come.
    pub(in crate::node) fn take_round(&mut self) -> Option<Vec<(Stamp, P)>> {
        let all_here = self.awaited.iter().all(|shard| self.waiting.contains_key(shard));
        if !all_here || self.waiting.is_empty() {
            return None;
        }
        let pushes: Vec<_> = std::mem::take(&mut self.waiting).into_values().collect();
        for (stamp, _) in &pushes {
            let member = Member { incarnation: stamp.incarnation, sequence: stamp.sequence, reply: None };
            self.joined.insert(stamp.shard, member);
        }
        Some(pushes)
    }

    /// Puts a push of the round back: it goes on waiting.
    pub(in crate::node) fn put_back(&mut self, stamp: Stamp, push: P) {
        self.waiting.insert(stamp.shard, (stamp, push));
    }

    /// Notes an answer, to be sent again if asked again.
    pub(in crate::node) fn answered(&mut self, stamp: Stamp, reply: Frame, is_last: bool) {
        self.joined.get_mut(&stamp.shard).expect("it has pushed").reply = Some(reply);
        if is_last {
            self.released.insert(stamp.shard);
            self.awaited.remove(&stamp.shard);
        }
    }

    /// A worker is gone.
    pub(in crate::node) fn lose(&mut self, shard: ShardId) {
        self.gone.insert(shard, self.n_incarnations);
        self.awaited.remove(&shard);
        self.waiting.remove(&shard);
        self.joined.remove(&shard);
    }

    /// Whether everyone has had the last answer.
    pub(in crate::node) fn all_released(&self) -> bool {
        self.joined.keys().all(|shard| self.released.contains(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(shard: ShardId, incarnation: u32, sequence: u64) -> Stamp {
        Stamp { shard, incarnation, sequence }
    }

    #[test]
    fn a_doubled_push_gets_its_reply_again_and_a_zombie_is_asked_to_rejoin() {
        let mut members: Members<()> = Members::new([0, 1], 0);
        assert_eq!(members.on_push(stamp(0, 1, 1), true, ()), Verdict::Waits);
        assert_eq!(members.on_push(stamp(0, 1, 1), true, ()), Verdict::Nothing, "it waits already");
        assert!(members.take_round().is_none(), "not everyone is here");
        assert_eq!(members.on_push(stamp(1, 2, 1), true, ()), Verdict::Waits);
        assert_eq!(members.take_round().map(|pushes| pushes.len()), Some(2));
        let reply = Frame::new(vec![7]);
        members.answered(stamp(0, 1, 1), reply.clone(), false);
        assert_eq!(members.on_push(stamp(0, 1, 1), true, ()), Verdict::SendAgain(reply));
        assert_eq!(members.on_push(stamp(0, 1, 3), false, ()), Verdict::Nothing, "not the next");
        assert_eq!(members.on_push(stamp(0, 5, 1), true, ()), Verdict::Waits, "a new life");
        assert_eq!(members.on_push(stamp(0, 1, 2), false, ()), Verdict::Nothing, "an old one, while the new one waits");
        assert_eq!(members.on_push(stamp(1, 2, 2), false, ()), Verdict::Waits);
        assert!(members.take_round().is_some());
        assert_eq!(members.on_push(stamp(0, 1, 2), false, ()), Verdict::Rejoin, "an old one");
        assert_eq!(members.on_push(stamp(1, 9, 1), false, ()), Verdict::Rejoin, "a life that never joined");
    }

    #[test]
    fn what_a_lost_worker_said_is_not_believed() {
        let mut members: Members<()> = Members::new([0], 3);
        assert_eq!(members.on_push(stamp(0, 3, 1), true, ()), Verdict::Waits);
        members.lose(0);
        assert!(members.take_round().is_none());
        assert_eq!(members.on_push(stamp(0, 3, 1), true, ()), Verdict::Rejoin);
        assert_eq!(members.on_push(stamp(0, 4, 1), true, ()), Verdict::Waits);
    }
}
