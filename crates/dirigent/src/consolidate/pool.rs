//! The pool and its ledger of pieces.
//!
//! A piece is what one shard says of one component, named as its worker names it: by a component of
//! its last snapshot, or by the number of a birth; where the component keeps halves, each half of
//! it is a piece. The ledger holds every piece with its owner, also pieces without rows, as long as
//! a worker's vocabulary has their name: a later contribution revives them. A component is the sum
//! of the pieces it owns, in (shard, piece) order, so the pool always equals the ledger. Merges and
//! splits change owners only.

mod memory;
mod owners;
mod pieces;
#[cfg(test)]
mod tests;

pub(crate) use memory::{PoolMemory, fits};
pub use pieces::{ComponentId, Piece, PieceKey, PieceName, ShardId, Trial};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::{Bound, RangeInclusive};

use super::ratio::WeighedStats;
use crate::family::Conjugate;
use crate::halves::{Half, Halves};
use crate::stats::{Stats, Sums};

#[derive(Debug, Default)]
struct Component {
    pieces: BTreeSet<PieceKey>,
    /// `None` while it has no rows.
    total: Option<WeighedStats>,
    /// `None` while a half has no rows.
    halves: [Option<WeighedStats>; 2],
    trial: Trial,
}

impl Component {
    /// What workers may know of its halves.
    fn told_halves(&self, family: &dyn Conjugate) -> Halves {
        let Trial { generation, is_on, .. } = self.trial;
        match &self.halves {
            _ if !is_on => Halves::Resting,
            [None, None] => Halves::Fresh { generation },
            halves => {
                let empty = || family.empty_contribution();
                let stats = halves.each_ref().map(|half| half.as_ref().map_or_else(empty, |half| half.stats.clone()));
                Halves::Known { generation, stats }
            }
        }
    }
}

/// What happened to a component since its total was added up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// This piece and perhaps others after it came, all behind the pieces there were: they need
    /// only be added.
    Appended(PieceKey),
    /// Anything else.
    Any,
}

/// All components, as the sums of what the workers have contributed.
#[derive(Debug, Default)]
pub struct Pool {
    pieces: BTreeMap<PieceKey, Piece>,
    components: BTreeMap<ComponentId, Component>,
    /// Components whose total is no longer right.
    stale: BTreeMap<ComponentId, Change>,
    /// Components whose halves are no longer right.
    stale_halves: BTreeSet<ComponentId>,
    epoch: u32,
    n_minted: u64,
    keeps_halves: bool,
}

impl Pool {
    /// An empty pool that mints ids of an epoch.
    pub fn new(epoch: u32) -> Self {
        Self { epoch, ..Self::default() }
    }

    /// Whether new components keep halves.
    #[must_use]
    pub fn keeping_halves(mut self, keeps_halves: bool) -> Self {
        self.keeps_halves = keeps_halves;
        self
    }

    /// Whether components keep halves.
    pub fn keeps_halves(&self) -> bool {
        self.keeps_halves
    }

    /// A new id.
    pub fn mint(&mut self) -> ComponentId {
        self.n_minted += 1;
        ComponentId { epoch: self.epoch, number: self.n_minted }
    }

    /// Never mints an id that came from elsewhere.
    pub fn keep_clear_of(&mut self, id: ComponentId) {
        if id.epoch == self.epoch {
            self.n_minted = self.n_minted.max(id.number);
        }
    }

    /// How many ids of the epoch there are, those from elsewhere included.
    pub(crate) fn n_minted(&self) -> u64 {
        self.n_minted
    }

    /// The epoch of new ids.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// A piece of the ledger.
    pub fn piece(&self, key: PieceKey) -> Option<&Piece> {
        self.pieces.get(&key)
    }

    /// Whether any piece is owned by the component, with rows or without.
    pub fn has(&self, id: ComponentId) -> bool {
        self.components.contains_key(&id)
    }

    /// Replaces what a known piece contributes. It is in the half its worker says, if that is of
    /// the owner's current generation. What is said of an unknown piece is handed back.
    pub fn contribute(&mut self, key: PieceKey, stats: Stats) -> Result<(), Stats> {
        let Some(piece) = self.pieces.get_mut(&key) else { return Err(stats) };
        // without halves sent there is nothing to look up
        let is_current = piece.told.is_some() && {
            let trial = self.components[&piece.owner].trial;
            key.name == PieceName::Component(piece.owner) && trial.is_on && piece.told == Some(trial.generation)
        };
        if is_current || piece.half.is_some() {
            self.stale_halves.insert(piece.owner);
        }
        piece.half = is_current.then_some(key.half);
        piece.stats = (stats.count > 0).then_some(stats);
        self.stale.insert(piece.owner, Change::Any);
        Ok(())
    }

    /// Enters a new piece under an owner, which may be new.
    pub fn enter(&mut self, key: PieceKey, stats: Option<Stats>, owner: ComponentId) {
        let stats = stats.filter(|stats| stats.count > 0);
        self.insert(key, Piece { stats, owner, half: None, told: None });
    }

    fn insert(&mut self, key: PieceKey, piece: Piece) {
        let (owner, has_half) = (piece.owner, piece.half.is_some());
        let before = self.pieces.insert(key, piece);
        assert!(before.is_none(), "a piece is entered once");
        let keeps_halves = self.keeps_halves;
        let component = self.components.entry(owner).or_insert_with(|| Component {
            trial: Trial { is_on: keeps_halves, ..Trial::default() },
            ..Component::default()
        });
        let is_behind = component.total.is_some() && component.pieces.last().is_some_and(|last| *last < key);
        component.pieces.insert(key);
        let change = self.stale.entry(owner).or_insert(if is_behind { Change::Appended(key) } else { Change::Any });
        if !is_behind {
            *change = Change::Any;
        }
        if has_half {
            self.stale_halves.insert(owner);
        }
    }

    /// Takes a piece out of the ledger.
    fn remove(&mut self, key: PieceKey) -> Piece {
        let piece = self.pieces.remove(&key).expect("the ledger has the piece");
        self.components.get_mut(&piece.owner).expect("owners are known").pieces.remove(&key);
        self.stale.insert(piece.owner, Change::Any);
        self.stale_halves.insert(piece.owner);
        piece
    }

    /// Adds up the totals that changed, each over its pieces in order.
    pub fn settle(&mut self, family: &dyn Conjugate) {
        let stale = std::mem::take(&mut self.stale);
        let mut gathered =
            if stale.len() > self.components.len() / 4 { gather(&self.pieces, &stale) } else { BTreeMap::new() };
        for (id, change) in stale {
            let Some(component) = self.components.get_mut(&id) else { continue };
            if component.pieces.is_empty() {
                self.components.remove(&id);
                continue;
            }
            let (before, first) = match change {
                Change::Appended(first) => (component.total.take(), Some(first)),
                Change::Any => (None, None),
            };
            let mut stats = gathered.remove(&id).unwrap_or_else(|| {
                let first = first.map_or(Bound::Unbounded, Bound::Included);
                let pieces = component.pieces.range((first, Bound::Unbounded));
                pieces.filter_map(|key| self.pieces[key].stats.as_ref()).collect()
            });
            let before = before.map(|total| total.stats).or_else(|| stats.pop_front().cloned());
            let total = before.map(|total| sum_of(total, stats.make_contiguous(), family));
            component.total = total.map(|total| WeighedStats::new(family, total));
        }
        for id in std::mem::take(&mut self.stale_halves) {
            let Some(component) = self.components.get_mut(&id) else { continue };
            if !component.trial.is_on {
                // none of its pieces is in a half
                component.halves = [None, None];
                continue;
            }
            component.halves = Half::BOTH.map(|half| {
                let pieces = component.pieces.iter().map(|key| &self.pieces[key]);
                let in_half = pieces.filter(|piece| piece.half == Some(half));
                let mut stats: VecDeque<&Stats> = in_half.filter_map(|piece| piece.stats.as_ref()).collect();
                let first = stats.pop_front()?.clone();
                Some(WeighedStats::new(family, sum_of(first, stats.make_contiguous(), family)))
            });
        }
    }

    /// The components that have rows, by id. The pool must be settled.
    pub fn live(&self) -> impl Iterator<Item = (ComponentId, &WeighedStats)> {
        assert!(self.stale.is_empty(), "the pool must be settled");
        self.components.iter().filter_map(|(id, component)| Some((*id, component.total.as_ref()?)))
    }

    /// The total of a component that has rows.
    pub fn total(&self, id: ComponentId) -> Option<&WeighedStats> {
        assert!(self.stale.is_empty(), "the pool must be settled");
        self.components.get(&id)?.total.as_ref()
    }

    /// The halves of a component, as far as they have rows.
    pub fn half_totals(&self, id: ComponentId) -> [Option<&WeighedStats>; 2] {
        assert!(self.stale_halves.is_empty(), "the pool must be settled");
        self.components.get(&id).map_or([None; 2], |component| component.halves.each_ref().map(Option::as_ref))
    }

    /// The components that have rows, by id, with what workers may know of their halves.
    pub fn live_with_halves(
        &self,
        family: &dyn Conjugate,
    ) -> impl Iterator<Item = (ComponentId, &WeighedStats, Halves)> {
        assert!(self.stale.is_empty() && self.stale_halves.is_empty(), "the pool must be settled");
        let live =
            self.components.iter().filter_map(|(id, component)| Some((*id, component, component.total.as_ref()?)));
        live.map(|(id, component, total)| (id, total, component.told_halves(family)))
    }

    /// How far a component has come in trying to split.
    pub fn trial(&self, id: ComponentId) -> Trial {
        self.components[&id].trial
    }

    /// Lets a component go on trying. With another generation, or at rest, none of its pieces is in
    /// a half.
    pub fn set_trial(&mut self, id: ComponentId, trial: Trial) {
        let component = self.components.get_mut(&id).expect("only known components try");
        let goes_on = component.trial.generation == trial.generation && component.trial.is_on == trial.is_on;
        component.trial = trial;
        if !goes_on {
            for key in &component.pieces {
                self.pieces.get_mut(key).expect("owned pieces are in the ledger").half = None;
            }
            component.halves = [None, None];
        }
    }

    /// Begins a new generation, as after a merge: what the old one had found is void.
    fn restart(&mut self, id: ComponentId) {
        if !self.keeps_halves {
            return;
        }
        let generation = self.trial(id).generation + 1;
        self.set_trial(id, Trial { generation, is_on: true, ..Trial::default() });
    }

    /// Puts a piece that is in no half into one.
    pub fn set_half(&mut self, key: PieceKey, half: Half) {
        let piece = self.pieces.get_mut(&key).expect("only known pieces have halves");
        piece.half = Some(half);
        self.stale_halves.insert(piece.owner);
    }

    /// Whether a component could be split into its halves: both have rows, and no row is outside
    /// them.
    pub fn is_splittable(&self, id: ComponentId) -> bool {
        let component = &self.components[&id];
        let is_in_half = |key: &PieceKey| {
            let piece = &self.pieces[key];
            piece.stats.is_none() || piece.half.is_some()
        };
        self.half_totals(id).iter().all(Option::is_some) && component.pieces.iter().all(is_in_half)
    }

    /// The pieces of a component that have rows, in (shard, piece) order: what a split can tell
    /// apart.
    pub fn atoms(&self, id: ComponentId) -> impl Iterator<Item = (PieceKey, &Stats)> {
        let pieces = self.components.get(&id).into_iter().flat_map(|component| &component.pieces);
        pieces.filter_map(|key| Some((*key, self.pieces[key].stats.as_ref()?)))
    }

    /// Every piece of a shard.
    pub fn pieces_of(&self, shard: ShardId) -> impl Iterator<Item = (PieceKey, &Piece)> {
        self.pieces.range(of_shard(shard)).map(|(key, piece)| (*key, piece))
    }
}

/// The keys of a shard.
fn of_shard(shard: ShardId) -> RangeInclusive<PieceKey> {
    let first = PieceKey::whole(shard, PieceName::Component(ComponentId { epoch: 0, number: 0 }));
    first..=PieceKey { shard, name: PieceName::Birth(u64::MAX), half: Half::Right }
}

/// What is to be added up for the components of which anything may have changed, by one pass over
/// the ledger: that is faster than to look up every piece of most components.
fn gather<'a>(
    pieces: &'a BTreeMap<PieceKey, Piece>,
    stale: &BTreeMap<ComponentId, Change>,
) -> BTreeMap<ComponentId, VecDeque<&'a Stats>> {
    let all = stale.iter().filter(|(_, change)| **change == Change::Any);
    let mut gathered: BTreeMap<ComponentId, VecDeque<&Stats>> = all.map(|(id, _)| (*id, VecDeque::new())).collect();
    for piece in pieces.values() {
        if let (Some(stats), Some(list)) = (&piece.stats, gathered.get_mut(&piece.owner)) {
            list.push_back(stats);
        }
    }
    gathered
}

/// The sum in the given order. Many sparse sets go through a dense sum: list after list would copy
/// the growing total each time.
pub(super) fn sum_of(first: Stats, others: &[&Stats], family: &dyn Conjugate) -> Stats {
    let is_dense_detour = matches!(first.sums, Sums::Counts(_)) && others.len() > 3;
    let mut total = if is_dense_detour { first.to_dense(family.stats_len()) } else { first };
    others.iter().for_each(|stats| total.add(stats));
    if is_dense_detour { total.to_sparse() } else { total }
}
