//! What the nodes of the slice sampler say of a split or a merge that is tried between two rounds.
//!
//! ```text
//! coordinator: SliceMove (anchors) ─► worker: SliceSides ─► SliceMove (divide) ─► SliceSides ─► … ─► draw, or SliceSettlement ─► SlicePush
//! ```
//!
//! Every step says all that a worker needs to know, the same to all workers, so it is encoded once.
//! Nothing changes before it is settled.

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, ShardId};
use crate::protocol::wire;
use crate::protocol::{Decoded, require};
use crate::stats::Stats;

/// A step of an attempt to split a component or to merge two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceMove {
    /// Names the streams of the step.
    pub step: u64,
    /// Whose rows it is about: those of one component that may be split, or of two that may be
    /// merged, the left one first.
    pub components: Vec<ComponentId>,
    /// The row that is always on the left, and the one that is always on the right.
    pub anchors: Option<[Anchor; 2]>,
    /// What is to be done.
    pub task: MoveTask,
}

impl SliceMove {
    /// How many of the left and of the right anchor are a worker's.
    pub(crate) fn anchors_of(&self, shard: ShardId) -> [u64; 2] {
        self.anchors.map_or([0, 0], |anchors| anchors.map(|anchor| u64::from(anchor.shard == shard)))
    }
}

/// A row, as a coordinator knows it that never sees one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Whose row it is.
    pub shard: ShardId,
    /// Its component.
    pub component: ComponentId,
    /// Which of that worker's rows of the component, from 0.
    pub index: u64,
}

/// What workers are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum MoveTask {
    /// The statistics of the anchors.
    Anchors,
    /// Draw the side of every other row: the statistics of the sides, and how probable what was
    /// drawn is.
    Divide(Odds),
    /// How probable it is that the same would have drawn the two components as they are.
    Weigh(Odds),
}

/// By what a row goes to the left or to the right, without looking at any other row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Odds {
    /// The logarithm of the odds for the left, before the row is looked at.
    pub log_prior_odds: f64,
    /// Parameters of the left, then of the right; none where rows are not looked at.
    pub parameters: Vec<f64>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceSides {
    /// The step that it answers.
    pub step: u64,
    /// The statistics of the left and of the right; of no rows where none were asked for.
    #[serde(with = "wire::one")]
    pub sides: [Stats; 2],
    /// The logarithm of the probability of the worker's part of the division, anchors apart.
    pub log_probability: f64,
}

/// An attempt that is accepted. Labels follow it, and are pushed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceSettlement {
    /// The rows that were last drawn to the right of `component` are of `right` now.
    Split {
        /// The component that was divided.
        component: ComponentId,
        /// A new one.
        right: ComponentId,
    },
    /// The rows of one component are of another now.
    Merge {
        /// Where they go.
        into: ComponentId,
        /// Where they were.
        from: ComponentId,
    },
}

/// What can be said of sides without knowing the rows.
pub(super) fn check_sides(sides: &SliceSides) -> Decoded<()> {
    // never above 0, and minus infinity where a division cannot be drawn
    require(sides.log_probability <= 0.0, "an invalid probability")
}

/// What can be said of a step without knowing the rows.
pub(super) fn check_move(step: &SliceMove) -> Decoded<()> {
    require((1..=2).contains(&step.components.len()), "neither one component nor two")?;
    let (MoveTask::Divide(odds) | MoveTask::Weigh(odds)) = &step.task else { return Ok(()) };
    let is_sound = !odds.log_prior_odds.is_nan() && odds.parameters.iter().all(|number| number.is_finite());
    require(is_sound, "invalid odds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::slice::Slice;
    use crate::method::slice::message::{SliceHead, SliceReply, SliceWord};
    use crate::protocol::codec::{decode, encode};
    use crate::protocol::message::Stamp;
    use crate::stats::Sums;

    type Message = crate::protocol::codec::Message<Slice>;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn all(reply: SliceReply) -> Message {
        Message::Reply(SliceHead::All, Some(reply))
    }

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn step(task: MoveTask) -> SliceMove {
        let anchor = |index| Anchor { shard: 1, component: id(4), index };
        SliceMove { step: 7, components: vec![id(4)], anchors: Some([anchor(0), anchor(2)]), task }
    }

    fn odds() -> Odds {
        Odds { log_prior_odds: -0.5, parameters: vec![1.0, 2.0, 1e300, -4.0] }
    }

    fn sides(sums: [Sums; 2], log_probability: f64) -> Message {
        let sides = sums.map(|sums| Stats { count: 3, sums });
        Message::Push(SliceWord::Sides(SliceSides { step: 7, sides, log_probability }))
    }

    #[test]
    fn what_is_said_of_a_move_survives_the_wire() {
        let split = SliceSettlement::Split { component: id(4), right: id(9) };
        let merge = SliceSettlement::Merge { into: id(4), from: id(5) };
        let messages = [
            all(SliceReply::Move(step(MoveTask::Anchors))),
            all(SliceReply::Move(step(MoveTask::Divide(odds())))),
            all(SliceReply::Move(step(MoveTask::Weigh(odds())))),
            all(SliceReply::Settle(split)),
            all(SliceReply::Settle(merge)),
            sides([Sums::Dense([0.5, 1.0].into()), Sums::Dense([0.0, 0.0].into())], f64::NEG_INFINITY),
            sides([Sums::Counts(vec![(0, 2)]), Sums::Counts(vec![])], -3.5),
        ];
        for message in messages {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn nonsense_about_a_move_is_refused() {
        let with = |change: &dyn Fn(&mut Odds)| {
            let mut odds = odds();
            change(&mut odds);
            all(SliceReply::Move(step(MoveTask::Divide(odds))))
        };
        let of_none = SliceMove { components: vec![], ..step(MoveTask::Anchors) };
        let zero = || Sums::Dense([0.0, 0.0].into());
        let messages = [
            with(&|odds| odds.log_prior_odds = f64::NAN),
            with(&|odds| odds.parameters[1] = f64::INFINITY),
            all(SliceReply::Move(of_none)),
            sides([zero(), zero()], f64::NAN),
            sides([zero(), zero()], 0.5),
        ];
        for message in messages {
            assert!(decode::<Slice>(&encode(STAMP, &message)).is_err(), "{message:?}");
        }
    }
}
