//! Dirichlet-process mixture models on data spread over many workers.
pub mod error;
pub mod io;
pub mod metrics;
pub mod family;
pub mod method;
pub mod model;
pub mod posterior;
pub mod survey;
pub mod sweep;
pub mod rng;
pub mod rows;
pub mod run_dir;
pub mod special;
pub mod stats;
pub mod trace;

pub use error::{Error, InputError, Result};
