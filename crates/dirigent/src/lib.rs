//! Dirichlet-process mixture models on data spread over many workers.
//!
//! Rows come as a [`rows::Shard`], from files ([`io::DataSet`]) or made ([`io::synthetic`]). A [`survey::Survey`] of them and the
//! user's [`model::ModelOptions`] give a [`model::Model`] with every prior resolved. [`sweep::sampler`] makes the sampler that suits
//! model and processor, and a [`method::cgs::Chain`] lets it sweep. [`metrics`] compares labellings; [`run_dir`] writes it all down.
//!
//! With many workers each shard has a [`node::Worker`]; a [`node::Coordinator`] keeps the ledger of what they contribute
//! ([`consolidate::Pool`]) and decides which of their components are one. They speak in messages that an engine carries
//! ([`engine`]); [`method::distributed`] puts them together. [`method::run`] runs any method.
//!
//! # From rows in memory to labels
//!
//! ```
//! use dirigent::Result;
//! use dirigent::method::cgs::Observer;
//! use dirigent::method::distributed::{DistributedOptions, Engine};
//! use dirigent::method::{self, MethodOptions, default_workers};
//! use dirigent::model::{Model, ModelOptions};
//! use dirigent::node::CoordinatorOptions;
//! use dirigent::posterior::predictive::Predictor;
//! use dirigent::rows::{Shard, Table};
//! use dirigent::survey::Survey;
//! use dirigent::sweep::Kernel;
//! use dirigent::trace::CycleInfo;
//!
//! // six rows of two columns: three near the origin, three far away
//! let cells = vec![0.0, 0.1, 0.2, 0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 9.0, 9.1, 9.2];
//! let rows = Shard::of_table(Table::from_f64(2, cells));
//!
//! // the model: what is left out is chosen from a survey of the rows
//! let model_options = ModelOptions { noise_sd: Some(0.5), mean_sd: Some(5.0), ..ModelOptions::default() };
//! let model = Model::resolve(&model_options, &Survey::of(&rows))?;
//!
//! // the method, here the default one: workers that consolidate, split and merge, on two threads
//! let options = MethodOptions::Distributed(DistributedOptions {
//!     coordinator: CoordinatorOptions {
//!         n_workers: default_workers(rows.n_rows()) as u32,
//!         model: model_options,
//!         ..CoordinatorOptions::default()
//!     },
//!     engine: Engine::Threads(2),
//!     ..DistributedOptions::default()
//! });
//!
//! // whoever looks on is told of every cycle
//! struct Watcher;
//! impl Observer for Watcher {
//!     fn on_cycle(&mut self, info: &CycleInfo) -> Result<()> {
//!         println!("cycle {}: K = {}, log-joint {:.1}", info.cycle, info.k, info.log_joint);
//!         Ok(())
//!     }
//! }
//!
//! let (outcome, _totals) = method::run(&rows, &model, &options, None, &mut Watcher)?;
//! assert_eq!(outcome.labels, [0, 0, 0, 1, 1, 1]);
//!
//! // and rows that were not there
//! let mut predictor = Predictor::new(&model, &outcome.components, outcome.alpha, Kernel::best(), 1);
//! let far_and_near = Shard::of_table(Table::from_f64(2, vec![9.0, 9.0, 0.0, 0.0]));
//! let labels: Vec<u32> = predictor.predict(&far_and_near).iter().map(|row| row.label).collect();
//! assert_eq!(labels, [1, 0]);
//! # Ok::<(), dirigent::Error>(())
//! ```
//!
//! # A chain by hand
//!
//! ```
//! use dirigent::io::synthetic::MixtureLaw;
//! use dirigent::method::cgs::Chain;
//! use dirigent::metrics;
//! use dirigent::model::{Alpha, Model, ModelOptions};
//! use dirigent::rows::Shard;
//! use dirigent::survey::Survey;
//! use dirigent::sweep::{Kernel, sampler};
//!
//! let law = MixtureLaw { n_rows: 2000, n_clusters: 5, centre_sd: 40.0, ..MixtureLaw::synthetic() };
//! let (table, truth) = law.table()?;
//! let shard = Shard::of_table(table);
//!
//! let options = ModelOptions { noise_sd: Some(1.0), mean_sd: Some(40.0), ..ModelOptions::default() };
//! let model = Model::resolve(&options, &Survey::of(&shard))?;
//! let mut chain = Chain::new(&model, sampler(&model, shard, Kernel::best()), Alpha::Auto, 0);
//! for _cycle in 0..20 {
//!     chain.step();
//! }
//! let agreement = metrics::compare(chain.labels(), &truth);
//! assert!(agreement.nmi > 0.9, "{agreement:?}");
//! # Ok::<(), dirigent::Error>(())
//! ```
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
    fit, fit_into, fit_with,
};
pub use method::cgs::Observer;
pub use tree::{Cut, Tree};
