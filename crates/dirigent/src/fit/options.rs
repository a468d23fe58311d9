//! The options of a fit: one value that the command, Python, the run record and resuming share.

use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::io::{Header, Selection, Spill, Storage, is_address};
use crate::method::consolidated::DrawsFrom;
use crate::method::consolidated::{Consolidation, FirstAlpha, Joins, Schedule};
use crate::model::{ColumnFamily, ModelOptions};
use crate::run_dir::Point;
use crate::sweep::Kernel;
use crate::transform::TransformOptions;
use crate::tree::Clusters;

/// Everything that a fit can be asked for. What is left out is chosen from the data.
///
/// ```
/// use dirigent::FitOptions;
///
/// let mut options = FitOptions::default();
/// options.model.sigma = Some(0.5);
/// options.run.seed = 7;
///
/// // the same value in `run.json` and in Python
/// let json = r#"{"model": {"sigma": 0.5}, "run": {"seed": 7}}"#;
/// assert_eq!(FitOptions::from_json(json)?, options);
/// # Ok::<(), dirigent::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitOptions {
    /// The distribution of the rows and its priors.
    pub model: ModelOptions,
    /// What is done to the rows before the model sees them.
    pub transform: TransformOptions,
    /// How the posterior is explored.
    pub method: MethodOptions,
    /// Where the workers run.
    pub engine: EngineOptions,
    /// How long the fit runs, and what it keeps.
    pub run: RunOptions,
}

/// The methods by name.
///
/// ```
/// use dirigent::{FitOptions, MethodName};
///
/// let mut options = FitOptions::default();
/// assert_eq!(options.method.name, MethodName::Dirigent);
/// options.method.name = MethodName::Cgs;
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MethodName {
    /// Progressive consolidation with splits and merges.
    #[default]
    Dirigent,
    /// Exact collapsed Gibbs sampling on one worker.
    Cgs,
    /// Progressive consolidation, workers in step.
    Prog,
    /// Pooled consolidation, workers in step.
    Pooled,
    /// Hungarian consolidation, workers in step.
    Hung,
    /// Progressive consolidation, each worker at its own pace.
    Async,
    /// An exact slice sampler on many workers.
    Slicemr,
    /// Exact; clusters travel with their rows between workers.
    Av,
    /// Splits into sub-clusters; biased.
    Subc,
}

/// How the posterior is explored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MethodOptions {
    /// The method.
    pub name: MethodName,
    /// How births of different workers find their component; by default as the method says.
    pub consolidation: Option<Consolidation>,
    /// Whether workers wait for one another; by default as the method says.
    pub schedule: Option<Schedule>,
    /// Whether components are split into halves and merged; by default with `dirigent` alone.
    pub splits: Option<bool>,
    /// How rows reach a component in which their worker had none; by default births for `hung`.
    pub joins: Option<Joins>,
    /// α of the first cycle; by default shared for `hung`.
    pub first_alpha: Option<FirstAlpha>,
    /// Sweeps between two exchanges; by default 1.
    pub sweeps_per_cycle: Option<u32>,
    /// What draws are states of; by default exact with `dirigent`, fast with the others.
    pub draws_from: Option<DrawsFrom>,
    /// Splits and merges that an exact sampler tries in a cycle.
    pub split_merge: Option<u8>,
    /// `av`: whether a worker merges its own clusters; then the method is no longer exact.
    pub av_merges: Option<bool>,
    /// The instructions to sweep with; `None` (`"auto"`): the best that all workers have.
    #[serde(deserialize_with = "kernel_as_written")]
    pub kernel: Option<Kernel>,
}

/// A kernel as people write it: `"auto"` or its name.
fn kernel_as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Kernel>, D::Error> {
    match Option::<String>::deserialize(deserializer)?.as_deref() {
        None | Some("auto") => Ok(None),
        Some(name) => name.parse().map(Some).map_err(D::Error::custom),
    }
}

/// The engines by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EngineName {
    /// The cores of this machine.
    #[default]
    Threads,
    /// A virtual cluster on a clock of its own.
    Simulated,
    /// A Ray cluster, by the Python package.
    Ray,
    /// MPI ranks, by the Python package.
    Mpi,
}

/// Where the workers run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineOptions {
    /// The engine.
    pub name: EngineName,
    /// Workers, which share the rows; by default by the number of rows, at most 20.
    pub workers: Option<u32>,
    /// Threads; they never change labels, except under asynchronous schedules. By default the
    /// cores.
    pub threads: Option<u32>,
    /// `simulated`: seconds that a message travels.
    #[serde(with = "super::units::time")]
    pub latency: Option<f64>,
    /// `simulated`: bytes per second of each node's link.
    #[serde(with = "super::units::speed")]
    pub bandwidth: Option<f64>,
    /// `simulated`: workers and the factor by which each is slower.
    pub straggler: Vec<(u32, f64)>,
    /// `simulated`: workers that die after a cycle and return two cycles later.
    pub crash: Vec<(u32, u64)>,
    /// `simulated`: workers that send noise after a cycle, are expelled and return two cycles
    /// later.
    pub garbage: Vec<(u32, u64)>,
    /// `simulated`: how many workers can compute at once; by default all.
    pub cores: Option<u32>,
    /// `simulated`: seconds per swept row on the virtual clock; by default as measured.
    #[serde(with = "super::units::time")]
    pub row_cost: Option<f64>,
    /// `ray`: the address of the cluster.
    pub address: Option<String>,
    /// `ray`: seconds until another host takes over the rows of a lost worker.
    #[serde(with = "super::units::time")]
    pub rejoin_timeout: Option<f64>,
    /// `ray`: a folder that all machines see, for the labels of the workers.
    pub checkpoint_dir: Option<PathBuf>,
}

/// What a run starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartName {
    /// Small cells that are merged.
    Fine,
    /// Rows that are seated one after another, as in the paper.
    Rows,
}

/// How long a fit runs, and what it keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunOptions {
    /// The seed of everything random.
    pub seed: u64,
    /// What the run starts from if there are no labels to start from; by default fine with splits,
    /// rows without.
    pub start: Option<StartName>,
    /// How often every row is visited; `None` (`"auto"`): until nothing useful changes any more.
    #[serde(with = "super::auto_or")]
    pub cycles: Option<u64>,
    /// The most cycles of a run whose end is not given; by default 1,000.
    pub max_cycles: Option<u64>,
    /// Seconds after which the run ends, at the end of a cycle.
    #[serde(with = "super::units::time")]
    pub time_limit: Option<f64>,
    /// Independent chains, one after another; labels are of the best one.
    pub chains: u16,
    /// States of each chain to keep.
    pub draws: Option<u64>,
    /// Keep every `thin`-th state.
    pub thin: Option<u64>,
    /// Which partition of components is taken.
    pub point: Point,
    /// Which clusters the labels are, each of one component or more; by default the natural layer
    /// of the tree, and the components themselves if `point` is not argmax.
    pub clusters: Option<Clusters>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            start: None,
            cycles: None,
            max_cycles: None,
            time_limit: None,
            chains: 1,
            draws: None,
            thin: None,
            point: Point::default(),
            clusters: None,
        }
    }
}

/// Where the rows of a fit are, and which of their columns are read.
///
/// ```
/// use dirigent::{Data, DataOptions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("people.csv");
/// std::fs::write(&path, "id,height\n17,1.91\n23,1.75\n")?;
/// let options = DataOptions { paths: vec![path], exclude: vec!["id".to_owned()], ..DataOptions::default() };
/// assert_eq!(Data::open(&options)?.n_columns(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataOptions {
    /// Files, folders, patterns or addresses, in the order of their rows.
    pub paths: Vec<PathBuf>,
    /// Only these columns, by name or by number from 1.
    pub columns: Option<Vec<String>>,
    /// Not these columns.
    pub exclude: Vec<String>,
    /// The column with the known classes: not fitted, only compared with.
    pub label_column: Option<String>,
    /// Whether the first line of a text table is a header.
    pub header: Header,
    /// A file of known classes to compare with.
    pub truth: Option<PathBuf>,
    /// A file of labels to start from.
    pub start_labels: Option<PathBuf>,
    /// A file with the words behind the columns of word counts.
    pub vocab: Option<PathBuf>,
    /// The folder for fetched objects and for tables larger than the memory.
    pub cache_dir: Option<PathBuf>,
    /// When a table is unpacked into a file instead of memory.
    pub spill: Spill,
    /// Bytes of memory that may be used; by default what is free.
    pub memory: Option<u64>,
}

impl FitOptions {
    /// Reads options from JSON. An error names the option.
    pub fn from_json(json: &str) -> crate::Result<Self> {
        super::json::read(json)
    }

    /// Which clusters the labels are.
    pub(super) fn clusters(&self) -> Clusters {
        let by_point = if self.run.point == Point::Argmax { Clusters::Auto } else { Clusters::Components };
        self.run.clusters.unwrap_or(by_point)
    }

    /// Whether a run without labels starts from small cells.
    pub(super) fn has_fine_start(&self) -> bool {
        self.run.start.map_or(self.method.splits(), |start| start == StartName::Fine)
    }

    /// The columns that must be read as text because the user wants them categorical.
    pub(super) fn text_columns(&self) -> Vec<String> {
        let families = self.model.column_families.iter();
        families.filter(|(_, family)| **family == ColumnFamily::Categorical).map(|(name, _)| name.clone()).collect()
    }

    /// The columns that have a family, and are fitted whatever they hold.
    pub(super) fn columns_with_families(&self) -> Vec<String> {
        self.model.column_families.keys().cloned().collect()
    }
}

impl DataOptions {
    /// Reads options from JSON. An error names the option.
    pub fn from_json(json: &str) -> crate::Result<Self> {
        super::json::read(json)
    }

    /// The columns to read.
    pub(super) fn selection(&self, text_columns: Vec<String>, kept: Vec<String>) -> Selection {
        Selection {
            columns: self.columns.clone(),
            exclude: self.exclude.clone(),
            label_column: self.label_column.clone(),
            text_columns,
            kept,
            header: self.header,
        }
    }

    /// The same with absolute paths, so that they mean the same in every folder.
    pub(super) fn absolute(&self) -> Self {
        let absolute = |path: &PathBuf| match is_address(path) {
            true => path.clone(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
        };
        Self {
            paths: self.paths.iter().map(absolute).collect(),
            truth: self.truth.as_ref().map(absolute),
            start_labels: self.start_labels.as_ref().map(absolute),
            vocab: self.vocab.as_ref().map(absolute),
            cache_dir: self.cache_dir.as_ref().map(absolute),
            ..self.clone()
        }
    }

    /// Memory and caches.
    pub(super) fn storage(&self) -> Storage {
        Storage { cache_dir: self.cache_dir.clone(), spill: self.spill, memory: self.memory }
    }
}

impl MethodName {
    /// As it is written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dirigent => "dirigent",
            Self::Cgs => "cgs",
            Self::Prog => "prog",
            Self::Pooled => "pooled",
            Self::Hung => "hung",
            Self::Async => "async",
            Self::Slicemr => "slicemr",
            Self::Av => "av",
            Self::Subc => "subc",
        }
    }

    /// Whether all workers are in step and there is nothing to consolidate.
    pub(crate) fn is_in_rounds(self) -> bool {
        matches!(self, Self::Slicemr | Self::Av | Self::Subc)
    }
}

impl MethodOptions {
    pub(crate) fn consolidation(&self) -> Consolidation {
        self.consolidation.unwrap_or(match self.name {
            MethodName::Pooled => Consolidation::Pooled,
            MethodName::Hung => Consolidation::Hungarian,
            _ => Consolidation::Progressive,
        })
    }

    pub(crate) fn schedule(&self) -> Schedule {
        self.schedule.unwrap_or(if self.name == MethodName::Async { Schedule::Async } else { Schedule::Sync })
    }

    pub(crate) fn splits(&self) -> bool {
        self.splits.unwrap_or(self.name == MethodName::Dirigent)
    }

    /// The authors' program lets joining rows arrive as births; that matters to Hung alone.
    pub(crate) fn joins(&self) -> Joins {
        self.joins.unwrap_or(if self.name == MethodName::Hung { Joins::Births } else { Joins::ById })
    }

    /// Likewise α of the first cycle.
    pub(crate) fn first_alpha(&self) -> FirstAlpha {
        self.first_alpha.unwrap_or(if self.name == MethodName::Hung { FirstAlpha::Shared } else { FirstAlpha::Full })
    }

    pub(crate) fn draws_from(&self) -> DrawsFrom {
        self.draws_from.unwrap_or(if self.name == MethodName::Dirigent { DrawsFrom::Exact } else { DrawsFrom::Fast })
    }
}

impl EngineName {
    /// As it is written in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Simulated => "simulated",
            Self::Ray => "ray",
            Self::Mpi => "mpi",
        }
    }

    /// Whether a program around the library must bring it.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, Self::Ray | Self::Mpi)
    }
}
