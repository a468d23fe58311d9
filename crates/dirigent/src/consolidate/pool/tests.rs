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
    pool.contribute(birth(1, 0), stats(1, 1.0)).expect("a known piece");
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
    let set =
        |ix: u32| Stats { count: 1, sums: Sums::Counts(vec![(ix % 4, 2), (5, i64::from(ix)), (6, 2 + i64::from(ix))]) };
    let sets: Vec<Stats> = (1..9).map(set).collect();
    let by_lists = sets[1..].iter().fold(sets[0].clone(), |total, set| total.union(set));
    assert_eq!(sum_of(sets[0].clone(), &sets[1..].iter().collect::<Vec<_>>(), &family), by_lists);
}

#[test]
fn merged_counts_are_the_sum_of_the_pieces() {
    let family = Multinomial { smoothing: 1.0, n_words: 6 };
    let set = |ix: u32| Stats { count: 1, sums: Sums::Counts(vec![(ix % 5, 1), (5, 2), (6, 3)]) };
    let mut pool = Pool::new(0);
    let ids: Vec<ComponentId> = (0..3).map(|_| pool.mint()).collect();
    for ix in 0..12 {
        pool.enter(birth(ix % 4, ix.into()), Some(set(ix)), ids[ix as usize % 3]);
    }
    pool.settle(&family);
    let kept = pool.merge(ids[0], ids[1], &family);
    let kept = pool.merge(kept, ids[2], &family);
    let sum = (1..12).fold(set(0), |sum, ix| sum.union(&set(ix)));
    assert_eq!(pool.total(kept).unwrap().stats, sum);
    assert_eq!(pool.total(kept).unwrap().log_normalizer, family.log_normalizer(&sum));
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
    pool.contribute(birth(1, 1), stats(0, 0.0)).expect("a known piece");
    pool.settle(&family());
    assert_eq!(pool.live().count(), 1);
    let name = PieceName::Component(second);
    pool.contribute(PieceKey::whole(0, name), stats(1, -2.0)).expect("a known piece");
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
    let column: Vec<_> = pool.pieces_of(1).map(|(key, piece)| (key.name, piece.stats.clone(), piece.owner)).collect();
    assert_eq!(column, [(PieceName::Component(kept), Some(stats(7, -4.0)), kept)]);
}
