//! Readers and decoders under mutations of sound inputs and of all that ever made one of them fail: seeded, so that what fails fails again.
//!
//! This is the short twin of the fuzz targets (`make fuzz`, docs/dev/fuzzing.md), which are led by coverage and also watch the memory.

mod hostile;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use dirigent::Stream;
use dirigent::internals::rng::{Role, Seed};
use hostile::seeds::root;
use hostile::{TARGETS, Target};

/// No input may take longer; a loaded machine is forgiven much.
const LONGEST_SECONDS: f64 = 20.0;

/// Sound inputs, and those of the corpus.
fn inputs(target: &Target) -> Vec<Vec<u8>> {
    let mut inputs = (target.seeds)();
    assert!(!inputs.is_empty(), "{} has something to begin with", target.name);
    if let Ok(entries) = fs::read_dir(root().join("fuzz/corpus").join(target.name)) {
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        inputs.extend(paths.iter().map(|path| fs::read(path).unwrap()));
    }
    inputs
}

/// What lengths and counts are changed to.
const NUMBERS: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, u32::MAX as u64, u64::MAX];

fn mutate(inputs: &[Vec<u8>], rng: &mut Stream) -> Vec<u8> {
    let mut bytes = inputs[rng.below(inputs.len())].clone();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = rng.bits() as u8,
            2 => bytes.truncate(at),
            3 => {
                let other = &inputs[rng.below(inputs.len())];
                bytes.truncate(at);
                bytes.extend(&other[rng.below(other.len() + 1)..]);
            }
            4 => {
                let number = NUMBERS[rng.below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][rng.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            5 => {
                let end = at + rng.below((bytes.len() - at).min(16) + 1);
                let again: Vec<u8> = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => {
                let end = at + rng.below((bytes.len() - at).min(16) + 1);
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

fn try_input(target: &Target, bytes: &[u8]) {
    let began = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes)));
    let seconds = began.elapsed().as_secs_f64();
    if result.is_ok() && seconds < LONGEST_SECONDS {
        return;
    }
    let path = std::env::temp_dir().join(format!("hostile-{}-{:08x}", target.name, crc32fast::hash(bytes)));
    fs::write(&path, bytes).unwrap();
    panic!("{} after {seconds:.1} s: the input is {}", target.name, path.display());
}

/// The corpus, then mutations; `HOSTILE_MUTATIONS` asks for more of them.
fn try_all(names: &[&str], n_mutations: usize) {
    let asked = std::env::var("HOSTILE_MUTATIONS").ok().and_then(|text| text.parse().ok());
    for target in TARGETS.iter().filter(|target| names.contains(&target.name)) {
        let inputs = inputs(target);
        inputs.iter().for_each(|bytes| try_input(target, bytes));
        let seed = std::env::var("HOSTILE_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
        let mut rng = Seed::new(seed).stream(Role::Observer, 0, 0);
        (0..asked.unwrap_or(n_mutations)).for_each(|_| try_input(target, &mutate(&inputs, &mut rng)));
    }
}

#[test]
fn tables_of_any_bytes_are_read_or_refused() {
    try_all(&["npy", "npz", "csv", "parquet", "labels"], 1000);
}

#[test]
fn sparse_rows_of_any_bytes_are_read_or_refused() {
    try_all(&["svmlight", "docword", "mtx"], 1000);
}

#[test]
fn models_and_checkpoints_of_any_bytes_are_read_or_refused() {
    try_all(&["model_file", "checkpoint"], 1000);
}

#[test]
fn frames_of_any_bytes_decode_to_what_encodes_the_same_or_are_refused() {
    try_all(&["frames", "slice_frames", "subc_frames", "av_frames"], 5000);
}

#[test]
fn nodes_refuse_changed_frames_unchanged_and_the_others_go_on() {
    try_all(&["nodes"], 600);
}

#[test]
fn most_seeds_are_sound() {
    // mutations of what is refused at once would try nothing
    for target in &TARGETS {
        let seeds = (target.seeds)();
        let n_sound = seeds.iter().filter(|bytes| (target.run)(bytes)).count();
        assert!(2 * n_sound > seeds.len(), "{}: {n_sound} of {} seeds are sound", target.name, seeds.len());
    }
}
