//! Clustering and density estimation without a given number of clusters: Dirichlet-process
//! mixtures, on one machine or many.
//!
//! A fit is a value: [`Data`] and [`FitOptions`] in, a [`Fitted`] model out.
//!
//! ```
//! use dirigent::{Data, FitOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let points = folder.path().join("points.csv");
//! # let rows: String = (0..60).map(|ix| format!("{},{}\n", ix % 7, 40 * (ix % 2) + ix % 5)).collect();
//! # std::fs::write(&points, format!("x,y\n{rows}"))?;
//! let data = Data::read(&points)?;
//! let fitted = dirigent::fit(&data, &FitOptions::default())?;
//! println!("{} clusters of {} components", fitted.layer().n_clusters(), fitted.n_components());
//!
//! // one cluster, and which components it holds
//! let coarse = fitted.cut(1)?;
//! assert_eq!(coarse.members(0).len(), fitted.n_components());
//!
//! let labels = fitted.predict(&data)?;
//! assert_eq!(labels, fitted.labels());
//! fitted.save(folder.path().join("run"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`fit_with`] reports every cycle to an [`Observer`] and can be interrupted; [`fit_into`] writes
//! a run folder with checkpoints while it runs. A distribution that is missing is a [`Family`] of
//! your own. `ARCHITECTURE.md` of the repository maps the private modules.
// what only run folders need is there, but not called
#![cfg_attr(not(feature = "files"), allow(dead_code, unused_imports, rustdoc::broken_intra_doc_links))]

mod checkpoint;
mod cholesky;
mod consolidate;
mod eigen;
mod engine;
mod error;
mod family;
mod fit;
mod halves;
mod interrupt;
mod io;
mod method;
mod metrics;
mod model;
mod observer;
mod posterior;
mod protocol;
mod rng;
mod rows;
mod run_dir;
mod special;
mod stats;
mod stream;
mod survey;
mod sweep;
mod trace;
mod transform;
mod tree;

pub use engine::remote::Transport;
pub use error::{Error, InputError, Result};
pub use family::{Conjugate, Family, OwnFamily, OwnedRow};
pub use fit::{
    Data, DataOptions, EngineName, EngineOptions, EngineSettings, FitOptions, Fitted, MethodName, MethodOptions,
    NoEngines, OutsideEngine, OutsideEngines, RunOptions, SharedEngine, StartName, fit, fit_with,
};
#[cfg(feature = "files")]
pub use fit::{GivenOption, RunFolder, StoredRun, fit_into, resume};
pub use interrupt::Interrupt;
pub use io::{Header, MemoryRows, Spill};
pub use method::chains::Diagnostics;
pub use method::consolidated::DrawsFrom;
pub use method::consolidated::{Consolidation, FirstAlpha, Joins, Schedule};
pub use model::{
    Alpha, Choice, ColumnFamily, ColumnOptions, Covariance, FamilyName, Gamma, Model, ModelOptions, Width,
};
pub use observer::Observer;
pub use posterior::draws::Partitions;
pub use posterior::horizon::StoppedBecause;
pub use rng::Stream;
pub use rows::Row;
pub use run_dir::{Point, PosteriorRecord, Summary};
pub use stats::{Stats, Sums};
pub use stream::{ClusterEvent, EventKind, Forget};
pub use sweep::{Kernel, Prediction};
pub use trace::CycleInfo;
pub use transform::TransformOptions;
pub use tree::{Clusters, Cut, Tree};

/// The modules as they are inside, for the command, the Python package, tests, benchmarks and
/// fuzzing. They change without notice.
#[doc(hidden)]
pub mod internals {
    macro_rules! modules {
        ($($name:ident)*) => { $(pub mod $name { pub use crate::$name::*; })* };
    }

    modules! {
        checkpoint consolidate engine error family fit halves interrupt io method metrics model posterior protocol rng rows run_dir special
        stats stream survey sweep trace transform tree
    }
}
