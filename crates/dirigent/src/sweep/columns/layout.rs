//! The columns of a table by law, so that each law's loop is tight.

use crate::family::columns::normal::Normal;
use crate::family::{Column, ColumnLaw, Columns};

/// Columns of numbers.
pub(in crate::sweep) struct NormalColumn {
    /// In the table.
    pub(in crate::sweep) column: usize,
    pub(in crate::sweep) first_sum: usize,
    pub(in crate::sweep) has_missing: bool,
    pub(in crate::sweep) law: Normal,
}

/// Columns of levels; of zeros and ones too, which are two levels.
pub(in crate::sweep) struct LevelColumn {
    pub(in crate::sweep) column: usize,
    pub(in crate::sweep) first_sum: usize,
    pub(in crate::sweep) has_missing: bool,
    /// Whether the sum is that of the ones, and not a count of each level.
    pub(in crate::sweep) is_bernoulli: bool,
    /// Among the levels of all columns.
    pub(in crate::sweep) first_level: usize,
    /// The prior count of each level.
    pub(in crate::sweep) priors: Vec<f64>,
}

impl LevelColumn {
    pub(in crate::sweep) fn prior_total(&self) -> f64 {
        self.priors.iter().sum()
    }
}

/// Columns of counts.
pub(in crate::sweep) struct CountColumn {
    pub(in crate::sweep) column: usize,
    pub(in crate::sweep) first_sum: usize,
    pub(in crate::sweep) has_missing: bool,
    pub(in crate::sweep) shape: f64,
    pub(in crate::sweep) rate: f64,
    /// The place of its rate in [`Layout::rates`], if no cell is missing.
    pub(in crate::sweep) class: Option<usize>,
}

/// Values that many columns have in common: what depends on nothing else is computed once for each.
#[derive(Default)]
pub(in crate::sweep) struct Classes(Vec<(f64, f64)>);

impl Classes {
    fn add(&mut self, value: f64) -> usize {
        let known = self.0.iter().position(|(other, _)| *other == value);
        let place = known.unwrap_or_else(|| {
            self.0.push((value, 0.0));
            self.0.len() - 1
        });
        self.0[place].1 += 1.0;
        place
    }

    /// The sum of a function of the value over all columns.
    #[inline]
    pub(in crate::sweep) fn sum(&self, of_value: impl Fn(f64) -> f64) -> f64 {
        self.0.iter().map(|(value, n_columns)| n_columns * of_value(*value)).sum()
    }

    pub(in crate::sweep) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|(value, _)| *value)
    }
}

/// All columns.
pub(in crate::sweep) struct Layout {
    /// Those without missing cells and of one shape come first.
    pub(in crate::sweep) normals: Vec<NormalColumn>,
    /// How many those are: they share a = a₀ + n/2.
    pub(in crate::sweep) n_shared: usize,
    /// Their a₀.
    pub(in crate::sweep) shape: f64,
    /// Their κ₀.
    pub(in crate::sweep) prior_rows: Classes,
    pub(in crate::sweep) levels: Vec<LevelColumn>,
    pub(in crate::sweep) n_levels: usize,
    /// Prior counts of all levels together, of columns without missing cells.
    pub(in crate::sweep) prior_totals: Classes,
    pub(in crate::sweep) counts: Vec<CountColumn>,
    /// Prior rates of columns of counts without missing cells.
    pub(in crate::sweep) rates: Classes,
}

impl Layout {
    pub(in crate::sweep) fn new(family: &Columns) -> Self {
        let mut layout = Self {
            normals: Vec::new(),
            n_shared: 0,
            shape: 0.0,
            prior_rows: Classes::default(),
            levels: Vec::new(),
            n_levels: 0,
            prior_totals: Classes::default(),
            counts: Vec::new(),
            rates: Classes::default(),
        };
        let mut first_sum = 0;
        for (column_ix, column) in family.columns.iter().enumerate() {
            layout.add(column_ix, column, first_sum);
            first_sum += column.stats_len();
        }
        let first_shared = layout.normals.iter().find(|column| !column.has_missing);
        layout.shape = first_shared.map_or(1.0, |column| column.law.shape);
        let is_shared = |column: &NormalColumn| !column.has_missing && column.law.shape == layout.shape;
        // stable: within both parts the order of the table stays
        layout.normals.sort_by_key(|column| !is_shared(column));
        layout.n_shared = layout.normals.iter().filter(|column| is_shared(column)).count();
        for column in &layout.normals[..layout.n_shared] {
            layout.prior_rows.add(column.law.prior_rows);
        }
        layout
    }

    fn add(&mut self, column: usize, &Column { law, has_missing }: &Column, first_sum: usize) {
        let (priors, is_bernoulli) = match law {
            ColumnLaw::Normal { offset, scale, prior_mean, prior_rows, shape, rate } => {
                let law = Normal { offset, scale, prior_mean, prior_rows, shape, rate };
                self.normals.push(NormalColumn { column, first_sum, has_missing, law });
                return;
            }
            ColumnLaw::Poisson { shape, rate } => {
                let class = (!has_missing).then(|| self.rates.add(rate));
                self.counts.push(CountColumn { column, first_sum, has_missing, shape, rate, class });
                return;
            }
            ColumnLaw::Bernoulli { a, b } => (vec![b, a], true),
            ColumnLaw::Categorical { smoothing, n_levels } => (vec![smoothing; n_levels], false),
        };
        let first_level = self.n_levels;
        self.n_levels += priors.len();
        let column = LevelColumn { column, first_sum, has_missing, is_bernoulli, first_level, priors };
        if !has_missing {
            self.prior_totals.add(column.prior_total());
        }
        self.levels.push(column);
    }

    pub(in crate::sweep) fn n_own(&self) -> usize {
        self.normals.len() - self.n_shared
    }
}
