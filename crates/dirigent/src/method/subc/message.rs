//! What the nodes of SubC say to one another: statistics of both sub-clusters of every component up, weights and parameters of components and
//! sub-clusters down. Labels stay where their rows are.
//!
//! An answer is the same for all workers and encoded once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::ComponentId;
use crate::method::slice::message::is_share;
use crate::protocol::Decoded;
use crate::protocol::Frame;
use crate::protocol::codec::is_sparse;
use crate::protocol::envelope::{FrameKind, broken, frame, open_shared, seal_shared};
use crate::protocol::message::{Joining, Stamp};
use crate::protocol::wire::StatsList;
use crate::protocol::{FinalBody, FinalComponents};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// All that a worker's rows contribute.
#[derive(Debug, Clone, PartialEq)]
pub struct SubcPush {
    /// Set by a worker that joins.
    pub joining: Option<Joining>,
    /// Rows that changed their component; `None` if labels were not drawn since the last push.
    pub moved: Option<u64>,
    /// The components with rows, and the statistics of both halves of each.
    pub contributions: Vec<(ComponentId, [Stats; 2])>,
}

/// The coordinator's answer to a push.
#[derive(Debug, Clone, PartialEq)]
pub enum SubcReply {
    /// Draw labels from these.
    Draw(SubcDraw),
    /// The last word: show the labels and rest.
    Last {
        /// Where rows of components that were split or merged are now.
        places: HalfPlaces,
        /// The final state.
        last: FinalComponents,
    },
}

/// For each component that was split or merged, where the rows of its left and of its right half are now.
pub type HalfPlaces = Vec<(ComponentId, [ComponentId; 2])>;

/// What labels are drawn from.
#[derive(Debug, Clone, PartialEq)]
pub struct SubcDraw {
    /// Names the streams of the workers.
    pub round: u64,
    /// Cycles that are complete.
    pub cycle: u64,
    /// The concentration.
    pub alpha: f64,
    /// Where rows of components that were split or merged are now.
    pub places: HalfPlaces,
    /// By falling weight.
    pub ids: Vec<ComponentId>,
    /// Their weights and parameters.
    pub components: DrawnComponents,
    /// Their halves; `None` for a new component, whose halves a fair coin begins.
    pub halves: Vec<Option<DrawnHalves>>,
}

/// The halves of a component, drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnHalves {
    /// Logs of their weights within the component.
    pub log_weights: [f64; 2],
    /// Their parameters, left and right.
    pub parameters: [Vec<f64>; 2],
}

/// A push on the wire.
#[derive(Serialize, Deserialize)]
pub(crate) struct PushBody {
    joining: Option<Joining>,
    moved: Option<u64>,
    ids: Vec<ComponentId>,
    /// Left and right of each.
    stats: StatsList,
}

/// What all workers are told, on the wire.
#[derive(Serialize, Deserialize)]
enum ReplyBody {
    Draw(DrawBody),
    Last(HalfPlaces, FinalBody),
}

#[derive(Serialize, Deserialize)]
struct DrawBody {
    round: u64,
    cycle: u64,
    alpha: f64,
    places: HalfPlaces,
    ids: Vec<ComponentId>,
    weights: Vec<f64>,
    parameters: Vec<f64>,
    /// Of those with halves that are drawn.
    log_half_weights: Vec<Option<[f64; 2]>>,
    /// Left and right of each of those.
    half_parameters: Vec<f64>,
}

/// A push as it is sent, and whether it is worth compressing.
pub(crate) fn pack_push(push: &SubcPush) -> (PushBody, bool) {
    let halves = || push.contributions.iter().flat_map(|(_, halves)| halves);
    let body = PushBody {
        joining: push.joining,
        moved: push.moved,
        ids: push.contributions.iter().map(|(id, _)| *id).collect(),
        stats: StatsList::pack(halves().collect::<Vec<_>>().into_iter()),
    };
    (body, halves().any(is_sparse))
}

pub(crate) fn unpack_push(body: PushBody, stats_len: usize) -> Decoded<SubcPush> {
    let stats = body.stats.unpack(stats_len).ok_or_else(|| broken("statistics of another family"))?;
    if body.ids.len().checked_mul(2) != Some(stats.len()) {
        return Err(broken("as many names as pairs of statistics"));
    }
    if !stats.iter().all(|stats| stats.count >= 0) {
        return Err(broken("fewer rows than none"));
    }
    let mut stats = stats.into_iter();
    let mut pair = || Some([stats.next()?, stats.next()?]);
    let contributions = body.ids.into_iter().map_while(|id| Some((id, pair()?))).collect();
    Ok(SubcPush { joining: body.joining, moved: body.moved, contributions })
}

/// What all workers are told, encoded once.
pub fn encode_shared(reply: &SubcReply) -> Arc<[u8]> {
    match reply {
        SubcReply::Draw(draw) => {
            let drawn = || draw.halves.iter().flatten();
            let body = DrawBody {
                round: draw.round,
                cycle: draw.cycle,
                alpha: draw.alpha,
                places: draw.places.clone(),
                ids: draw.ids.clone(),
                weights: draw.components.weights.clone(),
                parameters: draw.components.parameters.clone(),
                log_half_weights: draw.halves.iter().map(|halves| Some(halves.as_ref()?.log_weights)).collect(),
                half_parameters: drawn().flat_map(|halves| halves.parameters.concat()).collect(),
            };
            seal_shared(&ReplyBody::Draw(body), false)
        }
        SubcReply::Last { places, last } => {
            let body = FinalBody::pack(last);
            let has_counts = body.is_sparse();
            seal_shared(&ReplyBody::Last(places.clone(), body), has_counts)
        }
    }
}

/// An answer with what was encoded once.
pub fn encode_reply(stamp: Stamp, shared: &Arc<[u8]>) -> Frame {
    Frame { shared: Some(Arc::clone(shared)), ..frame(stamp, FrameKind::SubcReply, &(), false) }
}

pub(crate) fn decode_reply(shared: Option<&Arc<[u8]>>, stats_len: usize) -> Decoded<SubcReply> {
    let shared = shared.ok_or_else(|| broken("a reply without its shared part"))?;
    match open_shared(shared)? {
        ReplyBody::Draw(body) => unpack_draw(body).map(SubcReply::Draw),
        ReplyBody::Last(places, body) => Ok(SubcReply::Last { places, last: body.unpack(stats_len)? }),
    }
}

fn unpack_draw(body: DrawBody) -> Decoded<SubcDraw> {
    let n_components = body.ids.len();
    let n_drawn = body.log_half_weights.iter().flatten().count();
    let parameters_len = body.parameters.len().checked_div(n_components).unwrap_or(0);
    let fits = parameters_len > 0
        && body.weights.len() == n_components
        && body.log_half_weights.len() == n_components
        && body.parameters.len() == n_components * parameters_len
        && body.half_parameters.len() == n_drawn * 2 * parameters_len;
    let falls = body.weights.is_sorted_by(|a, b| a >= b) && body.weights.iter().all(|weight| is_share(*weight));
    let are_finite = body.parameters.iter().chain(&body.half_parameters).all(|number| number.is_finite());
    let are_weights = !body.log_half_weights.iter().flatten().flatten().any(|weight| weight.is_nan() || *weight > 0.0);
    if !fits || !falls || !are_finite || !are_weights {
        return Err(broken("weights and parameters that do not fit their components"));
    }
    let mut parameters = body.half_parameters.chunks_exact(parameters_len).map(<[f64]>::to_vec);
    let mut pair = || Some([parameters.next()?, parameters.next()?]);
    let mut drawn = |log_weights: [f64; 2]| Some(DrawnHalves { log_weights, parameters: pair()? });
    let halves = body.log_half_weights.into_iter().map(|weights| drawn(weights?)).collect();
    Ok(SubcDraw {
        round: body.round,
        cycle: body.cycle,
        alpha: body.alpha,
        places: body.places,
        ids: body.ids,
        components: DrawnComponents { weights: body.weights, parameters: body.parameters },
        halves,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::codec::{Message, decode, encode};
    use crate::stats::Sums;

    const STAMP: Stamp = Stamp { shard: 3, incarnation: 1, sequence: 9 };

    fn id(number: u64) -> ComponentId {
        ComponentId { epoch: 1, number }
    }

    fn dense(count: i64, sums: [f64; 2]) -> Stats {
        Stats { count, sums: Sums::Dense(sums.into()) }
    }

    fn draw() -> SubcDraw {
        let halves = DrawnHalves { log_weights: [-0.5, -1.0], parameters: [vec![0.1, 0.2], vec![-1e300, 1e-300]] };
        SubcDraw {
            round: 5,
            cycle: 4,
            alpha: 0.3,
            places: vec![(id(4), [id(1), id(7)])],
            ids: vec![id(1), id(7)],
            components: DrawnComponents { weights: vec![0.6, 1.0 / 3.0], parameters: vec![0.1, -1e300, 2.0, 1e-300] },
            halves: vec![None, Some(halves)],
        }
    }

    fn messages() -> Vec<Message> {
        let joining = Some(Joining { sum_log_base: -1.5, cycle: 3, alpha: 0.7 });
        let sparse = |count, entries: &[(u32, i64)]| Stats { count, sums: Sums::Counts(entries.to_vec()) };
        let push = |halves| SubcPush { joining, moved: Some(3), contributions: vec![(id(1), halves)] };
        let last = FinalComponents { cycle: 9, components: vec![(id(7), dense(1, [0.0, 2.0]))] };
        vec![
            Message::SubcPush(push([dense(3, [0.5, -1e300]), dense(0, [0.0, 0.0])])),
            Message::SubcPush(push([sparse(2, &[(0, 4), (1, 1)]), sparse(1, &[(1, 1)])])),
            Message::SubcReply(SubcReply::Draw(draw())),
            Message::SubcReply(SubcReply::Last { places: vec![(id(4), [id(7), id(7)])], last }),
        ]
    }

    #[test]
    fn messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message), Some(2)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn draws_that_do_not_fit_are_refused() {
        let refuse = |change: &dyn Fn(&mut SubcDraw)| {
            let mut draw = draw();
            change(&mut draw);
            let frame = encode(STAMP, &Message::SubcReply(SubcReply::Draw(draw.clone())));
            assert!(decode(&frame, Some(2)).is_err(), "{draw:?}");
        };
        refuse(&|draw| draw.components.weights.reverse());
        refuse(&|draw| draw.components.parameters[2] = f64::INFINITY);
        refuse(&|draw| draw.components.parameters.truncate(3));
        refuse(&|draw| draw.halves.truncate(1));
        refuse(&|draw| draw.halves[1].as_mut().unwrap().log_weights[0] = f64::NAN);
        refuse(&|draw| draw.halves[1].as_mut().unwrap().parameters[0].clear());
        refuse(&|draw| draw.ids.clear());
    }
}
