//! Made data with a known truth: the sets of the paper's section 5, and others by the same laws.
//!
//! | set | law |
//! |---|---|
//! | `synthetic` | [`MixtureLaw::synthetic`]: 141,000 points of the plane, 50 clusters |
//! | `imagenet` | [`MixtureLaw::imagenet`]: 1,281,167 points in 48 dimensions, 1000 clusters |
//! | `nyt` | [`TextLaw::nyt`]: 1.7 million documents over 9866 words, 160 topics |
//!
//! The laws of `synthetic` and `imagenet` are the paper's. The corpus behind `nyt` is licensed, so its law is ours.

mod dense;
mod sizes;
mod text;

pub use self::dense::MixtureLaw;
pub use self::sizes::{Sizes, cluster_sizes};
pub use self::text::TextLaw;

use crate::error::{InputError, Result};
use crate::rng::{Role, Seed, Stream};

/// All files that a made set can have. The first tells what the set is.
pub const FILES: [&str; 6] = ["synth.json", "data.npy", "centres.npy", "docword.txt.gz", "vocab.txt", "labels.npy"];

/// What a stream of the made data is for.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
enum MixturePart {
    Centres = 0,
    Order = 1,
    Rows = 2,
}

fn stream(seed: u64, part: MixturePart) -> Stream {
    Seed::new(seed).stream(Role::Synthetic, part as u32, 0)
}

/// The cluster of each row: clusters of the given sizes in random order.
fn shuffled_labels(sizes: Sizes, n_clusters: usize, n_rows: usize, seed: u64) -> Result<Vec<u32>> {
    let mut labels = room_for(n_rows, "rows")?;
    for (cluster, size) in cluster_sizes(sizes, n_clusters, n_rows).into_iter().enumerate() {
        labels.extend(std::iter::repeat_n(cluster as u32, size));
    }
    stream(seed, MixturePart::Order).shuffle(&mut labels);
    Ok(labels)
}

/// An empty vector with room for `length` items, or the user's error that there are too many for this machine.
fn room_for<T>(length: usize, what: &str) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match room.try_reserve_exact(length) {
        Ok(()) => Ok(room),
        Err(_) => {
            let problem = format!("the {what} of this set need {length} numbers in memory, more than there is");
            Err(InputError::new(problem).hint("ask for less with `rows` and `clusters`").into())
        }
    }
}

/// What both laws ask of their numbers of rows and clusters.
fn check_numbers(n_rows: usize, n_clusters: usize) -> Result<()> {
    if n_clusters == 0 || n_clusters > n_rows || i32::try_from(n_clusters).is_err() {
        let problem = format!("{n_rows} rows cannot fill {n_clusters} clusters, expected at least one row a cluster");
        return Err(InputError::new(problem).hint("more with `rows`, or fewer with `clusters`").into());
    }
    Ok(())
}

/// What both laws ask of a standard deviation.
fn check_deviation(name: &str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(InputError::new(format!("`{name}` must be zero or positive and finite, got {value}")).into())
}
