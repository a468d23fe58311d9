//! Reference checksums: labels, certainties, draws and trace of every method, family and engine that
//! replays to the last bit. A refactoring must leave them as they are.
//!
//! After a change that is meant to alter results, `UPDATE_REFERENCE=1` writes the new checksums.

use std::fmt::Write as _;
use std::fs;

use crate::place::Place;

/// Where the checksums are kept.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/reference.txt");
const METHODS: [&str; 9] = ["dirigent", "cgs", "prog", "pooled", "hung", "async", "slicemr", "av", "subc"];
/// Name, file and options of each family.
const FAMILIES: [(&str, &str, &str); 9] = [
    ("fixed", "numbers.csv", "--covariance isotropic --prior sigma=1"),
    ("diagonal", "numbers.csv", "--covariance diag"),
    ("full", "numbers.csv", "--covariance full"),
    ("multinomial", "docword.words.txt", ""),
    ("bernoulli", "bits.csv", "--family bernoulli"),
    ("poisson", "counts.csv", "--family poisson"),
    ("categorical", "levels.csv", "--family categorical"),
    ("vmf", "numbers.csv", "--family vmf --normalize"),
    ("mixed", "mixed.csv", ""),
];
const ROWS: usize = 240;
/// Columns of `trace.csv` that hold no time.
const TRACED: [&str; 4] = ["cycle", "log_joint", "k", "alpha"];

/// Small numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// The sum of four uniform numbers, from −2 to 2, in steps of a hundredth.
    fn bell(&mut self) -> f64 {
        (0..4).map(|_| self.below(101) as f64 / 100.0).sum::<f64>() - 2.0
    }
}

/// Three clusters in each table.
fn place() -> Place {
    let mut numbers = Numbers(7);
    let [mut points, mut bits, mut counts, mut levels, mut mixed] =
        ["x,y,z\n", "a,b,c,d\n", "a,b,c\n", "a,b\n", "size,kind,visits\n"].map(str::to_owned);
    let mut words: Vec<(usize, u64, u64)> = Vec::new();
    for row in 0..ROWS {
        let cluster = numbers.below(3);
        let centre = 4.0 * cluster as f64;
        let [x, y, z] = [centre + 1.0, 9.0 - centre, centre * centre / 4.0].map(|at| at + numbers.bell());
        writeln!(points, "{x:.2},{y:.2},{z:.2}").unwrap();
        let bit = |numbers: &mut Numbers, is_likely: bool| u64::from(numbers.below(10) < if is_likely { 8 } else { 2 });
        let row_bits = [0, 1, 2, 3].map(|ix| bit(&mut numbers, ix == cluster || ix == 3));
        writeln!(bits, "{},{},{},{}", row_bits[0], row_bits[1], row_bits[2], row_bits[3]).unwrap();
        let row_counts = [3, 6, 12].map(|rate| numbers.below(rate * (cluster + 1)));
        writeln!(counts, "{},{},{}", row_counts[0], row_counts[1], row_counts[2]).unwrap();
        let level = |numbers: &mut Numbers| if numbers.below(5) == 0 { numbers.below(3) } else { cluster };
        let row_levels =
            [level(&mut numbers), level(&mut numbers)].map(|level| ["red", "green", "blue"][level as usize]);
        writeln!(levels, "{},{}", row_levels[0], row_levels[1]).unwrap();
        let size = if row % 11 == 0 { String::new() } else { format!("{x:.2}") };
        writeln!(mixed, "{size},{},{}", row_levels[0], row_counts[2]).unwrap();
        let mut document = [0; 12];
        (0..15).for_each(|_| document[(numbers.below(6) + 3 * cluster) as usize % 12] += 1);
        words.extend((1..).zip(document).filter(|(_, count)| *count > 0).map(|(word, count)| (row + 1, word, count)));
    }
    let mut docword = format!("{ROWS}\n12\n{}\n", words.len());
    words.iter().for_each(|(row, word, count)| writeln!(docword, "{row} {word} {count}").unwrap());
    let place = Place::new();
    let files = [
        ("numbers.csv", &points),
        ("bits.csv", &bits),
        ("counts.csv", &counts),
        ("levels.csv", &levels),
        ("mixed.csv", &mixed),
        ("docword.words.txt", &docword),
    ];
    files.iter().for_each(|(name, text)| place.write(name, text));
    place
}

/// The runs: a name, and the command.
fn runs() -> Vec<(String, String)> {
    let mut runs = Vec::new();
    for method in METHODS {
        for (family, file, options) in FAMILIES {
            let fit = format!(
                "fit {file} {options} --method {method} --method-option kernel=portable --seed 3 --clusters components --quiet --no-report"
            );
            let mut add = |engine: &str, options: &str| {
                runs.push((format!("{method} {family} {engine}"), format!("{fit} {options} --out out --force")));
            };
            let workers = if method == "cgs" { "" } else { "--workers 3" };
            // on threads the workers of an asynchronous run arrive in any order
            if method != "async" {
                add("threads", &format!("{workers} --cycles 8"));
                add("threads-draws", &format!("{workers} --cycles 4 --draws 3"));
            }
            if method != "cgs" {
                add("simulated", &format!("{workers} --cycles 8 --engine simulated --engine-option row_cost=1e-6"));
            }
            if method == "dirigent" {
                add("auto", "");
            }
        }
    }
    runs
}

/// FNV-1a of everything that must not change.
fn checksum(place: &Place) -> u64 {
    let mut bytes = Vec::new();
    for name in ["out/labels.npy", "out/certainty.npy", "out/draws.npy"] {
        if place.path(name).exists() {
            bytes.extend(place.read(name));
        }
    }
    for column in TRACED {
        place.column("out/trace.csv", column).iter().for_each(|cell| bytes.extend(cell.bytes().chain([b'\n'])));
    }
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn results_are_those_of_the_reference() {
    let place = place();
    let mut found = String::new();
    for (name, command) in runs() {
        place.ok(&command);
        writeln!(found, "{name} {:016x}", checksum(&place)).unwrap();
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(REFERENCE, &found).unwrap();
    }
    let expected = fs::read_to_string(REFERENCE).unwrap();
    let differing: Vec<_> = found.lines().filter(|line| !expected.lines().any(|other| other == *line)).collect();
    assert!(differing.is_empty(), "{} runs differ from the reference:\n{}", differing.len(), differing.join("\n"));
    assert_eq!(found.lines().count(), expected.lines().count());
}
