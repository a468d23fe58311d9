use crate::place::Place;
use serde_json::Value;

/// Overlapping clusters, so that the draws differ.
fn overlapping() -> Place {
    let place = Place::new();
    place.ok("synth synthetic --rows 300 --clusters 4 --centre-sd 2 --out made --seed 1");
    place
}

const FIT: &str = "fit made/data.npy --prior sigma=1,sigma0=3 --alpha 1 --cycles 40";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn log_joints(place: &Place, run: &str) -> Vec<f64> {
    let column = place.column(&format!("{run}/trace.csv"), "log_joint");
    column.iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn the_record_tells_the_posterior_of_k_and_the_command_the_same() {
    let place = overlapping();
    let ended = place.ok(&format!("{FIT} --draws 20 --thin 1 --out run"));
    let draws = place.integers("run/draws.npy");
    let k: Vec<i32> = draws.chunks(300).map(|draw| draw.iter().max().unwrap() + 1).collect();
    let posterior = place.json("run/run.json")["posterior"].clone();
    let mean = k.iter().sum::<i32>() as f64 / 20.0;
    assert!((posterior["k"]["mean"].as_f64().unwrap() - mean).abs() < 1e-9, "{posterior}");
    let shares = posterior["k"]["shares"].as_object().unwrap();
    for (value, share) in shares {
        let count = k.iter().filter(|k| k.to_string() == *value).count();
        assert!((share.as_f64().unwrap() - count as f64 / 20.0).abs() < 1e-12);
    }
    let interval = &posterior["k"]["interval_90"];
    let range = match (&interval[0], &interval[1]) {
        (low, high) if low == high => low.to_string(),
        (low, high) => format!("{low} to {high}"),
    };
    assert!(ended.stdout.contains(&format!("\ncomponents  {range} in 90 % of 20 draws\n")), "{}", ended.stdout);
    assert!(posterior["expected_vi_labels"].as_f64().unwrap() > 0.0);

    let told = json(&place.ok("draws run --json").stdout);
    assert_eq!((&told["k"], &told["n_draws"], &told["n_rows"]), (&posterior["k"], &20.into(), &300.into()));
    let text = place.ok("draws run").stdout;
    assert!(text.contains("20 of 300 rows") && text.contains("K           share") && !text.contains("pair"), "{text}");
}

#[test]
fn pairs_are_together_as_often_as_in_the_draws() {
    let place = overlapping();
    place.ok(&format!("{FIT} --draws 10 --thin 1 --quiet --out run"));
    place.write("pairs.csv", "a,b\n3,4\n299,0\n");
    let told = json(&place.ok("draws run --pair 0,1 --pair 7,7 --pairs pairs.csv --json").stdout);
    let draws = place.integers("run/draws.npy");
    let expected = [(0, 1), (7, 7), (3, 4), (299, 0)].map(|(a, b)| {
        let together = draws.chunks(300).filter(|draw| draw[a] == draw[b]).count() as f64 / 10.0;
        serde_json::json!({"a": a, "b": b, "together": together})
    });
    assert_eq!(told["pairs"], Value::from(expected.to_vec()));
    let text = place.ok("draws run --pair 7,7").stdout;
    assert!(text.ends_with("pair        together\n7,7         1.0000\n"), "{text}");
}

#[test]
fn draws_that_are_not_there_are_explained() {
    let place = Place::with_two_clusters();
    place.ok("fit two.csv --exclude class --cycles 3 --out run");
    place.refused("draws run", &["run", "draws.npy", "hint: ", "--draws"]);
    place.refused("draws nowhere", &["nowhere", "run.json", "hint: "]);
    place.write("run/draws.npy.partial", "");
    place.refused("draws run", &["run", "not whole yet"]);
    place.write("run/draws.npy", "not an array");
    place.refused("draws run", &["run/draws.npy", "NUMPY"]);
    place.ok("fit two.csv --exclude class --cycles 3 --draws 2 --out kept");
    place.refused("draws kept --pair 0,60", &["0,60", "59", "hint: "]);
    place.refused("draws kept --pair 0", &["--pair", "0,17"]);
    place.refused("draws kept --pair 0,-1", &["--pair"]);
    place.write("pairs.csv", "0,1\n1,60\n");
    place.refused("draws kept --pairs pairs.csv", &["pairs.csv", "line 2", "60", "hint: "]);
    place.refused("draws kept --pairs missing.csv", &["missing.csv"]);
}

#[test]
fn the_last_state_is_the_last_draw() {
    let place = overlapping();
    place.ok(&format!("{FIT} --draws 3 --point last --out run"));
    assert_eq!(place.integers("run/labels.npy"), place.integers("run/draws.npy")[2 * 300..]);
    let record = place.json("run/run.json");
    assert_eq!(
        (&record["options"]["run"]["point"], &record["summary"]["k"]),
        (&"last".into(), &record["summary"]["n_clusters"])
    );
    assert!(place.singles("run/certainty.npy").iter().all(|certainty| (0.0..=1.0).contains(certainty)));
    place.ok(&format!("{FIT} --out argmax"));
    assert_eq!(place.json("argmax/run.json")["options"]["run"]["point"], "argmax");
    assert_eq!(place.json("argmax/run.json")["posterior"], Value::Null);
}

#[test]
fn without_draws_the_certainty_of_the_last_state_is_that_of_the_model() {
    let place = overlapping();
    for method in ["--method cgs", "--method prog --workers 3"] {
        place.ok(&format!("{FIT} {method} --point last --out last --force"));
        place.ok(&format!("{FIT} {method} --clusters components --out argmax --force"));
        let (last, argmax) = (place.integers("last/labels.npy"), place.integers("argmax/labels.npy"));
        let (of_last, of_argmax) = (place.singles("last/certainty.npy"), place.singles("argmax/certainty.npy"));
        assert_ne!(last, argmax);
        for row in 0..300 {
            let (of_last, of_argmax) = (of_last[row], of_argmax[row]);
            // where the state is the most probable component, the two say the same; elsewhere the state is the less probable
            if last[row] == argmax[row] {
                assert!((of_last - of_argmax).abs() < 1e-4, "{method}, row {row}: {of_last}, {of_argmax}");
            } else {
                assert!(of_last <= of_argmax + 1e-4, "{method}, row {row}: {of_last}, {of_argmax}");
            }
        }
    }
}

#[test]
fn the_best_state_has_the_highest_log_joint_of_all_cycles() {
    let place = overlapping();
    for method in ["--workers 3", "--method cgs", "--method prog --workers 3"] {
        place.ok(&format!("{FIT} {method} --point best --out best --force"));
        let highest = log_joints(&place, "best").into_iter().fold(f64::NEG_INFINITY, f64::max);
        // the same labels as a truth: their log-joint is written to the summary
        place.ok(&format!("{FIT} --truth best/labels.npy --out measured --force"));
        let found = place.json("measured/run.json")["summary"]["log_joint_truth"].as_f64().unwrap();
        assert!((found - highest).abs() < 1e-6, "{method}: {found}, expected {highest}");
    }
}

#[test]
fn the_best_draw_has_the_highest_log_joint_of_the_draws() {
    let place = overlapping();
    for method in ["--method cgs", "--method prog --workers 3"] {
        place.ok(&format!("{FIT} {method} --draws 5 --thin 2 --point best --out run --force"));
        let kept: Vec<f64> = log_joints(&place, "run").into_iter().skip(30 + 1).step_by(2).collect();
        let best = (0..5).max_by(|&a, &b| kept[a].total_cmp(&kept[b])).unwrap();
        assert_eq!(place.integers("run/labels.npy"), place.integers("run/draws.npy")[best * 300..][..300], "{method}");
    }
}

#[test]
fn the_vi_point_needs_draws_and_is_closer_to_them_than_any_draw() {
    let place = overlapping();
    place.refused(&format!("{FIT} --point vi"), &["--point vi", "draws", "hint: ", "--draws"]);
    place.refused(&format!("{FIT} --point median"), &["--point", "median", "argmax"]);
    assert!(!place.path("runs").exists(), "what is refused leaves no run folder");
    let expected_vi = |point: &str| {
        place.ok(&format!("{FIT} --draws 20 --thin 1 --point {point} --out {point}"));
        place.json(&format!("{point}/run.json"))["posterior"]["expected_vi_labels"].as_f64().unwrap()
    };
    let vi = expected_vi("vi");
    for other in ["argmax", "last", "best"] {
        assert!(vi <= expected_vi(other) + 1e-12, "{vi} against {other}");
    }
    assert_eq!(place.read("vi/draws.npy"), place.read("argmax/draws.npy"), "the point does not touch the chain");
    let labels = place.integers("vi/labels.npy");
    let sizes: Vec<usize> =
        (0..=*labels.iter().max().unwrap()).map(|k| labels.iter().filter(|&&label| label == k).count()).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes.last() > Some(&0), "{sizes:?}");
    assert_eq!(place.json("vi/run.json")["summary"]["n_clusters"], sizes.len());
}
