//! The row that is being scored, its cells by law.

use super::layout::Layout;
use crate::rows::Row;

/// Counts up to here are multiplied out, larger ones go by Stirling's series.
pub(in crate::sweep) const SMALL: f64 = 64.0;

/// The level of a missing cell.
pub(in crate::sweep) const NO_LEVEL: u32 = u32::MAX;

/// The current row.
#[derive(Default)]
pub(in crate::sweep) struct ColumnCells {
    /// x' of the columns of numbers, NaN where missing.
    pub(in crate::sweep) scaled: Vec<f64>,
    /// The same in single precision, of those that share their exponent.
    pub(in crate::sweep) singles: Vec<f32>,
    /// (place among the others, x') where it is not missing.
    pub(in crate::sweep) own: Vec<(usize, f32)>,
    /// The level of each column of levels, among those of all columns.
    pub(in crate::sweep) levels: Vec<u32>,
    /// The columns of counts, NaN where missing.
    pub(in crate::sweep) counts: Vec<f64>,
    /// Sums of the counts by class.
    pub(in crate::sweep) class_sums: Vec<f64>,
    /// Rows of the table of factors, each once.
    pub(in crate::sweep) factors: Vec<u32>,
    /// (row of the table of factors, j): the j-th further event of a count.
    pub(in crate::sweep) repeats: Vec<(u32, f32)>,
    /// Places of columns of counts that may have missing cells and have none here.
    pub(in crate::sweep) present: Vec<usize>,
    /// (place among the columns of counts, count).
    pub(in crate::sweep) large: Vec<(usize, f64)>,
    /// Whether a cell is missing where none was when the model was fitted.
    pub(in crate::sweep) is_odd: bool,
}

impl ColumnCells {
    /// Makes a row the current one.
    #[inline(always)]
    pub(in crate::sweep) fn read(&mut self, row: Row<'_>, layout: &Layout) {
        match row {
            Row::F32(numbers) => self.read_cells(layout, |column| f64::from(numbers[column])),
            Row::F64(numbers) => self.read_cells(layout, |column| numbers[column]),
            Row::Counts(_) => panic!("columns have dense rows"),
        }
    }

    #[inline(always)]
    fn read_cells(&mut self, layout: &Layout, cell: impl Fn(usize) -> f64) {
        self.is_odd = false;
        self.factors.clear();
        self.repeats.clear();
        self.read_normals(layout, &cell);
        self.read_levels(layout, &cell);
        if !layout.counts.is_empty() {
            self.read_counts(layout, &cell);
        }
    }

    #[inline(always)]
    fn read_normals(&mut self, layout: &Layout, cell: &impl Fn(usize) -> f64) {
        self.scaled.clear();
        self.scaled.extend(layout.normals.iter().map(|column| column.law.scaled(cell(column.column))));
        let (shared, own) = self.scaled.split_at(layout.n_shared);
        self.singles.clear();
        self.singles.extend(shared.iter().map(|&x| x as f32));
        self.is_odd |= shared.iter().any(|x| x.is_nan());
        self.own.clear();
        for (place, &x) in own.iter().enumerate() {
            if !x.is_nan() {
                self.own.push((place, x as f32));
            } else {
                self.is_odd |= !layout.normals[layout.n_shared + place].has_missing;
            }
        }
    }

    #[inline(always)]
    fn read_levels(&mut self, layout: &Layout, cell: &impl Fn(usize) -> f64) {
        self.levels.clear();
        for column in &layout.levels {
            let x = cell(column.column);
            if x.is_nan() {
                self.levels.push(NO_LEVEL);
                self.is_odd |= !column.has_missing;
            } else {
                let level = (column.first_level + x as usize) as u32;
                self.levels.push(level);
                self.factors.push(level);
            }
        }
    }

    fn read_counts(&mut self, layout: &Layout, cell: &impl Fn(usize) -> f64) {
        self.counts.clear();
        self.present.clear();
        self.large.clear();
        self.class_sums.clear();
        self.class_sums.resize(layout.rates.values().count(), 0.0);
        let mut n_with_missing = 0;
        for (place, column) in layout.counts.iter().enumerate() {
            let x = cell(column.column);
            self.counts.push(x);
            if x.is_nan() {
                self.is_odd |= !column.has_missing;
            } else {
                match column.class {
                    Some(class) => self.class_sums[class] += x,
                    None => self.present.push(n_with_missing),
                }
                self.read_events((layout.n_levels + 2 * place) as u32, place, x);
            }
            n_with_missing += usize::from(column.has_missing);
        }
    }

    fn read_events(&mut self, factor: u32, place: usize, x: f64) {
        if x > SMALL {
            self.large.push((place, x));
        } else if x > 0.0 {
            self.factors.push(factor);
            self.repeats.extend((1..x as u32).map(|repeat| (factor, repeat as f32)));
        }
    }
}
