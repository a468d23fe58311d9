//! The options of `dirigent synth`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};

/// Generate a data set with known clusters.
///
/// synthetic: 141,000 points of the plane in 50 clusters (centres N(0, 10² I), unit noise; 16 clusters of 1000, 15 of 2000, 19 of
/// 5000). imagenet: 1,281,167 points in 48 dimensions, 1000 clusters of equal size (centres N(0, 6.886² I), noise
/// 6.127). nyt: 1.7 million documents of 50 to 150 words, 9866 words, 160 topics (a Zipf base 1/(rank + 10), tilted for each topic and
/// word by a log-normal factor).
///
/// Writes data.npy, centres.npy and labels.npy, or docword.txt.gz, vocab.txt and labels.npy; and synth.json, the settings.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dirigent synth synthetic --out points\n  dirigent synth nyt --rows 2000 --clusters 20 --out documents"
)]
pub(crate) struct SynthArgs {
    /// Kind of data set
    pub(crate) set: SetArg,
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Number of rows; clusters keep their shares
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) rows: Option<u64>,
    /// Number of clusters
    #[arg(long, value_name = "K", value_parser = value_parser!(u64).range(1..), allow_negative_numbers = true)]
    pub(crate) clusters: Option<u64>,
    /// Standard deviation of the centres; for nyt, of a word's log weights over topics [default: 1.5]
    #[arg(long, value_name = "S", value_parser = deviation, allow_negative_numbers = true)]
    pub(crate) centre_sd: Option<f64>,
    /// Standard deviation of rows about their centre; not for nyt
    #[arg(long, value_name = "S", value_parser = deviation, allow_negative_numbers = true)]
    pub(crate) noise_sd: Option<f64>,
    /// Sizes of the clusters; zipf: ∝ 1/(k+20)^0.8 [default: paper, equal, zipf for the three sets]
    #[arg(long)]
    pub(crate) sizes: Option<SizesArg>,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Replace the files of an earlier set in the folder
    #[arg(long)]
    pub(crate) force: bool,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SetArg {
    Synthetic,
    Imagenet,
    Nyt,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SizesArg {
    Equal,
    Zipf,
    Paper,
}

fn deviation(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("expected a number that is zero or positive, and finite".to_owned()),
    }
}
