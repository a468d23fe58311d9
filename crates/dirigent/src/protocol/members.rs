//! Who takes part in a run of any method: lives, numbers of pushes, and whom a round waits for.
//!
//! Next number: it waits, for the others or until nothing more comes. Same number: the same reply
//! again. Anything else is from another life. Nothing here knows what a push says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::ShardId;
use crate::protocol::Frame;
use crate::protocol::message::Stamp;

/// The workers, as a coordinator sees them.
pub(crate) struct Members<P> {
    joined: BTreeMap<ShardId, Member>,
    /// Whom the round waits for.
    awaited: BTreeSet<ShardId>,
    /// Pushes that wait.
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
pub(crate) struct MembersMemory {
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

/// What a push is.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The next of its worker.
    Next,
    /// One that was answered: send this once more.
    SendAgain(Frame),
    /// Of a life that has ended: ask for a new one.
    Rejoin,
    /// Late or doubled.
    Nothing,
}

impl<P> Members<P> {
    /// Nobody has joined yet; incarnations begin above `n_incarnations`.
    pub(crate) fn new(awaited: impl IntoIterator<Item = ShardId>, n_incarnations: u32) -> Self {
        Self {
            joined: BTreeMap::new(),
            awaited: awaited.into_iter().collect(),
            waiting: BTreeMap::new(),
            n_incarnations,
            gone: BTreeMap::new(),
            released: BTreeSet::new(),
        }
    }

    pub(crate) fn new_incarnation(&mut self) -> u32 {
        self.n_incarnations += 1;
        self.n_incarnations
    }

    pub(crate) fn n_incarnations(&self) -> u32 {
        self.n_incarnations
    }

    pub(crate) fn awaited(&self) -> Vec<ShardId> {
        self.awaited.iter().copied().collect()
    }

    /// What a push with this stamp is; only who joins begins a life.
    pub(crate) fn judge(&self, stamp: Stamp, is_joining: bool) -> Verdict {
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
        if is_next && !is_superseded {
            return Verdict::Next;
        }
        let is_alive = member.is_some_and(|member| member.incarnation == stamp.incarnation);
        if is_alive { Verdict::Nothing } else { Verdict::Rejoin }
    }

    /// Lets a push wait that is the next of its worker. What waits of an earlier life is no longer
    /// true.
    pub(crate) fn wait(&mut self, stamp: Stamp, push: P) {
        self.awaited.insert(stamp.shard);
        self.waiting.insert(stamp.shard, (stamp, push));
    }

    /// The pushes that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &P> {
        self.waiting.values().map(|(_, push)| push)
    }

    /// Whether all whom the round waits for have pushed.
    pub(crate) fn all_awaited_wait(&self) -> bool {
        !self.waiting.is_empty() && self.awaited.iter().all(|shard| self.waiting.contains_key(shard))
    }

    /// Whether all who have joined have pushed once more.
    pub(crate) fn all_joined_wait(&self) -> bool {
        !self.waiting.is_empty() && self.joined.keys().all(|shard| self.waiting.contains_key(shard))
    }

    /// Takes pushes that wait, in worker order; they are to be answered.
    pub(crate) fn take(&mut self, is_taken: impl Fn(&P) -> bool) -> Vec<(Stamp, P)> {
        let shards = self.waiting.iter().filter(|(_, (_, push))| is_taken(push)).map(|(shard, _)| *shard);
        let shards: Vec<ShardId> = shards.collect();
        shards.into_iter().flat_map(|shard| self.take_of(shard)).collect()
    }

    /// Takes the push of a worker, if it waits.
    pub(crate) fn take_of(&mut self, shard: ShardId) -> Vec<(Stamp, P)> {
        let taken = self.waiting.remove(&shard);
        if let Some((stamp, _)) = &taken {
            let member = Member { incarnation: stamp.incarnation, sequence: stamp.sequence, reply: None };
            self.joined.insert(shard, member);
        }
        taken.into_iter().collect()
    }

    /// All pushes of the round, in worker order, if all have come.
    pub(crate) fn take_round(&mut self) -> Option<Vec<(Stamp, P)>> {
        self.all_awaited_wait().then(|| self.take(|_| true))
    }

    /// Puts a push of the round back: it goes on waiting.
    pub(crate) fn put_back(&mut self, stamp: Stamp, push: P) {
        self.waiting.insert(stamp.shard, (stamp, push));
    }

    /// Notes an answer, to be sent again if asked again.
    pub(crate) fn answered(&mut self, stamp: Stamp, reply: Frame, is_last: bool) {
        self.joined.get_mut(&stamp.shard).expect("it has pushed").reply = Some(reply);
        if is_last {
            self.released.insert(stamp.shard);
            self.awaited.remove(&stamp.shard);
        }
    }

    /// A worker is gone.
    pub(crate) fn lose(&mut self, shard: ShardId) {
        self.gone.insert(shard, self.n_incarnations);
        self.awaited.remove(&shard);
        self.waiting.remove(&shard);
        self.joined.remove(&shard);
    }

    /// The last answer to each.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (ShardId, Frame)> {
        self.joined.iter().filter_map(|(shard, member)| Some((*shard, member.reply.clone()?)))
    }

    /// Which push of each has been taken last, and the answer to it.
    pub(crate) fn answered_pushes(&self) -> impl Iterator<Item = (Stamp, Option<&Frame>)> {
        self.joined.iter().map(|(shard, member)| {
            let Member { incarnation, sequence, ref reply } = *member;
            (Stamp { shard: *shard, incarnation, sequence }, reply.as_ref())
        })
    }

    /// Replaces the part of the answers that all receive.
    pub(crate) fn share(&mut self, shared: &Arc<[u8]>) {
        self.joined.values_mut().filter_map(|member| member.reply.as_mut()).for_each(|reply| {
            reply.shared = Some(Arc::clone(shared));
        });
    }

    /// At the end of a cycle, where all have had the same answer.
    pub(crate) fn memory(&self) -> MembersMemory {
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
    pub(crate) fn all_released(&self) -> bool {
        self.joined.keys().all(|shard| self.released.contains(shard))
    }
}

impl MembersMemory {
    /// Who has joined.
    pub(crate) fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.joined.keys().copied()
    }

    /// The answers, without what all receive.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (ShardId, &[u8])> {
        self.joined.iter().filter_map(|(shard, member)| Some((*shard, member.answer.as_deref()?)))
    }

    /// The members again.
    pub(crate) fn recall<P>(self) -> Members<P> {
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
        let verdict = members.judge(stamp, is_joining);
        if verdict == Verdict::Next {
            members.wait(stamp, ());
        }
        verdict
    }

    #[test]
    fn a_doubled_push_gets_its_reply_again_and_a_zombie_is_asked_to_rejoin() {
        let mut members: Members<()> = Members::new([0, 1], 0);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::Next);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::Nothing, "it waits already");
        assert!(members.take_round().is_none(), "not everyone is here");
        assert_eq!(on_push(&mut members, stamp(1, 2, 1), true), Verdict::Next);
        assert_eq!(members.take_round().map(|pushes| pushes.len()), Some(2));
        let reply = Frame::new(vec![7]);
        members.answered(stamp(0, 1, 1), reply.clone(), false);
        assert_eq!(on_push(&mut members, stamp(0, 1, 1), true), Verdict::SendAgain(reply));
        assert_eq!(on_push(&mut members, stamp(0, 1, 3), false), Verdict::Nothing, "not the next");
        assert_eq!(on_push(&mut members, stamp(0, 5, 1), true), Verdict::Next, "a new life");
        assert_eq!(
            on_push(&mut members, stamp(0, 1, 2), false),
            Verdict::Nothing,
            "an old one, while the new one waits"
        );
        assert_eq!(on_push(&mut members, stamp(1, 2, 2), false), Verdict::Next);
        assert!(members.take_round().is_some());
        assert_eq!(on_push(&mut members, stamp(0, 1, 2), false), Verdict::Rejoin, "an old one");
        assert_eq!(on_push(&mut members, stamp(1, 9, 1), false), Verdict::Rejoin, "a life that never joined");
    }

    #[test]
    fn what_a_lost_worker_said_is_not_believed() {
        let mut members: Members<()> = Members::new([0], 3);
        assert_eq!(on_push(&mut members, stamp(0, 3, 1), true), Verdict::Next);
        members.lose(0);
        assert!(members.take_round().is_none());
        assert_eq!(on_push(&mut members, stamp(0, 3, 1), true), Verdict::Rejoin);
        assert_eq!(on_push(&mut members, stamp(0, 4, 1), true), Verdict::Next);
    }
}
