//! Where rows are, as far as a coordinator knows: how many of each component every worker has. Rows
//! are picked by these counts.

use crate::consolidate::{ComponentId, ShardId};
use crate::method::slice::move_message::Anchor;
use crate::rng::Stream;

/// Rows by worker and component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Census(Vec<(ShardId, ComponentId, u64)>);

impl Census {
    /// Counts, in the order of workers.
    pub(super) fn new(counts: impl IntoIterator<Item = (ShardId, ComponentId, u64)>) -> Self {
        Self(counts.into_iter().collect())
    }

    /// How many rows a worker has in some components.
    pub(super) fn of_worker(&self, shard: ShardId, components: &[ComponentId]) -> u64 {
        let here = self.0.iter().filter(|(other, id, _)| *other == shard && components.contains(id));
        here.map(|(.., count)| count).sum()
    }

    /// Any row, each as probable as the other.
    pub(super) fn any(&self, rng: &mut Stream) -> Option<Anchor> {
        self.pick(|_| true, None, rng)
    }

    /// Any row of a component, but for one.
    pub(super) fn any_of(&self, component: ComponentId, but: Option<Anchor>, rng: &mut Stream) -> Option<Anchor> {
        self.pick(|id| id == component, but, rng)
    }

    fn pick(&self, is_meant: impl Fn(ComponentId) -> bool, but: Option<Anchor>, rng: &mut Stream) -> Option<Anchor> {
        let meant = || self.0.iter().filter(|(_, id, _)| is_meant(*id));
        let n_rows = meant().map(|(.., count)| count).sum::<u64>() - u64::from(but.is_some());
        let mut rest = (n_rows > 0).then(|| rng.below(n_rows as usize) as u64)?;
        for &(shard, component, count) in meant() {
            let gap = but.filter(|but| (but.shard, but.component) == (shard, component)).map(|but| but.index);
            let n_here = count - u64::from(gap.is_some());
            if rest < n_here {
                let index = rest + u64::from(gap.is_some_and(|gap| rest >= gap));
                return Some(Anchor { shard, component, index });
            }
            rest -= n_here;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};
    use std::collections::HashMap;

    #[test]
    fn every_row_is_picked_as_often_as_any_other_and_the_excepted_one_never() {
        let id = |number| ComponentId { epoch: 0, number };
        let census = Census::new([(0, id(1), 2), (0, id(2), 1), (1, id(1), 3)]);
        let mut rng = Seed::new(1).stream(Role::Observer, 0, 0);
        let mut n_picked: HashMap<(ShardId, u64, u64), u32> = HashMap::new();
        let but = Anchor { shard: 1, component: id(1), index: 1 };
        for _ in 0..40_000 {
            let anchor = census.any_of(id(1), Some(but), &mut rng).unwrap();
            *n_picked.entry((anchor.shard, anchor.component.number, anchor.index)).or_default() += 1;
        }
        let mut picked: Vec<_> = n_picked.keys().copied().collect();
        picked.sort_unstable();
        assert_eq!(picked, [(0, 1, 0), (0, 1, 1), (1, 1, 0), (1, 1, 2)]);
        // 5 standard errors: false alarm 2e-6
        assert!(n_picked.values().all(|&n| (f64::from(n) - 10_000.0).abs() < 5.0 * 7500.0f64.sqrt()), "{n_picked:?}");
        let alone = Anchor { shard: 0, component: id(2), index: 0 };
        assert_eq!(census.any_of(id(2), Some(alone), &mut rng), None);
        assert_eq!(census.of_worker(1, &[id(1), id(2)]), 3);
    }
}
