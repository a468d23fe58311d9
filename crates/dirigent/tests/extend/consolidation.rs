//! A consolidation of one's own: every birth goes where it fits best, if that is better than to stay apart.

use dirigent::internals::consolidate::progressive::ConsolidateInfo;
use dirigent::internals::consolidate::{MergeRatio, PieceKey, PieceName, Pool, WeighedStats};
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::survey::Survey;
use dirigent::{Conjugate, Family, Model, ModelOptions, Stats};

// begin: consolidation
/// Takes births into a settled pool, in the given order: like Algorithm 1, but without a draw.
fn absorb_greedily(
    pool: &mut Pool,
    births: Vec<(PieceKey, Stats)>,
    family: &dyn Conjugate,
    alpha: f64,
) -> ConsolidateInfo {
    let ratio = MergeRatio::new(family, alpha);
    let mut info = ConsolidateInfo { births: births.len() as u64, ..ConsolidateInfo::default() };
    for (key, stats) in births {
        let birth = WeighedStats::new(family, stats);
        let log_ratios = pool.live().map(|(id, component)| (id, ratio.log(component, &birth)));
        let best = log_ratios.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let owner = match best {
            // ρ above 1: one component is more probable than two
            Some((id, log_ratio)) if log_ratio > 0.0 => {
                info.merges += 1;
                id
            }
            _ => pool.mint(),
        };
        pool.enter(key, Some(birth.stats), owner);
        pool.settle(family);
    }
    info
}
// end: consolidation

/// What two workers say of three heaps at 0, 10 and 20 that both have found: a birth each, six in all.
fn births(model: &Model) -> Vec<(PieceKey, Stats)> {
    let Model::GaussianFixed(family) = model else { panic!("the model is {model:?}") };
    let births = (0..6u32).map(|number| {
        let (shard, heap) = (number / 3, number % 3);
        let centre = 10.0 * f64::from(heap);
        let rows = Shard::of_table(Table::from_f64(1, (-5..=5).map(|step| centre + 0.2 * f64::from(step)).collect()));
        let mut stats = family.empty_stats();
        rows.rows().for_each(|row| family.add_row(row, &mut stats));
        (PieceKey::whole(shard, PieceName::Birth(u64::from(heap))), stats)
    });
    births.collect()
}

#[test]
fn births_of_the_same_heap_become_one_component_and_no_row_is_lost() {
    let options = ModelOptions { sigma: Some(1.0), sigma0: Some(10.0), ..ModelOptions::default() };
    let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 10.0, 20.0]));
    let model = Model::resolve(&options, &Survey::of(&rows)).expect("the options are right");
    let (births, mut pool) = (births(&model), Pool::new(0));

    let info = absorb_greedily(&mut pool, births.clone(), model.conjugate(), 1.0);
    assert_eq!((info.births, info.merges), (6, 3));
    let sizes: Vec<i64> = pool.live().map(|(_, component)| component.stats.count).collect();
    assert_eq!(sizes, [22, 22, 22]);

    // owners have changed, statistics have not
    for (key, stats) in &births {
        assert_eq!(pool.piece(*key).and_then(|piece| piece.stats.as_ref()), Some(stats));
    }
    let owner = |shard, heap| pool.piece(PieceKey::whole(shard, PieceName::Birth(heap))).map(|piece| piece.owner);
    assert!((0..3).all(|heap| owner(0, heap) == owner(1, heap)));
}
