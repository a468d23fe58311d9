//! A coordinator's workers: their hellos, the plan made of them, and whose push is awaited.

use super::checks::RowCounts;
use super::hellos::{AllHellos, Hellos};
use super::members::{Members, MembersMemory, Verdict};
use super::{Address, Frame, Outbox};
use crate::consolidate::ShardId;
use crate::error::Result;
use crate::family::Conjugate;
use crate::model::Model;
use crate::protocol::Decoded;
use crate::protocol::envelope::{FrameKind, frame};
use crate::protocol::message::{Hello, Plan, Stamp};
use crate::sweep::Kernel;

/// The workers of a coordinator, and the plan they all have.
pub struct Gathering<P> {
    n_workers: u32,
    hellos: Hellos,
    model: Model,
    plan: Option<Plan>,
    members: Members<P>,
}

/// What a push is checked by.
pub struct PushContext<'a> {
    pub(crate) family: &'a dyn Conjugate,
    pub(crate) row_counts: &'a RowCounts,
    pub(crate) n_incarnations: u32,
    /// Workers that take part from the beginning.
    pub(crate) n_workers: u32,
}

impl<P> Gathering<P> {
    /// Waits for the hellos of this many workers.
    pub(crate) fn new(n_workers: u32, model: Model) -> Self {
        Self { n_workers, hellos: Hellos::default(), model, plan: None, members: Members::new(0..n_workers, 0) }
    }

    /// The workers there are, when a coordinator takes another's place for the `n_restarts`-th
    /// time.
    pub(crate) fn again(plan: Plan, workers: &[ShardId], n_restarts: u32) -> Self {
        // above whatever the one before can have handed out
        let members = Members::new(workers.iter().copied(), n_restarts << 24);
        Self { n_workers: workers.len() as u32, members, ..Self::planned(plan) }
    }

    /// The workers of a run that resumes from a border, where all had pushed and were answered.
    pub(crate) fn resumed(plan: Plan, members: MembersMemory) -> Self {
        let n_workers = members.shards().count() as u32;
        Self { n_workers, members: members.recall(), ..Self::planned(plan) }
    }

    fn planned(plan: Plan) -> Self {
        Self { plan: Some(plan.clone()), ..Self::new(0, plan.model) }
    }

    pub(crate) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    pub(crate) fn family(&self) -> &dyn Conjugate {
        self.plan.as_ref().expect("there is a plan before there are statistics").model.conjugate()
    }

    pub(crate) fn on_hello(
        &mut self,
        stamp: Stamp,
        hello: Hello,
        plan: impl FnOnce(&Model, u64, Kernel) -> Plan,
        out: &mut Outbox,
    ) -> Result<()> {
        let gathered = self.hellos.take_in(stamp.shard, hello, &self.model, self.plan.is_some(), self.n_workers)?;
        if self.plan.is_some() {
            self.send_plan(stamp.shard, out);
        } else if let Some(AllHellos { workers, n_rows, kernel }) = gathered {
            self.plan = Some(plan(&self.model, n_rows, kernel));
            workers.into_iter().for_each(|shard| self.send_plan(shard, out));
        }
        Ok(())
    }

    /// Whether a push is the next of its worker; otherwise its worker receives what it missed.
    pub(crate) fn is_next(&mut self, stamp: Stamp, is_joining: bool, out: &mut Outbox) -> bool {
        match self.members.judge(stamp, is_joining) {
            Verdict::Next => return self.plan.is_some(),
            Verdict::SendAgain(reply) => out.send(Address::Worker(stamp.shard), reply),
            Verdict::Rejoin if self.plan.is_some() => self.send_rejoin(stamp.shard, out),
            Verdict::Rejoin | Verdict::Nothing => {}
        }
        false
    }

    /// Lets a push wait that is the next of its worker and says what it may. Whether it waits.
    pub(crate) fn on_push(
        &mut self,
        stamp: Stamp,
        is_joining: bool,
        push: P,
        check: impl FnOnce(&P, &PushContext<'_>) -> Decoded<()>,
        out: &mut Outbox,
    ) -> Result<bool> {
        if !self.is_next(stamp, is_joining, out) {
            return Ok(false);
        }
        check(&push, &self.push_context()).map_err(|rejection| rejection.of(Address::Worker(stamp.shard)))?;
        self.members.wait(stamp, push);
        Ok(true)
    }

    /// All pushes of the round in worker order, if all have come.
    pub(crate) fn take_round(&mut self) -> Option<Vec<(Stamp, P)>> {
        self.members.take_round()
    }

    /// What a push is checked by.
    pub(crate) fn push_context(&self) -> PushContext<'_> {
        PushContext {
            family: self.family(),
            row_counts: self.hellos.row_counts(),
            n_incarnations: self.members.n_incarnations(),
            n_workers: self.n_workers,
        }
    }

    pub(crate) fn members(&self) -> &Members<P> {
        &self.members
    }

    pub(crate) fn members_mut(&mut self) -> &mut Members<P> {
        &mut self.members
    }

    pub(crate) fn answer(&mut self, stamp: Stamp, frame: Frame, is_last: bool, out: &mut Outbox) {
        self.members.answered(stamp, frame.clone(), is_last);
        out.send(Address::Worker(stamp.shard), frame);
    }

    /// Puts a push of the round back: it goes on waiting.
    pub(crate) fn put_back(&mut self, stamp: Stamp, push: P) {
        self.members.put_back(stamp, push);
    }

    /// Sends everyone the last answer once more.
    pub(crate) fn answer_again(&self, out: &mut Outbox) {
        self.members.answers().for_each(|(shard, answer)| out.send(Address::Worker(shard), answer));
    }

    /// A worker is gone.
    pub(crate) fn forget(&mut self, shard: ShardId) {
        self.hellos.forget(shard);
        self.members.lose(shard);
    }

    /// Whether everyone has had the last answer.
    pub(crate) fn all_released(&self) -> bool {
        self.members.all_released()
    }

    /// Asks everyone to send everything.
    pub(crate) fn ask_all(&mut self, out: &mut Outbox) {
        self.members.awaited().into_iter().for_each(|shard| self.send_rejoin(shard, out));
    }

    fn send_plan(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        let plan = self.plan.clone().expect("there is a plan");
        out.send(Address::Worker(shard), frame(stamp, FrameKind::Plan, &plan, false));
    }

    fn send_rejoin(&mut self, shard: ShardId, out: &mut Outbox) {
        let stamp = Stamp { shard, incarnation: self.members.new_incarnation(), sequence: 0 };
        out.send(Address::Worker(shard), frame(stamp, FrameKind::Rejoin, &(), false));
    }
}
