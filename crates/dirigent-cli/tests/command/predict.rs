use crate::place::Place;
use serde_json::Value;
use std::fs;
use std::process::Command;

const FIT: &str = "--prior sigma=1,sigma0=50 --cycles 5 --out run";

/// A table without the row numbers, by column.
fn table(stdout: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = stdout.lines();
    let header = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let numbers = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    (header, lines.map(numbers).collect())
}

#[test]
fn the_rows_of_the_fit_get_the_labels_of_the_fit_by_every_method_and_family() {
    let place = Place::new();
    place.ok("synth synthetic --rows 900 --clusters 12 --centre-sd 4 --out narrow");
    place.ok("synth imagenet --rows 700 --clusters 6 --centre-sd 1 --noise-sd 2 --out wide");
    place.ok("synth nyt --rows 300 --clusters 3 --out text");
    for data in ["narrow/data.npy", "wide/data.npy", "text/docword.txt.gz"] {
        for method in ["cgs", "prog --workers 3", "pooled --workers 2"] {
            place.ok(&format!("fit {data} --cycles 4 --method {method} --out run --force"));
            place.ok(&format!("predict run {data} --out predicted.npy"));
            assert_eq!(place.read("predicted.npy"), place.read("run/labels.npy"), "{data} {method}");
            let predicted = place.ok(&format!("predict run {data} --threads 3 --out predicted.csv"));
            place.check_predicted("predicted.csv", "run");
            assert_eq!(predicted.stdout, "");
        }
    }
}

#[test]
fn probabilities_and_densities_are_columns_of_the_table() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --label-column class {FIT}"));
    place.write("new.csv", "y,x\n0,50\n0,0.5\n900,900\n");
    let ended = place.ok("predict run new.csv --proba --log-density");
    let (header, rows) = table(&ended.stdout);
    assert_eq!(header.join(","), "row,label,certainty,p_new,log_density,p_0,p_1");
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
    for row in &rows {
        assert!((row[3] + row[5] + row[6] - 1.0).abs() < 1e-9, "{row:?}");
        assert!(row[1] == 0.0 || row[1] == 1.0, "a label is always one of those there are");
    }
    assert!(rows[0][1] != rows[1][1] && rows[0][3] < 0.1 && rows[2][3] > 0.999 && rows[2][2] < 0.001, "{rows:?}");
    assert!(ended.stderr.contains("1 of 3 rows") && ended.stderr.contains("mean log density"), "{}", ended.stderr);

    place.ok("predict run new.csv --proba --out p.npy");
    assert!(place.text_of_header("p.npy").contains("'<f8'") && place.shape("p.npy") == "(3,3,)");
    place.ok("predict run new.csv --log-density --out d.npy");
    assert_eq!(place.shape("d.npy"), "(3,)");
    let ended = place.ok("predict run new.csv --log-density --json");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let mean = rows.iter().map(|row| row[4]).sum::<f64>() / 3.0;
    assert_eq!((report["rows"].as_u64(), report["new_rows"].as_u64()), (Some(3), Some(1)));
    assert!((report["mean_log_density"].as_f64().unwrap() - mean).abs() < 1e-6 * mean.abs());
    let ended = place.ok("predict run new.csv --quiet");
    assert_eq!((ended.stdout.lines().count(), ended.stderr.as_str()), (4, ""));
}

#[test]
fn columns_are_found_by_name_and_the_selection_of_the_fit_is_remembered() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --label-column class {FIT}"));
    let labels = place.column("run/labels.csv", "label");
    let predicted = |file: &str| {
        let ended = place.ok(&format!("predict run {file} --out p.csv"));
        (place.column("p.csv", "label"), ended.stderr)
    };
    let (same, talk) = predicted("two.csv");
    assert!(same == labels && !talk.contains("note"), "{talk}");
    let turned: String = place
        .text("two.csv")
        .lines()
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            format!("{},{},{}\n", cells[1], if cells[2] == "class" { "colour" } else { "red" }, cells[0])
        })
        .collect();
    place.write("turned.csv", turned);
    let (same, talk) = predicted("turned.csv");
    assert!(same == labels && talk.contains("ignored: colour"), "{talk}");
    place.write("other.csv", "x,z\n1,2\n");
    place.refused("predict run other.csv", &["other.csv", "lacks 1 column of the model: y", "hint: ", "x, z"]);
    place.write("bare.csv", "1,2\n");
    assert!(predicted("bare.csv").1.contains("position"));
    place.write("wide.csv", "1,2,3\n");
    place.refused("predict run wide.csv", &["wide.csv", "found 3 columns", "fitted to 2"]);
}

#[test]
fn missing_cells_and_text_are_refused_where_the_model_has_none() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --label-column class {FIT}"));
    place.write("gap.csv", "x,y\n1,2\n3,\n");
    place.refused("predict run gap.csv", &["gap.csv", "row 2", "column y", "missing", "hint: "]);
    place.write("text.csv", "x,y\none,2\n3,4\n");
    place.refused("predict run text.csv", &["text.csv", "row 1", "column x", "such as \"one\"", "hint: "]);
    place.write("numbers.csv", "x,y\n1,2\n");
    place.refused("predict run numbers.csv --header no", &["numbers.csv", "row 1", "column 1", "missing"]);
}

#[test]
fn a_table_of_counts_is_predicted_as_it_was_fitted() {
    let place = Place::new();
    place.write("counts.csv", "a,b,c\n".to_owned() + &"9,1,0\n0,1,9\n".repeat(20));
    place.ok("fit counts.csv --family multinomial --cycles 5 --out run");
    place.ok("predict run counts.csv --out p.csv");
    place.check_predicted("p.csv", "run");
    place.write("half.csv", "a,b,c\n0.5,1,0\n");
    place.refused("predict run half.csv", &["half.csv", "found 0.5", "expected a count"]);
}

#[test]
fn a_damaged_or_missing_model_is_refused_with_its_file() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --label-column class {FIT}"));
    place.refused("predict nowhere two.csv", &["nowhere/model.json", "is not there", "hint: "]);
    let (model, components) = (place.text("run/model.json"), place.read("run/components.npz"));
    place.write("run/model.json", model.replace("\"n_rows\": 60", "\"n_rows\": 61"));
    place.refused("predict run two.csv", &["components.npz[counts]", "sum to 61", "hint: "]);
    place.write("run/model.json", &model[..model.len() / 2]);
    place.refused("predict run two.csv", &["run/model.json", "hint: "]);
    place.write("run/model.json", &model);
    place.write("run/components.npz", &components[..components.len() - 30]);
    place.refused("predict run two.csv", &["run/components.npz", "hint: "]);
    place.write("run/components.npz", "");
    place.refused("predict run two.csv", &["run/components.npz", "empty"]);
    fs::remove_file(place.path("run/components.npz")).unwrap();
    place.refused("predict run two.csv", &["run/components.npz"]);
}

#[test]
fn an_output_that_makes_no_sense_is_refused() {
    let place = Place::with_two_clusters();
    place.ok(&format!("fit two.csv --label-column class {FIT}"));
    place.refused("predict run two.csv --out p.txt", &["p.txt", ".csv", ".npy"]);
    place.refused("predict run two.csv --out p.npy --proba --log-density", &["p.npy", "--proba and --log-density"]);
    place.refused("predict run two.csv --out ./two.csv", &["two.csv", "is a file of the data"]);
    place.ok("synth nyt --rows 20 --clusters 2 --out text");
    place.refused("predict run text/docword.txt.gz", &["text/docword.txt.gz", "fitted to 2"]);
}

/// The snippet of `docs/model-file.md`, where there is a Python with NumPy.
#[allow(clippy::print_stderr)] // a test that is skipped must say so
#[test]
fn numpy_alone_computes_the_same() {
    let place = Place::new();
    let python = |script: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", script]).current_dir(place.path("")).output()
    };
    if !python("import numpy").is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: python3 has no numpy, so the snippet of docs/model-file.md was not run");
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model-file.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, snippet) = page.split_once("```python\n").unwrap();
    let (snippet, _) = snippet.split_once("```").unwrap();
    place.ok("synth synthetic --rows 500 --clusters 8 --centre-sd 4 --out made");
    let check = "
p, d = predict('run', np.load('made/data.npy').astype(float))
assert abs(p - np.load('p.npy')).max() < 1e-4 and abs(d - np.load('d.npy')).max() < 1e-4
assert (p[:, :-1].argmax(axis=1) == np.load('run/labels.npy')).all()
";
    for options in ["", "--standardize", "--standardize --pca 1"] {
        place.ok(&format!("fit made/data.npy --cycles 5 --out run --force {options}"));
        place.ok("predict run made/data.npy --proba --out p.npy");
        place.ok("predict run made/data.npy --log-density --out d.npy");
        let output = python(&format!("{snippet}{check}")).unwrap();
        assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
