//! A run that is to be resumed: what its folder knows of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{DataOptions, FitOptions};
use crate::checkpoint::folder::{Checkpoint, Folder};
use crate::error::{Error, InputError, Result};
use crate::io::is_address;
use crate::model::Model;
use crate::run_dir::{DataRecord, check_format};

/// Options that may differ when a run is resumed: where the data is, where and how fast it runs,
/// how long, and what its labels are.
const MAY_CHANGE: [&str; 14] = [
    "paths",
    "cache_dir",
    "spill",
    "memory",
    "workers",
    "threads",
    "engine",
    "address",
    "rejoin_timeout",
    "checkpoint_dir",
    "cycles",
    "max_cycles",
    "time_limit",
    "clusters",
];
/// Those of them that decide when the run ends.
const ENDINGS: [&str; 3] = ["cycles", "max_cycles", "time_limit"];

/// An option that is given again when a run is resumed, and its value as JSON.
pub type GivenOption = (String, Value);

/// The options of a run folder.
pub(super) fn read_options(run: &Path) -> Result<FitOptions> {
    from_value(read_record(run)?["options"].take(), run)
}

/// A run that can be resumed.
#[derive(Debug)]
pub struct StoredRun {
    /// Its folder.
    pub path: PathBuf,
    /// Where its rows are.
    pub data: DataOptions,
    /// Its options.
    pub options: FitOptions,
    /// Checkpoints that could not be read, and why.
    pub damaged: Vec<String>,
    record: Value,
    checkpoint: Option<Checkpoint>,
}

impl StoredRun {
    /// Reads a run folder, with options that are given again. Options that contradict the run are
    /// rejected.
    pub fn read(run: &Path, given: &[GivenOption]) -> Result<Self> {
        let record = read_record(run)?;
        let has_ended = record["status"] == "finished";
        let folder = Folder::of_run(run)?;
        if has_ended && !folder.has_any() {
            return Err(nothing_left(run));
        }
        let before: FitOptions = from_value(record["options"].clone(), run)?;
        let mut changed = [record["data"]["options"].clone(), record["options"].clone()];
        for (name, value) in given {
            let Some((part, at)) = pointer(name, &changed) else {
                return Err(InputError::new(format!("`{name}` is no option of a fit")).into());
            };
            let stored = changed[part].pointer_mut(&at).expect("the pointer was just found");
            if !MAY_CHANGE.contains(&&**name) && stored != value {
                return Err(contradicts(name, value, stored).into());
            }
            *stored = value.clone();
            if name == "engine" {
                // the number of threads belongs to the engine of before
                changed[1]["engine"]["threads"] = Value::Null;
            }
        }
        let is_other_end = |(name, value): &&GivenOption| {
            let stored = pointer(name, &changed).and_then(|(part, at)| match part {
                0 => record["data"]["options"].pointer(&at),
                _ => record["options"].pointer(&at),
            });
            ENDINGS.contains(&&**name) && stored != Some(value)
        };
        let is_longer = given.iter().any(|option| is_other_end(&option));
        let [data, mut options] = changed;
        if !options["run"]["cycles"].is_string() {
            options["run"]["max_cycles"] = Value::Null;
        }
        let data: DataOptions = from_value(data, run)?;
        let options: FitOptions = from_value(options, run)?;
        if is_longer {
            check_longer(&before, &options)?;
        }
        if has_ended && !is_longer {
            let hint = "ask for more `cycles`, `max_cycles` or `time_limit`, or fit to another folder; `dirigent report` writes its report again";
            return Err(InputError::in_file(run, "the run has ended: there is nothing to resume").hint(hint).into());
        }
        check_data_is_there(run, &data.paths)?;
        let found = folder.read()?;
        if has_ended && found.checkpoint.is_none() {
            return Err(nothing_left(run));
        }
        let damaged = found.passed_over.iter().map(ToString::to_string).collect();
        Ok(Self { path: run.to_path_buf(), data, options, damaged, record, checkpoint: found.checkpoint })
    }

    /// The chain, from 1, and the cycle after which the run continues; `None` if it begins again.
    pub fn place(&self) -> Option<(u16, u64)> {
        self.checkpoint.as_ref().map(|checkpoint| checkpoint.saved.place())
    }

    /// Rejects data or priors that are not those of the run; returns the checkpoint to resume from.
    pub(super) fn take_checkpoint(
        &mut self,
        data: &DataRecord<'_>,
        model: &Model,
        n_workers: usize,
    ) -> Result<Option<Checkpoint>> {
        let before = self.record.pointer("/data/fingerprint").and_then(Value::as_str).unwrap_or_default();
        if before != data.fingerprint {
            return Err(other_data(data, before, &self.path).into());
        }
        let model = serde_json::to_value(model).expect("our own types become JSON");
        // the workers' sums are added up, so another number of them rounds otherwise
        let has_same_workers = self.record["options"]["engine"]["workers"] == n_workers;
        let stored = &self.record["model"];
        let is_same = if has_same_workers { *stored == model } else { is_near(stored, &model) };
        if !is_same {
            let problem = "the model comes out otherwise than when the run was started";
            let hint = "was it started by another version of this software?";
            return Err(InputError::new(problem).hint(hint).into());
        }
        Ok(self.checkpoint.take())
    }
}

/// The value of an option by its name, as `run.json` has it; `None` if there is no such option.
#[doc(hidden)]
pub fn option_value(data: &DataOptions, options: &FitOptions, name: &str) -> Option<Value> {
    let json = |value: serde_json::Result<Value>| value.expect("our own types become JSON");
    let parts = [json(serde_json::to_value(data.absolute())), json(serde_json::to_value(options))];
    pointer(name, &parts).and_then(|(part, at)| parts[part].pointer(&at).cloned())
}

/// Where an option is: in the options of the data (0) or of the fit (1), and the JSON pointer to
/// it.
fn pointer(name: &str, parts: &[Value; 2]) -> Option<(usize, String)> {
    match name {
        "method" | "engine" => return Some((1, format!("/{name}/name"))),
        _ => {}
    }
    if parts[0].get(name).is_some() {
        return Some((0, format!("/{name}")));
    }
    let groups = parts[1].as_object()?;
    groups.iter().find(|(_, group)| group.get(name).is_some()).map(|(group, _)| (1, format!("/{group}/{name}")))
}

fn contradicts(name: &str, value: &Value, stored: &Value) -> InputError {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let was = if stored.is_null() { "without it".to_owned() } else { format!("with `{name}` {}", text(stored)) };
    let problem = format!("`{name}` {} contradicts the resumed run, which was started {was}", text(value));
    InputError::new(problem).hint("leave it out: a run continues as it was started")
}

fn from_value<T: serde::de::DeserializeOwned>(value: Value, run: &Path) -> Result<T> {
    serde_json::from_value(value).map_err(|error| {
        let problem = format!("the run was started by another version of this software: {error}");
        InputError::in_file(run.join("run.json"), problem).hint("resume it with that version").into()
    })
}

fn nothing_left(run: &Path) -> Error {
    let problem = "the run has ended, and there is nothing left to resume";
    let hint = "fit to another folder; only long runs that did not settle leave a checkpoint, or `checkpoint_every` 0";
    InputError::in_file(run, problem).hint(hint).into()
}

/// Files may have moved since the run was started.
fn check_data_is_there(run: &Path, data: &[PathBuf]) -> Result<()> {
    let is_name = |path: &Path| !is_address(path) && !path.to_string_lossy().contains(['*', '?', '[']);
    match data.iter().find(|path| is_name(path) && !path.exists()) {
        Some(gone) => Err(InputError::in_file(gone, "no such file").hint(where_it_is(run)).into()),
        None => Ok(()),
    }
}

/// Rejects an end that is not a later one of the same kind, or that would not be as if it had been
/// asked for at once.
fn check_longer(before: &FitOptions, after: &FitOptions) -> Result<()> {
    let problem = if after.run.draws.is_some() {
        "a run with `draws` cannot be made longer: its draws are of the last cycles"
    } else if after.run.chains > 1 {
        "a run of several `chains` cannot be made longer: those that have ended would not be"
    } else if !is_later(before, after) {
        "`cycles`, `max_cycles` and `time_limit` of a resumed run must be more than before"
    } else {
        return Ok(());
    };
    Err(InputError::new(problem).hint("resume it as it was started, or fit to another folder").into())
}

fn is_later(before: &FitOptions, after: &FitOptions) -> bool {
    let (before, after) = (&before.run, &after.run);
    let by_cycles = match (before.cycles, after.cycles) {
        (Some(before), Some(after)) => after >= before,
        (before, after) => before == after,
    };
    let by_maximum = after.max_cycles >= before.max_cycles;
    let by_time = after.time_limit.is_none_or(|after| before.time_limit.is_some_and(|before| before <= after));
    by_cycles && by_maximum && by_time
}

fn other_data(data: &DataRecord<'_>, expected: &str, run: &Path) -> InputError {
    let (found, n_files) = (&data.fingerprint, data.files.len());
    let of_files = if n_files > 1 { format!(" of all {n_files} files") } else { String::new() };
    let problem = format!(
        "the data is not what the run was started with: the fingerprint{of_files} is {found}, expected {expected}"
    );
    let hint = format!("restore the data, or {}; changed data needs a new fit", where_it_is(run));
    InputError { file: data.files.first().map(|file| file.path.clone()), ..InputError::new(problem).hint(hint) }
}

fn where_it_is(run: &Path) -> String {
    format!("say where it is now: `dirigent fit DATA --resume {}`", run.display())
}

/// Whether two models are the same but for rounding.
fn is_near(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
            _ => a == b,
        },
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_near(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_near(a, b)))
        }
        _ => a == b,
    }
}

/// How a run can be resumed, if it can; `record` is its `run.json`.
#[doc(hidden)]
pub fn describe_resume(run: &Path, record: &Value) -> Option<String> {
    let folder = Folder::of_run(run).ok()?;
    let newest = folder.newest();
    let command = format!("dirigent fit --resume {}", run.display());
    let has_ended = record["status"] == "finished";
    let has_draws = !record["options"]["run"]["draws"].is_null();
    match newest {
        Some(_) if has_ended && has_draws => None,
        Some((_, cycle)) if has_ended => Some(format!("{command} --cycles N, for more than {cycle} cycles")),
        Some((1, cycle)) => Some(format!("{command} (continues after cycle {cycle})")),
        Some((chain, cycle)) => Some(format!("{command} (continues after cycle {cycle} of chain {chain})")),
        None if has_ended || !folder.path().exists() => None,
        None if folder.has_any() => Some(format!("{command} (none of its checkpoints can be read: it starts again)")),
        None => Some(format!("{command} (there is no checkpoint yet: it starts again)")),
    }
}

fn read_record(run: &Path) -> Result<Value> {
    let path = run.join("run.json");
    let unreadable = |error: &dyn std::fmt::Display| {
        let hint = "name the folder of a run that `dirigent fit` has started, or start it again";
        InputError::in_file(&path, format!("cannot be read, so the run cannot be resumed: {error}")).hint(hint)
    };
    let text = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
    let record = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    check_format(&record, &path)?;
    Ok(record)
}
