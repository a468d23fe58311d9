//! Workers that only bytes reach: the same labels as on threads, and nothing lost when a host dies.

mod files;
mod going_on;
mod transports;

use std::path::Path;
use std::sync::{Arc, Mutex};

use dirigent::internals::checkpoint::RunState;
use dirigent::internals::engine::RunTotals;
use dirigent::internals::engine::remote::{Host, Remote, RowSource};
use dirigent::internals::method::MethodSetup;
use dirigent::internals::method::av::AvOptions;
use dirigent::internals::method::cgs::{Draws, Outcome};
use dirigent::internals::method::consolidated::{DistributedOptions, Engine};
use dirigent::internals::method::rounds::RoundsOptions;
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rng::{Role, Seed};
use dirigent::internals::rows::{Shard, Table, worker_rows};
use dirigent::internals::survey::Survey;
use dirigent::{Alpha, CycleInfo, Model, ModelOptions, Observer, Result, Schedule};

use self::transports::{Loopback, Spoiling};

const WORKERS: usize = 5;
const ROWS: usize = 1500;

/// Keeps what is said of the workers, and the log-joints.
#[derive(Default)]
struct Log {
    notices: Vec<String>,
    log_joints: Vec<f64>,
    n_draws: usize,
    /// Borders after which the state is put away.
    keeps_after: Option<usize>,
    n_borders: usize,
    kept: Option<RunState>,
    /// The state to go on from.
    saved: Option<RunState>,
}

impl Observer for Log {
    fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
        self.log_joints.push(info.log_joint);
        Ok(())
    }
    fn on_draw(&mut self, _state: &[u32]) -> Result<()> {
        self.n_draws += 1;
        Ok(())
    }
    fn on_notice(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
    fn wants_checkpoint(&mut self) -> bool {
        self.n_borders += 1;
        self.keeps_after == Some(self.n_borders)
    }
    fn on_checkpoint(&mut self, saved: RunState) -> Result<()> {
        self.kept = Some(saved);
        Ok(())
    }
    fn take_saved(&mut self) -> Option<RunState> {
        self.saved.take()
    }
}

fn table() -> Table {
    let mut rng = Seed::new(8).stream(Role::Synthetic, 0, 0);
    let cell = |row: usize, column: usize| f64::from((row % 6) as u32) * if column == 0 { 9.0 } else { -7.0 };
    let cells = (0..ROWS).flat_map(|row| [cell(row, 0), cell(row, 1)]).map(|mean| mean + rng.normal()).collect();
    Table::from_f64(2, cells)
}

fn model() -> ModelOptions {
    ModelOptions { sigma: Some(1.0), sigma0: Some(20.0), ..ModelOptions::default() }
}

fn consolidated(schedule: Schedule, splits: bool, draws: Option<Draws>, engine: Engine) -> MethodSetup {
    on_workers(WORKERS, schedule, splits, draws, engine)
}

fn on_workers(n_workers: usize, schedule: Schedule, splits: bool, draws: Option<Draws>, engine: Engine) -> MethodSetup {
    let coordinator = CoordinatorOptions {
        n_workers: n_workers as u32,
        splits,
        schedule,
        cycles: Cycles::Fixed(12),
        seed: 3,
        ..CoordinatorOptions::default()
    };
    MethodSetup::Distributed(DistributedOptions {
        coordinator,
        model: model(),
        draws,
        engine,
        ..DistributedOptions::default()
    })
}

fn in_rounds(engine: Engine) -> RoundsOptions {
    let coordinator = CoordinatorOptions {
        n_workers: WORKERS as u32,
        alpha: Alpha::Fixed(1.0),
        cycles: Cycles::Fixed(8),
        seed: 3,
        ..CoordinatorOptions::default()
    };
    RoundsOptions { coordinator, engine, ..RoundsOptions::default() }
}

/// Workers whose rows travel to them.
fn remote(transport: Loopback, labels: Option<&Path>) -> Engine {
    let rows = Shard::of_table(table());
    let source = |worker| RowSource::here(&rows.part(worker_rows(worker, WORKERS, ROWS)));
    let sources = (0..WORKERS).map(source).collect();
    Engine::Remote(Remote::new("loopback", Arc::new(Mutex::new(transport)), sources, labels.map(Path::to_path_buf)))
}

fn fit(options: &MethodSetup, log: &mut Log) -> (Outcome, RunTotals) {
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let (outcome, totals) = dirigent::internals::method::run(&rows, &model, options, None, log).unwrap();
    (outcome, totals.unwrap())
}

#[test]
fn every_method_gives_the_labels_and_the_bytes_of_threads() {
    let methods: [(&str, &dyn Fn(Engine) -> MethodSetup); 6] = [
        ("prog", &|engine| consolidated(Schedule::Sync, false, None, engine)),
        ("dirigent", &|engine| consolidated(Schedule::Sync, true, None, engine)),
        ("draws", &|engine| consolidated(Schedule::Sync, true, Some(Draws { n_draws: 3, thin: 2 }), engine)),
        ("slicemr", &|engine| MethodSetup::Slice(in_rounds(engine))),
        ("subc", &|engine| MethodSetup::Subc(in_rounds(engine))),
        ("av", &|engine| MethodSetup::Av(AvOptions { rounds: in_rounds(engine), merges: false })),
    ];
    for (name, method) in methods {
        let (mut here, mut there) = (Log::default(), Log::default());
        let (expected, on_threads) = fit(&method(Engine::Threads(2)), &mut here);
        let (outcome, totals) = fit(&method(remote(Loopback::new(WORKERS, None), None)), &mut there);
        assert!(outcome == expected, "{name}: other labels");
        assert_eq!((there.log_joints, there.n_draws), (here.log_joints, here.n_draws), "{name}");
        let counted = |totals: &RunTotals| (totals.bytes, totals.messages, totals.observed_bytes);
        assert_eq!(counted(&totals), counted(&on_threads), "{name}");
        assert_eq!(there.notices, [] as [&str; 0], "{name}");
    }
}

#[test]
fn a_worker_whose_host_dies_returns_with_its_labels_and_no_row_is_lost() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        for keeps in [true, false] {
            for requests in [0, 1, 4, 9] {
                let folder = tempfile::tempdir().unwrap();
                let labels = keeps.then(|| folder.path().join("labels"));
                let transport = Loopback::new(WORKERS, Some((2, requests, 7)));
                let mut log = Log::default();
                let options = consolidated(schedule, true, None, remote(transport, labels.as_deref()));
                let (outcome, totals) = fit(&options, &mut log);
                let what = format!("{schedule:?}, keeps {keeps}, after {requests}");
                assert_eq!(log.notices, ["worker 2 is lost: it was switched off", "worker 2 is back"], "{what}");
                assert_eq!((outcome.labels.len(), totals.workers[2].restarts), (ROWS, 1), "{what}");
                // what the components say is what the labels say
                let sizes: Vec<i64> = outcome.components.iter().map(|stats| stats.count).collect();
                let counted = (0..outcome.k).map(|k| outcome.state.iter().filter(|label| **label == k as u32).count());
                assert_eq!(sizes, counted.map(|count| count as i64).collect::<Vec<_>>(), "{what}");
                assert_eq!(outcome.k, 6, "{what}");
                assert_eq!(labels.is_some_and(|labels| labels.join("worker-2.labels").exists()), keeps, "{what}");
            }
        }
    }
}

#[test]
fn a_method_whose_rows_are_gone_with_a_host_says_so() {
    let transport = Loopback::new(WORKERS, Some((2, 4, 7)));
    let options = MethodSetup::Av(AvOptions { rounds: in_rounds(remote(transport, None)), merges: false });
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let error =
        dirigent::internals::method::run(&rows, &model, &options, None, &mut Log::default()).unwrap_err().to_string();
    assert!(error.contains("worker 2 was lost") && error.contains("method av cannot go on"), "{error}");
}

#[test]
fn a_worker_that_says_nonsense_is_expelled_by_name_and_the_fit_goes_on() {
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let spoiled = |after, times| {
        let transport = Spoiling { inner: Loopback::new(WORKERS, None), worker: 3, after, times };
        let sources = (0..WORKERS).map(|worker| RowSource::here(&rows.part(worker_rows(worker, WORKERS, ROWS))));
        let remote = Remote::new("spoiling", Arc::new(Mutex::new(transport)), sources.collect(), None);
        let options = consolidated(Schedule::Sync, true, None, Engine::Remote(remote));
        let mut log = Log::default();
        (dirigent::internals::method::run(&rows, &model, &options, None, &mut log), log.notices)
    };
    for after in [2, 3, 7] {
        let (outcome, notices) = spoiled(after, 1);
        let (outcome, _) = outcome.unwrap();
        assert_eq!((outcome.k, outcome.labels.len()), (6, ROWS), "after {after}");
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].starts_with("worker 3 is expelled: a frame of worker 3 was refused"), "{notices:?}");
    }
    let (outcome, notices) = spoiled(2, usize::MAX);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("a frame of worker 3 was refused"), "{error}, {notices:?}");
}

#[test]
fn garbage_is_answered_with_an_error_and_never_with_a_panic() {
    let host = Host::new("here");
    for request in [&[][..], &[0], &[1, 2, 3], &[255; 64], &[0, 0, 1, 0, 255, 255, 255, 255, 15]] {
        let answer = host.handle(request, None);
        assert!(answer.windows(4).any(|window| window == b"here"), "{answer:?}");
    }
}
