//! Workers that only bytes reach: the same labels as on threads, and nothing lost when a host dies.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dirigent::Result;
use dirigent::engine::RunTotals;
use dirigent::engine::remote::{Delivery, FileRows, Host, Remote, RowSource, Transport};
use dirigent::io::{DataSet, FittedColumns, Selection};
use dirigent::method::MethodOptions;
use dirigent::method::av::AvOptions;
use dirigent::method::cgs::{Draws, Observer, Outcome};
use dirigent::method::distributed::{DistributedOptions, DrawsFrom, Engine};
use dirigent::method::slice::SliceOptions;
use dirigent::model::{Alpha, Model, ModelOptions};
use dirigent::node::{Consolidation, CoordinatorOptions, Schedule, SliceCoordinatorOptions};
use dirigent::posterior::horizon::Cycles;
use dirigent::rng::{Role, Seed};
use dirigent::rows::{Shard, Table, worker_rows};
use dirigent::survey::Survey;
use dirigent::trace::CycleInfo;

const WORKERS: usize = 5;
const ROWS: usize = 1500;

/// Hosts in this process. What they are asked they answer at once; what they answer waits in a queue.
struct Loopback {
    hosts: Vec<Option<Host>>,
    queue: VecDeque<Delivery>,
    /// The worker whose host dies, after how many requests to it, and how many looks later there is another.
    death: Option<(u32, usize, usize)>,
    /// Looks until a host is there again.
    returns: Option<(u32, usize)>,
}

impl Loopback {
    fn new(n_workers: usize, death: Option<(u32, usize, usize)>) -> Self {
        let hosts = (0..n_workers).map(|worker| Some(Host::new(format!("host-{worker}")))).collect();
        Self { hosts, queue: VecDeque::new(), death, returns: None }
    }
}

impl Transport for Loopback {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        if let Some((dies, requests, back_after)) = &mut self.death
            && *dies == worker
        {
            if *requests == 0 {
                self.hosts[worker as usize] = None;
                self.queue.retain(|delivery| !matches!(delivery, Delivery::Answer(from, _) if *from == worker));
                self.queue.push_back(Delivery::Lost(worker, "it was switched off".to_owned()));
                self.returns = Some((worker, *back_after));
                self.death = None;
                return Ok(());
            }
            *requests -= 1;
        }
        if let Some(host) = &self.hosts[worker as usize] {
            let answer = host.handle(&request, shared.map(|shared| &**shared));
            self.queue.push_back(Delivery::Answer(worker, answer));
        }
        Ok(())
    }

    fn receive(&mut self, _: Duration) -> Result<Vec<Delivery>> {
        if let Some((worker, looks)) = &mut self.returns {
            if *looks == 0 {
                let worker = *worker;
                self.hosts[worker as usize] = Some(Host::new("another host"));
                self.queue.push_back(Delivery::Back(worker, "another host".to_owned()));
                self.returns = None;
            } else {
                *looks -= 1;
            }
        }
        Ok(self.queue.pop_front().into_iter().collect())
    }
}

/// Keeps what is said of the workers, and the log-joints.
#[derive(Default)]
struct Log {
    notices: Vec<String>,
    log_joints: Vec<f64>,
    n_draws: usize,
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
}

fn table() -> Table {
    let mut rng = Seed::new(8).stream(Role::Synthetic, 0, 0);
    let cell = |row: usize, column: usize| f64::from((row % 6) as u32) * if column == 0 { 9.0 } else { -7.0 };
    let cells = (0..ROWS).flat_map(|row| [cell(row, 0), cell(row, 1)]).map(|mean| mean + rng.normal()).collect();
    Table::from_f64(2, cells)
}

fn model() -> ModelOptions {
    ModelOptions { noise_sd: Some(1.0), mean_sd: Some(20.0), ..ModelOptions::default() }
}

fn consolidated(schedule: Schedule, splits: bool, draws: Option<Draws>, engine: Engine) -> MethodOptions {
    let coordinator = CoordinatorOptions {
        n_workers: WORKERS as u32,
        model: model(),
        alpha: Alpha::Auto,
        consolidation: Consolidation::Progressive,
        splits,
        schedule,
        cycles: Cycles::Fixed(12),
        n_kept: 0,
        seed: 3,
        chain: 0,
        sweeps_per_cycle: 1,
        shows_labels: false,
        kernel: None,
        has_start: false,
    };
    let (draws_from, start, time_limit) = (DrawsFrom::Exact, None, None);
    MethodOptions::Distributed(DistributedOptions { coordinator, draws, draws_from, engine, start, time_limit })
}

fn in_rounds(engine: Engine) -> SliceOptions {
    let coordinator = SliceCoordinatorOptions {
        n_workers: WORKERS as u32,
        model: model(),
        alpha: Alpha::Fixed(1.0),
        cycles: Cycles::Fixed(8),
        n_kept: 0,
        seed: 3,
        chain: 0,
        shows_labels: false,
        kernel: None,
    };
    SliceOptions { coordinator, draws: None, engine, start: None, time_limit: None }
}

/// Workers whose rows travel to them.
fn remote(transport: Loopback, labels: Option<&Path>) -> Engine {
    let rows = Shard::of_table(table());
    let source = |worker| RowSource::here(&rows.part(worker_rows(worker, WORKERS, ROWS)));
    let sources = (0..WORKERS).map(source).collect();
    Engine::Remote(Remote::new("loopback", Arc::new(Mutex::new(transport)), sources, labels.map(Path::to_path_buf)))
}

fn fit(options: &MethodOptions, log: &mut Log) -> (Outcome, RunTotals) {
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let (outcome, totals) = dirigent::method::run(&rows, &model, options, None, log).unwrap();
    (outcome, totals.unwrap())
}

#[test]
fn every_method_gives_the_labels_and_the_bytes_of_threads() {
    let methods: [(&str, &dyn Fn(Engine) -> MethodOptions); 6] = [
        ("prog", &|engine| consolidated(Schedule::Sync, false, None, engine)),
        ("dirigent", &|engine| consolidated(Schedule::Sync, true, None, engine)),
        ("draws", &|engine| consolidated(Schedule::Sync, true, Some(Draws { n_draws: 3, thin: 2 }), engine)),
        ("slicemr", &|engine| MethodOptions::Slice(in_rounds(engine))),
        ("subc", &|engine| MethodOptions::Subc(in_rounds(engine))),
        ("av", &|engine| MethodOptions::Av(AvOptions { rounds: in_rounds(engine), merges: false })),
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
    let options = MethodOptions::Av(AvOptions { rounds: in_rounds(remote(transport, None)), merges: false });
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let error = dirigent::method::run(&rows, &model, &options, None, &mut Log::default()).unwrap_err().to_string();
    assert!(error.contains("worker 2 was lost") && error.contains("method av cannot go on"), "{error}");
}

/// The rows in three files of unequal length.
fn files(folder: &Path) -> Vec<PathBuf> {
    let shard = Shard::of_table(table());
    [0..200, 200..1100, 1100..ROWS]
        .into_iter()
        .enumerate()
        .map(|(number, rows)| {
            let path = folder.join(format!("part-{number}.csv"));
            let line = |row: dirigent::rows::Row<'_>| match row {
                dirigent::rows::Row::F64(cells) => format!("{},{}\n", cells[0], cells[1]),
                _ => unreachable!("the table is of doubles"),
            };
            let text: String = rows.map(|row| line(shard.row(row))).collect();
            std::fs::write(&path, format!("x,y\n{text}")).unwrap();
            path
        })
        .collect()
}

fn sources(paths: &[PathBuf]) -> Vec<RowSource> {
    let data = DataSet::open(paths, &Selection::default()).unwrap();
    let columns = FittedColumns {
        n_columns: 2,
        names: Some(vec!["x".to_owned(), "y".to_owned()]),
        selection: Selection::default(),
        levels: Vec::new(),
        numbered_from_zero: false,
    };
    let files = data.files().iter().map(|file| (file.path.clone(), file.n_rows)).collect();
    let all = FileRows { files, rows: 0..ROWS, columns, is_counts: false, transform: None };
    (0..WORKERS).map(|worker| RowSource::Files(Box::new(all.part(worker_rows(worker, WORKERS, ROWS))))).collect()
}

fn engine(sources: Vec<RowSource>) -> Engine {
    let transport = Arc::new(Mutex::new(Loopback::new(WORKERS, None)));
    Engine::Remote(Remote::new("loopback", transport, sources, None))
}

#[test]
fn hosts_open_only_the_files_that_their_rows_are_in() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let sources = sources(&paths);
    let opened = |worker: usize| match &sources[worker] {
        RowSource::Files(rows) => rows.files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(),
        RowSource::Here { .. } => Vec::new(),
    };
    assert_eq!(opened(0), paths[..2]);
    assert_eq!(opened(2), paths[1..2]);
    assert_eq!(opened(4), paths[2..]);
    let method = |engine| consolidated(Schedule::Sync, true, None, engine);
    let expected = fit(&method(Engine::Threads(2)), &mut Log::default()).0;
    assert!(fit(&method(engine(sources)), &mut Log::default()).0 == expected, "other labels");
}

#[test]
fn what_a_host_cannot_read_ends_the_run_with_its_place_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(folder.path());
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let error_after = |spoil: &dyn Fn()| {
        let options = consolidated(Schedule::Sync, true, None, engine(sources(&paths)));
        spoil();
        let error = dirigent::method::run(&rows, &model, &options, None, &mut Log::default());
        files(folder.path());
        error.unwrap_err().to_string()
    };
    let shorter = error_after(&|| std::fs::write(&paths[2], "x,y\n1,2\n").unwrap());
    assert!(shorter.contains("part-2.csv: has 1 rows here, but 400 where the run was planned"), "{shorter}");
    assert!(shorter.contains("(worker 3 at host-3)"), "{shorter}");
    let bad = error_after(&|| std::fs::write(&paths[0], "x,y\n1,two\n").unwrap());
    assert!(bad.contains("part-0.csv, line 2, column y") && bad.contains("(worker 0 at host-0)"), "{bad}");
    let missing = error_after(&|| std::fs::remove_file(&paths[0]).unwrap());
    assert!(missing.contains("part-0.csv") && missing.contains("worker 0 at host-0"), "{missing}");
}

#[test]
fn garbage_is_answered_with_an_error_and_never_with_a_panic() {
    let host = Host::new("here");
    for request in [&[][..], &[0], &[1, 2, 3], &[255; 64], &[0, 0, 1, 0, 255, 255, 255, 255, 15]] {
        let answer = host.handle(request, None);
        assert!(answer.windows(4).any(|window| window == b"here"), "{answer:?}");
    }
}
