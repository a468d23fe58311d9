//! What goes wrong around a run: signals, full disks, files that change under it, inputs of unusual shape.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::place::Place;
use crate::resume::ended;

#[cfg(unix)]
#[test]
fn a_run_that_keeps_no_checkpoints_says_so_when_a_signal_ends_it() {
    let place = Place::with_points(1500);
    let simulated = "--workers 3 --engine simulated --method";
    let cases = [
        ("INT", 130, format!("{simulated} av")),
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
        assert!(
            stopped.stderr.contains("interrupted; no checkpoint was written in run-"),
            "{options}: {}",
            stopped.stderr
        );
        assert_eq!(place.json(&format!("run-{run}/run.json"))["status"], "interrupted", "{options}");
    }
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_the_process_at_once() {
    let place = Place::with_points(1500);
    let child = place.start("fit set/data.npy --workers 3 --cycles 100000 --out run");
    place.wait_for_cycles("run", 2);
    // both signals are there before the process can answer the first
    for signal in ["STOP", "INT", "TERM", "CONT"] {
        assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
    }
    let stopped = ended(child);
    assert!(matches!(stopped.code, Some(130 | 143)), "{:?}: {}", stopped.code, stopped.stderr);
    assert!(!stopped.stderr.contains("interrupted"), "{}", stopped.stderr);
    assert_eq!(place.json("run/run.json")["status"], "running");
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
        let is_mounted = mounted.is_ok_and(|status| status.success());
        if !is_mounted {
            // the macro of the standard library would be held back unless the test fails
            let _ = writeln!(std::io::stderr(), "skipped: no file system can be mounted here");
        }
        is_mounted.then_some(Self(folder))
    }

    fn make_room(&self, size: &str) {
        let resized = Command::new("mount").args(["-o", &format!("remount,size={size}")]).arg(&self.0).status();
        assert!(resized.unwrap().success());
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
    let Some(_disk) = SmallDisk::mount(&place, "32k") else { return };
    let ended = place.run("fit set/data.npy --cycles 2 --out disk/run");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("disk/run/") && ended.stderr.contains("No space left"), "{}", ended.stderr);
    let is_gone = |name: &str| !place.path(format!("disk/run/{name}")).exists();
    assert!(is_gone("labels.npy.partial") && is_gone("labels.csv.partial"), "what could not be written is removed");
}

#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_that_finds_no_room_is_removed_and_the_run_goes_on_once_there_is_room() {
    let place = Place::with_points(30_000);
    let fit = "fit set/data.npy --workers 2 --threads 1 --seed 1 --cycles 4 --checkpoint-every 0 --no-report";
    // room for one checkpoint of some 100 KB, not for two
    let Some(disk) = SmallDisk::mount(&place, "160k") else { return };
    let ended = place.run(&format!("{fit} --out disk/run"));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let parts =
        ["disk/run/checkpoint/00000002-", "No space left", "hint: make room, then `dirigent fit --resume disk/run`"];
    parts.iter().for_each(|part| assert!(ended.stderr.contains(part), "no {part:?} in\n{}", ended.stderr));
    let names = fs::read_dir(place.path("disk/run/checkpoint")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("00000002")).collect();
    assert!(left.is_empty(), "{left:?}");
    let record = place.json("disk/run/run.json");
    assert_eq!(record["status"], "failed");
    assert!(record["error"].as_str().unwrap().contains("No space left"), "{record}");
    disk.make_room("8m");
    let resumed = place.ok("fit --resume disk/run --no-report");
    assert!(resumed.stderr.contains("continues after cycle 1"), "{}", resumed.stderr);
    place.ok(&format!("{fit} --out whole"));
    assert_eq!(place.read("disk/run/labels.npy"), place.read("whole/labels.npy"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_archive_that_finds_no_room_is_told_once() {
    let place = Place::with_points(30_000);
    // room for the labels, some 650 KB, not for the sample
    let Some(_disk) = SmallDisk::mount(&place, "720k") else { return };
    let ended = place.run("fit set/data.npy --workers 2 --cycles 2 --out disk/run");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let told = ended.stderr.split_once("error: ").unwrap().1;
    assert!(told.starts_with("cannot write disk/run/sample.npz: No space left"), "{told}");
    assert!(!ended.stderr.contains("ZipWriter") && told.contains("hint: make room, or"), "{}", ended.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn draws_that_do_not_fit_the_disk_are_refused_before_the_fit() {
    let place = Place::with_points(5000);
    let Some(_disk) = SmallDisk::mount(&place, "1m") else { return };
    let parts = ["disk/run: --draws 100 of 5000 rows need 1.9 MiB on the disk, ", " are free", "hint: ask for fewer"];
    place.refused("fit set/data.npy --draws 100 --out disk/run", &parts);
    assert!(!place.path("disk/run").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named_before_anything_is_read() {
    let place = Place::with_two_clusters();
    let mut folders = vec!["two.csv/run"];
    if cfg!(target_os = "linux") {
        folders.push("/proc/run");
    }
    for folder in folders {
        let ended = place.run(&format!("fit two.csv --exclude class --out {folder}"));
        assert!(ended.code.is_some_and(|code| code == 1 || code == 2), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(folder), "{}", ended.stderr);
        assert!(ended.stderr.contains("hint: name another folder with --out"), "{}", ended.stderr);
    }
    place.write("runs", "no folder");
    let ended = place.run("fit two.csv --exclude class");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("error: cannot write to runs: "), "{}", ended.stderr);
}

#[test]
fn a_mapped_file_that_changes_during_the_run_fails_it() {
    // smaller files are read, not mapped
    let place = Place::with_points(20_000);
    let rows = place.read("set/data.npy");
    let end = rows.len() as u64;
    for (run, at, how) in [("grown", end, "its length changed to"), ("changed", end - 8, "its contents changed")] {
        place.write("set/data.npy", &rows);
        let child = place.start(&format!("fit set/data.npy --workers 2 --cycles 1000000 --out {run}"));
        place.wait_for_cycles(run, 2);
        let mut file = OpenOptions::new().write(true).open(place.path("set/data.npy")).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&[0; 8]).unwrap();
        let ended = ended(child);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        let told = format!("set/data.npy: the file was changed while it was fitted: {how}");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        assert_eq!(place.json(&format!("{run}/run.json"))["status"], "failed");
    }
}

#[cfg(unix)]
#[test]
fn a_mapped_file_that_is_touched_replaced_or_removed_during_the_run_is_as_it_was() {
    // smaller files are read, not mapped
    let place = Place::with_points(20_000);
    let mut other = place.read("set/data.npy");
    other.extend([0; 16]);
    place.write("new.npy", other);
    let data = place.path("set/data.npy");
    let mut child = place.start("fit set/data.npy --workers 2 --cycles 1000000 --out run");
    place.wait_for_cycles("run", 2);
    let mut goes_on = |what: &str| {
        // the files are looked at twice a second
        std::thread::sleep(Duration::from_millis(1200));
        assert!(child.try_wait().unwrap().is_none(), "the run has ended: its file was {what}");
    };
    OpenOptions::new().write(true).open(&data).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    goes_on("touched");
    fs::rename(place.path("new.npy"), &data).unwrap();
    goes_on("replaced");
    fs::remove_file(&data).unwrap();
    goes_on("removed");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_file_that_was_read_may_change_during_the_run() {
    let place = Place::with_two_clusters();
    let mut child = place.start("fit two.csv --exclude class --workers 2 --cycles 1000000 --out run");
    place.wait_for_cycles("run", 2);
    place.write("two.csv", "nothing of it is left\n");
    std::thread::sleep(Duration::from_millis(1200));
    assert!(child.try_wait().unwrap().is_none(), "the run has ended");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn many_small_files_are_one_data_set() {
    let place = Place::new();
    ["text", "numbers"].iter().for_each(|folder| fs::create_dir(place.path(folder)).unwrap());
    let mut all = String::new();
    for ix in 0..1500 {
        let cells = [f64::from(ix % 7), if ix % 2 == 0 { 0.0 } else { 50.0 }];
        let row = format!("{},{}\n", cells[0], cells[1]);
        all += &row;
        place.write(&format!("text/part-{ix:05}.csv"), row);
        place.write(&format!("numbers/part-{ix:05}.npy"), npy_row(cells));
    }
    place.write("all.csv", all);
    place.ok("fit all.csv --cycles 3 --out one --no-report");
    for folder in ["text", "numbers"] {
        place.ok(&format!("fit {folder} --cycles 3 --out of-{folder} --no-report"));
        assert_eq!(place.read(&format!("of-{folder}/labels.npy")), place.read("one/labels.npy"), "{folder}");
    }
}

/// An array of one row as NumPy saves it.
fn npy_row(cells: [f64; 2]) -> Vec<u8> {
    let header = format!("{:117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }");
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    let start = [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes()].concat();
    cells.iter().fold(start, |bytes, cell| [bytes, cell.to_le_bytes().to_vec()].concat())
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
