//! What the nodes of the slice sampler say to one another.
//!
//! ```text
//! worker: Hello ─► coordinator: Plan ─► worker: SlicePush ─► coordinator: SliceReply (draw) ─► worker: labels, SlicePush ─► … ─► last
//! ```
//!
//! Weights and parameters travel exactly, and are the same for all workers: they are encoded once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::move_message::{SliceMove, SliceSettlement, SliceSides, check_move};
use crate::consolidate::ComponentId;
use crate::protocol::Frame;
use crate::protocol::codec::is_sparse;
use crate::protocol::envelope::{FrameKind, broken, frame, open_shared, seal_shared};
use crate::protocol::message::{Joining, Stamp};
use crate::protocol::wire::StatsList;
use crate::protocol::{Decoded, FinalBody, FinalComponents};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// All that a worker's rows contribute, and the smallest uniforms of their next slices.
#[derive(Debug, Clone, PartialEq)]
pub struct SlicePush {
    /// The round its uniforms are for: the next one.
    pub round: u64,
    /// Set by a worker that joins.
    pub joining: Option<Joining>,
    /// Rows that changed their component; `None` if labels were not drawn since the last push.
    pub moved: Option<u64>,
    /// The components with rows.
    pub contributions: Vec<SliceContribution>,
}

/// What a worker says: what its rows contribute, or what came of a step of a move.
#[derive(Debug, Clone, PartialEq)]
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

/// The coordinator's answer to a push.
#[derive(Debug, Clone, PartialEq)]
pub enum SliceReply {
    /// The uniforms were for another round than the one that comes: say it again, for this one.
    Again {
        /// The round to come.
        round: u64,
    },
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
#[derive(Debug, Clone, PartialEq)]
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

/// A push on the wire.
#[derive(Serialize, Deserialize)]
pub(crate) struct PushBody {
    round: u64,
    joining: Option<Joining>,
    moved: Option<u64>,
    ids: Vec<ComponentId>,
    smallest_uniforms: Vec<f64>,
    stats: StatsList,
}

/// The part of a reply that is for one worker.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum ReplyHead {
    Again { round: u64 },
    Draw,
    Last,
    Move,
    Settle,
}

#[derive(Serialize, Deserialize)]
struct DrawBody {
    round: u64,
    cycle: u64,
    alpha: f64,
    ids: Vec<ComponentId>,
    weights: Vec<f64>,
    parameters: Vec<f64>,
}

/// A push as it is sent, and whether it is worth compressing.
pub(crate) fn pack_push(push: &SlicePush) -> (PushBody, bool) {
    let contributions = &push.contributions;
    let body = PushBody {
        round: push.round,
        joining: push.joining,
        moved: push.moved,
        ids: contributions.iter().map(|contribution| contribution.id).collect(),
        smallest_uniforms: contributions.iter().map(|contribution| contribution.smallest_uniform).collect(),
        stats: StatsList::pack(contributions.iter().map(|contribution| &contribution.stats)),
    };
    (body, contributions.iter().any(|contribution| is_sparse(&contribution.stats)))
}

pub(crate) fn unpack_push(body: PushBody, stats_len: usize) -> Decoded<SlicePush> {
    let stats = body.stats.unpack(stats_len).ok_or_else(|| broken("statistics of another family"))?;
    if stats.len() != body.ids.len() || stats.len() != body.smallest_uniforms.len() {
        return Err(broken("as many names and uniforms as statistics"));
    }
    // a slice of no width would ask for components without end
    if !body.smallest_uniforms.iter().all(|uniform| (SMALLEST_UNIFORM..=1.0).contains(uniform)) {
        return Err(broken("a uniform that is none"));
    }
    if !stats.iter().all(|stats| stats.count > 0) {
        return Err(broken("a component without rows"));
    }
    let named = body.ids.into_iter().zip(stats).zip(body.smallest_uniforms);
    let contribution = |((id, stats), smallest_uniform)| SliceContribution { id, stats, smallest_uniform };
    Ok(SlicePush {
        round: body.round,
        joining: body.joining,
        moved: body.moved,
        contributions: named.map(contribution).collect(),
    })
}

/// What all workers are told, encoded once.
#[derive(Debug, Clone)]
pub struct SharedReply {
    head: ReplyHead,
    bytes: Arc<[u8]>,
}

/// Encodes what labels are drawn from.
pub fn encode_draw(draw: &SliceDraw) -> SharedReply {
    let body = DrawBody {
        round: draw.round,
        cycle: draw.cycle,
        alpha: draw.alpha,
        ids: draw.ids.clone(),
        weights: draw.components.weights.clone(),
        parameters: draw.components.parameters.clone(),
    };
    SharedReply { head: ReplyHead::Draw, bytes: seal_shared(&body, false) }
}

/// Encodes the final state.
pub fn encode_last(last: &FinalComponents) -> SharedReply {
    let body = FinalBody::pack(last);
    SharedReply { head: ReplyHead::Last, bytes: seal_shared(&body, body.is_sparse()) }
}

/// Encodes a step of a split or a merge.
pub fn encode_move(step: &SliceMove) -> SharedReply {
    SharedReply { head: ReplyHead::Move, bytes: seal_shared(step, false) }
}

/// Encodes a split or a merge that is accepted.
pub fn encode_settlement(settlement: SliceSettlement) -> SharedReply {
    SharedReply { head: ReplyHead::Settle, bytes: seal_shared(&settlement, false) }
}

/// An answer with the part that was encoded once.
pub fn encode_reply(stamp: Stamp, shared: &SharedReply) -> Frame {
    Frame { shared: Some(Arc::clone(&shared.bytes)), ..frame(stamp, FrameKind::SliceReply, &shared.head, false) }
}

/// Any answer.
pub(crate) fn encode_any(stamp: Stamp, reply: &SliceReply) -> Frame {
    match reply {
        SliceReply::Again { round } => frame(stamp, FrameKind::SliceReply, &ReplyHead::Again { round: *round }, false),
        SliceReply::Draw(draw) => encode_reply(stamp, &encode_draw(draw)),
        SliceReply::Move(step) => encode_reply(stamp, &encode_move(step)),
        SliceReply::Settle(settlement) => encode_reply(stamp, &encode_settlement(*settlement)),
        SliceReply::Last(last) => encode_reply(stamp, &encode_last(last)),
    }
}

pub(crate) fn decode_reply(head: ReplyHead, shared: Option<&Arc<[u8]>>, stats_len: usize) -> Decoded<SliceReply> {
    let shared = || shared.ok_or_else(|| broken("a reply without its shared part"));
    Ok(match head {
        ReplyHead::Again { round } => SliceReply::Again { round },
        ReplyHead::Draw => SliceReply::Draw(unpack_draw(open_shared(shared()?)?)?),
        ReplyHead::Last => {
            let body: FinalBody = open_shared(shared()?)?;
            SliceReply::Last(body.unpack(stats_len)?)
        }
        ReplyHead::Move => SliceReply::Move(check_move(open_shared(shared()?)?)?),
        ReplyHead::Settle => SliceReply::Settle(open_shared(shared()?)?),
    })
}

/// Whether a number can be a share of something, up to rounding.
pub(crate) fn is_share(weight: f64) -> bool {
    (0.0..=1.000_001).contains(&weight)
}

fn unpack_draw(body: DrawBody) -> Decoded<SliceDraw> {
    let n_components = body.ids.len();
    let fits =
        n_components > 0 && body.weights.len() == n_components && body.parameters.len().is_multiple_of(n_components);
    let falls = body.weights.is_sorted_by(|a, b| a >= b) && body.weights.iter().all(|weight| is_share(*weight));
    if !fits || !falls || !body.parameters.iter().all(|number| number.is_finite()) {
        return Err(broken("weights and parameters that do not fit their components"));
    }
    let components = DrawnComponents { weights: body.weights, parameters: body.parameters };
    Ok(SliceDraw { round: body.round, cycle: body.cycle, alpha: body.alpha, ids: body.ids, components })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::codec::{Message, decode, encode};
    use crate::stats::Sums;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
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
            Message::SlicePush(push(dense(3, [0.5, -1e300]))),
            Message::SlicePush(push(sparse(2, &[(0, 4), (1, 1)]))),
            Message::SliceReply(SliceReply::Again { round: 2 }),
            Message::SliceReply(SliceReply::Draw(draw)),
            Message::SliceReply(SliceReply::Last(last)),
        ]
    }

    #[test]
    fn slice_messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message), Some(2)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |message: Message| assert!(decode(&encode(STAMP, &message), Some(2)).is_err(), "{message:?}");
        for message in messages() {
            match message {
                Message::SlicePush(push) => {
                    for uniform in [0.0, -1.0, 1.5, f64::NAN] {
                        let mut push = push.clone();
                        push.contributions[0].smallest_uniform = uniform;
                        refused(Message::SlicePush(push));
                    }
                    let mut push = push;
                    push.contributions[0].stats.count = 0;
                    refused(Message::SlicePush(push));
                }
                Message::SliceReply(SliceReply::Draw(draw)) => {
                    let refuse = |change: &dyn Fn(&mut SliceDraw)| {
                        let mut draw = draw.clone();
                        change(&mut draw);
                        refused(Message::SliceReply(SliceReply::Draw(draw)));
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
            prop_assert!(!is_changed || decode(&damaged, Some(2)).is_err());
            if let Some((shared, true)) = frame.shared.as_ref().map(damage) {
                let damaged = Frame { shared: Some(shared), ..frame };
                prop_assert!(decode(&damaged, Some(2)).is_err());
            }
        }
    }
}
