//! When a fit ends, what it keeps, several chains, and what it warns of.

use crate::place::Place;
use serde_json::Value;

const TWO: &str = "fit two.csv --label-column class --prior sigma=1,sigma0=50";

/// 3000 rows of ten clusters far apart.
fn place() -> Place {
    let place = Place::new();
    place.ok("synth synthetic --rows 3000 --clusters 10 --centre-sd 40 --seed 5 --out made");
    place
}

const MADE: &str = "fit made/data.npy --truth made/labels.npy --prior sigma=1,sigma0=40";

fn warnings(record: &Value) -> Vec<String> {
    record["warnings"].as_array().unwrap().iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_fit_ends_when_it_has_settled_whatever_the_method() {
    let place = place();
    for method in ["dirigent", "cgs", "prog", "pooled", "hung", "async"] {
        let workers = if method == "cgs" { "" } else { "--workers 4" };
        let ended = place.ok(&format!("{MADE} --method {method} {workers} --out {method} --verbose"));
        assert!(ended.stdout.contains(" (settled) in "), "{}", ended.stdout);
        let record = place.json(&format!("{method}/run.json"));
        let summary = &record["summary"];
        assert_eq!(summary["stopped_because"], "stationary", "{method}");
        let cycles = summary["cycles"].as_u64().unwrap();
        assert!((9..60).contains(&cycles), "{method}: {cycles}");
        assert_eq!(place.column(&format!("{method}/trace.csv"), "cycle").len() as u64, cycles);
        assert!(summary["nmi_labels"].as_f64().unwrap() > 0.95, "{method}: {summary}");
        let options = &record["options"];
        assert_eq!((&options["run"]["cycles"], &options["run"]["max_cycles"]), (&"auto".into(), &1000.into()));
        assert_eq!((&options["run"]["chains"], &options["run"]["time_limit"]), (&1.into(), &Value::Null));
        assert_eq!((&record["diagnostics"], warnings(&record)), (&Value::Null, vec![]), "{method}");
    }
}

#[test]
fn the_cycles_can_be_fixed_or_bounded() {
    let place = place();
    place.ok(&format!("{MADE} --cycles 4 --out fixed"));
    let record = place.json("fixed/run.json");
    assert_eq!(
        (&record["summary"]["stopped_because"], &record["options"]["run"]["cycles"]),
        (&"cycles".into(), &4.into())
    );
    assert_eq!(record["options"]["run"]["max_cycles"], Value::Null);
    let ended = place.ok(&format!("{MADE} --max-cycles 5 --out bounded"));
    let record = place.json("bounded/run.json");
    assert_eq!(
        (&record["summary"]["stopped_because"], &record["summary"]["cycles"]),
        (&"max_cycles".into(), &5.into())
    );
    assert!(warnings(&record)[0].contains("`max_cycles`") && ended.stderr.contains("warning: the chain was not yet"));
}

#[test]
fn a_time_limit_ends_a_run_and_cuts_its_draws() {
    let place = place();
    // the time is up at once: one cycle
    for method in ["", "--method cgs", "--method prog"] {
        for point in ["argmax", "vi", "best", "last"] {
            let fit = format!("{MADE} {method} --point {point} --time-limit 1e-9 --draws 20 --out none --force");
            let ended = place.ok(&fit);
            let record = place.json("none/run.json");
            let summary = &record["summary"];
            assert_eq!((&summary["stopped_because"], &summary["cycles"]), (&"time_limit".into(), &1.into()), "{fit}");
            assert_eq!((place.shape("none/draws.npy"), &summary["n_draws"]), ("(0,3000,)".to_owned(), &0.into()));
            assert_eq!(record["posterior"], Value::Null);
            assert_eq!(place.integers("none/labels.npy").len(), 3000);
            assert!(ended.stderr.contains("draws.npy holds 0 of 20"), "{}", ended.stderr);
            assert_eq!(ended.stderr.contains("--point vi had no draws"), point == "vi", "{}", ended.stderr);
        }
    }
    place.refused("draws none", &["none/draws.npy"]);

    // on a virtual clock: 750 rows a worker at 1 ms each are 0.75 s a cycle, so some 30 of 40 cycles
    let virtual_clock =
        "--method prog --workers 4 --engine simulated --engine-option row_cost=1e-3,latency=0 --time-limit 22";
    let ended = place.ok(&format!("{MADE} {virtual_clock} --cycles 40 --draws 20 --out some"));
    let record = place.json("some/run.json");
    let n_draws = record["summary"]["n_draws"].as_u64().unwrap();
    assert!((5..15).contains(&n_draws), "{n_draws}");
    assert_eq!(record["summary"]["stopped_because"], "time_limit");
    assert_eq!(record["options"]["run"]["time_limit"], 22.0);
    assert_eq!(place.shape("some/draws.npy"), format!("({n_draws},3000,)"));
    assert_eq!(place.integers("some/draws.npy").len() as u64, n_draws * 3000);
    assert!(ended.stderr.contains(&format!("draws.npy holds {n_draws} of 20")), "{}", ended.stderr);
    let seconds: f64 = place.column("some/trace.csv", "virtual_seconds").last().unwrap().parse().unwrap();
    assert!((22.0..24.0).contains(&seconds), "{seconds}");
}

#[test]
fn states_are_kept_once_the_chain_has_settled() {
    let place = place();
    for method in ["--method cgs", "--method prog --workers 3"] {
        place.ok(&format!("{MADE} {method} --draws 4 --thin 3 --out run --force"));
        let record = place.json("run/run.json");
        assert_eq!(record["summary"]["stopped_because"], "stationary");
        assert_eq!((place.shape("run/draws.npy"), &record["summary"]["n_draws"]), ("(4,3000,)".to_owned(), &4.into()));
        let last = place.integers("run/draws.npy")[3 * 3000..].iter().max().unwrap() + 1;
        assert_eq!(record["summary"]["k"], last, "the last draw is the last state");
        assert_eq!((&record["diagnostics"]["over"], &record["diagnostics"]["n_values"]), (&"draws".into(), &4.into()));
    }
}

#[test]
fn chains_are_told_apart_and_the_best_gives_the_labels() {
    let place = place();
    for method in ["--method cgs", "--method prog --workers 3"] {
        let command = format!("{MADE} {method} --cycles 20 --chains 3 --draws 10 --thin 1 --json --out run --force");
        let ended = place.ok(&command);
        let (report, record) = (serde_json::from_str::<Value>(&ended.stdout).unwrap(), place.json("run/run.json"));
        assert_eq!((&report["diagnostics"], &report["warnings"]), (&record["diagnostics"], &record["warnings"]));
        assert_eq!(
            (&record["options"]["run"]["chains"], place.shape("run/draws.npy")),
            (&3.into(), "(30,3000,)".to_owned())
        );

        let chains = place.column("run/trace.csv", "chain");
        assert!(chains.iter().map(String::as_str).eq(["1", "2", "3"].into_iter().flat_map(|chain| [chain; 20])));
        let log_joints = place.column("run/trace.csv", "log_joint");
        let ends: Vec<f64> = [19, 39, 59].map(|line: usize| log_joints[line].parse().unwrap()).to_vec();
        assert!(ends[0] != ends[1] && ends[1] != ends[2], "{ends:?}");
        let best = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(record["summary"]["log_joint"], best);
        let diagnostics = &record["diagnostics"];
        assert_eq!((&diagnostics["over"], &diagnostics["n_values"]), (&"draws".into(), &10.into()));
        assert!(diagnostics["log_joint"]["r_hat"].as_f64().unwrap() > 0.9, "{diagnostics}");
        assert_eq!(diagnostics["chains"][2]["chain"], 3);
        assert!(ended.stderr.contains("chain 3/3"), "{}", ended.stderr);
    }
    let ended = place.ok(&format!("{MADE} --chains 2 --out halves"));
    assert_eq!(place.json("halves/run.json")["diagnostics"]["over"], "second_half");
    assert!(ended.stdout.contains("\nchains      2 (K: R-hat "), "{}", ended.stdout);
}

/// Twenty clusters on top of one another: a chain that moves one row at a time stays where its first cycles led it.
#[test]
fn chains_at_different_modes_are_warned_of() {
    let place = Place::new();
    place.ok("synth synthetic --rows 3000 --clusters 20 --centre-sd 6 --seed 2 --out made");
    let command = "fit made/data.npy --prior sigma=1,sigma0=6 --alpha 1 --chains 4 --draws 60 --out run";
    let ended = place.ok(command);
    let record = place.json("run/run.json");
    assert!(record["diagnostics"]["log_joint"]["r_hat"].as_f64().unwrap() > 1.1, "{}", record["diagnostics"]);
    assert!(warnings(&record).iter().any(|warning| warning.contains("different modes")), "{:?}", warnings(&record));
    assert!(ended.stderr.contains("warning: R-hat is "), "{}", ended.stderr);
    assert_eq!(place.ok(&format!("{command} --force --quiet")).stderr, "");
}

#[test]
fn too_few_and_too_many_components_are_warned_of_with_the_likely_cause() {
    let place = Place::with_two_clusters();
    place.write("apart.csv", "x\n".to_owned() + &(0..60).map(|row| format!("{row}\n")).collect::<String>());
    let warning = |options: &str| {
        let ended = place.ok(&format!("fit {options} --prior sigma0=50 --out run --force"));
        let warnings = warnings(&place.json("run/run.json"));
        assert!(
            warnings.iter().all(|warning| {
                let flags = warning.replace("`sigma`", "--prior sigma");
                ended.stderr.contains(&format!("warning: {flags}"))
            }),
            "{}",
            ended.stderr
        );
        warnings.join("; ")
    };
    let one = warning("two.csv --exclude class --prior sigma=500 --alpha 0.01");
    assert!(one.contains("one component") && one.contains("sigma (500.0000) is too large"), "{one}");
    let many = warning("apart.csv --prior sigma=0.001");
    assert!(many.contains("for 60 rows") && many.contains("sigma (0.0010) is too small"), "{many}");
    assert_eq!(warning("two.csv --exclude class --prior sigma=1"), "");

    place.write("counts.csv", "a,b,c\n".to_owned() + &"2,1,1\n1,1,2\n".repeat(20));
    place.ok("fit counts.csv --family multinomial --prior gamma=50 --alpha 0.01 --out counts");
    let one = warnings(&place.json("counts/run.json")).join("; ");
    assert!(one.contains("one component") && one.contains("gamma (50.0000) is too large"), "{one}");
}

#[test]
fn tiny_data_end_too() {
    let place = Place::new();
    place.write("ten.csv", "x\n".to_owned() + &(0..10).map(|row| format!("{}\n", row % 4)).collect::<String>());
    place.write("same.csv", "x\n1\n1\n1\n");
    for (data, method) in [
        ("ten.csv", "dirigent"),
        ("ten.csv", "cgs"),
        ("ten.csv", "prog"),
        ("same.csv", "dirigent"),
        ("same.csv", "cgs"),
        ("same.csv", "async"),
    ] {
        let sigma = if data == "same.csv" { "--prior sigma=1,sigma0=1" } else { "--covariance isotropic" };
        place.ok(&format!("fit {data} {sigma} --method {method} --out run --force"));
        let summary = &place.json("run/run.json")["summary"];
        assert_eq!(summary["stopped_because"], "stationary");
        assert!((1..60).contains(&summary["cycles"].as_u64().unwrap()), "{summary}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::with_two_clusters();
    let cases: &[(&str, &[&str])] = &[
        ("--cycles 0", &["--cycles", "0", "auto"]),
        ("--cycles -1", &["--cycles", "-1"]),
        ("--cycles many", &["--cycles", "many", "auto"]),
        ("--max-cycles 0", &["--max-cycles", "0"]),
        ("--cycles 9 --max-cycles 10", &["--max-cycles", "--cycles", "hint: ", "auto"]),
        ("--time-limit 0", &["--time-limit", "0", "positive"]),
        ("--time-limit -3", &["--time-limit", "-3", "positive"]),
        ("--time-limit inf", &["--time-limit", "inf", "positive"]),
        ("--time-limit soon", &["--time-limit", "soon"]),
        ("--chains 0", &["--chains", "0"]),
        ("--chains 65536", &["--chains", "65536"]),
        ("--chains 10000 --draws 9007199254740992", &["--draws", "hint: "]),
    ];
    for (options, parts) in cases {
        place.refused(&format!("{TWO} {options}"), parts);
    }
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
}
