//! From data and options to a fit that can begin: rows transformed, model chosen, method set up.

use std::time::Instant;

use super::lower::{self, OutsideWorkers};
use super::options::{EngineName, MethodName};
use super::outside::Outside;
use super::{Data, FitOptions};
use crate::error::{InputError, Result};
use crate::io::DataSet;
use crate::method::start::model::{self, ChosenModel};
use crate::method::{MethodSetup, after, bytes_a_row};
use crate::model::{Choice, FamilyName, Model, ModelOptions};
use crate::observer::Observer;
use crate::rows::Shard;
use crate::run_dir::{DataRecord, RUN_FORMAT, RunRecord, Status};
use crate::sweep::Kernel;
use crate::transform::{Transform, TransformRecord};

/// The rows of a fit with everything that is done to them before a model sees them. Fits that
/// differ in method and run may share it.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Input {
    pub(super) data: Data,
    pub(super) transform: Option<(Transform, TransformRecord)>,
    /// The rows after the transform.
    pub(super) rows: DataSet,
    /// What the user said of the model, and what the columns are.
    pub(super) model_options: ModelOptions,
}

/// A fit that could begin.
#[doc(hidden)]
pub struct PreparedFit<'a> {
    pub(super) input: &'a Input,
    options: &'a FitOptions,
    /// The rows as they are fitted, and as they were read.
    pub(super) shard: Shard,
    pub(super) as_read: Shard,
    pub(super) model: Model,
    pub(super) choices: Vec<Choice>,
    pub(super) setup: MethodSetup,
    pub(super) kernel: Kernel,
    /// The options with what was left open filled in.
    pub(super) used: FitOptions,
}

impl Input {
    /// The rows as the options want them.
    pub fn new(data: &Data, options: &FitOptions, observer: &mut dyn Observer) -> Result<Self> {
        let data = data.with_columns(options.text_columns(), options.columns_with_families())?;
        let set = as_family_wants(data.set(), options.model.family, observer)?;
        let transform = transform(options, &set, observer)?;
        check_memory(&data, options, transform.as_ref().map(|(transform, _)| transform))?;
        let rows = transform.as_ref().map_or_else(|| set.clone(), |(transform, _)| set.transformed(transform));
        let mut model_options = options.model.clone();
        (model_options.columns.names, model_options.columns.n_levels) = columns_of(&rows);
        Ok(Self { data: data.with_set(set), transform, rows, model_options })
    }

    /// The same rows without known classes.
    #[must_use]
    pub fn without_truth(&self) -> Self {
        Self { data: self.data.without_truth(), ..self.clone() }
    }

    /// The rows.
    pub fn data(&self) -> &Data {
        &self.data
    }
}

impl<'a> PreparedFit<'a> {
    /// Chooses the model and sets up the method, for options that are known to be sound.
    pub fn new(input: &'a Input, options: &'a FitOptions, observer: &mut dyn Observer) -> Result<Self> {
        Self::on(input, options, None, observer)
    }

    /// The same with workers that an engine from outside has.
    pub(super) fn on(
        input: &'a Input,
        options: &'a FitOptions,
        outside: Option<&Outside>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let began = Instant::now();
        let Input { data, rows, model_options, .. } = input;
        options.check_draws(data.n_rows())?;
        let outside = outside.map(|outside| OutsideWorkers {
            n_workers: outside.n_workers,
            engine: Box::new(|n_workers| outside.engine(input, n_workers)),
        });
        if data.start().is_some() && options.run.start.is_some() {
            let problem = "`start` and labels to start from were both given";
            return Err(InputError::new(problem).hint("leave one of them out").into());
        }
        let start = data.start().map(<[u32]>::to_vec);
        let has_fine_start = start.is_none() && options.has_fine_start();
        let mut setup = lower::method(options, model_options, start, data.n_rows(), outside.as_ref())?;
        let kernel = options.method.kernel.unwrap_or_else(Kernel::best);
        let shard = rows.all_rows();
        let survey = setup.survey(&shard);
        let n_threads = lower::n_threads(&options.engine);
        // a simulation's seconds are virtual
        let is_timed = options.engine.name != EngineName::Simulated;
        let deadline = setup.time_limit().filter(|_| is_timed).and_then(|limit| after(began, limit));
        let chosen = model::choose(&shard, model_options, &survey, kernel, n_threads, deadline, observer)?;
        setup.set_model(chosen.options.clone());
        if has_fine_start {
            setup.start_fine(&shard, &chosen, n_threads, deadline, observer)?;
        }
        let ChosenModel { model, choices, .. } = chosen;
        let used = lower::as_used(options, &setup, kernel);
        // the limit is for everything after reading
        let spent = if is_timed { began.elapsed().as_secs_f64() } else { 0.0 };
        let left = setup.time_limit().map(|limit| (limit - spent).max(0.0));
        let setup = setup.for_chain(0, left);
        observer.on_model(&model, model_options, &choices);
        Ok(Self { input, options, shard, as_read: data.set().all_rows(), model, choices, setup, kernel, used })
    }

    /// The options that were asked for.
    pub(super) fn asked(&self) -> &FitOptions {
        self.options
    }

    /// The record of the run as it begins.
    pub fn record(&self) -> RunRecord<'_> {
        let Input { data, transform, .. } = self.input;
        let mut data_record = DataRecord::of(data.set(), data.selection());
        data_record.truth = truth_source(data);
        data_record.transform = transform.as_ref().map(|(_, record)| *record);
        data_record.options = data.options().absolute();
        let described = self.model.described();
        let (family, covariance) = match described.name().split_once(", covariance ") {
            Some((family, covariance)) => (family, Some(covariance)),
            None => (described.name(), None),
        };
        RunRecord {
            format: RUN_FORMAT,
            status: Status::Running,
            error: None,
            command: Vec::new(),
            version: env!("CARGO_PKG_VERSION"),
            kernel: self.kernel,
            data: data_record,
            family,
            covariance,
            prior: described.priors().into_iter().collect(),
            choices: &self.choices,
            model: &self.model,
            options: self.used.clone(),
            posterior: None,
            summary: None,
            diagnostics: None,
            warnings: Vec::new(),
        }
    }
}

/// The rows, as counts if the family wants counts, and as numbers if it wants numbers.
fn as_family_wants(set: &DataSet, family: Option<FamilyName>, observer: &mut dyn Observer) -> Result<DataSet> {
    if family == Some(FamilyName::Multinomial) && !set.is_counts() {
        return set.clone().into_counts();
    }
    if family.is_some_and(|family| family != FamilyName::Multinomial) && set.is_sparse_matrix() {
        return set.clone().into_numbers();
    }
    if family.is_none()
        && let Some(ix) = set.levels().iter().position(Option::is_some)
    {
        let name = set.column_names().map_or_else(|| (ix + 1).to_string(), |names| names[ix].clone());
        observer.on_notice(&format!(
            "column {name} holds text and is fitted too; if it has the true labels: `label_column` {name}"
        ));
    }
    Ok(set.clone())
}

/// What the columns are called, and how many levels those have that hold text.
fn columns_of(set: &DataSet) -> (Vec<String>, Vec<Option<usize>>) {
    let names = set.column_names().map(<[String]>::to_vec).unwrap_or_default();
    let levels = set.levels();
    let n_levels = if levels.iter().any(Option::is_some) {
        levels.iter().map(|levels| levels.as_ref().map(Vec::len)).collect()
    } else {
        Vec::new()
    };
    (names, n_levels)
}

/// What is to be done to the rows before the fit, if anything was asked for.
fn transform(
    options: &FitOptions,
    set: &DataSet,
    observer: &mut dyn Observer,
) -> Result<Option<(Transform, TransformRecord)>> {
    if options.transform.is_nothing() {
        return Ok(None);
    }
    let (transform, record) = options.transform.resolve(set)?;
    if record.standardize {
        observer.on_notice("standardized: every column has mean 0 and standard deviation 1");
    }
    if record.normalize {
        observer.on_notice("normalized: every row has length 1");
    }
    if let (Some(n_components), Some(kept)) = (record.pca, record.variance_kept) {
        let (columns, percent) = (set.n_columns(), 100.0 * kept);
        observer
            .on_notice(&format!("pca: {n_components} of {columns} components, with {percent:.1} % of the variance"));
    }
    Ok(Some((transform, record)))
}

/// Rejects rows that leave no room for what a fit needs beside them.
fn check_memory(data: &Data, options: &FitOptions, transform: Option<&Transform>) -> Result<()> {
    let n_rows = data.n_rows() as u64;
    let copied = transform.map_or(0, |transform| 8 * transform.n_columns_out() as u64);
    let n_bytes = n_rows.saturating_mul(copied + bytes_a_row(options.method.name != MethodName::Cgs));
    let of_copy = if copied > 0 { ", with the copy that `standardize`, `pca` and `normalize` make," } else { "" };
    let what = format!("a fit of {} rows{of_copy}", grouped(n_rows));
    let hint = if copied > 0 { "fit fewer rows, or rows that are prepared already" } else { "fit fewer rows" };
    let checked: Result<(), InputError> = data.options().storage().check_room(&what, n_bytes, hint);
    Ok(checked?)
}

fn truth_source(data: &Data) -> Option<String> {
    let options = data.options();
    let column = options.label_column.as_ref().map(|column| format!("column {column}"));
    options.truth.as_ref().map(|file| file.display().to_string()).or(column)
}

/// A number with a comma every three digits.
#[doc(hidden)]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (ix, digit) in digits.chars().enumerate() {
        if ix > 0 && (digits.len() - ix).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
