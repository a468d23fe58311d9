//! Where a worker's rows are: in files that its host opens itself, or, where they were never in a
//! file, beside the request.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::engine::failed;
use crate::error::{InputError, Result};
use crate::io::{DataSet, FittedColumns};
use crate::protocol::RowList;
use crate::rows::Shard;
use crate::transform::Transform;

/// The rows of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum RowSource {
    /// In files.
    Files(#[serde(with = "as_json")] Box<FileRows>),
    /// Here.
    Here {
        /// The rows, as they are fitted.
        rows: RowList,
        /// Their columns.
        n_columns: usize,
        /// Whether they are counts.
        is_counts: bool,
    },
}

/// A run of rows of files, and what is done to them before they are fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRows {
    /// The files that the rows are in, each with the number of rows it had when the run was
    /// planned.
    pub files: Vec<(PathBuf, usize)>,
    /// Which of these files' rows.
    pub rows: Range<usize>,
    /// The columns to read.
    pub columns: FittedColumns,
    /// Whether they are fitted as counts.
    pub is_counts: bool,
    /// What is done to them.
    pub transform: Option<Transform>,
    /// Whether cells were missing when the run was planned.
    pub has_missing: bool,
}

impl RowSource {
    /// The rows of a shard, which travel.
    pub fn here(shard: &Shard) -> Self {
        let (n_columns, is_counts) = (shard.n_columns(), shard.is_counts());
        Self::Here { rows: RowList::of(shard.rows()), n_columns, is_counts }
    }

    /// The rows.
    pub(super) fn open(self) -> Result<Shard> {
        match self {
            Self::Files(rows) => rows.open(),
            Self::Here { rows, n_columns, is_counts } => {
                let table = rows.into_table(n_columns, is_counts);
                table.map(Shard::of_table).ok_or_else(|| failed("the rows", "are not such rows as were announced"))
            }
        }
    }
}

impl FileRows {
    /// The part of the files' rows that a worker has: files without any of its rows are left out,
    /// so it never opens them.
    #[must_use]
    pub fn part(&self, rows: Range<usize>) -> Self {
        let (mut files, mut first_row, mut begins) = (Vec::new(), 0, None);
        for (path, n_rows) in &self.files {
            let is_touched = first_row < rows.end && first_row + n_rows > rows.start;
            if is_touched {
                begins.get_or_insert(first_row);
                files.push((path.clone(), *n_rows));
            }
            first_row += n_rows;
        }
        let begins = begins.unwrap_or(rows.start);
        Self { files, rows: rows.start - begins..rows.end - begins, ..self.clone() }
    }

    fn open(&self) -> Result<Shard> {
        let paths: Vec<PathBuf> = self.files.iter().map(|(path, _)| path.clone()).collect();
        let (data, _) = self.columns.open(&paths)?;
        for (file, (path, n_rows)) in data.files().iter().zip(&self.files) {
            if file.n_rows != *n_rows {
                let problem = format!("has {} rows here, but {n_rows} where the run was planned", file.n_rows);
                let hint = "every host must see the same files";
                return Err(InputError::in_file(path, problem).hint(hint).into());
            }
        }
        if !self.has_missing {
            data.check_whole("the run, which was planned without missing cells,")?;
        }
        let data = self.convert(data)?;
        let data = self.transform.as_ref().map_or_else(|| data.clone(), |transform| data.transformed(transform));
        Ok(data.all_rows().part(self.rows.clone()))
    }

    fn convert(&self, data: DataSet) -> Result<DataSet> {
        match (self.is_counts, data.is_counts()) {
            (true, false) => data.into_counts(),
            (false, true) => data.into_numbers(),
            _ => Ok(data),
        }
    }
}

/// What a model file has as JSON is so here: the wire format proper knows no fields that are left
/// out.
mod as_json {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

    use super::FileRows;

    pub(super) fn serialize<S: Serializer>(rows: &FileRows, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(rows).map_err(ser::Error::custom)?.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<FileRows>, D::Error> {
        serde_json::from_str(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
