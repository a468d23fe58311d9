//! What the nodes of the methods that consolidate say to one another: statistics up, a snapshot of
//! all components down.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::consolidate::{ComponentId, PieceName};
use crate::halves::{Half, Halves, Part};
use crate::protocol::codec::Content;
use crate::protocol::message::Joining;
use crate::protocol::wire::{self, HalvesList, StatsList, invalid, is_sparse};
use crate::stats::Stats;

/// A worker's contributions: for each piece that changed, the statistics of its rows in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Push {
    /// The version of the snapshot it swept against (0: none yet).
    pub base_version: u64,
    /// Set when it says everything (a worker that joins), not only what changed: then all of its
    /// vocabulary is named, also without rows.
    pub joining: Option<Joining>,
    /// Statistics of known components; zeros are said.
    #[serde(with = "wire::named")]
    pub contributions: Vec<(ComponentId, Part)>,
    /// Statistics of components the worker opened, by birth number.
    #[serde(with = "wire::named")]
    pub births: Vec<(u64, Stats)>,
    /// Rows that changed their component since the last push.
    pub moved: u64,
    /// How far components overlapped in the sweep, where that decides about splits and merges.
    pub overlap: SweepOverlap,
}

/// How far components overlap on one worker: L of pairs and of halves, sums of log-probabilities
/// over its rows (`sweep/overlaps.rs`). Components are named by their places in the snapshot that
/// the worker swept against. On the way L is rounded, by at most √|L|/4 + 1/64 nats: less than it
/// varies from sweep to sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SweepOverlap {
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
    /// Rises with every change of the pool that any worker receives.
    pub version: u64,
    /// What means are rounded to multiples of on the way, if anything; not known to the receiver.
    pub step: Option<f64>,
    /// By id; `None` for what is as it was in the snapshot the receiver has.
    pub components: Vec<(ComponentId, Option<ComponentSnapshot>)>,
}

/// What a worker receives of a component.
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
    /// Where each piece went that has rows, where it did not stay what it was named. (A piece that
    /// stayed keeps its half as long as the snapshot has the same generation of it.)
    pub owners: Vec<MovedPiece>,
    /// Whether this is the last word: the worker shows its labels and rests.
    pub is_last: bool,
}

/// A piece that is no longer what its worker calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPiece {
    /// The worker's name for it.
    pub name: PieceName,
    /// The half, as the worker names it; left where it has none.
    pub half: Half,
    /// The component it belongs to.
    pub owner: ComponentId,
    /// The half of that component, if it is in one.
    pub in_half: Option<Half>,
}

impl Content for Push {
    fn has_counts(&self) -> bool {
        let of_parts = self.contributions.iter().flat_map(|(_, part)| part.stats());
        of_parts.chain(self.births.iter().map(|(_, stats)| stats)).any(is_sparse)
    }
}

impl Content for Reply {}

impl Content for Snapshot {
    fn has_counts(&self) -> bool {
        self.components.iter().any(|(_, told)| told.as_ref().is_some_and(|told| is_sparse(&told.total)))
    }
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

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (components, step) = (&self.components, self.step);
        let told: Vec<&ComponentSnapshot> = components.iter().filter_map(|(_, told)| told.as_ref()).collect();
        let totals: Vec<&Stats> = told.iter().map(|told| &told.total).collect();
        let changed = (0..components.len() as u32).filter(|&ix| components[ix as usize].1.is_some());
        let body = SnapshotBody {
            version: self.version,
            ids: components.iter().map(|(id, _)| *id).collect(),
            changed: (told.len() < components.len()).then(|| changed.collect()),
            totals: step.map_or_else(|| StatsList::pack(&totals), |step| StatsList::pack_rounded(&totals, step)),
            halves: HalvesList::pack(&told, step),
        };
        body.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let body = SnapshotBody::deserialize(deserializer)?;
        let invalid_list = || invalid("statistics that do not match");
        let totals = body.totals.unpack().ok_or_else(invalid_list)?;
        let halves = body.halves.unpack(&totals).ok_or_else(invalid_list)?;
        let changed = body.changed.unwrap_or_else(|| (0..body.ids.len() as u32).collect());
        if totals.len() != changed.len() {
            return Err(invalid("names and statistics that do not match"));
        }
        let mut components: Vec<_> = body.ids.into_iter().map(|id| (id, None)).collect();
        for ((ix, total), halves) in changed.into_iter().zip(totals).zip(halves) {
            let component = components.get_mut(ix as usize).ok_or_else(|| invalid("a name that is not there"))?;
            component.1 = Some(ComponentSnapshot { total, halves });
        }
        Ok(Self { version: body.version, step: None, components })
    }
}
