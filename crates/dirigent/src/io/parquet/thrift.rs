//! Records in the compact form of Thrift, which headers and the end of a Parquet file are. The library believes how many elements a list claims; where they take no bytes, it
//! would count for hours.

/// Deeper than the records of any file.
const DEEPEST: u8 = 64;

/// Whether a record that begins here ends, with no more elements of lists in all than so many.
pub(super) fn is_sound(bytes: impl Iterator<Item = u8>, most_elements: u64) -> bool {
    Walk { bytes, n_left: most_elements }.record(DEEPEST).is_some()
}

/// Seven bits a byte, the lowest first, all but the last with the highest bit set.
pub(super) fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The sign is the lowest bit.
pub(super) fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    unsigned(bytes).map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
}

struct Walk<I> {
    bytes: I,
    n_left: u64,
}

impl<I: Iterator<Item = u8>> Walk<I> {
    /// Fields, each after a byte of the step to its number and its type; a step of nothing is followed by the number.
    fn record(&mut self, depth: u8) -> Option<()> {
        loop {
            let field = self.bytes.next()?;
            if field & 0x0f == 0 {
                return Some(());
            }
            if field & 0xf0 == 0 {
                unsigned(&mut self.bytes)?;
            }
            self.value(field & 0x0f, depth)?;
        }
    }

    fn value(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // truth is in the type
            1 | 2 => Some(()),
            3 => self.skip(1),
            4..=6 => unsigned(&mut self.bytes).map(|_| ()),
            7 => self.skip(8),
            8 => {
                let length = unsigned(&mut self.bytes)?;
                self.skip(length)
            }
            9 | 10 => self.list(depth),
            11 => self.map(depth),
            12 => self.record(depth),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self, depth: u8) -> Option<()> {
        let head = self.bytes.next()?;
        let n_elements = if head >> 4 == 15 { unsigned(&mut self.bytes)? } else { u64::from(head >> 4) };
        self.n_left = self.n_left.checked_sub(n_elements)?;
        (0..n_elements).try_for_each(|_| self.value(head & 0x0f, depth))
    }

    fn map(&mut self, depth: u8) -> Option<()> {
        let n_elements = unsigned(&mut self.bytes)?;
        if n_elements == 0 {
            return Some(());
        }
        let kinds = self.bytes.next()?;
        self.n_left = self.n_left.checked_sub(n_elements)?;
        (0..n_elements).try_for_each(|_| {
            self.value(kinds >> 4, depth)?;
            self.value(kinds & 0x0f, depth)
        })
    }

    fn skip(&mut self, n_bytes: u64) -> Option<()> {
        match usize::try_from(n_bytes).ok()? {
            0 => Some(()),
            n_bytes => self.bytes.nth(n_bytes - 1).map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(bytes: &[u8]) -> bool {
        is_sound(bytes.iter().copied(), bytes.len() as u64)
    }

    #[test]
    fn numbers_are_read() {
        let read = |bytes: &[u8]| signed(&mut bytes.iter().copied());
        assert_eq!([read(&[0]), read(&[1]), read(&[2]), read(&[0x80, 1])], [Some(0), Some(-1), Some(1), Some(64)]);
        assert_eq!(read(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), Some(i64::from(i32::MAX)));
        assert_eq!([read(&[0x80; 6]), read(&[0x80; 11])], [None, None]);
    }

    #[test]
    fn a_list_that_claims_more_than_there_are_bytes_is_refused() {
        // an integer, a text, a record of a truth, a list of two bytes, the end
        assert!(passes(&[0x15, 7, 0x18, 2, b'a', b'b', 0x1c, 0x11, 0, 0x19, 0x23, 1, 2, 0]));
        assert!(passes(&[0x19, 0, 0]), "an empty list of nothing");
        let truths = |n: u8| [0x19, 0xf1, n, 0x15, 0, 0];
        assert!(passes(&truths(6)) && !passes(&truths(7)));
        assert!(!passes(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]), "2³¹ truths");
        assert!(!passes(&[0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x11, 0]), "2³¹ pairs of truths");
        assert!(!passes(&[0x15, 7]), "no end");
        assert!(!passes(&[0x1c; 100]), "records in records without end");
    }
}
