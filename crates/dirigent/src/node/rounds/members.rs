//! Who takes part: lives, numbers of pushes, and whom a round waits for.
//!
//! Next number: it waits for the others. Same number: the same reply again. Anything else is from another life. Nothing here knows what a
//! push says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::ShardId;
use crate::message::{Decoded, Stamp};
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

/// Who has joined, without what waits, and the last answers.
#[derive(Serialize, Deserialize)]
pub(in crate::node) struct MembersMemory {
    joined: BTreeMap<ShardId, MemberMemory>,
    /// The part of the answers that all receive.
    shared: Option<Vec<u8>>,
    awaited: BTreeSet<ShardId>,
    n_incarnations: u32,
    gone: BTreeMap<ShardId, u32>,
    released: BTreeSet<ShardId>,
}

#[derive(Serialize, Deserialize)]
struct MemberMemory {
    incarnation: u32,
    sequence: u64,
    answer: Option<Vec<u8>>,
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

    pub(in crate::node) fn n_incarnations(&self) -> u32 {
        self.n_incarnations
    }

    pub(in crate::node) fn awaited(&self) -> Vec<ShardId> {
        self.awaited.iter().copied().collect()
    }

    /// Takes in a push. One that is the next of its worker is checked before anything is done about it.
    pub(in crate::node) fn on_push(
        &mut self,
        stamp: Stamp,
        is_joining: bool,
        push: P,
        check: impl FnOnce(&P) -> Decoded<()>,
    ) -> Decoded<Verdict> {
        let waiting = self.waiting.get(&stamp.shard).map(|(stamp, _)| *stamp);
        if waiting == Some(stamp) {
            return Ok(Verdict::Nothing);
        }
        let member = self.joined.get(&stamp.shard);
        let is_next = match member {
            Some(member) if member.incarnation == stamp.incarnation => {
                if stamp.sequence == member.sequence {
                    return Ok(member.reply.clone().map_or(Verdict::Nothing, Verdict::SendAgain));
                }
                stamp.sequence == member.sequence + 1
            }
            Some(member) => is_joining && stamp.incarnation > member.incarnation,
            None => is_joining && self.gone.get(&stamp.shard).is_none_or(|gone| stamp.incarnation > *gone),
        };
        let is_superseded = waiting.is_some_and(|waiting| waiting.incarnation > stamp.incarnation);
        if is_superseded || !is_next {
            let is_alive = member.is_some_and(|member| member.incarnation == stamp.incarnation);
            return Ok(if is_alive { Verdict::Nothing } else { Verdict::Rejoin });
        }
        check(&push)?;
        self.awaited.insert(stamp.shard);
        // what waits of an earlier life is no longer true
        self.waiting.insert(stamp.shard, (stamp, push));
        Ok(Verdict::Waits)
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

    /// The last answer to each.
    pub(in crate::node) fn answers(&self) -> impl Iterator<Item = (ShardId, Frame)> {
        self.joined.iter().filter_map(|(shard, member)| Some((*shard, member.reply.clone()?)))
    }

    /// At the border of a cycle, where all have had the same answer.
    pub(in crate::node) fn memory(&self) -> MembersMemory {
        let member = |(shard, member): (&ShardId, &Member)| {
            let answer = member.reply.as_ref().map(|frame| frame.own.to_vec());
            (*shard, MemberMemory { incarnation: member.incarnation, sequence: member.sequence, answer })
        };
        let shared = self.joined.values().find_map(|member| member.reply.as_ref()?.shared.as_ref());
        MembersMemory {
            joined: self.joined.iter().map(member).collect(),
            shared: shared.map(|bytes| bytes.to_vec()),
            awaited: self.awaited.clone(),
            n_incarnations: self.n_incarnations,
            gone: self.gone.clone(),
            released: self.released.clone(),
        }
    }

    /// Whether everyone has had the last answer.
    pub(in crate::node) fn all_released(&self) -> bool {
        self.joined.keys().all(|shard| self.released.contains(shard))
    }
}

impl MembersMemory {
    /// Who has joined.
    pub(in crate::node) fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.joined.keys().copied()
    }

    /// The members again.
    pub(in crate::node) fn recall<P>(self) -> Members<P> {
        let shared: Option<Arc<[u8]>> = self.shared.map(Into::into);
        let member = |(shard, memory): (ShardId, MemberMemory)| {
            let reply = memory.answer.map(|own| Frame { own: own.into(), shared: shared.clone() });
            (shard, Member { incarnation: memory.incarnation, sequence: memory.sequence, reply })
        };
        Members {
            joined: self.joined.into_iter().map(member).collect(),
            gone: self.gone,
            released: self.released,
            ..Members::new(self.awaited, self.n_incarnations)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(shard: ShardId, incarnation: u32, sequence: u64) -> Stamp {
        Stamp { shard, incarnation, sequence }
    }

    fn on_push(members: &mut Members<()>, stamp: Stamp, is_joining: bool) -> Verdict {
        members.on_push(stamp, is_joining, (), |()| Ok(())).unwrap()
    }

    #[test]
    fn a_doubled_push_gets_its_reply_again_and_a_zombie_is_asked_to_rejoin() {
        let mut members: Members<()> = Members::new([0, 1], 0);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::Waits);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::Nothing, "it waits already");
        assert!(members.take_round().is_none(), "not everyone is here");
        assert_eq!(on_push(&mut members, stamp(1, 2, 1), true), Verdict::Waits);
        assert_eq!(members.take_round().map(|pushes| pushes.len()), Some(2));
        let reply = Frame::new(vec![7]);
        members.answered(stamp(0, 1, 1), reply.clone(), false);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::SendAgain(reply));
        assert_eq!(on_push(&mut members, stamp(0, 1, 3), false), Verdict::Nothing, "not the next");
        assert_eq!(on_push(&mut members, stamp(0, 5, 1), true), Verdict::Waits, "a new life");
        assert_eq!(
            on_push(&mut members, stamp(0, 1, 2), false),
            Verdict::Nothing,
            "an old one, while the new one waits"
        );
        assert_eq!(on_push(&mut members, stamp(1, 2, 2), false), Verdict::Waits);
        assert!(members.take_round().is_some());
        assert_eq!(on_push(&mut members, stamp(0, 1, 2), false), Verdict::Rejoin, "an old one");
        assert_eq!(on_push(&mut members, stamp(1, 9, 1), false), Verdict::Rejoin, "a life that never joined");
    }

    #[test]
    fn what_a_lost_worker_said_is_not_believed() {
        let mut members: Members<()> = Members::new([0], 3);
        assert_eq!(on_push(&mut members, stamp(0, 3, 1), true), Verdict::Waits);
        members.lose(0);
        assert!(members.take_round().is_none());
        assert_eq!(on_push(&mut members, stamp(0, 3, 1), true), Verdict::Rejoin);
        assert_eq!(on_push(&mut members, stamp(0, 4, 1), true), Verdict::Waits);
    }
}
