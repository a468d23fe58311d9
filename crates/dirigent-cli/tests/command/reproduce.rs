use crate::place::Place;

const TINY: &str =
    "reproduce --dataset two.csv --label-column class --seeds 2 --cycles 4 --workers 3 --scaling 1,3 --out lab";
const MODEL: &str = "-- --covariance isotropic --prior sigma=1,sigma0=30";

/// The seconds of a run, which no second run would have.
fn seconds(place: &Place, run: &str) -> String {
    place.json(&format!("lab/runs/{run}/run.json"))["summary"]["seconds"].to_string()
}

#[test]
fn all_methods_are_run_and_tabled_and_what_is_finished_is_kept() {
    let place = Place::with_two_clusters();
    place.ok(&format!("{TINY} {MODEL}"));
    let methods: Vec<String> = place.column("lab/summary.csv", "method");
    assert!(methods.len() == 9 && methods[0] == "cgs" && methods.last().unwrap() == "dirigent", "{methods:?}");
    for column in ["k_mean", "log_joint_mean", "above_truth_mean", "vi_mean", "cluster_seconds_a_cycle"] {
        let cells = place.column("lab/summary.csv", column);
        assert!(cells.iter().all(|cell| cell.parse::<f64>().is_ok()), "{column}: {cells:?}");
    }
    assert_eq!(place.column("lab/curves.csv", "cycle").len(), 4 * methods.len());
    assert_eq!(place.column("lab/communication.csv", "method"), methods[1..]);
    let clocks = place.column("lab/speedup.csv", "clock");
    assert_eq!(clocks.iter().filter(|clock| *clock == "cluster").count(), 2 * (methods.len() - 1));
    assert!(clocks.contains(&"real".to_owned()));
    let folders = place.column("lab/runs.csv", "folder");
    assert_eq!(place.column("lab/traces.csv", "cycle").len(), 4 * folders.len());
    for folder in &folders {
        assert_eq!(place.json(&format!("lab/{folder}/run.json"))["status"], "finished");
    }

    let page = place.text("lab/reproduction.html");
    for part in
        ["Log-joint against cycles", "Variation of information against time", "Speed-up of a cycle", "SliceMR", "SubC"]
    {
        assert!(page.contains(part), "no {part:?}");
    }

    // what is finished stays; what is not, or was asked otherwise, is run again
    let (kept, broken) = ("prog-w3-s0", "prog-w3-s1");
    let before = [kept, broken].map(|run| seconds(&place, run));
    let record = place.text(&format!("lab/runs/{broken}/run.json")).replace("\"finished\"", "\"running\"");
    place.write(&format!("lab/runs/{broken}/run.json"), record);
    let summary = place.text("lab/curves.csv");
    place.ok(&format!("{TINY} {MODEL}"));
    let after = [kept, broken].map(|run| seconds(&place, run));
    assert_eq!(before[0], after[0]);
    assert_ne!(before[1], after[1]);
    let log_joints =
        |table: &str| -> Vec<String> { table.lines().map(|line| line.split(',').nth(5).unwrap().to_owned()).collect() };
    assert_eq!(log_joints(&summary), log_joints(&place.text("lab/curves.csv")));
    place.ok(&format!("{TINY} --methods prog {MODEL} --alpha 2"));
    assert_ne!(seconds(&place, kept), after[0]);
    assert_eq!(place.column("lab/summary.csv", "method"), ["cgs", "prog"]);
}

#[test]
fn a_made_set_is_made_once() {
    let place = Place::new();
    let command = "reproduce --rows 300 --methods cgs --seeds 1 --cycles 2 --scaling 0 --out lab --quiet";
    assert_eq!(place.ok(command).stderr, "");
    let options = &place.json("lab/runs/cgs-w1-s0/run.json")["options"];
    assert_eq!(
        (&options["model"]["alpha"], &options["model"]["sigma"], &options["run"]["cycles"]),
        (&1.0.into(), &1.0.into(), &2.into())
    );
    let made = |place: &Place| std::fs::metadata(place.path("lab/data/data.npy")).unwrap().modified().unwrap();
    let before = made(&place);
    place.ok(command);
    assert_eq!(made(&place), before);
    place.ok(&command.replace("300", "400"));
    assert_ne!(made(&place), before);
    assert_eq!(place.json("lab/runs/cgs-w1-s0/run.json")["data"]["n_rows"], 400);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Place::with_two_clusters();
    place.refused("reproduce --out lab --truth two.labels.txt", &["--truth", "hint: "]);
    place.refused("reproduce --dataset two.csv --rows 5 --out lab", &["--rows", "hint: "]);
    place.refused("reproduce --out lab --methods fast", &["fast", "prog"]);
    place.refused("reproduce --out lab --scaling 0,3", &["--scaling", "hint: "]);
    place.refused("reproduce --dataset two.csv --out lab --seeds 1 -- --seed 3", &["--seed", "hint: "]);
    place.refused("reproduce --dataset none.csv --out lab --workers 2", &["none.csv"]);
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/thesis.txt", "precious");
    place.refused("reproduce --out mine", &["mine", "not ours"]);
}
