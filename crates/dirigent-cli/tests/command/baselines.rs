//! Fits by the baselines of the paper's comparison, AV and SubC.

use crate::place::Place;

const FIT: &str = "fit made/data.npy --truth made/labels.npy --prior sigma=1,sigma0=40 --cycles 12 --workers 4";
const SIMULATED: &str = "--engine simulated --engine-option row_cost=1e-6";

/// 3002 rows of ten clusters far apart, which four workers cannot share evenly.
fn place() -> Place {
    let place = Place::new();
    place.ok("synth synthetic --rows 3002 --clusters 10 --centre-sd 40 --seed 5 --out made");
    place
}

#[test]
fn baselines_fit_on_many_workers_and_no_engine_changes_a_label() {
    let place = place();
    place.ok(&format!("{FIT} --method prog --out prog"));
    for method in ["av", "av --method-option av_merges=on", "subc"] {
        let name = method.replace(' ', "");
        let fit = format!("{FIT} --method {method} --start prog/labels.npy --draws 3");
        for (run, engine) in [("one", "--threads 1"), ("two", "--threads 2"), ("simulated", SIMULATED)] {
            place.ok(&format!("{fit} {engine} --out {name}-{run}"));
            for file in ["labels.npy", "certainty.npy", "draws.npy"] {
                let [one, other] = ["one", run].map(|run| place.read(&format!("{name}-{run}/{file}")));
                assert_eq!(one, other, "{method}, {run}, {file}");
            }
        }
        let record = place.json(&format!("{name}-one/run.json"));
        assert_eq!(record["options"]["method"]["name"], method.split(' ').next().unwrap());
        assert_eq!(record["options"]["method"]["av_merges"].as_bool(), (method != "subc").then_some(method != "av"));
        assert!(record["summary"]["nmi_labels"].as_f64().unwrap() > 0.95, "{method}: {}", record["summary"]);
        for column in ["bytes", "messages", "vi"] {
            let cells = place.column(&format!("{name}-one/trace.csv"), column);
            assert!(cells.iter().all(|cell| cell.parse::<f64>().is_ok_and(|cell| cell >= 0.0)), "{method}, {column}");
        }
        place.ok(&format!("predict {name}-one made/data.npy --out {name}.npy"));
        let [fitted, predicted] = ["-one/labels", ""].map(|file| place.read(&format!("{name}{file}.npy")));
        assert_eq!(fitted, predicted, "{method}: the model is what labels were read from");
    }
}

#[test]
fn from_nothing_subc_splits_its_way_to_the_clusters_and_av_opens_them() {
    let place = place();
    for method in ["av", "subc"] {
        place.ok(&format!("{FIT} --cycles 60 --method {method} --out {method}").replace("--cycles 12 ", ""));
        let summary = &place.json(&format!("{method}/run.json"))["summary"];
        assert!(summary["nmi_labels"].as_f64().unwrap() > 0.9, "{method}: {summary}");
    }
    let splits: f64 = place.column("subc/trace.csv", "splits").iter().map(|cell| cell.parse::<f64>().unwrap()).sum();
    assert!(splits >= 7.0, "{splits} splits to ten clusters, two of which may be one");
}

#[test]
fn what_a_baseline_does_not_know_is_refused() {
    let place = place();
    for method in ["av", "subc"] {
        for option in [
            "--method-option consolidation=pooled",
            "--method-option schedule=async",
            "--method-option splits=off",
            "--method-option joins=by_id",
            "--method-option first_alpha=shared",
            "--method-option sweeps_per_cycle=2",
            "--draws 2 --method-option draws_from=fast",
        ] {
            place.refused(&format!("{FIT} --method {method} {option}"), &[method, "hint: "]);
        }
    }
    place.refused(
        &format!("{FIT} --method av {SIMULATED} --engine-option crash=1@3"),
        &["--engine-option crash", "--method av", "hint: "],
    );
    place.refused(
        &format!("{FIT} --method subc --method-option av_merges=on"),
        &["--method-option av_merges", "--method av"],
    );
    place.refused(
        "fit made/data.npy --method cgs --method-option av_merges=off",
        &["--method-option av_merges", "--method av"],
    );
    let place_to_go = ["--method-option split_merge", "--method slicemr"];
    for others in ["--method subc", "--method prog --draws 2", "--draws 2 --method-option draws_from=fast", ""] {
        place.refused(&format!("{FIT} {others} --method-option split_merge=1"), &place_to_go);
    }
    place.refused("fit made/data.npy --method cgs --draws 2 --method-option split_merge=0", &place_to_go);
    place.ok(&format!("{FIT} --method subc {SIMULATED} --engine-option crash=1@3 --out crashed"));
    assert_eq!(place.column("crashed/workers.csv", "restarts"), ["0", "1", "0", "0"]);
}
