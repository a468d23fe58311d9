//! Which format a file has, by its name, and which files of a folder are data.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{InputError, Result};

const SUPPORTED: &str = "supported are .npy, .csv, .tsv and docword*.txt, each also with .gz";

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
}

impl Format {
    /// The format that the file's name tells.
    pub fn of_path(path: &Path) -> Result<Self> {
        let name = lowercase_name(path);
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.') {
            Some((_, "npy")) => Ok(Self::Npy),
            Some((_, "csv")) => Ok(Self::Csv),
            Some((_, "tsv")) => Ok(Self::Tsv),
            Some((_, "txt")) if name.starts_with("docword") => Ok(Self::Docword),
            Some((_, "txt")) => {
                let error = InputError::in_file(path, format!("a .txt file may hold anything; {SUPPORTED}"));
                Err(error.hint("name a table .csv or .tsv, and a file of word counts docword….txt").into())
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
    for extension in [".gz", ".npy", ".csv", ".tsv", ".txt"] {
        let cut = stem.len().saturating_sub(extension.len());
        if stem.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case(extension)) {
            stem = &stem[..cut];
        }
    }
    if stem.is_empty() { "data".into() } else { stem.into() }
}

/// The paths with each folder replaced by its data files in order of their names.
pub(crate) fn expand_folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            files.extend(data_files(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn data_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| InputError::in_file(folder, format!("the folder cannot be read: {error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let hidden = lowercase_name(&path).starts_with('.');
        if !hidden && path.is_file() && Format::of_path(&path).is_ok() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(InputError::in_file(folder, "the folder holds no data files").hint(SUPPORTED).into());
    }
    files.sort();
    Ok(files)
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

    #[test]
    fn the_name_tells_the_format() {
        let format = |name: &str| Format::of_path(Path::new(name)).ok();
        assert_eq!(format("a/b.npy"), Some(Format::Npy));
        assert_eq!(format("B.CSV.GZ"), Some(Format::Csv));
        assert_eq!(format("x.y.tsv"), Some(Format::Tsv));
        assert_eq!(format("docword.nips.txt.gz"), Some(Format::Docword));
        assert_eq!([format("vocab.nips.txt"), format("x.parquet"), format("csv"), format("x.gz")], [None; 4]);
    }

    #[test]
    fn a_data_set_is_named_without_folder_and_extensions() {
        let names = ["a/iris.csv", "docword.reuters.txt.gz", "X.NPY", "runs/shards", "..", "ä.gz"];
        let expected = ["iris", "docword.reuters", "X", "shards", "data", "ä"];
        assert_eq!(names.map(|name| data_name(Path::new(name))), expected);
    }

    #[test]
    fn a_folder_is_its_data_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv.gz", "README.md", ".hidden.csv", "vocab.txt"] {
            fs::write(folder.path().join(name), "1\n").unwrap();
        }
        fs::create_dir(folder.path().join("sub.csv")).unwrap();
        let files = expand_folders(&[folder.path().into(), "c.npy".into()]).unwrap();
        assert_eq!(files, [folder.path().join("a.csv.gz"), folder.path().join("b.csv"), "c.npy".into()]);
    }
}
