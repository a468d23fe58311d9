//! Ctrl-C and SIGTERM. The first one lets the run write a checkpoint; a second one ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use dirigent::Interrupt;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit codes as shells give them: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Signals belong to the process, so there is one set of flags for it.
static FLAGS: OnceLock<Flags> = OnceLock::new();

struct Flags {
    any: Arc<AtomicBool>,
    is_term: Arc<AtomicBool>,
}

/// From now on signals raise the returned flag instead of ending the process.
pub(crate) fn watch() -> Interrupt {
    let flags = FLAGS.get_or_init(|| {
        let flags = Flags { any: Arc::default(), is_term: Arc::default() };
        for (signal, code) in [(SIGINT, INTERRUPTED), (SIGTERM, TERMINATED)] {
            // actions run in this order: the first signal finds the flag still down
            let registered = flag::register_conditional_shutdown(signal, i32::from(code), Arc::clone(&flags.any))
                .and_then(|_| flag::register(signal, Arc::clone(&flags.any)));
            // a system that refuses ends the process as before: nothing to go on without
            let _ = registered;
        }
        let _ = flag::register(SIGTERM, Arc::clone(&flags.is_term));
        flags
    });
    Arc::clone(&flags.any).into()
}

/// The exit code of a run that was interrupted.
pub(crate) fn exit_code() -> u8 {
    let is_term = FLAGS.get().is_some_and(|flags| flags.is_term.load(Ordering::Relaxed));
    if is_term { TERMINATED } else { INTERRUPTED }
}
