//! Columns made comparable (`--standardize`) or fewer (`--pca`), rows made directions
//! (`--normalize`), before a fit.
//!
//! A row x becomes y = (x − offset) / scale and, where there is a rotation, its product with y;
//! last, where that is asked for, it is divided by its length. What is to be done is computed once
//! from all rows, in double precision and in one fixed order; it is kept with the model and done
//! again to whatever the model predicts. Principal components are those of the covariance, or of
//! the correlation where columns are standardised too.

use serde::{Deserialize, Serialize};

use crate::eigen;
use crate::error::{InputError, Result};
use crate::io::DataSet;
use crate::rows::{Row, Shard, Table};

/// What is done to each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transform {
    /// Taken from each column.
    pub offset: Vec<f64>,
    /// What each column is divided by after that.
    pub scale: Vec<f64>,
    /// The principal components, one a row, over all columns.
    pub rotation: Option<Vec<Vec<f64>>>,
    /// Whether what comes of that is divided by its length; nothing is done to a row of zeros.
    #[serde(default)]
    pub normalize: bool,
}

/// What the user asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransformOptions {
    /// `--standardize`: every column gets mean 0 and standard deviation 1.
    pub standardize: bool,
    /// Number of principal components to keep (`--pca`).
    pub pca: Option<usize>,
    /// `--normalize`: every row gets length 1.
    pub normalize: bool,
}

/// What `run.json` says of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransformRecord {
    /// Whether columns were divided by their standard deviations.
    pub standardize: bool,
    /// Whether rows were divided by their lengths.
    pub normalize: bool,
    /// How many principal components were kept.
    pub pca: Option<usize>,
    /// The share of the variance that these have.
    pub variance_kept: Option<f64>,
}

/// Rows whose products are summed together.
const BLOCK: usize = 4;
/// Beyond this, sums of products might not be finite.
const LARGEST: f64 = 1e290;

impl TransformOptions {
    /// Whether rows stay as they are.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What was asked for, for messages: one of them.
    pub fn option(&self) -> &'static str {
        match self {
            Self { pca: Some(_), .. } => "pca",
            Self { standardize: true, .. } => "standardize",
            _ => "normalize",
        }
    }

    /// What is to be done to the rows of a data set, of which it is computed, and what there is to
    /// say of it.
    pub fn resolve(&self, data: &DataSet) -> Result<(Transform, TransformRecord)> {
        let option = format!("`{}`", self.option());
        if data.is_counts() {
            let error = InputError::new(format!("{option} needs a dense table, and these are sparse counts"));
            return Err(error.hint(format!("leave {option} out: counts are fitted as they are")).into());
        }
        data.check_numbers(&option)?;
        let n_columns = data.n_columns();
        if let Some(n_components) = self.pca.filter(|n| !(1..=n_columns).contains(n)) {
            let problem = format!("`pca` {n_components} asks for components of {n_columns} columns");
            return Err(InputError::new(problem).hint(format!("ask for 1 to {n_columns}")).into());
        }
        let shard = data.all_rows();
        if !self.standardize && self.pca.is_none() {
            let transform = Transform::normalizing(n_columns);
            check_lengths(&transform, &shard)?;
            return Ok((
                transform,
                TransformRecord { standardize: false, normalize: true, pca: None, variance_kept: None },
            ));
        }
        let offset = means(&shard);
        let sds = deviations(&shard, &offset);
        if let Some(ix) = sds.iter().position(|sd| !sd.is_finite()) {
            let name = data.column_names().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone());
            let error = InputError::new("the numbers are too large to be squared").at_column(name);
            return Err(error.hint("divide the column by a large number").into());
        }
        // a column that is constant has no scale of its own
        let scale_of = |sd: &f64| if self.standardize && *sd > 0.0 { *sd } else { 1.0 };
        let mut transform =
            Transform { scale: sds.iter().map(scale_of).collect(), offset, rotation: None, normalize: self.normalize };
        let (standardize, normalize, pca) = (self.standardize, self.normalize, self.pca);
        let mut record = TransformRecord { standardize, normalize, pca, variance_kept: None };
        if let Some(n_components) = self.pca {
            if sds.iter().all(|sd| *sd == 0.0) {
                let error = InputError::new("`pca` finds no component: all rows are equal");
                return Err(error.hint("leave `pca` out").into());
            }
            let mut eigen = eigen::symmetric(n_columns, products(&shard, &transform));
            eigen.vectors.truncate(n_components);
            // what is negative is zero, rounded
            let variance = |values: &[f64]| values.iter().map(|value| value.max(0.0)).sum::<f64>();
            record.variance_kept = Some(variance(&eigen.values[..n_components]) / variance(&eigen.values));
            transform.rotation = Some(eigen.vectors);
        }
        if self.normalize {
            check_lengths(&transform, &shard)?;
        }
        Ok((transform, record))
    }
}

/// A row of zeros has no direction.
fn check_lengths(transform: &Transform, shard: &Shard) -> Result<()> {
    let by_column = transform.rotation.as_ref().map(|rows| transposed(rows));
    let (mut scaled, mut rotated) = (vec![0.0; transform.n_columns()], vec![0.0; transform.n_columns_out()]);
    for (row_ix, row) in shard.rows().enumerate() {
        let row = transform.row(row, by_column.as_deref(), &mut scaled, &mut rotated);
        if row.iter().all(|cell| *cell == 0.0) {
            let error = InputError::new("`normalize` finds a row of zeros, which has no direction");
            return Err(error.at_row(row_ix + 1).hint("take the row out").into());
        }
    }
    Ok(())
}

impl Transform {
    /// One that does nothing but divide rows by their lengths.
    fn normalizing(n_columns: usize) -> Self {
        Self { offset: vec![0.0; n_columns], scale: vec![1.0; n_columns], rotation: None, normalize: true }
    }

    /// The columns it takes.
    pub fn n_columns(&self) -> usize {
        self.offset.len()
    }

    /// The columns it gives.
    pub fn n_columns_out(&self) -> usize {
        self.rotation.as_ref().map_or(self.offset.len(), Vec::len)
    }

    /// What the columns that it gives are called; nothing where they are the ones that it takes.
    pub fn names_out(&self) -> Option<Vec<String>> {
        self.rotation.as_ref().map(|rows| (1..=rows.len()).map(|number| format!("pc{number}")).collect())
    }

    /// What makes no sense in a transform that was read from a file.
    pub fn problem(&self) -> Option<String> {
        let n = self.offset.len();
        let is_finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
        if n == 0 || self.scale.len() != n || !is_finite(&self.offset) {
            return Some("`transform` needs as many finite offsets as scales".into());
        }
        if !self.scale.iter().all(|scale| *scale > 0.0 && scale.is_finite()) {
            return Some("`transform.scale` must be positive numbers".into());
        }
        let is_row = |row: &Vec<f64>| row.len() == n && is_finite(row);
        let is_whole = self.rotation.as_ref().is_none_or(|rows| !rows.is_empty() && rows.iter().all(is_row));
        (!is_whole).then(|| format!("`transform.rotation` must be rows of {n} numbers"))
    }

    /// A table of transformed rows, in single precision where the table is.
    pub fn apply(&self, table: &Table) -> Table {
        assert_eq!(table.n_columns(), self.n_columns(), "the columns of the fit");
        let n_out = self.n_columns_out();
        match table {
            Table::F32 { .. } => {
                let (low, high) = (f64::from(f32::MIN), f64::from(f32::MAX));
                Table::from_f32(n_out, self.cells(table, |cell| cell.clamp(low, high) as f32))
            }
            _ => Table::from_f64(n_out, self.cells(table, |cell| cell)),
        }
    }

    /// Rows of a table of columns that are given, as a table of the columns that are taken: what
    /// principal components leave out is the mean. Lengths that were divided by are not known any
    /// more.
    pub fn undo(&self, table: &Table) -> Table {
        let mut given = vec![0.0; self.n_columns_out()];
        let mut cells = Vec::with_capacity(table.n_rows() * self.n_columns());
        for row_ix in 0..table.n_rows() {
            read_row(table.row(row_ix), &mut given);
            let scaled = match &self.rotation {
                None => given.clone(),
                Some(rows) => {
                    let mut scaled = vec![0.0; self.n_columns()];
                    rotate(rows, &given, &mut scaled);
                    scaled
                }
            };
            let columns = scaled.iter().zip(&self.offset).zip(&self.scale);
            cells.extend(columns.map(|((cell, offset), scale)| offset + scale * cell));
        }
        Table::from_f64(self.n_columns(), cells)
    }

    fn cells<T>(&self, table: &Table, convert: impl Fn(f64) -> T) -> Vec<T> {
        let by_column = self.rotation.as_ref().map(|rows| transposed(rows));
        let (mut scaled, mut rotated) = (vec![0.0; self.n_columns()], vec![0.0; self.n_columns_out()]);
        let mut cells = Vec::with_capacity(table.n_rows() * rotated.len());
        for row_ix in 0..table.n_rows() {
            let row = self.row(table.row(row_ix), by_column.as_deref(), &mut scaled, &mut rotated);
            cells.extend(row.iter().map(|&cell| convert(cell)));
        }
        cells
    }

    /// One row, in one of the two buffers.
    fn row<'a>(
        &self,
        row: Row<'_>,
        by_column: Option<&[Vec<f64>]>,
        scaled: &'a mut [f64],
        rotated: &'a mut [f64],
    ) -> &'a [f64] {
        self.scale_row(row, scaled);
        let row = match by_column {
            None => scaled,
            Some(by_column) => {
                rotate(by_column, scaled, rotated);
                rotated
            }
        };
        if self.normalize {
            divide_by_length(row);
        }
        row
    }

    /// The row before rotation.
    fn scale_row(&self, row: Row<'_>, scaled: &mut [f64]) {
        read_row(row, scaled);
        for ((cell, offset), scale) in scaled.iter_mut().zip(&self.offset).zip(&self.scale) {
            *cell = ((*cell - offset) / scale).clamp(-LARGEST, LARGEST);
        }
    }
}

/// In two steps: the squares of large or tiny cells might not be finite, or might vanish.
fn divide_by_length(row: &mut [f64]) {
    let largest = row.iter().fold(0.0, |largest: f64, cell| largest.max(cell.abs()));
    if largest > 0.0 {
        row.iter_mut().for_each(|cell| *cell /= largest);
        let length = row.iter().map(|cell| cell * cell).sum::<f64>().sqrt();
        row.iter_mut().for_each(|cell| *cell /= length);
    }
}

fn rotate(by_column: &[Vec<f64>], scaled: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (column, &cell) in by_column.iter().zip(scaled) {
        out.iter_mut().zip(column).for_each(|(out, weight)| *out += weight * cell);
    }
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows[0].len()).map(|ix| rows.iter().map(|row| row[ix]).collect()).collect()
}

fn read_row(row: Row<'_>, cells: &mut [f64]) {
    match row {
        Row::F32(row) => cells.iter_mut().zip(row).for_each(|(cell, x)| *cell = (*x).into()),
        Row::F64(row) => cells.copy_from_slice(row),
        Row::Counts(_) => panic!("counts are not transformed"),
    }
}

/// Sums about the first row, so that nothing is lost far from the origin.
fn means(shard: &Shard) -> Vec<f64> {
    let (mut first, mut cells) = (vec![0.0; shard.n_columns()], vec![0.0; shard.n_columns()]);
    read_row(shard.row(0), &mut first);
    let mut sums = vec![0.0; shard.n_columns()];
    for row in shard.rows() {
        read_row(row, &mut cells);
        sums.iter_mut().zip(&cells).zip(&first).for_each(|((sum, cell), first)| *sum += cell - first);
    }
    first.iter().zip(&sums).map(|(first, sum)| first + sum / shard.n_rows() as f64).collect()
}

fn deviations(shard: &Shard, means: &[f64]) -> Vec<f64> {
    let (mut squares, mut cells) = (vec![0.0; shard.n_columns()], vec![0.0; shard.n_columns()]);
    for row in shard.rows() {
        read_row(row, &mut cells);
        squares.iter_mut().zip(&cells).zip(means).for_each(|((sum, cell), mean)| *sum += (cell - mean) * (cell - mean));
    }
    squares.iter().map(|squares: &f64| (squares / shard.n_rows() as f64).sqrt()).collect()
}

/// Means of products of two columns, of the rows before rotation.
fn products(shard: &Shard, transform: &Transform) -> Vec<f64> {
    let n = transform.n_columns();
    let (mut sums, mut block) = (vec![0.0; n * n], vec![0.0; BLOCK * n]);
    for first_row in (0..shard.n_rows()).step_by(BLOCK) {
        // the last block is filled up with zeros
        block.fill(0.0);
        let rows = first_row..(first_row + BLOCK).min(shard.n_rows());
        for (row_ix, cells) in rows.zip(block.chunks_exact_mut(n)) {
            transform.scale_row(shard.row(row_ix), cells);
        }
        add_products(&mut sums, n, &block);
    }
    let n_rows = shard.n_rows() as f64;
    for a in 0..n {
        for b in a..n {
            sums[a * n + b] /= n_rows;
            sums[b * n + a] = sums[a * n + b];
        }
    }
    sums
}

/// Above the diagonal only.
fn add_products(sums: &mut [f64], n: usize, block: &[f64]) {
    let [w, x, y, z]: [&[f64]; BLOCK] = std::array::from_fn(|ix| &block[ix * n..(ix + 1) * n]);
    for a in 0..n {
        let others = w[a..].iter().zip(&x[a..]).zip(y[a..].iter().zip(&z[a..]));
        for (sum, ((w_b, x_b), (y_b, z_b))) in sums[a * n + a..(a + 1) * n].iter_mut().zip(others) {
            *sum += (w[a] * w_b + x[a] * x_b) + (y[a] * y_b + z[a] * z_b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Seed};

    const STANDARDIZE: TransformOptions = TransformOptions { standardize: true, pca: None, normalize: false };

    fn pca(n_components: usize) -> TransformOptions {
        TransformOptions { standardize: false, pca: Some(n_components), normalize: false }
    }

    /// Rows about (1000, −5, 7): most of their spread lies along (3, 4, 0), some across it, and the
    /// last column is constant.
    fn slanted(n_rows: usize) -> Table {
        let mut stream = Seed::new(5).stream(Role::Synthetic, 0, 0);
        let row =
            |(along, across): (f64, f64)| [1000.0 + 0.6 * along - 0.8 * across, -5.0 + 0.8 * along + 0.6 * across, 7.0];
        let draws: Vec<(f64, f64)> = (0..n_rows).map(|_| (10.0 * stream.normal(), stream.normal())).collect();
        Table::from_f64(3, draws.into_iter().flat_map(row).collect())
    }

    fn columns(data: &DataSet) -> Vec<Vec<f64>> {
        let mut cells = vec![0.0; data.n_columns()];
        let mut columns = vec![Vec::new(); data.n_columns()];
        for row in data.all_rows().rows() {
            read_row(row, &mut cells);
            columns.iter_mut().zip(&cells).for_each(|(column, cell)| column.push(*cell));
        }
        columns
    }

    fn moments(column: &[f64]) -> (f64, f64) {
        let n = column.len() as f64;
        let mean = column.iter().sum::<f64>() / n;
        (mean, (column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn standardised_columns_have_mean_0_and_sd_1_and_constant_ones_are_0() {
        let data = DataSet::of_table("t", slanted(501));
        let (transform, record) = STANDARDIZE.resolve(&data).unwrap();
        assert_eq!((record.standardize, record.pca, record.variance_kept), (true, None, None));
        let data = data.transformed(&transform);
        let found: Vec<(f64, f64)> = columns(&data).iter().map(|column| moments(column)).collect();
        for (mean, sd) in &found[..2] {
            assert!(mean.abs() < 1e-12 && (sd - 1.0).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(found[2], (0.0, 0.0));
    }

    #[test]
    fn components_point_where_the_spread_is_and_are_uncorrelated() {
        let data = DataSet::of_table("t", slanted(2003));
        let (transform, record) = pca(2).resolve(&data).unwrap();
        let rotation = transform.rotation.as_ref().unwrap();
        assert!((rotation[0][0] - 0.6).abs() < 0.02 && (rotation[0][1] - 0.8).abs() < 0.02, "{rotation:?}");
        assert!(rotation[1][0] > 0.0 && rotation[0][2].abs() < 1e-12, "{rotation:?}");
        assert!((record.variance_kept.unwrap() - 1.0).abs() < 1e-12);
        let kept = pca(1).resolve(&data).unwrap().1.variance_kept.unwrap();
        assert!((kept - 100.0 / 101.0).abs() < 0.002, "{kept}");
        let data = data.transformed(&transform);
        assert_eq!(data.column_names().unwrap(), ["pc1", "pc2"]);
        let columns = columns(&data);
        let [(mean, sd), (other_mean, other_sd)] = [moments(&columns[0]), moments(&columns[1])];
        assert!(
            mean.abs() < 1e-10 && other_mean.abs() < 1e-10 && (sd - 10.0).abs() < 0.5 && (other_sd - 1.0).abs() < 0.05
        );
        let product: f64 = columns[0].iter().zip(&columns[1]).map(|(a, b)| a * b).sum();
        assert!(product.abs() < 1e-8 * 2003.0, "{product}");
    }

    #[test]
    fn with_both_the_components_are_those_of_the_correlation() {
        let data = DataSet::of_table("t", slanted(300));
        let both = TransformOptions { standardize: true, pca: Some(1), normalize: false };
        let (transform, _) = both.resolve(&data).unwrap();
        // two correlated columns of the same spread: the diagonal
        let rotation = &transform.rotation.unwrap()[0];
        assert!(
            (rotation[0] - 0.5f64.sqrt()).abs() < 1e-9 && (rotation[1] - 0.5f64.sqrt()).abs() < 1e-9,
            "{rotation:?}"
        );
    }

    #[test]
    fn single_precision_stays_single_and_no_number_becomes_infinite() {
        let data = DataSet::of_table("t", Table::from_f32(2, vec![1.0, 2.0, 3.0, 5.0, 4.0, 1.0]));
        let (transform, _) = pca(2).resolve(&data).unwrap();
        assert!(matches!(transform.apply(&Table::from_f32(2, vec![1.0, 2.0])), Table::F32 { .. }));
        let small =
            Transform { offset: vec![0.0; 2], scale: vec![1e-300; 2], rotation: transform.rotation, normalize: false };
        for table in [Table::from_f64(2, vec![1e300, -1e300]), Table::from_f32(2, vec![f32::MAX, f32::MIN])] {
            let mut cells = [0.0; 2];
            read_row(small.apply(&table).row(0), &mut cells);
            assert!(cells.iter().all(|cell| cell.is_finite()), "{cells:?}");
        }
    }

    #[test]
    fn what_cannot_be_transformed_is_refused() {
        let refused = |options: TransformOptions, table: Table| {
            let error = options.resolve(&DataSet::of_table("t", table)).unwrap_err();
            assert!(error.hint().is_some(), "{error}");
            error.to_string()
        };
        let table = || Table::from_f64(2, vec![1.0, 2.0, 3.0, 4.0]);
        assert!(refused(pca(3), table()).contains("`pca` 3 asks for components of 2 columns"));
        assert!(refused(pca(0), table()).contains("`pca` 0"));
        assert!(refused(pca(1), Table::from_f64(2, vec![1.0; 6])).contains("all rows are equal"));
        let gap = Table::from_f64(1, vec![1.0, f64::NAN]);
        assert!(refused(STANDARDIZE, gap).contains("missing (1 cell in all), but `standardize` needs a number"));
        let counts = Table::Counts(crate::rows::CountTable::new(3));
        assert!(refused(STANDARDIZE, counts).contains("sparse counts"));
        let large = Table::from_f64(1, vec![1e300, -1e300]);
        assert!(refused(STANDARDIZE, large).contains("column 1: the numbers are too large"));
    }
}
