//! Fits by a coordinator and its workers, on threads and in simulation.

use crate::place::Place;
use std::fs;

/// Each method with its consolidation and its schedule.
const METHODS: [(&str, &str, &str); 5] = [
    ("dirigent", "progressive", "sync"),
    ("prog", "progressive", "sync"),
    ("pooled", "pooled", "sync"),
    ("hung", "hungarian", "sync"),
    ("async", "progressive", "async"),
];
const FIT: &str = "fit made/data.npy --truth made/labels.npy --prior sigma=1,sigma0=40 --cycles 8 --workers 4";
const SIMULATED: &str = "--engine simulated --engine-option row_cost=1e-6";

/// 3002 rows of ten clusters far apart, which four workers cannot share evenly.
fn place() -> Place {
    let place = Place::new();
    place.ok("synth synthetic --rows 3002 --clusters 10 --centre-sd 40 --seed 5 --out made");
    place
}

fn numbers(place: &Place, file: &str, column: &str) -> Vec<f64> {
    place.column(file, column).iter().map(|cell| cell.parse().unwrap()).collect()
}

fn virtual_seconds(place: &Place, run: &str) -> f64 {
    *numbers(place, &format!("{run}/trace.csv"), "virtual_seconds").last().unwrap()
}

#[test]
fn every_method_fits_with_four_workers_and_says_what_it_did() {
    let place = place();
    for (method, consolidation, schedule) in METHODS {
        place.ok(&format!("{FIT} --method {method} --out {method}"));
        let mut files: Vec<_> =
            fs::read_dir(place.path(method)).unwrap().map(|file| file.unwrap().file_name()).collect();
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

        let record = place.json(&format!("{method}/run.json"));
        let options = &record["options"];
        assert_eq!(options["method"]["name"], method);
        assert_eq!(
            (&options["method"]["consolidation"], &options["method"]["schedule"]),
            (&consolidation.into(), &schedule.into())
        );
        assert_eq!((&options["engine"]["name"], &options["engine"]["workers"]), (&"threads".into(), &4.into()));
        assert_eq!(options["method"]["sweeps_per_cycle"], 1);
        assert_eq!(options["method"]["splits"], method == "dirigent");
        let rules = if method == "hung" { ("births", "shared") } else { ("by_id", "full") };
        assert_eq!(
            (&options["method"]["joins"], &options["method"]["first_alpha"]),
            (&rules.0.into(), &rules.1.into())
        );
        let summary = &record["summary"];
        assert!(summary["nmi_labels"].as_f64().unwrap() > 0.95, "{method}: {summary}");
        assert_eq!(place.integers(&format!("{method}/labels.npy")).len(), 3002);
    }
}

#[test]
fn the_rows_of_the_workers_add_up_and_their_traffic_is_counted() {
    let place = place();
    for (method, _, schedule) in METHODS {
        place.ok(&format!("{FIT} --method {method} --out {method}"));
        let workers = format!("{method}/workers.csv");
        assert_eq!(place.column(&workers, "worker"), ["0", "1", "2", "3"]);
        assert_eq!(place.column(&workers, "rows"), ["750", "751", "750", "751"]);
        assert_eq!(place.column(&workers, "restarts"), ["0"; 4]);
        assert!(numbers(&place, &workers, "observed_bytes").iter().all(|&bytes| bytes > 0.0));

        let trace = format!("{method}/trace.csv");
        let (bytes, messages) = (numbers(&place, &trace, "bytes"), numbers(&place, &trace, "messages"));
        assert!(bytes.len() == 8 && bytes.iter().all(|&bytes| bytes > 0.0), "{bytes:?}");
        if schedule == "sync" {
            let summary = &place.json(&format!("{method}/run.json"))["summary"];
            assert_eq!(summary["bytes"].as_f64().unwrap(), bytes.iter().sum::<f64>());
            assert_eq!(summary["messages"].as_f64().unwrap(), messages.iter().sum::<f64>());
            // a push and a reply for each worker; before the first there are a hello, a plan, and a push and a reply to join
            assert_eq!(messages, [24.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]);
            assert_eq!(place.column(&workers, "swept_rows"), ["6000", "6008", "6000", "6008"]);
            assert_eq!(numbers(&place, &workers, "bytes").iter().sum::<f64>(), bytes.iter().sum::<f64>());
        }
    }
}

#[test]
fn the_number_of_threads_and_the_engine_change_no_label() {
    let place = place();
    for (method, _, schedule) in METHODS {
        if schedule == "sync" {
            let engines =
                ["--threads 1", "--threads 2", "--engine simulated --engine-option straggler=1:9,latency=0.5"];
            for (run, engine) in ["one", "two", "simulated"].into_iter().zip(engines) {
                place.ok(&format!("{FIT} --method {method} {engine} --out {method}-{run}"));
            }
            for file in ["labels.npy", "certainty.npy"] {
                let one = place.read(&format!("{method}-one/{file}"));
                assert_eq!(one, place.read(&format!("{method}-two/{file}")), "{method}, {file}");
                assert_eq!(one, place.read(&format!("{method}-simulated/{file}")), "{method}, {file}");
            }
        }
    }
    let options = |run: &str| place.json(&format!("{run}/run.json"))["options"].clone();
    assert_eq!(options("prog-two")["engine"]["threads"], 2);
    assert_eq!(options("prog-simulated")["engine"]["name"], "simulated");
    assert!(options("prog-simulated")["engine"]["threads"].is_null());
}

#[test]
fn an_asynchronous_simulation_with_a_fixed_cost_replays() {
    let place = place();
    let fit = format!("{FIT} --method async {SIMULATED} --engine-option straggler=2:5,straggler=3:2,cores=3");
    for run in ["a", "b"] {
        place.ok(&format!("{fit} --out {run}"));
    }
    place.ok(&format!("{fit} --seed 1 --out c"));
    for file in ["labels.npy", "certainty.npy"] {
        assert_eq!(place.read(&format!("a/{file}")), place.read(&format!("b/{file}")));
    }
    for column in ["virtual_seconds", "sweep_seconds", "log_joint", "alpha", "vi", "moved", "bytes", "messages"] {
        assert_eq!(place.column("a/trace.csv", column), place.column("b/trace.csv", column), "{column}");
    }
    for column in ["swept_rows", "bytes", "seconds"] {
        assert_eq!(place.column("a/workers.csv", column), place.column("b/workers.csv", column), "{column}");
    }
    assert_ne!(place.column("a/trace.csv", "log_joint"), place.column("c/trace.csv", "log_joint"));
    let swept = numbers(&place, "a/workers.csv", "swept_rows");
    assert!(swept[0] > 2.0 * swept[2], "nobody waits for the slow worker: {swept:?}");
}

#[test]
fn a_crashed_worker_comes_back_and_no_row_is_missed() {
    let place = place();
    for (method, ..) in METHODS {
        place.ok(&format!("{FIT} --method {method} {SIMULATED} --engine-option crash=1@3 --out {method}"));
        assert_eq!(place.column(&format!("{method}/workers.csv"), "restarts"), ["0", "1", "0", "0"], "{method}");
        let summary = &place.json(&format!("{method}/run.json"))["summary"];
        assert!(summary["nmi_labels"].as_f64().unwrap() > 0.95, "{method}: {summary}");
        assert!(place.singles(&format!("{method}/certainty.npy")).iter().all(|&certainty| certainty > 0.0));
    }
}

#[test]
fn a_worker_that_sends_garbage_is_expelled_by_name_and_the_fit_goes_on() {
    let place = place();
    for (method, ..) in METHODS {
        let ended =
            place.ok(&format!("{FIT} --method {method} {SIMULATED} --engine-option garbage=1@3 --out {method}"));
        assert!(ended.stderr.contains("worker 1 is expelled: "), "{method}: {}", ended.stderr);
        assert_eq!(place.column(&format!("{method}/workers.csv"), "restarts"), ["0", "1", "0", "0"], "{method}");
        let summary = &place.json(&format!("{method}/run.json"))["summary"];
        assert!(summary["nmi_labels"].as_f64().unwrap() > 0.95, "{method}: {summary}");
    }
    let refused = format!("{FIT} --method av {SIMULATED} --engine-option garbage=1@3");
    place.refused(&refused, &["--engine-option garbage", "--method av", "hint: "]);
}

#[test]
fn everyone_waits_for_a_straggler_unless_the_schedule_is_asynchronous() {
    let place = place();
    for (run, options) in [
        ("sync", "--method prog"),
        ("sync-slow", "--method prog --engine-option straggler=1:5"),
        ("async", "--method async"),
        ("async-slow", "--method async --engine-option straggler=1:5"),
    ] {
        place.ok(&format!("{FIT} --engine simulated --engine-option row_cost=1e-4 {options} --out {run}"));
    }
    let slower = |run: &str| virtual_seconds(&place, &format!("{run}-slow")) / virtual_seconds(&place, run);
    let (sync, asynchronous) = (slower("sync"), slower("async"));
    assert!((4.5..5.5).contains(&sync), "{sync}");
    assert!(asynchronous < 2.0, "{asynchronous}");
    assert_eq!(place.read("sync/labels.npy"), place.read("sync-slow/labels.npy"));
}

#[test]
fn a_slow_network_takes_its_time_and_changes_no_label() {
    let place = place();
    place.ok(&format!("{FIT} --method prog {SIMULATED} --out usual"));
    place.ok(&format!("{FIT} --method prog {SIMULATED} --engine-option latency=0.25 --out far"));
    place.ok(&format!("{FIT} --method prog {SIMULATED} --engine-option bandwidth=1e4 --out narrow"));
    // eight cycles there and back, after joining, which is as much twice
    assert!(virtual_seconds(&place, "far") > virtual_seconds(&place, "usual") + 8.0 * 0.5);
    let bytes: f64 = numbers(&place, "narrow/trace.csv", "bytes").iter().sum();
    assert!(virtual_seconds(&place, "narrow") > 0.3 * bytes / 1e4);
    for run in ["far", "narrow"] {
        assert_eq!(place.read("usual/labels.npy"), place.read(&format!("{run}/labels.npy")), "{run}");
    }
}

#[test]
fn consolidation_and_schedule_can_be_chosen_by_themselves() {
    let place = place();
    place.ok(&format!(
        "{FIT} --method async --method-option consolidation=hungarian,schedule=sync,sweeps_per_cycle=3 --out run"
    ));
    let options = &place.json("run/run.json")["options"];
    assert_eq!(
        (&options["method"]["name"], &options["method"]["consolidation"]),
        (&"async".into(), &"hungarian".into())
    );
    assert_eq!((&options["method"]["schedule"], &options["method"]["sweeps_per_cycle"]), (&"sync".into(), &3.into()));
    assert_eq!(numbers(&place, "run/workers.csv", "swept_rows").iter().sum::<f64>(), 3.0 * 8.0 * 3002.0);
    let rules = "--method-option joins=by_id,first_alpha=full";
    place.ok(&format!("{FIT} --method hung {rules} --method-option sweeps_per_cycle=3 --out same"));
    assert_eq!(place.read("run/labels.npy"), place.read("same/labels.npy"));
}

#[test]
fn the_rules_of_the_authors_program_can_be_chosen_by_themselves() {
    let place = Place::new();
    // overlapping clusters of few rows: workers often join a component that is new to them
    place.ok("synth synthetic --rows 302 --clusters 10 --centre-sd 4 --seed 5 --out made");
    let fit = FIT.replace("sigma0=40", "sigma0=4");
    place.ok(&format!("{fit} --method hung --out hung"));
    let rules = "--method-option joins=births,first_alpha=shared";
    place.ok(&format!("{fit} --method prog --method-option consolidation=hungarian {rules} --out same"));
    assert_eq!(place.read("hung/labels.npy"), place.read("same/labels.npy"));
    assert_eq!(place.column("hung/trace.csv", "births"), place.column("same/trace.csv", "births"));
    for rule in ["--method-option joins=by_id", "--method-option first_alpha=full"] {
        place.ok(&format!("{fit} --method hung {rule} --out other --force"));
        assert_ne!(place.column("hung/trace.csv", "births"), place.column("other/trace.csv", "births"), "{rule}");
    }
}

#[test]
fn the_default_number_of_workers_depends_on_the_rows_and_one_worker_is_enough() {
    let place = place();
    place.ok("fit made/data.npy --prior sigma=1,sigma0=40 --cycles 4 --method prog --out few");
    assert_eq!(place.json("few/run.json")["options"]["engine"]["workers"], 1);
    assert_eq!(place.column("few/workers.csv", "rows"), ["3002"]);
    place.ok("synth synthetic --rows 15000 --clusters 10 --centre-sd 40 --out more");
    place.ok("fit more/data.npy --prior sigma=1,sigma0=40 --cycles 2 --method prog --out many");
    assert_eq!(place.column("many/workers.csv", "rows"), ["7500"; 2]);
    place.ok("fit made/data.npy --cycles 2 --method cgs --workers 1 --threads 1 --out alone");
    assert!(!place.path("alone/workers.csv").exists());
}

#[test]
fn a_run_may_start_from_labels() {
    let place = place();
    for (method, workers) in [("cgs", 1), ("prog", 4)] {
        let fit =
            "fit made/data.npy --truth made/labels.npy --start made/labels.npy --prior sigma=1,sigma0=40 --cycles 1";
        place.ok(&format!("{fit} --method {method} --workers {workers} --out {method}"));
        let moved = numbers(&place, &format!("{method}/trace.csv"), "moved")[0];
        assert!(moved < 300.0, "{method}: {moved} of 3002 rows left the cluster they came from");
    }
    place.write("short.txt", "0\n1\n");
    place.refused("fit made/data.npy --start short.txt", &["short.txt", "2 labels", "3002 rows", "hint: ", "--start"]);
}

#[test]
fn every_method_may_start_from_cells_or_from_rows() {
    let place = place();
    let k = |out: &str| numbers(&place, &format!("{out}/trace.csv"), "k")[0];
    let fit = "fit made/data.npy --prior sigma=1,sigma0=40 --cycles 1";
    for method in ["dirigent", "prog", "async", "cgs", "slicemr", "subc", "av"] {
        for start in ["fine", "rows"] {
            place.ok(&format!("{fit} --method {method} --start {start} --out {method}-{start}"));
        }
        place.ok(&format!("{fit} --method {method} --out {method}"));
        let usual = if method == "dirigent" { "fine" } else { "rows" };
        let same = format!("{method}-{usual}");
        if method != "async" {
            assert_eq!(k(method), k(&same), "{method}");
        }
        let fine = k(&format!("{method}-fine"));
        assert!((9.0..=30.0).contains(&fine), "{method}: {fine} components of 10 clusters");
    }
}

#[test]
fn draws_of_a_distributed_run_are_states_of_all_rows() {
    let place = place();
    place.ok(&format!("{FIT} --method prog --draws 3 --thin 2 --out run"));
    assert_eq!(place.shape("run/draws.npy"), "(3,3002,)");
    let last = place.integers("run/draws.npy")[2 * 3002..].iter().max().unwrap() + 1;
    assert_eq!(place.json("run/run.json")["summary"]["k"], last, "the last draw is the last state");
}

#[test]
fn documents_are_fitted_by_many_workers() {
    let place = Place::new();
    place.ok("synth nyt --rows 400 --clusters 3 --centre-sd 3 --out made");
    for method in ["prog", "pooled", "hung", "async"] {
        let fit = "fit made/docword.txt.gz --truth made/labels.npy --prior gamma=0.1 --cycles 8 --workers 3";
        place.ok(&format!("{fit} --method {method} --out {method}"));
        let summary = &place.json(&format!("{method}/run.json"))["summary"];
        assert!(summary["vi_labels"].as_f64().unwrap() < 0.1, "{method}: {summary}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_the_way_out() {
    let place = Place::new();
    place.write("three.csv", "a,b\n1,2\n3,4\n5,6\n");
    let cases: &[(&str, &[&str])] = &[
        ("--method cgs --workers 2", &["--workers", "cgs", "hint: ", "--method"]),
        ("--method cgs --threads 2", &["--threads", "cgs", "hint: ", "--method"]),
        (
            "--method cgs --method-option consolidation=pooled",
            &["--method-option consolidation", "cgs", "hint: ", "--method"],
        ),
        ("--method cgs --method-option schedule=sync", &["--method-option schedule", "cgs", "hint: ", "--method"]),
        (
            "--method cgs --method-option sweeps_per_cycle=1",
            &["--method-option sweeps_per_cycle", "cgs", "hint: ", "--method"],
        ),
        ("--method cgs --engine simulated", &["--engine", "cgs", "hint: ", "--method"]),
        ("--method cgs --method-option joins=births", &["--method-option joins", "cgs", "hint: ", "--method"]),
        (
            "--method cgs --method-option first_alpha=shared",
            &["--method-option first_alpha", "cgs", "hint: ", "--method"],
        ),
        ("--method prog --method-option joins=never", &["--method-option joins", "never", "by_id", "births"]),
        ("--method prog --method-option first_alpha=half", &["--method-option first_alpha", "half", "full", "shared"]),
        ("--method cgs --method-option splits=on", &["--method-option splits", "cgs", "hint: ", "--method"]),
        (
            "--method cgs --draws 2 --method-option draws_from=exact",
            &["--method-option draws_from", "cgs", "hint: ", "--method"],
        ),
        ("--method-option draws_from=exact", &["--method-option draws_from", "requires --draws"]),
        ("--draws 2 --method-option draws_from=slow", &["--method-option draws_from", "slow", "exact", "fast"]),
        ("--method-option splits=maybe", &["--method-option splits", "maybe", "on", "off"]),
        ("--method prog --engine-option latency=1", &["--engine-option latency", "hint: ", "--engine simulated"]),
        ("--method prog --engine-option bandwidth=1", &["--engine-option bandwidth", "hint: ", "--engine simulated"]),
        ("--method prog --engine-option straggler=0:2", &["--engine-option straggler", "hint: ", "--engine simulated"]),
        ("--method prog --engine-option crash=0@1", &["--engine-option crash", "hint: ", "--engine simulated"]),
        ("--method prog --engine-option garbage=0@1", &["--engine-option garbage", "hint: ", "--engine simulated"]),
        ("--method prog --engine-option cores=1", &["--engine-option cores", "hint: ", "--engine simulated"]),
        (
            "--method prog --engine threads --engine-option row_cost=1",
            &["--engine-option row_cost", "hint: ", "--engine simulated"],
        ),
        (
            "--method prog --engine simulated --threads 2",
            &["--threads", "simulated", "hint: ", "--engine-option cores"],
        ),
        ("--method prog --workers 4", &["--workers 4", "3", "hint: "]),
        ("--method prog --workers 4000000000", &["--workers 4000000000", "3", "hint: "]),
        ("--method prog --threads 0", &["--threads", "0"]),
        ("--method prog --method-option sweeps_per_cycle=0", &["--method-option sweeps_per_cycle", "0"]),
        ("--method slow", &["--method", "slow", "cgs", "prog", "pooled", "hung", "async"]),
        (
            "--method prog --method-option consolidation=none",
            &["--method-option consolidation", "progressive", "pooled", "hungarian"],
        ),
        ("--method prog --method-option schedule=later", &["--method-option schedule", "later", "sync", "async"]),
        ("--method prog --engine ray", &["--engine ray", "Python package", "pip install \".[ray]\""]),
        ("--engine mpi", &["--engine mpi", "Python package", "pip install \".[mpi]\""]),
        ("--engine mpi --threads 2", &["--threads", "the engine is mpi", "hint: "]),
        ("--engine mpi --engine-option address=here", &["--engine-option address", "hint: ", "--engine ray"]),
        ("--engine-option rejoin_timeout=5", &["--engine-option rejoin_timeout", "hint: ", "--engine ray"]),
        (
            "--method cgs --engine-option checkpoint_dir=there",
            &["--engine-option checkpoint_dir", "the engine is threads", "hint: ", "--engine ray"],
        ),
        ("--engine ray --engine-option rejoin_timeout=-1", &["--engine-option rejoin_timeout", "seconds"]),
        ("--engine ray --engine-option latency=1", &["--engine-option latency", "hint: ", "--engine simulated"]),
    ];
    for (options, parts) in cases {
        place.refused(&format!("fit three.csv {options}"), parts);
    }
    let simulations: &[(&str, &[&str])] = &[
        ("--engine-option straggler=9:2", &["straggler", "worker 9", "0 to 2"]),
        ("--engine-option straggler=1:0", &["straggler", "positive", "0"]),
        ("--engine-option straggler=1:inf", &["--engine-option straggler", "WORKER:FACTOR", "inf"]),
        ("--engine-option straggler=1", &["--engine-option straggler", "WORKER:FACTOR", "3:5"]),
        ("--engine-option straggler=slow:2", &["--engine-option straggler", "WORKER:FACTOR", "3:5"]),
        ("--engine-option crash=3@1", &["crash", "worker 3", "0 to 2"]),
        ("--engine-option garbage=3@1", &["--engine-option garbage", "worker 3", "0 to 2"]),
        ("--engine-option crash=1", &["--engine-option crash", "WORKER@CYCLE", "7@10"]),
        ("--engine-option crash=one@two", &["--engine-option crash", "WORKER@CYCLE", "7@10"]),
        ("--engine-option latency=-1", &["latency", "seconds", "-1"]),
        ("--engine-option latency=nan", &["latency", "seconds", "nan"]),
        ("--engine-option latency=far", &["--engine-option latency", "far"]),
        ("--engine-option bandwidth=0", &["bandwidth", "positive", "0"]),
        ("--engine-option bandwidth=-5", &["bandwidth", "1Gbit/s", "-5"]),
        ("--engine-option cores=0", &["--engine-option cores", "0"]),
        ("--engine-option row_cost=-1", &["row_cost", "seconds", "-1"]),
    ];
    for (options, parts) in simulations {
        place.refused(&format!("fit three.csv --method prog --workers 3 --engine simulated {options}"), parts);
    }
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
}

#[test]
fn the_slice_sampler_fits_on_many_workers_and_no_engine_changes_a_label() {
    let place = place();
    place.ok(&format!("{FIT} --method prog --out prog"));
    let fit = format!("{FIT} --method slicemr --start prog/labels.npy --draws 3");
    for (run, engine) in [("one", "--threads 1"), ("two", "--threads 2"), ("simulated", SIMULATED)] {
        place.ok(&format!("{fit} {engine} --out {run}"));
        for file in ["labels.npy", "certainty.npy", "draws.npy"] {
            assert_eq!(place.read(&format!("one/{file}")), place.read(&format!("{run}/{file}")), "{run}, {file}");
        }
    }
    let record = place.json("one/run.json");
    assert_eq!(
        (&record["options"]["method"]["name"], &record["options"]["engine"]["name"]),
        (&"slicemr".into(), &"threads".into())
    );
    assert!(record["summary"]["nmi_labels"].as_f64().unwrap() > 0.95, "{}", record["summary"]);
    place.ok(&format!("{FIT} --method slicemr {SIMULATED} --engine-option crash=1@3 --out crashed"));
    assert_eq!(place.column("crashed/workers.csv", "restarts"), ["0", "1", "0", "0"]);
    for option in [
        "--method-option consolidation=pooled",
        "--method-option schedule=async",
        "--method-option splits=off",
        "--method-option joins=births",
        "--method-option first_alpha=full",
        "--method-option sweeps_per_cycle=2",
    ] {
        place.refused(&format!("{FIT} --method slicemr {option}"), &["slicemr", "hint: "]);
    }
}

#[test]
fn splits_can_be_switched_on_and_off() {
    let place = place();
    place.ok(&format!("{FIT} --method-option splits=off --out off"));
    place.ok(&format!("{FIT} --method prog --out prog"));
    assert_eq!(place.read("off/labels.npy"), place.read("prog/labels.npy"));
    assert_eq!(place.json("off/run.json")["options"]["method"]["splits"], false);
    assert_eq!(numbers(&place, "off/trace.csv", "splits").iter().sum::<f64>(), 0.0);
    place.ok(&format!("{FIT} --method prog --method-option splits=on --out on"));
    place.ok(&format!("{FIT} --out default"));
    assert_eq!(place.read("on/labels.npy"), place.read("default/labels.npy"));
    assert_eq!(place.json("on/run.json")["options"]["method"]["splits"], true);
}

#[test]
fn the_draws_of_the_default_method_are_exact_unless_fast_ones_are_asked_for() {
    let place = place();
    let fit = FIT.replace("--cycles 8 ", "");
    place.ok(&format!("{fit} --out none"));
    assert_eq!(place.json("none/run.json")["options"]["method"]["draws_from"], serde_json::Value::Null);
    let settled = place.json("none/run.json")["summary"]["cycles"].as_u64().unwrap();
    for (run, options, draws_from, cycles_after) in
        [("exact", "", "exact", Some(105)), ("fast", "--method-option draws_from=fast", "fast", None)]
    {
        place.ok(&format!("{fit} --draws 5 {options} --out {run}"));
        let record = place.json(&format!("{run}/run.json"));
        assert_eq!(record["options"]["method"]["draws_from"], draws_from);
        assert_eq!(record["summary"]["stopped_because"], "stationary");
        assert_eq!((&record["summary"]["n_draws"], &record["posterior"]["n_draws"]), (&5.into(), &5.into()));
        assert_eq!(place.shape(&format!("{run}/draws.npy")), "(5,3002,)");
        let last = place.integers(&format!("{run}/draws.npy"))[4 * 3002..].iter().max().unwrap() + 1;
        assert_eq!(record["summary"]["k"], last, "the last draw is the last state");
        let cycles = record["summary"]["cycles"].as_u64().unwrap();
        assert_eq!(place.column(&format!("{run}/trace.csv"), "cycle").len() as u64, cycles);
        if let Some(cycles_after) = cycles_after {
            assert_eq!(cycles, settled + cycles_after, "the slice sampler takes over where the method has settled");
        }
    }
    place.ok(&format!("{fit} --method prog --draws 2 --out prog"));
    assert_eq!(place.json("prog/run.json")["options"]["method"]["draws_from"], "fast");
    place.ok("fit made/data.npy --prior sigma=1,sigma0=40 --method cgs --cycles 4 --draws 2 --out cgs");
    assert_eq!(place.json("cgs/run.json")["options"]["method"]["draws_from"], serde_json::Value::Null);
}
