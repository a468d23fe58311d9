//! Doing the runs that are not done yet.

use std::fs;
use std::path::Path;

use dirigent::internals::fit::{Input, PreparedFit};
use dirigent::internals::run_dir::RunDir;
use dirigent::{InputError, Result};
use serde_json::Value;

use super::data::Source;
use super::plan::{Scale, Trial, parse};
use super::results::Run;
use crate::console::Console;
use crate::fit;
use crate::terminal::Terminal;

/// The parts of `run.json` that say what was asked for.
const CONFIGURATION: [&str; 5] = ["version", "kernel", "data", "model", "options"];

/// What all runs share, once it is read.
pub(crate) struct Laboratory<'a> {
    pub(crate) source: &'a Source,
    pub(crate) scale: &'a Scale,
    /// The folder of run folders.
    pub(crate) folder: &'a Path,
    pub(crate) console: Console,
}

impl Laboratory<'_> {
    /// Reads the data, after all commands were checked.
    pub(crate) fn read(&self, trials: &[Trial]) -> Result<Input> {
        let parsed = trials.iter().map(|trial| parse(&self.command(trial))).collect::<Result<Vec<_>>>()?;
        let args = parsed.first().expect("the reference is always run");
        let (data, options) = (fit::open(&args.data_options(), self.console)?, args.options()?);
        Input::new(&data, &options, &mut Terminal::new(&args.output, &options, false))
    }

    /// Every run, in order: as it is found, or done now.
    pub(crate) fn runs(&self, trials: &[Trial], input: &Input) -> Result<Vec<Run>> {
        let mut runs = Vec::with_capacity(trials.len());
        for (ix, trial) in trials.iter().enumerate() {
            let (run, was_there) = self.run(*trial, input)?;
            let found = if was_there { ", from before" } else { "" };
            let summary = &run.summary;
            let vi = summary.vi.map(|vi| format!("  VI {vi:.3}")).unwrap_or_default();
            self.console.say(format_args!(
                "run {}/{}  {}  K {}  log-joint {:.1}{vi}  {:.1} s{found}",
                ix + 1,
                trials.len(),
                trial.name(),
                summary.k,
                summary.log_joint,
                summary.seconds
            ));
            runs.push(run);
        }
        Ok(runs)
    }

    fn run(&self, trial: Trial, input: &Input) -> Result<(Run, bool)> {
        let args = parse(&self.command(&trial))?;
        let blind = (!trial.has_truth()).then(|| input.without_truth());
        let options = args.options()?;
        let mut terminal = Terminal::new(&args.output, &options, false);
        let fit = PreparedFit::new(blind.as_ref().unwrap_or(input), &options, &mut terminal)?;
        let folder = self.folder.join(trial.name());
        let asked = serde_json::to_value(fit.record()).expect("our own types become JSON");
        let was_there = is_finished(&folder, &asked);
        if !was_there {
            fit.run_into(&RunDir::create(&folder, true)?, &args.output.folder(), &mut terminal)?;
        }
        if !is_finished(&folder, &asked) {
            let hint = "give the command again: what is finished stays";
            return Err(InputError::in_file(&folder, "the run has not come to its end").hint(hint).into());
        }
        Ok((Run::read(trial, &folder)?, was_there))
    }

    fn command(&self, trial: &Trial) -> Vec<String> {
        trial.command(self.source, self.scale.n_cycles, self.folder)
    }
}

/// Whether the folder holds a finished run of the same configuration.
fn is_finished(folder: &Path, asked: &Value) -> bool {
    let stored = fs::read(folder.join("run.json")).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    stored.is_some_and(|stored| {
        stored["status"] == "finished" && CONFIGURATION.iter().all(|part| is_same(&stored[part], &asked[part]))
    })
}

/// Whether two parts of a record say the same. What only one of them knows must be null: an option that came later and is not used.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a_fields), Value::Object(b_fields)) => {
            let names = a_fields.keys().chain(b_fields.keys());
            names.into_iter().all(|name| is_same(&a[name], &b[name]))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record() -> Value {
        let options = json!({"seed": 3, "alpha": 1.0, "draws": null});
        json!({"status": "running", "version": "1", "kernel": "avx2", "data": {"fingerprint": "x"}, "model": {"sigma": 1.0}, "options": options})
    }

    fn finished(change: impl FnOnce(&mut Value)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let mut stored = record();
        stored["status"] = "finished".into();
        stored["summary"] = json!({"k": 3});
        change(&mut stored);
        fs::write(folder.path().join("run.json"), stored.to_string()).unwrap();
        is_finished(folder.path(), &record())
    }

    #[test]
    fn a_finished_run_of_the_same_configuration_is_kept() {
        assert!(finished(|_| {}));
        assert!(finished(|stored| stored["options"]["later"] = Value::Null));
    }

    #[test]
    fn a_changed_configuration_or_an_unfinished_run_is_run_again() {
        assert!(!finished(|stored| stored["status"] = "running".into()));
        assert!(!finished(|stored| stored["status"] = "failed".into()));
        assert!(!finished(|stored| stored["options"]["seed"] = 4.into()));
        assert!(!finished(|stored| stored["options"]["draws"] = json!({"n_draws": 1})));
        assert!(!finished(|stored| stored["data"]["fingerprint"] = "y".into()));
        assert!(!finished(|stored| stored["version"] = "2".into()));
        assert!(!finished(|stored| *stored = Value::Null));
        assert!(!is_finished(Path::new("there is no such folder"), &record()));
    }
}
