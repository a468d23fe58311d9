//! A wish to stop, handed in from outside: by a signal, or by the program that embeds the library.
//!
//! Samplers look at it between batches of rows. A sweep that breaks off is as if it had never
//! begun: the state is that of the last border of a cycle, which is offered as a checkpoint before
//! the run ends with [`Error::Interrupted`](crate::Error::Interrupted).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that all clones share. Once raised it stays so.
///
/// ```
/// use dirigent::Interrupt;
/// use std::thread;
///
/// let interrupt = Interrupt::new();
/// let elsewhere = interrupt.clone();
/// assert!(!interrupt.is_raised());
/// thread::spawn(move || elsewhere.raise()).join().unwrap();
/// assert!(interrupt.is_raised());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    is_raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for an end, from any thread.
    pub fn raise(&self) {
        self.is_raised.store(true, Ordering::Relaxed);
    }

    /// Whether an end was asked for.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Relaxed)
    }
}

/// For flags that something else raises, such as a signal handler.
impl From<Arc<AtomicBool>> for Interrupt {
    fn from(is_raised: Arc<AtomicBool>) -> Self {
        Self { is_raised }
    }
}
