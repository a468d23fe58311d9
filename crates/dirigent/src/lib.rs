//! Dirichlet-process mixture models on data spread over many workers.
pub mod consolidate;
pub mod error;
pub mod family;
pub mod io;
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

pub use error::{Error, InputError, Result};
