//! A coordinator's workers: their hellos, the plan made of them, and whose push is awaited.

use super::members::{Members, MembersMemory, Verdict};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::family::Conjugate;
use crate::message::codec::{Message, encode};
use crate::message::{Decoded, Hello, Plan, Stamp};
use crate::model::Model;
use crate::node::checks::RowCounts;
use crate::node::hellos::{Gathered, Hellos};
use crate::node::{Address, Frame, Outbox, RoundsCoordinatorOptions};

/// The workers of a coordinator, and the plan they all have.
pub(in crate::node) struct Gathering<P> {
    n_workers: u32,
    hellos: Hellos,
    model: Model,
    plan: Option<Plan>,
    members: Members<P>,
}

/// What a push is checked by.
pub(in crate::node) struct Heard<'a> {
    pub(in crate::node) family: &'a dyn Conjugate,
    pub(in crate::node) row_counts: &'a RowCounts,
    pub(in crate::node) n_incarnations: u32,
}

impl<P> Gathering<P> {
    /// Waits for the hellos of so many workers.
    pub(in crate::node) fn new(n_workers: u32, model: Model) -> Self {
        Self { n_workers, hellos: Hellos::default(), model, plan: None, members: Members::new(0..n_workers, 0) }
    }

    /// The workers there are, when a coordinator takes another's place for the `n_restarts`-th time.
    pub(in crate::node) fn again(plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        // above whatever the one before can have handed out
        let members = Members::new(workers.iter().copied(), n_restarts << 24);
        Self { n_workers: workers.len() as u32, members, ..Self::planned(plan) }
    }

    /// The workers of a run that goes on from a border, where all had pushed and were answered.
    pub(in crate::node) fn resumed(plan: Plan, members: MembersMemory) -> Self {
        Self { members: members.recall(), ..Self::planned(plan) }
    }

    fn planned(plan: Plan) -> Self {
        Self { plan: Some(plan.clone()), ..Self::new(0, plan.model) }
    }

    /// Who has joined, and the last answers.
    pub(in crate::node) fn members_memory(&self) -> MembersMemory {
        self.members.memory()
    }

    pub(in crate::node) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    pub(in crate::node) fn family(&self) -> &dyn Conjugate {
        self.plan.as_ref().expect("there is a plan before there are statistics").model.conjugate()
    }

    /// The length of statistics, once there is a plan.
    pub(in crate::node) fn stats_len(&self) -> Option<usize> {
        self.plan.as_ref().map(|plan| plan.model.conjugate().stats_len())
    }

    pub(in crate::node) fn on_hello(
        &mut self,
        stamp: Stamp,
        hello: Hello,
        options: &RoundsCoordinatorOptions,
        out: &mut Outbox,
    ) -> Result<()> {
        let gathered = self.hellos.take_in(stamp.shard, hello, &self.model, self.plan.is_some(), self.n_workers)?;
        if self.plan.is_some() {
            self.send_plan(stamp.shard, out);
        } else if let Some(Gathered { workers, n_rows, kernel }) = gathered {
            self.plan = Some(options.plan(&self.model, n_rows, kernel));
            workers.into_iter().for_each(|shard| self.send_plan(shard, out));
        }
        Ok(())
    }

    /// Takes in a push, checked if it is the next of its worker; all pushes of the round in worker order, if it was the last that was awaited.
    pub(in crate::node) fn on_push(
        &mut self,
        stamp: Stamp,
        is_joining: bool,
        push: P,
        check: impl FnOnce(&P, &Heard<'_>) -> Decoded<()>,
        out: &mut Outbox,
    ) -> Result<Option<Vec<(Stamp, P)>>> {
        let Some(plan) = &self.plan else { return Ok(None) };
        let heard = Heard {
            family: plan.model.conjugate(),
            row_counts: self.hellos.row_counts(),
            n_incarnations: self.members.n_incarnations(),
        };
        let verdict = self.members.on_push(stamp, is_joining, push, |push| check(push, &heard));
        match verdict.map_err(|refusal| refusal.of(Address::Worker(stamp.shard)))? {
            Verdict::Waits => return Ok(self.members.take_round()),
            Verdict::SendAgain(reply) => out.send(Address::Worker(stamp.shard), reply),
            Verdict::Rejoin => self.send_rejoin(stamp.shard, out),
            Verdict::Nothing => {}
        }
        Ok(None)
    }

    pub(in crate::node) fn answer(&mut self, stamp: Stamp, frame: Frame, is_last: bool, out: &mut Outbox) {
        self.members.answered(stamp, frame.clone(), is_last);
        out.send(Address::Worker(stamp.shard), frame);
    }

    /// Puts a push of the round back: it goes on waiting.
    pub(in crate::node) fn put_back(&mut self, stamp: Stamp, push: P) {
        self.members.put_back(stamp, push);
    }

    /// Sends everyone the last answer once more.
    pub(in crate::node) fn answer_again(&self, out: &mut Outbox) {
        self.members.answers().for_each(|(shard, answer)| out.send(Address::Worker(shard), answer));
    }

    /// A worker is gone; all pushes of the round, if only its own was missing.
    pub(in crate::node) fn lose(&mut self, shard: ShardId) -> Option<Vec<(Stamp, P)>> {
        self.hellos.forget(shard);
        self.members.lose(shard);
        self.members.take_round()
    }

    /// Whether everyone has had the last answer.
    pub(in crate::node) fn all_released(&self) -> bool {
        self.members.all_released()
    }

    /// Asks everyone to send everything.
    pub(in crate::node) fn ask_all(&mut self, out: &mut Outbox) {
        self.members.awaited().into_iter().for_each(|shard| self.send_rejoin(shard, out));
    }

    fn send_plan(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        let plan = self.plan.clone().expect("there is a plan");
        out.send(Address::Worker(shard), encode(stamp, &Message::Plan(plan)));
    }

    fn send_rejoin(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        out.send(Address::Worker(shard), encode(stamp, &Message::Rejoin));
    }
}
