//! The run folder: everything a run leaves behind.
//!
//! Each file but `trace.csv` is written under a temporary name and renamed when it is whole.
//! `run.json` is there from the start with `"status": "running"`, so a run that was killed can be
//! told from one that ended.

mod csr;
mod history_file;
mod model_file;
mod npy;
#[cfg_attr(not(feature = "files"), path = "npz_off.rs")]
mod npz;
mod pending;
mod record;
mod replace;
mod sample;
mod tree_file;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

pub(crate) use self::history_file::Past;
pub use self::model_file::FittedModel;
pub use self::npy::{NpyNumber, NpyWriter, write_labels};
pub use self::record::{DataRecord, Point, PosteriorRecord, RunRecord, SelectionRecord, Status, Summary};
pub(crate) use self::record::{FORMAT as RUN_FORMAT, check_format};
pub(crate) use self::replace::{begin_update, finish_update, staged};
pub use self::sample::RowSample;
// public for the command only
#[doc(hidden)]
pub use self::pending::{PARTIAL, PendingFile, write_file};
use crate::engine::{RunTotals, WorkerTotals};
use crate::error::{Error, InputError, Result};
use crate::rows::Shard;
use crate::trace::TraceWriter;
use crate::tree::Tree;

/// The files of a run folder.
pub const FILES: [&str; 20] = [
    "run.json",
    "trace.csv",
    "labels.npy",
    "labels.csv",
    "certainty.npy",
    "draws.npy",
    "workers.csv",
    "model.json",
    "components.npz",
    "tree.json",
    // where labels.npy does not hold components
    "component_labels.npy",
    "sample.npz",
    // rows by cluster and known class, where classes are known
    "classes.csv",
    "report.html",
    // of runs that were updated
    "history.json",
    "history.npz",
    "events.csv",
    "clusters.csv",
    // names that people gave to clusters, for the report
    "names.csv",
    // of the Python package: the parameters of the estimator that was saved here
    "estimator.json",
];

/// A folder that a run writes to.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    /// Creates the folder. One that is there must be empty, unless `force` may replace the files of
    /// an older run in it.
    pub fn create(path: &Path, force: bool) -> Result<Self> {
        claim_folder(path, &FILES, force)?;
        Ok(Self { path: path.to_path_buf() })
    }

    /// Creates `<parent>/<name>-<n>` with the first free number n, from 1.
    pub fn create_next(parent: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(parent).map_err(|source| Error::io("cannot create", parent, source))?;
        let name = folder_name(name);
        for number in 1u64.. {
            let path = parent.join(format!("{name}-{number}"));
            // creating is the test: two runs that start at once get two folders
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::io("cannot create", &path, source)),
            }
        }
        unreachable!("there are more numbers than folders")
    }

    /// The folder of a run that goes on.
    pub fn reopen(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts `trace.csv`.
    pub fn trace(&self) -> Result<TraceWriter> {
        TraceWriter::create(&self.path.join("trace.csv"))
    }

    /// Goes on with `trace.csv` behind its first bytes.
    pub fn trace_again(&self, n_bytes: u64) -> Result<TraceWriter> {
        TraceWriter::reopen(&self.path.join("trace.csv"), n_bytes)
    }

    /// Goes on with `draws.npy` behind its first draws.
    pub fn draws_again(&self, n_draws: usize, n_rows: usize, n_written: usize) -> Result<NpyWriter<i32>> {
        NpyWriter::reopen(&self.path.join("draws.npy"), &[n_draws, n_rows], n_written)
    }

    /// Starts `draws.npy`, which appears when all draws are written.
    pub fn draws(&self, n_draws: usize, n_rows: usize) -> Result<NpyWriter<i32>> {
        NpyWriter::create(&self.path.join("draws.npy"), &[n_draws, n_rows])
    }

    /// Writes `run.json`.
    pub fn write_record(&self, record: &RunRecord<'_>) -> Result<()> {
        write_json(&self.path.join("run.json"), record)
    }

    /// Writes `labels.npy`, `certainty.npy` and `labels.csv`.
    pub fn write_labels(&self, labels: &[u32], certainty: &[f32]) -> Result<()> {
        assert_eq!(labels.len(), certainty.len(), "every label has its certainty");
        write_labels(&self.path.join("labels.npy"), labels)?;
        let mut file = NpyWriter::create(&self.path.join("certainty.npy"), &[certainty.len()])?;
        file.write(certainty.iter().copied())?;
        file.finish()?;
        write_file(&self.path.join("labels.csv"), |file| {
            writeln!(file, "row,label,certainty")?;
            let mut rows = labels.iter().zip(certainty).enumerate();
            rows.try_for_each(|(row, (label, certainty))| writeln!(file, "{row},{label},{certainty}"))
        })
    }

    /// Writes `classes.csv`: how many rows of each cluster are of each known class.
    pub fn write_classes(&self, labels: &[u32], truth: &[u32], name_of: impl Fn(u32) -> String) -> Result<()> {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        labels.iter().zip(truth).for_each(|(&label, &class)| *counts.entry((label, class)).or_default() += 1);
        write_file(&self.path.join("classes.csv"), |file| {
            writeln!(file, "cluster,rows,class")?;
            counts.iter().try_for_each(|((label, class), rows)| {
                // the one text cell comes last and is quoted
                writeln!(file, "{label},{rows},\"{}\"", name_of(*class).replace('"', "\"\"").replace(['\n', '\r'], " "))
            })
        })
    }

    /// Writes `components.npz` and `model.json`.
    pub fn write_model(&self, model: &FittedModel) -> Result<()> {
        model.write(&self.path)
    }

    /// Writes `tree.json`, and the component of each row if `labels.npy` holds another partition.
    pub fn write_tree(&self, tree: &Tree, components: Option<&[u32]>) -> Result<()> {
        components.map_or(Ok(()), |labels| npy::write_labels(&self.path.join("component_labels.npy"), labels))?;
        tree.write(&self.path)
    }

    /// Writes `sample.npz`.
    pub fn write_sample(&self, sample: &RowSample) -> Result<()> {
        sample.write(&self.path)
    }

    /// Writes `workers.csv`: what each worker had and did.
    pub fn write_workers(&self, totals: &RunTotals, shards: &[Shard]) -> Result<()> {
        write_file(&self.path.join("workers.csv"), |file| {
            writeln!(file, "worker,rows,swept_rows,bytes,observed_bytes,seconds,restarts")?;
            for (worker, (totals, shard)) in totals.workers.iter().zip(shards).enumerate() {
                let WorkerTotals { swept_rows, bytes, observed_bytes, seconds, restarts } = totals;
                let rows = shard.n_rows();
                writeln!(file, "{worker},{rows},{swept_rows},{bytes},{observed_bytes},{seconds:.6},{restarts}")?;
            }
            Ok(())
        })
    }
}

/// Writes a JSON file for people and programs to read.
// public for the command only
#[doc(hidden)]
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_file(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Whether `path` can become a folder with these `files`: it is not there, or empty, or `force` may
/// replace what was written there before. The first of `files` marks a folder as ours: without it,
/// not even `force` touches a file of the same name.
// public for the command only
#[doc(hidden)]
pub fn check_folder(path: &Path, files: &[&str], force: bool) -> Result<()> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_writable(path),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let problem = "is a file, expected a folder or a name that is free";
            return Err(InputError::in_file(path, problem).hint("name another folder with `out`").into());
        }
        Err(source) => return Err(Error::io("cannot read the folder", path, source)),
    };
    let n_entries = entries.count();
    if n_entries > 0 && !force {
        let problem = format!("the folder is not empty, it has {n_entries} entries");
        let hint = "name another folder with `out`, or replace what was written there before with `force`";
        return Err(InputError::in_file(path, problem).hint(hint).into());
    }
    let strangers = files[1..].iter().find(|file| path.join(file).exists());
    match strangers {
        Some(file) if !path.join(files[0]).exists() => {
            let problem = format!("has a {file} but no {}, so {file} is not ours to replace", files[0]);
            Err(InputError::in_file(path, problem).hint("name another folder with `out`").into())
        }
        _ => check_writable(path),
    }
}

/// Whether files can be made in the folder, or in the one that it would be made in: an empty one is
/// made, and removed.
// public for the command only
#[doc(hidden)]
pub fn check_writable(path: &Path) -> Result<()> {
    let trial = nearest_folder(path).join(format!(".dirigent-{}", std::process::id()));
    let made = fs::File::create(&trial).map(drop);
    let _ = fs::remove_file(&trial);
    made.map_err(|source| Error::io("cannot write to", path, source).with_hint("name another folder with `out`"))
}

/// The folder, or the nearest around it that is there.
// public for the command only
#[doc(hidden)]
pub fn nearest_folder(path: &Path) -> &Path {
    let nearest = path.ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists());
    nearest.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates the folder, after [`check_folder`]; `force` removes `files` of old and nothing else.
// public for the command only
#[doc(hidden)]
pub fn claim_folder(path: &Path, files: &[&str], force: bool) -> Result<()> {
    check_folder(path, files, force)?;
    fs::create_dir_all(path).map_err(|source| Error::io("cannot create", path, source))?;
    // the mark goes last: a removal that breaks off can be taken up again
    for file in files.iter().rev().map(|file| path.join(file)) {
        for file in [pending::partial(&file), file] {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("cannot replace", &file, error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// A name of letters that are safe in every file system.
fn folder_name(name: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '-' };
    let name: String = name.chars().map(safe).take(60).collect();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "data".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests;
