//! The pool and its ledger of pieces.
//!
//! A piece is what one shard says of one component, named as its worker names it: by a component of its last snapshot, or by the number of
//! a birth; where the component keeps halves, each half of it is a piece. The ledger holds every piece with its owner, also pieces without
//! rows, as long as a worker's vocabulary has their name: a later contribution revives them. A component is the sum of the pieces it owns, in
//! (shard, piece) order, so the pool always equals the ledger. Merges and splits change owners only.

mod memory;

pub(crate) use memory::{PoolMemory, fits};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::ratio::Weighed;
use crate::family::Conjugate;
use crate::halves::{Half, Halves};
use crate::stats::{Stats, Sums};

/// The number of a shard, which is that of its worker.
pub type ShardId = u32;

/// A component's identity: minted by the coordinator, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComponentId {
    /// Raised when a coordinator is rebuilt.
    pub epoch: u32,
    /// Counts within the epoch.
    pub number: u64,
}

/// A piece as its worker names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PieceName {
    /// A component of the worker's last snapshot.
    Component(ComponentId),
    /// A component the worker opened; numbers are never reused.
    Birth(u64),
}

/// A piece in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PieceKey {
    /// Whose rows.
    pub shard: ShardId,
    /// Its worker's name for it.
    pub name: PieceName,
    /// The half as its worker names it; left where it tells no halves apart.
    pub half: Half,
}

impl PieceKey {
    /// A piece that is not told apart into halves.
    pub fn whole(shard: ShardId, name: PieceName) -> Self {
        Self { shard, name, half: Half::Left }
    }
}

/// What the ledger knows of a piece.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Piece {
    /// `None` for a piece without rows.
    pub stats: Option<Stats>,
    /// The component it belongs to.
    pub owner: ComponentId,
    /// The half of its owner that it counts in; `None` while it is in none of the current generation.
    pub half: Option<Half>,
    /// The generation of its name's halves that its worker was told.
    pub told: Option<u32>,
}

#[derive(Debug, Default)]
struct Component {
    pieces: BTreeSet<PieceKey>,
    /// `None` while it has no rows.
    total: Option<Weighed>,
    /// `None` while a half has no rows.
    halves: [Option<Weighed>; 2],
    trial: Trial,
}

/// How far a component has come in trying to split.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Trial {
    /// Counts the halves it has had.
    pub generation: u32,
    /// Whether it keeps halves at present.
    pub is_on: bool,
    /// Cycles since the generation began, or since it rests.
    pub age: u32,
    /// Generations in a row that have led to nothing.
    pub n_failures: u32,
    /// log ρ(left, right) at the last look, if there has been one.
    pub log_ratio: Option<f64>,
}

/// What happened to a component since its total was added up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    /// This piece and perhaps others after it came, all behind the pieces there were: they need only be added.
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

    /// Replaces what a known piece contributes. It is in the half its worker says, if that is of the owner's current generation.
    pub fn contribute(&mut self, key: PieceKey, stats: Stats) {
        let piece = self.pieces.get_mut(&key).expect("only known pieces contribute");
        let trial = self.components[&piece.owner].trial;
        let is_current =
            key.name == PieceName::Component(piece.owner) && trial.is_on && piece.told == Some(trial.generation);
        piece.half = is_current.then_some(key.half);
        piece.stats = (stats.count > 0).then_some(stats);
        self.stale.insert(piece.owner, Change::Any);
        self.stale_halves.insert(piece.owner);
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
        for (id, change) in std::mem::take(&mut self.stale) {
            let Some(component) = self.components.get_mut(&id) else { continue };
            if component.pieces.is_empty() {
                self.components.remove(&id);
                continue;
            }
            let (before, first) = match change {
                Change::Appended(first) => (component.total.take(), Some(first)),
                Change::Any => (None, None),
            };
            let pieces = component.pieces.range((first.map_or(Bound::Unbounded, Bound::Included), Bound::Unbounded));
            let mut stats: VecDeque<&Stats> = pieces.filter_map(|key| self.pieces[key].stats.as_ref()).collect();
            let before = before.map(|total| total.stats).or_else(|| stats.pop_front().cloned());
            let total = before.map(|total| sum_of(total, stats.make_contiguous(), family));
            component.total = total.map(|total| Weighed::new(family, total));
        }
        for id in std::mem::take(&mut self.stale_halves) {
            let Some(component) = self.components.get_mut(&id) else { continue };
            component.halves = Half::BOTH.map(|half| {
                let pieces = component.pieces.iter().map(|key| &self.pieces[key]);
                let in_half = pieces.filter(|piece| piece.half == Some(half));
                let mut stats: VecDeque<&Stats> = in_half.filter_map(|piece| piece.stats.as_ref()).collect();
                let first = stats.pop_front()?.clone();
                Some(Weighed::new(family, sum_of(first, stats.make_contiguous(), family)))
            });
        }
    }

    /// The components that have rows, by id. The pool must be settled.
    pub fn live(&self) -> impl Iterator<Item = (ComponentId, &Weighed)> {
        assert!(self.stale.is_empty(), "the pool must be settled");
        self.components.iter().filter_map(|(id, component)| Some((*id, component.total.as_ref()?)))
    }

    /// The total of a component that has rows.
    pub fn total(&self, id: ComponentId) -> Option<&Weighed> {
        assert!(self.stale.is_empty(), "the pool must be settled");
        self.components.get(&id)?.total.as_ref()
    }

    /// The halves of a component, as far as they have rows.
    pub fn half_totals(&self, id: ComponentId) -> [Option<&Weighed>; 2] {
        assert!(self.stale_halves.is_empty(), "the pool must be settled");
        self.components.get(&id).map_or([None; 2], |component| component.halves.each_ref().map(Option::as_ref))
    }

    /// What workers may know of a component's halves.
    pub fn halves(&self, id: ComponentId, family: &dyn Conjugate) -> Halves {
        let Trial { generation, is_on, .. } = self.trial(id);
        match self.half_totals(id) {
            _ if !is_on => Halves::Resting,
            [None, None] => Halves::Fresh { generation },
            halves => {
                let empty = || if family.has_counts() { Stats::empty_counts() } else { family.empty_stats() };
                let stats = halves.map(|half| half.map_or_else(empty, |half| half.stats.clone()));
                Halves::Known { generation, stats }
            }
        }
    }

    /// How far a component has come in trying to split.
    pub fn trial(&self, id: ComponentId) -> Trial {
        self.components[&id].trial
    }

    /// Lets a component go on trying. With another generation, or at rest, none of its pieces is in a half.
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

    /// Whether a component could be split into its halves: both have rows, and no row is outside them.
    pub fn is_splittable(&self, id: ComponentId) -> bool {
        let component = &self.components[&id];
        let is_in_half = |key: &PieceKey| {
            let piece = &self.pieces[key];
            piece.stats.is_none() || piece.half.is_some()
        };
        self.half_totals(id).iter().all(Option::is_some) && component.pieces.iter().all(is_in_half)
    }

    /// The pieces of a component that have rows, in (shard, piece) order: what a split can tell apart.
    pub fn atoms(&self, id: ComponentId) -> impl Iterator<Item = (PieceKey, &Stats)> {
        let pieces = self.components.get(&id).into_iter().flat_map(|component| &component.pieces);
        pieces.filter_map(|key| Some((*key, self.pieces[key].stats.as_ref()?)))
    }

    /// Every piece of a shard.
    pub fn pieces_of(&self, shard: ShardId) -> impl Iterator<Item = (PieceKey, &Piece)> {
        let first = PieceKey::whole(shard, PieceName::Component(ComponentId { epoch: 0, number: 0 }));
        let last = PieceKey { shard, name: PieceName::Birth(u64::MAX), half: Half::Right };
        self.pieces.range(first..=last).map(|(key, piece)| (*key, piece))
    }

    /// Merges two components that have rows and returns the id that stays: the larger one's, on a tie the smaller id.
    pub fn merge(&mut self, a: ComponentId, b: ComponentId, family: &dyn Conjugate) -> ComponentId {
        let size = |id| self.total(id).expect("components that merge have rows").stats.count;
        let (kept, gone) =
            if (size(a), std::cmp::Reverse(a)) > (size(b), std::cmp::Reverse(b)) { (a, b) } else { (b, a) };
        let pieces = self.components.remove(&gone).expect("it has a total").pieces;
        self.give(pieces, kept);
        self.restart(kept);
        self.settle(family);
        kept
    }

    /// Regroups a component: the given pieces part from the others, both under new ids. Pieces without rows follow the larger part.
    pub fn split(
        &mut self,
        id: ComponentId,
        parting: &BTreeSet<PieceKey>,
        family: &dyn Conjugate,
    ) -> (ComponentId, ComponentId) {
        let pieces = self.components.remove(&id).expect("a component that splits is known").pieces;
        let count = |key: &PieceKey| self.pieces[key].stats.as_ref().map_or(0, |stats| stats.count);
        let n_parting: i64 = parting.iter().map(count).sum();
        let n_all: i64 = pieces.iter().map(count).sum();
        assert!(0 < n_parting && n_parting < n_all, "both parts of a split have rows");
        let empty_ones_part = 2 * n_parting > n_all;
        let (left, right) =
            pieces.into_iter().partition(|key| if count(key) > 0 { !parting.contains(key) } else { !empty_ones_part });
        self.become_two(id, left, right, family)
    }

    /// Splits a component into its halves, both under new ids. A piece without rows whose worker knows the current generation goes by the half
    /// it is named by, so that what comes later finds its place; other pieces without rows are forgotten, and what comes later is a birth.
    pub fn split_into_halves(&mut self, id: ComponentId, family: &dyn Conjugate) -> (ComponentId, ComponentId) {
        assert!(self.is_splittable(id), "every row is in a half");
        let Component { pieces, trial, .. } = self.components.remove(&id).expect("it has halves");
        let mut parts = [BTreeSet::new(), BTreeSet::new()];
        for key in pieces {
            let piece = &self.pieces[&key];
            let by_name = (piece.told == Some(trial.generation)).then_some(key.half);
            match piece.half.or(by_name) {
                Some(half) => drop(parts[half.ix()].insert(key)),
                None => drop(self.pieces.remove(&key)),
            }
        }
        let [left, right] = parts;
        self.become_two(id, left, right, family)
    }

    fn become_two(
        &mut self,
        id: ComponentId,
        left: BTreeSet<PieceKey>,
        right: BTreeSet<PieceKey>,
        family: &dyn Conjugate,
    ) -> (ComponentId, ComponentId) {
        let (left_id, right_id) = (self.mint(), self.mint());
        self.give(left, left_id);
        self.give(right, right_id);
        self.stale.remove(&id);
        self.stale_halves.remove(&id);
        self.settle(family);
        (left_id, right_id)
    }

    fn give(&mut self, mut pieces: BTreeSet<PieceKey>, owner: ComponentId) {
        for key in &pieces {
            let piece = self.pieces.get_mut(key).expect("owned pieces are in the ledger");
            (piece.owner, piece.half) = (owner, None);
        }
        let keeps_halves = self.keeps_halves;
        let component = self.components.entry(owner).or_default();
        if component.pieces.is_empty() {
            component.trial = Trial { is_on: keeps_halves, ..Trial::default() };
        }
        component.pieces.append(&mut pieces);
        self.stale.insert(owner, Change::Any);
        self.stale_halves.insert(owner);
    }

    /// Takes a shard's column out of the ledger.
    pub fn take_out(&mut self, shard: ShardId) {
        let keys: Vec<PieceKey> = self.pieces_of(shard).map(|(key, _)| key).collect();
        keys.into_iter().for_each(|key| drop(self.remove(key)));
    }

    /// Gives a shard the live components as its vocabulary: its pieces of one component become one, named by the component, or one for each
    /// half. What it had in components without rows is nothing, and is forgotten. A piece that is named so already is not touched. The pool must be
    /// settled afterwards.
    pub fn fuse(&mut self, shard: ShardId) {
        let name_of = |piece: &Piece| PieceKey {
            shard,
            name: PieceName::Component(piece.owner),
            half: piece.half.unwrap_or(Half::Left),
        };
        let is_right = |(key, piece): &(PieceKey, &Piece)| {
            let has_halves = self.components[&piece.owner].trial.is_on;
            let is_empty_half = has_halves && piece.stats.is_none() && key.name == PieceName::Component(piece.owner);
            self.components[&piece.owner].total.is_some() && (is_empty_half || *key == name_of(piece))
        };
        let misnamed = self.pieces_of(shard).filter(|piece| !is_right(piece));
        let misnamed: Vec<PieceKey> = misnamed.map(|(key, _)| key).collect();
        let taken: Vec<Piece> =
            misnamed.into_iter().map(|key| self.remove(key)).filter(|p| p.stats.is_some()).collect();
        for piece in taken {
            let key = name_of(&piece);
            match self.pieces.get_mut(&key) {
                Some(known) => {
                    let stats = piece.stats.expect("pieces without rows are forgotten");
                    match &mut known.stats {
                        Some(fused) => fused.add(&stats),
                        none => *none = Some(stats),
                    }
                    known.half = piece.half;
                }
                None => self.insert(key, piece),
            }
        }
        self.tell(shard);
    }

    /// Notes that a shard knows every live component, and of which generation its halves are.
    fn tell(&mut self, shard: ShardId) {
        let (pieces, components) = (&mut self.pieces, &mut self.components);
        for (id, component) in components.iter_mut().filter(|(_, component)| component.total.is_some()) {
            let told = component.trial.is_on.then_some(component.trial.generation);
            let halves = if told.is_some() { &Half::BOTH[..] } else { &[Half::Left] };
            for &half in halves {
                let key = PieceKey { shard, name: PieceName::Component(*id), half };
                let empty = Piece { stats: None, owner: *id, half: None, told };
                pieces.entry(key).or_insert(empty).told = told;
                component.pieces.insert(key);
            }
        }
    }
}

/// The sum in the given order. Many sparse sets go through a dense sum: list after list would copy the growing total each time.
pub(super) fn sum_of(first: Stats, others: &[&Stats], family: &dyn Conjugate) -> Stats {
    let is_dense_detour = matches!(first.sums, Sums::Counts(_)) && others.len() > 3;
    let mut total = if is_dense_detour { first.to_dense(family.stats_len()) } else { first };
    others.iter().for_each(|stats| total.add(stats));
    if is_dense_detour { total.to_sparse() } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{GaussianFixed, Multinomial};

    fn family() -> GaussianFixed {
        GaussianFixed { noise_sd: 1.0, mean_sd: 3.0, prior_mean: vec![0.0], offset: vec![0.0] }
    }

    fn stats(count: i64, sum: f64) -> Stats {
        Stats { count, sums: Sums::Dense([sum].into()) }
    }

    fn birth(shard: ShardId, number: u64) -> PieceKey {
        PieceKey::whole(shard, PieceName::Birth(number))
    }

    /// Two components: the first of shards 0 and 1, the second of shard 1.
    fn pool() -> (Pool, ComponentId, ComponentId) {
        let mut pool = Pool::new(0);
        let (first, second) = (pool.mint(), pool.mint());
        pool.enter(birth(0, 0), Some(stats(2, 2.0)), first);
        pool.enter(birth(1, 0), Some(stats(3, 4.0)), first);
        pool.enter(birth(1, 1), Some(stats(4, -8.0)), second);
        pool.settle(&family());
        (pool, first, second)
    }

    #[test]
    fn a_component_is_the_sum_of_its_pieces() {
        let (mut pool, first, second) = pool();
        assert_eq!(pool.total(first).unwrap().stats, stats(5, 6.0));
        pool.contribute(birth(1, 0), stats(1, 1.0));
        pool.settle(&family());
        assert_eq!(pool.total(first).unwrap().stats, stats(3, 3.0));
        assert_eq!(pool.total(second).unwrap().stats, stats(4, -8.0));
    }

    #[test]
    fn a_total_is_the_same_sum_however_its_pieces_arrived() {
        let pieces = [(0, 0.1), (4, 0.7), (1, 1e9), (2, 0.3), (3, -1e9), (5, 0.9), (6, 1e-3)];
        let total = |order: &[usize], settle_every: usize| {
            let mut pool = Pool::new(0);
            let id = pool.mint();
            for (step, &ix) in order.iter().enumerate() {
                pool.enter(birth(pieces[ix].0, 0), Some(stats(1, pieces[ix].1)), id);
                if step % settle_every == 0 {
                    pool.settle(&family());
                }
            }
            pool.settle(&family());
            pool.total(id).unwrap().stats.clone()
        };
        let at_once = total(&[0, 1, 2, 3, 4, 5, 6], 100);
        for order in [[0, 1, 2, 3, 4, 5, 6], [0, 2, 3, 4, 1, 5, 6], [6, 5, 4, 3, 2, 1, 0], [2, 3, 1, 5, 0, 6, 4]] {
            (1..4).for_each(|settle_every| assert_eq!(total(&order, settle_every), at_once));
        }
    }

    #[test]
    fn sparse_sets_have_the_same_sum_by_either_way() {
        let family = Multinomial { smoothing: 1.0, n_words: 6 };
        let set = |ix: u32| Stats {
            count: 1,
            sums: Sums::Counts(vec![(ix % 4, 2), (5, i64::from(ix)), (6, 2 + i64::from(ix))]),
        };
        let sets: Vec<Stats> = (1..9).map(set).collect();
        let by_lists = sets[1..].iter().fold(sets[0].clone(), |total, set| total.union(set));
        assert_eq!(sum_of(sets[0].clone(), &sets[1..].iter().collect::<Vec<_>>(), &family), by_lists);
    }

    #[test]
    fn a_merge_keeps_the_larger_id_and_a_split_mints_two() {
        let (mut pool, first, second) = pool();
        let kept = pool.merge(second, first, &family());
        assert_eq!(kept, first);
        assert_eq!(pool.total(first).unwrap().stats, stats(9, -2.0));
        let (left, right) = pool.split(first, &BTreeSet::from([birth(1, 1)]), &family());
        assert!(left > second && right > second && pool.total(first).is_none());
        assert_eq!(pool.total(left).unwrap().stats, stats(5, 6.0));
        assert_eq!(pool.total(right).unwrap().stats, stats(4, -8.0));
    }

    #[test]
    fn an_emptied_component_is_known_while_a_vocabulary_has_it_and_is_revived() {
        let (mut pool, _, second) = pool();
        pool.fuse(0);
        pool.contribute(birth(1, 1), stats(0, 0.0));
        pool.settle(&family());
        assert_eq!(pool.live().count(), 1);
        let name = PieceName::Component(second);
        pool.contribute(PieceKey::whole(0, name), stats(1, -2.0));
        pool.settle(&family());
        assert_eq!(pool.total(second).unwrap().stats, stats(1, -2.0));
        pool.take_out(0);
        pool.take_out(1);
        pool.settle(&family());
        assert!(pool.components.is_empty() && pool.pieces.is_empty());
    }

    #[test]
    fn fusing_gives_one_piece_for_every_live_component() {
        let (mut pool, first, second) = pool();
        let kept = pool.merge(first, second, &family());
        pool.fuse(1);
        let column: Vec<_> =
            pool.pieces_of(1).map(|(key, piece)| (key.name, piece.stats.clone(), piece.owner)).collect();
        assert_eq!(column, [(PieceName::Component(kept), Some(stats(7, -4.0)), kept)]);
    }
}
