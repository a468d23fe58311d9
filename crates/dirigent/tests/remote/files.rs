//! Hosts that read their own rows.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dirigent::internals::engine::remote::{FileRows, Remote, RowSource};
use dirigent::internals::io::{DataSet, FittedColumns, Selection};
use dirigent::internals::method::consolidated::Engine;
use dirigent::internals::rows::{Shard, worker_rows};
use dirigent::internals::survey::Survey;
use dirigent::{Model, Row, Schedule};

use super::transports::Loopback;
use super::{Log, ROWS, WORKERS, consolidated, fit, model, table};

/// The rows in three files of unequal length.
fn files(folder: &Path) -> Vec<PathBuf> {
    let shard = Shard::of_table(table());
    [0..200, 200..1100, 1100..ROWS]
        .into_iter()
        .enumerate()
        .map(|(number, rows)| {
            let path = folder.join(format!("part-{number}.csv"));
            let line = |row: Row<'_>| match row {
                Row::F64(cells) => format!("{},{}\n", cells[0], cells[1]),
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
        formats: Vec::new(),
        left_out: Vec::new(),
        numbered_from_zero: false,
    };
    let files = data.files().iter().map(|file| (file.path.clone(), file.n_rows)).collect();
    let all = FileRows { files, rows: 0..ROWS, columns, is_counts: false, transform: None, has_missing: false };
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
        let error = dirigent::internals::method::run(&rows, &model, &options, None, &mut Log::default());
        files(folder.path());
        error.unwrap_err().to_string()
    };
    let shorter = error_after(&|| std::fs::write(&paths[2], "x,y\n1,2\n").unwrap());
    assert!(shorter.contains("part-2.csv: has 1 rows here, but 400 where the run was planned"), "{shorter}");
    assert!(shorter.contains("(worker 3 at host-3)"), "{shorter}");
    let with_text = std::fs::read_to_string(&paths[0]).unwrap().replacen(',', ",y", 2).replacen(",yy", ",y", 1);
    let bad = error_after(&|| std::fs::write(&paths[0], &with_text).unwrap());
    assert!(bad.contains("part-0.csv") && bad.contains("column y") && bad.contains("(worker 0 at host-0)"), "{bad}");
    let missing = error_after(&|| std::fs::remove_file(&paths[0]).unwrap());
    assert!(missing.contains("part-0.csv") && missing.contains("worker 0 at host-0"), "{missing}");
}
