//! Dirichlet-process mixture models on data spread over many workers.
//!
//! Rows come as a [`rows::Shard`], from files ([`io::DataSet`]) or made ([`io::synthetic`]). A [`survey::Survey`] of them and the
//! user's [`model::ModelOptions`] give a [`model::Model`] with every prior resolved. [`sweep::sampler`] makes the sampler that suits
//! model and processor, and a [`method::cgs::Chain`] lets it sweep. [`metrics`] compares labellings; [`run_dir`] writes it all down.
//!
//! With many workers each shard has a [`node::Worker`]; a [`node::Coordinator`] keeps the ledger of what they contribute
//! ([`consolidate::Pool`]) and decides which of their components are one. They speak in messages ([`message`]) that an engine carries
//! ([`engine`]); [`method::distributed`] puts them together. [`method::run`] runs any method.
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
pub mod halves;
pub mod interrupt;
pub mod io;
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

pub use error::{Error, InputError, Result};
