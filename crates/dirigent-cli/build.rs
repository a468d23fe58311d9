//! Finds the commit that is built, for `dirigent --version`: given by the variable `DIRIGENT_COMMIT`, noted in a
//! published crate, or asked of git. Without any of these it is unknown.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

/// What `cargo package` notes in a crate.
const NOTE: &str = ".cargo_vcs_info.json";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DIRIGENT_COMMIT");
    let given = std::env::var("DIRIGENT_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(noted).or_else(of_git).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=DIRIGENT_COMMIT={commit}");
    println!("cargo::rustc-env=DIRIGENT_TARGET={}", std::env::var("TARGET").expect("cargo sets it"));
}

/// The commit of a published crate: 40 hexadecimal digits in its note.
fn noted() -> Option<String> {
    let note = std::fs::read_to_string(NOTE).ok()?;
    println!("cargo::rerun-if-changed={NOTE}");
    let (_, rest) = note.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    commit.get(..10).map(str::to_owned)
}

/// The commit of the repository, if this crate is one of its files and not merely unpacked inside of it.
fn of_git() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    // it grows with each commit and checkout; a file that is not there would run this script in every build
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
