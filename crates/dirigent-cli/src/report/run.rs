//! A run folder, read for a report: whatever of it is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dirigent::internals::fit::read_clusters;
use dirigent::internals::run_dir::{FittedModel, RowSample};
use dirigent::{Cut, Model, Result, Tree};
use serde_json::Value;

use super::words::text;
use crate::info_run;

/// A run folder.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) path: PathBuf,
    /// `run.json`.
    pub(crate) record: Value,
    pub(crate) trace: NumberTable,
    /// `workers.csv`.
    pub(crate) workers: NumberTable,
    /// `None` while the run is not finished.
    pub(crate) model: Option<FittedModel>,
    pub(crate) sample: Option<RowSample>,
    /// The tree over the components, and the clusters that labels are.
    pub(crate) tree: Option<(Tree, Cut)>,
}

impl Run {
    /// Reads a folder that `dirigent fit` has written to.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let record = info_run::read(&path.join("run.json"))?;
        let is_finished = text(&record, "/status") == Some("finished");
        let model = is_finished.then(|| FittedModel::read(path)).transpose()?;
        let sample = match &model {
            Some(fitted) => RowSample::read(path, &fitted.columns, matches!(fitted.model, Model::Multinomial(_)))?,
            None => None,
        };
        let tree = match &model {
            Some(fitted) if path.join("tree.json").exists() => {
                let cut = read_clusters(path, fitted.components.len(), None, None)?;
                Some((Tree::read(path)?, cut))
            }
            _ => None,
        };
        Ok(Self {
            path: path.to_path_buf(),
            record,
            trace: NumberTable::read(&path.join("trace.csv")),
            workers: NumberTable::read(&path.join("workers.csv")),
            model,
            sample,
            tree,
        })
    }

    /// What the data set is called.
    pub(crate) fn data_name(&self) -> &str {
        text(&self.record, "/data/name").unwrap_or("data")
    }

    /// The clusters that labels are, if any is more than one component: their number and that of the components.
    pub(crate) fn clusters_of_components(&self) -> Option<(u64, u64)> {
        let (tree, cut) = self.tree.as_ref().filter(|(_, cut)| !cut.is_of_single_components())?;
        Some((cut.n_clusters() as u64, tree.n_components() as u64))
    }

    /// What the run is called: its folder.
    pub(crate) fn name(&self) -> String {
        let last =
            self.path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        last.unwrap_or_else(|| self.path.display().to_string())
    }
}

/// A table of numbers, read from a `.csv` with a header; what is no number is NaN.
#[derive(Debug, Default)]
pub(crate) struct NumberTable {
    columns: BTreeMap<String, Vec<f64>>,
    pub(crate) n_rows: usize,
}

impl NumberTable {
    /// Whole lines only: the file may be growing. Nothing where there is no file.
    pub(crate) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self::parse(&text[..text.rfind('\n').map_or(0, |end| end + 1)])
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let mut columns = vec![Vec::new(); names.len()];
        let mut n_rows = 0;
        for line in lines {
            let mut cells = line.split(',');
            columns.iter_mut().for_each(|column| {
                column.push(cells.next().and_then(|cell| cell.parse().ok()).unwrap_or(f64::NAN));
            });
            n_rows += 1;
        }
        Self { columns: names.into_iter().map(str::to_owned).zip(columns).collect(), n_rows }
    }

    /// A column; empty where there is none of that name.
    pub(crate) fn column(&self, name: &str) -> &[f64] {
        self.columns.get(name).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_by_the_names_of_its_columns_as_far_as_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        fs::write(&path, "cycle,vi,k\n1,,3\n2,0.5,4\n3,0.").unwrap();
        let table = NumberTable::read(&path);
        assert_eq!((table.n_rows, table.column("k")), (2, &[3.0, 4.0][..]));
        assert!(table.column("vi")[0].is_nan() && table.column("nothing").is_empty());
        assert_eq!(NumberTable::read(&folder.path().join("none.csv")).n_rows, 0);
    }
}
