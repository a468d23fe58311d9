//! How a product of column distributions describes itself.

use super::law::{Law as _, with_law};
use super::normal::Normal;
use super::{ColumnLaw, ColumnOf, Columns, ColumnsKind};
use crate::family::{FamilyText, NamedArray};
use crate::stats::Stats;

/// More sums than any model has.
const MOST_SUMS: usize = 1 << 31;

impl Columns {
    /// The mean of a parameter over the columns that have it.
    fn mean_of(&self, parameter: impl Fn(&ColumnLaw) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.columns.iter().filter_map(|column| parameter(&column.law)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn kappa0(law: &ColumnLaw) -> Option<f64> {
    if let ColumnLaw::Normal { prior_rows, .. } = law { Some(*prior_rows) } else { None }
}

fn a0(law: &ColumnLaw) -> Option<f64> {
    match law {
        ColumnLaw::Normal { shape, .. } | ColumnLaw::Poisson { shape, .. } => Some(*shape),
        ColumnLaw::Bernoulli { a, .. } => Some(*a),
        ColumnLaw::Categorical { .. } => None,
    }
}

fn b0(law: &ColumnLaw) -> Option<f64> {
    match law {
        ColumnLaw::Normal { rate, .. } | ColumnLaw::Poisson { rate, .. } => Some(*rate),
        ColumnLaw::Bernoulli { b, .. } => Some(*b),
        ColumnLaw::Categorical { .. } => None,
    }
}

fn gamma(law: &ColumnLaw) -> Option<f64> {
    if let ColumnLaw::Categorical { smoothing, .. } = law { Some(*smoothing) } else { None }
}

impl FamilyText for Columns {
    fn name(&self) -> &'static str {
        match self.kind {
            ColumnsKind::Diagonal => "gaussian, covariance diag",
            ColumnsKind::Bernoulli => "bernoulli",
            ColumnsKind::Poisson => "poisson",
            ColumnsKind::Categorical => "categorical",
            ColumnsKind::Mixed => "mixed",
        }
    }

    /// Means over the columns; of mixed columns only those that have one meaning.
    fn priors(&self) -> Vec<(&'static str, f64)> {
        let is_mixed = self.kind == ColumnsKind::Mixed;
        let (a0, b0) = if is_mixed { (None, None) } else { (self.mean_of(a0), self.mean_of(b0)) };
        let all = [("kappa0", self.mean_of(kappa0)), ("a0", a0), ("b0", b0), ("gamma", self.mean_of(gamma))];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn cause_of_one(&self) -> String {
        match self.kind {
            ColumnsKind::Diagonal => {
                let b0 = self.mean_of(b0).unwrap_or(f64::NAN);
                format!("b0 ({b0:.4}) expects clusters as wide as the data; try a smaller `b0`, or fewer columns")
            }
            ColumnsKind::Categorical => {
                let gamma = self.mean_of(gamma).unwrap_or(f64::NAN);
                format!(
                    "gamma ({gamma:.4}) is too large, or the columns have nothing to do with one another; try a smaller `gamma`"
                )
            }
            _ => "the columns have nothing to do with one another, or there are too few of them; try other columns"
                .to_owned(),
        }
    }

    fn cause_of_many(&self) -> String {
        match self.kind {
            ColumnsKind::Diagonal => {
                let b0 = self.mean_of(b0).unwrap_or(f64::NAN);
                format!("b0 ({b0:.6}) expects clusters much narrower than the data; try a larger `b0`")
            }
            ColumnsKind::Categorical => {
                let gamma = self.mean_of(gamma).unwrap_or(f64::NAN);
                format!("gamma ({gamma:.6}) is too small; try a larger `gamma`")
            }
            ColumnsKind::Poisson => "counts vary more within clusters than a Poisson law allows; try `alpha` with a small number".to_owned(),
            _ => "there are many columns, and each adds to what sets rows apart; try fewer of them, or `alpha` with a small number".to_owned(),
        }
    }

    fn problem(&self) -> Option<String> {
        if self.columns.is_empty() {
            return Some("`columns` is empty".to_owned());
        }
        let of_columns = self.columns.iter().enumerate().find_map(|(ix, column)| {
            with_law!(&column.law, law => law.problem()).map(|problem| format!("column {}: {problem}", ix + 1))
        });
        of_columns.or_else(|| {
            let n_sums: usize = self.columns.iter().map(super::Column::stats_len).sum();
            (n_sums > MOST_SUMS).then(|| format!("there are {n_sums} sums a component"))
        })
    }

    fn formula(&self) -> &'static str {
        "predictive_k(x) is a product over the columns whose cells are there. `columns` of the model gives each column's law; its sums begin at `first_sum` in `sums`[k], and the \
         last of them is n, the number of cells that are there, if has_missing (otherwise n = counts[k]). \
         normal: y = (x - offset) / scale, sums of y and of y^2; kappa = prior_rows + n, m = (prior_rows * m0 + sum y) / kappa, m0 = (prior_mean - offset) / scale, a = shape + n / 2, \
         b = rate + (sum y^2 + prior_rows * m0^2 - kappa * m^2) / 2; y is Student's t with 2a degrees of freedom, location m, squared scale b * (kappa + 1) / (a * kappa), and the density is \
         divided by scale. bernoulli: sum of x; P(1) = (a + sum) / (a + b + n). poisson: sum of x; negative binomial with size shape + sum and success probability \
         (rate + n) / (rate + n + 1). categorical: a count of each level; P(level) = (smoothing + count) / (n_levels * smoothing + n). `means`[k] and `variances`[k] are of a cell in units of \
         the table (of levels: those of the level's number, which mean little); `present`[k] is n."
    }

    fn constants(&self) -> Vec<NamedArray> {
        let mut next = 0;
        let first_sum: Vec<f64> = self
            .columns
            .iter()
            .map(|column| {
                let first = next;
                next += column.stats_len();
                first as f64
            })
            .collect();
        vec![NamedArray::of_columns("first_sum", &first_sum)]
    }

    fn arrays(&self, components: &[Stats]) -> Vec<NamedArray> {
        let array = |name, of_column: fn(ColumnOf<'_>) -> f64| {
            let row = |stats: &Stats| self.columns_of(stats).map(of_column).collect::<Vec<_>>().into_iter();
            NamedArray::of_components(name, components, self.columns.len(), row)
        };
        vec![
            array("means", |column| moments(column).0),
            array("variances", |column| moments(column).1),
            array("present", |column| column.n),
        ]
    }
}

/// Mean and variance of a column's cells in a component, in units of the table: posterior means of
/// the parameters put in.
fn moments(ColumnOf { column, n, sums }: ColumnOf<'_>) -> (f64, f64) {
    match column.law {
        ColumnLaw::Normal { offset, scale, prior_mean, prior_rows, shape, rate } => {
            let normal = Normal { offset, scale, prior_mean, prior_rows, shape, rate };
            let posterior = normal.posterior(n, sums);
            (offset + scale * posterior.mean, scale * scale * posterior.variance())
        }
        ColumnLaw::Bernoulli { a, b } => {
            let p = (a + sums[0]) / (a + b + n);
            (p, p * (1.0 - p))
        }
        ColumnLaw::Poisson { shape, rate } => {
            let mean = (shape + sums[0]) / (rate + n);
            (mean, mean)
        }
        ColumnLaw::Categorical { smoothing, n_levels } => {
            let share = 1.0 / (smoothing * n_levels as f64 + n);
            let mean_of = |value: &dyn Fn(f64) -> f64| -> f64 {
                let levels = sums[..n_levels].iter().enumerate();
                levels.map(|(level, count)| (smoothing + count) * share * value(level as f64)).sum()
            };
            let mean = mean_of(&|level| level);
            (mean, mean_of(&|level| (level - mean).powi(2)))
        }
    }
}
