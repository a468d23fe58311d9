//! A component of columns, or a half of one, in double precision: posteriors of the columns, kept
//! as rows come and go.
//!
//! A row that is in a component is scored without being taken out: with κ, m, a, b of a column of
//! numbers with the row in it, b without the row is b·R, R = 1 − (x' − m)²κ/2b(κ−1), so that its
//! predictive needs no more than R. Logs of products of columns are logs of running products.

use super::super::component_halves::LocalComponent;
use super::cells::{ColumnCells, NO_LEVEL, SMALL};
use super::layout::Layout;
use crate::family::Columns;
use crate::family::columns::normal::NormalPosterior;
use crate::special::{LogProduct, log_gamma, log_half_step};
use crate::stats::Stats;

/// What all components share.
pub(in crate::sweep) struct SharedColumns {
    pub(super) layout: Layout,
    /// Of no rows.
    pub(super) empty: Local,
}

impl SharedColumns {
    pub(super) fn new(family: &Columns) -> Self {
        let layout = Layout::new(family);
        let empty = Local::empty_of(&layout);
        Self { layout, empty }
    }
}

/// The posteriors of a component's columns.
#[derive(Clone)]
pub(in crate::sweep) struct Local {
    count: i64,
    /// κ of the columns of numbers.
    pub(super) rows: Vec<f64>,
    /// m.
    pub(super) means: Vec<f64>,
    /// b.
    pub(super) rates: Vec<f64>,
    /// κ/2b(κ+1): what a squared distance is multiplied by.
    pub(super) widths: Vec<f64>,
    /// Σ ln b of the columns that share their exponent.
    log_rates: f64,
    /// Prior and rows of each level.
    pub(super) levels: Vec<f64>,
    /// Those of all levels of a column.
    pub(super) totals: Vec<f64>,
    /// Shape of each column of counts.
    pub(super) shapes: Vec<f64>,
    /// Rate of each column of counts.
    pub(super) count_rates: Vec<f64>,
    /// Sums of the shapes by class.
    class_shapes: Vec<f64>,
}

/// 1 − R is exact to a few units of the last place: less than this is rounding.
const SMALLEST_SHARE: f64 = 1e-15;

impl Local {
    fn empty_of(layout: &Layout) -> Self {
        let classes = layout.rates.values().enumerate();
        let class_shape = |(class, _)| {
            let of_class = layout.counts.iter().filter(|column| column.class == Some(class));
            of_class.map(|column| column.shape).sum()
        };
        let mut local = Self {
            count: 0,
            rows: layout.normals.iter().map(|column| column.law.prior_rows).collect(),
            means: layout.normals.iter().map(|column| column.law.scaled_prior_mean()).collect(),
            rates: layout.normals.iter().map(|column| column.law.rate).collect(),
            widths: vec![0.0; layout.normals.len()],
            log_rates: 0.0,
            levels: layout.levels.iter().flat_map(|column| column.priors.iter().copied()).collect(),
            totals: layout.levels.iter().map(|column| column.prior_total()).collect(),
            shapes: layout.counts.iter().map(|column| column.shape).collect(),
            count_rates: layout.counts.iter().map(|column| column.rate).collect(),
            class_shapes: classes.map(class_shape).collect(),
        };
        local.refresh(layout);
        local
    }

    /// Makes it that of no rows exactly, not up to rounding.
    fn reset(&mut self, empty: &Self) {
        self.count = 0;
        self.rows.copy_from_slice(&empty.rows);
        self.means.copy_from_slice(&empty.means);
        self.rates.copy_from_slice(&empty.rates);
        self.widths.copy_from_slice(&empty.widths);
        self.log_rates = empty.log_rates;
        self.levels.copy_from_slice(&empty.levels);
        self.totals.copy_from_slice(&empty.totals);
        self.shapes.copy_from_slice(&empty.shapes);
        self.count_rates.copy_from_slice(&empty.count_rates);
        self.class_shapes.copy_from_slice(&empty.class_shapes);
    }

    /// What follows from κ and b.
    #[inline]
    fn refresh(&mut self, layout: &Layout) {
        for ((width, &rate), &rows) in self.widths.iter_mut().zip(&self.rates).zip(&self.rows) {
            *width = rows / (2.0 * rate * (rows + 1.0));
        }
        let mut product = LogProduct::ONE;
        self.rates[..layout.n_shared].iter().for_each(|&rate| product.multiply(rate));
        self.log_rates = product.log();
    }

    /// a of the columns that share it.
    #[inline]
    pub(super) fn shape(&self, layout: &Layout) -> f64 {
        layout.shape + 0.5 * self.count as f64
    }

    /// The part of a log-weight that no row changes: of all columns without missing cells.
    pub(super) fn log_constant(&self, layout: &Layout) -> f64 {
        let n = self.count as f64;
        let of_counts = self.class_shapes.iter().zip(layout.rates.values());
        libm::log(n) + self.log_head(layout, n)
            - layout.prior_totals.sum(|total| libm::log(total + n))
            - of_counts.map(|(shape, rate)| shape * libm::log1p(1.0 / (rate + n))).sum::<f64>()
    }

    /// The part of Student's t that no row changes, of the columns that share their exponent, if
    /// there are n rows.
    #[inline]
    fn log_head(&self, layout: &Layout, n: f64) -> f64 {
        if layout.n_shared == 0 {
            return 0.0;
        }
        let wider = layout.prior_rows.sum(|prior_rows| libm::log1p(1.0 / (prior_rows + n)));
        layout.n_shared as f64 * log_half_step(layout.shape + 0.5 * n) - 0.5 * (wider + self.log_rates)
    }

    /// ln Π (1 + z) of the columns that share their exponent; ln Π R where the row is taken out.
    #[inline(always)]
    fn log_distances(&self, n: usize, x: &[f64], taken_out: bool) -> f64 {
        let mut products = [1.0; 8];
        let mut log = 0.0;
        for first in (0..n).step_by(8) {
            let columns = first..(first + 8).min(n);
            let (means, widths) = (&self.means[columns.clone()], &self.widths[columns.clone()]);
            let rows = &self.rows[columns.clone()];
            for ((((product, x), mean), width), rows) in
                products.iter_mut().zip(&x[columns]).zip(means).zip(widths).zip(rows)
            {
                let z = (x - mean) * (x - mean) * width;
                let share = 1.0 - z * (rows + 1.0) / (rows - 1.0);
                *product *= if taken_out { share.max(SMALLEST_SHARE) } else { 1.0 + z };
            }
            if products.iter().any(|product| !LogProduct::RANGE.contains(product)) {
                log += products.iter().map(|product| libm::log(*product)).sum::<f64>();
                products = [1.0; 8];
            }
        }
        let mut product = LogProduct::ONE;
        products.iter().for_each(|&factor| product.multiply(factor));
        log + product.log()
    }

    /// The other columns of numbers, those that share their exponent too if a cell of theirs is
    /// missing against all expectation.
    fn log_weight_of_normals(&self, layout: &Layout, row: &ColumnCells, first: usize, taken_out: bool) -> f64 {
        let mut log = 0.0;
        for (place, column) in layout.normals.iter().enumerate().skip(first) {
            let x = row.scaled[place];
            if x.is_nan() {
                continue;
            }
            let (rows, rate) = (self.rows[place], self.rates[place]);
            let shape = column.law.shape + 0.5 * (rows - column.law.prior_rows);
            let z = (x - self.means[place]).powi(2) * self.widths[place];
            log -= 0.5 * libm::log(rate);
            log += if taken_out {
                let share = (1.0 - z * (rows + 1.0) / (rows - 1.0)).max(SMALLEST_SHARE);
                log_half_step(shape - 0.5) - 0.5 * libm::log(rows / (rows - 1.0)) + (shape - 0.5) * libm::log(share)
            } else {
                log_half_step(shape) - 0.5 * libm::log1p(1.0 / rows) - (shape + 0.5) * libm::log1p(z)
            };
        }
        log
    }

    fn log_weight_of_levels(&self, layout: &Layout, row: &ColumnCells, taken: f64) -> f64 {
        let n = self.count as f64 - taken;
        let mut product = LogProduct::ONE;
        // a few factors are multiplied on their own before they join the rest: few questions about
        // the range
        for (ix, columns) in layout.levels.chunks(4).enumerate() {
            let mut part = 1.0;
            for (column, place) in columns.iter().zip(4 * ix..) {
                let level = row.levels[place];
                if level == NO_LEVEL {
                    continue;
                }
                let is_normalised = column.has_missing || row.is_odd;
                let share = if is_normalised { 1.0 / (self.totals[place] - taken) } else { 1.0 };
                part *= (self.levels[level as usize] - taken) * share;
            }
            product.multiply(part);
        }
        let of_totals = if row.is_odd { 0.0 } else { layout.prior_totals.sum(|total| libm::log(total + n)) };
        product.log() - of_totals
    }

    fn log_weight_of_counts(&self, layout: &Layout, row: &ColumnCells, taken: f64) -> f64 {
        let n = self.count as f64 - taken;
        let (mut product, mut log) = (LogProduct::ONE, 0.0);
        for (place, column) in layout.counts.iter().enumerate() {
            let x = row.counts[place];
            if x.is_nan() {
                continue;
            }
            let (shape, rate) = (self.shapes[place] - taken * x, self.count_rates[place] - taken);
            if x > SMALL {
                log += log_gamma(shape + x) - log_gamma(shape);
            } else {
                (0..x as u32).for_each(|event| product.multiply(shape + f64::from(event)));
            }
            if column.has_missing || row.is_odd {
                log -= shape * libm::log1p(1.0 / rate) + x * libm::log(rate + 1.0);
            }
        }
        if !row.is_odd {
            for ((shape, sum), rate) in self.class_shapes.iter().zip(&row.class_sums).zip(layout.rates.values()) {
                let rate = rate + n;
                log -= (shape - taken * sum) * libm::log1p(1.0 / rate) + sum * libm::log(rate + 1.0);
            }
        }
        log + product.log()
    }

    fn change_normals(&mut self, layout: &Layout, row: &ColumnCells, sign: i64) {
        for (place, column) in layout.normals.iter().enumerate() {
            let x = row.scaled[place];
            if x.is_nan() {
                continue;
            }
            let (rows, difference) = (self.rows[place], x - self.means[place]);
            let after = rows + sign as f64;
            self.rows[place] = after;
            self.means[place] += sign as f64 * difference / after;
            let rate = self.rates[place] + 0.5 * sign as f64 * rows / after * difference * difference;
            self.rates[place] = rate.max(column.law.rate);
        }
    }
}

impl LocalComponent for Local {
    type Shared = SharedColumns;
    type Row = ColumnCells;

    fn of(shared: &SharedColumns, stats: &Stats) -> Self {
        let (layout, mut local, sums) = (&shared.layout, shared.empty.clone(), stats.dense());
        if stats.count == 0 {
            return local;
        }
        local.count = stats.count;
        let count = stats.count as f64;
        for (place, column) in layout.normals.iter().enumerate() {
            let sums = &sums[column.first_sum..];
            let n = if column.has_missing { sums[2] } else { count };
            let NormalPosterior { rows, mean, rate, .. } = column.law.posterior(n, sums);
            (local.rows[place], local.means[place], local.rates[place]) = (rows, mean, rate);
        }
        for (place, column) in layout.levels.iter().enumerate() {
            let (sums, n_sums) = (&sums[column.first_sum..], if column.is_bernoulli { 1 } else { column.priors.len() });
            let n = if column.has_missing { sums[n_sums] } else { count };
            let levels = &mut local.levels[column.first_level..][..column.priors.len()];
            if column.is_bernoulli {
                levels[0] += n - sums[0];
                levels[1] += sums[0];
            } else {
                levels.iter_mut().zip(sums).for_each(|(level, count)| *level += count);
            }
            local.totals[place] += n;
        }
        for (place, column) in layout.counts.iter().enumerate() {
            let sums = &sums[column.first_sum..];
            local.shapes[place] += sums[0];
            local.count_rates[place] += if column.has_missing { sums[1] } else { count };
            if let Some(class) = column.class {
                local.class_shapes[class] += sums[0];
            }
        }
        local.refresh(layout);
        local
    }

    fn empty(shared: &SharedColumns) -> Self {
        shared.empty.clone()
    }

    fn count(&self) -> i64 {
        self.count
    }

    #[inline(always)]
    fn log_weight(&self, shared: &SharedColumns, row: &ColumnCells, taken_out: bool) -> f64 {
        let (layout, taken) = (&shared.layout, if taken_out { 1.0 } else { 0.0 });
        let n = self.count as f64 - taken;
        if taken_out && self.count == 1 {
            return shared.empty.log_weight_again(shared, row);
        }
        let mut log = if n > 0.0 { libm::log(n) } else { 0.0 };
        let first_normal = if row.is_odd { 0 } else { layout.n_shared };
        if first_normal > 0 {
            let exponent = layout.shape + 0.5 * n + if taken_out { 0.0 } else { 0.5 };
            let log_distances = self.log_distances(layout.n_shared, &row.scaled, taken_out);
            let sign = if taken_out { 1.0 } else { -1.0 };
            log += self.log_head(layout, n) + sign * exponent * log_distances;
        }
        if layout.normals.len() > first_normal {
            log += self.log_weight_of_normals(layout, row, first_normal, taken_out);
        }
        if !layout.levels.is_empty() {
            log += self.log_weight_of_levels(layout, row, taken);
        }
        if !layout.counts.is_empty() {
            log += self.log_weight_of_counts(layout, row, taken);
        }
        log
    }

    fn change(&mut self, shared: &SharedColumns, row: &ColumnCells, sign: i64) {
        let layout = &shared.layout;
        self.count += sign;
        if self.count == 0 {
            return self.reset(&shared.empty);
        }
        self.change_normals(layout, row, sign);
        for (total, &level) in self.totals.iter_mut().zip(&row.levels) {
            if level != NO_LEVEL {
                self.levels[level as usize] += sign as f64;
                *total += sign as f64;
            }
        }
        for (place, &x) in row.counts.iter().enumerate() {
            if !x.is_nan() {
                self.shapes[place] += sign as f64 * x;
                self.count_rates[place] += sign as f64;
            }
        }
        for (shape, sum) in self.class_shapes.iter_mut().zip(&row.class_sums) {
            *shape += sign as f64 * sum;
        }
        self.refresh(layout);
    }
}

impl Local {
    /// For a call within the inlined one.
    fn log_weight_again(&self, shared: &SharedColumns, row: &ColumnCells) -> f64 {
        self.log_weight(shared, row, false)
    }
}
