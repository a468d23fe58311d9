//! What goes wrong around a run: signals, full disks, files that change under it, inputs of unusual shape.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::place::Place;
use crate::resume::ended;

#[cfg(unix)]
#[test]
fn a_run_that_keeps_no_checkpoints_says_so_when_a_signal_ends_it() {
    let place = Place::with_points(1500);
    let simulated = "--workers 3 --engine simulated --method";
    let cases = [
        ("INT", 130, "--workers 3 --method av".to_owned()),
        ("TERM", 143, "--workers 3 --method subc".to_owned()),
        ("TERM", 143, format!("{simulated} dirigent")),
        ("INT", 130, format!("{simulated} slicemr")),
        ("INT", 130, format!("{simulated} subc")),
    ];
    for (run, (signal, code, options)) in cases.into_iter().enumerate() {
        let child = place.start(&format!("fit set/data.npy {options} --cycles 100000 --out run-{run}"));
        place.wait_for_cycles(&format!("run-{run}"), 2);
        assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
        let stopped = ended(child);
        assert_eq!(stopped.code, Some(code), "{options}: {}", stopped.stderr);
        assert!(stopped.stderr.contains("interrupted; nothing was kept in run-"), "{options}: {}", stopped.stderr);
        assert_eq!(place.json(&format!("run-{run}/run.json"))["status"], "interrupted", "{options}");
    }
}

/// A small file system in memory, where one may mount.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(place: &Place, size: &str) -> Option<Self> {
        let folder = place.path("disk");
        fs::create_dir(&folder).unwrap();
        let options = ["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(&folder).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_the_run_with_the_name_of_the_file() {
    let place = Place::with_points(5000);
    place.ok("fit set/data.npy --cycles 2 --out run");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let predicted = place.run_to("predict run set/data.npy", full.into());
    assert_eq!(predicted.code, Some(1), "{}", predicted.stderr);
    assert!(predicted.stderr.contains("No space left"), "{}", predicted.stderr);
    let Some(_disk) = SmallDisk::mount(&place, "32k") else {
        // the macro of the standard library would be held back unless the test fails
        let _ = writeln!(std::io::stderr(), "skipped: no file system can be mounted here");
        return;
    };
    let ended = place.run("fit set/data.npy --cycles 2 --out disk/run");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("disk/run/") && ended.stderr.contains("No space left"), "{}", ended.stderr);
    let is_gone = |name: &str| !place.path(format!("disk/run/{name}")).exists();
    assert!(is_gone("labels.npy.partial") && is_gone("labels.csv.partial"), "what could not be written is removed");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::with_two_clusters();
    let ended = place.run("fit two.csv --exclude class --out two.csv/run");
    assert!(ended.code.is_some_and(|code| code == 1 || code == 2), "{}", ended.stderr);
    assert!(ended.stderr.contains("two.csv/run") && !ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_mapped_file_that_changes_during_the_run_fails_it() {
    let place = Place::with_points(1500);
    let child = place.start("fit set/data.npy --workers 2 --cycles 1000000 --out run");
    place.wait_for_cycles("run", 2);
    OpenOptions::new().append(true).open(place.path("set/data.npy")).unwrap().write_all(&[0; 8]).unwrap();
    let ended = ended(child);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("set/data.npy: the file was changed while it was fitted"), "{}", ended.stderr);
    assert_eq!(place.json("run/run.json")["status"], "failed");
}

#[test]
fn many_small_files_are_one_data_set() {
    let place = Place::new();
    fs::create_dir(place.path("shards")).unwrap();
    let mut all = String::new();
    for ix in 0..1500 {
        let row = format!("{},{}\n", ix % 7, if ix % 2 == 0 { 0 } else { 50 });
        all += &row;
        place.write(&format!("shards/part-{ix:05}.csv"), row);
    }
    place.write("all.csv", all);
    place.ok("fit shards --cycles 3 --out many --no-report");
    place.ok("fit all.csv --cycles 3 --out one --no-report");
    assert_eq!(place.read("many/labels.npy"), place.read("one/labels.npy"));
}

#[test]
fn a_row_of_a_million_words_is_a_row_and_an_endless_line_is_refused() {
    let place = Place::new();
    let words = |count: usize| (1..=count).map(|word| format!("1 {word} 2\n")).collect::<String>();
    let n_words = 1_000_000;
    let others: String = (2..40).map(|document| format!("{document} {} 1\n", document % 5 + 1)).collect();
    place.write("docword.long.txt", format!("39\n{n_words}\n{}\n{}{others}", n_words + 38, words(n_words)));
    place.ok("fit docword.long.txt --cycles 3 --out run --no-report");
    assert_eq!(place.integers("run/labels.npy").len(), 39);
    place.write("endless.csv", "1,".repeat(35 << 20));
    place.refused("fit endless.csv", &["endless.csv, line 1", "more than 64 MiB"]);
}
