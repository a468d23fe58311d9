//! What can go wrong, in words for the person at the keyboard.
//!
//! The user's mistake is an [`InputError`]: it names the file, the row and the column, what was
//! found, what was expected and the way out. A run that failed for another reason is an
//! [`Error::Io`]. Our own mistakes panic; those of another node, which may run elsewhere, are an
//! [`Error::BadFrame`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::protocol::Address;

/// The result of everything here that can fail.
///
/// ```
/// use dirigent::{InputError, Result};
///
/// fn half(n_rows: usize) -> Result<usize> {
///     if n_rows % 2 == 1 {
///         return Err(InputError::new(format!("{n_rows} rows cannot be halved")).into());
///     }
///     Ok(n_rows / 2)
/// }
/// assert_eq!(half(8)?, 4);
/// assert_eq!(half(7).unwrap_err().to_string(), "7 rows cannot be halved");
/// # Ok::<(), dirigent::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
///
/// ```
/// use dirigent::{Alpha, Error};
///
/// let error = Alpha::fixed(-1.0).unwrap_err();
/// assert!(matches!(error, Error::Input(_)));
/// assert_eq!(error.to_string(), "`alpha` must be a positive number, got -1");
/// assert_eq!(error.hint(), Some("leave `alpha` out to have it chosen from the data"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Wrong usage or input: something the user can put right.
    #[error(transparent)]
    Input(#[from] Box<InputError>),
    /// The outside world failed: a disk is full, a folder is not writable.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with the file's name.
        doing: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A node sent an invalid message, or the message was changed on its way. A node that rejects a
    /// frame is unchanged: an engine may expel the sender and continue.
    #[error("a frame of {from} was refused: {why}")]
    BadFrame {
        /// Who sent it.
        from: Address,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody raised the run's [`Interrupt`](crate::interrupt::Interrupt).
    #[error("interrupted")]
    Interrupted,
    /// Any of the others but the first, with a way out that only its caller knew.
    #[error("{error}")]
    Hinted {
        /// What went wrong.
        error: Box<Error>,
        /// The way out.
        hint: String,
    },
}

impl Error {
    /// An input or output failure while `doing` something to the file at `path`.
    pub fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing: format!("{doing} {}", path.display()), source }
    }

    /// The way out, where there is one to offer.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Input(error) => error.hint.as_deref(),
            Self::Hinted { hint, .. } => Some(hint),
            Self::Io { .. } | Self::BadFrame { .. } | Self::Interrupted => None,
        }
    }

    /// The same with a way out.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Input(error) => error.hint(hint).into(),
            error => Self::Hinted { error: Box::new(error), hint: hint.into() },
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Box::new(error))
    }
}

/// A mistake in the data or the options: where it is, what it is, and the way out.
///
/// ```
/// use dirigent::InputError;
///
/// let error = InputError::in_file("people.csv", "found \"x\", expected a number").at_line(4).at_column("age");
/// assert_eq!(error.to_string(), "people.csv, line 4, column age: found \"x\", expected a number");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The file, where the mistake is in one.
    pub file: Option<PathBuf>,
    /// The place inside the file, counted from 1: "row 3" or "line 4".
    pub row: Option<String>,
    /// The column's name or number.
    pub column: Option<String>,
    /// What was found and what was expected.
    pub problem: String,
    /// The way out.
    pub hint: Option<String>,
}

impl InputError {
    /// A mistake that is not inside a file, such as a wrong option.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { file: None, row: None, column: None, problem: problem.into(), hint: None }
    }

    /// A mistake inside (or with) a file.
    pub fn in_file(file: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::new(problem) }
    }

    /// Names the data row, counted from 1.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        Self { row: Some(format!("row {row}")), ..self }
    }

    /// Names the line of a text file, counted from 1.
    #[must_use]
    pub fn at_line(self, line: u64) -> Self {
        Self { row: Some(format!("line {line}")), ..self }
    }

    /// Names the column.
    #[must_use]
    pub fn at_column(self, column: impl Into<String>) -> Self {
        Self { column: Some(column.into()), ..self }
    }

    /// Says the way out.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let column = self.column.as_ref().map(|column| format!("column {column}"));
        let place: Vec<_> = [file, self.row.clone(), column].into_iter().flatten().collect();
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        f.write_str(&self.problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_names_file_row_and_column() {
        let error = InputError::in_file("d.csv", "found \"x\", expected a number")
            .at_line(4)
            .at_column("age")
            .hint("leave it out with `exclude` age");
        assert_eq!(error.to_string(), "d.csv, line 4, column age: found \"x\", expected a number");
        assert_eq!(Error::from(error).hint(), Some("leave it out with `exclude` age"));
    }

    #[test]
    fn a_caller_can_add_the_way_out() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = Error::io("cannot write", Path::new("d.npy"), full());
        assert_eq!((error.to_string(), error.hint()), (format!("cannot write d.npy: {}", full()), None));
        let hinted = Error::io("cannot write", Path::new("d.npy"), full()).with_hint("make room");
        assert_eq!((hinted.to_string(), hinted.hint()), (error.to_string(), Some("make room")));
        let input = Error::from(InputError::new("no data given")).with_hint("name a file");
        assert!(matches!(&input, Error::Input(_)) && input.hint() == Some("name a file"));
    }
}
