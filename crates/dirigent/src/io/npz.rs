//! NumPy's `.npz`: sparse rows as `scipy.sparse.save_npz` writes them, or an archive of one plain array.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::{Error, InputError, Result};

use super::columns::FileColumns;
use super::data_set::Loaded;
use super::labels::TruthBuilder;
use super::npy;
use super::selection::Selection;
use super::source;
use super::sparse::{MOST_COLUMNS, SparseRows};

const DAMAGED: &str = "the file is damaged or was not written to the end: copy or write it again";
const SAVE: &str = "save sparse rows with scipy.sparse.save_npz(path, matrix.tocsr()), a dense array with numpy.save";
/// Far above the few letters of a format's name and the header before them.
const LONGEST_FORMAT: u64 = 4096;

/// Reads sparse rows or an array; the labels of an array, if asked for, are added to `truth`.
pub(crate) fn read(
    path: &Path,
    selection: &Selection,
    columns: &mut FileColumns,
    truth: &mut TruthBuilder,
) -> Result<Loaded> {
    let mut archive = Archive::open(path)?;
    match archive.plain_array()? {
        Some(name) => archive
            .entry(&name, |name, entry| npy::read_table(name, entry, selection, columns, truth))
            .map(Loaded::Table),
        None => {
            selection.refuse_columns(path, "sparse rows")?;
            selection.refuse_labels(path)?;
            archive.sparse_rows().map(Loaded::Sparse)
        }
    }
}

/// The number of columns, where they can be chosen from: in a plain array.
pub(crate) fn n_columns(path: &Path) -> Result<Option<usize>> {
    let mut archive = Archive::open(path)?;
    match archive.plain_array()? {
        Some(name) => archive.entry(&name, |name, entry| npy::columns_inside(name, entry)).map(Some),
        None => Ok(None),
    }
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let (file, _) = source::open(path)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            let problem = format!("cannot be read as an .npz archive: {error}");
            InputError::in_file(path, problem).hint(DAMAGED)
        })?;
        Ok(Self { path, zip })
    }

    /// The name of the one array in the archive; nothing where it holds sparse rows.
    fn plain_array(&self) -> Result<Option<String>, InputError> {
        let names = self.zip.file_names().collect::<Result<Vec<_>, _>>().map_err(|error| {
            InputError::in_file(self.path, format!("cannot be read as an .npz archive: {error}")).hint(DAMAGED)
        })?;
        let names: Vec<&str> = names.iter().map(|name| name.strip_suffix(".npy").unwrap_or(name)).collect();
        if ["format", "shape", "data"].iter().all(|part| names.contains(part)) {
            return Ok(None);
        }
        match names.as_slice() {
            [name] => Ok(Some((*name).to_owned())),
            [] => Err(InputError::in_file(self.path, "the archive holds no array").hint(SAVE)),
            several => {
                let shown: Vec<&str> = several.iter().take(8).copied().collect();
                let problem =
                    format!("found {} arrays ({}), expected one, or sparse rows", several.len(), shown.join(", "));
                Err(InputError::in_file(self.path, problem).hint(SAVE))
            }
        }
    }

    fn sparse_rows(&mut self) -> Result<SparseRows> {
        self.check_format()?;
        let (n_rows, n_columns) = match self.entry("shape", |name, entry| npy::read_indices(name, entry))?.as_slice() {
            &[n_rows, n_columns] if n_rows > 0 && (1..=MOST_COLUMNS as usize).contains(&n_columns) => {
                (n_rows, n_columns)
            }
            other => return Err(self.wrong("shape", format!("found {other:?}, expected rows and columns")).into()),
        };
        let starts = self.entry("indptr", |name, entry| npy::read_indices(name, entry))?;
        let columns = self.entry("indices", |name, entry| npy::read_indices(name, entry))?;
        let values = self.entry("data", |name, entry| npy::read_vector(name, entry))?;
        if starts.len().checked_sub(1) != Some(n_rows) {
            let problem = format!("found {} numbers, expected one more than the {n_rows} rows", starts.len());
            return Err(self.wrong("indptr", problem).into());
        }
        if !starts.is_sorted() || starts[0] != 0 || starts[n_rows] != columns.len() || values.len() != columns.len() {
            let problem = format!("does not part the {} indices and {} values into rows", columns.len(), values.len());
            return Err(self.wrong("indptr", problem).into());
        }
        let mut rows = SparseRows::of_width(n_columns);
        let mut entries = Vec::new();
        for (row_ix, range) in starts.windows(2).enumerate() {
            entries.clear();
            for ix in range[0]..range[1] {
                entries.push(self.check_entry(row_ix, columns[ix], values[ix], n_columns)?);
            }
            rows.push_row(&mut entries).map_err(|twice| {
                let error =
                    InputError::in_file(self.path, "found the entry twice, expected it once").at_row(row_ix + 1);
                error
                    .at_column((u64::from(twice.column) + 1).to_string())
                    .hint("call matrix.sum_duplicates() before saving")
            })?;
        }
        Ok(rows)
    }

    fn check_entry(
        &self,
        row_ix: usize,
        column: usize,
        value: f64,
        n_columns: usize,
    ) -> Result<(u32, f64), InputError> {
        if column >= n_columns {
            let problem = format!("found the column index {column}, expected 0 to {}", n_columns - 1);
            return Err(InputError::in_file(self.path, problem).at_row(row_ix + 1).hint(DAMAGED));
        }
        if value.is_infinite() {
            let error = InputError::in_file(self.path, format!("found {value}, expected a finite number"));
            return Err(error
                .at_row(row_ix + 1)
                .at_column((column + 1).to_string())
                .hint("write NaN for a missing value"));
        }
        Ok((column as u32, value))
    }

    /// Only rows one after the other can be read.
    fn check_format(&mut self) -> Result<()> {
        let text = self.entry("format", |name, entry| {
            let mut bytes = Vec::new();
            entry.take(LONGEST_FORMAT).read_to_end(&mut bytes).map_err(|error| Error::io("reading", name, error))?;
            // the letters come last, each in one byte or four
            let letters = bytes[bytes.len().saturating_sub(12)..].iter().copied();
            Ok(String::from_utf8_lossy(&letters.filter(u8::is_ascii_lowercase).collect::<Vec<_>>()).into_owned())
        })?;
        if text.ends_with("csr") {
            return Ok(());
        }
        let found = ["csc", "coo", "bsr", "dia"].into_iter().find(|format| text.ends_with(format));
        let problem = format!("found the sparse format {}, expected csr: row after row", found.unwrap_or("unknown"));
        Err(self.wrong("format", problem).hint("save it with scipy.sparse.save_npz(path, matrix.tocsr())").into())
    }

    /// Reads an entry of the archive.
    fn entry<T>(&mut self, name: &str, read: impl FnOnce(&Path, &mut dyn Read) -> Result<T>) -> Result<T> {
        let place = self.place(name);
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let mut entry =
            entry.map_err(|error| InputError::in_file(&place, format!("cannot be read: {error}")).hint(SAVE))?;
        read(&place, &mut BufReader::new(&mut entry)).map_err(|error| damaged(&place, error))
    }

    fn wrong(&self, name: &str, problem: String) -> InputError {
        InputError::in_file(self.place(name), problem).hint(DAMAGED)
    }

    fn place(&self, name: &str) -> PathBuf {
        format!("{}[{name}]", self.path.display()).into()
    }
}

/// A damaged archive is the user's, a failing disk the system's.
fn damaged(place: &Path, error: Error) -> Error {
    use ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof, Unsupported};
    match error {
        Error::Io { source, .. }
            if matches!(source.kind(), InvalidData | InvalidInput | Other | UnexpectedEof | Unsupported) =>
        {
            InputError::in_file(place, format!("cannot be read: {source}")).hint(DAMAGED).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use proptest::prelude::*;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    use super::*;
    use crate::io::test_files::{damaged, npy as array, open, opens_or_explains, rows};

    fn archive(entries: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    fn whole(numbers: &[i32]) -> Vec<u8> {
        let cells: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        array("'<i4'", false, &format!("({},)", numbers.len()), &cells)
    }

    /// Two rows of three columns: (0, 5, 7) and (2, 0, 0).
    fn parts() -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("format", array("'|S3'", false, "()", b"csr")),
            ("shape", whole(&[2, 3])),
            ("indptr", whole(&[0, 2, 3])),
            ("indices", whole(&[2, 1, 0])),
            ("data", whole(&[7, 5, 2])),
        ]
    }

    fn with(name: &str, bytes: Vec<u8>) -> Vec<u8> {
        let mut parts = parts();
        parts.iter_mut().find(|part| part.0 == name).unwrap().1 = bytes;
        archive(&parts, CompressionMethod::Stored)
    }

    fn explained(file: Vec<u8>) -> String {
        let error = open("t.npz", file, &Selection::default()).unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    }

    #[test]
    fn sparse_rows_are_read_compressed_or_not() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let data = open("t.npz", archive(&parts(), method), &Selection::default()).unwrap();
            assert_eq!((data.is_counts(), rows(&data)), (true, vec![vec![0.0, 5.0, 7.0], vec![2.0, 0.0, 0.0]]));
        }
    }

    #[test]
    fn arrays_that_do_not_fit_together_are_refused() {
        assert!(explained(with("indptr", whole(&[0, 2]))).contains("t.npz[indptr]: found 2 numbers"));
        assert!(explained(with("indptr", whole(&[0, 4, 3]))).contains("does not part"));
        assert!(explained(with("indptr", whole(&[0, 2, 2]))).contains("does not part"));
        assert!(explained(with("indptr", whole(&[1, 2, 3]))).contains("does not part"));
        assert!(explained(with("indptr", whole(&[0, -2, 3]))).contains("row 2: found -2, expected a whole number"));
        assert!(explained(with("indices", whole(&[2, 1]))).contains("does not part the 2 indices"));
        assert!(explained(with("data", whole(&[2, 1]))).contains("and 2 values"));
        assert!(
            explained(with("indices", whole(&[2, 3, 0]))).contains("row 1: found the column index 3, expected 0 to 2")
        );
        assert!(explained(with("indices", whole(&[2, 2, 0]))).contains("row 1, column 3: found the entry twice"));
        assert!(explained(with("shape", whole(&[2]))).contains("t.npz[shape]: found [2], expected rows and columns"));
        assert!(explained(with("shape", whole(&[0, 3]))).contains("expected rows and columns"));
        assert!(explained(with("shape", whole(&[i32::MAX, i32::MAX]))).contains("t.npz[indptr]: found 3 numbers"));
        let infinite: Vec<u8> = [1.0, f64::INFINITY, 2.0].iter().flat_map(|cell: &f64| cell.to_le_bytes()).collect();
        assert!(
            explained(with("data", array("'<f8'", false, "(3,)", &infinite))).contains("row 1, column 2: found inf")
        );
        assert!(explained(with("data", array("'<f8'", false, "(4294967296,)", &infinite))).contains("truncated"));
        assert!(explained(with("data", array("'|O'", false, "(3,)", &[0; 24]))).contains("Python objects"));
        assert!(explained(with("data", array("'<f8'", false, "(1, 3)", &infinite))).contains("found 2 dimensions"));
        let lacks: Vec<_> = parts().into_iter().filter(|part| part.0 != "indices").collect();
        assert!(explained(archive(&lacks, CompressionMethod::Stored)).contains("t.npz[indices]: cannot be read"));
        assert!(explained(archive(&[], CompressionMethod::Stored)).contains("holds no array"));
        assert!(explained(b"PK no archive".to_vec()).contains("cannot be read as an .npz archive"));
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(
            stored in damaged(archive(&parts(), CompressionMethod::Stored)),
            deflated in damaged(archive(&parts(), CompressionMethod::Deflated)),
            plain in damaged(archive(&[("rows", whole(&[1, 2, 3]))], CompressionMethod::Deflated)),
        ) {
            for file in [stored, deflated, plain] {
                opens_or_explains("t.npz", &file);
            }
        }
    }
}
