use crate::place::Place;
use serde_json::Value;

#[test]
fn labels_agree_with_themselves_whatever_their_names() {
    let place = Place::new();
    place.write("a.txt", "x\nx\ny\nz\n");
    place.write("b.txt", "2\n2\n0\n1\n");
    let agreement: Value = serde_json::from_str(&place.ok("eval a.txt b.txt").stdout).unwrap();
    let number = |name: &str| agreement[name].as_f64().unwrap();
    assert!(number("vi").abs() < 1e-12 && (number("ari") - 1.0).abs() < 1e-12 && (number("nmi") - 1.0).abs() < 1e-12);
    assert_eq!((&agreement["k_a"], &agreement["k_b"]), (&3.into(), &3.into()));
}

#[test]
fn halves_across_halves_share_nothing() {
    let place = Place::new();
    place.write("a.txt", "0\n0\n1\n1\n");
    place.write("b.txt", "0\n1\n0\n1\n");
    let ended = place.ok("eval a.txt b.txt");
    assert_eq!(ended.stdout.lines().count(), 1);
    let agreement: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!((agreement["vi"].as_f64().unwrap() - 2.0 * std::f64::consts::LN_2).abs() < 1e-12);
    assert!(agreement["nmi"].as_f64().unwrap().abs() < 1e-12);
}

#[test]
fn bad_labels_are_refused() {
    let place = Place::new();
    place.write("three.txt", "0\n1\n0\n");
    place.write("four.txt", "0\n1\n0\n1\n");
    place.write("empty.txt", "");
    place.refused("eval three.txt four.txt", &["three.txt", "four.txt", "3", "4", "hint: "]);
    place.refused("eval three.txt empty.txt", &["empty.txt"]);
    place.refused("eval three.txt missing.txt", &["missing.txt"]);
    place.refused("eval three.txt", &["LABELS_B"]);
}
