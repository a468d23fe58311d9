//! `dirigent --version`: which build this is, and what it uses on this machine.

use std::sync::LazyLock;

use dirigent::Kernel;

const FEATURES: &str = if cfg!(feature = "object-store") { "parquet, object-store" } else { "parquet" };

static LONG: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{}\ncommit: {}\nkernel: {}\nfeatures: {FEATURES}\ntarget: {}",
        env!("CARGO_PKG_VERSION"),
        env!("DIRIGENT_COMMIT"),
        Kernel::best(),
        env!("DIRIGENT_TARGET"),
    )
});

/// Version, commit, kernel, features and target; `-V` prints the version alone.
pub(crate) fn long() -> &'static str {
    &LONG
}
