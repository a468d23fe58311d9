//! Files in, files out.
pub mod mapped;
