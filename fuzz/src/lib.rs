//! Fuzz targets over the functions of `crates/dirigent/tests/hostile`, which `tests/any_bytes.rs` calls too. Beside what those promise, an input may not take more
//! memory than its bytes are worth; libFuzzer watches the time.

pub mod memory;

#[path = "../../crates/dirigent/tests/hostile/mod.rs"]
pub mod hostile;

#[doc(hidden)]
pub use libfuzzer_sys;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// So many bytes for each byte of input, and so many for any.
const BYTES_A_BYTE: usize = 64;
const BYTES_FOR_ANY: usize = 16 << 20;

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
    let before = memory::start();
    (target.run)(bytes);
    let most = memory::most().saturating_sub(before);
    let allowed = BYTES_A_BYTE * bytes.len() + BYTES_FOR_ANY;
    assert!(most <= allowed, "{most} bytes of memory for {} bytes, expected at most {allowed}", bytes.len());
}
