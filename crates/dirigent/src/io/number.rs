//! Numbers in text.

/// Whole numbers up to here are doubles.
const MOST_EXACT: u64 = 1 << 53;
/// So many digits fit 64 bits.
const MOST_DIGITS: usize = 19;
/// The powers of ten that are doubles.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The number in a cell, which may be infinite or none: that of `str::parse`, to the last bit.
#[inline]
pub(crate) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    short(cell).or_else(|| std::str::from_utf8(cell).ok()?.parse().ok())
}

/// The fast way: digits and a point, few enough that one division of doubles, which rounds once, gives the number.
fn short(cell: &[u8]) -> Option<f64> {
    let (is_negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return None;
    }
    let (mut whole, mut point) = (0u64, None);
    for (ix, &byte) in digits.iter().enumerate() {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => whole = 10 * whole + u64::from(digit),
            _ if byte == b'.' && point.is_none() => point = Some(ix),
            _ => return None,
        }
    }
    let n_decimals = point.map_or(0, |point| digits.len() - 1 - point);
    if whole > MOST_EXACT || digits == b"." {
        return None;
    }
    let number = whole as f64 / POWERS_OF_TEN[n_decimals];
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Option<u64> {
        text.trim().parse().ok().map(f64::to_bits)
    }

    #[test]
    fn every_shape_of_a_number_is_that_of_the_standard_library() {
        let texts = [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "-.5",
            ".",
            "-",
            "",
            "+",
            "1.2.3",
            "1-2",
            "00012.50",
            "9007199254740993",
            "0.1",
            "1e5",
            "1E-5",
            "inf",
            "-NaN",
            "0x10",
            "1_000",
            "1,5",
            "99999999999999999999",
            "0.30000000000000004",
            "123456789012345678",
            " 7 ",
            "1 2",
            "٣",
            "9007199254740992.5",
            "0.0000000000000000001",
            "1..",
            "--1",
            "infinity",
        ];
        for text in texts {
            let found = number(text.as_bytes()).map(f64::to_bits);
            assert_eq!(found, parsed(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_the_number_that_the_standard_library_finds(text in "[-+]?[0-9.]{0,22}(e-?[0-9]{1,3})?") {
            prop_assert_eq!(number(text.as_bytes()).map(f64::to_bits), parsed(&text), "{:?}", text);
        }

        #[test]
        fn doubles_survive_the_way_through_text(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            let found = number(format!("{double}").as_bytes()).unwrap();
            prop_assert!(found.to_bits() == bits || double.is_nan() && found.is_nan());
        }
    }
}
