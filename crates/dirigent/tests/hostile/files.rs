//! Readers of files.

use std::cell::OnceCell;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use dirigent::internals::checkpoint::Stage;
use dirigent::internals::checkpoint::folder::Folder;
use dirigent::internals::io::{DataSet, Selection, Storage, read_labels};
use dirigent::internals::method::consolidated::{ConsolidatedCoordinator, ConsolidatedWorker};
use dirigent::internals::method::slice::{SliceCoordinator, SliceWorker};
use dirigent::internals::method::subc::SubcWorker;
use dirigent::internals::posterior::horizon::Cycles;
use dirigent::internals::protocol::CoordinatorOptions;
use dirigent::internals::rows::{Shard, Table};
use dirigent::internals::run_dir::FittedModel;
use dirigent::internals::survey::Survey;
use dirigent::{Error, Kernel, Result, Row, Spill};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use super::parts;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// A place for files, in memory where there is such a place.
fn folder() -> PathBuf {
    let in_memory = Path::new("/dev/shm");
    let make = || if in_memory.is_dir() { TempDir::new_in(in_memory) } else { TempDir::new() };
    FOLDER.with(|folder| folder.get_or_init(|| make().unwrap()).path().to_owned())
}

fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Whatever is wrong with a file is the user's to mend, and is said with the file's name.
fn expect_named<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(Error::Input(error)) => {
            assert!(error.file.is_some() || !error.problem.is_empty(), "a mistake without a name: {error}");
            None
        }
        Err(error) => panic!("not the user's mistake: {error}"),
    }
}

/// The memory that rows may take: zeros that sparse rows are written out with are not in the file.
const MEMORY: u64 = 8 << 20;

/// A file of rows.
pub fn open(name: &str, bytes: &[u8]) -> bool {
    let path = write(name, bytes);
    let storage = Storage { memory: Some(MEMORY), spill: Spill::Never, ..Storage::default() };
    let opened = DataSet::open_with(&[path], &Selection::default(), &storage);
    let Some(data) = expect_named(opened) else { return false };
    let rows = data.all_rows();
    for row in rows.rows() {
        match row {
            Row::F32(cells) => assert!(!cells.iter().any(|cell| cell.is_infinite())),
            Row::F64(cells) => assert!(!cells.iter().any(|cell| cell.is_infinite())),
            Row::Counts(row) => {
                assert!(row.words.is_sorted_by(|a, b| a < b) && row.counts.iter().all(|count| *count > 0));
                assert!(row.words.last().is_none_or(|word| (*word as usize) < data.n_columns()));
            }
        }
    }
    Survey::of(&rows).n_rows == data.n_rows() as u64
}

/// A `.npz` file as it is, or the arrays of one: their checksums would keep most mutations from being read.
pub fn npz(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((0, arrays)) => open("rows.npz", &zipped(arrays)),
        Some((_, file)) => open("rows.npz", file),
        None => false,
    }
}

fn zipped(arrays: &[u8]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let parts = parts(arrays);
    for (number, pair) in parts.chunks_exact(2).enumerate() {
        let name = format!("{}.npy", String::from_utf8_lossy(pair[0]));
        let is_new = parts.chunks_exact(2).take(number).all(|earlier| earlier[0] != pair[0]);
        if is_new && zip.start_file(name, SimpleFileOptions::default()).is_ok() {
            zip.write_all(pair[1]).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

/// A file of labels.
pub fn labels(bytes: &[u8]) -> bool {
    let [text, array] = ["labels.txt", "labels.npy"].map(|name| expect_named(read_labels(&write(name, bytes))));
    text.is_some() || array.is_some()
}

/// `model.json`, and the arrays of `components.npz`.
pub fn model(bytes: &[u8]) -> bool {
    let parts = parts(bytes);
    let Some((json, _)) = parts.split_first() else { return false };
    let arrays = bytes.get(json.len() + super::BORDER.len()..).unwrap_or_default();
    write("model.json", json);
    write("components.npz", &zipped(arrays));
    let Some(model) = expect_named(FittedModel::read(&folder())) else { return false };
    model.write(&folder()).unwrap();
    assert_eq!(FittedModel::read(&folder()).unwrap(), model);
    true
}

/// The parts of a checkpoint, the manifest made to fit; and whatever nodes they are taken for.
pub fn checkpoint(bytes: &[u8]) -> bool {
    let path = folder().join("checkpoint");
    fs::create_dir_all(&path).unwrap();
    let (mode, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let mut parts = parts(bytes);
    // one way out of two the manifest itself is under trial
    let manifest = (mode % 2 == 1).then(|| parts.remove(0).to_vec());
    let described: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(number, part)| {
            let file = format!("00000001-{number}.part");
            fs::write(path.join(&file), part).unwrap();
            format!(r#"{{"file": "{file}", "bytes": {}, "crc32": {}}}"#, part.len(), crc32fast::hash(part))
        })
        .collect();
    let made =
        format!(r#"{{"format": 1, "version": "0", "chain": 1, "cycle": 1, "parts": [{}]}}"#, described.join(", "));
    fs::write(path.join("00000001.json"), manifest.unwrap_or(made.into_bytes())).unwrap();
    let found = Folder::of_run(&folder()).unwrap().read().unwrap();
    let Some(checkpoint) = found.checkpoint else { return false };
    if let Stage::Nodes(nodes) = checkpoint.saved.stage {
        recall(&nodes.coordinator, &nodes.workers);
    }
    true
}

fn recall(coordinator: &[u8], workers: &[Vec<u8>]) {
    let _ = ConsolidatedCoordinator::resume(coordinator_options(), coordinator);
    let _ = SliceCoordinator::resume(slice_options(), coordinator);
    for worker in workers {
        let shard = || Shard::of_table(Table::from_f64(2, vec![0.5; 24]));
        let _ = ConsolidatedWorker::restore(0, shard(), Kernel::Portable, worker);
        let _ = SliceWorker::restore(0, shard(), Kernel::Portable, worker);
        let _ = SubcWorker::restore(0, shard(), Kernel::Portable, worker);
    }
}

/// Of three workers, for a few cycles.
pub fn coordinator_options() -> CoordinatorOptions {
    CoordinatorOptions {
        n_workers: 3,
        cycles: Cycles::Fixed(6),
        seed: 1,
        kernel: Some(Kernel::Portable),
        ..CoordinatorOptions::default()
    }
}

/// The same for methods in rounds.
pub fn slice_options() -> CoordinatorOptions {
    CoordinatorOptions {
        n_workers: 3,
        cycles: Cycles::Fixed(4),
        seed: 1,
        kernel: Some(Kernel::Portable),
        moves_per_cycle: 2,
        ..CoordinatorOptions::default()
    }
}
