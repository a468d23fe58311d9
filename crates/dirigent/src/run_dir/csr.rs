//! Sparse counts in an `.npz`, as `scipy.sparse.save_npz` writes a CSR matrix.

use super::npz::{NpzReader, NpzWriter};
use crate::error::Result;

/// Writes rows of (column, count), columns rising.
pub(super) fn write(file: &mut NpzWriter, n_columns: usize, rows: &[Vec<(u32, i64)>]) -> Result<()> {
    let mut ends = vec![0i64];
    for row in rows {
        ends.push(ends[ends.len() - 1] + row.len() as i64);
    }
    let n_entries = rows.iter().map(Vec::len).sum();
    let index = |(word, _): &(u32, i64)| i32::try_from(*word).expect("a vocabulary has fewer than 2³¹ words");
    file.array("data", &[n_entries], rows.iter().flatten().map(|(_, count)| *count))?;
    file.array("indices", &[n_entries], rows.iter().flatten().map(index))?;
    file.array("indptr", &[ends.len()], ends.iter().copied())?;
    file.array("shape", &[2], [rows.len() as i64, n_columns as i64])?;
    file.text("format", "csr")
}

/// Reads rows of (column, count): columns rise, counts are positive and fit 32 bits.
pub(super) fn read(file: &mut NpzReader, n_rows: usize, n_columns: usize) -> Result<Vec<Vec<(u32, i64)>>> {
    let (data, indices) = (file.integers("data")?, file.integers("indices")?);
    let (ends, shape) = (file.integers("indptr")?, file.integers("shape")?);
    if shape != [n_rows as i64, n_columns as i64] {
        return Err(file.wrong("shape", format!("found {shape:?}, expected {n_rows} × {n_columns}")));
    }
    let is_cut = ends.first() == Some(&0) && ends.last() == Some(&(data.len() as i64)) && ends.is_sorted();
    if Some(ends.len()) != n_rows.checked_add(1) || !is_cut || indices.len() != data.len() {
        return Err(file.wrong("indptr", "does not cut the entries into one part for each row"));
    }
    let mut rows = Vec::with_capacity(ends.len() - 1);
    for (row, ends) in ends.windows(2).enumerate() {
        // both lie between 0 and the number of entries, as was just seen
        let part = ends[0] as usize..ends[1] as usize;
        let entries = entries_of(&indices[part.clone()], &data[part], n_columns);
        rows.push(entries.ok_or_else(|| {
            let problem = format!("row {row}: expected rising words below {n_columns}, each counted at least once");
            file.wrong("data", problem)
        })?);
    }
    Ok(rows)
}

/// The counts of one row, if they are in order.
fn entries_of(words: &[i64], counts: &[i64], n_columns: usize) -> Option<Vec<(u32, i64)>> {
    let mut entries: Vec<(u32, i64)> = Vec::with_capacity(words.len());
    for (&word, &count) in words.iter().zip(counts) {
        let word = u32::try_from(word).ok().filter(|word| (*word as usize) < n_columns)?;
        let is_rising = entries.last().is_none_or(|(before, _)| *before < word);
        let count = u32::try_from(count).ok().filter(|count| *count > 0 && is_rising)?;
        entries.push((word, i64::from(count)));
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_counts_must_be_in_order() {
        assert_eq!(entries_of(&[0, 3], &[1, 2], 4), Some(vec![(0, 1), (3, 2)]));
        for (words, counts) in
            [([3, 0], [1, 2]), ([0, 0], [1, 2]), ([0, 4], [1, 2]), ([-1, 2], [1, 2]), ([0, 3], [0, 2])]
        {
            assert_eq!(entries_of(&words, &counts, 4), None, "{words:?} {counts:?}");
        }
        assert_eq!(entries_of(&[0], &[1 << 32], 4), None);
    }
}
