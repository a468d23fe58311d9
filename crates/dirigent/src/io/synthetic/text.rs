//! Documents of one topic each.
//!
//! The law: a base 1/(rank + 10) over the words (Zipf's, bent at the top because the most frequent words are usually taken out
//! before); each topic multiplies each word's weight by exp(`tilt_sd` · z), z standard normal; a document has between
//! 50 and 150 words, each length as likely as any other, drawn independently from its topic.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::{MixturePart, Sizes, check_deviation, check_numbers, room_for, shuffled_labels, stream};
use crate::error::Result;
use crate::rng::Stream;
use crate::run_dir::{write_file, write_labels};

const SHORTEST: usize = 50;
const LONGEST: usize = 150;
const BASE_OFFSET: f64 = 10.0;

/// The law of a set of documents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TextLaw {
    /// The number of documents.
    pub n_rows: usize,
    /// The size of the vocabulary.
    pub n_columns: usize,
    /// The number of topics.
    pub n_clusters: usize,
    /// Standard deviation of a word's log weight between topics.
    pub tilt_sd: f64,
    /// How the documents are shared out among the topics.
    pub sizes: Sizes,
    /// The seed of everything random.
    pub seed: u64,
}

impl TextLaw {
    /// A set like the paper's New York Times articles. With γ = 1 and 20,000 documents, a tilt of 1.5 makes the true topics a far
    /// better explanation than one cluster for all; a tilt of 1 does not.
    pub fn nyt() -> Self {
        let (n_rows, n_columns, n_clusters) = (1_700_000, 9866, 160);
        Self { n_rows, n_columns, n_clusters, tilt_sd: 1.5, sizes: Sizes::Zipf, seed: 0 }
    }

    /// Whether such a set can be made.
    pub fn check(&self) -> Result<()> {
        check_numbers(self.n_rows, self.n_clusters)?;
        check_deviation("tilt_sd", self.tilt_sd)
    }

    /// Writes `docword.txt.gz`, `vocab.txt` and `labels.npy`, one document after the other.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.check()?;
        let labels = shuffled_labels(self.sizes, self.n_clusters, self.n_rows, self.seed)?;
        let topics = self.topics()?;
        write_file(&folder.join("docword.txt.gz"), |file| {
            let encoder = GzEncoder::new(file, Compression::fast());
            let mut text = BufWriter::new(encoder);
            self.write_docword(&topics, &labels, &mut text)?;
            text.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(drop)
        })?;
        write_file(&folder.join("vocab.txt"), |file| {
            (1..=self.n_columns).try_for_each(|word| writeln!(file, "word{word}"))
        })?;
        write_labels(&folder.join("labels.npy"), &labels)
    }

    /// The layout opens with the number of entries, so the documents are drawn twice: counted, then written.
    fn write_docword(&self, topics: &[f64], labels: &[u32], text: &mut impl Write) -> io::Result<()> {
        let mut n_entries = 0u64;
        self.each_document(topics, labels, |entries| {
            n_entries += entries.len() as u64;
            Ok(())
        })?;
        writeln!(text, "{}\n{}\n{n_entries}", self.n_rows, self.n_columns)?;
        let mut document = 0;
        self.each_document(topics, labels, |entries| {
            document += 1;
            entries.iter().try_for_each(|(word, count)| writeln!(text, "{document} {} {count}", word + 1))
        })
    }

    /// For each topic, the sums of its words' weights up to each word.
    fn topics(&self) -> Result<Vec<f64>> {
        let mut sums = room_for(self.n_clusters.saturating_mul(self.n_columns), "topics")?;
        let mut rng = stream(self.seed, MixturePart::Centres);
        for _ in 0..self.n_clusters {
            let mut sum = 0.0;
            sums.extend((0..self.n_columns).map(|word| {
                sum += libm::exp(self.tilt_sd * rng.normal()) / (word as f64 + 1.0 + BASE_OFFSET);
                sum
            }));
        }
        Ok(sums)
    }

    /// Visits the (word, count) pairs of each document, words rising.
    fn each_document(
        &self,
        topics: &[f64],
        labels: &[u32],
        mut visit: impl FnMut(&[(u32, u32)]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rng = stream(self.seed, MixturePart::Rows);
        let (mut words, mut entries) = (Vec::new(), Vec::new());
        for &label in labels {
            let topic = &topics[label as usize * self.n_columns..][..self.n_columns];
            let length = SHORTEST + rng.below(LONGEST - SHORTEST + 1);
            words.clear();
            words.extend((0..length).map(|_| draw_word(topic, &mut rng)));
            words.sort_unstable();
            entries.clear();
            entries.extend(words.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)));
            visit(&entries)?;
        }
        Ok(())
    }
}

fn draw_word(topic: &[f64], rng: &mut Stream) -> u32 {
    let point = rng.uniform() * topic[topic.len() - 1];
    let word = topic.partition_point(|&sum| sum <= point);
    // rounding may carry the point to the very end
    word.min(topic.len() - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_the_lengths_and_words_of_their_law() {
        // mean length within 5 standard errors of 100 (the law's deviation is 29.2), share of the first word within 5 of its
        // weight: false alarms below 2e-6 for the test, and the seed is fixed
        let law = TextLaw { n_rows: 20_000, n_clusters: 1, n_columns: 100, tilt_sd: 0.0, ..TextLaw::nyt() };
        let topics = law.topics().unwrap();
        let (mut total, mut first) = (0.0, 0.0);
        let visit = |entries: &[(u32, u32)]| {
            total += entries.iter().map(|entry| f64::from(entry.1)).sum::<f64>();
            first += entries.iter().filter(|entry| entry.0 == 0).map(|entry| f64::from(entry.1)).sum::<f64>();
            Ok(())
        };
        law.each_document(&topics, &vec![0; law.n_rows], visit).unwrap();
        assert!((total / 20_000.0 - 100.0).abs() < 5.0 * 29.2 / 20_000f64.sqrt(), "{total} words");
        let weight = (1.0 / 11.0) / (11..111).map(|rank| 1.0 / f64::from(rank)).sum::<f64>();
        let error = (weight * (1.0 - weight) / total).sqrt();
        assert!((first / total - weight).abs() < 5.0 * error, "share {}, weight {weight}", first / total);
    }

    #[test]
    fn the_header_counts_the_entries() {
        let law = TextLaw { n_rows: 30, n_clusters: 3, n_columns: 50, ..TextLaw::nyt() };
        let labels = shuffled_labels(law.sizes, law.n_clusters, law.n_rows, law.seed).unwrap();
        let mut text = Vec::new();
        law.write_docword(&law.topics().unwrap(), &labels, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..3], ["30", "50", &(lines.len() - 3).to_string()]);
        assert!(lines[lines.len() - 1].starts_with("30 "));
    }
}
