//! A data set: the rows of one or several files, laid end to end.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::error::{InputError, Result};
use crate::rows::{CountTable, Row, Shard, Table};
use crate::transform::Transform;

use super::columns::Columns;
use super::labels::{Truth, TruthBuilder};
use super::{Format, Selection, delimited, docword, format, npy, source};

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
    truth: Option<Truth>,
}

/// A file that rows came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// Where it is.
    #[serde(serialize_with = "as_text")]
    pub path: PathBuf,
    /// How it holds its rows.
    pub format: Format,
    /// How many rows it has.
    pub n_rows: usize,
    /// Its length, as it lies on the disk.
    pub bytes: u64,
}

impl DataSet {
    /// Opens files, in the given order. A folder stands for its data files in order of their names.
    pub fn open(paths: &[PathBuf], selection: &Selection) -> Result<Self> {
        Self::open_with(paths, selection, &mut Columns::default())
    }

    /// The same, where something is known of the columns already.
    pub(crate) fn open_with(paths: &[PathBuf], selection: &Selection, columns: &mut Columns) -> Result<Self> {
        let Some(first) = paths.first() else {
            return Err(InputError::new("no data given").hint("name a file or a folder").into());
        };
        let mut data = Self::without_rows(format::data_name(first));
        let mut truth = TruthBuilder::default();
        for path in format::expand_folders(paths)? {
            data.append(path, selection, columns, &mut truth)?;
        }
        columns.check_levels()?;
        data.truth = selection.label_column.is_some().then(|| truth.finish());
        data.column_names = columns.names().map(<[String]>::to_vec);
        (data.missing, data.levels) = (columns.missing().to_vec(), columns.levels());
        Ok(data)
    }

    /// Rows in memory. A missing cell is NaN.
    pub fn of_table(name: &str, table: Table) -> Self {
        let missing = missing_of(&table);
        let levels = vec![None; missing.len()];
        Self { tables: vec![Arc::new(table)], missing, levels, ..Self::without_rows(name.into()) }
    }

    fn without_rows(name: String) -> Self {
        let (files, tables, missing, levels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { name, files, tables, column_names: None, missing, levels, truth: None }
    }

    fn append(
        &mut self,
        path: PathBuf,
        selection: &Selection,
        columns: &mut Columns,
        truth: &mut TruthBuilder,
    ) -> Result<()> {
        let (_, bytes) = source::open(&path)?;
        let format = Format::of_path(&path)?;
        self.check_kind(&path, format == Format::Docword)?;
        let table = match format {
            Format::Npy => npy::read(&path, selection, columns, truth)?,
            Format::Csv => delimited::read(&path, b',', selection, columns, truth)?,
            Format::Tsv => delimited::read(&path, b'\t', selection, columns, truth)?,
            Format::Docword => docword::read(&path, selection)?,
        };
        self.check_vocabulary(&path, &table)?;
        self.files.push(DataFile { path, format, n_rows: table.n_rows(), bytes });
        self.tables.push(Arc::new(table));
        Ok(())
    }

    fn check_kind(&self, path: &Path, found: bool) -> Result<(), InputError> {
        let kind = |is_counts| if is_counts { "word counts" } else { "a dense table" };
        match self.tables.first().map(|table| is_counts(table)) {
            Some(expected) if found != expected => Err(self.differs(path, kind(found).into(), kind(expected).into())),
            _ => Ok(()),
        }
    }

    /// Columns of tables were compared when they were read.
    fn check_vocabulary(&self, path: &Path, table: &Table) -> Result<(), InputError> {
        let found = table.n_columns();
        match self.tables.first().map(|first| first.n_columns()) {
            Some(expected) if found != expected => {
                Err(self.differs(path, source::counted(found, "column"), expected.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn differs(&self, path: &Path, found: String, expected: String) -> InputError {
        let problem = format!("found {found}, expected {expected} as in {}", self.files[0].path.display());
        InputError::in_file(path, problem).hint("the files of one data set have the same columns")
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

    /// The names of the chosen columns, where the files have a header.
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

    /// How many cells of each column are missing (NaN in the rows). Nothing for sparse counts, of which none can be.
    pub fn missing(&self) -> Vec<u64> {
        self.missing.clone()
    }

    /// What the levels of each column are called, if it holds text: a row has the number of the level. Nothing for sparse counts.
    pub fn levels(&self) -> &[Option<Vec<String>>] {
        &self.levels
    }

    /// Refuses missing cells and text columns, for the sake of `what`, which needs a number in every cell.
    pub fn check_numbers(&self, what: &str) -> Result<()> {
        if let Some(column_ix) = self.levels.iter().position(Option::is_some) {
            let name = self.column_text(column_ix);
            let example = self.levels[column_ix].iter().flatten().next().map(|name| source::quoted(name.as_bytes()));
            let problem = format!("holds text, such as {}, but {what} needs numbers", example.unwrap_or_default());
            let hint = format!("leave it out with --exclude {name}, or read it as labels with --label-column {name}");
            return Err(self.in_file(0, problem).at_column(name).hint(hint).into());
        }
        let first = if self.missing.iter().all(|n_cells| *n_cells == 0) { None } else { self.first_missing() };
        let Some((table_ix, row_ix, column_ix)) = first else { return Ok(()) };
        let name = self.column_text(column_ix);
        let cells = source::counted(self.missing.iter().sum::<u64>() as usize, "cell");
        let problem = format!("the cell is missing ({cells} in all), but {what} needs a number in every cell");
        let hint = format!("take such rows out, or leave the column out with --exclude {name}");
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
        while table_ix + 1 < self.tables.len() && row >= self.tables[table_ix].n_rows() {
            row -= self.tables[table_ix].n_rows();
            table_ix += 1;
        }
        self.in_file(table_ix, problem).at_row(row + 1).at_column(self.column_text(column_ix))
    }

    /// Whether the rows are sparse counts.
    pub fn is_counts(&self) -> bool {
        is_counts(&self.tables[0])
    }

    /// The same rows as sparse counts. Every cell must be a whole number, not negative.
    pub fn into_counts(mut self) -> Result<Self> {
        self.check_numbers("a model of counts")?;
        let mut tables = Vec::with_capacity(self.tables.len());
        for (table_ix, table) in self.tables.iter().enumerate() {
            let counted = match **table {
                Table::Counts(_) => Arc::clone(table),
                _ => Arc::new(Table::Counts(self.counted(table_ix)?)),
            };
            tables.push(counted);
        }
        self.tables = tables;
        (self.missing, self.levels) = (Vec::new(), Vec::new());
        Ok(self)
    }

    fn counted(&self, table_ix: usize) -> Result<CountTable> {
        let table = &self.tables[table_ix];
        let mut counts = CountTable::new(table.n_columns());
        let mut entries: Vec<(u32, u32)> = Vec::new();
        for row_ix in 0..table.n_rows() {
            for column_ix in 0..table.n_columns() {
                let cell = match table.row(row_ix) {
                    Row::F32(cells) => f64::from(cells[column_ix]),
                    Row::F64(cells) => cells[column_ix],
                    Row::Counts(_) => unreachable!("counts are counted already"),
                };
                match (u32::try_from(column_ix), count(cell)) {
                    (Ok(_), Some(0)) => {}
                    (Ok(word), Some(count)) => entries.push((word, count)),
                    _ => return Err(self.not_a_count(table_ix, row_ix, column_ix, cell).into()),
                }
            }
            counts.push_row(entries.drain(..));
        }
        Ok(counts)
    }

    fn not_a_count(&self, table_ix: usize, row_ix: usize, column_ix: usize, cell: f64) -> InputError {
        let column = self.column_text(column_ix);
        let problem = format!("found {cell}, expected a count: a whole number from 0 to {}", u32::MAX);
        let hint = format!("leave the column out with --exclude {column}, or choose a family for measurements");
        self.in_file(table_ix, problem).at_row(row_ix + 1).at_column(column).hint(hint)
    }

    /// The rows as a transform makes them; the rest stays as it is. The rows are held twice until the old ones are dropped.
    #[must_use]
    pub fn transformed(&self, transform: &Transform) -> Self {
        let tables = self.tables.iter().map(|table| Arc::new(transform.apply(table))).collect();
        let column_names = transform.names_out().or_else(|| self.column_names.clone());
        let (missing, levels) = (vec![0; transform.n_columns_out()], vec![None; transform.n_columns_out()]);
        Self { tables, column_names, missing, levels, ..self.clone() }
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

fn missing_of(table: &Table) -> Vec<u64> {
    let count = |is_missing: &dyn Fn(usize) -> bool| {
        let n_columns = table.n_columns();
        let mut missing = vec![0; n_columns];
        (0..table.n_rows() * n_columns).filter(|&ix| is_missing(ix)).for_each(|ix| missing[ix % n_columns] += 1);
        missing
    };
    match table {
        Table::F32 { cells, .. } => count(&|ix| cells.as_slice()[ix].is_nan()),
        Table::F64 { cells, .. } => count(&|ix| cells.as_slice()[ix].is_nan()),
        Table::Counts(_) => Vec::new(),
    }
}

fn count(cell: f64) -> Option<u32> {
    (cell >= 0.0 && cell <= f64::from(u32::MAX) && cell.fract() == 0.0).then_some(cell as u32)
}

/// A path need not be UTF-8, JSON must be.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests;
