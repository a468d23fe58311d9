//! Which format a file has, by its name, and which files a folder or a pattern stands for.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::address::{ObjectAddress, PATTERN};
use super::remote::{self, FetchedFile};
use super::source;
use super::storage::Storage;
use crate::error::{InputError, Result};

const SUPPORTED: &str = "supported are .npy, .csv, .tsv, .svm (.libsvm, .svmlight), .mtx and docword*.txt, each also with .gz, and .parquet \
                         and .npz";

/// What the name of a data set goes without, from the end.
const EXTENSIONS: [&str; 11] =
    [".gz", ".npy", ".csv", ".tsv", ".txt", ".parquet", ".npz", ".mtx", ".svm", ".libsvm", ".svmlight"];

/// How a file holds its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A NumPy array.
    Npy,
    /// Text, cells separated by commas.
    Csv,
    /// Text, cells separated by tabs.
    Tsv,
    /// UCI "bag of words": lines of `document word count`.
    Docword,
    /// Columns of typed values, compressed.
    Parquet,
    /// Sparse text: lines of `label column:value …`.
    Svmlight,
    /// Text of the Matrix Market: the entries of a matrix, or all its cells.
    MatrixMarket,
    /// An archive of NumPy arrays: sparse rows, or one array.
    Npz,
}

impl Format {
    /// The format that the file's name tells.
    pub fn of_path(path: &Path) -> Result<Self> {
        let name = lowercase_name(path);
        let is_zipped = name.ends_with(".gz");
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.') {
            Some((_, extension @ ("parquet" | "npz"))) if is_zipped => {
                let error = InputError::in_file(
                    path,
                    format!("a .{extension} file is compressed inside, not zipped as a whole"),
                );
                Err(error.hint("unzip it with gunzip").into())
            }
            Some((_, "parquet")) => Ok(Self::Parquet),
            Some((_, "npz")) => Ok(Self::Npz),
            Some((_, "svm" | "libsvm" | "svmlight")) => Ok(Self::Svmlight),
            Some((_, "mtx")) => Ok(Self::MatrixMarket),
            Some((_, "npy")) => Ok(Self::Npy),
            Some((_, "csv")) => Ok(Self::Csv),
            Some((_, "tsv")) => Ok(Self::Tsv),
            Some((_, "txt")) if name.starts_with("docword") => Ok(Self::Docword),
            Some((_, "txt")) => {
                let error = InputError::in_file(path, format!("a .txt file may hold anything; {SUPPORTED}"));
                Err(error.hint("name a table .csv or .tsv, and a file of word counts docword….txt").into())
            }
            Some((_, sheet @ ("xlsx" | "xls" | "ods" | "xlsm"))) => {
                let error = InputError::in_file(path, format!("a spreadsheet (.{sheet}) cannot be read"));
                Err(error.hint("save the sheet as CSV, or convert it to Parquet").into())
            }
            Some((_, other)) => Err(unknown(path, &format!("the format .{other} is not known"))),
            None => Err(unknown(path, "the name has no extension that tells the format")),
        }
    }
}

/// The name of a data set: that of its first file without folder and extensions.
pub(crate) fn data_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut stem = name.as_str();
    // of a pattern, what all its files have in common
    if is_pattern(path) && !path.exists() {
        stem = stem.split(PATTERN).next().unwrap_or_default().trim_end_matches(['-', '_', '.']);
    }
    for extension in EXTENSIONS {
        let cut = stem.len().saturating_sub(extension.len());
        if stem.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case(extension)) {
            stem = &stem[..cut];
        }
    }
    if stem.is_empty() { "data".into() } else { stem.into() }
}

/// The files that the paths stand for: of a folder its data files, of a pattern the files that it fits, each in order of their names. Objects
/// of a store are fetched.
pub(crate) fn expand(paths: &[PathBuf], storage: &Storage) -> Result<Vec<FetchedFile>> {
    let mut files = Vec::new();
    for path in paths {
        match ObjectAddress::of(path) {
            Some(address) if !path.exists() => files.extend(remote::fetch(address, storage)?),
            _ => files.extend(files_at(path)?.into_iter().map(FetchedFile::here)),
        }
    }
    Ok(files)
}

fn files_at(path: &Path) -> Result<Vec<PathBuf>> {
    // a name may have such letters in it
    if is_pattern(path) && !path.exists() {
        let mut files = Vec::new();
        for path in matches(path)? {
            files.extend(if path.is_dir() { data_files(&path)? } else { vec![path] });
        }
        return Ok(files);
    }
    if path.is_dir() { data_files(path) } else { Ok(vec![path.to_path_buf()]) }
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(PATTERN)
}

fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let wrong = |problem: String, hint: &str| InputError::in_file(pattern, problem).hint(hint);
    let text = pattern.to_str().ok_or_else(|| wrong("the pattern is not UTF-8".into(), "name the files one by one"))?;
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::default() };
    let found = glob::glob_with(text, options).map_err(|error| {
        wrong(format!("is no pattern: {error}"), "use *, ? and [abc], or name the files one by one")
    })?;
    let files = found
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| InputError::in_file(error.path(), format!("the folder cannot be read: {}", error.error())))?;
    if files.is_empty() {
        return Err(wrong("no file fits the pattern".into(), source::where_to_look(pattern)).into());
    }
    Ok(files)
}

fn data_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| InputError::in_file(folder, format!("the folder cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && is_data_file(&path) {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(InputError::in_file(folder, "the folder holds no data files").hint(SUPPORTED).into());
    }
    files.sort();
    Ok(files)
}

/// Whether a file of a folder is one of its data files, by its name.
pub(crate) fn is_data_file(path: &Path) -> bool {
    !lowercase_name(path).starts_with('.') && Format::of_path(path).is_ok()
}

fn lowercase_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn unknown(path: &Path, problem: &str) -> crate::Error {
    InputError::in_file(path, problem).hint(SUPPORTED).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let found = super::expand(paths, &Storage::default())?;
        Ok(found.into_iter().map(|found| found.file).collect())
    }

    #[test]
    fn the_name_tells_the_format() {
        let format = |name: &str| Format::of_path(Path::new(name)).ok();
        assert_eq!(format("a/b.npy"), Some(Format::Npy));
        assert_eq!(format("B.CSV.GZ"), Some(Format::Csv));
        assert_eq!(format("x.y.tsv"), Some(Format::Tsv));
        assert_eq!(format("docword.nips.txt.gz"), Some(Format::Docword));
        assert_eq!([format("x.snappy.parquet"), format("X.NPZ")], [Some(Format::Parquet), Some(Format::Npz)]);
        assert_eq!(["a.svm", "a.libsvm", "a.svmlight.gz"].map(format), [Some(Format::Svmlight); 3]);
        assert_eq!(format("a.mtx.gz"), Some(Format::MatrixMarket));
        assert_eq!(["vocab.nips.txt", "x.orc", "csv", "x.gz", "x.parquet.gz", "x.npz.gz"].map(format), [None; 6]);
    }

    #[test]
    fn a_data_set_is_named_without_folder_and_extensions() {
        let names = [
            "a/iris.csv",
            "docword.reuters.txt.gz",
            "X.NPY",
            "runs/shards",
            "..",
            "ä.gz",
            "x.parquet",
            "a/part-*.csv",
            "*",
        ];
        let expected = ["iris", "docword.reuters", "X", "shards", "data", "ä", "x", "part", "data"];
        assert_eq!(names.map(|name| data_name(Path::new(name))), expected);
    }

    #[test]
    fn a_folder_is_its_data_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv.gz", "README.md", ".hidden.csv", "vocab.txt"] {
            fs::write(folder.path().join(name), "1\n").unwrap();
        }
        fs::create_dir(folder.path().join("sub.csv")).unwrap();
        let files = expand(&[folder.path().into(), "c.npy".into()]).unwrap();
        assert_eq!(files, [folder.path().join("a.csv.gz"), folder.path().join("b.csv"), "c.npy".into()]);
    }

    #[test]
    fn a_pattern_is_the_files_that_it_fits_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["part-2.csv", "part-1.csv", "other.csv", ".part-0.csv", "[x].csv"] {
            fs::write(path(name), "1\n").unwrap();
        }
        assert_eq!(expand(&[path("part-*.csv")]).unwrap(), [path("part-1.csv"), path("part-2.csv")]);
        assert_eq!(expand(&[path("*part-?.csv")]).unwrap(), [path("part-1.csv"), path("part-2.csv")]);
        assert_eq!(expand(&[path("[x].csv")]).unwrap(), [path("[x].csv")], "a file of that name comes first");
        let refused = |name: &str, part: &str| {
            let error = expand(&[path(name)]).unwrap_err();
            assert!(error.to_string().contains(part) && error.hint().is_some(), "{error}");
        };
        refused("none-*.csv", "no file fits the pattern");
        refused("a***.csv", "is no pattern");
    }

    #[test]
    fn an_address_that_cannot_be_fetched_is_refused() {
        let error = expand(&["ftp://host/x.npy".into()]).unwrap_err();
        assert!(error.to_string().contains("found a ftp:// address") && error.hint().is_some(), "{error}");
    }
}
