//! The command for another program: the same options and the same run folder, with rows that the program has in memory, and a look at every cycle.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use dirigent::io::MemoryRows;
use dirigent::trace::CycleInfo;
use dirigent::{InputError, Result};

use crate::args::{Cli, Command};
use crate::fit::{self, Source};

/// What is called after every cycle. An error ends the run.
pub type Watcher<'a> = dyn FnMut(&CycleInfo) -> Result<()> + 'a;

/// Rows to fit.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// In files, as `dirigent fit` takes them.
    Files(&'a [PathBuf]),
    /// In memory, laid end to end, with the names of their columns where they have some.
    Memory(&'a [MemoryRows], Option<&'a [String]>),
}

/// `dirigent fit` with these options (without the name of a program and without data). Returns the run folder.
pub fn fit(options: impl IntoIterator<Item = OsString>, rows: Rows<'_>, watcher: &mut Watcher<'_>) -> Result<PathBuf> {
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
    fit::fit(&args, source, watcher)
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
    use dirigent::rows::Table;
    use std::sync::Arc;

    fn words<'a>(words: &'a [&'a str]) -> impl Iterator<Item = OsString> + 'a {
        words.iter().map(OsString::from)
    }

    fn two_heaps() -> [MemoryRows; 1] {
        let cells = (0..40).map(|ix| f64::from(ix % 7) * 0.1 + if ix < 20 { 0.0 } else { 50.0 }).collect();
        [MemoryRows::Table(Arc::new(Table::from_f64(1, cells)))]
    }

    #[test]
    fn rows_in_memory_fill_a_run_folder_and_every_cycle_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let options = words(&["--quiet", "--cycles", "5", "--out"]).chain([out.clone().into_os_string()]);
        let mut cycles = Vec::new();
        let mut watcher = |info: &CycleInfo| {
            cycles.push(info.cycle);
            Ok(())
        };
        let path = fit(options, Rows::Memory(&two_heaps(), None), &mut watcher).unwrap();
        assert_eq!((path, cycles), (out.clone(), vec![1, 2, 3, 4, 5]));
        assert!(out.join("labels.npy").exists() && out.join("model.json").exists());
    }

    #[test]
    fn wrong_usage_is_one_plain_sentence() {
        let error = fit(words(&["--alpha", "x"]), Rows::Memory(&two_heaps(), None), &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "invalid value 'x' for '--alpha <auto|X>': expected auto or a positive number");
        let error = fit(words(&["--workers", "99"]), Rows::Memory(&two_heaps(), None), &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "--workers 99 is more than there are rows, 40");
    }

    #[test]
    fn an_error_of_the_watcher_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let options = words(&["--quiet", "--out"]).chain([folder.path().join("run").into_os_string()]);
        let mut watcher = |info: &CycleInfo| match info.cycle {
            2 => Err(InputError::new("enough").into()),
            _ => Ok(()),
        };
        let error = fit(options, Rows::Memory(&two_heaps(), None), &mut watcher).unwrap_err();
        assert_eq!(error.to_string(), "enough");
    }
}
