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
        if self.missing.iter().all(|n_cells| *n_cells == 0) {
            return Ok(());
        }
        let (table_ix, row_ix, column_ix) = self.first_missing().expect("there are missing cells");
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
        let selection = Selection { columns, label_column: Some("kind".into()), ..Selection::default() };
        let data = DataSet::open(&paths, &selection).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(data.truth().unwrap().labels, [0, 1, 0]);
    }

    #[test]
    fn the_first_cell_decides_in_whichever_file_it_stands() {
        let files = Files::new();
        let cells: Vec<u8> = [f64::NAN, 5.0].iter().flat_map(|cell| cell.to_le_bytes()).collect();
        let paths = [
            files.write("a.npy", npy("'<f8'", false, "(1, 2)", &cells)),
            files.write("b.csv", ",7\nred,8\n"),
            files.write("c.csv", "blue,9\nred,\n"),
        ];
        let data = DataSet::open(&paths, &Selection::default()).unwrap();
        let names = vec!["red".to_owned(), "blue".to_owned()];
        assert_eq!((data.levels(), data.missing()), (&[Some(names), None][..], vec![2, 1]));
        let cells: Vec<f64> = rows(&data).concat();
        assert_eq!(cells[3..7], [7.0, 0.0, 8.0, 1.0]);
        let error = DataSet::open(&[paths[2].clone(), files.write("d.csv", "red,1\nblue,x\n")], &Selection::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("d.csv, line 2, column 2: found \"x\", expected a number"), "{error}");
    }

    #[test]
    fn what_needs_numbers_refuses_missing_cells_and_text_with_their_place() {
        let refused = |text: &str| open("t.csv", text, &Selection::default()).unwrap().into_counts().unwrap_err();
        let error = refused("x,y\n1,2\n3,\n,4\n");
        assert!(error.to_string().contains("t.csv, row 2, column y: the cell is missing (2 cells in all)"), "{error}");
        assert!(error.hint().unwrap().contains("--exclude y"));
        let error = refused("x,y\n1,a\n");
        assert!(error.to_string().contains("t.csv, column y: holds text, such as \"a\""), "{error}");
        let in_memory = DataSet::of_table("t", Table::from_f32(2, vec![1.0, 2.0, 3.0, f32::NAN]));
        assert_eq!((in_memory.missing(), in_memory.levels().len()), (vec![0, 1], 2));
        assert!(in_memory.check_numbers("it").unwrap_err().to_string().starts_with("row 2, column 2: the cell"));
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
