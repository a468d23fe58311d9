//! Dirichlet-process mixture models on data spread over many workers.
pub mod error;
pub mod io;
pub mod rng;
pub mod rows;
pub mod special;
pub mod stats;

pub use error::{Error, InputError, Result};
