//! What the nodes of the methods that consolidate say to one another: statistics up, a snapshot of all components down.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::consolidate::{ComponentId, PieceName};
use crate::halves::{Half, Halves, Part};
use crate::protocol::codec::is_sparse;
use crate::protocol::envelope::{FrameKind, broken, frame, open, open_shared, read, seal_shared};
use crate::protocol::message::{Joining, Stamp};
use crate::protocol::wire::{HalvesList, OverlapList, PartsList, StatsList};
use crate::protocol::{Decoded, Frame};
use crate::stats::Stats;

/// A worker's contributions: for each piece that changed, the statistics of its rows in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    /// The version of the snapshot it swept against (0: none yet).
    pub base_version: u64,
    /// Set when it says everything (a worker that joins), not only what changed: then all of its vocabulary is named, also without rows.
    pub joining: Option<Joining>,
    /// Statistics of known components; zeros are said.
    pub contributions: Vec<(ComponentId, Part)>,
    /// Statistics of components the worker opened, by birth number.
    pub births: Vec<(u64, Stats)>,
    /// Rows that changed their component since the last push.
    pub moved: u64,
    /// How far components overlapped in the sweep, where that decides about splits and merges.
    pub overlap: Overlap,
}

/// How far components overlap on one worker: L of pairs and of halves, sums of log-probabilities
/// over its rows (`sweep/overlaps.rs`). Components are named by their places in the snapshot that
/// the worker swept against. On the way L is rounded, by at most √|L|/4 + 1/64 nats: less than it
/// varies from sweep to sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlap {
    /// Pairs of components with rows that could be in either, the smaller place first, in order of
    /// the larger one.
    pub pairs: Vec<(u32, u32, f32)>,
    /// Components with halves that rows could be in either of, in order.
    pub halves: Vec<(u32, f32)>,
    /// Σ log of the probability of each row's component among all.
    pub log_certainty: f32,
}

/// All components with rows, as of a version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// Rises with every change of the pool that is told to anyone.
    pub version: u64,
    /// By id; `None` for what is as it was in the snapshot the receiver has.
    pub components: Vec<(ComponentId, Option<ComponentSnapshot>)>,
}

/// What is told of a component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComponentSnapshot {
    /// All of its rows.
    pub total: Stats,
    /// Its halves.
    pub halves: Halves,
}

/// The coordinator's answer to a push, beside the snapshot that all receive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The cycle that begins with it (0 is before the first).
    pub cycle: u64,
    /// The concentration.
    pub alpha: f64,
    /// Where each piece went that has rows, where it did not stay what it was named. (A piece that stayed keeps its half as long as the
    /// snapshot has the same generation of it.)
    pub owners: Vec<Moved>,
    /// Whether this is the last word: the worker shows its labels and rests.
    pub is_last: bool,
}

/// A piece that is no longer what its worker calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The worker's name for it.
    pub name: PieceName,
    /// The half, as the worker names it; left where it tells none apart.
    pub half: Half,
    /// The component it belongs to.
    pub owner: ComponentId,
    /// The half of that component, if it is in one.
    pub in_half: Option<Half>,
}

/// A push on the wire.
#[derive(Serialize, Deserialize)]
pub(crate) struct PushBody {
    base_version: u64,
    joining: Option<Joining>,
    ids: Vec<ComponentId>,
    parts: PartsList,
    birth_numbers: Vec<u64>,
    births: StatsList,
    moved: u64,
    overlaps: OverlapList,
}

/// A snapshot on the wire.
#[derive(Serialize, Deserialize)]
struct SnapshotBody {
    version: u64,
    ids: Vec<ComponentId>,
    /// Which of them have changed; `None`: all.
    changed: Option<Vec<u32>>,
    totals: StatsList,
    halves: HalvesList,
}

/// The part of a reply that workers share, encoded once; means rounded to a step, where there is one.
pub fn encode_snapshot(snapshot: &Snapshot, step: Option<f64>) -> Arc<[u8]> {
    let components = &snapshot.components;
    let told: Vec<&ComponentSnapshot> = components.iter().filter_map(|(_, told)| told.as_ref()).collect();
    let totals = told.iter().map(|told| &told.total);
    let changed = (0..components.len() as u32).filter(|&ix| components[ix as usize].1.is_some());
    let message = SnapshotBody {
        version: snapshot.version,
        ids: components.iter().map(|(id, _)| *id).collect(),
        changed: (told.len() < components.len()).then(|| changed.collect()),
        totals: match step {
            Some(step) => StatsList::pack_rounded(totals, step),
            None => StatsList::pack(totals),
        },
        halves: HalvesList::pack(&told, step),
    };
    seal_shared(&message, told.iter().any(|told| is_sparse(&told.total)))
}

/// A reply, with the snapshot that was encoded once.
pub fn encode_reply(stamp: Stamp, reply: &Reply, snapshot: &Arc<[u8]>) -> Frame {
    Frame { shared: Some(Arc::clone(snapshot)), ..frame(stamp, FrameKind::Reply, reply, false) }
}

/// A push as it is sent, and whether it is worth compressing.
pub(crate) fn pack_push(push: &Push) -> (PushBody, bool) {
    let parts = PartsList::pack(push.contributions.iter().map(|(_, part)| part));
    let births = StatsList::pack(push.births.iter().map(|(_, stats)| stats));
    let has_counts = parts.is_sparse() || births.is_sparse();
    let body = PushBody {
        base_version: push.base_version,
        joining: push.joining,
        ids: push.contributions.iter().map(|(id, _)| *id).collect(),
        parts,
        birth_numbers: push.births.iter().map(|(number, _)| *number).collect(),
        births,
        moved: push.moved,
        overlaps: OverlapList::pack(&push.overlap),
    };
    (body, has_counts)
}

/// The part of a reply that is for one worker, without the snapshot that all are sent.
pub(crate) fn decode_reply_alone(own: &[u8]) -> Decoded<Reply> {
    match open(own)? {
        (_, FrameKind::Reply, payload) => read(payload),
        _ => Err(broken("not a reply")),
    }
}

pub(crate) fn unpack_push(body: PushBody, stats_len: usize) -> Decoded<Push> {
    let another_family = || broken("statistics of another family");
    let parts = body.parts.unpack(stats_len).ok_or_else(another_family)?;
    let births = body.births.unpack(stats_len).ok_or_else(another_family)?;
    if parts.len() != body.ids.len() || births.len() != body.birth_numbers.len() {
        return Err(broken("as many names as statistics"));
    }
    let overlap = body.overlaps.unpack().ok_or_else(|| broken("overlaps of nothing"))?;
    Ok(Push {
        base_version: body.base_version,
        joining: body.joining,
        contributions: body.ids.into_iter().zip(parts).collect(),
        births: body.birth_numbers.into_iter().zip(births).collect(),
        moved: body.moved,
        overlap,
    })
}

pub(crate) fn decode_snapshot(bytes: &[u8], stats_len: usize) -> Decoded<Snapshot> {
    let body: SnapshotBody = open_shared(bytes)?;
    let another_family = || broken("statistics of another family");
    let totals = body.totals.unpack(stats_len).ok_or_else(another_family)?;
    let halves = body.halves.unpack(&totals, stats_len).ok_or_else(another_family)?;
    let changed = body.changed.unwrap_or_else(|| (0..body.ids.len() as u32).collect());
    if totals.len() != changed.len() {
        return Err(broken("as many names as statistics"));
    }
    let mut components: Vec<_> = body.ids.into_iter().map(|id| (id, None)).collect();
    for ((ix, total), halves) in changed.into_iter().zip(totals).zip(halves) {
        let component = components.get_mut(ix as usize).ok_or_else(|| broken("a name that is not there"))?;
        component.1 = Some(ComponentSnapshot { total, halves });
    }
    Ok(Snapshot { version: body.version, components })
}
