//! Runs that are killed, interrupted or damaged, and go on.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::place::{Ended, Place};

/// What can be told of a run but for the times.
#[derive(Debug, PartialEq)]
struct Left {
    labels: Vec<u8>,
    certainty: Vec<u8>,
    components: Vec<u8>,
    draws: Option<Vec<u8>>,
    trace: Vec<Vec<String>>,
    summary: Value,
    diagnostics: Value,
}

impl Place {
    /// Points of the plane in twenty clusters.
    pub(crate) fn with_points(rows: usize) -> Self {
        let place = Self::new();
        place.ok(&format!("synth synthetic --rows {rows} --clusters 20 --out set"));
        place
    }

    fn left(&self, run: &str) -> Left {
        let file = |name: &str| self.read(&format!("{run}/{name}"));
        let trace = self.text(&format!("{run}/trace.csv"));
        let columns: Vec<&str> = trace.lines().next().unwrap().split(',').collect();
        let line = |line: &str| -> Vec<String> {
            let cells = line.split(',').zip(&columns).filter(|(_, column)| !column.ends_with("seconds"));
            cells.map(|(cell, _)| cell.to_owned()).collect()
        };
        let record = self.json(&format!("{run}/run.json"));
        let mut summary = record["summary"].clone();
        summary["seconds"] = Value::Null;
        let draws = format!("{run}/draws.npy");
        Left {
            labels: file("labels.npy"),
            certainty: file("certainty.npy"),
            components: file("components.npz"),
            draws: self.path(&draws).exists().then(|| self.read(&draws)),
            trace: trace.lines().map(line).collect(),
            summary,
            diagnostics: record["diagnostics"].clone(),
        }
    }

    pub(crate) fn start(&self, arguments: &str) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dirigent"));
        command.args(arguments.split_whitespace()).current_dir(self.path(""));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits until a run has told of so many cycles.
    pub(crate) fn wait_for_cycles(&self, run: &str, n_cycles: usize) {
        let began = Instant::now();
        let trace = self.path(format!("{run}/trace.csv"));
        while fs::read_to_string(&trace).map_or(0, |text| text.lines().count()) <= n_cycles {
            assert!(began.elapsed() < Duration::from_secs(120), "{run} does not get on");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn parts(&self, run: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path(format!("{run}/checkpoint"))).unwrap().map(|entry| entry.unwrap().path());
        let mut parts: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "part")).collect();
        parts.sort();
        parts
    }
}

pub(crate) fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Without a warning; a run that was quicker than that has ended well.
fn killed(mut child: Child) -> Ended {
    child.kill().unwrap();
    ended(child)
}

const FIT: &str = "fit set/data.npy --truth set/labels.npy --workers 3 --seed 4 --threads 1 --checkpoint-every 0";

#[test]
fn a_run_that_is_killed_at_random_moments_ends_as_if_nothing_had_happened() {
    let place = Place::with_points(1500);
    let options = "--cycles 30 --draws 4 --thin 2 --method-option draws_from=fast --point best";
    let began = Instant::now();
    place.ok(&format!("{FIT} {options} --out whole"));
    let longest = began.elapsed();
    let whole = place.left("whole");
    assert!(whole.draws.is_some());
    let mut random = 12_345_u64;
    let (mut kills, mut resumes, mut run) = (0, 0, 1);
    // on a busy machine most kills come too early or too late to leave something to resume
    let is_enough = |kills: u32, resumes: u32| kills >= 20 && resumes >= 3;
    while !is_enough(kills, resumes) {
        assert!(kills < 400, "only {resumes} of {kills} kills left a run to resume");
        // runs that are quicker than their killer are compared, and followed by another
        let begin = format!("{FIT} {options} --out run-{run}");
        let mut next = begin.clone();
        loop {
            let child = place.start(&next);
            let last = if !is_enough(kills, resumes) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                std::thread::sleep(longest.mul_f64(0.5 * (random >> 40) as f64 / f64::from(1 << 24)));
                killed(child)
            } else {
                ended(child)
            };
            if last.code == Some(0) {
                break;
            }
            assert_eq!(last.code, None, "{}", last.stderr);
            kills += 1;
            let record = fs::read_to_string(place.path(format!("run-{run}/run.json")));
            if record.as_ref().is_ok_and(|record| record.contains("\"status\": \"finished\"")) {
                // killed with nothing left to do but to tell of it
                break;
            }
            if record.is_ok() {
                resumes += 1;
                next = format!("fit --resume run-{run} --checkpoint-every 0");
            } else {
                next = format!("{begin} --force");
            }
        }
        assert_eq!(place.left(&format!("run-{run}")), whole, "run {run}");
        run += 1;
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_run_at_a_border_and_it_goes_on_from_there() {
    let place = Place::with_points(1500);
    for (signal, code, method) in [("INT", 130, "dirigent"), ("TERM", 143, "slicemr"), ("INT", 130, "cgs")] {
        let whole = format!("whole-{method}");
        let workers = if method == "cgs" { "" } else { "--workers 3" };
        let fit = format!("fit set/data.npy {workers} --seed 4 --method {method} --draws 5");
        // A run that ends before the signal arrives says nothing; a longer one will.
        let (run, cycles, stopped) = [40, 400, 4_000, 40_000]
            .into_iter()
            .find_map(|cycles| {
                let run = format!("run-{method}-{cycles}");
                let child = place.start(&format!("{fit} --cycles {cycles} --out {run}"));
                place.wait_for_cycles(&run, 4);
                let _ = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
                let stopped = ended(child);
                (stopped.code != Some(0)).then_some((run, cycles, stopped))
            })
            .expect("a run long enough to be interrupted");
        assert_eq!(stopped.code, Some(code), "{method}: {}", stopped.stderr);
        place.ok(&format!("{fit} --cycles {cycles} --out {whole}"));
        assert!(stopped.stderr.contains(&format!("to continue: dirigent fit --resume {run}")), "{}", stopped.stderr);
        assert_eq!(place.json(&format!("{run}/run.json"))["status"], "interrupted");
        let info = place.ok(&format!("info {run}")).stdout;
        assert!(
            info.contains("interrupted") && info.contains(&format!("dirigent fit --resume {run} (continues")),
            "{info}"
        );
        let resumed = place.ok(&format!("fit --resume {run}"));
        assert!(resumed.stderr.contains("resumed: continues after cycle"), "{}", resumed.stderr);
        assert_eq!(place.left(&run), place.left(&whole), "{method}");
        place.refused(&format!("fit --resume {run}"), &["the run has ended", "--cycles"]);
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_a_run_can_be_made_longer() {
    let place = Place::with_points(900);
    place.ok(&format!("{FIT} --cycles 12 --out whole"));
    for damage in ["nothing", "cut", "changed", "gone"] {
        let run = format!("run-{damage}");
        place.ok(&format!("{FIT} --cycles 6 --out {run}"));
        let newest = place.parts(&run).pop().unwrap();
        let mut bytes = fs::read(&newest).unwrap();
        match damage {
            "cut" => fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap(),
            "changed" => {
                bytes[20] ^= 4;
                fs::write(&newest, bytes).unwrap();
            }
            "gone" => fs::remove_file(&newest).unwrap(),
            _ => {}
        }
        let info = place.ok(&format!("info {run}")).stdout;
        assert!(info.contains("--cycles N"), "{info}");
        let resumed = place.ok(&format!("fit --resume {run} --cycles 12"));
        assert_eq!(resumed.stderr.contains("damaged"), damage != "nothing", "{}", resumed.stderr);
        let cycle = if damage == "nothing" { 5 } else { 4 };
        assert!(resumed.stderr.contains(&format!("continues after cycle {cycle}")), "{}", resumed.stderr);
        assert_eq!(place.left(&run), place.left("whole"), "{damage}");
    }
}

#[test]
fn a_run_none_of_whose_checkpoints_can_be_read_says_so_and_begins_anew() {
    let place = Place::with_points(900);
    place.ok(&format!("{FIT} --cycles 6 --out run"));
    let record = place.text("run/run.json").replace("\"finished\"", "\"running\"");
    place.write("run/run.json", record);
    let parts = place.parts("run");
    let cut = |part: &PathBuf| OpenOptions::new().write(true).open(part).unwrap().set_len(5).unwrap();
    cut(parts.last().unwrap());
    let info = place.ok("info run").stdout;
    assert!(info.contains("(continues after cycle 4)"), "{info}");
    parts.iter().for_each(cut);
    let info = place.ok("info run").stdout;
    assert!(info.contains("none of its checkpoints can be read: it starts again"), "{info}");
    let resumed = place.ok("fit --resume run");
    assert!(resumed.stderr.contains("resumed: none of its checkpoints can be read, so the run starts again"));
    place.ok(&format!("{FIT} --cycles 6 --out whole"));
    assert_eq!(place.left("run"), place.left("whole"));
}

#[test]
fn what_does_not_go_with_the_run_is_refused() {
    let place = Place::with_points(300);
    place.ok(&format!("{FIT} --cycles 4 --out run"));
    place.refused("fit --resume run --cycles 6 --seed 5", &["--seed 5 contradicts the resumed run", "with --seed 4"]);
    place.refused("fit --resume run --cycles 6 --method cgs", &["--method cgs", "with --method dirigent"]);
    place.refused("fit --resume run --cycles 6 --out other", &["--out"]);
    place.refused("fit --resume nowhere", &["nowhere/run.json", "cannot be resumed"]);
    place.refused("fit --resume run", &["the run has ended"]);
    place.refused("fit --resume run --cycles 3", &["must be more than before"]);
    place.refused("fit --resume run --time-limit 9", &["must be more than before"]);
    place.refused("fit", &["DATA"]);
    place.refused(&format!("{FIT} --engine simulated --out other").replace("--threads 1", ""), &["--checkpoint-every"]);
    let rows = place.read("set/data.npy");
    let mut changed = rows.clone();
    *changed.last_mut().unwrap() ^= 1;
    place.write("set/data.npy", changed);
    let other = "set/data.npy: the data is not what the run was started with: the fingerprint is";
    place.refused("fit --resume run --cycles 6", &[other, "`dirigent fit DATA --resume run`"]);
    // data that has only moved is the same data
    place.write("moved.npy", rows);
    fs::remove_file(place.path("set/data.npy")).unwrap();
    let gone = ["set/data.npy: no such file", "say where it is now: `dirigent fit DATA --resume run`"];
    place.refused("fit --resume run --cycles 6", &gone);
    place.ok("fit moved.npy --resume run --cycles 6 --threads 2");
    assert_eq!(place.json("run/run.json")["summary"]["cycles"], 6);
    place.ok("fit moved.npy --cycles 3 --workers 2 --draws 2 --out drawn --checkpoint-every 0");
    place.refused("fit --resume drawn --cycles 9", &["--draws cannot be made longer"]);
}

#[test]
fn a_run_goes_on_with_other_workers() {
    let place = Place::with_points(600);
    place.ok("fit set/data.npy --workers 4 --cycles 6 --checkpoint-every 0 --seed 4 --out run");
    let before = place.json("run/run.json");
    place.refused("fit --resume run --cycles 9 --workers 700", &["--workers 700 is more than there are rows"]);
    place.refused("fit --resume run --cycles 9 --engine simulated", &["writes no checkpoints"]);
    place.ok("fit --resume run --cycles 9 --workers 2");
    let after = place.json("run/run.json");
    assert_eq!((&after["options"]["engine"]["workers"], &after["summary"]["cycles"]), (&2.into(), &9.into()));
    let trace = place.text("run/trace.csv");
    assert_eq!(trace.lines().count(), 1 + 9, "{trace}");
    let log_joint = |record: &Value| record["summary"]["log_joint"].as_f64().unwrap();
    let change = log_joint(&after) - log_joint(&before);
    assert!(change.abs() < 0.02 * log_joint(&before).abs(), "{change}");
}

#[test]
fn a_run_without_a_checkpoint_begins_anew_and_a_run_that_has_settled_leaves_none() {
    let place = Place::with_points(300);
    let fit = "fit set/data.npy --workers 2";
    place.ok(&format!("{fit} --cycles 5 --out whole"));
    place.refused("fit --resume whole", &["there is nothing left to resume"]);
    let child = place.start(&format!("{fit} --cycles 100000 --out run"));
    place.wait_for_cycles("run", 2);
    place.refused("fit --resume run", &["another process is at work"]);
    killed(child);
    let info = place.ok("info run").stdout;
    assert!(info.contains("it starts again"), "{info}");
    fs::remove_file(place.path("run/trace.csv")).unwrap();
    let child = place.start("fit --resume run");
    place.wait_for_cycles("run", 2);
    let resumed = killed(child);
    assert!(resumed.stderr.contains("starts again"), "{}", resumed.stderr);
    place.ok("fit set/data.npy --workers 1 --checkpoint-every 0 --out settled");
    assert_eq!(place.json("settled/run.json")["summary"]["stopped_because"], "stationary");
    assert!(!place.path("settled/checkpoint").exists());
}
