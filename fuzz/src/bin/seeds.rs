//! Writes the seeds of every target to `<folder>/<target>/`, for libFuzzer to begin with.

use std::fs;
use std::path::Path;

use dirigent_fuzz::hostile::TARGETS;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder");
    for target in &TARGETS {
        let folder = Path::new(&folder).join(target.name);
        fs::create_dir_all(&folder).expect("a folder for seeds");
        for (number, bytes) in (target.seeds)().iter().enumerate() {
            fs::write(folder.join(format!("seed_{number:02}")), bytes).expect("room for a seed");
        }
    }
}
