//! Clustering and density estimation without being told the number of clusters: Dirichlet-process mixtures, on one machine or many.
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
//! [`fit_with`] reports every cycle to an [`Observer`] and can be interrupted; [`fit_into`] writes a run folder with checkpoints while it runs.
//! `ARCHITECTURE.md` of the repository maps the modules below, which are the parts that the fit is made of.
pub mod checkpoint;
mod cholesky;
pub mod consolidate;
mod eigen;
pub mod engine;
pub mod error;
pub mod family;
pub mod fit;
pub mod halves;
pub mod interrupt;
pub mod io;
// public for the command, the tests and fuzzing only
#[doc(hidden)]
pub mod message;
pub mod method;
pub mod metrics;
pub mod model;
pub mod node;
pub mod posterior;
pub mod rng;
pub mod rows;
pub mod run_dir;
pub mod special;
pub mod stats;
pub mod survey;
pub mod sweep;
pub mod trace;
pub mod transform;
pub mod tree;

pub use error::{Error, InputError, Result};
pub use fit::{
    Data, DataOptions, EngineName, EngineOptions, FitOptions, Fitted, MethodName, MethodOptions, RunFolder, RunOptions,
    StartName, fit, fit_into, fit_with,
};
pub use method::cgs::Observer;
pub use tree::{Clusters, Cut, Tree};
