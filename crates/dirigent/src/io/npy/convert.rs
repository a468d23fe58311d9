//! From stored bytes to the numbers of a table.

use super::header::{Kind, Number};

/// Reads an `f4`.
pub(super) fn to_f32(number: Number) -> fn(&[u8]) -> f32 {
    if number.big_endian { |cell| f32::from_be_bytes(exact(cell)) } else { |cell| f32::from_le_bytes(exact(cell)) }
}

/// Reads any number as a double; whole numbers beyond 2⁵³ are rounded.
pub(super) fn to_f64(number: Number) -> fn(&[u8]) -> f64 {
    macro_rules! from {
        ($number:ty) => {
            if number.big_endian {
                |cell| <$number>::from_be_bytes(exact(cell)) as f64
            } else {
                |cell| <$number>::from_le_bytes(exact(cell)) as f64
            }
        };
    }
    match (number.kind, number.width) {
        (Kind::Float, 4) => from!(f32),
        (Kind::Float, _) => from!(f64),
        (Kind::Signed, 1) => from!(i8),
        (Kind::Signed, 2) => from!(i16),
        (Kind::Signed, 4) => from!(i32),
        (Kind::Signed, _) => from!(i64),
        (Kind::Unsigned, 1) => from!(u8),
        (Kind::Unsigned, 2) => from!(u16),
        (Kind::Unsigned, 4) => from!(u32),
        (Kind::Unsigned, _) => from!(u64),
    }
}

/// The bytes of one cell.
pub(super) fn exact<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("cells are cut to their width")
}
