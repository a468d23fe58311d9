//! Fits and predictions from every kind of file; those of other programs are kept with the library's tests.

use std::fs;
use std::path::PathBuf;

use crate::place::Place;

const FIT: &str = "--cycles 3 --out run --force";

/// A place with the given files of other programs.
fn with_files(names: &[&str]) -> Place {
    let place = Place::new();
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dirigent/tests/data");
    for name in names {
        fs::copy(kept.join(name), place.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    place
}

#[test]
fn the_same_rows_are_fitted_alike_from_every_format() {
    let place = with_files(&[
        "docword.counts.txt",
        "counts.svm",
        "counts_part1.svm",
        "counts_part2.svm",
        "counts.mtx",
        "counts.npz",
    ]);
    place.ok(&format!("fit docword.counts.txt {FIT}"));
    let expected = place.read("run/labels.npy");
    for data in [
        "counts.svm --label-column label",
        "counts_part*.svm",
        "counts_part1.svm counts_part2.svm",
        "counts.mtx",
        "counts.npz",
    ] {
        place.ok(&format!("fit {data} {FIT}"));
        assert_eq!(place.read("run/labels.npy"), expected, "{data}");
        place.ok("predict run counts_part1.svm counts_part2.svm --out predicted.npy");
        assert_eq!(place.read("predicted.npy"), expected, "{data}");
    }
    assert_eq!(place.json("run/run.json")["data"]["files"][0]["format"], "npz");
}

#[test]
fn columns_of_parquet_are_found_by_name_and_lists_as_a_whole() {
    let place = with_files(&[
        "mixed.csv",
        "mixed_snappy.parquet",
        "mixed_part1.parquet",
        "mixed_part2.parquet",
        "vectors.parquet",
        "vectors.npy",
    ]);
    place.ok(&format!("fit mixed.csv --label-column kind {FIT}"));
    let expected = place.read("run/labels.npy");
    for data in ["mixed_snappy.parquet", "mixed_part?.parquet"] {
        place.ok(&format!("fit {data} --label-column kind {FIT}"));
        assert_eq!(place.read("run/labels.npy"), expected, "{data}");
        assert!(place.json("run/run.json")["summary"]["vi"].is_number(), "labels of the column are measured against");
        place.ok("predict run mixed_snappy.parquet --out predicted.npy");
        assert_eq!(place.read("predicted.npy"), expected, "{data}");
    }
    place.ok(&format!("fit vectors.npy {FIT}"));
    let expected = place.read("run/labels.npy");
    place.ok(&format!("fit vectors.parquet --columns vector {FIT}"));
    assert_eq!(place.read("run/labels.npy"), expected);
    place.ok("predict run vectors.parquet --out predicted.npy");
    assert_eq!(place.read("predicted.npy"), expected);
    let info = place.ok("info vectors.parquet --columns vector");
    assert!(info.stdout.contains("parquet, 30 rows") && info.stdout.contains("vector.3"), "{}", info.stdout);
}

#[test]
fn sparse_counts_are_measurements_where_the_family_wants_some() {
    let place = with_files(&["counts.svm", "docword.counts.txt"]);
    place.ok(&format!("fit counts.svm --family poisson {FIT}"));
    assert_eq!(place.json("run/run.json")["data"]["n_columns"], 12);
    place.ok("predict run counts.svm --out predicted.npy");
    assert_eq!(place.read("predicted.npy"), place.read("run/labels.npy"));
    place.refused("fit docword.counts.txt --family poisson", &["counts"]);
}

#[test]
fn a_pattern_that_fits_nothing_and_an_address_are_refused() {
    let place = Place::new();
    place.refused("fit none-*.csv", &["no file fits the pattern"]);
    place.refused("info ftp://host/x.parquet", &["found a ftp:// address"]);
}

#[test]
fn a_table_in_a_file_is_fitted_as_one_in_memory() {
    let place = with_files(&["vectors.parquet", "mixed_groups.parquet"]);
    for data in ["vectors.parquet --exclude id", "mixed_groups.parquet"] {
        place.ok(&format!("fit {data} {FIT} --spill never"));
        let expected = place.read("run/labels.npy");
        for options in ["--spill always", "--memory 2500", "--spill auto"] {
            place.ok(&format!("fit {data} {FIT} --cache-dir cache {options}"));
            assert_eq!(place.read("run/labels.npy"), expected, "{data} {options}");
        }
        assert_eq!(fs::read_dir(place.path("cache/spill")).unwrap().count(), 0, "nothing is left behind");
        let refused = format!("fit {data} {FIT} --spill never --memory 100");
        place.refused(&refused, &[".parquet: the table needs ", " of memory, 100 bytes may be used", "--memory"]);
    }
    place.refused("info vectors.parquet --memory 8X", &["expected bytes"]);
}

#[test]
fn what_does_not_fit_the_memory_is_refused_by_name() {
    let place = Place::with_two_clusters();
    let fit = "fit two.csv --exclude class --cycles 2 --force --out run";
    place.refused(&format!("{fit} --memory 1K"), &["a fit of 60 rows needs ", " KiB of memory, 1.0 KiB may be used"]);
    place.ok(&format!("{fit} --memory 5K"));
    let parts = ["a fit of 60 rows, with the copy that --standardize", "5.0 KiB may be used", "prepared already"];
    place.refused(&format!("{fit} --standardize --memory 5K"), &parts);
    place.ok(&format!("{fit} --standardize --memory 6K"));
}

#[cfg(feature = "object-store")]
#[test]
fn objects_of_a_store_are_fitted_as_files_are() {
    let place = with_files(&["counts_part1.svm", "counts_part2.svm"]);
    place.ok(&format!("fit counts_part1.svm counts_part2.svm {FIT}"));
    let expected = place.read("run/labels.npy");
    let address = format!("file://{}", place.path("").display());
    let address = address.trim_end_matches('/');
    for data in [format!("{address}/counts_part*.svm"), format!("{address}/counts_part1.svm counts_part2.svm")] {
        let fit = place.ok(&format!("fit {data} {FIT} --cache-dir cache --checkpoint-every 0"));
        assert!(fit.stderr.contains(&format!("fetching {address}/counts_part")), "{}", fit.stderr);
        assert_eq!(place.read("run/labels.npy"), expected, "{data}");
        let record = place.json("run/run.json");
        assert_eq!(record["data"]["files"][0]["path"], format!("{address}/counts_part1.svm"));
        place.ok("fit --resume run --cycles 5");
    }
    place.ok(&format!("info {address}/counts_part1.svm --cache-dir cache"));
    place.refused(&format!("predict run {address}/none.svm --cache-dir cache"), &["none.svm", "no such object"]);
}

#[cfg(not(feature = "object-store"))]
#[test]
fn an_address_needs_another_build_and_says_which() {
    let place = Place::new();
    for command in ["fit", "info"] {
        let asked = format!("{command} s3://bucket/x.npy");
        place.refused(&asked, &["s3://bucket/x.npy: found a s3:// address", "--features object-store"]);
    }
}
