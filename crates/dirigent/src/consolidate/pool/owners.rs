//! Who owns what: merges, splits, a shard that goes, and the names that a shard will use.

use std::collections::BTreeSet;

use super::{Change, Component, ComponentId, Piece, PieceKey, PieceName, Pool, ShardId, Trial, of_shard};
use crate::consolidate::WeighedStats;
use crate::family::Conjugate;
use crate::halves::Half;

impl Pool {
    /// Merges two components that have rows and returns the id that stays: the larger one's, on a
    /// tie the smaller id.
    pub fn merge(&mut self, a: ComponentId, b: ComponentId, family: &dyn Conjugate) -> ComponentId {
        let size = |id| self.total(id).expect("components that merge have rows").stats.count;
        let (kept, gone) =
            if (size(a), std::cmp::Reverse(a)) > (size(b), std::cmp::Reverse(b)) { (a, b) } else { (b, a) };
        let Component { pieces, total, .. } = self.components.remove(&gone).expect("it has a total");
        self.give(pieces, kept);
        self.restart(kept);
        if family.has_counts() {
            self.add_total(kept, &total.expect("it has rows"), family);
        }
        self.settle(family);
        kept
    }

    /// Counts are whole numbers: in whatever order they are added, their sum is that of the pieces,
    /// which need not be gone through again.
    fn add_total(&mut self, kept: ComponentId, gone: &WeighedStats, family: &dyn Conjugate) {
        let component = self.components.get_mut(&kept).expect("it has a total");
        component.total = component.total.as_ref().map(|total| total.union(gone, family));
        self.stale.remove(&kept);
    }

    /// Regroups a component: the given pieces part from the others, both under new ids. Pieces
    /// without rows follow the larger part.
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

    /// Splits a component into its halves, both under new ids. A piece without rows whose worker
    /// knows the current generation goes by the half it is named by, so that what comes later finds
    /// its place; other pieces without rows are forgotten, and what comes later is a birth.
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

    /// Gives a shard the live components as its vocabulary: its pieces of one component become one,
    /// named by the component, or one for each half. What it had in components without rows is
    /// nothing, and is forgotten. A piece that is named so already is not touched. The pool must be
    /// settled afterwards.
    pub fn fuse(&mut self, shard: ShardId) {
        let name_of = |piece: &Piece| PieceKey {
            shard,
            name: PieceName::Component(piece.owner),
            half: piece.half.unwrap_or(Half::Left),
        };
        let is_right = |(key, piece): &(PieceKey, &Piece)| {
            let Component { total, trial, .. } = &self.components[&piece.owner];
            let is_empty_half = trial.is_on && piece.stats.is_none() && key.name == PieceName::Component(piece.owner);
            total.is_some() && (is_empty_half || *key == name_of(piece))
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
        let mut missing = Vec::new();
        // both are in the order of the components, so that no piece need be looked up
        let mut known = self.pieces.range_mut(of_shard(shard)).peekable();
        for (id, component) in self.components.iter().filter(|(_, component)| component.total.is_some()) {
            let told = component.trial.is_on.then_some(component.trial.generation);
            let halves = if told.is_some() { &Half::BOTH[..] } else { &[Half::Left] };
            for &half in halves {
                let key = PieceKey { shard, name: PieceName::Component(*id), half };
                while known.next_if(|(other, _)| **other < key).is_some() {}
                match known.next_if(|(other, _)| **other == key) {
                    Some((_, piece)) => piece.told = told,
                    None => missing.push((key, Piece { stats: None, owner: *id, half: None, told })),
                }
            }
        }
        for (key, piece) in missing {
            self.components.get_mut(&piece.owner).expect("it was found there").pieces.insert(key);
            self.pieces.insert(key, piece);
        }
    }
}
