//! How fast files are read: `cargo bench -p dirigent --bench load -- FILE…`, or without files a made `.csv` of a million rows and 20 columns.
//!
//! Each file is opened three times, so that it comes from the memory of the system; the fastest counts.
#![allow(clippy::print_stdout, reason = "its figures are its output")]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use dirigent::internals::io::{DataSet, Selection};

const N_ROWS: usize = 1_000_000;
const N_COLUMNS: usize = 20;

fn main() {
    let files: Vec<PathBuf> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).map(PathBuf::from).collect();
    if !files.is_empty() {
        files.iter().for_each(|file| measure(file));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the file");
    let file = folder.path().join("made.csv");
    make(&file).expect("room for the file");
    measure(&file);
}

fn measure(file: &Path) {
    let megabytes = fs::metadata(file).expect("a file").len() as f64 / 1e6;
    let mut fastest = f64::INFINITY;
    let mut shape = (0, 0);
    for _ in 0..3 {
        let start = Instant::now();
        let data = DataSet::open(&[file.to_path_buf()], &Selection::default()).expect("a file of data");
        fastest = fastest.min(start.elapsed().as_secs_f64());
        shape = (data.n_rows(), data.n_columns());
    }
    let (n_rows, n_columns) = shape;
    let cells = n_rows as f64 * n_columns as f64 / fastest / 1e6;
    println!(
        "{}: {n_rows} × {n_columns}, {megabytes:.0} MB in {fastest:.2} s: {:.0} MB/s, {cells:.1} million cells a second",
        file.display(),
        megabytes / fastest
    );
}

/// Numbers with all their digits, as most programs write them.
fn make(file: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut state = 1u64;
    for row in 0..N_ROWS {
        for column in 0..N_COLUMNS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = (state >> 11) as f64 / (1u64 << 53) as f64 * 8.0 - 4.0 + (row % 7) as f64;
            let separator = if column + 1 == N_COLUMNS { "\n" } else { "," };
            write!(out, "{number}{separator}")?;
        }
    }
    out.flush()
}
