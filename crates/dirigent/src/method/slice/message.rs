//! What the nodes of the slice sampler say to one another.
//!
//! ```text
//! worker: Hello ─► coordinator: Plan ─► worker: SlicePush ─► coordinator: SliceReply (draw) ─► worker: labels, SlicePush ─► … ─► last
//! ```
//!
//! Weights and parameters travel exactly, and are the same for all workers: they are encoded once.

use serde::{Deserialize, Serialize};

use super::move_message::{SliceMove, SliceSettlement, SliceSides, check_move, check_sides};
use crate::consolidate::ComponentId;
use crate::protocol::codec::Content;
use crate::protocol::message::Joining;
use crate::protocol::wire::is_sparse;
use crate::protocol::{Decoded, FinalComponents, require};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// All that a worker's rows contribute, and the smallest uniforms of their next slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicePush {
    /// The round its uniforms are for: the next one.
    pub round: u64,
    /// Set by a worker that joins.
    pub joining: Option<Joining>,
    /// Rows that changed their component; `None` if labels were not drawn since the last push.
    pub moved: Option<u64>,
    /// The components with rows.
    #[serde(with = "contributions")]
    pub contributions: Vec<SliceContribution>,
}

/// What a worker says: what its rows contribute, or what came of a step of a move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SliceWord {
    /// At the end of a round.
    Push(SlicePush),
    /// In a move.
    Sides(SliceSides),
}

/// What a worker's rows contribute to a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceContribution {
    /// The component.
    pub id: ComponentId,
    /// The statistics of the rows.
    pub stats: Stats,
    /// The smallest U that one of them will use in the next round.
    pub smallest_uniform: f64,
}

/// The part of the coordinator's answer that is for one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceHead {
    /// Do what all are asked to do.
    All,
    /// The uniforms were for another round than the one that comes: send them again, for this one.
    Again {
        /// The round to come.
        round: u64,
    },
}

/// What all workers are asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SliceReply {
    /// Draw labels from these.
    Draw(SliceDraw),
    /// A step of a split or a merge.
    Move(SliceMove),
    /// A split or a merge that is accepted.
    Settle(SliceSettlement),
    /// The last word: show the labels and rest.
    Last(FinalComponents),
}

/// What labels are drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceDraw {
    /// Names the streams of the workers.
    pub round: u64,
    /// Cycles that are complete.
    pub cycle: u64,
    /// The concentration.
    pub alpha: f64,
    /// By falling weight.
    pub ids: Vec<ComponentId>,
    /// Their weights and parameters.
    pub components: DrawnComponents,
}

/// Uniforms are multiples of it.
const SMALLEST_UNIFORM: f64 = 1.0 / (1u64 << 53) as f64;

impl Content for SliceWord {
    fn has_counts(&self) -> bool {
        match self {
            Self::Push(push) => push.contributions.iter().any(|contribution| is_sparse(&contribution.stats)),
            Self::Sides(sides) => sides.sides.iter().any(is_sparse),
        }
    }

    fn check(&self) -> Decoded<()> {
        match self {
            Self::Push(push) => {
                // a slice of no width would ask for components without end
                let is_uniform = |of: &SliceContribution| (SMALLEST_UNIFORM..=1.0).contains(&of.smallest_uniform);
                require(push.contributions.iter().all(is_uniform), "an invalid uniform")?;
                require(push.contributions.iter().all(|of| of.stats.count > 0), "a component without rows")
            }
            Self::Sides(sides) => check_sides(sides),
        }
    }
}

impl Content for SliceHead {}

impl Content for SliceReply {
    fn has_counts(&self) -> bool {
        matches!(self, Self::Last(last) if last.has_counts())
    }

    fn check(&self) -> Decoded<()> {
        match self {
            Self::Draw(draw) => {
                require(!draw.ids.is_empty(), "a draw without components")?;
                check_drawn(&draw.ids, &draw.components)
            }
            Self::Move(step) => check_move(step),
            Self::Settle(_) | Self::Last(_) => Ok(()),
        }
    }
}

/// Weights that fall, one per component, and parameters that are numbers, as many for each.
pub(crate) fn check_drawn(ids: &[ComponentId], components: &DrawnComponents) -> Decoded<()> {
    let DrawnComponents { weights, parameters } = components;
    let fits = weights.len() == ids.len() && parameters.len().is_multiple_of(ids.len());
    let falls = weights.is_sorted_by(|a, b| a >= b) && weights.iter().all(|weight| is_share(*weight));
    let is_sound = fits && falls && parameters.iter().all(|number| number.is_finite());
    require(is_sound, "weights and parameters that do not fit their components")
}

/// Contributions lie on the wire as names, then uniforms, then statistics.
mod contributions {
    use serde::{Deserializer, Serializer};

    use super::*;
    use crate::protocol::wire::{StatsList, invalid};

    pub(super) fn serialize<S: Serializer>(list: &[SliceContribution], serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<ComponentId> = list.iter().map(|of| of.id).collect();
        let uniforms: Vec<f64> = list.iter().map(|of| of.smallest_uniform).collect();
        let stats: Vec<&Stats> = list.iter().map(|of| &of.stats).collect();
        (names, uniforms, StatsList::pack(&stats)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SliceContribution>, D::Error> {
        let (names, uniforms, stats) = <(Vec<ComponentId>, Vec<f64>, StatsList)>::deserialize(deserializer)?;
        let stats = stats.unpack().filter(|stats| [names.len(), uniforms.len()] == [stats.len(); 2]);
        let stats = stats.ok_or_else(|| invalid("names, uniforms and statistics that do not match"))?;
        let named = names.into_iter().zip(stats).zip(uniforms);
        Ok(named.map(|((id, stats), smallest_uniform)| SliceContribution { id, stats, smallest_uniform }).collect())
    }
}

/// Whether a number can be a share of something, up to rounding.
pub(crate) fn is_share(weight: f64) -> bool {
    (0.0..=1.000_001).contains(&weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::method::slice::Slice;
    use crate::protocol::Frame;
    use crate::protocol::codec::{decode, encode};
    use crate::protocol::message::Stamp;
    use crate::stats::Sums;
    use proptest::prelude::*;

    type Message = crate::protocol::codec::Message<Slice>;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn all(reply: SliceReply) -> Message {
        Message::Reply(SliceHead::All, Some(reply))
    }

    fn messages() -> Vec<Message> {
        let dense = |count, sums: [f64; 2]| Stats { count, sums: Sums::Dense(sums.into()) };
        let sparse = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
        let push = |stats: Stats| SlicePush {
            round: 4,
            joining: Some(Joining { sum_log_base: -1.5, cycle: 3, alpha: 0.7 }),
            moved: None,
            contributions: vec![SliceContribution { id: id(1), stats, smallest_uniform: 1e-9 }],
        };
        let components = DrawnComponents { weights: vec![0.6, 1.0 / 3.0], parameters: vec![0.1, -1e300, 2.0, 1e-300] };
        let draw = SliceDraw { round: 5, cycle: 4, alpha: 0.3, ids: vec![id(1), id(7)], components };
        let last = FinalComponents { cycle: 9, components: vec![(id(7), dense(1, [0.0, 2.0]))] };
        vec![
            Message::Push(SliceWord::Push(push(dense(3, [0.5, -1e300])))),
            Message::Push(SliceWord::Push(push(sparse(2, &[(0, 4), (1, 1)])))),
            Message::Reply(SliceHead::Again { round: 2 }, None),
            all(SliceReply::Draw(draw)),
            all(SliceReply::Last(last)),
        ]
    }

    #[test]
    fn slice_messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |message: Message| assert!(decode::<Slice>(&encode(STAMP, &message)).is_err(), "{message:?}");
        for message in messages() {
            match message {
                Message::Push(SliceWord::Push(push)) => {
                    for uniform in [0.0, -1.0, 1.5, f64::NAN] {
                        let mut push = push.clone();
                        push.contributions[0].smallest_uniform = uniform;
                        refused(Message::Push(SliceWord::Push(push)));
                    }
                    let mut push = push;
                    push.contributions[0].stats.count = 0;
                    refused(Message::Push(SliceWord::Push(push)));
                }
                Message::Reply(_, Some(SliceReply::Draw(draw))) => {
                    let refuse = |change: &dyn Fn(&mut SliceDraw)| {
                        let mut draw = draw.clone();
                        change(&mut draw);
                        refused(all(SliceReply::Draw(draw)));
                    };
                    refuse(&|draw| draw.components.weights.reverse());
                    refuse(&|draw| draw.components.weights[1] = f64::NAN);
                    refuse(&|draw| draw.components.parameters[2] = f64::INFINITY);
                    refuse(&|draw| draw.components.parameters.truncate(draw.components.parameters.len() - 1));
                    refuse(&|draw| draw.ids.clear());
                }
                _ => {}
            }
        }
    }

    proptest! {
        #[test]
        fn a_damaged_slice_frame_is_an_error_and_never_a_panic(which in 0usize..5, at: prop::sample::Index, byte: u8) {
            let frame = encode(STAMP, &messages()[which]);
            let damage = |bytes: &Arc<[u8]>| {
                let mut bytes = bytes.to_vec();
                let ix = at.index(bytes.len());
                let is_changed = bytes[ix] != byte;
                bytes[ix] = byte;
                (Arc::from(bytes), is_changed)
            };
            let (own, is_changed) = damage(&frame.own);
            let damaged = Frame { own, ..frame.clone() };
            prop_assert!(!is_changed || decode::<Slice>(&damaged).is_err());
            if let Some((shared, true)) = frame.shared.as_ref().map(damage) {
                let damaged = Frame { shared: Some(shared), ..frame };
                prop_assert!(decode::<Slice>(&damaged).is_err());
            }
        }
    }
}
