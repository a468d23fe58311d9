//! `dirigent fit --resume RUN`: what the run was asked for, and where it goes on from.

use std::fs;
use std::path::Path;

use clap::ArgMatches;
use dirigent::checkpoint::folder::{Checkpoint, FOLDER, Folder};
use dirigent::model::Model;
use dirigent::{InputError, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::FitArgs;
use crate::keep::COMMAND;
use crate::said::Said;

/// A run that goes on.
pub(crate) struct Resumed {
    /// `run.json` as it is.
    record: Value,
    checkpoint: Option<Checkpoint>,
}

/// Reads what a run folder knows: all that the run is asked for, and where it stood. `fit` is what was said to resume it.
pub(crate) fn read(run: &Path, fit: &ArgMatches) -> Result<(FitArgs, Resumed)> {
    let record: Value = read_json(run, "run.json")?;
    let before: Said = read_json(run, &format!("{FOLDER}/{COMMAND}"))?;
    let anew = Said::of(fit);
    let is_longer = anew.ends_otherwise(&before);
    let mut args = before.with(anew)?.parse(fit)?;
    if let Some(kernel) = record["kernel"].as_str() {
        args.run.kernel = kernel.to_owned();
    }
    if is_longer && args.run.draws.is_some() {
        let problem = "a run with --draws cannot be made longer: its draws are of the last cycles";
        return Err(InputError::new(problem).hint("resume it as it was started").into());
    }
    let has_ended = record["status"] == "finished";
    if has_ended && !is_longer {
        let hint = "ask for more with --cycles, --max-cycles or --time-limit, or fit anew to another folder";
        return Err(InputError::in_file(run, "the run has ended: there is nothing to resume").hint(hint).into());
    }
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
        (None, false) => console.say("resumed: there is no checkpoint yet, so the run begins anew"),
        (None, true) => {
            let problem = "the run has ended and left no checkpoint to go on from";
            let hint = "fit anew to another folder; long runs keep one, and so does --checkpoint-every 0";
            return Err(InputError::in_file(run, problem).hint(hint).into());
        }
    }
    Ok((args, Resumed { record, checkpoint: found.checkpoint }))
}

impl Resumed {
    /// Refuses data or priors that are not those of the run; the checkpoint to go on from is returned.
    pub(crate) fn check(self, fingerprint: &str, model: &Model) -> Result<Option<Checkpoint>> {
        let before = self.record.pointer("/data/fingerprint").and_then(Value::as_str).unwrap_or_default();
        if before != fingerprint {
            let problem = format!("the data is not what the run was started with: {fingerprint}, expected {before}");
            let hint = "restore the files, or name the right ones before --resume; changed data needs a new fit";
            return Err(InputError::new(problem).hint(hint).into());
        }
        let model = serde_json::to_value(model).expect("our own types become JSON");
        if self.record["model"] != model {
            let problem = "the model comes out otherwise than when the run was started";
            let hint = "was it started by another version of this software?";
            return Err(InputError::new(problem).hint(hint).into());
        }
        Ok(self.checkpoint)
    }
}

/// How a run can be resumed, if it can.
pub(crate) fn describe(run: &Path, record: &Value) -> Option<String> {
    let newest = Folder::of_run(run).ok()?.newest();
    let command = format!("dirigent fit --resume {}", run.display());
    let has_ended = record["status"] == "finished";
    let has_draws = !record["options"]["draws"].is_null();
    match newest {
        Some(_) if has_ended && has_draws => None,
        Some((_, cycle)) if has_ended => Some(format!("{command} --cycles N, for more than {cycle} cycles")),
        Some((1, cycle)) => Some(format!("{command} (goes on after cycle {cycle})")),
        Some((chain, cycle)) => Some(format!("{command} (goes on after cycle {cycle} of chain {chain})")),
        None if has_ended || !run.join(FOLDER).join(COMMAND).exists() => None,
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
