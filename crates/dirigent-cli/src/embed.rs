//! The command for another program: the same options and the same run folder, with rows that the program has in memory, and a look at every cycle.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use dirigent::interrupt::Interrupt;
use dirigent::io::MemoryRows;
use dirigent::trace::CycleInfo;
use dirigent::{InputError, Result};

use crate::args::{Cli, Command};
use crate::engines::OutsideEngines;
use crate::fit;
use crate::input::Source;
use crate::said::Said;

/// What is called with every cycle that has ended.
pub type OnCycle<'a> = Box<dyn FnMut(&CycleInfo) -> Result<()> + 'a>;

/// Who watches a fit.
pub struct Watcher<'a> {
    /// Called after every cycle; an error ends the run.
    pub on_cycle: OnCycle<'a>,
    /// Ends the run when it is raised, within a batch of rows. What is left behind is then that of the last cycle that was whole, or where there is
    /// none [`dirigent::Error::Interrupted`].
    pub interrupt: Interrupt,
}

/// Rows to fit.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// In files, as `dirigent fit` takes them.
    Files(&'a [PathBuf]),
    /// In memory, laid end to end, with the names of their columns where they have some.
    Memory(&'a [MemoryRows], Option<&'a [String]>),
}

/// `dirigent fit` with these options (without the name of a program and without data). Returns the run folder.
pub fn fit(
    options: impl IntoIterator<Item = OsString>,
    rows: Rows<'_>,
    watcher: Watcher<'_>,
    engines: &dyn OutsideEngines,
) -> Result<PathBuf> {
    let paths = match rows {
        Rows::Files(paths) => paths.iter().map(|path| path.clone().into_os_string()).collect(),
        // the parser asks for a name, which nobody reads
        Rows::Memory(..) => vec!["X".into()],
    };
    let words = ["dirigent", "fit"].map(OsString::from).into_iter();
    let cli = Cli::try_parse_from(words.chain(options).chain(["--".into()]).chain(paths)).map_err(wrong_usage)?;
    let Command::Fit(args) = cli.command else { unreachable!("the first word is fit") };
    let source = match rows {
        Rows::Files(_) => Source::Files,
        Rows::Memory(parts, names) => Source::Memory(parts, names),
    };
    fit::fit(&args, source, &Said::default(), None, Some(watcher), engines)
}

/// What the parser says, without its advice about a terminal.
fn wrong_usage(error: clap::Error) -> InputError {
    let text = error.render().to_string();
    let problem = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next()).unwrap_or(&text);
    InputError::new(problem.trim().trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;

    use crate::engines::NoEngines;

    use dirigent::rows::Table;

    fn words<'a>(words: &'a [&'a str]) -> impl Iterator<Item = OsString> + 'a {
        words.iter().map(OsString::from)
    }

    fn two_heaps() -> [MemoryRows; 1] {
        let cells = (0..40).map(|ix| f64::from(ix % 7) * 0.1 + if ix < 20 { 0.0 } else { 50.0 }).collect();
        [MemoryRows::Table(Arc::new(Table::from_f64(1, cells)))]
    }

    /// Fits the heaps into `out`, watched.
    fn fitted(
        options: &[&str],
        out: &Path,
        mut on_cycle: impl FnMut(&CycleInfo, &Interrupt) -> Result<()>,
    ) -> Result<PathBuf> {
        let interrupt = Interrupt::new();
        let raised = interrupt.clone();
        let options = words(options).chain(words(&["--quiet", "--out"])).chain([out.into()]);
        let on_cycle = move |info: &CycleInfo| on_cycle(info, &raised);
        fit(options, Rows::Memory(&two_heaps(), None), Watcher { on_cycle: Box::new(on_cycle), interrupt }, &NoEngines)
    }

    #[test]
    fn rows_in_memory_fill_a_run_folder_and_every_cycle_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let mut cycles = Vec::new();
        let path = fitted(&["--cycles", "5", "--method", "prog"], &out, |info, _| {
            cycles.push(info.cycle);
            Ok(())
        });
        assert_eq!((path.unwrap(), cycles), (out.clone(), vec![1, 2, 3, 4, 5]));
        assert!(out.join("labels.npy").exists() && out.join("model.json").exists());
    }

    #[test]
    fn wrong_usage_is_one_plain_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            |options: &[&str]| fitted(options, &folder.path().join("run"), |_, _| Ok(())).unwrap_err().to_string();
        assert_eq!(
            error(&["--alpha", "x"]),
            "invalid value 'x' for '--alpha <auto|X>': expected auto or a positive number"
        );
        assert_eq!(error(&["--workers", "99"]), "--workers 99 is more than there are rows, 40");
    }

    #[test]
    fn an_error_of_the_watcher_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let error = fitted(&[], &folder.path().join("run"), |info, _| match info.cycle {
            2 => Err(InputError::new("enough").into()),
            _ => Ok(()),
        });
        assert_eq!(error.unwrap_err().to_string(), "enough");
    }

    #[test]
    fn an_interrupted_run_leaves_the_last_cycle_behind() {
        for method in ["cgs", "prog", "slicemr", "dirigent"] {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path().join("run");
            let ended = fitted(&["--cycles", "50", "--method", method], &out, |info, interrupt| {
                if info.cycle == 3 {
                    interrupt.raise();
                }
                Ok(())
            });
            assert_eq!(ended.unwrap(), out, "{method}");
            let record = std::fs::read_to_string(out.join("run.json")).unwrap();
            assert!(
                record.contains("\"stopped_because\": \"interrupted\"") && record.contains("\"finished\""),
                "{record}"
            );
            assert!(dirigent::run_dir::FittedModel::read(&out).is_ok(), "{method}");
        }
    }
}
