//! A fitted model: labels, prediction, and the run folder it can be saved to and loaded from.

use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use serde_json::Value;

use super::run::clusters_of;
use super::stored::read_options;
use super::{Data, FitOptions};
use crate::error::{Error, InputError, Result};
use crate::io::{DataSet, Selection, read_draws, read_labels};
use crate::method::chains::Diagnostics;
use crate::model::{Choice, Model};
use crate::posterior::draws::Partitions;
use crate::posterior::predictive::Predictor;
use crate::rows::Row;
use crate::run_dir::{
    FILES, FittedModel, Past, PosteriorRecord, RowSample, RunDir, Summary, check_folder, check_format, write_json,
};
use crate::stats::Stats;
use crate::sweep::{Kernel, Prediction};
use crate::trace::CycleInfo;
use crate::tree::{Clusters, Cut, Tree};

/// What to do if files do not belong together.
const OTHER_RUN: &str = "the files are of different runs: fit again";

/// What a fit leaves behind.
///
/// ```
/// use dirigent::{Data, FitOptions};
///
/// let data = Data::from_cells(1, vec![0.0, 0.1, 0.2, 9.0, 9.1, 9.2])?;
/// let fitted = dirigent::fit(&data, &FitOptions::default())?;
/// assert_eq!(fitted.labels().len(), 6);
/// let new = fitted.predict(&Data::from_cells(1, vec![0.15])?)?;
/// assert_eq!(new[0], fitted.labels()[0]);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug)]
pub struct Fitted {
    pub(super) labels: Vec<u32>,
    pub(super) certainty: Vec<f32>,
    /// The most probable component of each row, if labels are another partition.
    pub(super) component_labels: Option<Vec<u32>>,
    /// The clusters that labels are.
    pub(super) cut: Cut,
    pub(super) tree: Tree,
    pub(super) model: FittedModel,
    pub(super) kernel: Kernel,
    pub(super) choices: Vec<Choice>,
    pub(super) summary: Summary,
    pub(super) posterior: Option<PosteriorRecord>,
    pub(super) diagnostics: Option<Diagnostics>,
    pub(super) warnings: Vec<String>,
    pub(super) trace: Vec<CycleInfo>,
    pub(super) draws: Option<Partitions>,
    pub(super) sample: Option<RowSample>,
    /// `run.json` as it was when the run began.
    pub(super) record: Value,
    pub(super) path: Option<PathBuf>,
    /// The batches, if the fit was updated.
    pub(super) past: Option<Past>,
}

impl Fitted {
    /// The cluster of each row, numbered by falling size.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// The probability of each row's cluster.
    pub fn certainty(&self) -> &[f32] {
        &self.certainty
    }

    /// The number of clusters among the labels.
    pub fn n_clusters(&self) -> usize {
        self.summary.n_clusters
    }

    /// The number of components of the mixture.
    pub fn n_components(&self) -> usize {
        self.model.components.len()
    }

    /// The statistics of each component, in the order of their numbers.
    pub fn components(&self) -> &[Stats] {
        &self.model.components
    }

    /// The distribution of the rows, with every prior resolved.
    pub fn model(&self) -> &Model {
        &self.model.model
    }

    /// The columns that were fitted, as they are read.
    #[doc(hidden)]
    pub fn columns(&self) -> &crate::io::FittedColumns {
        &self.model.columns
    }

    /// The concentration of the Dirichlet process.
    pub fn alpha(&self) -> f64 {
        self.model.alpha
    }

    /// What was chosen for the user, and why.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The figures of the run.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What the draws say, if there are any.
    pub fn posterior(&self) -> Option<&PosteriorRecord> {
        self.posterior.as_ref()
    }

    /// Whether chains agree, if there are several or states were kept.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        self.diagnostics.as_ref()
    }

    /// What looks odd, with the likely cause.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What was reported of each cycle.
    pub fn trace(&self) -> &[CycleInfo] {
        &self.trace
    }

    /// Posterior draws, if they were asked for.
    pub fn draws(&self) -> Option<&Partitions> {
        self.draws.as_ref()
    }

    /// The run folder, if the run has one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The tree over the components.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Groups the components into `n_clusters` clusters by undoing the last merges of the tree.
    ///
    /// ```
    /// use dirigent::{Data, FitOptions};
    ///
    /// let data = Data::from_cells(1, vec![0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 30.0, 30.1, 30.2])?;
    /// let fitted = dirigent::fit(&data, &FitOptions::default())?;
    /// let coarse = fitted.cut(1)?;
    /// assert_eq!(fitted.labels_of(&coarse), [0; 9]);
    /// assert!(fitted.cut(100).is_err());
    /// # Ok::<(), dirigent::Error>(())
    /// ```
    pub fn cut(&self, n_clusters: usize) -> Result<Cut> {
        let n_components = self.tree.n_components();
        if n_clusters == 0 || n_clusters > n_components {
            let problem = format!("the tree has {n_components} components, which cannot be {n_clusters} clusters");
            return Err(InputError::new(problem).hint(format!("ask for 1 to {n_components} clusters")).into());
        }
        Ok(self.tree.cut(n_clusters, 0.0))
    }

    /// The clusters that the tree shows by itself.
    pub fn layer(&self) -> Cut {
        self.tree.layer()
    }

    /// The cluster of each row in a cut.
    pub fn labels_of(&self, cut: &Cut) -> Vec<u32> {
        cut.labels(self.component_labels())
    }

    /// The most probable component of each row.
    pub fn component_labels(&self) -> &[u32] {
        self.component_labels.as_deref().unwrap_or(&self.labels)
    }

    /// The cluster of each of these rows: that of its most probable component.
    pub fn predict(&self, data: &Data) -> Result<Vec<u32>> {
        Ok(self.predictions(data)?.iter().map(|prediction| prediction.label).collect())
    }

    /// The cluster of each row with its probability, the probability of a new component, and the
    /// log-density.
    pub fn predictions(&self, data: &Data) -> Result<Vec<Prediction>> {
        let n_threads = available_parallelism().map_or(1, |cores| cores.get());
        let rows = data.for_model(&self.model)?.all_rows();
        let FittedModel { model, components, alpha, .. } = &self.model;
        let mut predictor = Predictor::new(model, components, *alpha, self.kernel, n_threads);
        Ok(predictor.predict_all(&rows, Some(&self.cut)).into_iter().map(Prediction::with_new).collect())
    }

    /// Loads a run folder. What was reported of each cycle stays in `trace.csv`.
    ///
    /// ```
    /// use dirigent::{Data, FitOptions, Fitted};
    ///
    /// let data = Data::from_cells(1, vec![9.0, 9.1, 9.2, 0.0, 0.1, 0.2, 0.3])?;
    /// let fitted = dirigent::fit(&data, &FitOptions::default())?;
    /// let folder = tempfile::tempdir()?;
    /// fitted.save(folder.path().join("run"))?;
    /// let loaded = Fitted::load(folder.path().join("run"))?;
    /// assert_eq!((loaded.labels(), loaded.predict(&data)?), (fitted.labels(), fitted.predict(&data)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "files")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let model = FittedModel::read(path)?;
        let record: Value = read_json(&path.join("run.json"))?;
        check_format(&record, &path.join("run.json"))?;
        let part = |name: &str| record.get(name).cloned().unwrap_or_default();
        let unreadable = |error: serde_json::Error| {
            InputError::in_file(path.join("run.json"), error.to_string()).hint("name the folder of a finished run")
        };
        let labels = read_numbers(&path.join("labels.npy"))?;
        let certainty = read_certainty(&path.join("certainty.npy"), labels.len())?;
        let (draws, components) = (path.join("draws.npy"), path.join("component_labels.npy"));
        let is_counts = matches!(model.model, Model::Multinomial(_));
        let tree = read_tree(path, model.components.len())?;
        let options: FitOptions = serde_json::from_value(part("options")).map_err(unreadable)?;
        let cut = clusters_of(&tree, options.clusters()).0;
        let past = Past::read(&model.model, model.components.len(), cut.n_clusters(), path)?;
        Ok(Self {
            certainty,
            kernel: Kernel::best(),
            choices: serde_json::from_value(part("choices")).map_err(unreadable)?,
            summary: serde_json::from_value(part("summary")).map_err(unreadable)?,
            posterior: serde_json::from_value(part("posterior")).map_err(unreadable)?,
            diagnostics: serde_json::from_value(part("diagnostics")).map_err(unreadable)?,
            warnings: serde_json::from_value(part("warnings")).map_err(unreadable)?,
            trace: Vec::new(),
            component_labels: components.exists().then(|| read_numbers(&components)).transpose()?,
            cut,
            tree,
            draws: draws.exists().then(|| read_draws(&draws)).transpose()?,
            sample: RowSample::read(path, &model.columns, is_counts)?,
            path: Some(path.to_path_buf()),
            past,
            labels,
            model,
            record,
        })
    }

    /// Writes the run folder. A fit that was written while it ran is there already.
    #[cfg(feature = "files")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        super::run::no_own_family(&self.model.model)?;
        check_folder(path, &FILES, false)?;
        let run_dir = RunDir::create(path, false)?;
        let mut trace = run_dir.trace()?;
        self.trace.iter().try_for_each(|info| trace.write(info))?;
        trace.sync()?;
        if let Some(draws) = &self.draws {
            let mut file = run_dir.draws(draws.n_draws(), self.labels.len())?;
            (0..draws.n_draws()).try_for_each(|ix| file.write_labels(draws.draw(ix)))?;
            file.finish()?;
        }
        run_dir.write_model(&self.model)?;
        run_dir.write_tree(&self.tree, self.component_labels.as_deref())?;
        run_dir.write_labels(&self.labels, &self.certainty)?;
        self.sample.iter().try_for_each(|sample| run_dir.write_sample(sample))?;
        if let Some(past) = &self.past {
            past.write(&self.model.model, path)?;
            self.write_clusters(path)?;
        }
        let mut record = self.record.clone();
        let json = |value: Result<Value, _>| value.expect("our own types become JSON");
        record["status"] = "finished".into();
        record["summary"] = json(serde_json::to_value(&self.summary));
        record["posterior"] = json(serde_json::to_value(&self.posterior));
        record["diagnostics"] = json(serde_json::to_value(&self.diagnostics));
        record["warnings"] = json(serde_json::to_value(&self.warnings));
        write_json(&path.join("run.json"), &record)
    }
}

fn read_json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io("cannot read", path, error))?;
    Ok(serde_json::from_str(&text).map_err(|error| InputError::in_file(path, error.to_string()))?)
}

/// The clusters of a run folder: those that are asked for, or those that its labels are.
#[doc(hidden)]
pub fn read_clusters(run: &Path, n_components: usize, asked: Option<Clusters>, min_share: Option<f64>) -> Result<Cut> {
    let tree = read_tree(run, n_components)?;
    match asked {
        Some(asked) => tree.clusters(asked, min_share),
        None => Ok(clusters_of(&tree, read_options(run)?.clusters()).0),
    }
}

/// The tree of a run folder, which must be of the components of its model.
fn read_tree(run: &Path, n_components: usize) -> Result<Tree> {
    let tree = Tree::read(run)?;
    if tree.n_components() != n_components {
        let problem = format!("tree.json has {} components, model.json {n_components}", tree.n_components());
        return Err(InputError::in_file(run, problem).hint(OTHER_RUN).into());
    }
    Ok(tree)
}

/// The component of each row of a run folder.
#[doc(hidden)]
pub fn read_component_labels(run: &Path, n_components: usize) -> Result<Vec<u32>> {
    let own = run.join("component_labels.npy");
    let path = if own.exists() { own } else { run.join("labels.npy") };
    read_labels(&path)?.numbers(n_components).ok_or_else(|| {
        let problem = format!("has labels that are none of the {n_components} components of tree.json");
        InputError::in_file(&path, problem).hint(OTHER_RUN).into()
    })
}

/// The labels of a run, as they are numbered there.
fn read_numbers(path: &Path) -> Result<Vec<u32>> {
    let not_ours = || InputError::in_file(path, "has labels that are not whole numbers from 0").into();
    read_labels(path)?.numbers(usize::MAX).ok_or_else(not_ours)
}

/// The probabilities of a `certainty.npy`, one per row.
fn read_certainty(path: &Path, n_rows: usize) -> Result<Vec<f32>> {
    let set = DataSet::open(&[path.to_path_buf()], &Selection::default())?;
    if (set.n_rows(), set.n_columns()) != (n_rows, 1) {
        let problem = format!("has {} rows, but labels.npy has {n_rows}", set.n_rows());
        return Err(InputError::in_file(path, problem).into());
    }
    let rows = set.all_rows();
    let cell = |ix| match rows.row(ix) {
        Row::F32(cells) => cells[0],
        Row::F64(cells) => cells[0] as f32,
        Row::Counts(_) => 0.0,
    };
    Ok((0..n_rows).map(cell).collect())
}
