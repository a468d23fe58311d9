//! The methods of the paper's comparison.

pub mod cgs;
