//! What the fuzz targets share.

#[doc(hidden)]
pub use libfuzzer_sys;

/// A fuzz target by its name.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::try_input(stringify!($name), bytes));
    };
}

pub fn try_input(_name: &str, _bytes: &[u8]) {}
