//! The rows of a fit, and what is known of them.

use std::path::Path;

use super::DataOptions;
use crate::error::{InputError, Result};
use crate::io::{DataSet, MemoryRows, Selection, Truth, read_labels, read_vocabulary};
use crate::rows::Table;
use crate::run_dir::FittedModel;

/// Rows to fit or to predict, from files or from memory, with known classes and labels to start
/// from.
///
/// ```
/// use dirigent::Data;
///
/// // six rows of two columns
/// let data = Data::from_cells(2, vec![0.0, 0.1, 0.2, 0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 9.0, 9.1, 9.2])?;
/// assert_eq!((data.n_rows(), data.n_columns()), (6, 2));
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Data {
    options: DataOptions,
    /// Rows that came from memory, and the names of their columns.
    memory: Option<(Vec<MemoryRows>, Option<Vec<String>>)>,
    selection: Selection,
    set: DataSet,
    truth: Option<Vec<u32>>,
    /// What the file of known classes calls each; empty where they are numbers in memory.
    class_names: Vec<String>,
    start: Option<Vec<u32>>,
}

impl Data {
    /// Reads a file, a folder or a pattern of files, or an address.
    ///
    /// ```
    /// use dirigent::Data;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("points.csv");
    /// std::fs::write(&path, "x,y\n0.5,1\n2,3\n")?;
    /// assert_eq!(Data::read(&path)?.n_rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(&DataOptions { paths: vec![path.as_ref().to_path_buf()], ..DataOptions::default() })
    }

    /// Reads what the options name.
    pub fn open(options: &DataOptions) -> Result<Self> {
        Self::load(options.clone(), None, Vec::new(), Vec::new())
    }

    /// Rows in memory, row by row; NaN is a missing cell.
    pub fn from_cells(n_columns: usize, cells: Vec<f64>) -> Result<Self> {
        if n_columns == 0 || !cells.len().is_multiple_of(n_columns) {
            let problem = format!("{} cells are no rows of {n_columns} columns", cells.len());
            return Err(InputError::new(problem).hint("give all cells of every row").into());
        }
        let table = MemoryRows::Table(std::sync::Arc::new(Table::from_f64(n_columns, cells)));
        Self::from_memory(vec![table], None, &DataOptions::default())
    }

    /// Rows in memory, laid end to end, with the names of their columns if they have names.
    pub fn from_memory(rows: Vec<MemoryRows>, names: Option<Vec<String>>, options: &DataOptions) -> Result<Self> {
        Self::load(options.clone(), Some((rows, names)), Vec::new(), Vec::new())
    }

    /// A data set that is there already.
    #[doc(hidden)]
    pub fn from_set(set: DataSet) -> Self {
        let options = DataOptions::default();
        let selection = options.selection(Vec::new(), Vec::new());
        Self { options, memory: None, selection, set, truth: None, class_names: Vec::new(), start: None }
    }

    /// The same with known classes, one per row, to compare the labels with.
    pub fn with_truth(mut self, labels: Vec<u32>) -> Result<Self> {
        self.check_length(&labels, "truth")?;
        (self.truth, self.class_names) = (Some(labels), Vec::new());
        Ok(self)
    }

    /// The same with labels, one per row, that the fit starts from.
    pub fn with_start(mut self, labels: Vec<u32>) -> Result<Self> {
        self.check_length(&labels, "start")?;
        self.start = Some(labels);
        Ok(self)
    }

    /// The same rows without known classes: nothing is compared, which saves time.
    #[must_use]
    pub fn without_truth(&self) -> Self {
        Self { truth: None, ..self.clone() }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.set.n_rows()
    }

    /// The number of columns.
    pub fn n_columns(&self) -> usize {
        self.set.n_columns()
    }

    /// What the rows are called: the name of their file.
    pub fn name(&self) -> &str {
        self.set.name()
    }

    /// Where the rows are.
    pub fn options(&self) -> &DataOptions {
        &self.options
    }

    /// The known classes.
    pub fn truth(&self) -> Option<&[u32]> {
        self.truth.as_deref()
    }

    /// The name of a known class.
    pub(super) fn class_name(&self, class: u32) -> String {
        self.class_names.get(class as usize).cloned().unwrap_or_else(|| class.to_string())
    }

    /// Labels to start from.
    pub(super) fn start(&self) -> Option<&[u32]> {
        self.start.as_deref()
    }

    /// The rows as they were read.
    #[doc(hidden)]
    pub fn set(&self) -> &DataSet {
        &self.set
    }

    /// The columns that were read.
    #[doc(hidden)]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The rows with the columns of a fitted model, as it wants them.
    pub(super) fn for_model(&self, fitted: &FittedModel) -> Result<DataSet> {
        fitted.prepare(self.as_fitted(fitted)?.0)
    }

    /// The rows as they were read, with the columns of a fitted model, and what there is to say of them.
    pub(super) fn as_fitted(&self, fitted: &FittedModel) -> Result<(DataSet, Vec<String>)> {
        match &self.memory {
            Some((rows, names)) => fitted.columns.of_memory(rows, names.as_deref()),
            None => fitted.columns.open_with(&self.options.paths, &self.options.storage()),
        }
    }

    /// The same rows in another form.
    pub(super) fn with_set(self, set: DataSet) -> Self {
        Self { set, ..self }
    }

    /// The same rows with these columns read as text, and those kept.
    pub(super) fn with_columns(&self, text_columns: Vec<String>, kept: Vec<String>) -> Result<Self> {
        let is_missed = |name: &String| self.set.left_out().iter().any(|column| column.name == *name);
        if text_columns == self.selection.text_columns && !kept.iter().any(is_missed) {
            return Ok(self.clone());
        }
        let read = Self::load(self.options.clone(), self.memory.clone(), text_columns, kept)?;
        let (truth, class_names) = (self.truth.clone(), self.class_names.clone());
        Ok(Self { truth, class_names, start: self.start.clone(), ..read })
    }

    fn load(
        options: DataOptions,
        memory: Option<(Vec<MemoryRows>, Option<Vec<String>>)>,
        text_columns: Vec<String>,
        kept: Vec<String>,
    ) -> Result<Self> {
        let selection = options.selection(text_columns, kept);
        let set = match &memory {
            Some((rows, names)) => DataSet::of_memory(rows, names.as_deref(), &selection)?,
            None => DataSet::open_with(&options.paths, &selection, &options.storage())?,
        };
        let set = with_vocabulary(&options, set)?;
        let truth = labels_of(options.truth.as_deref(), "truth", &set)?;
        let truth = truth.or_else(|| set.truth().cloned());
        let (truth, class_names) = truth.map_or((None, Vec::new()), |truth| (Some(truth.labels), truth.names));
        let start = labels_of(options.start_labels.as_deref(), "start", &set)?.map(|start| start.labels);
        Ok(Self { options, memory, selection, set, truth, class_names, start })
    }

    fn check_length(&self, labels: &[u32], option: &str) -> Result<()> {
        if labels.len() == self.n_rows() {
            return Ok(());
        }
        let problem = format!("`{option}` has {} labels, but the data has {} rows", labels.len(), self.n_rows());
        Err(InputError::new(problem).hint("give one label per row, in the same order").into())
    }
}

/// The rows, with the words of the vocabulary as the names of their columns.
fn with_vocabulary(options: &DataOptions, data: DataSet) -> Result<DataSet> {
    let Some(path) = &options.vocab else { return Ok(data) };
    if !data.is_counts() || data.column_names().is_some() {
        let what = if data.is_counts() { "these have names already" } else { "these rows are not word counts" };
        let error = InputError::new(format!("`vocab` names the columns of word counts, and {what}"));
        return Err(error.hint("leave `vocab` out").into());
    }
    let words = read_vocabulary(path, data.n_columns())?;
    Ok(data.with_column_names(words))
}

/// The labels in a file, one for each row of the data.
fn labels_of(file: Option<&Path>, option: &str, data: &DataSet) -> Result<Option<Truth>> {
    let Some(file) = file else { return Ok(None) };
    let labels = read_labels(file)?;
    if labels.labels.len() != data.n_rows() {
        let problem = format!("has {} labels, but the data has {} rows", labels.labels.len(), data.n_rows());
        let hint = format!("`{option}` needs one label per row, in the same order");
        return Err(InputError::in_file(file, problem).hint(hint).into());
    }
    Ok(Some(labels))
}
