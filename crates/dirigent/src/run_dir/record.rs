//! What `run.json` holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fit::{DataOptions, FitOptions};
use crate::io::{CellFormat, DataFile, DataSet, FittedColumns, Header, LeftOut, Selection};
use crate::method::chains::Diagnostics;
use crate::model::{Choice, Model};
use crate::posterior::draws::KPosterior;
use crate::posterior::horizon::StoppedBecause;
use crate::sweep::Kernel;
use crate::transform::TransformRecord;

/// `run.json`: what was asked, what was used, what came out.
#[derive(Debug, Serialize)]
pub struct RunRecord<'a> {
    /// Whether the run has ended, and how.
    pub status: Status,
    /// Why it failed.
    pub error: Option<String>,
    /// What was typed, word for word; nothing where no command was.
    pub command: Vec<String>,
    /// The version of this software.
    pub version: &'static str,
    /// The instructions that swept the rows.
    pub kernel: Kernel,
    /// The rows.
    pub data: DataRecord<'a>,
    /// The family, as options call it.
    pub family: &'static str,
    /// The covariance of a Gaussian one, likewise.
    pub covariance: Option<&'static str>,
    /// The parameters of the prior, likewise; means over columns that differ.
    pub prior: BTreeMap<&'static str, f64>,
    /// What was chosen from the data, and why.
    pub choices: &'a [Choice],
    /// The model, every prior resolved.
    pub model: &'a Model,
    /// What was asked for.
    pub options: FitOptions,
    /// What the draws say, where there are any.
    pub posterior: Option<PosteriorRecord>,
    /// What came out, once the run has finished.
    pub summary: Option<Summary>,
    /// Whether chains agree, where there are several or states were kept.
    pub diagnostics: Option<Diagnostics>,
    /// What looks odd, with the likely cause.
    pub warnings: Vec<String>,
}

/// What the draws say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PosteriorRecord {
    /// The number of draws.
    pub n_draws: usize,
    /// The number of clusters.
    pub k: KPosterior,
    /// The expected variation of information between `labels.npy` and the truth, in nats: the mean over the draws.
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
    /// The name of the set.
    pub name: &'a str,
    /// The number of rows.
    pub n_rows: usize,
    /// The number of columns that were read.
    pub n_columns: usize,
    /// Their names, where they have some.
    pub column_names: Option<&'a [String]>,
    /// The files, in order.
    pub files: &'a [DataFile],
    /// Tells this data from other data.
    pub fingerprint: String,
    /// Which columns were asked for.
    pub selection: SelectionRecord<'a>,
    /// The levels of columns that hold text: for the model file.
    #[serde(skip)]
    pub levels: &'a [Option<Vec<String>>],
    /// The columns that are left out because of what they hold.
    pub left_out: &'a [LeftOut],
    /// How cells are numbers: for the model file.
    #[serde(skip)]
    pub formats: &'a [CellFormat],
    /// Whether sparse text files number their columns from 0: for the model file.
    #[serde(skip)]
    pub numbered_from_zero: bool,
    /// What was done to the columns before the fit.
    pub transform: Option<TransformRecord>,
    /// Where the true labels came from: a file, or a column.
    pub truth: Option<String>,
    /// Where the rows are, and which columns are read; paths are absolute.
    pub options: DataOptions,
}

/// The columns that were asked for.
#[derive(Debug, Serialize)]
pub struct SelectionRecord<'a> {
    /// Only these; null is all.
    pub columns: Option<&'a [String]>,
    /// Not these.
    pub exclude: &'a [String],
    /// The column with the true labels.
    pub label_column: Option<&'a str>,
    /// Read as text whatever their cells look like.
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
    /// The components of the last state.
    pub k: usize,
    /// The clusters of `labels.npy`.
    pub n_clusters: usize,
    /// The log-joint of the last state.
    pub log_joint: f64,
    /// The log-joint of the true labels under the same α.
    pub log_joint_truth: Option<f64>,
    /// Variation of information between the last state and the truth, in nats.
    pub vi: Option<f64>,
    /// The same for `labels.npy`.
    pub vi_labels: Option<f64>,
    /// The adjusted Rand index of `labels.npy`.
    pub ari_labels: Option<f64>,
    /// The normalised mutual information of `labels.npy`.
    pub nmi_labels: Option<f64>,
    /// The last α.
    pub alpha: f64,
    /// Cycles run, by the chain that labels are of.
    pub cycles: u64,
    /// Why that chain ended.
    pub stopped_because: StoppedBecause,
    /// States in `draws.npy`, where some were asked for.
    pub n_draws: Option<usize>,
    /// Wall time of the cycles and of assigning the labels.
    pub seconds: f64,
    /// Bytes that the algorithm sent.
    pub bytes: u64,
    /// Messages that the algorithm sent.
    pub messages: u64,
}
