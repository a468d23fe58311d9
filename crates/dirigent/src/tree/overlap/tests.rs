use super::*;
use crate::family::{OwnedRow, table_of_rows};
use crate::model::{Covariance, FamilyName, ModelOptions};
use crate::rng::{Role, Seed};
use crate::rows::Table;
use crate::survey::Survey;
use crate::sweep::reference_sampler;

/// Rows of a few heaps, every family by its options; some cells are missing where a family can have that.
fn heaps(n_rows: usize, has_holes: bool) -> (Table, Vec<u32>) {
    let mut rng = Seed::new(3).stream(Role::Observer, 0, 0);
    let (mut cells, mut labels) = (Vec::new(), Vec::new());
    for row in 0..n_rows {
        let heap = row % 5;
        labels.push(heap as u32);
        for column in 0..3 {
            let centre = if column == heap % 3 { 2.0 + heap as f64 } else { 0.0 };
            let hole = has_holes && (row + column) % 7 == 0;
            cells.push(if hole { f64::NAN } else { centre + rng.normal() });
        }
    }
    (Table::from_f64(3, cells), labels)
}

fn documents(n_rows: usize) -> (Table, Vec<u32>) {
    let word = |row: usize, ix: usize| ((row % 5) * 4 + (row * 7 + ix * ix) % 9) % 24;
    let rows: Vec<OwnedRow> = (0..n_rows)
        .map(|row| {
            let mut words: Vec<u32> = (0..8).map(|ix| word(row, ix) as u32).collect();
            words.sort_unstable();
            words.dedup();
            OwnedRow::Counts(words.into_iter().map(|word| (word, 2)).collect())
        })
        .collect();
    (table_of_rows(24, &rows), (0..n_rows).map(|row| (row % 5) as u32).collect())
}

fn fitted((table, labels): (Table, Vec<u32>), options: &ModelOptions) -> (Model, Vec<Stats>, Shard) {
    let shard = Shard::of_table(table);
    let model = Model::resolve(options, &Survey::of(&shard)).unwrap();
    let mut sampler = reference_sampler(&model, shard.clone());
    sampler.load(&vec![model.conjugate().empty_stats(); 5]);
    sampler.set_labels(labels);
    let components = sampler.contributions();
    (model, components, shard)
}

/// A model of each kind with five components, and its rows.
fn models() -> Vec<(&'static str, Model, Vec<Stats>, Shard)> {
    let gaussian = |covariance| ModelOptions { covariance: Some(covariance), ..ModelOptions::default() };
    let of = |family| ModelOptions { family: Some(family), ..ModelOptions::default() };
    let directions = {
        let (Table::F64 { cells, .. }, labels) = heaps(900, false) else { panic!("doubles") };
        let rows = cells.as_slice().chunks_exact(3);
        let unit = rows.flat_map(|row| {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter().map(move |x| x / length)
        });
        (Table::from_f64(3, unit.collect()), labels)
    };
    [
        ("fixed", heaps(900, false), gaussian(Covariance::Isotropic)),
        ("diagonal", heaps(900, true), gaussian(Covariance::Diag)),
        ("full", heaps(900, false), gaussian(Covariance::Full)),
        ("vmf", directions, of(FamilyName::Vmf)),
        ("multinomial", documents(900), of(FamilyName::Multinomial)),
    ]
    .map(|(name, rows, options)| {
        let (model, components, shard) = fitted(rows, &options);
        (name, model, components, shard)
    })
    .into()
}

#[test]
fn neither_threads_nor_shards_change_a_bit() {
    for (name, model, components, shard) in models() {
        let one = overlap(&model, &components, std::slice::from_ref(&shard), Kernel::best(), 1);
        let shards: Vec<Shard> =
            [0..100, 100..101, 101..101, 101..650, 650..900].into_iter().map(|rows| shard.part(rows)).collect();
        assert_eq!(one, overlap(&model, &components, &shards, Kernel::best(), 3), "{name}");
        assert_eq!(one.tempered.n_rows(), 900);
    }
}

#[test]
fn sums_are_those_of_the_slow_twin() {
    for (name, model, components, shard) in models() {
        let found = overlap(&model, &components, std::slice::from_ref(&shard), Kernel::best(), 2);
        let mut slow = reference_sampler(&model, Shard::of_tables(&[], 0..0));
        slow.load(&components);
        let mut probabilities = Vec::new();
        slow.predict(&shard, 1e-300, Some(&mut probabilities));
        for (temperature, sums) in [(found.temperature, &found.tempered), (1.0, found.plain())] {
            let (mut weights, mut overlaps) = ([0.0; 5], [[0.0; 5]; 5]);
            for row in probabilities.chunks_exact(6) {
                let powers: Vec<f64> = row[..5].iter().map(|p| libm::pow(*p, 1.0 / temperature)).collect();
                let total: f64 = powers.iter().sum();
                for a in 0..5 {
                    weights[a] += powers[a] / total;
                    (0..5).for_each(|b| overlaps[a][b] += powers[a] * powers[b] / (total * total));
                }
            }
            for (a, b, overlap) in sums.pairs() {
                assert!((overlap - overlaps[a][b]).abs() < 1e-2, "{name} {a} {b}: {overlap}, {}", overlaps[a][b]);
                overlaps[a][b] = 0.0;
                overlaps[b][a] = 0.0;
            }
            assert!(overlaps.as_flattened().iter().all(|left| *left < 1e-6), "{name}");
            (0..5).for_each(|a| assert!((sums.weight(a) - weights[a]).abs() < 1e-2, "{name}"));
        }
    }
}

#[test]
fn many_components_are_summed_as_few_are() {
    let rows: Vec<Vec<(u32, u64)>> =
        (0..50u64).map(|row| (0..6).map(|ix| (ix * 3 + (row % 3) as u32, (row + 1) << (20 + ix))).collect()).collect();
    let (mut dense, mut sparse) =
        (Adder::new(18), Adder { pairs: PairSums::Sparse(HashMap::default()), ..Adder::new(18) });
    rows.iter().for_each(|row| dense.add_row(row));
    rows.iter().for_each(|row| sparse.add_row(row));
    assert_eq!(dense.sums(), sparse.sums());
}

#[test]
fn sums_add_up_in_any_order_and_travel() {
    let sums = |rows: &[&[(u32, u64)]]| {
        let mut adder = Adder::new(4);
        rows.iter().for_each(|row| adder.add_row(row));
        adder.sums()
    };
    let (a, b, c): (&[_], &[_], &[_]) = (&[(0, 7), (3, 9)], &[(1, 1 << 32)], &[(0, 5), (1, 6), (3, 1 << 31)]);
    let (mut forth, mut back) = (sums(&[a]), sums(&[c, b]));
    forth.add(&sums(&[b, c]));
    back.add(&sums(&[a]));
    assert_eq!(forth, back);
    assert_eq!(forth, sums(&[a, b, c]));
    let bytes = postcard::to_allocvec(&forth).unwrap();
    assert_eq!(postcard::from_bytes::<OverlapSums>(&bytes).unwrap(), forth);
}

#[test]
fn a_row_keeps_the_largest_memberships_and_they_sum_to_one() {
    let log_shares: Vec<f32> = (0..200).map(|ix| -0.01 * ((ix * 77) % 200) as f32).collect();
    let mut kept = Vec::new();
    memberships(&log_shares, 2.0, &mut kept);
    assert_eq!(kept.len(), MOST_MEMBERSHIPS);
    assert!(kept.is_sorted());
    assert!(kept.iter().all(|&(component, _)| log_shares[component as usize] > -0.01 * MOST_MEMBERSHIPS as f32 - 1e-6));
    let total: u64 = kept.iter().map(|(_, q)| q).sum();
    assert!(total.abs_diff(1 << 32) <= MOST_MEMBERSHIPS as u64);
    // out of reach of everything
    memberships(&[f32::NEG_INFINITY; 3], 1.0, &mut kept);
    assert!(kept.is_empty());
}

#[test]
fn the_temperature_is_the_least_that_mixes() {
    let of = |pure: &[u64]| {
        let mut squares = [1 << 30; TEMPERATURES.len()];
        squares[..pure.len()].copy_from_slice(pure);
        MixtureSums { n_rows: 1, squares }.temperature()
    };
    assert_eq!(of(&[]), 1.0);
    assert_eq!(of(&[1 << 32, (1 << 32) - 1000]), 2.0);
    assert_eq!(of(&[1 << 32; 13]), 64.0);
}
