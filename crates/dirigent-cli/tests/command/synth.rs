use crate::place::Place;

fn sizes(labels: &[i32]) -> Vec<usize> {
    let k = *labels.iter().max().unwrap() as usize + 1;
    let mut sizes = vec![0; k];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    sizes
}

#[test]
fn the_synthetic_set_follows_the_law_of_the_paper() {
    // 5 standard errors for the mean and the variance of the noise: false alarms below 2e-6, and the seed is fixed
    let place = Place::new();
    let ended = place.ok("synth synthetic --out made");
    assert!(ended.stdout.is_empty());
    assert!(ended.stderr.contains("dirigent fit made/data.npy --truth made/labels.npy --prior sigma=1,sigma0=10"));
    assert_eq!(place.shape("made/data.npy"), "(141000,2,)");
    let labels = place.integers("made/labels.npy");
    let sizes = sizes(&labels);
    assert_eq!((&sizes[..16], &sizes[16..31], &sizes[31..]), (&[1000; 16][..], &[2000; 15][..], &[5000; 19][..]));
    assert!(labels[..100] != labels[100..200] && !labels.is_sorted(), "shuffled");

    let (data, centres) = (place.singles("made/data.npy"), place.singles("made/centres.npy"));
    let noise = |ix: usize| f64::from(data[ix]) - f64::from(centres[labels[ix / 2] as usize * 2 + ix % 2]);
    let n = data.len() as f64;
    let mean = (0..data.len()).map(noise).sum::<f64>() / n;
    let variance = (0..data.len()).map(|ix| noise(ix).powi(2)).sum::<f64>() / n;
    assert!(mean.abs() < 5.0 / n.sqrt(), "mean {mean}");
    assert!((variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "variance {variance}");
}

#[test]
fn rows_clusters_sizes_and_scales_can_be_chosen() {
    let place = Place::new();
    place.ok("synth imagenet --rows 1000 --clusters 7 --sizes zipf --centre-sd 5 --noise-sd 8 --seed 4 --out made");
    assert_eq!(place.shape("made/data.npy"), "(1000,48,)");
    assert_eq!(place.shape("made/centres.npy"), "(7,48,)");
    let sizes = sizes(&place.integers("made/labels.npy"));
    assert_eq!(sizes.iter().sum::<usize>(), 1000);
    assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] > sizes[6]);
    let law = place.json("made/synth.json");
    let expected = serde_json::json!({
        "set": "imagenet", "version": env!("CARGO_PKG_VERSION"), "n_rows": 1000, "n_columns": 48, "n_clusters": 7,
        "centre_sd": 5.0, "noise_sd": 8.0, "sizes": "zipf", "seed": 4,
    });
    assert_eq!(law, expected);
}

#[test]
fn documents_come_with_their_vocabulary() {
    let place = Place::new();
    place.ok("synth nyt --rows 40 --clusters 4 --out made");
    assert_eq!(place.text("made/vocab.txt").lines().count(), 9866);
    assert_eq!(place.integers("made/labels.npy").len(), 40);
    let info: serde_json::Value = serde_json::from_str(&place.ok("info made/docword.txt.gz --json").stdout).unwrap();
    assert_eq!((&info["documents"], &info["vocabulary"]), (&40.into(), &9866.into()));
    let words = info["words"].as_u64().unwrap();
    assert!((40 * 50..=40 * 150).contains(&words), "{words} words");
}

#[test]
fn the_same_seed_makes_the_same_files() {
    let place = Place::new();
    for (folder, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        place.ok(&format!("synth synthetic --rows 200 --seed {seed} --out {folder}"));
        place.ok(&format!("synth nyt --rows 200 --seed {seed} --out {folder}/text"));
    }
    for file in ["data.npy", "labels.npy", "centres.npy", "text/docword.txt.gz", "text/labels.npy"] {
        let read = |folder: &str| place.read(&format!("{folder}/{file}"));
        assert!(read("a") == read("b") && read("a") != read("c"), "{file}");
    }
}

#[test]
fn an_earlier_set_is_replaced_only_by_force() {
    let place = Place::new();
    place.ok("synth synthetic --rows 100 --out made");
    let before = place.read("made/data.npy");
    place.refused("synth synthetic --rows 200 --out made", &["made", "not empty", "--force"]);
    assert_eq!(place.read("made/data.npy"), before);
    place.ok("synth nyt --rows 200 --out made --force --quiet");
    assert!(!place.path("made/data.npy").exists() && place.path("made/docword.txt.gz").exists());
}

#[test]
fn a_set_that_cannot_be_made_is_refused_and_leaves_no_folder() {
    let place = Place::new();
    place.refused("synth synthetic", &["--out"]);
    place.refused("synth mnist --out made", &["mnist", "synthetic", "imagenet", "nyt"]);
    place.refused("synth synthetic --rows 0 --out made", &["--rows", "0"]);
    place.refused("synth synthetic --rows 20 --out made", &["20 rows", "50 clusters", "hint: "]);
    place.refused("synth synthetic --clusters -3 --out made", &["--clusters", "-3"]);
    place.refused("synth synthetic --noise-sd -1 --out made", &["--noise-sd", "-1", "zero or positive"]);
    place.refused("synth synthetic --centre-sd nan --out made", &["--centre-sd", "nan"]);
    place.refused("synth nyt --noise-sd 1 --out made", &["--noise-sd", "nyt", "hint: "]);
    place.refused("synth synthetic --sizes small --out made", &["--sizes", "small", "equal", "zipf", "paper"]);
    assert!(!place.path("made").exists());
    let rows = u64::MAX / 2;
    place.refused(&format!("synth synthetic --rows {rows} --out made"), &["memory", "hint: "]);
}
