//! What is going to happen, in the order of a virtual clock.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things to come. Of two at the same time the one that was entered first comes first, so a run can
/// be replayed.
#[derive(Debug)]
pub(super) struct Agenda<T> {
    heap: BinaryHeap<AgendaEntry<T>>,
    n_entered: u64,
}

#[derive(Debug)]
struct AgendaEntry<T> {
    at: f64,
    number: u64,
    what: T,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), n_entered: 0 }
    }

    pub(super) fn enter(&mut self, at: f64, what: T) {
        self.heap.push(AgendaEntry { at, number: self.n_entered, what });
        self.n_entered += 1;
    }

    pub(super) fn next(&mut self) -> Option<(f64, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }

    /// Everything to come, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|entry| &entry.what)
    }
}

/// Earlier is greater, because the heap gives its greatest first.
impl<T> Ord for AgendaEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl<T> PartialOrd for AgendaEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for AgendaEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for AgendaEntry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_comes_first_and_ties_keep_their_order() {
        let mut agenda = Agenda::new();
        for (at, what) in [(2.0, 'c'), (1.0, 'a'), (2.0, 'd'), (1.0, 'b')] {
            agenda.enter(at, what);
        }
        let order: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(order, [(1.0, 'a'), (1.0, 'b'), (2.0, 'c'), (2.0, 'd')]);
    }
}
