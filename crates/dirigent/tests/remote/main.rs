//! Workers that only bytes reach: the same labels as on threads, and nothing lost when a host dies.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dirigent::Result;
use dirigent::checkpoint::Saved;
use dirigent::engine::RunTotals;
use dirigent::engine::remote::{Delivery, FileRows, Host, Remote, RowSource, Transport};
use dirigent::io::{DataSet, FittedColumns, Selection};
use dirigent::method::MethodOptions;
use dirigent::method::av::AvOptions;
use dirigent::method::cgs::{Draws, Observer, Outcome};
use dirigent::method::distributed::{DistributedOptions, DrawsFrom, Engine};
use dirigent::method::rounds::RoundsOptions;
use dirigent::model::{Alpha, Model, ModelOptions};
use dirigent::node::{CoordinatorOptions, RoundsCoordinatorOptions, Schedule};
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
    /// Borders after which the state is put away.
    keeps_after: Option<usize>,
    n_borders: usize,
    kept: Option<Saved>,
    /// The state to go on from.
    saved: Option<Saved>,
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
    fn on_checkpoint(&mut self, saved: Saved) -> Result<()> {
        self.kept = Some(saved);
        Ok(())
    }
    fn take_saved(&mut self) -> Option<Saved> {
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
    ModelOptions { noise_sd: Some(1.0), mean_sd: Some(20.0), ..ModelOptions::default() }
}

fn consolidated(schedule: Schedule, splits: bool, draws: Option<Draws>, engine: Engine) -> MethodOptions {
    on_workers(WORKERS, schedule, splits, draws, engine)
}

fn on_workers(
    n_workers: usize,
    schedule: Schedule,
    splits: bool,
    draws: Option<Draws>,
    engine: Engine,
) -> MethodOptions {
    let coordinator = CoordinatorOptions {
        n_workers: n_workers as u32,
        model: model(),
        splits,
        schedule,
        cycles: Cycles::Fixed(12),
        seed: 3,
        ..CoordinatorOptions::default()
    };
    MethodOptions::Distributed(DistributedOptions { coordinator, draws, engine, ..DistributedOptions::default() })
}

fn in_rounds(engine: Engine) -> RoundsOptions {
    let coordinator = RoundsCoordinatorOptions {
        n_workers: WORKERS as u32,
        model: model(),
        alpha: Alpha::Fixed(1.0),
        cycles: Cycles::Fixed(8),
        seed: 3,
        ..RoundsCoordinatorOptions::default()
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
fn a_run_goes_on_from_a_checkpoint_on_another_engine_as_if_nothing_had_happened() {
    let method = |engine| consolidated(Schedule::Sync, true, None, engine);
    let there = || remote(Loopback::new(WORKERS, None), None);
    let expected = fit(&method(Engine::Threads(2)), &mut Log::default()).0;
    for (first, second) in [(there(), Engine::Threads(2)), (Engine::Threads(2), there()), (there(), there())] {
        let mut log = Log { keeps_after: Some(4), ..Log::default() };
        assert!(fit(&method(first), &mut log).0 == expected, "a checkpoint changes nothing");
        let mut log = Log { saved: log.kept, ..Log::default() };
        assert!(fit(&method(second), &mut log).0 == expected, "other labels");
        // those after the border
        assert_eq!(log.log_joints.len(), 12 - 4);
    }
}

#[test]
fn a_run_goes_on_with_another_number_of_workers() {
    for schedule in [Schedule::Sync, Schedule::Async] {
        let mut log = Log { keeps_after: Some(4), ..Log::default() };
        let expected = fit(&consolidated(schedule, true, None, Engine::Threads(2)), &mut log).0;
        for n_workers in [1, 3, 8] {
            let options = on_workers(n_workers, schedule, true, None, Engine::Threads(2));
            let mut again = Log { saved: log.kept.clone(), ..Log::default() };
            let (outcome, _) = fit(&options, &mut again);
            let what = format!("{schedule:?}, {n_workers} workers");
            assert_eq!((outcome.k, outcome.cycles, outcome.labels.len()), (expected.k, 12, ROWS), "{what}");
            assert_eq!(outcome.labels, expected.labels, "{what}: six clusters that nobody could mistake");
            // it goes on where it was: no worker seats its rows anew
            let at_border = log.log_joints[3];
            assert!(again.log_joints.iter().all(|it| (it - at_border).abs() < 1e-2 * at_border.abs()), "{what}");
        }
    }
}

#[test]
fn a_run_that_keeps_states_goes_on_with_the_workers_it_had() {
    let draws = Some(Draws { n_draws: 3, thin: 2 });
    let rows = Shard::of_table(table());
    let model = Model::resolve(&model(), &Survey::of(&rows)).unwrap();
    let goes_on = |draws_from, keeps_after| {
        let options = |n_workers| match on_workers(n_workers, Schedule::Sync, false, draws, Engine::Threads(2)) {
            MethodOptions::Distributed(options) => {
                MethodOptions::Distributed(DistributedOptions { draws_from, ..options })
            }
            _ => unreachable!("it is a method that consolidates"),
        };
        let mut log = Log { keeps_after: Some(keeps_after), ..Log::default() };
        fit(&options(WORKERS), &mut log);
        let mut again = Log { saved: log.kept, ..Log::default() };
        dirigent::method::run(&rows, &model, &options(3), None, &mut again).map(|_| again.n_draws)
    };
    // the cycles before the exact sampler keep nothing
    assert_eq!(goes_on(DrawsFrom::Exact, 4).unwrap(), 3);
    for (draws_from, keeps_after) in [(DrawsFrom::Exact, 20), (DrawsFrom::Fast, 4)] {
        let error = goes_on(draws_from, keeps_after).unwrap_err();
        assert!(error.to_string().ends_with("goes on with the workers it had: 3 are not 5"), "{error}");
        assert_eq!(error.hint(), Some("resume it with 5 workers"));
    }
}

/// A transport that spoils what a worker says, for a while.
struct Spoiling {
    inner: Loopback,
    worker: u32,
    after: usize,
    times: usize,
}

impl Transport for Spoiling {
    fn post(&mut self, worker: u32, request: Vec<u8>, shared: Option<&Arc<[u8]>>) -> Result<()> {
        self.inner.post(worker, request, shared)
    }

    fn receive(&mut self, wait: Duration) -> Result<Vec<Delivery>> {
        let mut arrived = self.inner.receive(wait)?;
        for delivery in &mut arrived {
            if let Delivery::Answer(worker, bytes) = delivery
                && *worker == self.worker
                && self.times > 0
            {
                if self.after > 0 {
                    self.after -= 1;
                    continue;
                }
                self.times -= 1;
                let middle = bytes.len() / 2;
                bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            }
        }
        Ok(arrived)
    }
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
        (dirigent::method::run(&rows, &model, &options, None, &mut log), log.notices)
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
