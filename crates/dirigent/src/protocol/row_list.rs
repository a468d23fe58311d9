//! Rows that travel, and rows gathered from several places.

use serde::{Deserialize, Serialize};

use crate::rows::{CountTable, Row, Table};

/// Rows one after another, as precise as they are: single precision stays single while all are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum RowList {
    /// No rows.
    #[default]
    Empty,
    /// Single precision numbers.
    F32(Vec<f32>),
    /// Double precision numbers.
    F64(Vec<f64>),
    /// Sparse counts.
    Counts {
        /// Entries of each row.
        lengths: Vec<u32>,
        /// Words, each by how many were passed over since the one before in its row.
        gaps: Vec<u32>,
        /// How often each occurs.
        counts: Vec<u32>,
    },
}

impl RowList {
    /// Copies rows, all dense or all counts.
    pub fn of<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Self {
        let mut list = Self::Empty;
        rows.into_iter().for_each(|row| list.push(row));
        list
    }

    fn push(&mut self, row: Row<'_>) {
        match (&mut *self, row) {
            (Self::F32(cells), Row::F32(row)) => cells.extend(row),
            (Self::F64(cells), Row::F64(row)) => cells.extend(row),
            (Self::F64(cells), Row::F32(row)) => cells.extend(row.iter().map(|cell| f64::from(*cell))),
            (Self::Counts { lengths, gaps, counts }, Row::Counts(row)) => {
                lengths.push(row.words.len() as u32);
                let mut next = 0;
                for &word in row.words {
                    gaps.push(word - next);
                    next = word + 1;
                }
                counts.extend(row.counts);
            }
            // without any loss: a double holds every single
            (Self::F32(cells), Row::F64(row)) => {
                let mut wider: Vec<f64> = cells.iter().map(|cell| f64::from(*cell)).collect();
                wider.extend(row);
                *self = Self::F64(wider);
            }
            (Self::Empty, row) => {
                *self = match row {
                    Row::F32(_) => Self::F32(Vec::new()),
                    Row::F64(_) => Self::F64(Vec::new()),
                    Row::Counts(_) => Self::Counts { lengths: Vec::new(), gaps: Vec::new(), counts: Vec::new() },
                };
                self.push(row);
            }
            (Self::Counts { .. }, _) | (_, Row::Counts(_)) => panic!("rows of one kind"),
        }
    }

    /// The rows as a table of this many columns; `None` if they are not such rows.
    pub fn into_table(self, n_columns: usize, is_counts: bool) -> Option<Table> {
        if n_columns == 0 {
            return None;
        }
        let are_whole = |n_cells: usize| !is_counts && n_cells.is_multiple_of(n_columns);
        match self {
            Self::Empty if is_counts => Some(Table::Counts(CountTable::new(n_columns))),
            Self::Empty => Some(Table::from_f64(n_columns, Vec::new())),
            Self::F32(cells) => are_whole(cells.len()).then(|| Table::from_f32(n_columns, cells)),
            Self::F64(cells) => are_whole(cells.len()).then(|| Table::from_f64(n_columns, cells)),
            Self::Counts { lengths, gaps, counts } if is_counts => count_table(n_columns, &lengths, &gaps, &counts),
            Self::Counts { .. } => None,
        }
    }
}

fn count_table(n_columns: usize, lengths: &[u32], gaps: &[u32], counts: &[u32]) -> Option<Table> {
    let mut table = CountTable::new(n_columns);
    let (mut gaps, mut counts) = (gaps, counts);
    let mut entries = Vec::new();
    for &length in lengths {
        let (row_gaps, row_counts);
        (row_gaps, gaps) = gaps.split_at_checked(length as usize)?;
        (row_counts, counts) = counts.split_at_checked(length as usize)?;
        entries.clear();
        let mut next: u32 = 0;
        for (&gap, &count) in row_gaps.iter().zip(row_counts) {
            let word = next.checked_add(gap)?;
            next = word.checked_add(1)?;
            if word as usize >= n_columns || count == 0 {
                return None;
            }
            entries.push((word, count));
        }
        table.push_row(entries.iter().copied());
    }
    (gaps.is_empty() && counts.is_empty()).then_some(Table::Counts(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Shard;

    fn back(list: RowList, n_columns: usize, is_counts: bool) -> Shard {
        Shard::of_table(list.into_table(n_columns, is_counts).unwrap())
    }

    #[test]
    fn rows_stay_as_precise_as_they_are() {
        let (single, double) = (Table::from_f32(2, vec![0.1, f32::NAN]), Table::from_f64(2, vec![0.1, 1e-300]));
        let of_singles = back(RowList::of([single.row(0), single.row(0)]), 2, false);
        let Row::F32([0.1, missing]) = of_singles.row(1) else { panic!("{:?}", of_singles.row(1)) };
        assert!(missing.is_nan());
        let of_both = back(RowList::of([single.row(0), double.row(0), single.row(0)]), 2, false);
        assert_eq!(of_both.row(1), Row::F64(&[0.1, 1e-300]));
        let Row::F64([first, _]) = of_both.row(2) else { panic!("{:?}", of_both.row(2)) };
        assert_eq!(*first as f32, 0.1);
        assert_eq!(back(RowList::of([]), 2, false).n_rows(), 0);
    }

    #[test]
    fn documents_survive_and_nonsense_does_not() {
        let mut table = CountTable::new(5);
        let documents: [&[(u32, u32)]; 3] = [&[(0, 2), (4, 1)], &[], &[(3, 7)]];
        documents.iter().for_each(|entries| table.push_row(entries.iter().copied()));
        let shard = Shard::of_table(Table::Counts(table));
        let list = RowList::of(shard.rows());
        let again = back(list.clone(), 5, true);
        assert!(again.rows().eq(shard.rows()));
        assert!(list.clone().into_table(4, true).is_none(), "a word beyond the vocabulary");
        assert!(list.into_table(5, false).is_none(), "counts where numbers belong");
        let counts = |lengths: &[u32], gaps: &[u32], counts: &[u32]| {
            let list = RowList::Counts { lengths: lengths.into(), gaps: gaps.into(), counts: counts.into() };
            list.into_table(5, true)
        };
        assert!(counts(&[1], &[0], &[0]).is_none(), "a word that does not occur");
        assert!(counts(&[2], &[0], &[1]).is_none(), "fewer entries than were announced");
        assert!(counts(&[1], &[0, 0], &[1, 1]).is_none(), "more entries than were announced");
        assert!(counts(&[2], &[u32::MAX, 0], &[1, 1]).is_none(), "an overflow");
        assert!(RowList::F64(vec![0.0; 3]).into_table(2, false).is_none(), "half a row");
    }
}
