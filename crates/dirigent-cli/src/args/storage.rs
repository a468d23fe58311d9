//! Files that are made on the way from the data to the rows, and the memory there is.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dirigent::Spill;
use dirigent::internals::io::Storage;

#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct StorageArgs {
    /// Folder for fetched objects and unpacked tables [default: dirigent in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Whether to unpack Parquet into a mapped file [default: auto, for more than half of the memory]
    #[arg(long, value_enum, default_value_t = SpillArg::Auto, hide_default_value = true, hide_possible_values = true, value_name = "auto|always|never")]
    spill: SpillArg,
    /// Memory to use, such as 8G or 500M [default: what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SpillArg {
    Auto,
    Always,
    Never,
}

impl StorageArgs {
    pub(crate) fn storage(&self) -> Storage {
        let spill = match self.spill {
            SpillArg::Auto => Spill::Auto,
            SpillArg::Always => Spill::Always,
            SpillArg::Never => Spill::Never,
        };
        Storage { cache_dir: self.cache_dir.clone(), spill, memory: self.memory }
    }
}

/// Bytes, with a letter for a power of 1024.
fn size(text: &str) -> Result<u64, String> {
    let (number, letter) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len()));
    let unit: Option<u64> = match letter.to_ascii_uppercase().trim_end_matches('B') {
        "" => Some(1),
        "K" => Some(1 << 10),
        "M" => Some(1 << 20),
        "G" => Some(1 << 30),
        "T" => Some(1 << 40),
        _ => None,
    };
    let bytes = number.parse::<u64>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected bytes, or a number with K, M, G or T".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_have_a_letter() {
        assert_eq!(
            ["1024", "1k", "500M", "8G", "8GB", "1T"].map(|text| size(text).unwrap()),
            [1 << 10, 1 << 10, 500 << 20, 8 << 30, 8 << 30, 1 << 40]
        );
        assert!(["", "0", "G", "-1", "1.5G", "8X", "99999999999T"].iter().all(|text| size(text).is_err()));
    }
}
