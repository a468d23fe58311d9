//! What the nodes of SubC say to one another: statistics of both sub-clusters of every component
//! up, weights and parameters of components and sub-clusters down. Labels stay where their rows
//! are.
//!
//! An answer is the same for all workers and encoded once.

use serde::{Deserialize, Serialize};

use crate::consolidate::ComponentId;
use crate::method::slice::message::check_drawn;
use crate::protocol::codec::Content;
use crate::protocol::message::Joining;
use crate::protocol::wire::{self, is_sparse};
use crate::protocol::{Decoded, FinalComponents, require};
use crate::stats::Stats;
use crate::sweep::slice::DrawnComponents;

/// All that a worker's rows contribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubcPush {
    /// Set by a worker that joins.
    pub joining: Option<Joining>,
    /// Rows that changed their component; `None` if labels were not drawn since the last push.
    pub moved: Option<u64>,
    /// The components with rows, and the statistics of both halves of each.
    #[serde(with = "wire::named")]
    pub contributions: Vec<(ComponentId, [Stats; 2])>,
}

/// The coordinator's answer to a push.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// For each component that was split or merged, where the rows of its left and of its right half
/// are now.
pub type HalfPlaces = Vec<(ComponentId, [ComponentId; 2])>;

/// What labels are drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(with = "halves")]
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

impl Content for SubcPush {
    fn has_counts(&self) -> bool {
        self.contributions.iter().any(|(_, halves)| halves.iter().any(is_sparse))
    }

    fn check(&self) -> Decoded<()> {
        let mut halves = self.contributions.iter().flat_map(|(_, halves)| halves);
        require(halves.all(|half| half.count >= 0), "a negative number of rows")
    }
}

impl Content for SubcReply {
    fn has_counts(&self) -> bool {
        matches!(self, Self::Last { last, .. } if last.has_counts())
    }

    fn check(&self) -> Decoded<()> {
        let Self::Draw(draw) = self else { return Ok(()) };
        require(!draw.ids.is_empty() && draw.halves.len() == draw.ids.len(), "a draw without components")?;
        check_drawn(&draw.ids, &draw.components)?;
        let parameters_len = draw.components.parameters.len() / draw.ids.len();
        let is_sound = |halves: &DrawnHalves| {
            let of_halves = || halves.parameters.iter();
            of_halves().all(|half| half.len() == parameters_len && half.iter().all(|number| number.is_finite()))
                && !halves.log_weights.iter().any(|weight| weight.is_nan() || *weight > 0.0)
        };
        let is_sound = parameters_len > 0 && draw.halves.iter().flatten().all(is_sound);
        require(is_sound, "halves that do not fit their components")
    }
}

/// Halves lie on the wire as weights, then all parameters one after another.
mod halves {
    use serde::{Deserializer, Serializer};

    use super::*;
    use crate::protocol::wire::invalid;

    pub(super) fn serialize<S: Serializer>(list: &[Option<DrawnHalves>], serializer: S) -> Result<S::Ok, S::Error> {
        let weights: Vec<_> = list.iter().map(|halves| Some(halves.as_ref()?.log_weights)).collect();
        let parameters: Vec<f64> = list.iter().flatten().flat_map(|halves| halves.parameters.concat()).collect();
        (weights, parameters).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Option<DrawnHalves>>, D::Error> {
        let (weights, parameters) = <(Vec<Option<[f64; 2]>>, Vec<f64>)>::deserialize(deserializer)?;
        let n_halves = 2 * weights.iter().flatten().count();
        let length = parameters.len().checked_div(n_halves).unwrap_or(0);
        if length * n_halves != parameters.len() || (n_halves > 0 && length == 0) {
            return Err(invalid("parameters that do not match their halves"));
        }
        let mut parameters = parameters.chunks_exact(length.max(1)).map(<[f64]>::to_vec);
        let mut pair = || Some([parameters.next()?, parameters.next()?]);
        let mut drawn = |log_weights| Some(DrawnHalves { log_weights, parameters: pair()? });
        Ok(weights.into_iter().map(|weights| drawn(weights?)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::subc::Subc;
    use crate::protocol::codec::{decode, encode};
    use crate::protocol::message::Stamp;
    use crate::stats::Sums;

    type Message = crate::protocol::codec::Message<Subc>;

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
            Message::Push(push([dense(3, [0.5, -1e300]), dense(0, [0.0, 0.0])])),
            Message::Push(push([sparse(2, &[(0, 4), (1, 1)]), sparse(1, &[(1, 1)])])),
            Message::Reply((), Some(SubcReply::Draw(draw()))),
            Message::Reply((), Some(SubcReply::Last { places: vec![(id(4), [id(7), id(7)])], last })),
        ]
    }

    #[test]
    fn messages_survive_the_wire() {
        for message in messages() {
            assert_eq!(decode(&encode(STAMP, &message)).unwrap(), (STAMP, message));
        }
    }

    #[test]
    fn draws_that_do_not_fit_are_refused() {
        let refuse = |change: &dyn Fn(&mut SubcDraw)| {
            let mut draw = draw();
            change(&mut draw);
            let frame = encode(STAMP, &Message::Reply((), Some(SubcReply::Draw(draw.clone()))));
            assert!(decode::<Subc>(&frame).is_err(), "{draw:?}");
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
