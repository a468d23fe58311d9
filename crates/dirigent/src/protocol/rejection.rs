//! Why a frame is refused: it is cut, was changed on its way, or says what no sound sender says.

use std::fmt;

use crate::error::Error;
use crate::protocol::Address;

/// What is wrong with a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection(String);

/// What was decoded, or why it was not.
pub type Decoded<T> = Result<T, Rejection>;

impl Rejection {
    /// Refuses for a reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    /// As an error that names the sender.
    pub fn of(self, from: Address) -> Error {
        Error::BadFrame { from, why: self.0 }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Rejection {}

/// Refuses unless something holds.
pub(crate) fn require(holds: bool, why: &str) -> Decoded<()> {
    if holds { Ok(()) } else { Err(Rejection::new(why)) }
}
