//! `dirigent fit --resume RUN`: what the run was asked for, and where it goes on from.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use dirigent::checkpoint::folder::{Checkpoint, FOLDER, Folder};
use dirigent::io::is_address;
use dirigent::model::Model;
use dirigent::posterior::horizon::Cycles;
use dirigent::run_dir::DataRecord;
use dirigent::{Error, InputError, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{CyclesArg, FitArgs, RunArgs};
use crate::keep::COMMAND;
use crate::said::Said;

/// A run that goes on.
pub(crate) struct Resumed {
    /// Its folder, as it was typed.
    pub(crate) run: PathBuf,
    /// `run.json` as it is.
    record: Value,
    checkpoint: Option<Checkpoint>,
}

/// Reads what a run folder knows: all that the run is asked for, and where it stood. `fit` is what was said to resume it.
pub(crate) fn read(run: &Path, fit: &ArgMatches) -> Result<(FitArgs, Resumed)> {
    let record: Value = read_json(run, "run.json")?;
    let has_ended = record["status"] == "finished";
    if has_ended && !run.join(FOLDER).join(COMMAND).exists() {
        return Err(nothing_left(run));
    }
    let before: Said = read_json(run, &format!("{FOLDER}/{COMMAND}"))?;
    let anew = Said::of(fit);
    let is_longer = anew.ends_otherwise(&before);
    let mut args = before.with(anew)?.parse(fit)?;
    if let Some(kernel) = record["kernel"].as_str() {
        args.run.kernel = kernel.to_owned();
    }
    if is_longer {
        check_longer(&before.parse(fit)?.run, &args.run)?;
    }
    if has_ended && !is_longer {
        let hint = "ask for more with --cycles, --max-cycles or --time-limit, or fit anew to another folder; `dirigent report` writes its report again";
        return Err(InputError::in_file(run, "the run has ended: there is nothing to resume").hint(hint).into());
    }
    check_data_is_there(run, &args.data)?;
    let found = Folder::of_run(run)?.read()?;
    let console = args.output.console();
    for problem in &found.passed_over {
        console.say(format_args!("warning: a checkpoint is damaged and passed over: {problem}"));
    }
    match (&found.checkpoint, has_ended) {
        (Some(checkpoint), _) => {
            let (chain, cycle) = checkpoint.saved.place();
            let of_chain = if args.run.chains > 1 { format!(" of chain {chain}") } else { String::new() };
            console.say(format_args!("resumed: goes on after cycle {cycle}{of_chain}"));
        }
        (None, false) if found.passed_over.is_empty() => {
            console.say("resumed: there is no checkpoint yet, so the run begins anew");
        }
        (None, false) => console.say("resumed: none of its checkpoints can be read, so the run begins anew"),
        (None, true) => return Err(nothing_left(run)),
    }
    Ok((args, Resumed { run: run.to_path_buf(), record, checkpoint: found.checkpoint }))
}

fn nothing_left(run: &Path) -> Error {
    let problem = "the run has ended, and there is nothing left to resume";
    let hint =
        "fit anew to another folder; only long runs that did not settle leave a checkpoint, or --checkpoint-every 0";
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

/// Refuses an end that is not a later one of the same kind, or that would not be as if it had been asked for at once.
fn check_longer(before: &RunArgs, after: &RunArgs) -> Result<()> {
    let problem = if after.draws.is_some() {
        "a run with --draws cannot be made longer: its draws are of the last cycles"
    } else if after.chains > 1 {
        "a run of several --chains cannot be made longer: those that have ended would not be"
    } else if !is_later(before, after) {
        "--cycles, --max-cycles and --time-limit of a run that goes on must be more than before"
    } else {
        return Ok(());
    };
    Err(InputError::new(problem).hint("resume it as it was started, or fit anew to another folder").into())
}

fn is_later(before: &RunArgs, after: &RunArgs) -> bool {
    let by_cycles = match (before.cycles, after.cycles) {
        (CyclesArg::Fixed(before), CyclesArg::Fixed(after)) => after >= before,
        (before, after) => before == after,
    };
    // left out, there are as many as usual, or there is no limit
    let by_maximum = after.max_cycles.is_some_and(|after| before.max_cycles.unwrap_or(Cycles::USUAL_MAX) <= after)
        || after.max_cycles == before.max_cycles;
    let by_time = after.time_limit.is_none_or(|after| before.time_limit.is_some_and(|before| before <= after));
    by_cycles && by_maximum && by_time
}

impl Resumed {
    /// Refuses data or priors that are not those of the run; the checkpoint to go on from is returned.
    pub(crate) fn check(
        &mut self,
        data: &DataRecord<'_>,
        model: &Model,
        n_workers: usize,
    ) -> Result<Option<Checkpoint>> {
        let before = self.record.pointer("/data/fingerprint").and_then(Value::as_str).unwrap_or_default();
        if before != data.fingerprint {
            return Err(other_data(data, before, &self.run).into());
        }
        let model = serde_json::to_value(model).expect("our own types become JSON");
        // the workers' sums are added up, so another number of them rounds otherwise
        let has_same_workers = self.record["options"]["workers"] == n_workers;
        let is_same =
            if has_same_workers { self.record["model"] == model } else { is_near(&self.record["model"], &model) };
        if !is_same {
            let problem = "the model comes out otherwise than when the run was started";
            let hint = "was it started by another version of this software?";
            return Err(InputError::new(problem).hint(hint).into());
        }
        Ok(self.checkpoint.take())
    }
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

/// How a run can be resumed, if it can.
pub(crate) fn describe(run: &Path, record: &Value) -> Option<String> {
    let folder = Folder::of_run(run).ok()?;
    let newest = folder.newest();
    let command = format!("dirigent fit --resume {}", run.display());
    let has_ended = record["status"] == "finished";
    let has_draws = !record["options"]["draws"].is_null();
    match newest {
        Some(_) if has_ended && has_draws => None,
        Some((_, cycle)) if has_ended => Some(format!("{command} --cycles N, for more than {cycle} cycles")),
        Some((1, cycle)) => Some(format!("{command} (goes on after cycle {cycle})")),
        Some((chain, cycle)) => Some(format!("{command} (goes on after cycle {cycle} of chain {chain})")),
        None if has_ended || !run.join(FOLDER).join(COMMAND).exists() => None,
        None if folder.has_any() => Some(format!("{command} (none of its checkpoints can be read: it begins anew)")),
        None => Some(format!("{command} (there is no checkpoint yet: it begins anew)")),
    }
}

fn read_json<T: DeserializeOwned>(run: &Path, name: &str) -> Result<T> {
    let path = run.join(name);
    let unreadable = |error: &dyn std::fmt::Display| {
        let hint = "name the folder of a run that `dirigent fit` has started, or start it again";
        InputError::in_file(&path, format!("cannot be read, so the run cannot be resumed: {error}")).hint(hint)
    };
    let text = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
    Ok(serde_json::from_str(&text).map_err(|error| unreadable(&error))?)
}
