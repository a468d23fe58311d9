//! `model.json` and `components.npz`: the fitted model, enough to predict, readable without this
//! software.
//!
//! `docs/model-file.md` describes both. Sums are written as they are, so what is read back predicts
//! the same to the last bit. Nothing that the files say is believed before it is checked.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::npz::{NpzReader, NpzWriter};
use super::{csr, write_json};
use crate::error::{Error, InputError, Result};
use crate::family::{ColumnLaw, Multinomial, NamedArray};
use crate::io::{DataSet, FittedColumns, source};
use crate::model::Model;
use crate::stats::{Stats, Sums};
use crate::transform::Transform;

const MODEL: &str = "model.json";
const DENSE_MODEL: &str = "has sparse counts, but the model was fitted to dense rows";
const COMPONENTS: &str = "components.npz";
/// Raised when an older reader could not read what is written.
const FORMAT: u64 = 2;
/// What a model of plain numbers without a transform is written as: readers of this know nothing
/// else.
const PLAIN_FORMAT: u64 = 1;

/// A model as a run leaves it behind.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedModel {
    /// The family with its priors.
    pub model: Model,
    /// The last α.
    pub alpha: f64,
    /// The columns it was fitted to, as they are read.
    pub columns: FittedColumns,
    /// What is done to them before the model sees them.
    pub transform: Option<Transform>,
    /// The components, in the order of their numbers; none without rows.
    pub components: Vec<Stats>,
}

/// `model.json`.
#[derive(Debug, Serialize, Deserialize)]
struct ModelRecord {
    format: u64,
    readme: Vec<String>,
    software: String,
    model: Model,
    alpha: f64,
    n_rows: i64,
    n_components: usize,
    columns: FittedColumns,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transform: Option<Transform>,
}

const README: [&str; 4] = [
    "A Dirichlet-process mixture model, as fitted. Components are numbered by falling size; tree.json tells which cluster of labels.npy each belongs to.",
    "components.npz (numpy.load) has for each component `counts`, its number of rows, and `weights`, counts / (n_rows + alpha). A row that \
     belongs to a component not seen before has weight alpha / (n_rows + alpha) and the predictive of a component with counts 0 and sums 0.",
    "The label of a row x is the k with the largest weights[k] * predictive_k(x); its probability is that over the sum with the new component's, \
     which sum is the density of x.",
    "docs/model-file.md of the software describes all fields and computes predictions with NumPy alone.",
];
impl FittedModel {
    /// The number of rows of the fit.
    pub fn n_rows(&self) -> i64 {
        self.components.iter().map(|stats| stats.count).sum()
    }

    /// Rows with the columns of the fit, made such as the model knows: counts where it has counts,
    /// transformed where the rows of the fit were.
    pub fn prepare(&self, data: DataSet) -> Result<DataSet> {
        if let Model::Multinomial(_) = self.model {
            return data.into_counts();
        }
        if data.is_counts() && !data.is_sparse_matrix() {
            let error = match data.files().first() {
                Some(file) => InputError::in_file(&file.path, DENSE_MODEL),
                None => InputError::new(DENSE_MODEL),
            };
            return Err(error.hint("give rows like those of the fit").into());
        }
        let data = data.into_numbers()?;
        let rows = match &self.transform {
            Some(transform) => {
                data.check_numbers("the transform of the fit")?;
                data.transformed(transform)
            }
            None => data,
        };
        self.model.check_rows(&rows)?;
        Ok(rows)
    }

    /// Writes both files into a folder; `model.json` last, so where it is the other is whole.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut file = NpzWriter::new(&folder.join(COMPONENTS));
        let (k, n_rows) = (self.components.len(), self.n_rows());
        file.array("counts", &[k], self.components.iter().map(|stats| stats.count))?;
        let weight = |stats: &Stats| stats.count as f64 / (n_rows as f64 + self.alpha);
        file.array("weights", &[k], self.components.iter().map(weight))?;
        write_sums(&mut file, &self.model, &self.components)?;
        let family = self.model.described();
        for NamedArray { name, shape, numbers } in family.constants().into_iter().chain(family.arrays(&self.components))
        {
            file.array(name, &shape, numbers)?;
        }
        file.finish()?;
        let FittedColumns { levels, formats, left_out, .. } = &self.columns;
        let is_plain = self.transform.is_none() && levels.is_empty() && formats.is_empty() && left_out.is_empty();
        let record = ModelRecord {
            format: if is_plain { PLAIN_FORMAT } else { FORMAT },
            readme: README.iter().chain([&family.formula()]).map(|line| line.to_string()).collect(),
            software: concat!("dirigent ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: self.model.clone(),
            alpha: self.alpha,
            n_rows,
            n_components: k,
            columns: self.columns.clone(),
            transform: self.transform.clone(),
        };
        write_json(&folder.join(MODEL), &record)
    }

    /// Reads both files of a run folder.
    pub fn read(folder: &Path) -> Result<Self> {
        super::finish_update(folder)?;
        let path = folder.join(MODEL);
        let ModelRecord { model, alpha, n_rows, n_components, columns, transform, .. } = read_record(&path)?;
        let wrong = |problem: String| Err(damaged(&path, problem));
        if let Some(problem) = model.described().problem() {
            return wrong(problem);
        }
        if !(alpha > 0.0 && alpha.is_finite()) {
            return wrong(format!("`alpha` must be a positive number, got {alpha}"));
        }
        if let Some(problem) = transform.as_ref().and_then(Transform::problem) {
            return wrong(problem);
        }
        let n_names = columns.names.as_ref().map_or(columns.n_columns, Vec::len);
        let n_fitted = transform.as_ref().map_or(columns.n_columns, Transform::n_columns_out);
        let n_read = transform.as_ref().map_or(model.n_columns(), Transform::n_columns);
        if n_fitted != model.n_columns() || columns.n_columns != n_read || n_names != columns.n_columns {
            return wrong(format!(
                "`columns` tells of {} columns and {n_names} names, the model of {n_read}",
                columns.n_columns
            ));
        }
        let n_levels = columns.levels.len();
        if n_levels != 0 && (n_levels != columns.n_columns || transform.is_some()) {
            return wrong(format!("`columns.levels` tells of {n_levels} columns, expected {}", columns.n_columns));
        }
        let n_formats = columns.formats.len();
        if n_formats != 0 && n_formats != columns.n_columns {
            return wrong(format!("`columns.formats` tells of {n_formats} columns, expected {}", columns.n_columns));
        }
        if let Some(problem) = problem_of_levels(&model, &columns) {
            return wrong(problem);
        }
        let mut file = NpzReader::open(&folder.join(COMPONENTS))?;
        let counts = file.integers("counts")?;
        let total = counts.iter().try_fold(0i64, |total, count| total.checked_add(*count));
        if counts.is_empty()
            || counts.len() != n_components
            || counts.iter().any(|&count| count < 1)
            || total != Some(n_rows)
        {
            let problem = format!("expected {n_components} positive numbers that sum to {n_rows}, as {MODEL} says");
            return Err(file.wrong("counts", problem));
        }
        for NamedArray { name, shape, numbers } in model.described().constants() {
            if file.doubles(name, &shape)? != numbers {
                return Err(file.wrong(name, format!("is not that of {MODEL}: the two are of different runs")));
            }
        }
        let sums = read_sums(&mut file, &model, counts.len())?;
        let components = counts.into_iter().zip(sums).map(|(count, sums)| Stats { count, sums }).collect();
        Ok(Self { model, alpha, columns, transform, components })
    }
}

fn read_record(path: &Path) -> Result<ModelRecord> {
    if !path.exists() {
        let error = InputError::in_file(path, "is not there");
        return Err(error.hint("name a folder of a run that `dirigent fit` has finished").into());
    }
    source::open(path)?;
    let text = fs::read_to_string(path).map_err(|error| damaged(path, error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| damaged(path, error.to_string()))?;
    match value["format"].as_u64() {
        Some(PLAIN_FORMAT..=FORMAT) => serde_json::from_value(value).map_err(|error| damaged(path, error.to_string())),
        Some(other) => {
            let problem = format!("found format {other} of the model file, expected at most {FORMAT}");
            Err(InputError::in_file(path, problem).hint("read it with the version that wrote it").into())
        }
        None => Err(damaged(path, "there is no `format`")),
    }
}

/// A column of text needs a law of as many levels.
fn problem_of_levels(model: &Model, columns: &FittedColumns) -> Option<String> {
    let n_levels = |ix: usize| match model {
        Model::Columns(family) => match family.columns[ix].law {
            ColumnLaw::Categorical { n_levels, .. } => Some(n_levels),
            _ => None,
        },
        _ => None,
    };
    let wrong = |(ix, levels): (usize, &Option<Vec<String>>)| {
        let found = levels.as_ref()?.len();
        (n_levels(ix) != Some(found))
            .then(|| format!("`columns.levels` has {found} for column {}, the model not", ix + 1))
    };
    columns.levels.iter().enumerate().find_map(wrong)
}

fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    let problem = format!("cannot be read as a model: {}", problem.into());
    InputError::in_file(path, problem).hint("the file is damaged or was changed: fit the model again").into()
}

/// Writes the sums of sets of rows.
pub(super) fn write_sums(file: &mut NpzWriter, model: &Model, sets: &[Stats]) -> Result<()> {
    match model {
        Model::Multinomial(family) => write_counts(file, family, sets),
        _ => write_dense(file, model.conjugate().stats_len(), sets),
    }
}

/// Reads the sums of so many sets of rows.
pub(super) fn read_sums(file: &mut NpzReader, model: &Model, n_sets: usize) -> Result<Vec<Sums>> {
    match model {
        Model::Multinomial(family) => read_counts(file, family, n_sets),
        _ => read_dense(file, n_sets, model.conjugate().stats_len()),
    }
}

fn write_dense(file: &mut NpzWriter, stats_len: usize, components: &[Stats]) -> Result<()> {
    let sums = components.iter().flat_map(|stats| stats.dense().iter().copied());
    file.array("sums", &[components.len(), stats_len], sums)
}

fn write_counts(file: &mut NpzWriter, family: &Multinomial, components: &[Stats]) -> Result<()> {
    // the last coordinate is the total of the others
    let words_of = |stats: &Stats| {
        let mut entries = stats.to_counts();
        entries.retain(|(word, _)| (*word as usize) < family.n_words);
        entries
    };
    let rows: Vec<Vec<(u32, i64)>> = components.iter().map(words_of).collect();
    csr::write(file, family.n_words, &rows)
}

fn read_dense(file: &mut NpzReader, n_components: usize, stats_len: usize) -> Result<Vec<Sums>> {
    let sums = file.doubles("sums", &[n_components, stats_len])?;
    Ok(sums.chunks_exact(stats_len).map(|sums| Sums::Dense(sums.into())).collect())
}

/// The counts of each component, with their total at the end.
fn read_counts(file: &mut NpzReader, family: &Multinomial, n_components: usize) -> Result<Vec<Sums>> {
    let with_total = |mut entries: Vec<(u32, i64)>| {
        let total: i64 = entries.iter().map(|(_, count)| count).sum();
        if total > 0 {
            entries.push((family.n_words as u32, total));
        }
        Sums::Counts(entries)
    };
    Ok(csr::read(file, n_components, family.n_words)?.into_iter().map(with_total).collect())
}

#[cfg(test)]
mod tests;
