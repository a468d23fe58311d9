use serde_json::{Value, json};

use super::*;
use crate::model::{Model, ModelOptions};
use crate::rows::{Shard, Table};
use crate::survey::Survey;
use crate::sweep::{Kernel, reference_sampler};

fn tree() -> Tree {
    let rows = Shard::of_table(Table::from_f64(1, vec![0.0, 0.5, 1.0, 1.5, 9.0, 9.5]));
    let options = ModelOptions { sigma: Some(1.0), sigma0: Some(5.0), ..ModelOptions::default() };
    let model = Model::resolve(&options, &Survey::of(&rows)).unwrap();
    let mut sampler = reference_sampler(&model, rows.clone());
    sampler.load(&vec![model.conjugate().empty_stats(); 3]);
    sampler.set_labels(vec![0, 0, 1, 1, 2, 2]);
    Tree::build(&model, &sampler.contributions(), &[rows], Kernel::best(), 1)
}

#[test]
fn what_is_read_is_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    tree().write(folder.path()).unwrap();
    assert_eq!(Tree::read(folder.path()).unwrap(), tree());
    assert_eq!(tree().cut(2, 0.0).clusters(), [0, 0, 1]);
}

#[test]
fn what_cannot_be_true_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    tree().write(folder.path()).unwrap();
    let path = folder.path().join("tree.json");
    let sound: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let changes = [
        ("/format", json!(2)),
        ("/n_components", json!(4)),
        ("/temperature", json!(0.5)),
        ("/temperature", json!(null)),
        ("/sizes", json!([])),
        ("/sizes", json!([2, 2, 0])),
        ("/sizes", json!([u64::MAX, u64::MAX, 1])),
        ("/sizes", json!([2, -2, 2])),
        ("/linkage", json!([])),
        ("/linkage/0/0", json!(1)),
        ("/linkage/0/1", json!(3)),
        ("/linkage/0/1", json!(1e300)),
        ("/linkage/0/2", json!(-1.0)),
        ("/linkage/1/2", json!(0.0)),
        ("/linkage/1/3", json!(2)),
        ("/linkage/1/0", json!(0)),
        ("/component_heights/1", json!(-1.0)),
        ("/overlaps", json!([1.0])),
        ("/overlaps/0", json!(-0.1)),
        ("/layer/0", json!(7)),
        ("/layer", json!([1, 1, 1])),
    ];
    for (place, value) in changes {
        let mut changed = sound.clone();
        *changed.pointer_mut(place).expect(place) = value.clone();
        fs::write(&path, changed.to_string()).unwrap();
        assert!(Tree::read(folder.path()).is_err(), "{place} {value}");
    }
    for support in [json!([0.5]), json!([0.5, 1.5]), json!([0.5, "x"])] {
        let mut changed = sound.clone();
        changed["support"] = support.clone();
        fs::write(&path, changed.to_string()).unwrap();
        assert!(Tree::read(folder.path()).is_err(), "{support}");
    }
    fs::write(&path, "[1, 2").unwrap();
    assert!(Tree::read(folder.path()).unwrap_err().to_string().contains("cannot be read as a tree"));
    fs::remove_file(&path).unwrap();
    assert!(Tree::read(folder.path()).unwrap_err().to_string().contains("is not there"));
}
