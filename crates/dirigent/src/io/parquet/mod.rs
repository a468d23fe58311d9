//! `.parquet`: typed columns with names, read some rows at a time.
//!
//! Numbers are numbers, booleans 0 and 1, dates and times days, texts levels, nothing a missing cell. A column of lists, all of the same length, is as many columns: `name.0`,
//! `name.1` and so on; it is chosen as a whole. If every chosen column is in single precision, so is the table. One that is too large for the memory goes to
//! a file, batch by batch.

mod leaf;
mod pages;
mod rows;
mod schema;
mod thrift;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};

use crate::error::{Error, InputError, Result};
use crate::rows::Table;

use super::cells::{self, Cell};
use super::columns::{FileColumns, Names};
use super::labels::TruthBuilder;
use super::left_out::LeftOut;
use super::selection::{ColumnNames, FileSelection, Selection};
use super::source;
use super::spill::CellWriter;
use super::storage::Storage;
use leaf::{Batch, Leaf};
use rows::ParquetRows;
use schema::{Field, LeafKind};

const DAMAGED: &str = "the file is damaged or was not written to the end: copy or write it again";
/// Rows that are taken from each column in turn.
const BATCH: usize = 2048;

/// Reads a table; the labels, if asked for, are added to `truth`.
pub(crate) fn read(
    path: &Path,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
    storage: &Storage,
) -> Result<Table> {
    guarded(path, || {
        let file = File::open(path)?;
        let unsupported = file.unsupported(selection);
        let plan = file.plan(&selection.without(&unsupported))?;
        unsupported.into_iter().for_each(|column| columns.add_left_out(column));
        let names = Names { names: &plan.chosen.names, has_header: true };
        columns.begin(path, plan.chosen.columns.len(), Some(names), &plan.chosen.text)?;
        let of_lists = plan.sources.iter().filter(|source| file.fields[source.field_ix].is_list);
        of_lists.flat_map(|source| &source.targets).for_each(|&(_, column)| columns.set_of_array(column));
        if plan.is_single {
            file.table::<f32>(&plan, columns, truth, storage)
        } else {
            file.table::<f64>(&plan, columns, truth, storage)
        }
    })
}

/// What the columns are called, those of lists one by one.
pub(crate) fn columns(path: &Path) -> Result<ColumnNames> {
    guarded(path, || Ok(ColumnNames::of_header(File::open(path)?.names()?.into_iter().map(|(name, _)| name).collect())))
}

/// The library checks much of what a damaged file can say, but not all: what it stumbles over is the file's fault.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(InputError::in_file(path, "cannot be read as a Parquet file").hint(DAMAGED).into()))
}

struct File<'a> {
    path: &'a Path,
    file: std::fs::File,
    reader: SerializedFileReader<std::fs::File>,
    fields: Vec<Field>,
}

/// An element of a column of the file.
#[derive(Debug, Clone, Copy)]
struct Element {
    field_ix: usize,
    element_ix: usize,
}

/// What is to be read.
struct ReadPlan {
    chosen: FileSelection,
    /// The fields that are needed, each with the elements that are wanted and the data columns where they go.
    sources: Vec<Source>,
    label: Option<usize>,
    is_single: bool,
}

struct Source {
    field_ix: usize,
    /// Elements of a list; 1 for what is none.
    length: usize,
    targets: Vec<(usize, usize)>,
}

impl<'a> File<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let (file, _) = source::open(path)?;
        pages::check_end(&file).map_err(|error| unreadable(path, &error))?;
        let again = file.try_clone().map_err(|error| unreadable(path, &error.into()))?;
        let reader = SerializedFileReader::new(again).map_err(|error| unreadable(path, &error))?;
        let fields = schema::fields(reader.metadata().file_metadata().schema_descr());
        Ok(Self { path, file, reader, fields })
    }

    /// The columns, those of lists one by one.
    fn names(&self) -> Result<Vec<(String, Element)>> {
        let mut names = Vec::new();
        for (field_ix, field) in self.fields.iter().enumerate() {
            if field.is_list && !matches!(field.kind, LeafKind::Unsupported(_)) {
                let element = |element_ix| (format!("{}.{element_ix}", field.name), Element { field_ix, element_ix });
                names.extend((0..self.list_length(field)?).map(element));
            } else {
                names.push((field.name.clone(), Element { field_ix, element_ix: 0 }));
            }
        }
        Ok(names)
    }

    /// The length of the first list of a column.
    fn list_length(&self, field: &Field) -> Result<usize> {
        for group_ix in 0..self.reader.num_row_groups() {
            let mut leaf = self.leaf(group_ix, field)?;
            for n_rows in batches(self.n_rows(group_ix)) {
                let batch = leaf.read(n_rows).map_err(|error| self.in_column(field, &error))?;
                if let Some(length) = batch.lengths.iter().flatten().next() {
                    return Ok(*length);
                }
            }
        }
        Ok(0)
    }

    fn plan(&self, selection: &Selection) -> Result<ReadPlan> {
        let (names, elements): (Vec<_>, Vec<_>) = self.names()?.into_iter().unzip();
        let chosen = self.expanded(selection, &elements, &names).choose(self.path, &ColumnNames::of_header(names))?;
        let mut n_elements = vec![0; self.fields.len()];
        elements.iter().for_each(|element| n_elements[element.field_ix] += 1);
        let mut sources: Vec<Source> = Vec::new();
        let mut source_of: HashMap<usize, usize> = HashMap::new();
        for (column, &ix) in chosen.columns.iter().enumerate() {
            let Element { field_ix, element_ix } = elements[ix];
            let source_ix = *source_of.entry(field_ix).or_insert(sources.len());
            if source_ix == sources.len() {
                self.check_supported(&self.fields[field_ix])?;
                sources.push(Source { field_ix, length: n_elements[field_ix], targets: Vec::new() });
            }
            sources[source_ix].targets.push((element_ix, column));
        }
        let label = chosen.label.map(|ix| elements[ix].field_ix);
        if let Some(field) = label.map(|field_ix| &self.fields[field_ix]) {
            self.check_supported(field)?;
            if field.is_list {
                let error = InputError::in_file(self.path, "found lists, expected labels").at_column(&field.name);
                return Err(error.hint("name a column with one value a row").into());
            }
        }
        let is_single = sources.iter().all(|source| self.fields[source.field_ix].kind == LeafKind::Single);
        Ok(ReadPlan { chosen, sources, label, is_single })
    }

    /// The selection with the elements of a list where it names the list.
    fn expanded(&self, selection: &Selection, elements: &[Element], names: &[String]) -> Selection {
        let expand = |asked: &[String]| -> Vec<String> {
            let mut expanded = Vec::new();
            for name in asked {
                match self.fields.iter().position(|field| field.is_list && field.name == *name) {
                    Some(list) => {
                        let of_list = elements.iter().zip(names).filter(|(element, _)| element.field_ix == list);
                        expanded.extend(of_list.map(|(_, name)| name.clone()));
                    }
                    None => expanded.push(name.clone()),
                }
            }
            expanded
        };
        Selection {
            columns: selection.columns.as_deref().map(expand),
            exclude: expand(&selection.exclude),
            text_columns: expand(&selection.text_columns),
            ..selection.clone()
        }
    }

    /// The columns that cannot be read and that the user does not ask for.
    fn unsupported(&self, selection: &Selection) -> Vec<LeftOut> {
        let left_out = |field: &Field| match field.kind {
            LeafKind::Unsupported(what) if !selection.names(&field.name) => {
                Some(LeftOut { name: field.name.clone(), why: format!("it holds {what}") })
            }
            _ => None,
        };
        self.fields.iter().filter_map(left_out).collect()
    }

    fn check_supported(&self, field: &Field) -> Result<(), InputError> {
        let LeafKind::Unsupported(what) = field.kind else { return Ok(()) };
        let error = InputError::in_file(
            self.path,
            format!("holds {what}, expected numbers, booleans, text or lists of numbers"),
        );
        let hint = format!("leave it out with `exclude` {}, or convert it before writing", field.name);
        Err(error.at_column(&field.name).hint(hint))
    }

    /// How many rows a part of the file claims.
    fn n_rows(&self, group_ix: usize) -> usize {
        usize::try_from(self.reader.metadata().row_group(group_ix).num_rows()).unwrap_or(0)
    }

    /// How many rows the file claims: for a decision, not to be believed.
    fn n_rows_in_all(&self) -> u64 {
        (0..self.reader.num_row_groups()).fold(0u64, |all, group_ix| all.saturating_add(self.n_rows(group_ix) as u64))
    }

    fn leaf(&self, group_ix: usize, field: &Field) -> Result<Leaf> {
        let chunk = self.reader.metadata().row_group(group_ix).column(field.leaf_ix);
        let compression = chunk.compression();
        use Compression::{GZIP, SNAPPY, UNCOMPRESSED, ZSTD};
        if !matches!(compression, UNCOMPRESSED | SNAPPY | GZIP(_) | ZSTD(_)) {
            let problem = format!("found the compression {compression}, expected snappy, gzip, zstd or none");
            let error = InputError::in_file(self.path, problem).at_column(&field.name);
            return Err(error.hint("write it again with another compression").into());
        }
        let leaf = pages::column(&self.file, chunk, self.n_rows(group_ix))
            .and_then(|reader| Leaf::new(reader, field.kind, &chunk.column_descr_ptr()));
        leaf.map_err(|error| self.in_column(field, &error))
    }

    fn table<T: Cell>(
        &self,
        plan: &ReadPlan,
        columns: &mut FileColumns,
        truth: &mut TruthBuilder,
        storage: &Storage,
    ) -> Result<Table> {
        let n_columns = plan.chosen.columns.len();
        let n_bytes = self.n_rows_in_all().saturating_mul((n_columns * size_of::<T>()) as u64);
        let spilled = storage.spills(n_bytes).then(|| CellWriter::create(storage)).transpose()?;
        if spilled.is_none() {
            storage.check_table(self.path, n_bytes)?;
        }
        let mut rows = ParquetRows::<T>::new(self, columns, n_columns, spilled);
        for group_ix in 0..self.reader.num_row_groups() {
            let open = |field_ix: usize| self.leaf(group_ix, &self.fields[field_ix]);
            let mut leaves = plan.sources.iter().map(|source| open(source.field_ix)).collect::<Result<Vec<_>>>()?;
            let mut label = plan.label.map(open).transpose()?;
            for n_rows in batches(self.n_rows(group_ix)) {
                for (source, leaf) in plan.sources.iter().zip(&mut leaves) {
                    let field = &self.fields[source.field_ix];
                    let batch = leaf.read(n_rows).map_err(|error| self.in_column(field, &error))?;
                    rows.put(source, field, batch, n_rows)?;
                }
                if let (Some(leaf), Some(field_ix)) = (&mut label, plan.label) {
                    let field = &self.fields[field_ix];
                    let batch = leaf.read(n_rows).map_err(|error| self.in_column(field, &error))?;
                    self.push_labels(field, batch, rows.n_rows(), truth)?;
                }
                rows.end_batch(n_rows)?;
            }
        }
        if rows.n_rows() == 0 {
            return Err(InputError::in_file(self.path, "zero rows").hint("was the right table written?").into());
        }
        Ok(T::table(n_columns, rows.into_cells()?))
    }

    fn push_labels(&self, field: &Field, batch: &Batch, first_row: usize, truth: &mut TruthBuilder) -> Result<()> {
        let missing = |ix: usize| {
            let error = InputError::in_file(self.path, "found nothing, expected a label").at_row(first_row + ix + 1);
            error.at_column(&field.name).hint("give every row a label")
        };
        for (ix, text) in batch.texts.iter().enumerate() {
            let text = text.as_ref().ok_or_else(|| missing(ix))?;
            truth.push(self.text(field, text.data(), first_row + ix)?);
        }
        for (ix, &number) in batch.numbers.iter().enumerate() {
            if !number.is_finite() {
                return Err(missing(ix).into());
            }
            truth.push(&cells::name(number));
        }
        Ok(())
    }

    fn text<'b>(&self, field: &Field, bytes: &'b [u8], row_ix: usize) -> Result<&'b str, InputError> {
        std::str::from_utf8(bytes).map_err(|_| {
            let problem = format!("found {}, which is not UTF-8, expected UTF-8 text", source::quoted(bytes));
            let hint = format!("leave the column out with `exclude` {}", field.name);
            InputError::in_file(self.path, problem).at_row(row_ix + 1).at_column(&field.name).hint(hint)
        })
    }

    fn in_column(&self, field: &Field, error: &ParquetError) -> Error {
        match unreadable(self.path, error) {
            Error::Input(input) => input.at_column(&field.name).into(),
            other => other,
        }
    }
}

/// Rows in batches.
fn batches(n_rows: usize) -> impl Iterator<Item = usize> {
    (0..n_rows).step_by(BATCH).map(move |first| BATCH.min(n_rows - first))
}

/// What to say of a file that the library refuses: a failing disk is the system's, all else the file's.
fn unreadable(path: &Path, error: &ParquetError) -> Error {
    InputError::in_file(path, format!("cannot be read as a Parquet file: {error}")).hint(DAMAGED).into()
}

#[cfg(test)]
mod tests;
