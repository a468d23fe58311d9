//! Small files for the readers' tests.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::rows::Row;

use super::{DataSet, Selection};

/// Files in a folder that goes away with it.
pub(crate) struct Files {
    folder: TempDir,
}

impl Files {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Writes a file, zipped if its name says so.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        let contents = contents.as_ref();
        fs::write(&path, if name.ends_with(".gz") { gzip(contents) } else { contents.to_vec() }).unwrap();
        path
    }
}

/// Opens one file with these contents.
pub(crate) fn open(name: &str, contents: impl AsRef<[u8]>, selection: &Selection) -> Result<DataSet> {
    let files = Files::new();
    let path = files.write(name, contents);
    DataSet::open(&[path], selection)
}

/// Opening must work or be refused with a message; the strategy's files are small, so a failing system is no excuse.
pub(crate) fn opens_or_explains(name: &str, contents: &[u8]) {
    let selection = Selection { exclude: vec!["1".into()], ..Selection::default() };
    for selection in [Selection::default(), selection] {
        match open(name, contents, &selection) {
            Ok(data) => assert!(data.n_rows() > 0 && data.n_columns() > 0),
            Err(Error::Input(error)) => assert!(!error.problem.is_empty()),
            Err(error) => panic!("not the user's mistake: {error}"),
        }
    }
}

/// The rows as doubles, counts spread out.
pub(crate) fn rows(data: &DataSet) -> Vec<Vec<f64>> {
    let spread = |row: Row<'_>| match row {
        Row::F32(cells) => cells.iter().map(|&cell| cell.into()).collect(),
        Row::F64(cells) => cells.to_vec(),
        Row::Counts(counts) => {
            let mut cells = vec![0.0; data.n_columns()];
            counts.iter().for_each(|(word, count)| cells[word as usize] = count.into());
            cells
        }
    };
    data.all_rows().rows().map(spread).collect()
}

/// An `.npy` file as NumPy writes it.
pub(crate) fn npy(descr: &str, fortran_order: bool, shape: &str, cells: &[u8]) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &length, header.as_bytes(), cells].concat()
}

/// Zips.
pub(crate) fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

/// Any bytes, or a good file with some bytes changed and its end cut off.
pub(crate) fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = good.len();
    let changes = proptest::collection::vec((0..length, any::<u8>()), 0..4);
    let harmed = (changes, 0..=length).prop_map(move |(changes, end)| {
        let mut bytes = good.clone();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        bytes.truncate(if end % 3 == 0 { end } else { length });
        bytes
    });
    prop_oneof![4 => harmed, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}
