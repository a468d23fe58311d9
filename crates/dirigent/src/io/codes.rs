//! Codes: columns of digits such as 01234, which look like numbers and are names.
//!
//! A column of a text table holds codes if all its cells are digits, some begin with a zero that a number would not have, and no cell is shorter than these: zeros fill
//! cells up to a width. Since the width is known, a code can be told from its number once all cells were read.

/// More digits than this might not survive as a number.
const MOST_DIGITS: usize = 15;

/// What the cells of a column look like that were read as numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digits {
    is_all: bool,
    shortest: usize,
    /// The longest cell with a zero in front; 0 if there is none.
    longest_padded: usize,
}

impl Digits {
    /// No cells yet.
    pub(crate) const NONE: Self = Self { is_all: true, shortest: usize::MAX, longest_padded: 0 };

    /// Looks at a cell without surrounding spaces that is a number.
    #[inline]
    pub(crate) fn add(&mut self, cell: &[u8]) {
        if !self.is_all {
            return;
        }
        self.is_all = cell.len() <= MOST_DIGITS && cell.iter().all(u8::is_ascii_digit);
        self.shortest = self.shortest.min(cell.len());
        if cell.len() > 1 && cell[0] == b'0' {
            self.longest_padded = self.longest_padded.max(cell.len());
        }
    }

    /// The width of the codes, if the cells are codes.
    pub(crate) fn width(self) -> Option<usize> {
        (self.is_all && self.longest_padded > 0 && self.longest_padded == self.shortest).then_some(self.shortest)
    }
}

/// The cell that a number was read from.
pub(crate) fn text(number: f64, width: usize) -> String {
    format!("{:0width$}", number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(cells: &[&str]) -> Option<usize> {
        let mut digits = Digits::NONE;
        cells.iter().for_each(|cell| digits.add(cell.as_bytes()));
        digits.width()
    }

    #[test]
    fn digits_filled_up_with_zeros_are_codes() {
        assert_eq!(width(&["98101", "01234", "00000"]), Some(5));
        assert_eq!(width(&["01", "99", "100"]), Some(2));
        assert_eq!(["01", "99", "100"].map(|cell| text(cell.parse().unwrap(), 2)), ["01", "99", "100"]);
    }

    #[test]
    fn other_numbers_are_none() {
        for cells in [
            &["1", "20", "0"][..],
            &["01", "1"],
            &["01", "001"],
            &["01", "2.5"],
            &["-01", "02"],
            &["0.5", "0.7"],
            &["0123456789012345", "1123456789012345"],
            &[],
        ] {
            assert_eq!(width(cells), None, "{cells:?}");
        }
    }
}
