//! A data set: the rows of one or several files, laid end to end.

mod conversions;
mod in_memory;
mod opening;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

pub use self::in_memory::{MemoryColumn, MemoryRows};
use crate::error::{InputError, Result};
use crate::rows::{Row, Shard, Table};
use crate::transform::Transform;

use super::cell_format::CellFormat;
use super::columns::FileColumns;
use super::labels::Truth;
use super::left_out::{self, LeftOut};
use super::stamps::{FileStamp, FileWatch};
use super::{Format, source};

pub(crate) use opening::Loaded;

/// Rows to fit, with what is known about them.
#[derive(Debug, Clone)]
pub struct DataSet {
    name: String,
    /// One for each table, or none at all for data that was never in a file.
    files: Vec<DataFile>,
    tables: Vec<Arc<Table>>,
    column_names: Option<Vec<String>>,
    /// Of dense columns: missing cells, and the levels where they hold text.
    missing: Vec<u64>,
    levels: Vec<Option<Vec<String>>>,
    /// Of dense columns: how their cells are numbers.
    formats: Vec<CellFormat>,
    left_out: Vec<LeftOut>,
    /// What there is to say of cells.
    notes: Vec<String>,
    truth: Option<Truth>,
    numbered_from_zero: bool,
    /// The files that are mapped.
    stamps: Vec<FileStamp>,
}

/// A file that rows came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// Path or address.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// Format.
    pub format: Format,
    /// Number of rows.
    pub n_rows: usize,
    /// Length on disk, in bytes.
    pub bytes: u64,
}

impl DataSet {
    fn without_rows(name: String) -> Self {
        let (files, tables, missing, levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            name,
            files,
            tables,
            column_names: None,
            missing,
            levels,
            formats: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
            truth: None,
            numbered_from_zero: false,
            stamps: Vec::new(),
        }
    }

    /// A short name, for the run folder: that of the first file without folder and extensions.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.tables.iter().map(|table| table.n_rows()).sum()
    }

    /// The number of columns that were chosen (for counts: the size of the vocabulary).
    pub fn n_columns(&self) -> usize {
        self.tables[0].n_columns()
    }

    /// The names of the chosen columns, where the files name them.
    pub fn column_names(&self) -> Option<&[String]> {
        self.column_names.as_deref()
    }

    /// The same rows with names for their columns, one each.
    #[must_use]
    pub fn with_column_names(mut self, names: Vec<String>) -> Self {
        assert_eq!(names.len(), self.n_columns(), "a name for every column");
        self.column_names = Some(names);
        self
    }

    /// The labels of the label column.
    pub fn truth(&self) -> Option<&Truth> {
        self.truth.as_ref()
    }

    /// Whether sparse text files number their columns from 0, not from 1.
    pub fn numbered_from_zero(&self) -> bool {
        self.numbered_from_zero
    }

    /// Whether any cell is missing.
    pub fn has_missing(&self) -> bool {
        self.missing.iter().any(|n_cells| *n_cells > 0)
    }

    /// How many cells of each column are missing (NaN in the rows). Nothing for sparse counts, of which none can be.
    pub fn missing(&self) -> Vec<u64> {
        self.missing.clone()
    }

    /// What the levels of each column are called, if it holds text: a row has the number of the level. Nothing for sparse counts.
    pub fn levels(&self) -> &[Option<Vec<String>>] {
        &self.levels
    }

    /// How the cells of each column are numbers; nothing where all are plain numbers.
    pub fn formats(&self) -> &[CellFormat] {
        &self.formats
    }

    /// The columns that are left out because of what they hold.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What there is to say of columns that are left out, and of cells that count as missing.
    pub fn warnings(&self) -> Vec<String> {
        left_out::warning(&self.left_out).into_iter().chain(self.notes.iter().cloned()).collect()
    }

    /// What there is to say of cells that count as missing.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Takes over what is known of dense columns.
    fn take_columns(&mut self, columns: &FileColumns) {
        self.column_names = columns.names().map(<[String]>::to_vec);
        (self.missing, self.levels) = (columns.missing().to_vec(), columns.levels());
        let formats = columns.formats();
        let is_plain = formats.iter().all(|format| *format == CellFormat::Number);
        self.formats = if is_plain { Vec::new() } else { formats };
        self.left_out = columns.left_out().to_vec();
        self.notes = columns.notes();
    }

    /// Refuses missing cells and text columns, for the sake of `what`, which needs a number in every cell.
    pub fn check_numbers(&self, what: &str) -> Result<()> {
        if let Some(column_ix) = self.levels.iter().position(Option::is_some) {
            let name = self.column_text(column_ix);
            let example = self.levels[column_ix].iter().flatten().next().map(|name| source::quoted(name.as_bytes()));
            let problem = format!("holds text, such as {}, but {what} needs numbers", example.unwrap_or_default());
            let hint = format!("leave it out with `exclude` {name}, or read it as labels with `label_column` {name}");
            return Err(self.in_file(0, problem).at_column(name).hint(hint).into());
        }
        self.check_whole(what)
    }

    /// Rejects missing cells, for the sake of `what`.
    pub(crate) fn check_whole(&self, what: &str) -> Result<()> {
        let first = if self.has_missing() { self.first_missing() } else { None };
        let Some((table_ix, row_ix, column_ix)) = first else { return Ok(()) };
        let name = self.column_text(column_ix);
        let cells = source::counted(self.missing.iter().sum::<u64>() as usize, "cell");
        let problem = format!("the cell is missing ({cells} in all), but {what} needs a number in every cell");
        let hint = format!("take such rows out, or leave the column out with `exclude` {name}");
        Err(self.in_file(table_ix, problem).at_row(row_ix + 1).at_column(name).hint(hint).into())
    }

    fn first_missing(&self) -> Option<(usize, usize, usize)> {
        self.tables.iter().enumerate().find_map(|(table_ix, table)| {
            let ix = match &**table {
                Table::F32 { cells, .. } => cells.as_slice().iter().position(|cell| cell.is_nan())?,
                Table::F64 { cells, .. } => cells.as_slice().iter().position(|cell| cell.is_nan())?,
                Table::Counts(_) => return None,
            };
            Some((table_ix, ix / table.n_columns(), ix % table.n_columns()))
        })
    }

    fn column_text(&self, column_ix: usize) -> String {
        self.column_names.as_ref().map_or_else(|| (column_ix + 1).to_string(), |names| names[column_ix].clone())
    }

    fn in_file(&self, table_ix: usize, problem: String) -> InputError {
        match self.files.get(table_ix) {
            Some(file) => InputError::in_file(&file.path, problem),
            None => InputError::new(problem),
        }
    }

    /// A mistake in a row, counted from 0, and a column of it.
    pub fn in_cell(&self, row_ix: usize, column_ix: usize, problem: String) -> InputError {
        let mut row = row_ix;
        let mut table_ix = 0;
        // rows in memory are counted through all tables
        while !self.files.is_empty() && table_ix + 1 < self.tables.len() && row >= self.tables[table_ix].n_rows() {
            row -= self.tables[table_ix].n_rows();
            table_ix += 1;
        }
        self.in_file(table_ix, problem).at_row(row + 1).at_column(self.column_text(column_ix))
    }

    /// Whether the rows are sparse counts.
    pub fn is_counts(&self) -> bool {
        is_counts(&self.tables[0])
    }

    /// Whether the rows are sparse counts by their values alone: of files that could also hold measurements.
    pub fn is_sparse_matrix(&self) -> bool {
        self.is_counts() && !self.files.is_empty() && self.files.iter().all(|file| file.format != Format::Docword)
    }

    /// The rows as a transform makes them; the rest stays as it is. The rows are held twice until the old ones are dropped.
    #[must_use]
    pub fn transformed(&self, transform: &Transform) -> Self {
        let tables = self.tables.iter().map(|table| Arc::new(transform.apply(table))).collect();
        let column_names = transform.names_out().or_else(|| self.column_names.clone());
        let (missing, levels) = (vec![0; transform.n_columns_out()], vec![None; transform.n_columns_out()]);
        Self { tables, column_names, missing, levels, formats: Vec::new(), ..self.clone() }
    }

    /// A run of rows.
    pub fn shard(&self, rows: Range<usize>) -> Shard {
        Shard::of_tables(&self.tables, rows)
    }

    /// Every row.
    pub fn all_rows(&self) -> Shard {
        self.shard(0..self.n_rows())
    }

    /// The files that the rows came from; none for data in memory.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// Watches the files that are mapped; `fingerprint` is that of the rows as they were opened.
    pub fn watch(&self, fingerprint: &str) -> FileWatch<'_> {
        FileWatch::new(self, fingerprint, self.stamps.clone())
    }

    /// A short digest of shape and contents, the same however the rows are spread over files. Not proof against forgery.
    pub fn fingerprint(&self) -> String {
        let mut contents = crc32fast::Hasher::new();
        for table in &self.tables {
            match &**table {
                Table::F32 { cells, .. } => contents.update(bytemuck::cast_slice(cells.as_slice())),
                Table::F64 { cells, .. } => contents.update(bytemuck::cast_slice(cells.as_slice())),
                Table::Counts(_) => hash_counts(table, &mut contents),
            }
        }
        for name in self.levels.iter().flatten().flatten() {
            contents.update(name.as_bytes());
            contents.update(&[0]);
        }
        let mut shape = crc32fast::Hasher::new();
        shape.update(&(self.n_rows() as u64).to_le_bytes());
        shape.update(&(self.n_columns() as u64).to_le_bytes());
        format!("{:08x}{:08x}", shape.finalize(), contents.finalize())
    }
}

fn hash_counts(table: &Table, hasher: &mut crc32fast::Hasher) {
    for row_ix in 0..table.n_rows() {
        let Row::Counts(row) = table.row(row_ix) else { unreachable!("a table of counts has rows of counts") };
        hasher.update(&(row.words.len() as u64).to_le_bytes());
        hasher.update(bytemuck::cast_slice(row.words));
        hasher.update(bytemuck::cast_slice(row.counts));
    }
}

fn is_counts(table: &Table) -> bool {
    matches!(table, Table::Counts(_))
}

/// A path need not be UTF-8, JSON must be.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests;
