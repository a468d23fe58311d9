use std::collections::HashSet;

use crate::place::Place;

/// Two clusters along a slanted line of the first two columns; the second counts in thousands, the third is noise, the fourth constant.
fn slanted() -> String {
    let row = |ix: i32| {
        let (side, noise) = (if ix % 2 == 0 { 1.0 } else { -1.0 }, f64::from((7 * ix) % 11) / 10.0 - 0.5);
        format!("{},{},{},5\n", 40.0 + 3.0 * side + 0.2 * noise, 1000.0 * (3.0 * side + 0.3 * noise), noise)
    };
    format!("a,b,c,d\n{}", (0..80).map(row).collect::<String>())
}

#[test]
fn standardised_rows_are_predicted_as_they_were_fitted() {
    let place = Place::new();
    place.write("t.csv", slanted());
    let ended = place.ok("fit t.csv --columns a,b,c,d --standardize --cycles 10 --out run");
    assert!(ended.stderr.contains("standardized"), "{}", ended.stderr);
    let model = place.json("run/model.json");
    assert_eq!((&model["format"], model["columns"]["names"][1].as_str()), (&2.into(), Some("b")));
    assert!((model["transform"]["scale"][1].as_f64().unwrap() - 3000.0).abs() < 200.0);
    assert_eq!(
        (&model["transform"]["scale"][3], &model["transform"]["rotation"]),
        (&1.0.into(), &serde_json::Value::Null)
    );
    let record = place.json("run/run.json");
    assert_eq!((&record["data"]["transform"]["standardize"], &record["data"]["n_columns"]), (&true.into(), &4.into()));
    place.ok("predict run t.csv --out p.csv");
    place.check_predicted("p.csv", "run");
    // unscaled, the second column would be all that counts
    let labels = place.column("p.csv", "label");
    let [even, odd] = [0, 1].map(|first| labels.iter().skip(first).step_by(2).collect::<HashSet<_>>());
    assert!(even.is_disjoint(&odd), "no cluster holds rows of both sides: {labels:?}");
}

#[test]
fn principal_components_are_fitted_predicted_and_told() {
    let place = Place::new();
    place.write("t.csv", slanted());
    let ended = place.ok("fit t.csv --columns a,b,c,d --pca 1 --standardize --cycles 10 --out run");
    let record = place.json("run/run.json");
    let kept = record["data"]["transform"]["variance_kept"].as_f64().unwrap();
    // two columns that rise together, one that does not, one that is constant
    assert!((0.66..0.68).contains(&kept), "{kept}");
    assert!(
        ended.stderr.contains(&format!("pca: 1 of 4 components, with {:.1} % of the variance", 100.0 * kept)),
        "{}",
        ended.stderr
    );
    assert!(place.ok("info run").stdout.contains("variance kept"));
    let model = place.json("run/model.json");
    assert_eq!(model["model"]["offset"].as_array().unwrap().len(), 1);
    assert_eq!(model["transform"]["rotation"][0].as_array().unwrap().len(), 4);
    place.ok("predict run t.csv --out p.csv");
    place.check_predicted("p.csv", "run");
    // columns are those of the file, found by name
    place.write("other.csv", "d,c,b,a\n5,0,3000,43\n5,0,-3000,37\n");
    place.ok("predict run other.csv --out q.csv");
    let labels = place.column("q.csv", "label");
    assert_ne!(labels[0], labels[1]);
    place.write("short.csv", "a,b\n1,2\n");
    place.refused("predict run short.csv", &["short.csv", "lacks 2 columns", "hint: "]);
    // the same rows in single precision, and with many workers
    place.ok("synth imagenet --rows 600 --clusters 4 --out made");
    place.ok("fit made/data.npy --pca 5 --workers 3 --cycles 4 --out wide");
    place.ok("predict wide made/data.npy --out p.npy");
    assert_eq!(place.read("p.npy"), place.read("wide/labels.npy"));
}

#[test]
fn a_transform_that_makes_no_sense_is_refused() {
    let place = Place::new();
    place.write("t.csv", slanted());
    place.write("gap.csv", "a,b\n1,2\n3,\n2,4\n");
    place.write("docword.txt", "1\n3\n1\n1 1 1\n");
    place.write("text.csv", "a,b\n1,x\n3,y\n");
    place.refused("fit t.csv --pca 5", &["--pca 5", "3 columns", "hint: "]);
    place.refused("fit t.csv --pca 0", &["--pca", "0"]);
    place.refused("fit t.csv --pca -1", &["--pca", "-1"]);
    place.refused("fit t.csv --family multinomial --pca 2", &["--pca", "--family multinomial", "hint: "]);
    place.refused("fit docword.txt --standardize", &["--standardize", "sparse counts", "hint: "]);
    place.refused("fit gap.csv --pca 1", &["gap.csv", "row 2", "column b", "missing", "hint: "]);
    place.refused("fit text.csv --standardize", &["text.csv", "column b", "text", "hint: "]);
    assert!(!place.path("runs").exists());
}
