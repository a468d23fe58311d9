//! `sample.npz`: some of the rows as they were read, for people to look at. Whoever makes a report
//! need not find the data again.

use std::path::Path;

use super::csr;
use super::npz::{NpzReader, NpzWriter};
use crate::error::Result;
use crate::io::FittedColumns;
use crate::rng::{Role, Seed};
use crate::rows::{CountTable, Row, Shard, Table};

const SAMPLE: &str = "sample.npz";
/// Cells that a sample may have, 8 MB: of very wide rows there are fewer.
const MOST_CELLS: usize = 1 << 20;

/// A sample of rows.
#[derive(Debug)]
pub struct RowSample {
    /// Their numbers in the input, from 0, rising.
    pub numbers: Vec<usize>,
    /// The rows themselves, a missing cell as NaN.
    pub rows: Table,
}

impl RowSample {
    /// Draws at most `n_rows` rows: one from each of this many parts of equal length, so that no
    /// part of the input is left out. The seed alone decides which.
    pub fn draw(shard: &Shard, n_rows: usize, seed: u64) -> Self {
        let mut n_rows = n_rows.min(shard.n_rows());
        loop {
            let numbers = chosen(shard.n_rows(), n_rows, seed);
            let n_cells: usize = numbers.iter().map(|&number| n_cells(shard.row(number))).sum();
            if n_cells <= MOST_CELLS || n_rows <= 1 {
                return Self { rows: table(shard, &numbers), numbers };
            }
            n_rows /= 2;
        }
    }

    /// Writes `sample.npz` into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut file = NpzWriter::new(&folder.join(SAMPLE));
        let n_rows = self.numbers.len();
        file.array("rows", &[n_rows], self.numbers.iter().map(|&number| number as i64))?;
        let n_columns = self.rows.n_columns();
        match &self.rows {
            Table::Counts(_) => {
                let entries = |row| match self.rows.row(row) {
                    Row::Counts(row) => row.iter().map(|(word, count)| (word, i64::from(count))).collect(),
                    _ => unreachable!("a table of counts has rows of counts"),
                };
                csr::write(&mut file, n_columns, &(0..n_rows).map(entries).collect::<Vec<_>>())?;
            }
            _ => file.array("values", &[n_rows, n_columns], (0..n_rows).flat_map(|row| numbers(self.rows.row(row))))?,
        }
        file.finish()
    }

    /// Reads the sample of a run whose model has these columns; nothing where the folder has none.
    pub fn read(folder: &Path, columns: &FittedColumns, is_counts: bool) -> Result<Option<Self>> {
        let path = folder.join(SAMPLE);
        if !path.exists() {
            return Ok(None);
        }
        let mut file = NpzReader::open(&path)?;
        let numbers: Option<Vec<usize>> =
            file.integers("rows")?.into_iter().map(|number| usize::try_from(number).ok()).collect();
        let Some(numbers) = numbers.filter(|numbers| numbers.is_sorted_by(|a, b| a < b)) else {
            return Err(file.wrong("rows", "expected rising numbers of rows"));
        };
        let n_columns = columns.n_columns;
        let rows = if is_counts {
            let mut table = CountTable::new(n_columns);
            for row in csr::read(&mut file, numbers.len(), n_columns)? {
                table.push_row(row.into_iter().map(|(word, count)| (word, count as u32)));
            }
            Table::Counts(table)
        } else {
            Table::from_f64(n_columns, file.cells("values", &[numbers.len(), n_columns])?)
        };
        Ok(Some(Self { numbers, rows }))
    }
}

fn chosen(n_rows: usize, n_chosen: usize, seed: u64) -> Vec<usize> {
    let mut stream = Seed::new(seed).stream(Role::Observer, 1, 0);
    let border = |part: usize| (part as u128 * n_rows as u128 / n_chosen as u128) as usize;
    (0..n_chosen).map(|part| border(part) + stream.below(border(part + 1) - border(part))).collect()
}

fn n_cells(row: Row<'_>) -> usize {
    match row {
        Row::F32(cells) => cells.len(),
        Row::F64(cells) => cells.len(),
        Row::Counts(row) => row.words.len(),
    }
}

fn table(shard: &Shard, chosen: &[usize]) -> Table {
    if shard.is_counts() {
        let mut table = CountTable::new(shard.n_columns());
        for &number in chosen {
            if let Row::Counts(row) = shard.row(number) {
                table.push_row(row.iter());
            }
        }
        return Table::Counts(table);
    }
    Table::from_f64(shard.n_columns(), chosen.iter().flat_map(|&number| numbers(shard.row(number))).collect())
}

/// The cells of a dense row.
fn numbers(row: Row<'_>) -> Vec<f64> {
    match row {
        Row::F32(cells) => cells.iter().map(|&cell| f64::from(cell)).collect(),
        Row::F64(cells) => cells.to_vec(),
        Row::Counts(_) => panic!("a dense table has dense rows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Selection;

    fn columns(n_columns: usize) -> FittedColumns {
        FittedColumns {
            n_columns,
            names: None,
            selection: Selection::default(),
            levels: Vec::new(),
            formats: Vec::new(),
            left_out: Vec::new(),
            numbered_from_zero: false,
        }
    }

    fn read_back(sample: &RowSample, is_counts: bool) -> RowSample {
        let folder = tempfile::tempdir().unwrap();
        sample.write(folder.path()).unwrap();
        let back = RowSample::read(folder.path(), &columns(sample.rows.n_columns()), is_counts).unwrap().unwrap();
        assert_eq!(back.numbers, sample.numbers);
        back
    }

    #[test]
    fn a_sample_has_a_row_of_every_part_and_the_seed_decides() {
        for (n_rows, n_chosen) in [(10, 3), (7, 7), (1_000_003, 5000), (5, 0)] {
            let rows = chosen(n_rows, n_chosen, 4);
            assert_eq!(rows.len(), n_chosen);
            assert!(rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|row| *row < n_rows));
            assert_eq!(rows, chosen(n_rows, n_chosen, 4));
        }
        assert_ne!(chosen(1000, 10, 4), chosen(1000, 10, 5));
    }

    #[test]
    fn numbers_and_holes_survive_the_way_there_and_back() {
        let cells: Vec<f32> = (0..40).map(|ix| if ix == 7 { f32::NAN } else { ix as f32 / 3.0 }).collect();
        let shard = Shard::of_table(Table::from_f32(2, cells));
        let sample = RowSample::draw(&shard, 100, 0);
        assert_eq!(sample.numbers, (0..20).collect::<Vec<_>>());
        let back = read_back(&sample, false);
        let Row::F64(row) = back.rows.row(3) else { panic!("doubles expected") };
        assert!(row[0] == f64::from(6.0f32 / 3.0) && row[1].is_nan());
    }

    #[test]
    fn documents_survive_too_and_very_long_ones_make_the_sample_small() {
        let mut table = CountTable::new(600_000);
        table.push_row([(0, 2), (599_999, 1)]);
        table.push_row([]);
        (0..4).for_each(|_| table.push_row((0..500_000).map(|word| (word, 1))));
        let shard = Shard::of_table(Table::Counts(table));
        let sample = RowSample::draw(&shard, 6, 0);
        assert!(sample.numbers.len() < 6, "{:?}", sample.numbers);
        let small = RowSample::draw(&shard.part(0..2), 6, 0);
        let back = read_back(&small, true);
        assert_eq!((back.rows.row(0), back.rows.row(1)), (shard.row(0), shard.row(1)));
    }

    #[test]
    fn a_folder_may_have_no_sample_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(RowSample::read(folder.path(), &columns(2), false).unwrap().is_none());
        RowSample::draw(&Shard::of_table(Table::from_f64(2, vec![0.0; 8])), 4, 0).write(folder.path()).unwrap();
        assert!(RowSample::read(folder.path(), &columns(3), false).is_err());
        assert!(RowSample::read(folder.path(), &columns(2), true).is_err());
        std::fs::write(folder.path().join(SAMPLE), b"PK").unwrap();
        assert!(RowSample::read(folder.path(), &columns(2), false).is_err());
    }
}
