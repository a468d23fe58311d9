//! `tree.json`: the hierarchy over the components, readable without this software.
//!
//! Nothing that the file says is believed before it is checked.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::write_json;
use crate::error::{Error, InputError, Result};
use crate::io::source;
use crate::tree::Tree;

const TREE: &str = "tree.json";
/// Raised when an older reader could not read what is written.
const FORMAT: u64 = 1;

const README: [&str; 4] = [
    "A binary tree over the components of a fitted mixture: leaf k is component k of components.npz, merge i makes the node n_components + i.",
    "`linkage` is SciPy's matrix (numpy.array(linkage)): two nodes, the height, the number of components. The height is ln(n/sigma), made to rise; \
     sigma = n O_AB / (w_A w_B), O = Q'Q, w = Q'1, Q the membership probabilities of the rows to the power 1/`temperature`, normalised.",
    "`component_heights` is the same of each component with itself; `overlaps` is sigma of the two sides of each merge at temperature 1; `sizes` are \
     the rows of each component; `layer` is the cluster of each component at the natural layer.",
    "`support`, if there are posterior draws, is the probability that the two sides of a merge are apart.",
];

/// `tree.json`.
#[derive(Serialize, Deserialize)]
struct TreeRecord {
    format: u64,
    readme: Vec<String>,
    software: String,
    n_components: usize,
    n_clusters_of_layer: usize,
    #[serde(flatten)]
    tree: Tree,
}

impl Tree {
    /// Writes `tree.json` into a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let record = TreeRecord {
            format: FORMAT,
            readme: README.map(str::to_owned).to_vec(),
            software: concat!("dirigent ", env!("CARGO_PKG_VERSION")).to_owned(),
            n_components: self.n_components(),
            n_clusters_of_layer: self.layer().n_clusters(),
            tree: self.clone(),
        };
        write_json(&folder.join(TREE), &record)
    }

    /// Reads `tree.json` of a run folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(TREE);
        if !path.exists() {
            let error = InputError::in_file(&path, "is not there");
            return Err(error.hint("name a folder of a run that `dirigent fit` has finished").into());
        }
        source::open(&path)?;
        let text = fs::read_to_string(&path).map_err(|error| damaged(&path, &error.to_string()))?;
        let record: TreeRecord = serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        if record.format != FORMAT {
            let problem = format!("found format {} of the tree file, expected {FORMAT}", record.format);
            return Err(InputError::in_file(&path, problem).hint("read it with the version that wrote it").into());
        }
        if record.n_components != record.tree.n_components() {
            return Err(damaged(&path, "`sizes` does not have `n_components` numbers"));
        }
        record.tree.checked().map_err(|problem| damaged(&path, &problem))
    }
}

fn damaged(path: &Path, problem: &str) -> Error {
    let problem = format!("cannot be read as a tree: {problem}");
    InputError::in_file(path, problem).hint("the file is damaged or was changed: fit the model again").into()
}

#[cfg(test)]
mod tests;
