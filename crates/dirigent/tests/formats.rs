//! The same rows through every format give the same tables, bit for bit, and the same labels; the files were written by other programs
//! (`data/make.py`).

use std::path::PathBuf;

use dirigent::internals::io::{DataSet, FittedColumns, Selection, read_labels};
use dirigent::{InputError, Row};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn open(files: &[&str], selection: &Selection) -> DataSet {
    let paths: Vec<PathBuf> = files.iter().map(|file| path(file)).collect();
    DataSet::open(&paths, selection).unwrap_or_else(|error| panic!("{files:?}: {error}"))
}

fn refused(file: &str, selection: &Selection) -> InputError {
    match DataSet::open(&[path(file)], selection) {
        Ok(_) => panic!("{file} should be refused"),
        Err(dirigent::Error::Input(error)) => *error,
        Err(error) => panic!("not the user's mistake: {error}"),
    }
}

/// Every cell with all its bits, counts as (word, count).
fn bits(data: &DataSet) -> Vec<Vec<(usize, u64)>> {
    let row = |row: Row<'_>| -> Vec<(usize, u64)> {
        match row {
            Row::F32(cells) => cells.iter().map(|cell| cell.to_bits().into()).enumerate().collect(),
            // every NaN is a missing cell
            Row::F64(cells) => {
                cells.iter().map(|cell| if cell.is_nan() { u64::MAX } else { cell.to_bits() }).enumerate().collect()
            }
            Row::Counts(row) => row.iter().map(|(word, count)| (word as usize, count.into())).collect(),
        }
    };
    data.all_rows().rows().map(row).collect()
}

fn assert_same(found: &DataSet, expected: &DataSet, what: &str) {
    assert_eq!(found.n_columns(), expected.n_columns(), "{what}");
    assert_eq!(bits(found), bits(expected), "{what}");
    assert_eq!(found.missing(), expected.missing(), "{what}");
    assert_eq!(found.levels(), expected.levels(), "{what}");
    assert_eq!(found.truth(), expected.truth(), "{what}");
    assert_eq!(found.fingerprint().split_at(8).0, expected.fingerprint().split_at(8).0, "{what}");
}

#[test]
fn mixed_columns_are_the_same_in_text_and_in_parquet() {
    let selection = Selection { label_column: Some("kind".into()), ..Selection::default() };
    let expected = open(&["mixed.csv"], &selection);
    assert_eq!((expected.n_rows(), expected.n_columns()), (30, 5));
    assert_eq!(expected.missing()[3], 2);
    assert_eq!(expected.levels()[3].as_ref().unwrap().len(), 3);
    let files = [
        "mixed.tsv.gz",
        "mixed_snappy.parquet",
        "mixed_zstd.parquet",
        "mixed_gzip.parquet",
        "mixed_none.parquet",
        "mixed_groups.parquet",
    ];
    for file in files {
        let data = open(&[file], &selection);
        assert_same(&data, &expected, file);
        assert_eq!(data.column_names(), expected.column_names(), "{file}");
    }
    assert_same(&open(&["mixed_part1.parquet", "mixed_part2.parquet"], &selection), &expected, "two shards");
    assert_same(&open(&["mixed_part?.parquet"], &selection), &expected, "a pattern");
}

#[test]
fn numbers_are_the_same_in_every_format() {
    let columns = Some(names(&["x", "count", "gap"]));
    let expected = open(&["mixed.csv"], &Selection { columns: columns.clone(), ..Selection::default() });
    for file in ["numbers.npy", "numbers.npz", "numbers_compressed.npz", "numbers.mtx"] {
        assert_same(&open(&[file], &Selection::default()), &expected, file);
    }
    assert_same(
        &open(&["numbers_encoded.parquet"], &Selection { columns, ..Selection::default() }),
        &expected,
        "parquet",
    );
    let swapped = |columns: &[&str]| Selection { columns: Some(names(columns)), ..Selection::default() };
    let expected = open(&["mixed.csv"], &swapped(&["gap", "x"]));
    for file in ["numbers.npy", "numbers.npz", "numbers.mtx"] {
        assert_same(&open(&[file], &swapped(&["3", "1"])), &expected, file);
    }
    assert_same(&open(&["mixed_snappy.parquet"], &swapped(&["gap", "x"])), &expected, "columns in another order");
}

#[test]
fn lists_are_columns_and_stay_in_single_precision() {
    let expected = open(&["vectors.npy"], &Selection::default());
    assert!(matches!(expected.all_rows().row(0), Row::F32(_)));
    for file in ["vectors.parquet", "vectors_fixed.parquet"] {
        for selection in [
            Selection { exclude: names(&["id"]), ..Selection::default() },
            Selection { columns: Some(names(&["vector"])), ..Selection::default() },
        ] {
            let data = open(&[file], &selection);
            assert_same(&data, &expected, file);
            assert_eq!(data.column_names().unwrap(), ["vector.0", "vector.1", "vector.2", "vector.3"]);
        }
        let some = Selection { columns: Some(names(&["vector.2"])), ..Selection::default() };
        let third = Selection { columns: Some(names(&["3"])), ..Selection::default() };
        assert_same(&open(&[file], &some), &open(&["vectors.npy"], &third), "one element");
    }
    let data = open(&["vectors_gaps.parquet"], &Selection::default());
    assert_eq!(data.missing(), [6; 4], "a list that is not there is missing in every column");
    assert_eq!(bits(&data)[1], bits(&expected)[1]);
}

#[test]
fn counts_are_the_same_in_every_sparse_format() {
    let expected = open(&["docword.counts.txt"], &Selection::default());
    assert!(expected.is_counts());
    let labels = read_labels(&path("counts_labels.txt")).unwrap();
    let with_labels = Selection { label_column: Some("label".into()), ..Selection::default() };
    for file in ["counts.svm", "counts_from_zero.libsvm", "counts.svmlight.gz"] {
        assert_same(&open(&[file], &Selection::default()), &expected, file);
        let data = open(&[file], &with_labels);
        assert_eq!(data.truth(), Some(&labels), "{file}");
        assert_eq!(data.numbered_from_zero(), file.contains("zero"));
    }
    for file in ["counts.mtx", "counts_by_column.mtx", "counts.npz", "counts_stored.npz"] {
        let data = open(&[file], &Selection::default());
        assert_same(&data, &expected, file);
        assert_eq!(data.fingerprint(), expected.fingerprint(), "{file}");
    }
    assert_same(&open(&["counts_part1.svm", "counts_part2.svm"], &Selection::default()), &expected, "two shards");
    let twice = open(&["docword.counts.txt", "counts.npz", "counts.svm"], &Selection::default());
    assert_eq!((twice.n_rows(), twice.is_counts()), (90, true));
    let pattern = open(&["pattern.mtx"], &Selection::default());
    let ones = |row: &Vec<(usize, u64)>| row.iter().map(|&(word, _)| (word, 1)).collect::<Vec<_>>();
    assert_eq!(bits(&pattern), bits(&expected).iter().map(ones).collect::<Vec<_>>());
}

#[test]
fn sparse_measurements_are_written_out_with_their_zeros() {
    let expected = open(&["halves.npy"], &Selection::default());
    for file in ["halves.svm", "halves.npz"] {
        assert_same(&open(&[file], &Selection::default()), &expected, file);
    }
    // counts and measurements in one set are measurements
    let both = open(&["counts.svm", "halves.svm"], &Selection::default());
    assert_eq!((both.n_rows(), both.is_counts()), (60, false));
    assert_eq!(bits(&both)[30..], bits(&expected));
    let dense = open(&["counts.npz"], &Selection::default()).into_numbers().unwrap();
    assert_eq!(bits(&dense), bits(&both)[..30]);
    assert_eq!(dense.missing(), [0; 12]);
}

#[test]
fn a_fit_finds_its_columns_again() {
    let fitted = |n_columns, names: Option<Vec<String>>, numbered_from_zero| FittedColumns {
        n_columns,
        names,
        selection: Selection::default(),
        levels: Vec::new(),
        formats: Vec::new(),
        left_out: Vec::new(),
        numbered_from_zero,
    };
    let open_fitted = |columns: &FittedColumns, file: &str| columns.open(&[path(file)]).unwrap();
    // of 20 columns the file has only the first 12
    let (data, _) = open_fitted(&fitted(20, None, false), "counts.svm");
    assert_eq!((data.n_columns(), bits(&data)), (20, bits(&open(&["docword.counts.txt"], &Selection::default()))));
    // no number 0 occurs in this file, but it did in the fit
    let (shifted, _) = open_fitted(&fitted(13, None, true), "counts.svm");
    let one_more = |row: &Vec<(usize, u64)>| row.iter().map(|&(word, count)| (word + 1, count)).collect::<Vec<_>>();
    assert_eq!(bits(&shifted), bits(&data).iter().map(one_more).collect::<Vec<_>>());
    assert!(fitted(5, None, false).open(&[path("counts.svm")]).is_err());
    let (data, notes) = open_fitted(&fitted(2, Some(names(&["gap", "x"])), false), "mixed_groups.parquet");
    let selection = Selection { columns: Some(names(&["gap", "x"])), ..Selection::default() };
    assert_same(&data, &open(&["mixed.csv"], &selection), "by name");
    assert!(notes[0].contains("ignored: count, flag, colour, kind"), "{notes:?}");
    let of_list = Some(names(&["vector.0", "vector.1", "vector.2", "vector.3"]));
    let (data, _) = open_fitted(&fitted(4, of_list, false), "vectors.parquet");
    assert_same(&data, &open(&["vectors.npy"], &Selection::default()), "lists");
    let (data, _) = open_fitted(&fitted(3, None, false), "numbers.npz");
    assert_same(&data, &open(&["numbers.npy"], &Selection::default()), "npz");
}

#[test]
fn types_of_parquet_are_numbers_where_they_mean_some() {
    let of = |columns: &[&str]| Selection { columns: Some(names(columns)), ..Selection::default() };
    let data = open(&["odd.parquet"], &of(&["price", "cents", "big", "small", "part.a", "part.b"]));
    let numbers = |rows: Vec<Vec<(usize, u64)>>| -> Vec<Vec<Option<f64>>> {
        let cell = |&(_, bits): &(usize, u64)| Some(f64::from_bits(bits)).filter(|cell| !cell.is_nan());
        rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    };
    let expected = [
        [Some(1.0), Some(1.25), Some(9_223_372_036_854_775_808.0), Some(200.0), Some(1.0), Some(2.5)],
        [Some(25.0), Some(-0.5), Some(1.0), Some(1.0), Some(3.0), None],
        [Some(-3.0), Some(3.0), Some(0.0), Some(0.0), None, None],
    ];
    assert_eq!(numbers(bits(&data)), expected);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let of = |column: &str| Selection { columns: Some(names(&[column])), ..Selection::default() };
    let check = |file: &str, selection: &Selection, column: Option<&str>, problem: &str, hint: &str| {
        let error = refused(file, selection);
        assert!(error.file.as_ref().unwrap().to_string_lossy().contains(file), "{error}");
        assert_eq!(error.column.as_deref(), column, "{error}");
        assert!(error.problem.contains(problem), "{error}");
        assert!(error.hint.as_ref().unwrap().contains(hint), "{error}: {:?}", error.hint);
    };
    let all = Selection::default();
    for (column, what) in [("nested", "lists of lists"), ("words", "lists of text")] {
        let name = if column == "nested" { "nested.list.element.list.element" } else { column };
        check("odd.parquet", &of(name), Some(name), what, &format!("`exclude` {name}"));
    }
    check("odd.parquet", &of("raw"), Some("raw"), "not UTF-8", "`exclude` raw");
    check("odd.parquet", &of("infinite"), Some("infinite"), "found inf", "`exclude` infinite");
    check("odd.parquet", &of("none"), None, "no column \"none\"", "when, price");
    check("no_rows.parquet", &all, None, "zero rows", "right table");
    check("lz4.parquet", &all, Some("small"), "compression LZ4", "another compression");
    check("vectors_ragged.parquet", &all, Some("vector"), "found a list of 1 element, expected 2", "same length");
    assert_eq!(refused("vectors_ragged.parquet", &all).row.as_deref(), Some("row 3"));
    let label = |column: &str| Selection { label_column: Some(column.into()), ..Selection::default() };
    check("mixed_snappy.parquet", &label("colour"), Some("colour"), "found nothing, expected a label", "every row");
    check("counts_csc.npz", &all, None, "found the sparse format csc, expected csr", "tocsr()");
    check("counts_coo.npz", &all, None, "found the sparse format coo", "tocsr()");
    check("two_arrays.npz", &all, None, "found 2 arrays (a, b)", "save_npz");
    check("symmetric.mtx", &all, None, "symmetric", "symmetry=\"general\"");
    check("counts.svm", &label("kind"), None, "no label column", "`label_column` label");
    check("counts.mtx", &label("1"), None, "no column of labels", "`truth`");
    check("counts.npz", &of("1"), None, "no columns to choose from", "`columns`");
}
