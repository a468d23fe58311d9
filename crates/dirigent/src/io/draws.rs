//! `draws.npy`: the states of a chain, T × N whole numbers.

use std::path::Path;

use crate::error::{InputError, Result};
use crate::posterior::draws::Partitions;

use super::npy::read_integers;

/// Reads draws: mapped, and looked at once to check every label.
pub fn read_draws(path: &Path) -> Result<Partitions> {
    let (n_rows, labels) = read_integers(path)?;
    let draws = Partitions::new(n_rows, labels);
    Ok(draws.map_err(|error| InputError { file: Some(path.to_path_buf()), ..error })?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;
    use crate::io::test_files::{Files, damaged, npy};

    fn read(name: &str, contents: impl AsRef<[u8]>) -> Result<Partitions> {
        let files = Files::new();
        read_draws(&files.write(name, contents))
    }

    fn cells(numbers: &[i32], bytes: fn(i32) -> [u8; 4]) -> Vec<u8> {
        numbers.iter().flat_map(|&number| bytes(number)).collect()
    }

    const TWO: [i32; 6] = [0, 0, 1, 0, 1, 2];

    #[test]
    fn what_a_run_writes_is_read_back() {
        let files = Files::new();
        let path = files.write("draws.npy", "");
        let mut writer = crate::run_dir::NpyWriter::create(&path, &[2, 3]).unwrap();
        writer.write(TWO).unwrap();
        writer.finish().unwrap();
        let draws = read_draws(&path).unwrap();
        assert_eq!((draws.n_draws(), draws.n_rows(), draws.k()), (2, 3, &[2, 3][..]));
        assert_eq!((draws.draw(0), draws.draw(1)), (&[0, 0, 1][..], &[0, 1, 2][..]));
    }

    #[test]
    fn byte_order_and_zipping_do_not_matter() {
        let little = npy("'<i4'", false, "(2, 3)", &cells(&TWO, i32::to_le_bytes));
        let big = npy("'>i4'", false, "(2, 3)", &cells(&TWO, i32::to_be_bytes));
        for (name, file) in [("d.npy", &little), ("d.npy.gz", &little), ("d.npy", &big), ("d.npy.gz", &big)] {
            assert_eq!(read(name, file).unwrap().draw(1), [0, 1, 2]);
        }
    }

    #[test]
    fn other_arrays_are_refused() {
        let refused = |file: Vec<u8>, part: &str| {
            let error = read("d.npy", file).unwrap_err().to_string();
            assert!(error.contains("d.npy") && error.contains(part), "{error}");
        };
        let six = cells(&TWO, i32::to_le_bytes);
        refused(npy("'<f4'", false, "(2, 3)", &six), "32-bit whole numbers");
        refused(npy("'<i8'", false, "(1, 3)", &six), "8 bytes a cell");
        refused(npy("'<i4'", false, "(6,)", &six), "1 dimension");
        refused(npy("'<i4'", true, "(2, 3)", &six), "C order");
        refused(npy("'<i4'", false, "(2, 4)", &six), "truncated");
        refused(npy("'<i4'", false, "(4294967296, 4294967296)", &six), "claims");
        let wrong = cells(&[0, 0, 1, 0, 1, -2], i32::to_le_bytes);
        refused(npy("'<i4'", false, "(2, 3)", &wrong), "draw 1, row 2: found the label -2");
    }

    proptest! {
        #[test]
        fn damaged_files_never_panic(file in damaged(npy("'<i4'", false, "(2, 3)", &cells(&TWO, i32::to_le_bytes)))) {
            for name in ["d.npy", "d.npy.gz"] {
                match read(name, &file) {
                    Ok(draws) => prop_assert!(draws.n_draws() > 0),
                    Err(Error::Input(error)) => prop_assert!(!error.problem.is_empty()),
                    Err(error) => panic!("not the user's mistake: {error}"),
                }
            }
        }
    }
}
