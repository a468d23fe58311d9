use crate::place::Place;
use serde_json::Value;

#[test]
fn a_table_is_described() {
    let place = Place::with_two_clusters();
    let text = place.ok("info two.csv --label-column class").stdout;
    for part in ["two.csv (csv, 60 rows)", "2 classes", "columns  2", "memory   960 bytes", "\nx ", "\ny ", "mean"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let info: Value = serde_json::from_str(&place.ok("info two.csv --exclude class --json").stdout).unwrap();
    assert_eq!((&info["kind"], &info["n_rows"]), (&"dense".into(), &60.into()));
    let column = &info["columns"][1];
    assert_eq!((&column["name"], &column["min"], &column["max"]), (&"y".into(), &(-0.5).into(), &0.5.into()));
}

#[test]
fn missing_cells_and_text_are_told_by_column() {
    let place = Place::new();
    place.write("pets.csv", "kind,weight,legs\ncat,4,4\ndog,NA,2\ncat,6,\n,5,NA\n");
    let text = place.ok("info pets.csv").stdout;
    let words = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words("kind"), "kind text, 2 levels 1");
    assert_eq!(words("weight"), "weight number 1 4.0000 5.0000 6.0000 0.8165");
    assert_eq!(words("legs"), "legs number 2 2.0000 3.0000 4.0000 1.0000");
    assert_eq!(words("missing"), "missing 4 cells (33.3 %)");
    let info: Value = serde_json::from_str(&place.ok("info pets.csv --json").stdout).unwrap();
    let [kind, weight] = [&info["columns"][0], &info["columns"][1]];
    assert_eq!(
        (&kind["type"], &kind["levels"], &kind["missing"]),
        (&"text".into(), &serde_json::json!(["cat", "dog"]), &1.into())
    );
    assert_eq!((&weight["type"], &weight["levels"], &weight["mean"]), (&"number".into(), &Value::Null, &5.0.into()));
    place.write("bare.csv", "red,big\nblue,big\n");
    let n_rows = |options: &str| {
        let info: Value = serde_json::from_str(&place.ok(&format!("info bare.csv --json {options}")).stdout).unwrap();
        info["n_rows"].as_u64().unwrap()
    };
    assert_eq!([n_rows(""), n_rows("--header no"), n_rows("--header yes")], [2, 2, 1]);
    place.refused("info bare.csv --header maybe", &["--header", "maybe", "auto"]);
}

#[test]
fn a_wide_table_is_cut_in_the_text_and_whole_in_json() {
    let place = Place::new();
    place.ok("synth imagenet --rows 30 --clusters 3 --out made");
    let text = place.ok("info made/data.npy").stdout;
    assert!(text.contains("and 24 more columns") && text.contains("32-bit"), "{text}");
    let info: Value = serde_json::from_str(&place.ok("info made/data.npy --json").stdout).unwrap();
    assert_eq!(info["columns"].as_array().unwrap().len(), 48);
}

#[test]
fn a_run_is_described() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --exclude class --cycles 3 --out run");
    let text = place.ok("info run").stdout;
    for part in ["status           finished", "data             two", "rows             60", "K  ", "log-joint  "] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let info: Value = serde_json::from_str(&place.ok("info run --json").stdout).unwrap();
    assert_eq!(info, place.json("run/run.json"));
    for part in ["method           dirigent", "splits           true", "workers          1", "engine           threads"]
    {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    place.ok("fit two.csv --exclude class --cycles 3 --method cgs --out exact");
    let text = place.ok("info exact").stdout;
    assert!(text.contains("workers          1") && !text.contains("splits"), "{text}");
    place.refused("info run two.csv", &["run", "one run folder at a time"]);
}

#[test]
fn what_cannot_be_described_is_refused() {
    let place = Place::new();
    place.refused("info missing.npy", &["missing.npy"]);
    std::fs::create_dir(place.path("run")).unwrap();
    place.write("run/run.json", "{");
    place.refused("info run", &["run.json", "hint: "]);
}

#[test]
fn the_demo_finds_its_groups() {
    let place = Place::new();
    let ended = place.ok("demo");
    assert!(ended.stdout.starts_with("5 clusters"), "{}", ended.stdout);
    assert!(ended.stdout.contains("run folder  runs/demo-1"), "{}", ended.stdout);
    assert!(ended.stderr.contains("dirigent fit runs/demo.csv --label-column segment"), "{}", ended.stderr);
    let record = place.json("runs/demo-1/run.json");
    assert_eq!((&record["data"]["n_rows"], &record["family"]), (&2_000.into(), &"mixed".into()));
    assert!(record["summary"]["ari_labels"].as_f64().unwrap() > 0.98, "{}", record["summary"]);
    // it is the fit that it says it is
    place.ok("fit runs/demo.csv --label-column segment --out same --quiet");
    assert_eq!(place.read("same/labels.npy"), place.read("runs/demo-1/labels.npy"));
    let ended = place.ok("demo --out again --json --quiet");
    assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap()["n_clusters"], 5);
    assert_eq!(place.read("again.csv"), place.read("runs/demo.csv"));
    place.refused("demo --out again", &["again", "--force"]);
    place.write("mine.csv", "a,b\n1,2\n");
    place.refused("demo --out mine", &["mine.csv", "not the table of the demo", "--force"]);
    assert_eq!(place.text("mine.csv"), "a,b\n1,2\n");
}

#[test]
fn help_and_version_go_to_stdout() {
    let place = Place::new();
    let help = place.ok("fit --help").stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["Model:", "Data:", "Method:", "Run:", "Output:", "counted from 0", "--label-column"] {
        assert!(help.contains(part), "no {part:?} in\n{help}");
    }
    let version = concat!("dirigent ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(place.ok("-V").stdout, version);
    let build = place.ok("--version").stdout;
    assert!(build.starts_with(version));
    for line in ["\ncommit: ", "\nkernel: ", "\nfeatures: parquet", "\ntarget: "] {
        assert!(build.contains(line), "no {line:?} in\n{build}");
    }
    assert_eq!(place.run("").code, Some(2));
    place.refused("fti x.npy", &["fti"]);
}
