//! Figures from runs that are made up.

use super::super::communication::{Traffic, published};
use super::super::level;
use super::super::methods::{Column, METHODS, Method};
use super::super::plan::{Place, Trial};
use super::super::results::{Cycle, Summary};
use super::super::spread::Spread;
use super::*;

const REFERENCE: &Method = &METHODS[0];

fn method(name: &str) -> &'static Method {
    METHODS.iter().find(|method| method.name == name).unwrap()
}

/// A run with these log-joints, each cycle of so many seconds on the cluster and twice as many real ones.
fn run(method: &'static Method, n_workers: u32, seed: u64, log_joints: &[f64], seconds: f64) -> Run {
    let place = if method.is_serial() { Place::Serial } else { Place::Cluster };
    let cycle = |(ix, &log_joint): (usize, &f64)| {
        let number = ix as u64 + 1;
        let cluster_seconds = Some(seconds * number as f64);
        let real_seconds = 2.0 * seconds * number as f64;
        let bytes = if ix == 0 { 1000 } else { 100 };
        Cycle {
            cycle: number,
            real_seconds,
            cluster_seconds,
            log_joint,
            k: 3,
            vi: Some(0.5),
            bytes,
            messages: 4,
            rows: 10,
        }
    };
    let summary = Summary {
        k: 3,
        log_joint: *log_joints.last().unwrap(),
        log_joint_truth: Some(-10.0),
        vi: Some(0.5),
        vi_labels: Some(0.25),
        nmi_labels: None,
        seconds: 1.0,
    };
    Run {
        trial: Trial { method, n_workers, seed, place },
        summary,
        cycles: log_joints.iter().enumerate().map(cycle).collect(),
    }
}

fn scale() -> Scale {
    let methods = vec![REFERENCE, method("prog"), method("slicemr")];
    Scale {
        methods,
        n_seeds: 2,
        n_timed_seeds: 1,
        n_cycles: 4,
        n_workers: 20,
        scaling: vec![1, 20],
        threads: Vec::new(),
    }
}

fn runs() -> Vec<Run> {
    let (prog, slice) = (method("prog"), method("slicemr"));
    vec![
        run(REFERENCE, 1, 0, &[-20.0, -9.0, -8.0, -8.0], 8.0),
        run(REFERENCE, 1, 1, &[-20.0, -12.0, -6.0, -6.0], 8.0),
        run(prog, 20, 0, &[-7.0, -7.0, -7.0, -7.0], 0.5),
        run(prog, 20, 1, &[-30.0, -7.0, -7.0, -7.0], 0.5),
        run(slice, 20, 0, &[-30.0, -29.0, -28.0, -27.0], 0.25),
        run(slice, 20, 1, &[-30.0, -29.0, -28.0, -27.0], 0.25),
        run(prog, 1, 0, &[-9.0, -7.0, -7.0, -7.0], 8.0),
    ]
}

#[test]
fn a_curve_is_the_mean_and_range_of_its_seeds() {
    let runs = runs();
    let figures = Figures::of(&runs, &scale(), None);
    let reference = &figures.curves[0];
    assert_eq!(reference.points[1].log_joint, Spread { mean: -10.5, low: -12.0, high: -9.0 });
    assert_eq!((reference.points[3].cluster_seconds, reference.points[3].real_seconds), (32.0, 64.0));
    // a run with another number of workers is none of its seeds
    assert_eq!(figures.curves[1].runs.len(), 2);
}

#[test]
fn cycles_of_a_sample_of_the_rows_are_left_out() {
    let mut runs = runs();
    (runs[2].cycles[0].rows, runs[3].cycles[0].rows, runs[3].cycles[1].rows) = (5, 5, 5);
    let figures = Figures::of(&runs, &scale(), None);
    let cycles: Vec<u64> = figures.curves[1].points.iter().map(|point| point.cycle).collect();
    assert_eq!(cycles, [3, 4]);
}

#[test]
fn the_level_is_what_every_seed_of_the_reference_has_reached() {
    let runs = runs();
    let figures = Figures::of(&runs, &scale(), None);
    assert_eq!(level::of_reference(&figures.curves[0].runs), Some(-8.0));
    let [reference, prog, slice] = [0, 1, 2].map(|ix| figures.summaries[ix].arrival);
    assert_eq!((reference.n_reached, reference.cycles, reference.cluster_seconds), (2, Some(3.0), Some(24.0)));
    assert_eq!((prog.n_reached, prog.cycles, prog.real_seconds), (2, Some(1.5), Some(1.5)));
    assert_eq!((slice.n_reached, slice.cycles), (0, None));
}

#[test]
fn speed_is_measured_by_the_cycle_and_by_the_way_to_the_level() {
    let runs = runs();
    let figures = Figures::of(&runs, &scale(), None);
    let shown: Vec<_> = figures
        .speeds
        .iter()
        .map(|speed| (speed.method.name, speed.n_workers, speed.of_a_cycle, speed.to_the_level))
        .collect();
    let expected = [("prog", 1, 1.0, Some(1.5)), ("prog", 20, 16.0, Some(32.0)), ("slicemr", 20, 32.0, None)];
    assert_eq!(shown, expected);
}

#[test]
fn traffic_is_that_of_a_settled_cycle_beside_the_paper() {
    let runs = runs();
    let figures = Figures::of(&runs, &scale(), Some("synthetic"));
    assert_eq!(figures.summaries[1].traffic, Some(Traffic { bytes: 100.0, messages: 4.0 }));
    let of = |set, column| published(set, column).map(|traffic| (traffic.bytes.round(), traffic.messages));
    assert_eq!(of(Some("synthetic"), Some(Column::Ours)), Some((50_700.0, 40.0)));
    assert_eq!(of(Some("imagenet"), Some(Column::SliceMr)), Some((4_890_000.0, 40.0)));
    assert_eq!(
        (of(None, Some(Column::Ours)), of(Some("nyt"), Some(Column::Ours)), of(Some("synthetic"), None)),
        (None, None, None)
    );
}
