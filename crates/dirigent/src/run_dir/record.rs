//! What `run.json` holds.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{InputError, Result};
use crate::fit::{DataOptions, FitOptions};
use crate::io::{CellFormat, DataFile, DataSet, FittedColumns, Header, LeftOut, Selection};
use crate::method::chains::Diagnostics;
use crate::model::{Choice, Model};
use crate::posterior::draws::KPosterior;
use crate::posterior::horizon::StoppedBecause;
use crate::sweep::Kernel;
use crate::transform::TransformRecord;

/// What this version writes, and the newest format that it reads. A checkpoint is read with the record beside it.
pub(crate) const FORMAT: u64 = 1;

/// Rejects the record of a run that a newer version wrote. Without a number it is an older one.
pub(crate) fn check_format(record: &serde_json::Value, path: &Path) -> Result<()> {
    match record["format"].as_u64() {
        Some(found) if found > FORMAT => {
            let problem = format!("found format {found} of the record, expected at most {FORMAT}");
            let version = record["version"].as_str().unwrap_or("unknown");
            let hint = format!("use the version that wrote it ({version}), or a newer one");
            Err(InputError::in_file(path, problem).hint(hint).into())
        }
        _ => Ok(()),
    }
}

/// `run.json`: what was asked, what was used, what came out.
#[derive(Debug, Serialize)]
pub struct RunRecord<'a> {
    /// Number of the format of this file.
    pub format: u64,
    /// State of the run.
    pub status: Status,
    /// Reason of a failure.
    pub error: Option<String>,
    /// Words of the command line; empty for Python and Rust.
    pub command: Vec<String>,
    /// Version of the software.
    pub version: &'static str,
    /// Processor instructions that were used.
    pub kernel: Kernel,
    /// The input.
    pub data: DataRecord<'a>,
    /// Family, as in the options.
    pub family: &'a str,
    /// Covariance of a Gaussian family, as in the options.
    pub covariance: Option<&'a str>,
    /// Parameters of the prior, as in the options; means if columns differ.
    pub prior: BTreeMap<&'static str, f64>,
    /// Choices made from the data, with reasons.
    pub choices: &'a [Choice],
    /// Family with every prior resolved.
    pub model: &'a Model,
    /// All options of the fit.
    pub options: FitOptions,
    /// Summary of the draws, if there are any.
    pub posterior: Option<PosteriorRecord>,
    /// Results, once the run has finished.
    pub summary: Option<Summary>,
    /// Agreement of chains, if there are several or draws were kept.
    pub diagnostics: Option<Diagnostics>,
    /// What looks odd, with the likely cause.
    pub warnings: Vec<String>,
}

/// Summary of the draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PosteriorRecord {
    /// Number of draws.
    pub n_draws: usize,
    /// Distribution of the number of components.
    pub k: KPosterior,
    /// Mean variation of information between `labels.npy` and the draws, in nats.
    pub expected_vi_labels: f64,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It goes on, or was killed.
    Running,
    /// It is done.
    Finished,
    /// It broke off with an error.
    Failed,
    /// It was asked to stop before its end.
    Interrupted,
}

/// The rows of a run, and where they came from.
#[derive(Debug, Serialize)]
pub struct DataRecord<'a> {
    /// Name of the data set.
    pub name: &'a str,
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns that were read.
    pub n_columns: usize,
    /// Names of the columns, if they have names.
    pub column_names: Option<&'a [String]>,
    /// Files, in order.
    pub files: &'a [DataFile],
    /// Checksum of the contents; `--resume` compares it.
    pub fingerprint: String,
    /// Requested columns.
    pub selection: SelectionRecord<'a>,
    /// The levels of columns that hold text: for the model file.
    #[serde(skip)]
    pub levels: &'a [Option<Vec<String>>],
    /// Columns that were left out because of their contents.
    pub left_out: &'a [LeftOut],
    /// How cells are numbers: for the model file.
    #[serde(skip)]
    pub formats: &'a [CellFormat],
    /// Whether sparse text files number their columns from 0: for the model file.
    #[serde(skip)]
    pub numbered_from_zero: bool,
    /// Transformation of the columns before the fit.
    pub transform: Option<TransformRecord>,
    /// File or column of the true labels.
    pub truth: Option<String>,
    /// Options of the input; paths are absolute.
    pub options: DataOptions,
}

/// The columns that were asked for.
#[derive(Debug, Serialize)]
pub struct SelectionRecord<'a> {
    /// Columns to use; null means all.
    pub columns: Option<&'a [String]>,
    /// Columns to leave out.
    pub exclude: &'a [String],
    /// Column with the true labels.
    pub label_column: Option<&'a str>,
    /// Columns read as text, even if their cells are numbers.
    pub text_columns: &'a [String],
    /// Whether the first line is a header.
    pub header: Header,
}

impl<'a> DataRecord<'a> {
    /// The record of a data set that was read from files.
    pub fn of(data: &'a DataSet, selection: &'a Selection) -> Self {
        Self {
            name: data.name(),
            n_rows: data.n_rows(),
            n_columns: data.n_columns(),
            column_names: data.column_names(),
            files: data.files(),
            fingerprint: data.fingerprint(),
            selection: SelectionRecord {
                columns: selection.columns.as_deref(),
                exclude: &selection.exclude,
                label_column: selection.label_column.as_deref(),
                text_columns: &selection.text_columns,
                header: selection.header,
            },
            levels: data.levels(),
            left_out: data.left_out(),
            formats: data.formats(),
            numbered_from_zero: data.numbered_from_zero(),
            transform: None,
            truth: None,
            options: DataOptions::default(),
        }
    }
}

impl DataRecord<'_> {
    /// The columns as a later look at the model must find them.
    pub fn fitted_columns(&self) -> FittedColumns {
        let &SelectionRecord { columns, exclude, label_column, text_columns, header } = &self.selection;
        let has_text = self.levels.iter().any(Option::is_some);
        FittedColumns {
            n_columns: self.n_columns,
            names: self.column_names.map(<[String]>::to_vec),
            selection: Selection {
                columns: columns.map(<[String]>::to_vec),
                exclude: exclude.to_vec(),
                label_column: label_column.map(str::to_owned),
                text_columns: text_columns.to_vec(),
                kept: Vec::new(),
                header,
            },
            levels: if has_text { self.levels.to_vec() } else { Vec::new() },
            formats: self.formats.to_vec(),
            left_out: self.left_out.to_vec(),
            numbered_from_zero: self.numbered_from_zero,
        }
    }
}

/// Which partition stands for the chain, in `labels.npy`.
///
/// ```
/// use dirigent::Point;
///
/// assert_eq!(Point::default(), Point::Argmax);
/// assert_eq!(serde_json::to_string(&Point::Vi)?, r#""vi""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Point {
    /// The most probable component of each row under the final model.
    #[default]
    Argmax,
    /// The partition with the least expected variation of information over the draws.
    Vi,
    /// The last state.
    Last,
    /// The state with the highest log-joint.
    Best,
}

/// What came out of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of components of the last state.
    pub k: usize,
    /// Number of clusters of `labels.npy`.
    pub n_clusters: usize,
    /// Log-joint of the last state.
    pub log_joint: f64,
    /// Log-joint of the true labels under the same α.
    pub log_joint_truth: Option<f64>,
    /// Variation of information between the last state and the truth, in nats.
    pub vi: Option<f64>,
    /// Variation of information between `labels.npy` and the truth, in nats.
    pub vi_labels: Option<f64>,
    /// Adjusted Rand index of `labels.npy`.
    pub ari_labels: Option<f64>,
    /// Normalised mutual information of `labels.npy`.
    pub nmi_labels: Option<f64>,
    /// Final α.
    pub alpha: f64,
    /// Cycles of the chain that gave the labels.
    pub cycles: u64,
    /// Reason why that chain ended.
    pub stopped_because: StoppedBecause,
    /// Number of draws in `draws.npy`, if any.
    pub n_draws: Option<usize>,
    /// Wall time of the cycles and of assigning the labels.
    pub seconds: f64,
    /// Bytes that the algorithm sent.
    pub bytes: u64,
    /// Messages that the algorithm sent.
    pub messages: u64,
}
