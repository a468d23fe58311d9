//! An array inside another file: numbers of the type they were written in, whole ones exact.

use std::path::Path;

use super::header::{self, Kind, Number};
use super::shape_text;
use crate::error::{InputError, Result};

/// An array of any shape, in C order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredArray {
    /// Its lengths; their product is the number of items.
    pub(crate) shape: Vec<u64>,
    /// The items, row after row.
    pub(crate) numbers: StoredNumbers,
}

/// The items of an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StoredNumbers {
    /// `f8`.
    Doubles(Vec<f64>),
    /// `i4` or `i8`.
    Integers(Vec<i64>),
}

/// Reads an array that is already in memory; `name` is what messages call it.
pub(crate) fn read_stored(name: &Path, mut bytes: &[u8]) -> Result<StoredArray> {
    let header = header::read(name, &mut bytes)?;
    let n_items = header.shape.iter().try_fold(1u64, |items, length| items.checked_mul(*length));
    let n_bytes = n_items.and_then(|items| items.checked_mul(header.number.width as u64));
    if n_bytes != Some(bytes.len() as u64) {
        let shape = shape_text(&header.shape);
        let problem = format!("found {} bytes of items, expected an array of shape {shape}", bytes.len());
        return Err(InputError::in_file(name, problem).hint(super::DAMAGED).into());
    }
    if header.fortran_order && header.shape.len() > 1 {
        let error = InputError::in_file(name, "found columns one after the other, expected rows (C order)");
        return Err(error.hint("write it with numpy.ascontiguousarray").into());
    }
    let numbers = match header.number {
        Number { kind: Kind::Float, width: 8, big_endian: false } => {
            let (items, _) = bytes.as_chunks();
            StoredNumbers::Doubles(items.iter().map(|item| f64::from_le_bytes(*item)).collect())
        }
        Number { kind: Kind::Signed, width: 8, big_endian: false } => {
            let (items, _) = bytes.as_chunks();
            StoredNumbers::Integers(items.iter().map(|item| i64::from_le_bytes(*item)).collect())
        }
        Number { kind: Kind::Signed, width: 4, big_endian: false } => {
            let (items, _) = bytes.as_chunks();
            StoredNumbers::Integers(items.iter().map(|item| i32::from_le_bytes(*item).into()).collect())
        }
        other => {
            let problem = format!("found items of type {other:?}, expected <f8, <i8 or <i4");
            return Err(InputError::in_file(name, problem).into());
        }
    };
    Ok(StoredArray { shape: header.shape, numbers })
}
