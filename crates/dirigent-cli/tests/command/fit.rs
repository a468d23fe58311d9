use crate::place::Place;
use serde_json::Value;

const QUICK: &str = "--cycles 5 --prior sigma=1,sigma0=50";

/// Whether labels tell even rows from odd ones, and nothing else.
fn tell_even_from_odd(labels: &[i32]) -> bool {
    labels.len() == 60 && labels[0] != labels[1] && labels.chunks(2).all(|pair| pair == &labels[..2])
}

#[test]
fn a_table_with_a_label_column_is_fitted_and_measured() {
    let place = Place::with_two_clusters();
    let ended = place.ok(&format!("fit two.csv --label-column class {QUICK} --out run"));
    assert!(tell_even_from_odd(&place.integers("run/labels.npy")));
    let summary = &place.json("run/run.json")["summary"];
    for measure in ["vi", "vi_labels"] {
        assert!(summary[measure].as_f64().unwrap().abs() < 1e-9, "{summary}");
    }
    assert_eq!((summary["k"].as_u64(), summary["nmi_labels"].as_f64()), (Some(2), Some(1.0)));
    let gap = summary["log_joint"].as_f64().unwrap() - summary["log_joint_truth"].as_f64().unwrap();
    assert!(gap.abs() < 1e-6, "the state is the truth, so its log-joint is that of the truth: {gap}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "2 clusters: 30, 30 rows");
    assert_eq!(lines[1], "certainty   1.000 on average; 0 of 60 rows below 0.5");
    assert_eq!(lines[2], "true labels ARI 1.000, NMI 1.000, VI 0.000 nats");
    assert_eq!(lines[3..], ["run folder  run", "report      run/report.html"]);
    assert!(!ended.stderr.contains("dirigent cut"), "there is no other number: {}", ended.stderr);
    let ended = place.ok(&format!("fit two.csv --label-column class {QUICK} --out more --verbose"));
    for part in ["K           2", "log-joint", "VI          0.000", "alpha  ", "cycles      5 in "] {
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
    }
}

#[test]
fn a_truth_in_a_file_is_as_good_as_one_in_a_column() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --exclude class --truth two.labels.txt {QUICK} --out a"));
    place.ok(&format!("fit two.csv --label-column class {QUICK} --out b"));
    let vi = |run: &str| place.json(&format!("{run}/run.json"))["summary"]["vi_labels"].clone();
    assert_eq!(vi("a"), vi("b"));
    assert_eq!(place.read("a/labels.npy"), place.read("b/labels.npy"));
    assert_eq!(place.json("a/run.json")["data"]["truth"], "two.labels.txt");
    assert_eq!(place.json("b/run.json")["data"]["truth"], "column class");
}

#[test]
fn an_array_is_fitted() {
    let place = Place::new();
    place.ok("synth synthetic --rows 300 --clusters 3 --centre-sd 100 --out made --seed 1");
    let command = "fit made/data.npy --truth made/labels.npy --prior sigma=1,sigma0=100 --cycles 10 --out run --json";
    let summary: Value = serde_json::from_str(&place.ok(command).stdout).unwrap();
    assert_eq!(summary["k"], 3);
    assert!(summary["vi_labels"].as_f64().unwrap().abs() < 1e-9);
}

#[test]
fn documents_are_fitted_by_a_multinomial_unless_told_otherwise() {
    let place = Place::new();
    place.ok("synth nyt --rows 200 --clusters 2 --centre-sd 3 --out made");
    let ended = place.ok("fit made/docword.txt.gz --truth made/labels.npy --prior gamma=0.1 --cycles 10 --out run");
    assert!(ended.stderr.contains("multinomial (chosen"), "{}", ended.stderr);
    let record = place.json("run/run.json");
    assert_eq!(record["model"]["family"], "multinomial");
    assert!(record["summary"]["vi_labels"].as_f64().unwrap() < 0.1, "{}", record["summary"]);
}

#[test]
fn dense_counts_are_fitted_by_a_multinomial_when_asked() {
    let place = Place::new();
    place.write("counts.csv", "a,b,c\n".to_owned() + &"9,1,0\n0,1,9\n".repeat(20));
    place.ok("fit counts.csv --family multinomial --cycles 5 --out run");
    assert_eq!(place.json("run/run.json")["summary"]["k"], 2);
}

#[test]
fn the_same_seed_gives_the_same_labels_and_another_one_another_chain() {
    let place = Place::new();
    place.ok("synth synthetic --rows 400 --out made");
    for (run, seed) in [("a", 7), ("b", 7), ("c", 8)] {
        place.ok(&format!("fit made/data.npy --prior sigma=1,sigma0=10 --cycles 4 --seed {seed} --out {run}"));
    }
    for file in ["labels.npy", "certainty.npy", "labels.csv"] {
        assert_eq!(place.read(&format!("a/{file}")), place.read(&format!("b/{file}")));
    }
    assert_ne!(place.read("a/certainty.npy"), place.read("c/certainty.npy"));
}

#[test]
fn json_is_one_object_and_quiet_is_quiet() {
    let place = Place::with_two_clusters();
    let ended = place.ok(&format!("fit two.csv --exclude class {QUICK} --json --out a"));
    assert_eq!(ended.stdout.lines().count(), 1);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&summary["run"], &summary["k"], &summary["vi"]), (&"a".into(), &2.into(), &Value::Null));

    let ended = place.ok(&format!("fit two.csv --exclude class {QUICK} --quiet --out b"));
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let ended = place.ok(&format!("fit two.csv --exclude class {QUICK} --quiet --json --out c"));
    assert!(ended.stderr.is_empty() && serde_json::from_str::<Value>(&ended.stdout).is_ok());
}

#[test]
fn a_run_without_a_terminal_reports_in_plain_lines() {
    let place = Place::with_two_clusters();
    let lines = |options: &str| {
        let ended = place.ok(&format!("fit two.csv --exclude class --truth two.labels.txt --cycles 40 {options}"));
        ended.stderr.lines().filter(|line| line.starts_with("cycle ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let normal = lines("");
    assert_eq!(normal.len(), 11);
    assert!(normal[0].starts_with("cycle 1/40  K ") && normal[10].starts_with("cycle 40/40  K "));
    assert!(["log-joint", "VI", "rows/s", "left"].iter().all(|part| normal[0].contains(part)), "{}", normal[0]);
    assert_eq!(lines("-v").len(), 40);
}

#[test]
fn draws_are_states_of_the_chain() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --exclude class --method cgs --cycles 3 --draws 4 --thin 3 --out run");
    assert_eq!(place.shape("run/draws.npy"), "(4,60,)");
    let record = place.json("run/run.json");
    assert_eq!(record["summary"]["cycles"], 24);
    let run = &record["options"]["run"];
    assert_eq!((&run["draws"], &run["thin"], &run["cycles"]), (&4.into(), &3.into(), &24.into()));
    let draws = place.integers("run/draws.npy");
    let last = draws[3 * 60..].iter().max().unwrap() + 1;
    assert_eq!(record["summary"]["k"], last, "the last draw is the last state");
}

#[cfg(target_os = "linux")]
#[test]
fn nobody_reading_is_no_failure_but_a_full_disk_is() {
    let place = Place::with_two_clusters();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = place.run_to("eval two.labels.txt two.labels.txt", full.into());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("standard output"), "{}", ended.stderr);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = place.run_to("eval two.labels.txt two.labels.txt", writer.into());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}
