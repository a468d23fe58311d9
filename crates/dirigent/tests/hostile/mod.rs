//! What bytes from elsewhere must not do: a function for each reader and each decoder that takes any bytes and panics where a promise is broken.
//!
//! They are called by the fuzz targets in `fuzz/`, with libFuzzer, and by `tests/any_bytes.rs`, with mutations of the same seeds. Promises: no panic; the user is
//! told what is wrong with a file as with any other mistake; what was decoded and encoded again decodes to the same. That nothing takes long or more memory than
//! its bytes are worth is watched by whoever calls.

#![allow(unreachable_pub)] // fuzz/ is another crate

pub mod files;
pub mod frames;
pub mod nodes;
pub mod seeds;

use dirigent::internals::method::consolidated::Consolidated;
use dirigent::internals::method::slice::Slice;
use dirigent::internals::method::subc::Subc;

/// A reader or decoder under trial.
pub struct Target {
    /// What it is called, as its corpus is.
    pub name: &'static str,
    /// Tries bytes; whether they were taken for what they claim to be.
    pub run: fn(&[u8]) -> bool,
    /// Sound inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

const fn target(name: &'static str, run: fn(&[u8]) -> bool, seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

/// All of them.
pub const TARGETS: [Target; 15] = [
    target("npy", |bytes| files::open("rows.npy", bytes), || seeds::files(&["npy"])),
    target("npz", files::npz, seeds::npz),
    target("csv", |bytes| files::open("rows.csv", bytes), || seeds::files(&["csv"])),
    target("parquet", |bytes| files::open("rows.parquet", bytes), || seeds::files(&["parquet"])),
    target("svmlight", |bytes| files::open("rows.svm", bytes), || seeds::files(&["svm", "libsvm"])),
    target("docword", |bytes| files::open("docword.rows.txt", bytes), || seeds::files(&["counts.txt"])),
    target("mtx", |bytes| files::open("rows.mtx", bytes), || seeds::files(&["mtx"])),
    target("labels", files::labels, || seeds::files(&["counts_labels.txt"])),
    target("model_file", files::model, seeds::models),
    target("checkpoint", files::checkpoint, seeds::checkpoints),
    target("frames", frames::decode_any::<Consolidated>, seeds::frames),
    target("slice_frames", frames::decode_any::<Slice>, seeds::slice_frames),
    target("subc_frames", frames::decode_any::<Subc>, seeds::subc_frames),
    target("av_frames", frames::decode_av, seeds::av_frames),
    target("nodes", nodes::run, seeds::nodes),
];

/// Bytes with this between them are several.
pub const BORDER: &[u8] = b"\n----\n";

/// The parts of bytes that are several.
pub fn parts(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some(at) = bytes.windows(BORDER.len()).position(|window| window == BORDER) {
        parts.push(&bytes[..at]);
        bytes = &bytes[at + BORDER.len()..];
    }
    parts.push(bytes);
    parts
}
