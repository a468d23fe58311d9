//! What is fitted: rows from files or from memory, with all that is done to them before a model sees them.

use std::path::{Path, PathBuf};

use dirigent::io::labels::read_labels;
use dirigent::io::{DataSet, MemoryRows, Selection, is_address, read_vocabulary};
use dirigent::method::bytes_a_row;
use dirigent::model::{ColumnFamily, FamilyName, ModelOptions};
use dirigent::transform::{Transform, TransformRecord};
use dirigent::{InputError, Result};

use crate::args::FitArgs;
use crate::console::{Console, grouped};

/// Where the rows are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// In the files that the options name.
    Files,
    /// In memory, with the names of the columns.
    Memory(&'a [MemoryRows], Option<&'a [String]>),
}

/// What is fitted, as read: fits that differ in nothing but method and run may share it.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) data: DataSet,
    pub(crate) truth: Option<Vec<u32>>,
    pub(crate) selection: Selection,
    pub(crate) transform: Option<(Transform, TransformRecord)>,
    /// The data after the transform.
    pub(crate) rows: DataSet,
    /// What the user said of the model, and what the columns are.
    pub(crate) model_options: ModelOptions,
}

impl Input {
    /// Reads what the options name.
    pub(crate) fn read(args: &FitArgs, source: Source<'_>) -> Result<Self> {
        let console = args.output.console();
        let mut model_options = args.model.options();
        let selection = selection(args, &model_options);
        let data = open(args, source, &selection, &model_options, console)?;
        let data = with_vocabulary(args, data)?;
        let transform = prepare(args, &data, console)?;
        check_memory(args, data.n_rows() as u64, transform.as_ref().map(|(transform, _)| transform))?;
        let rows = transform.as_ref().map_or_else(|| data.clone(), |(transform, _)| data.transformed(transform));
        (model_options.columns.names, model_options.columns.n_levels) = columns_of(&rows);
        let truth = true_labels(args.truth.as_deref(), &data)?;
        Ok(Self { data, truth, selection, transform, rows, model_options })
    }

    /// The same rows, nothing known of their clusters: what is not measured takes no time.
    pub(crate) fn without_truth(&self) -> Self {
        Self { truth: None, ..self.clone() }
    }
}

/// The rows, as counts where the family wants counts, and as numbers where it wants numbers.
fn open(
    args: &FitArgs,
    source: Source<'_>,
    selection: &Selection,
    options: &ModelOptions,
    console: Console,
) -> Result<DataSet> {
    let data = match source {
        Source::Files => {
            say_what_is_fetched(&args.data, console);
            DataSet::open_with(&args.data, selection, &args.storage.storage())?
        }
        Source::Memory(parts, names) => DataSet::of_memory(parts, names, selection)?,
    };
    let (rows, columns) = (grouped(data.n_rows() as u64), grouped(data.n_columns() as u64));
    console.say(format_args!("data: {} ({rows} rows, {columns} columns)", data.name()));
    if options.family == Some(FamilyName::Multinomial) && !data.is_counts() {
        return data.into_counts();
    }
    if options.family.is_some_and(|family| family != FamilyName::Multinomial) && data.is_sparse_matrix() {
        return data.into_numbers();
    }
    if options.family.is_none()
        && let Some(ix) = data.levels().iter().position(Option::is_some)
    {
        let name = data.column_names().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone());
        console.say(format_args!(
            "column {name} holds text and is fitted too; if it has the true labels: --label-column {name}"
        ));
    }
    Ok(data)
}

/// What comes over a network may take its time. A build that reads files only refuses addresses, and says nothing before.
pub(crate) fn say_what_is_fetched(paths: &[PathBuf], console: Console) {
    if !cfg!(feature = "object-store") {
        return;
    }
    for path in paths.iter().filter(|path| is_address(path)) {
        // what follows may be a secret
        let shown = path.to_string_lossy();
        console.say(format_args!("fetching {}, unless it is in the cache", shown.split('?').next().unwrap_or(&shown)));
    }
}

/// The rows, with the words of `--vocab` as the names of their columns.
fn with_vocabulary(args: &FitArgs, data: DataSet) -> Result<DataSet> {
    let Some(path) = &args.vocab else { return Ok(data) };
    if !data.is_counts() || data.column_names().is_some() {
        let what = if data.is_counts() { "these have names already" } else { "these rows are not word counts" };
        let error = InputError::new(format!("--vocab names the columns of word counts, and {what}"));
        return Err(error.hint("leave --vocab out").into());
    }
    let words = read_vocabulary(path, data.n_columns())?;
    Ok(data.with_column_names(words))
}

/// The columns to read; those that are to be categorical are text.
fn selection(args: &FitArgs, options: &ModelOptions) -> Selection {
    let families = &options.columns.families;
    let is_text = |(_, family): &&(String, ColumnFamily)| *family == ColumnFamily::Categorical;
    let text_columns = families.iter().filter(is_text).map(|(name, _)| name.clone()).collect();
    Selection { text_columns, ..args.selection.selection() }
}

/// What the columns are called, and how many levels those have that hold text.
fn columns_of(data: &DataSet) -> (Vec<String>, Vec<Option<usize>>) {
    let names = data.column_names().map(<[String]>::to_vec).unwrap_or_default();
    let levels = data.levels();
    let n_levels = if levels.iter().any(Option::is_some) {
        levels.iter().map(|levels| levels.as_ref().map(Vec::len)).collect()
    } else {
        Vec::new()
    };
    (names, n_levels)
}

/// What is to be done to the rows before the fit, if anything was asked for.
fn prepare(args: &FitArgs, data: &DataSet, console: Console) -> Result<Option<(Transform, TransformRecord)>> {
    let options = args.transform();
    if options.is_nothing() {
        return Ok(None);
    }
    let (transform, record) = options.resolve(data)?;
    if record.standardize {
        console.say("standardized: every column has mean 0 and standard deviation 1");
    }
    if record.normalize {
        console.say("normalized: every row has length 1");
    }
    if let (Some(n_components), Some(kept)) = (record.pca, record.variance_kept) {
        let (columns, percent) = (data.n_columns(), 100.0 * kept);
        console
            .say(format_args!("pca: kept {n_components} of {columns} components, with {percent:.1} % of the variance"));
    }
    Ok(Some((transform, record)))
}

/// Refuses rows that leave no room for what a fit needs beside them.
fn check_memory(args: &FitArgs, n_rows: u64, transform: Option<&Transform>) -> Result<()> {
    let copied = transform.map_or(0, |transform| 8 * transform.n_columns_out() as u64);
    let n_bytes = n_rows.saturating_mul(copied + bytes_a_row(!args.run.method.is_cgs()));
    let of_copy = if copied > 0 { ", with the copy that --standardize, --pca and --normalize make," } else { "" };
    let what = format!("a fit of {} rows{of_copy}", grouped(n_rows));
    let hint = if copied > 0 { "fit fewer rows, or rows that are prepared already" } else { "fit fewer rows" };
    Ok(args.storage.storage().check_room(&what, n_bytes, hint)?)
}

fn true_labels(file: Option<&Path>, data: &DataSet) -> Result<Option<Vec<u32>>> {
    let in_data = || data.truth().map(|truth| truth.labels.clone());
    Ok(labels_of(file, "--truth", data)?.or_else(in_data))
}

/// The labels in a file, one for each row of the data.
pub(crate) fn labels_of(file: Option<&Path>, option: &str, data: &DataSet) -> Result<Option<Vec<u32>>> {
    let Some(file) = file else { return Ok(None) };
    let labels = read_labels(file)?.labels;
    if labels.len() != data.n_rows() {
        let problem = format!("has {} labels, but the data has {} rows", labels.len(), data.n_rows());
        let hint = format!("{option} needs one label a row, in the same order");
        return Err(InputError::in_file(file, problem).hint(hint).into());
    }
    Ok(Some(labels))
}
