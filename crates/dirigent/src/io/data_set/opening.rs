//! Opening files: each by its format, and then what can be told from all of them only.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{InputError, Result};
use crate::rows::{Cells, Table};

use super::{DataFile, DataSet, is_counts};
use crate::io::codes;
use crate::io::columns::{ColumnKind, FileColumns};
use crate::io::grid::Grid;
use crate::io::labels::TruthBuilder;
use crate::io::levels::{Levels, Origin};
#[cfg(feature = "files")]
use crate::io::npz;
#[cfg(feature = "parquet")]
use crate::io::parquet;
use crate::io::remote::FetchedFile;
use crate::io::sparse::SparseRows;
use crate::io::stamps::FileStamp;
use crate::io::{
    Format, Selection, Storage, delimited, docword, format, left_out, matrix_market, npy, source, svmlight,
};

/// What a file holds.
pub(crate) enum Loaded {
    /// A table.
    Table(Table),
    /// Rows that become counts or dense numbers, once all files were read.
    Sparse(SparseRows),
}

impl Loaded {
    fn is_mapped(&self) -> bool {
        use Cells::Mapped;
        matches!(self, Self::Table(Table::F32 { cells: Mapped(_), .. } | Table::F64 { cells: Mapped(_), .. }))
    }

    fn n_rows(&self) -> usize {
        match self {
            Self::Table(table) => table.n_rows(),
            Self::Sparse(rows) => rows.n_rows(),
        }
    }
}

/// A file and what it holds.
struct FilePart {
    file: DataFile,
    loaded: Loaded,
    /// Where the file is mapped.
    stamp: Option<FileStamp>,
}

impl DataSet {
    /// Opens files, in the given order. A folder stands for its data files in order of their names, a pattern such as `part-*.csv` for the
    /// files that it fits; objects of a store are fetched.
    pub fn open(paths: &[PathBuf], selection: &Selection) -> Result<Self> {
        Self::open_with(paths, selection, &Storage::default())
    }

    /// The same, with what is said about files that are made on the way.
    pub fn open_with(paths: &[PathBuf], selection: &Selection, storage: &Storage) -> Result<Self> {
        let files = format::expand(paths, storage)?;
        Self::open_files(paths, &files, selection, &mut FileColumns::default(), storage)
    }

    /// The same, where it is known which files the paths stand for, and perhaps something of the columns.
    pub(crate) fn open_files(
        paths: &[PathBuf],
        files: &[FetchedFile],
        selection: &Selection,
        columns: &mut FileColumns,
        storage: &Storage,
    ) -> Result<Self> {
        let Some(first) = paths.first() else {
            return Err(InputError::new("no data given").hint("name a file or a folder").into());
        };
        let read = Self::read(format::data_name(first), files, selection, columns, storage);
        read.map_err(|error| files.iter().fold(error, |error, found| found.rename(error)))
    }

    fn read(
        name: String,
        files: &[FetchedFile],
        selection: &Selection,
        columns: &mut FileColumns,
        storage: &Storage,
    ) -> Result<Self> {
        loop {
            let asked = selection.without(columns.left_out());
            let mut truth = TruthBuilder::default();
            let mut parts = Vec::new();
            for found in files {
                let part = load(found, &asked, columns, &mut truth, storage)?;
                check_kind(&parts, &part)?;
                parts.push(part);
            }
            if columns.restarts() {
                continue;
            }
            name_codes(&mut parts, columns);
            columns.check_header()?;
            let tables: Vec<&Table> = tables(&parts).map(|(_, table)| table).collect();
            let left_out = if columns.is_of_fit() { Vec::new() } else { left_out::find(columns, &tables, selection)? };
            if !left_out.is_empty() {
                columns.leave_out(left_out);
                continue;
            }
            let mut data = Self::without_rows(name);
            data.settle(parts, columns, storage)?;
            data.truth = selection.label_column.is_some().then(|| truth.finish());
            data.take_columns(columns);
            return Ok(data);
        }
    }

    /// Takes the parts over, sparse rows as what they are.
    fn settle(&mut self, parts: Vec<FilePart>, columns: &mut FileColumns, storage: &Storage) -> Result<()> {
        let numbering = Numbering::of(&parts, columns)?;
        self.numbered_from_zero = numbering.from_zero;
        for FilePart { file, loaded, stamp } in parts {
            self.stamps.extend(stamp);
            let table = match loaded {
                Loaded::Table(table) => table,
                Loaded::Sparse(rows) if numbering.is_counts => {
                    rows.into_counts(numbering.n_columns, numbering.from_zero)
                }
                Loaded::Sparse(rows) => dense(&file.path, rows, &numbering, columns, storage)?,
            };
            self.files.push(file);
            self.tables.push(Arc::new(table));
        }
        Ok(())
    }
}

fn load(
    found: &FetchedFile,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
    storage: &Storage,
) -> Result<FilePart> {
    let path = &*found.file;
    let (_, bytes) = source::open(path)?;
    let format = Format::of_path(path)?;
    let loaded = match format {
        Format::Npy => Loaded::Table(npy::read(path, selection, columns, truth, storage)?),
        Format::Csv => Loaded::Table(delimited::read(path, b',', selection, columns, truth)?),
        Format::Tsv => Loaded::Table(delimited::read(path, b'\t', selection, columns, truth)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Loaded::Table(parquet::read(path, selection, columns, truth, storage)?),
        Format::Docword => Loaded::Table(docword::read(path, selection)?),
        Format::Svmlight => Loaded::Sparse(svmlight::read(path, selection, truth)?),
        Format::MatrixMarket => matrix_market::read(path, selection, columns, truth)?,
        #[cfg(feature = "files")]
        Format::Npz => npz::read(path, selection, columns, truth)?,
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(crate::io::without_feature(path, "parquet")),
        #[cfg(not(feature = "files"))]
        Format::Npz => return Err(crate::io::without_feature(path, "files")),
    };
    let n_rows = loaded.n_rows();
    // what was spilled has no name that anybody could change it by
    let stamp = (format == Format::Npy && loaded.is_mapped()).then(|| FileStamp::of(found)).transpose()?;
    Ok(FilePart { file: DataFile { path: found.name.clone(), format, n_rows, bytes }, loaded, stamp })
}

/// Columns of codes hold text. Only text tables tell codes from numbers.
fn name_codes(parts: &mut [FilePart], columns: &mut FileColumns) {
    let is_text = |part: &FilePart| matches!(part.file.format, Format::Csv | Format::Tsv);
    if !parts.iter().all(is_text) {
        return;
    }
    for (column, width) in columns.codes() {
        let mut levels = Levels::new(Origin::Declared);
        let mut level = |cell: &mut f64| match cell.is_nan() {
            true => Some(f64::NAN),
            false => levels.number(&codes::text(*cell, width)),
        };
        let named: Option<Vec<f64>> = cells_of(parts, column).map(&mut level).collect();
        // too many of them are left out later
        let Some(named) = named else { continue };
        cells_of(parts, column).zip(named).for_each(|(cell, level)| *cell = level);
        *columns.kind(column) = ColumnKind::Text(Box::new(levels));
    }
}

/// The cells of a column of text tables.
fn cells_of(parts: &mut [FilePart], column: usize) -> impl Iterator<Item = &mut f64> {
    parts.iter_mut().flat_map(move |part| match &mut part.loaded {
        Loaded::Table(Table::F64 { n_columns, cells: Cells::Owned(cells) }) => {
            cells[column..].iter_mut().step_by(*n_columns)
        }
        _ => panic!("a text table is in memory, in double precision"),
    })
}

fn tables(parts: &[FilePart]) -> impl Iterator<Item = (&Path, &Table)> {
    parts.iter().filter_map(|part| match &part.loaded {
        Loaded::Table(table) => Some((part.file.path.as_path(), table)),
        Loaded::Sparse(_) => None,
    })
}

fn sparse_rows(parts: &[FilePart]) -> impl Iterator<Item = (&Path, &SparseRows)> {
    parts.iter().filter_map(|part| match &part.loaded {
        Loaded::Table(_) => None,
        Loaded::Sparse(rows) => Some((part.file.path.as_path(), rows)),
    })
}

/// Counts and dense tables are not one data set, nor are different numbers of columns.
fn check_kind(parts: &[FilePart], part: &FilePart) -> Result<(), InputError> {
    let (Some((first, expected)), Loaded::Table(found)) = (tables(parts).next(), &part.loaded) else { return Ok(()) };
    let kind = |table| if is_counts(table) { "word counts" } else { "a dense table" };
    if is_counts(found) != is_counts(expected) {
        return Err(differs(&part.file.path, kind(found).into(), kind(expected).into(), first));
    }
    let (found, expected) = (found.n_columns(), expected.n_columns());
    if found != expected {
        return Err(differs(&part.file.path, source::counted(found, "column"), expected.to_string(), first));
    }
    Ok(())
}

fn differs(path: &Path, found: String, expected: String, first: &Path) -> InputError {
    let problem = format!("found {found}, expected {expected} as in {}", first.display());
    InputError::in_file(path, problem).hint("the files of one data set have the same columns")
}

/// What sparse rows are, as all files tell.
struct Numbering {
    is_counts: bool,
    from_zero: bool,
    n_columns: usize,
}

impl Numbering {
    fn of(parts: &[FilePart], columns: &FileColumns) -> Result<Self, InputError> {
        let from_zero =
            columns.numbered_from_zero() || sparse_rows(parts).any(|(_, rows)| rows.has_column_zero() == Some(true));
        let not_counts = sparse_rows(parts).find(|(_, rows)| !rows.is_counts());
        let is_counts = match (tables(parts).next(), not_counts) {
            (None, not_counts) => not_counts.is_none(),
            (Some((_, table)), None) => is_counts(table),
            (Some((first, table)), Some((path, _))) if is_counts(table) => {
                return Err(differs(path, "numbers that are no counts".into(), "word counts".into(), first));
            }
            (Some(_), Some(_)) => false,
        };
        Ok(Self { is_counts, from_zero, n_columns: n_columns(parts, columns, from_zero)? })
    }
}

/// The columns of the first file that says how many it has, or else as many as there are in all.
fn n_columns(parts: &[FilePart], columns: &FileColumns, from_zero: bool) -> Result<usize, InputError> {
    let said = |part: &FilePart| match &part.loaded {
        Loaded::Table(table) => Some((part.file.path.clone(), table.n_columns())),
        Loaded::Sparse(rows) => rows.declared().map(|n_columns| (part.file.path.clone(), n_columns)),
    };
    let Some((first, expected)) = parts.iter().find_map(said) else {
        let seen = sparse_rows(parts).map(|(_, rows)| rows.n_columns_seen(from_zero));
        let n_columns = seen.max().unwrap_or(0).max(columns.n_columns_of_fit().unwrap_or(0));
        return if n_columns > 0 {
            Ok(n_columns)
        } else {
            let error = InputError::in_file(&parts[0].file.path, "zero columns: no row has an entry");
            Err(error.hint("was the right data saved?"))
        };
    };
    for (path, rows) in sparse_rows(parts) {
        let found = rows.n_columns_seen(from_zero);
        if found > expected || rows.declared().is_some_and(|declared| declared != expected) {
            return Err(differs(path, source::counted(found, "column"), expected.to_string(), &first));
        }
    }
    Ok(expected)
}

/// What is known of a dense column beside its cells: its missing ones, levels, moments.
const BYTES_A_COLUMN: u64 = 160;

/// Sparse rows with their zeros.
fn dense(
    path: &Path,
    rows: SparseRows,
    numbering: &Numbering,
    columns: &mut FileColumns,
    storage: &Storage,
) -> Result<Table> {
    let (n_rows, n_columns) = (rows.n_rows(), numbering.n_columns);
    let in_file = |error| InputError { file: Some(path.into()), ..error };
    let n_cells = rows.n_cells(n_columns).map_err(in_file)?;
    storage.check_table(path, 8 * n_cells as u64 + BYTES_A_COLUMN * n_columns as u64)?;
    let cells = rows.into_cells(n_columns, numbering.from_zero).map_err(in_file)?;
    let grid = Grid { path, n_rows, n_columns, by_column: false };
    grid.table(Cells::Owned(cells), &Selection::default(), columns, &mut TruthBuilder::default())
}
