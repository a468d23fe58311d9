//! Engines that the program around the library brings, such as the Python package with Ray and MPI.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::options::EngineOptions;
use super::prepare::Input;
use crate::engine::remote::{FileRows, Remote, RowSource, Transport};
use crate::error::{InputError, Result};
use crate::io::is_address;
use crate::method::consolidated::Engine;
use crate::rows::worker_rows;
use crate::run_dir::DataRecord;

/// An engine outside of this program.
pub trait OutsideEngine: Transport {
    /// How many workers there must be; `None` where any number will do.
    fn n_workers(&mut self) -> Result<Option<u32>>;

    /// Makes a host for each of this many workers.
    fn start(&mut self, n_workers: u32, settings: &EngineSettings) -> Result<()>;

    /// Ends all hosts.
    fn end(&mut self, has_failed: bool);
}

/// The settings of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    /// Where the cluster is, if there is one already.
    pub address: Option<String>,
    /// Seconds after which another host takes over the rows of a worker that is lost.
    pub rejoin_timeout: f64,
    /// The folder of the workers' labels.
    pub labels: Option<PathBuf>,
}

/// An engine that a fit and the library's nodes share.
pub type SharedEngine = Arc<Mutex<dyn OutsideEngine>>;

/// The engines that a program brings.
pub trait OutsideEngines {
    /// Makes the engine of this name; what it lacks is an [`InputError`].
    fn make(&self, name: &'static str) -> Result<SharedEngine>;
}

/// A program without engines of its own.
#[derive(Debug, Clone, Copy)]
pub struct NoEngines;

impl OutsideEngines for NoEngines {
    fn make(&self, name: &'static str) -> Result<SharedEngine> {
        let problem = format!("`engine` {name} belongs to the Python package, and this is the command without it");
        Err(InputError::new(problem)
            .hint(format!("in a clone of dirigent: pip install \".[{name}]\", and use the command it brings"))
            .into())
    }
}

/// Seconds after which another host takes over, where nothing is said.
const REJOIN_TIMEOUT: f64 = 60.0;

/// The engine of a fit, which ends with it.
pub(super) struct Outside {
    name: &'static str,
    engine: SharedEngine,
    settings: EngineSettings,
    /// How many workers it has, where that is not for the user to say.
    pub(super) n_workers: Option<u32>,
    has_ended_well: bool,
}

impl Outside {
    /// The engine that was asked for, if it is none of ours; with another number of workers than it
    /// has, nothing is begun.
    pub(super) fn open(options: &EngineOptions, engines: &dyn OutsideEngines) -> Result<Option<Self>> {
        if !options.name.is_outside() {
            return Ok(None);
        }
        let (name, workers) = (options.name.name(), options.workers);
        let engine = engines.make(name)?;
        let settings = EngineSettings {
            address: options.address.clone(),
            rejoin_timeout: options.rejoin_timeout.unwrap_or(REJOIN_TIMEOUT),
            labels: options.checkpoint_dir.clone(),
        };
        // from here on whatever happens ends it
        let mut outside = Self { name, engine, settings, n_workers: None, has_ended_well: false };
        let n_workers = outside.lock().n_workers()?;
        outside.n_workers = n_workers;
        if let (Some(asked), Some(there)) = (workers, outside.n_workers)
            && asked != there
        {
            let problem = format!("`workers` {asked} contradicts `engine` {name}, which was started with {there}");
            let hint = format!("leave it out, or start {} processes", asked.saturating_add(1));
            return Err(InputError::new(problem).hint(hint).into());
        }
        Ok(Some(outside))
    }

    /// The engine, for workers that open their rows themselves.
    pub(super) fn engine(&self, input: &Input, n_workers: u32) -> Engine {
        let labels = self.settings.labels.as_deref().map(|folder| std::path::absolute(folder).unwrap_or(folder.into()));
        let sources = row_sources(input, n_workers as usize);
        let transport: Arc<Mutex<dyn Transport>> = self.engine.clone();
        Engine::Remote(Remote::new(self.name, transport, sources, labels))
    }

    /// Makes the hosts.
    pub(super) fn start(&self, n_workers: u32) -> Result<()> {
        self.lock().start(n_workers, &self.settings)
    }

    /// The fit has ended, and well.
    pub(super) fn finish(mut self) {
        self.has_ended_well = true;
    }

    fn lock(&self) -> MutexGuard<'_, dyn OutsideEngine + 'static> {
        self.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let has_failed = !self.has_ended_well;
        self.lock().end(has_failed);
    }
}

/// The rows of each worker: those of files it opens itself, those in memory travel.
fn row_sources(input: &Input, n_workers: usize) -> Vec<RowSource> {
    let (data, n_rows) = (input.data.set(), input.rows.n_rows());
    let parts = (0..n_workers).map(|worker| worker_rows(worker, n_workers, n_rows));
    if data.files().is_empty() {
        let rows = input.rows.all_rows();
        return parts.map(|part| RowSource::here(&rows.part(part))).collect();
    }
    // an object's address means the same everywhere
    let absolute = |path: &Path| match is_address(path) {
        true => path.to_path_buf(),
        false => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    };
    let all = FileRows {
        files: data.files().iter().map(|file| (absolute(&file.path), file.n_rows)).collect(),
        rows: 0..n_rows,
        columns: DataRecord::of(data, input.data.selection()).fitted_columns(),
        is_counts: input.rows.is_counts(),
        transform: input.transform.as_ref().map(|(transform, _)| transform.clone()),
        has_missing: data.has_missing(),
    };
    parts.map(|part| RowSource::Files(Box::new(all.part(part)))).collect()
}
