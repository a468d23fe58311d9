//! Files in: tables of numbers, sparse counts and labels.
//!
//! [`DataSet::open`] is the door. Each format has a module of its own that turns one file into a
//! [`Table`](crate::rows::Table); none trusts a length that the file merely claims.

mod columns;
mod data_set;
mod delimited;
mod docword;
mod draws;
mod fitted_columns;
mod format;
mod header_line;
pub mod labels;
mod levels;
pub mod mapped;
pub(crate) mod npy;
mod pairs;
mod records;
mod selection;
pub(crate) mod source;
pub mod synthetic;
#[cfg(test)]
pub(crate) mod test_files;
mod vocabulary;

pub use data_set::{DataFile, DataSet};
pub use draws::read_draws;
pub use fitted_columns::FittedColumns;
pub use format::Format;
pub use labels::{Truth, read_labels};
pub use pairs::{RowPair, read_pairs};
pub use selection::{Header, Selection};
pub use vocabulary::read_vocabulary;
