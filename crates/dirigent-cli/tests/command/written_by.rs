//! Run folders and checkpoints that earlier versions wrote are read by this one, and newer formats are rejected. `make formats` writes those of
//! this version.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::place::Place;

const WRITTEN_BY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/written_by");
const FINISHED: [(&str, &str); 3] = [("numbers", "numbers.csv"), ("mixed", "mixed.csv"), ("words", "words.svm")];
const STOPPED: [(&str, &str); 3] =
    [("stopped", "numbers.csv"), ("stopped_chain", "numbers.csv"), ("stopped_draws", "mixed.csv")];

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for path in entries(from) {
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).unwrap() }
    }
}

/// A copy of what each version wrote.
fn places() -> Vec<(String, Place)> {
    let place = |folder: PathBuf| {
        let place = Place::new();
        copy(&folder, &place.path(""));
        (folder.file_name().unwrap().to_str().unwrap().to_owned(), place)
    };
    entries(Path::new(WRITTEN_BY)).into_iter().map(place).collect()
}

/// That of this version.
fn newest() -> Place {
    let (_, place) = places().into_iter().find(|(version, _)| version == env!("CARGO_PKG_VERSION")).unwrap();
    place
}

fn minor(version: &str) -> &str {
    version.rsplit_once('.').unwrap().0
}

#[test]
fn run_folders_of_all_versions_are_read() {
    for (version, place) in places() {
        for (run, data) in FINISHED {
            place.ok(&format!("predict {run} {data} --out {run}-labels.csv"));
            let predicted = place.column(&format!("{run}-labels.csv"), "label");
            let labels: Vec<String> = place.integers(&format!("{run}/labels.npy")).iter().map(i32::to_string).collect();
            assert_eq!(predicted, labels, "{run} of {version}");
            place.ok(&format!("cut {run} --clusters 1"));
            place.ok(&format!("report {run}"));
            assert!(place.ok(&format!("info {run}")).stdout.contains(&version), "{run} of {version}");
        }
        place.ok("draws numbers");
    }
}

#[test]
fn checkpoints_of_this_minor_version_are_resumed() {
    for (version, place) in places() {
        if minor(&version) != minor(env!("CARGO_PKG_VERSION")) {
            continue;
        }
        for (run, data) in STOPPED {
            let resumed = place.ok(&format!("fit --resume {run} {data} --cycles 9"));
            let record = place.json(&format!("{run}/run.json"));
            assert_eq!(record["summary"]["cycles"], 9, "{run} of {version}: {}", resumed.stderr);
            // the cycles before are those of the checkpoint
            let cycles = place.column(&format!("{run}/trace.csv"), "cycle");
            assert_eq!(cycles.last().unwrap(), "9", "{run} of {version}");
            assert!(!resumed.stderr.contains("begins again"), "{run} of {version}: {}", resumed.stderr);
        }
    }
}

#[test]
fn newer_formats_are_rejected_by_name() {
    let place = newest();
    let with_format = |file: &str, format: u64| {
        let before = place.read(file);
        let mut record: Value = serde_json::from_slice(&before).unwrap();
        assert!(record["format"].is_u64(), "{file}");
        record["format"] = format.into();
        place.write(file, record.to_string());
        before
    };
    let commands = [
        ("numbers/model.json", "predict numbers numbers.csv"),
        ("numbers/tree.json", "cut numbers --clusters 1"),
        ("numbers/run.json", "predict numbers numbers.csv --out other.csv"),
        ("stopped/run.json", "fit --resume stopped numbers.csv --cycles 9"),
    ];
    for (file, command) in commands {
        let before = with_format(file, 77);
        place.refused(command, &[file, "77", "version"]);
        place.write(file, before);
    }
    let manifests: Vec<PathBuf> = entries(&place.path("stopped/checkpoint"));
    for path in manifests.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        with_format(path.strip_prefix(place.path("")).unwrap().to_str().unwrap(), 77);
    }
    let kept = place.read("stopped/trace.csv");
    place.refused("fit --resume stopped numbers.csv --cycles 9", &["format 77", "expected", env!("CARGO_PKG_VERSION")]);
    assert_eq!(place.read("stopped/trace.csv"), kept, "the run is as it was");
}
