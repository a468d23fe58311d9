//! Statistics of one model as another one of the same family counts them: other offsets and units, another order of columns, more words or levels.

use super::history::History;
use crate::family::{Column, ColumnLaw};
use crate::io::FittedColumns;
use crate::model::Model;
use crate::stats::{Stats, Sums};

/// Counts all pieces as another model does, which has the same columns.
pub(crate) fn convert_history(history: &mut History, from: &Model, to: &Model, columns: &FittedColumns) {
    let conversion = Conversion::new(from, columns, to, columns);
    for piece in history.batches.iter_mut().flat_map(|batch| &mut batch.pieces) {
        piece.stats = conversion.of(&piece.stats);
    }
}

/// How a column of numbers is counted: x' = a·x + b of what the other model counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    a: f64,
    b: f64,
}

impl Shift {
    fn new((offset, scale): (f64, f64), (to_offset, to_scale): (f64, f64)) -> Self {
        Self { a: scale / to_scale, b: (offset - to_offset) / to_scale }
    }
}

/// From the statistics of one model to those of another.
pub(super) enum Conversion {
    /// Sums of columns, each at another place: Σx.
    Sums(Vec<(usize, Shift)>),
    /// Σx and the upper triangle of Σxxᵀ.
    Moments(Vec<(usize, Shift)>),
    /// Word counts: the new number of each word, the total last.
    Words(Vec<u32>),
    /// Columns with laws of their own.
    Columns { n_sums: usize, columns: Vec<ColumnConversion> },
}

/// Of one column: where its sums are, where they go, and how.
pub(super) struct ColumnConversion {
    from: usize,
    len: usize,
    had_missing: bool,
    to: usize,
    to_len: usize,
    has_missing: bool,
    how: Cells,
}

enum Cells {
    Shifted(Shift),
    Levels(Vec<usize>),
    Same,
}

impl Conversion {
    /// The place of each column in another model: by name, or the same.
    pub(super) fn places(columns: &FittedColumns, to: &FittedColumns, n_columns: usize) -> Vec<usize> {
        match (&columns.names, &to.names) {
            (Some(names), Some(others)) => {
                let places: std::collections::HashMap<&String, usize> = others.iter().zip(0..).collect();
                names.iter().enumerate().map(|(ix, name)| places.get(name).copied().unwrap_or(ix)).collect()
            }
            _ => (0..n_columns).collect(),
        }
    }

    /// Between models of the same family.
    pub(super) fn new(from: &Model, columns: &FittedColumns, to: &Model, to_columns: &FittedColumns) -> Self {
        let places = Self::places(columns, to_columns, from.n_columns());
        let shifted = |shift: &dyn Fn(usize, usize) -> Shift| {
            places.iter().enumerate().map(|(ix, &place)| (place, shift(ix, place))).collect()
        };
        match (from, to) {
            (Model::GaussianFixed(a), Model::GaussianFixed(b)) => {
                Self::Sums(shifted(&|ix, place| Shift::new((a.offset[ix], 1.0), (b.offset[place], 1.0))))
            }
            (Model::GaussianFull(a), Model::GaussianFull(b)) => Self::Moments(shifted(&|ix, place| {
                Shift::new((a.offset[ix], a.scale[ix]), (b.offset[place], b.scale[place]))
            })),
            (Model::VonMisesFisher(_), Model::VonMisesFisher(_)) => {
                Self::Sums(shifted(&|_, _| Shift { a: 1.0, b: 0.0 }))
            }
            (Model::Multinomial(_), Model::Multinomial(b)) => {
                let words = places.iter().map(|&place| place as u32);
                Self::Words(words.chain([b.n_words as u32]).collect())
            }
            (Model::Columns(a), Model::Columns(b)) => {
                let starts = |columns: &[Column]| -> Vec<usize> {
                    let ends = columns.iter().scan(0, |end, column| {
                        *end += column.stats_len();
                        Some(*end)
                    });
                    [0].into_iter().chain(ends).collect()
                };
                let (from_starts, to_starts) = (starts(&a.columns), starts(&b.columns));
                let conversion = |(ix, &place): (usize, &usize)| {
                    let (column, other) = (&a.columns[ix], &b.columns[place]);
                    ColumnConversion {
                        from: from_starts[ix],
                        len: column.stats_len() - usize::from(column.has_missing),
                        had_missing: column.has_missing,
                        to: to_starts[place],
                        to_len: other.stats_len() - usize::from(other.has_missing),
                        has_missing: other.has_missing,
                        how: cells(column, other, columns.levels.get(ix), to_columns.levels.get(place)),
                    }
                };
                let columns = places.iter().enumerate().map(conversion).collect();
                Self::Columns { n_sums: to_starts[b.columns.len()], columns }
            }
            _ => unreachable!("models of one family"),
        }
    }

    /// The statistics as the other model counts them.
    pub(super) fn of(&self, stats: &Stats) -> Stats {
        let n = stats.count as f64;
        let sums = match self {
            Self::Words(words) => {
                let mut counts: Vec<(u32, i64)> =
                    stats.to_counts().into_iter().map(|(word, count)| (words[word as usize], count)).collect();
                counts.sort_unstable();
                Sums::Counts(counts)
            }
            Self::Sums(columns) => {
                let mut sums = vec![0.0; columns.len()];
                let dense = stats.dense();
                columns.iter().zip(dense).for_each(|(&(place, Shift { a, b }), sum)| sums[place] = a * sum + n * b);
                Sums::Dense(sums.into())
            }
            Self::Moments(columns) => Sums::Dense(moments(columns, n, stats.dense()).into()),
            Self::Columns { n_sums, columns } => {
                let mut sums = vec![0.0; *n_sums];
                columns.iter().for_each(|column| column.add(n, stats.dense(), &mut sums));
                Sums::Dense(sums.into())
            }
        };
        Stats { count: stats.count, sums }
    }
}

/// Where the product of two columns is in the upper triangle, row after row.
fn packed(n_columns: usize, i: usize, j: usize) -> usize {
    let (i, j) = (i.min(j), i.max(j));
    i * n_columns - i * (i + 1) / 2 + j
}

fn moments(columns: &[(usize, Shift)], n: f64, sums: &[f64]) -> Vec<f64> {
    let (d, firsts) = (columns.len(), &sums[..columns.len()]);
    let seconds = &sums[d..];
    let mut converted = vec![0.0; sums.len()];
    for (i, &(to_i, shift_i)) in columns.iter().enumerate() {
        converted[to_i] = shift_i.a * firsts[i] + n * shift_i.b;
        for (j, &(to_j, shift_j)) in columns.iter().enumerate().skip(i) {
            converted[d + packed(d, to_i, to_j)] = shift_i.a * shift_j.a * seconds[packed(d, i, j)]
                + shift_i.a * shift_j.b * firsts[i]
                + shift_j.a * shift_i.b * firsts[j]
                + n * shift_i.b * shift_j.b;
        }
    }
    converted
}

type Levels = Option<Vec<String>>;

fn cells(column: &Column, other: &Column, levels: Option<&Levels>, to_levels: Option<&Levels>) -> Cells {
    match (column.law, other.law) {
        (ColumnLaw::Normal { offset, scale, .. }, ColumnLaw::Normal { offset: to_offset, scale: to_scale, .. }) => {
            Cells::Shifted(Shift::new((offset, scale), (to_offset, to_scale)))
        }
        (ColumnLaw::Categorical { n_levels, .. }, _) => {
            let place = |ix: usize| -> Option<usize> {
                let name = levels?.as_ref()?.get(ix)?;
                to_levels?.as_ref()?.iter().position(|known| known == name)
            };
            Cells::Levels((0..n_levels).map(|ix| place(ix).unwrap_or(ix)).collect())
        }
        _ => Cells::Same,
    }
}

impl ColumnConversion {
    fn add(&self, n_rows: f64, sums: &[f64], converted: &mut [f64]) {
        let sums = &sums[self.from..self.from + self.len + usize::from(self.had_missing)];
        let converted = &mut converted[self.to..self.to + self.to_len + usize::from(self.has_missing)];
        let n = if self.had_missing { sums[self.len] } else { n_rows };
        let cells = &sums[..self.len];
        match &self.how {
            Cells::Same => converted[..self.len].copy_from_slice(cells),
            Cells::Levels(places) => places.iter().zip(cells).for_each(|(&place, count)| converted[place] = *count),
            Cells::Shifted(Shift { a, b }) => {
                converted[0] = a * cells[0] + n * b;
                converted[1] = a * a * cells[1] + 2.0 * a * b * cells[0] + n * b * b;
            }
        }
        if self.has_missing {
            converted[self.to_len] = n;
        }
    }
}
