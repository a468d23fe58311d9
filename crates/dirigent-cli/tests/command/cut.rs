use crate::place::Place;
use serde_json::{Value, json};

/// Overlapping clusters, so that there is something to merge.
fn fitted(options: &str) -> Place {
    let place = Place::new();
    place.ok("synth synthetic --rows 2000 --clusters 12 --centre-sd 4 --out made --seed 1");
    place.ok(&format!(
        "fit made/data.npy --prior sigma=1,sigma0=4 --alpha 1 --cycles 20 --no-report --out run {options}"
    ));
    place
}

fn json_of(place: &Place, arguments: &str) -> Value {
    serde_json::from_str(&place.ok(arguments).stdout).unwrap()
}

#[test]
fn components_are_the_labels_of_the_fit_and_one_cluster_has_all_rows() {
    let place = fitted("--clusters components");
    assert!(!place.path("run/component_labels.npy").exists());
    place.ok("cut run --clusters components --out components.npy");
    assert_eq!(place.integers("components.npy"), place.integers("run/labels.npy"));
    place.ok("cut run --clusters 1 --out one.csv");
    let one = place.column("one.csv", "label");
    assert!(one.len() == 2000 && one.iter().all(|label| label == "0"));
    let table = place.ok("cut run --clusters 1");
    assert_eq!(table.stdout, place.text("one.csv"));
    assert!(table.stderr.starts_with("1 cluster of "), "{}", table.stderr);
}

#[test]
fn a_cut_has_as_many_clusters_as_asked_for_and_new_rows_get_the_same() {
    let place = fitted("--clusters components");
    let cut = json_of(&place, "cut run --clusters 3 --json --out three.npy");
    assert_eq!((&cut["n_clusters"], cut["sizes"].as_array().unwrap().len()), (&json!(3), 3));
    let tree = place.json("run/tree.json");
    assert_eq!(cut["n_components"], tree["n_components"]);
    // the rows of the fit are predicted to be where they are
    place.ok("predict run made/data.npy --clusters 3 --out predicted.npy");
    assert_eq!(place.integers("predicted.npy"), place.integers("three.npy"));
    place.ok("predict run made/data.npy --clusters 3 --proba --out predicted.csv");
    let header = place.text("predicted.csv");
    assert_eq!(header.lines().next(), Some("row,label,certainty,p_new,p_0,p_1,p_2"));
    // the certainty of a cluster is at least that of the component
    let numbers = |name: &str, column: &str| -> Vec<f64> {
        place.column(name, column).iter().map(|cell| cell.parse().unwrap()).collect()
    };
    let (of_clusters, of_components) = (numbers("predicted.csv", "certainty"), numbers("run/labels.csv", "certainty"));
    let of_new = numbers("predicted.csv", "p_new");
    let known = of_components.iter().zip(of_new).map(|(component, p_new)| component * (1.0 - p_new));
    assert!(of_clusters.iter().zip(known).all(|(cluster, component)| *cluster >= component - 1e-6));
}

#[test]
fn the_layer_is_the_one_in_the_file() {
    let place = fitted("");
    let cut = json_of(&place, "cut run --json");
    let tree = place.json("run/tree.json");
    assert_eq!((&cut["clusters"], &cut["n_clusters"]), (&tree["layer"], &tree["n_clusters_of_layer"]));
    assert_eq!(tree.get("support"), None);
}

#[test]
fn a_fit_is_labelled_with_the_clusters_that_were_asked_for() {
    for (options, clusters) in [("", "auto"), ("--clusters auto", "auto"), ("--clusters 4", "4")] {
        let place = fitted(options);
        place.ok(&format!("cut run --clusters {clusters} --out cut.npy"));
        assert_eq!(place.integers("cut.npy"), place.integers("run/labels.npy"), "{options}");
        let summary = place.json("run/run.json")["summary"].clone();
        let n_clusters = place.integers("cut.npy").iter().max().unwrap() + 1;
        assert_eq!(summary["n_clusters"], n_clusters, "{options}");
        // other rows get the clusters of the fit
        place.ok("predict run made/data.npy --out predicted.csv");
        place.check_predicted("predicted.csv", "run");
    }
}

#[test]
fn more_clusters_than_components_are_the_components_with_a_warning() {
    let place = Place::with_two_clusters();
    let ended = place.ok("fit two.csv --exclude class --clusters 500 --no-report --out run");
    assert!(ended.stderr.contains("--clusters 500 were asked for"), "{}", ended.stderr);
    assert!(!place.path("run/component_labels.npy").exists());
    place.refused(
        "fit two.csv --clusters 2 --point last --out other",
        &["--clusters requires --point argmax", "--point"],
    );
}

#[test]
fn draws_support_the_merges_and_components_are_kept_beside_another_point() {
    let place = fitted("--draws 10 --point last");
    let tree = place.json("run/tree.json");
    let support = tree["support"].as_array().unwrap();
    assert_eq!(support.len(), tree["linkage"].as_array().unwrap().len());
    assert!(support.iter().flat_map(Value::as_f64).all(|support| (0.0..=1.0).contains(&support)));
    place.ok("cut run --clusters components --out components.npy");
    assert_eq!(place.integers("components.npy"), place.integers("run/component_labels.npy"));
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let place = fitted("");
    place.refused("cut run --clusters 100000", &["--clusters 100000 is not among 1 to", "--clusters components"]);
    place.refused("cut run --clusters auto --min-share 0.1", &["--min-share needs a number of clusters"]);
    place.refused("cut run --clusters 2 --out labels.txt", &["must end in .csv"]);
    for wrong in ["--clusters 0", "--clusters -1", "--clusters many", "--min-share 1 --clusters 2"] {
        place.refused(&format!("cut run {wrong}"), &[]);
    }
    place.write("run/tree.json", "{}");
    place.refused("cut run", &["tree.json", "cannot be read as a tree"]);
    place.refused("cut made", &["tree.json", "is not there"]);
}
