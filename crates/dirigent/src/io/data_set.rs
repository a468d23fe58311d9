//! A data set: the rows of one or several files, laid end to end.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::error::{InputError, Result};
use crate::rows::{CountTable, Row, Shard, Table};

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

/// What a reader made of one file.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) table: Table,
    pub(crate) column_names: Option<Vec<String>>,
}

impl DataSet {
    /// Opens files, in the given order. A folder stands for its data files in order of their names.
    pub fn open(paths: &[PathBuf], selection: &Selection) -> Result<Self> {
        let Some(first) = paths.first() else {
            return Err(InputError::new("no data given").hint("name a file or a folder").into());
        };
        let (files, tables) = (Vec::new(), Vec::new());
        let mut data = Self { name: format::data_name(first), files, tables, column_names: None, truth: None };
        let mut truth = TruthBuilder::default();
        for path in format::expand_folders(paths)? {
            data.append(path, selection, &mut truth)?;
        }
        data.truth = selection.label_column.is_some().then(|| truth.finish());
        Ok(data)
    }

    /// Rows in memory.
    pub fn of_table(name: &str, table: Table) -> Self {
        Self { name: name.into(), files: Vec::new(), tables: vec![Arc::new(table)], column_names: None, truth: None }
    }

    fn append(&mut self, path: PathBuf, selection: &Selection, truth: &mut TruthBuilder) -> Result<()> {
        let (_, bytes) = source::open(&path)?;
        let format = Format::of_path(&path)?;
        let loaded = match format {
            Format::Npy => npy::read(&path, selection, truth)?,
            Format::Csv => delimited::read(&path, b',', selection, truth)?,
            Format::Tsv => delimited::read(&path, b'\t', selection, truth)?,
            Format::Docword => docword::read(&path, selection)?,
        };
        self.check_alike(&path, &loaded)?;
        self.files.push(DataFile { path, format, n_rows: loaded.table.n_rows(), bytes });
        self.tables.push(Arc::new(loaded.table));
        self.column_names = loaded.column_names;
        Ok(())
    }

    fn check_alike(&self, path: &Path, loaded: &Loaded) -> Result<(), InputError> {
        let (Some(table), Some(file)) = (self.tables.first(), self.files.first()) else { return Ok(()) };
        let first = file.path.display();
        let differs = |found: String, expected: String| {
            let problem = format!("found {found}, expected {expected} as in {first}");
            Err(InputError::in_file(path, problem).hint("the files of one data set have the same columns"))
        };
        let kind = |is_counts| if is_counts { "word counts" } else { "a dense table" };
        let (found, expected) = (is_counts(&loaded.table), is_counts(table));
        if found != expected {
            return differs(kind(found).into(), kind(expected).into());
        }
        let (found, expected) = (loaded.table.n_columns(), table.n_columns());
        if found != expected {
            return differs(source::counted(found, "column"), expected.to_string());
        }
        match (&loaded.column_names, &self.column_names) {
            (None, None) => Ok(()),
            (None, Some(_)) => differs("no header".into(), "a header".into()),
            (Some(_), None) => differs("a header".into(), "no header".into()),
            (Some(found), Some(expected)) => match found.iter().zip(expected).position(|(a, b)| a != b) {
                Some(ix) => differs(format!("column {:?}", found[ix]), format!("{:?}", expected[ix])),
                None => Ok(()),
            },
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

    /// The names of the chosen columns, where the files have a header.
    pub fn column_names(&self) -> Option<&[String]> {
        self.column_names.as_deref()
    }

    /// The labels of the label column.
    pub fn truth(&self) -> Option<&Truth> {
        self.truth.as_ref()
    }

    /// Whether the rows are sparse counts.
    pub fn is_counts(&self) -> bool {
        is_counts(&self.tables[0])
    }

    /// The same rows as sparse counts. Every cell must be a whole number, not negative.
    pub fn into_counts(mut self) -> Result<Self> {
        let mut tables = Vec::with_capacity(self.tables.len());
        for (table_ix, table) in self.tables.iter().enumerate() {
            let counted = match **table {
                Table::Counts(_) => Arc::clone(table),
                _ => Arc::new(Table::Counts(self.counted(table_ix)?)),
            };
            tables.push(counted);
        }
        self.tables = tables;
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
        let column =
            self.column_names.as_ref().map_or_else(|| (column_ix + 1).to_string(), |all| all[column_ix].clone());
        let problem = format!("found {cell}, expected a count: a whole number from 0 to {}", u32::MAX);
        let error = match self.files.get(table_ix) {
            Some(file) => InputError::in_file(&file.path, problem),
            None => InputError::new(problem),
        };
        let hint = format!("leave the column out with --exclude {column}, or choose a family for measurements");
        error.at_row(row_ix + 1).at_column(column).hint(hint)
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

fn count(cell: f64) -> Option<u32> {
    (cell >= 0.0 && cell <= f64::from(u32::MAX) && cell.fract() == 0.0).then_some(cell as u32)
}

/// A path need not be UTF-8, JSON must be.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::{Files, npy, open, rows};

    #[test]
    fn files_are_laid_end_to_end_in_the_given_order() {
        let files = Files::new();
        let cells: Vec<u8> = [9f32, 10.0].iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let paths = [
            files.write("b.csv", "1,2\n3,4\n"),
            files.write("a.tsv.gz", "5\t6\n"),
            files.write("c.npy", npy("'<f4'", false, "(1, 2)", &cells)),
        ];
        let data = DataSet::open(&paths, &Selection::default()).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [9.0, 10.0]]);
        assert_eq!((data.name(), data.n_rows(), data.shard(1..3).n_rows()), ("b", 4, 2));
        let n_rows: Vec<_> = data.files().iter().map(|file| (file.format, file.n_rows)).collect();
        assert_eq!(n_rows, [(Format::Csv, 2), (Format::Tsv, 1), (Format::Npy, 1)]);
        assert!(serde_json::to_string(data.files()).unwrap().contains(r#""format":"npy""#));
    }

    #[test]
    fn labels_are_numbered_across_files_and_columns_found_by_name() {
        let files = Files::new();
        let paths = [files.write("a.csv", "x,kind,y\n1,b,2\n"), files.write("b.csv", "y,x,kind\n4,3,a\n6,5,b\n")];
        let columns = Some(vec!["x".into(), "y".into()]);
        let selection = Selection { columns, label_column: Some("kind".into()), exclude: vec![] };
        let data = DataSet::open(&paths, &selection).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(data.truth().unwrap().labels, [0, 1, 0]);
    }

    #[test]
    fn whole_numbers_become_counts() {
        let data = open("t.csv", "a,b,c\n0,2,-0\n1,0,4294967295\n", &Selection::default()).unwrap();
        let dense = rows(&data);
        let counts = data.into_counts().unwrap();
        assert!(counts.is_counts());
        assert_eq!(rows(&counts), dense);
        assert_eq!(rows(&counts.into_counts().unwrap()), dense);
    }

    #[test]
    fn the_fingerprint_sees_cells_and_shape_but_no_file_borders() {
        let print = |table| DataSet::of_table("t", table).fingerprint();
        let cells = vec![1.0, 2.0, 3.0, 4.0];
        let whole = print(Table::from_f64(2, cells.clone()));
        assert_eq!(whole, print(Table::from_f64(2, cells.clone())));
        assert_ne!(whole, print(Table::from_f64(1, cells.clone())));
        assert_ne!(whole, print(Table::from_f64(2, vec![1.0, 2.0, 4.0, 3.0])));
        let files = Files::new();
        let paths = [files.write("a.csv", "1,2\n"), files.write("b.csv", "3,4\n")];
        assert_eq!(whole, DataSet::open(&paths, &Selection::default()).unwrap().fingerprint());
        let counts = |text: &str| open("docword.t.txt", text, &Selection::default()).unwrap().fingerprint();
        assert_ne!(counts("2\n2\n2\n1 1 1\n1 2 1\n"), counts("2\n2\n2\n1 1 1\n2 2 1\n"));
    }
}
