//! Files in: tables of numbers, sparse rows and labels.
//!
//! [`DataSet::open`] is the door. Each format has a module of its own that turns one file into a
//! [`Table`](crate::rows::Table); none trusts a length that the file merely claims.

mod address;
mod cell_format;
mod cells;
mod codes;
mod columns;
mod data_set;
mod delimited;
mod docword;
mod draws;
mod fitted_columns;
mod format;
mod grid;
mod header_line;
pub mod labels;
mod left_out;
mod levels;
pub mod mapped;
mod matrix_market;
mod memory;
pub(crate) mod npy;
#[cfg(feature = "files")]
mod npz;
mod number;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod remote;
mod selection;
pub(crate) mod source;
mod sparse;
mod spill;
mod stamps;
mod storage;
mod svmlight;
pub mod synthetic;
#[cfg(test)]
pub(crate) mod test_files;
mod vocabulary;

pub use address::is_address;
pub use cell_format::CellFormat;
pub use data_set::{DataFile, DataSet, MemoryColumn, MemoryRows};
pub use draws::read_draws;
pub use fitted_columns::FittedColumns;
pub use format::Format;
pub use labels::{Truth, read_labels};
pub use left_out::LeftOut;
pub use pairs::{RowPair, read_pairs};
pub use selection::{Header, Selection};
pub use stamps::FileWatch;
pub use storage::{Spill, Storage, amount};
pub use vocabulary::read_vocabulary;

/// What is asked for a file that this build of the library cannot read or write.
#[cfg(not(all(feature = "files", feature = "parquet")))]
pub(crate) fn without_feature(path: &std::path::Path, feature: &str) -> crate::Error {
    let problem = format!("this build of dirigent has no feature `{feature}`");
    crate::InputError::in_file(path, problem).hint("build it with its default features").into()
}
