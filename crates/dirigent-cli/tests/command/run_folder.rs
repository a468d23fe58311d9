use crate::place::Place;
use std::fs;

const FIT: &str = "fit two.csv --label-column class --cycles 7 --prior sigma=1,sigma0=50";

#[test]
fn the_files_of_a_run_are_whole_and_agree() {
    let place = Place::with_two_clusters();
    place.ok(&format!("{FIT} --out deep/run"));
    let mut files: Vec<_> =
        fs::read_dir(place.path("deep/run")).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    let expected = [
        "certainty.npy",
        "classes.csv",
        "components.npz",
        "labels.csv",
        "labels.npy",
        "model.json",
        "report.html",
        "run.json",
        "sample.npz",
        "trace.csv",
        "tree.json",
        "workers.csv",
    ];
    assert_eq!(files, expected);

    let (labels, certainty) = (place.integers("deep/run/labels.npy"), place.singles("deep/run/certainty.npy"));
    assert!(certainty.iter().all(|certainty| (0.0..=1.0).contains(certainty)));
    let rows = labels.iter().zip(&certainty).enumerate();
    let table: String = rows.map(|(row, (label, certainty))| format!("{row},{label},{certainty}\n")).collect();
    assert_eq!(place.text("deep/run/labels.csv"), format!("row,label,certainty\n{table}"));
}

#[test]
fn the_trace_has_a_line_a_cycle_and_ends_where_the_summary_stands() {
    let place = Place::with_two_clusters();
    place.ok(&format!("{FIT} --out run"));
    let trace = place.text("run/trace.csv");
    let mut lines = trace.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        header.join(","),
        "cycle,seconds,virtual_seconds,sweep_seconds,coordinator_seconds,log_joint,log_evidence,k,alpha,vi,moved,births,merges,splits,\
         attempts,bytes,messages,observed_bytes,rows,chain"
    );
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 7);
    let last = |column: &str| lines[6][header.iter().position(|name| *name == column).unwrap()].to_owned();
    let summary = &place.json("run/run.json")["summary"];
    assert_eq!((last("cycle"), last("virtual_seconds")), ("7".to_owned(), String::new()));
    assert_eq!(last("rows"), "60");
    for column in ["log_joint", "vi", "alpha", "k"] {
        assert_eq!(last(column).parse::<f64>().unwrap(), summary[column].as_f64().unwrap(), "{column}");
    }
}

#[test]
fn the_record_tells_what_was_used() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --label-column class --cycles 7 --seed 3 --alpha 2 --prior sigma=1.5 --method-option kernel=portable --out run");
    let record = place.json("run/run.json");
    assert_eq!((&record["status"], &record["error"]), (&"finished".into(), &serde_json::Value::Null));
    assert_eq!((&record["kernel"], &record["version"]), (&"portable".into(), &env!("CARGO_PKG_VERSION").into()));
    let data = &record["data"];
    assert_eq!((&data["name"], &data["n_rows"], &data["n_columns"]), (&"two".into(), &60.into(), &2.into()));
    assert_eq!(data["files"][0]["path"], "two.csv");
    assert!(data["fingerprint"].is_string());
    let options = &record["options"];
    assert_eq!(
        (&options["method"]["name"], &options["model"]["alpha"], &options["run"]["seed"]),
        (&"dirigent".into(), &2.0.into(), &3.into())
    );
    assert_eq!((&options["method"]["splits"], &options["engine"]["workers"]), (&true.into(), &1.into()));
    assert_eq!(
        (&options["run"]["draws"], &options["method"]["draws_from"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(record["model"]["noise_sd"], 1.5);
    assert!(record["model"]["mean_sd"].as_f64().unwrap() > 0.0, "what was left out is resolved");
    assert_eq!(record["summary"]["stopped_because"], "cycles");
}

#[test]
fn a_second_run_gets_a_folder_of_its_own() {
    let place = Place::with_two_clusters();
    for number in 1..=3 {
        let ended = place.ok(FIT);
        assert!(ended.stdout.contains(&format!("run folder  runs/two-{number}")), "{}", ended.stdout);
    }
    fs::remove_dir_all(place.path("runs/two-2")).unwrap();
    place.ok(FIT);
    assert!(place.path("runs/two-2/run.json").exists() && !place.path("runs/two-4").exists());
}

#[test]
fn an_earlier_run_is_replaced_only_by_force_and_other_files_never() {
    let place = Place::with_two_clusters();
    place.ok(&format!("{FIT} --draws 2 --seed 1 --out run"));
    let before = place.read("run/run.json");
    place.refused(&format!("{FIT} --out run"), &["run", "not empty", "hint: ", "--force"]);
    assert_eq!(place.read("run/run.json"), before);
    place.write("run/notes.txt", "mine");
    place.ok(&format!("{FIT} --seed 2 --out run --force"));
    assert_eq!(place.json("run/run.json")["options"]["run"]["seed"], 2);
    assert_eq!(place.text("run/notes.txt"), "mine");
    assert!(!place.path("run/draws.npy").exists(), "a file of the earlier run would not belong to this one");
}

#[test]
fn force_spares_labels_that_no_run_wrote() {
    let place = Place::with_two_clusters();
    fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/labels.npy", "the truth");
    place.refused(&format!("{FIT} --out mine --force"), &["mine", "labels.npy", "run.json", "hint: "]);
    assert_eq!(place.text("mine/labels.npy"), "the truth");
}

#[test]
fn a_folder_that_cannot_be_is_refused_before_anything_is_read() {
    let place = Place::with_two_clusters();
    place.refused(&format!("{FIT} --out two.csv"), &["two.csv", "is a file"]);
    place.refused("fit missing.npy --out two.csv", &["two.csv", "is a file"]);
}

#[test]
fn an_empty_folder_is_as_good_as_none() {
    let place = Place::with_two_clusters();
    fs::create_dir(place.path("run")).unwrap();
    place.ok(&format!("{FIT} --out run"));
}

#[cfg(unix)]
#[test]
fn a_disk_that_fails_mid_run_fails_the_run_and_its_record_says_so() {
    let place = Place::with_two_clusters();
    // no file may grow beyond 8,192 bytes: the trace will
    let fit = "fit two.csv --label-column class --cycles 2000 --quiet --out run";
    let script = format!("ulimit -f 16; trap '' XFSZ; exec {} {fit}", env!("CARGO_BIN_EXE_dirigent"));
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(place.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("error: ") && stderr.contains("run/trace.csv"), "{stderr}");
    let record = place.json("run/run.json");
    assert_eq!((&record["status"], &record["summary"]), (&"failed".into(), &serde_json::Value::Null));
    assert!(record["error"].as_str().unwrap().contains("run/trace.csv"), "{}", record["error"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_is_a_failure_that_names_it() {
    let place = Place::with_two_clusters();
    let ended = place.run(&format!("{FIT} --out /proc/nowhere/run"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("/proc/nowhere/run"), "{}", ended.stderr);
}
