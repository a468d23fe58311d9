//! What the nodes of SliceMR, SubC and AV have alike.
//!
//! All workers in step: hello, plan, then rounds of a push from everyone and an answer to everyone. A coordinator has a [`Gathering`](super::gathering::Gathering), which knows
//! its workers, and a [`Progress`], which counts cycles. What is pushed and answered is each method's own.

mod options;
mod progress;
mod seats;

pub use self::options::RoundsCoordinatorOptions;
pub(in crate::node) use self::progress::Progress;
pub(in crate::node) use self::seats::{assigned, by_final_number, renamed};
