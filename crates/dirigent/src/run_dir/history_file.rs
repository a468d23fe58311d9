//! `history.json`, `history.npz` and `events.csv` of a run that was updated: the pieces of its batches, and what happened to its clusters.
//!
//! Nothing that the files say is believed before it is checked.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::npz::{NpzReader, NpzWriter};
use super::{model_file, write_file, write_json};
use crate::error::{Error, InputError, Result};
use crate::io::source;
use crate::model::Model;
use crate::stats::Stats;
use crate::stream::{ClusterEvent, History, Lineage, Piece, PieceBatch};

const HISTORY: &str = "history.json";
const PIECES: &str = "history.npz";
const EVENTS: &str = "events.csv";
/// Raised when an older reader could not read what is written.
const FORMAT: u64 = 1;

const README: [&str; 3] = [
    "The batches of a run that was updated, without their rows. history.npz has `components` and `counts` of the pieces of all batches, one after another \
     (`n_pieces` of each), and their sums as components.npz has them.",
    "A row of a batch counts `weight`. `component_ids` are the numbers of the components of components.npz, in their order.",
    "`clusters.ids` are the numbers of the clusters, by label: they are never used again. events.csv has what happened to them.",
];

/// What a run knows of its batches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Past {
    pub(crate) history: History,
    /// The number of each component of the model.
    pub(crate) component_ids: Vec<u64>,
    pub(crate) lineage: Lineage,
}

#[derive(Serialize, Deserialize)]
struct Record {
    format: u64,
    readme: Vec<String>,
    software: String,
    n_batches: u64,
    next_component: u64,
    component_ids: Vec<u64>,
    batches: Vec<BatchRecord>,
    clusters: Lineage,
}

#[derive(Serialize, Deserialize)]
struct BatchRecord {
    first: u64,
    last: u64,
    weight: f64,
    n_pieces: usize,
}

impl Past {
    /// Writes the three files into a folder.
    pub(crate) fn write(&self, model: &Model, folder: &Path) -> Result<()> {
        let pieces: Vec<&Piece> = self.history.batches.iter().flat_map(|batch| &batch.pieces).collect();
        let mut file = NpzWriter::new(&folder.join(PIECES));
        file.array("components", &[pieces.len()], pieces.iter().map(|piece| piece.component as i64))?;
        file.array("counts", &[pieces.len()], pieces.iter().map(|piece| piece.stats.count))?;
        let stats: Vec<Stats> = pieces.iter().map(|piece| piece.stats.clone()).collect();
        model_file::write_sums(&mut file, model, &stats)?;
        file.finish()?;
        write_file(&folder.join(EVENTS), |file| {
            writeln!(file, "batch,time,event,cluster,other,rows")?;
            self.lineage.events.iter().try_for_each(|event| {
                let ClusterEvent { batch, time, kind, cluster, other, n_rows } = event;
                let other = other.map_or_else(String::new, |other| other.to_string());
                writeln!(file, "{batch},{time:.3},{},{cluster},{other},{n_rows}", kind.name())
            })
        })?;
        let batch = |batch: &PieceBatch| BatchRecord {
            first: batch.first,
            last: batch.last,
            weight: batch.weight,
            n_pieces: batch.pieces.len(),
        };
        let record = Record {
            format: FORMAT,
            readme: README.map(str::to_owned).to_vec(),
            software: concat!("dirigent ", env!("CARGO_PKG_VERSION")).to_owned(),
            n_batches: self.history.n_batches,
            next_component: self.history.next_component,
            component_ids: self.component_ids.clone(),
            batches: self.history.batches.iter().map(batch).collect(),
            clusters: self.lineage.clone(),
        };
        write_json(&folder.join(HISTORY), &record)
    }

    /// Reads a folder's; `None` if the run was never updated.
    pub(crate) fn read(model: &Model, n_components: usize, n_clusters: usize, folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(HISTORY);
        if !path.exists() {
            return Ok(None);
        }
        source::open(&path)?;
        let text = fs::read_to_string(&path).map_err(|error| damaged(&path, &error.to_string()))?;
        let record: Record = serde_json::from_str(&text).map_err(|error| damaged(&path, &error.to_string()))?;
        if record.format != FORMAT {
            let problem = format!("found format {} of the history, expected {FORMAT}", record.format);
            return Err(InputError::in_file(&path, problem).hint("read it with the version that wrote it").into());
        }
        let mut file = NpzReader::open(&folder.join(PIECES))?;
        let (components, counts) = (file.integers("components")?, file.integers("counts")?);
        let n_pieces = record.batches.iter().try_fold(0usize, |sum, batch| sum.checked_add(batch.n_pieces));
        if n_pieces != Some(components.len()) || counts.len() != components.len() {
            return Err(file.wrong("components", format!("expected as many pieces as {HISTORY} has")));
        }
        let sums = model_file::read_sums(&mut file, model, counts.len())?;
        let stats = counts.into_iter().zip(sums).map(|(count, sums)| Stats { count, sums });
        let mut pieces = Vec::with_capacity(components.len());
        for (component, stats) in components.into_iter().zip(stats) {
            let Ok(component) = u64::try_from(component) else {
                return Err(file.wrong("components", "found a negative number"));
            };
            pieces.push(Piece { component, stats });
        }
        let mut pieces = pieces.into_iter();
        let batches = record.batches.iter().map(|batch| PieceBatch {
            first: batch.first,
            last: batch.last,
            weight: batch.weight,
            pieces: pieces.by_ref().take(batch.n_pieces).collect(),
        });
        let history =
            History { batches: batches.collect(), n_batches: record.n_batches, next_component: record.next_component };
        history.check(model.conjugate()).map_err(|error| damaged(&path, &error.to_string()))?;
        let mut ids = record.component_ids.clone();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() != n_components || ids != history.totals(model.conjugate()).into_keys().collect::<Vec<_>>() {
            return Err(damaged(&path, "`component_ids` are not those of the pieces and of model.json"));
        }
        if let Some(problem) = record.clusters.problem(n_clusters) {
            return Err(damaged(&path, problem));
        }
        Ok(Some(Self { history, component_ids: record.component_ids, lineage: record.clusters }))
    }
}

fn damaged(path: &Path, problem: &str) -> Error {
    let problem = format!("cannot be read as a history: {problem}");
    InputError::in_file(path, problem).hint("the file is damaged or was changed: fit the model again").into()
}
