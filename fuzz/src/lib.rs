//! Fuzz targets over the functions of `crates/dirigent/tests/hostile`, which `tests/any_bytes.rs` calls too. Beside what those promise, an input may not take more
//! memory than its bytes are worth; libFuzzer watches the time.

pub mod memory;

use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once};

#[path = "../../crates/dirigent/tests/hostile/mod.rs"]
pub mod hostile;

#[doc(hidden)]
pub use libfuzzer_sys;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// So many bytes for each byte of input, and so many for any.
const BYTES_A_BYTE: usize = 64;
const BYTES_FOR_ANY: usize = 32 << 20;

/// A fuzz target by its name.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::try_input(stringify!($name), bytes));
    };
}

/// Tries an input.
pub fn try_input(name: &str, bytes: &[u8]) {
    let target = hostile::TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    HOOK.call_once(remember_panics);
    let before = memory::start();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    let most = memory::most().saturating_sub(before);
    if result.is_err() {
        let panic = PANIC.lock().ok().and_then(|mut panic| panic.take());
        fail(&panic.map(|(panic, backtrace)| format!("{panic}\n{backtrace}")).unwrap_or_default());
    }
    let allowed = BYTES_A_BYTE * bytes.len() + BYTES_FOR_ANY;
    if most > allowed {
        fail(&format!("{most} bytes of memory for {} bytes, expected at most {allowed}", bytes.len()));
    }
}

static HOOK: Once = Once::new();
static PANIC: Mutex<Option<(String, Backtrace)>> = Mutex::new(None);

/// libFuzzer's hook ends the process at any panic, also at one of a library that the reader catches and takes for the file's fault.
fn remember_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Ok(mut last) = PANIC.lock() {
            // its names are looked up when it is shown, which takes longer than most inputs
            *last = Some((panic.to_string(), Backtrace::force_capture()));
        }
    }));
}

/// Ends the process, by which libFuzzer learns of it.
fn fail(what: &str) {
    eprintln!("ERROR: {what}");
    std::process::abort();
}
