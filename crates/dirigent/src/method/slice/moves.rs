//! Splits and merges between two rounds: the labels of a cycle are drawn and counted, and the next
//! draw has not been made.
//!
//! A cycle is complete, and reported, after its attempts. A checkpoint never falls between them:
//! until they are over the coordinator stands where it stood when it sent the last draw, and so do
//! its workers. If somebody is lost or comes back meanwhile, the cycle goes on without further
//! attempts.

use std::collections::BTreeSet;

use super::Slice;
use super::attempt::{AttemptStep, AttemptVerdict, MOST_STEPS, MoveAttempt, Partition, Terms};
use super::census::Census;
use super::ledger::{SliceLedger, tell_all};
use super::message::{SliceReply, SliceWord};
use super::move_message::{SliceMove, SliceSettlement, SliceSides};
use crate::consolidate::{ComponentId, ShardId, WeighedStats};
use crate::error::Result;
use crate::family::Conjugate;
use crate::protocol::message::Stamp;
use crate::protocol::{Decoded, PushContext, Round, check_stats, require};
use crate::rng::{Role, Seed, Stream};

/// Steps of a round, at most: each has a name of its own.
const STEPS_OF_A_ROUND: u64 = 1 << 11;
const _: () = assert!(u8::MAX as u64 * MOST_STEPS <= STEPS_OF_A_ROUND, "a step has one name");

/// A cycle whose labels are drawn, with what has been tried since.
#[derive(Default)]
pub(super) struct MoveRound {
    /// Rows that the draw of the labels has moved.
    pub(super) moved: u64,
    /// Attempts that were begun.
    n_begun: u64,
    /// Attempts that were judged.
    pub(super) n_judged: u64,
    pub(super) splits: u64,
    pub(super) merges: u64,
    /// Components that came from splits: they are no births.
    pub(super) from_splits: BTreeSet<ComponentId>,
    /// What workers are asked about now.
    under_way: Option<(MoveAttempt, SliceMove, Stream)>,
    /// The partition as it is, until that changes.
    known: Option<(Vec<(ComponentId, WeighedStats)>, Census)>,
    is_given_up: bool,
}

impl MoveRound {
    /// Nothing more is tried in this cycle.
    pub(super) fn give_up(&mut self) {
        self.is_given_up = true;
    }

    /// Whether the answers of all workers lead on.
    pub(super) fn goes_on(&self) -> bool {
        self.under_way.is_some() && !self.is_given_up
    }

    /// What a worker may answer to what it was asked.
    pub(super) fn check(&self, shard: ShardId, said: &SliceSides, context: &PushContext<'_>) -> Decoded<()> {
        let asked = self.under_way.as_ref().zip(self.known.as_ref());
        let Some(((attempt, step, _), (_, census))) = asked.filter(|((_, step, _), _)| step.step == said.step) else {
            return require(false, "an answer to what nobody asked");
        };
        check_stats(&said.sides, context.family)?;
        let counts = said.sides.each_ref().map(|stats| stats.count as u64);
        let of_anchors = step.anchors_of(shard);
        let is_whole = match attempt.n_rows_asked(census, shard) {
            Some(0) => counts == [0, 0],
            Some(n_rows) => counts[0] + counts[1] == n_rows && (0..2).all(|side| counts[side] >= of_anchors[side]),
            None => counts == of_anchors,
        };
        require(is_whole, "sides of other rows")
    }
}

impl SliceLedger {
    /// Tries the next split or merge, if one is left to be tried; else the cycle is complete.
    pub(super) fn try_moves(&mut self, stamps: &[Stamp], round: &mut Round<'_, Slice>) -> Result<()> {
        while let Some((step, mut rng)) = self.next_attempt(round) {
            let (attempt, next) = self.with_partition(round, |partition| MoveAttempt::begin(partition, step, &mut rng));
            if self.act(attempt, next, rng, stamps, round) {
                return Ok(());
            }
        }
        self.complete(stamps, round)
    }

    /// All workers have answered what they were asked.
    pub(super) fn on_all_sides(&mut self, said: Vec<(Stamp, SliceWord)>, round: &mut Round<'_, Slice>) -> Result<()> {
        let family = round.gathering.family();
        let empty = || family.empty_contribution();
        let (mut sides, mut log_probability) = ([empty(), empty()], 0.0);
        for (_, said) in &said {
            let SliceWord::Sides(of_worker) = said else { panic!("all have answered") };
            sides.iter_mut().zip(&of_worker.sides).for_each(|(all, stats)| all.add(stats));
            log_probability += of_worker.log_probability;
        }
        let under_way = self.moving.as_mut().and_then(|moving| moving.under_way.take());
        let (mut attempt, _, mut rng) = under_way.expect("they were asked");
        let next = self.with_partition(round, |partition| attempt.hear(partition, sides, log_probability, &mut rng));
        let stamps: Vec<Stamp> = said.iter().map(|(stamp, _)| *stamp).collect();
        if self.act(attempt, next, rng, &stamps, round) { Ok(()) } else { self.try_moves(&stamps, round) }
    }

    /// The first step and the stream of an attempt that is begun now.
    fn next_attempt(&mut self, round: &Round<'_, Slice>) -> Option<(u64, Stream)> {
        let n_attempts = u64::from(round.options.moves_per_cycle);
        let has_rows = self.columns.values().any(|column| !column.contributions.is_empty());
        let moving = self.moving.as_mut().filter(|moving| has_rows && !moving.is_given_up)?;
        let number = moving.n_begun;
        moving.n_begun = (number < n_attempts).then_some(number + 1)?;
        let first_step = (self.round + 1) * STEPS_OF_A_ROUND + number * MOST_STEPS;
        let seed = Seed { seed: round.options.seed, chain: round.options.chain };
        Some((first_step, seed.stream(Role::SliceMoves, self.ids.epoch, first_step)))
    }

    /// Does what comes next in an attempt; whether workers were sent something.
    fn act(
        &mut self,
        attempt: MoveAttempt,
        next: AttemptStep,
        mut rng: Stream,
        stamps: &[Stamp],
        round: &mut Round<'_, Slice>,
    ) -> bool {
        match next {
            AttemptStep::Ask(step) => {
                tell_all(stamps, &SliceReply::Move(step.clone()), round);
                let moving = self.moving.as_mut().expect("an attempt is made in a cycle");
                moving.under_way = Some((attempt, step, rng));
                true
            }
            AttemptStep::Judge(terms, verdict) => self.judge(&terms, verdict, &mut rng, stamps, round),
            AttemptStep::Nothing => false,
        }
    }

    fn judge(
        &mut self,
        terms: &Terms,
        verdict: AttemptVerdict,
        rng: &mut Stream,
        stamps: &[Stamp],
        round: &mut Round<'_, Slice>,
    ) -> bool {
        let is_accepted = libm::log(rng.uniform_positive()) <= terms.log_ratio();
        let moving = self.moving.as_mut().expect("an attempt is made in a cycle");
        moving.n_judged += 1;
        if !is_accepted {
            return false;
        }
        moving.known = None;
        let settlement = verdict.settlement(|| self.ids.mint());
        match settlement {
            SliceSettlement::Split { right, .. } => {
                moving.splits += 1;
                moving.from_splits.insert(right);
            }
            SliceSettlement::Merge { .. } => moving.merges += 1,
        }
        tell_all(stamps, &SliceReply::Settle(settlement), round);
        true
    }

    fn with_partition<T>(&mut self, round: &Round<'_, Slice>, look: impl FnOnce(&Partition<'_>) -> T) -> T {
        let (family, alpha) = (round.gathering.family(), round.progress.alpha);
        let known = self.moving.as_mut().and_then(|moving| moving.known.take());
        let (components, census) = known.unwrap_or_else(|| (self.weighed(family), self.census()));
        let result = look(&Partition { family, alpha, components: &components, census: &census });
        self.moving.as_mut().expect("an attempt is made in a cycle").known = Some((components, census));
        result
    }

    fn weighed(&self, family: &dyn Conjugate) -> Vec<(ComponentId, WeighedStats)> {
        self.totals(family).into_iter().map(|total| (total.id, WeighedStats::new(family, total.stats))).collect()
    }

    fn census(&self) -> Census {
        let columns =
            self.columns.iter().flat_map(|(shard, column)| column.contributions.iter().map(|of| (*shard, of)));
        Census::new(columns.map(|(shard, of)| (shard, of.id, of.stats.count as u64)))
    }
}
