//! The one place that writes to the terminal.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

pub(crate) use dirigent::internals::fit::grouped;
use dirigent::{Error, Result};
use serde::Serialize;

/// How much is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Errors only.
    Quiet,
    /// What a person wants to know.
    #[default]
    Normal,
    /// Every cycle.
    Verbose,
}

/// The terminal. Nobody reading is no error: a closed pipe ends the talk, not the run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Console {
    pub(crate) talk: Talk,
}

impl Console {
    /// Whether only errors are printed.
    pub(crate) fn is_quiet(self) -> bool {
        self.talk == Talk::Quiet
    }

    /// Talk, to stderr.
    pub(crate) fn say(self, line: impl Display) {
        if !self.is_quiet() {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }

    /// Data, to stdout.
    pub(crate) fn print(self, text: impl Display) -> Result<()> {
        self.stream(|stdout| writeln!(stdout, "{text}"))
    }

    /// Data that are too many to hold, to stdout.
    pub(crate) fn stream(self, fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<()> {
        let mut stdout = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
        match fill(&mut stdout).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::io("cannot write to", Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }

    /// One JSON object, to stdout.
    pub(crate) fn print_json(self, value: &impl Serialize) -> Result<()> {
        self.print(serde_json::to_string(value).expect("our own types become JSON"))
    }

    /// An error and the way out, to stderr.
    pub(crate) fn complain(self, error: &Error) {
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "error: {error}");
        if let Some(hint) = error.hint() {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }

    /// Whether a moving bar makes sense.
    pub(crate) fn draws_bar(self) -> bool {
        self.talk == Talk::Normal && io::stderr().is_terminal()
    }
}

/// Bytes, for people.
pub(crate) fn bytes(number: u64) -> String {
    scaled(number as f64, &["bytes", "KB", "MB", "GB", "TB"])
}

/// A number with the largest of `units`, a thousand apart, that leaves it at least 1.
pub(crate) fn scaled(number: f64, units: &[&str]) -> String {
    let (mut number, mut unit) = (number, 0);
    while number >= 999.5 && unit + 1 < units.len() {
        number /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && number < 99.95);
    format!("{number:.decimals$} {}", units[unit]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([12, 1234, 999_999, 245_984_064].map(bytes), ["12 bytes", "1.2 KB", "1.0 MB", "246 MB"]);
        assert_eq!(scaled(12.0, &["", "k"]), "12");
    }
}
