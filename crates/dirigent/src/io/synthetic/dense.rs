//! Gaussian clusters: centres N(0, `centre_sd`² I), rows N(centre, `noise_sd`² I).

use std::path::Path;

use serde::Serialize;

use super::{MixturePart, Sizes, check_deviation, check_numbers, room_for, shuffled_labels, stream};
use crate::error::Result;
use crate::rows::Table;
use crate::run_dir::{NpyWriter, write_labels};

/// The law of a set of Gaussian clusters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MixtureLaw {
    /// The number of rows.
    pub n_rows: usize,
    /// The dimension D.
    pub n_columns: usize,
    /// The number of clusters.
    pub n_clusters: usize,
    /// Standard deviation of the centres, per dimension.
    pub centre_sd: f64,
    /// Standard deviation of the rows about their centre, per dimension.
    pub noise_sd: f64,
    /// How the rows are shared out among the clusters.
    pub sizes: Sizes,
    /// The seed of everything random.
    pub seed: u64,
}

impl MixtureLaw {
    /// The paper's synthetic set.
    pub fn synthetic() -> Self {
        let (n_rows, n_columns, n_clusters) = (141_000, 2, 50);
        Self { n_rows, n_columns, n_clusters, centre_sd: 10.0, noise_sd: 1.0, sizes: Sizes::Paper, seed: 0 }
    }

    /// A set like the paper's ImageNet features: as many rows as that set has training images.
    pub fn imagenet() -> Self {
        let (n_rows, n_columns, n_clusters) = (1_281_167, 48, 1000);
        Self { n_rows, n_columns, n_clusters, centre_sd: 6.886, noise_sd: 6.127, sizes: Sizes::Equal, seed: 0 }
    }

    /// Whether such a set can be made.
    pub fn check(&self) -> Result<()> {
        check_numbers(self.n_rows, self.n_clusters)?;
        check_deviation("centre_sd", self.centre_sd)?;
        check_deviation("noise_sd", self.noise_sd)
    }

    /// The set in memory, and the cluster of each row.
    pub fn table(&self) -> Result<(Table, Vec<u32>)> {
        self.check()?;
        let labels = self.labels()?;
        let mut cells = room_for(self.n_rows.saturating_mul(self.n_columns), "rows")?;
        let add_row = |row: &[f32]| {
            cells.extend_from_slice(row);
            Ok(())
        };
        self.each_row(&self.centres()?, &labels, add_row)?;
        Ok((Table::from_f32(self.n_columns, cells), labels))
    }

    /// Writes `data.npy`, `centres.npy` and `labels.npy`, one row after the other.
    pub fn write(&self, folder: &Path) -> Result<()> {
        self.check()?;
        let (labels, centres) = (self.labels()?, self.centres()?);
        let mut data = NpyWriter::create(&folder.join("data.npy"), &[self.n_rows, self.n_columns])?;
        self.each_row(&centres, &labels, |row| data.write(row.iter().copied()))?;
        data.finish()?;
        let mut file = NpyWriter::create(&folder.join("centres.npy"), &[self.n_clusters, self.n_columns])?;
        file.write(centres.iter().map(|&centre| centre as f32))?;
        file.finish()?;
        write_labels(&folder.join("labels.npy"), &labels)
    }

    fn labels(&self) -> Result<Vec<u32>> {
        shuffled_labels(self.sizes, self.n_clusters, self.n_rows, self.seed)
    }

    fn centres(&self) -> Result<Vec<f64>> {
        let n_cells = self.n_clusters.saturating_mul(self.n_columns);
        let mut centres = room_for(n_cells, "centres")?;
        let mut rng = stream(self.seed, MixturePart::Centres);
        centres.extend((0..n_cells).map(|_| self.centre_sd * rng.normal()));
        Ok(centres)
    }

    fn each_row(&self, centres: &[f64], labels: &[u32], mut visit: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        let mut rng = stream(self.seed, MixturePart::Rows);
        let mut row = vec![0.0; self.n_columns];
        for &label in labels {
            let centre = &centres[label as usize * self.n_columns..][..self.n_columns];
            for (cell, centre) in row.iter_mut().zip(centre) {
                *cell = (centre + self.noise_sd * rng.normal()) as f32;
            }
            visit(&row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Row;

    fn cells(table: &Table) -> Vec<f32> {
        let row = |row_ix| match table.row(row_ix) {
            Row::F32(row) => row.to_vec(),
            other => panic!("single precision expected, got {other:?}"),
        };
        (0..table.n_rows()).flat_map(row).collect()
    }

    #[test]
    fn centres_and_noise_have_their_moments() {
        // 5 standard errors for each of the four moments: false alarms below 3e-6 for the test, and the seed is fixed
        let law = MixtureLaw { n_rows: 40_000, n_clusters: 2_000, ..MixtureLaw::imagenet() };
        let centres = law.centres().unwrap();
        let (table, labels) = law.table().unwrap();
        let cells = cells(&table);
        let noise = |ix: usize| {
            let (row, column) = (ix / law.n_columns, ix % law.n_columns);
            f64::from(cells[ix]) - centres[labels[row] as usize * law.n_columns + column]
        };
        let noise: Vec<f64> = (0..cells.len()).map(noise).collect();
        for (draws, deviation) in [(&centres, law.centre_sd), (&noise, law.noise_sd)] {
            let n = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / n;
            assert!(mean.abs() < 5.0 * deviation / n.sqrt(), "mean {mean}");
            assert!((variance / deviation.powi(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "variance {variance}");
        }
    }

    #[test]
    fn the_files_hold_what_the_memory_holds() {
        let folder = tempfile::tempdir().unwrap();
        let law = MixtureLaw { n_rows: 500, seed: 3, ..MixtureLaw::synthetic() };
        law.write(folder.path()).unwrap();
        let (table, labels) = law.table().unwrap();
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        let data = npyz::NpyFile::new(&read("data.npy")[..]).unwrap().into_vec::<f32>().unwrap();
        assert_eq!(data, cells(&table));
        let truth = npyz::NpyFile::new(&read("labels.npy")[..]).unwrap().into_vec::<i32>().unwrap();
        assert!(truth.iter().map(|&label| label as u32).eq(labels));
        assert_ne!(law.table().unwrap().1, MixtureLaw { seed: 4, ..law }.table().unwrap().1);
    }

    #[test]
    fn impossible_sets_are_refused() {
        let law = MixtureLaw::synthetic();
        let impossible = [
            MixtureLaw { n_rows: 49, ..law.clone() },
            MixtureLaw { n_clusters: 0, ..law.clone() },
            MixtureLaw { noise_sd: f64::NAN, ..law.clone() },
            MixtureLaw { n_rows: usize::MAX, ..law },
        ];
        for law in impossible {
            assert!(law.table().is_err(), "{law:?}");
        }
    }
}
