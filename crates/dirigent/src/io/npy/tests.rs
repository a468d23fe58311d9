use proptest::prelude::*;

use super::*;
use crate::io::test_files::{Files, damaged, npy, open, opens_or_explains, rows};
use crate::io::{DataSet, Truth};
use crate::rows::Row;

/// Two rows of three cells, in C order.
fn cells<const N: usize>(bytes: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    (1..=6).flat_map(bytes).collect()
}

fn opened(name: &str, file: Vec<u8>, selection: &Selection) -> DataSet {
    open(name, file, selection).unwrap()
}

#[test]
fn every_number_type_is_read() {
    let files = [
        ("'<f4'", cells(|n| f32::from(n).to_le_bytes())),
        ("'>f4'", cells(|n| f32::from(n).to_be_bytes())),
        ("'<f8'", cells(|n| f64::from(n).to_le_bytes())),
        ("'>f8'", cells(|n| f64::from(n).to_be_bytes())),
        ("'|i1'", cells(|n| [n])),
        ("'|u1'", cells(|n| [n])),
        ("'<i2'", cells(|n| i16::from(n).to_le_bytes())),
        ("'>u2'", cells(|n| u16::from(n).to_be_bytes())),
        ("'>i4'", cells(|n| i32::from(n).to_be_bytes())),
        ("'<u4'", cells(|n| u32::from(n).to_le_bytes())),
        ("'<i8'", cells(|n| i64::from(n).to_le_bytes())),
        ("'>u8'", cells(|n| u64::from(n).to_be_bytes())),
    ];
    for (descr, cells) in files {
        for name in ["t.npy", "t.npy.gz"] {
            let data = opened(name, npy(descr, false, "(2, 3)", &cells), &Selection::default());
            assert_eq!(rows(&data), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "{descr} {name}");
            let is_single = matches!(data.all_rows().row(0), Row::F32(_));
            assert_eq!(is_single, descr.contains("f4"), "{descr}: single precision stays single");
            let data = opened(name, npy(descr, true, "(2, 3)", &cells), &Selection::default());
            assert_eq!(rows(&data), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]], "{descr} {name}, by column");
        }
    }
}

#[test]
fn plain_files_that_are_not_small_are_mapped_and_not_copied() {
    let files = Files::new();
    let mapped = |name, file: Vec<u8>| {
        let loaded = read(
            &files.write(name, file),
            &Selection::default(),
            &mut FileColumns::default(),
            &mut TruthBuilder::default(),
            &Storage::default(),
        );
        match loaded.unwrap() {
            Table::F64 { cells: Cells::Mapped(_), .. } => true,
            Table::F64 { .. } => false,
            _ => panic!("doubles expected"),
        }
    };
    let cells = cells(|n| f64::from(n).to_le_bytes()).repeat(2000);
    assert!(mapped("t.npy", npy("'<f8'", false, "(4000, 3)", &cells)));
    assert!(mapped("t.npy", npy("'<f8'", true, "(12000,)", &cells)));
    assert!(!mapped("t.npy", npy("'<f8'", true, "(4000, 3)", &cells)));
    assert!(!mapped("t.npy.gz", npy("'<f8'", false, "(4000, 3)", &cells)));
    assert!(!mapped("t.npy", npy("'<f8'", false, "(2, 3)", &cells[..48])));
}

#[test]
fn versions_2_and_3_have_a_longer_length() {
    let good = npy("'<f8'", false, "(6,)", &cells(|n| f64::from(n).to_le_bytes()));
    for version in [2, 3] {
        let mut file = good.clone();
        file[6] = version;
        file.splice(10..10, [0, 0]);
        let data = opened("t.npy", file, &Selection::default());
        assert_eq!((data.n_rows(), data.n_columns(), rows(&data)[5][0]), (6, 1, 6.0));
    }
}

#[test]
fn columns_and_labels_are_chosen_by_number() {
    let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let some = Selection { columns: Some(list(&["3", "1"])), label_column: Some("2".into()), ..Selection::default() };
    let mut cells = cells(|n| f64::from(n).to_le_bytes());
    // not a number where nobody looks
    cells[32..40].copy_from_slice(&f64::NAN.to_le_bytes());
    let exclude = Selection { exclude: list(&["2"]), ..Selection::default() };
    let data = opened("t.npy", npy("'<f8'", false, "(2, 3)", &cells), &exclude);
    assert_eq!(rows(&data), [[1.0, 3.0], [4.0, 6.0]]);
    cells[32..40].copy_from_slice(&(-0.0f64).to_le_bytes());
    let data = opened("t.npy", npy("'<f8'", false, "(2, 3)", &cells), &some);
    assert_eq!(rows(&data), [[3.0, 1.0], [6.0, 4.0]]);
    assert_eq!(data.truth(), Some(&Truth { labels: vec![0, 1], names: list(&["2", "0"]) }));
    assert_eq!(data.column_names(), None);
}

#[test]
fn nan_is_a_missing_cell_in_every_float_type() {
    fn check<const N: usize>(descr: &str, bytes: impl Fn(f64) -> [u8; N]) {
        let cells: Vec<u8> = [1.0, f64::NAN, 3.0, f64::NAN, -f64::NAN, 6.0].into_iter().flat_map(bytes).collect();
        for name in ["t.npy", "t.npy.gz"] {
            let data = opened(name, npy(descr, false, "(2, 3)", &cells), &Selection::default());
            assert_eq!((data.missing(), rows(&data)[1][2]), (vec![1, 2, 0], 6.0), "{descr}");
            let data = opened(name, npy(descr, true, "(2, 3)", &cells), &Selection::default());
            assert_eq!(data.missing(), [1, 1, 1], "{descr} by column");
        }
    }
    check("'<f4'", |cell| (cell as f32).to_le_bytes());
    check("'>f4'", |cell| (cell as f32).to_be_bytes());
    check("'<f8'", f64::to_le_bytes);
    check("'>f8'", f64::to_be_bytes);
}

#[test]
fn numbers_are_levels_where_somebody_says_so() {
    let cells: Vec<u8> = [0.5, 7.0, 0.25, -0.0, 1.0, 7.0].iter().flat_map(|cell: &f32| cell.to_le_bytes()).collect();
    let selection = Selection { text_columns: vec!["2".into()], ..Selection::default() };
    let data = opened("t.npy", npy("'<f4'", false, "(3, 2)", &cells), &selection);
    assert_eq!(rows(&data), [[0.5, 0.0], [0.25, 1.0], [1.0, 0.0]]);
    assert_eq!(data.levels(), [None, Some(vec!["7".to_owned(), "0".to_owned()])]);
}

#[test]
fn a_zipped_file_that_claims_too_much_is_read_only_as_far_as_it_goes() {
    let file = npy("'<f8'", true, "(1099511627776, 100000)", &[0; 64]);
    let error = open("t.npy.gz", file, &Selection::default()).unwrap_err().to_string();
    assert!(error.contains("truncated: found 64 bytes of cells, expected 879609302220800000"), "{error}");
}

proptest! {
    #[test]
    fn damaged_files_never_panic(file in damaged(npy("'<f4'", true, "(2, 3)", &cells(|n| f32::from(n).to_le_bytes())))) {
        opens_or_explains("t.npy", &file);
        opens_or_explains("t.npy.gz", &file);
    }
}
