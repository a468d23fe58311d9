//! The levels of a text column: its different texts, numbered in order of first appearance.

use std::collections::HashMap;

use super::cell_format::{CellFormat, FormatSet};
use super::number::number;
use super::source::quoted;

/// More levels than this are no categories.
pub(crate) const MOST_LEVELS: usize = 1000;
/// In so few cells every text may be another one.
pub(crate) const FEW_CELLS: u64 = 20;
/// A column is one of numbers or dates if at least this share of its cells is; the others are missing.
const NEARLY_ALL: f64 = 0.9;

/// The levels so far.
#[derive(Debug)]
pub(crate) struct Levels {
    origin: Origin,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    n_cells: u64,
    n_unknown: u64,
    unknown: Option<String>,
    /// Whether there are more than can be numbered.
    has_too_many: bool,
    /// How many cells stand for a number, by format.
    n_formatted: HashMap<CellFormat, u64>,
}

/// Why a column is a text column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its first cell is no number.
    Found,
    /// The file's types say so.
    Declared,
    /// Its type is one of categories.
    Categories,
    /// The user says so.
    Asked,
    /// It was one in the fit, whose levels are all there are.
    Fitted,
}

impl Levels {
    /// No levels yet.
    pub(crate) fn new(origin: Origin) -> Self {
        let (names, numbers) = (Vec::new(), HashMap::new());
        Self {
            origin,
            names,
            numbers,
            n_cells: 0,
            n_unknown: 0,
            unknown: None,
            has_too_many: false,
            n_formatted: HashMap::new(),
        }
    }

    /// The levels of a fit, to which none is added.
    pub(crate) fn of_fit(names: &[String]) -> Self {
        let numbers = names.iter().zip(0..).map(|(name, number)| (name.clone(), number)).collect();
        Self { names: names.to_vec(), numbers, ..Self::new(Origin::Fitted) }
    }

    /// Why the column holds text.
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// The number of a cell's level, which may be a new one; of a level that a fit has not seen, NaN. With too many levels, nothing if the user asked for levels, else NaN.
    pub(crate) fn number(&mut self, text: &str) -> Option<f64> {
        self.n_cells += 1;
        if matches!(self.origin, Origin::Found | Origin::Declared) {
            self.add_formats(text);
        }
        if let Some(number) = self.numbers.get(text) {
            return Some((*number).into());
        }
        if self.origin == Origin::Fitted {
            self.n_unknown += 1;
            self.unknown.get_or_insert_with(|| text.to_owned());
            return Some(f64::NAN);
        }
        if self.names.len() == MOST_LEVELS {
            self.has_too_many = true;
            return (self.origin != Origin::Asked).then_some(f64::NAN);
        }
        let number = self.names.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.names.push(text.to_owned());
        Some(number.into())
    }

    fn add_formats(&mut self, text: &str) {
        if self.origin == Origin::Found && number(text.as_bytes()).is_some_and(f64::is_finite) {
            *self.n_formatted.entry(CellFormat::Number).or_default() += 1;
            return;
        }
        let is_meant = |format: &CellFormat| self.origin == Origin::Found || format.is_date();
        for format in FormatSet::of(text).iter().filter(is_meant) {
            *self.n_formatted.entry(format).or_default() += 1;
        }
    }

    /// How nearly all cells are numbers, if they are.
    pub(crate) fn mostly(&self) -> Option<CellFormat> {
        let (format, n_cells) = self.n_formatted.iter().max_by_key(|(format, n)| (**n, std::cmp::Reverse(**format)))?;
        (*n_cells as f64 >= NEARLY_ALL * self.n_cells as f64).then_some(*format)
    }

    /// What the levels are called.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// How many cells hold a level that the fit has not seen, and one of these.
    pub(crate) fn unknown(&self) -> Option<(u64, &str)> {
        self.unknown.as_deref().map(|example| (self.n_unknown, example))
    }

    /// Whether the first cell is the only one that is no number: a header, perhaps.
    pub(crate) fn is_text_above_numbers(&self) -> bool {
        let Some((_, others)) = self.names.split_first() else { return false };
        let is_number = |name: &String| number(name.as_bytes()).is_some();
        self.origin == Origin::Found && !others.is_empty() && others.iter().all(is_number)
    }

    /// Whether there are more levels than categories have, though the user did not ask for levels.
    pub(crate) fn are_too_many(&self) -> bool {
        let is_varied = self.n_cells > FEW_CELLS && self.names.len() as u64 > self.n_cells / 2;
        self.has_too_many || is_varied && matches!(self.origin, Origin::Found | Origin::Declared)
    }

    /// Whether there are more than can be numbered.
    pub(crate) fn has_too_many(&self) -> bool {
        self.has_too_many
    }

    /// How many different texts there are in how many cells, with one of them.
    pub(crate) fn described(&self) -> String {
        let n_levels =
            if self.has_too_many { format!("more than {MOST_LEVELS}") } else { self.names.len().to_string() };
        let example = self.names.first().map(|name| quoted(name.as_bytes())).unwrap_or_default();
        format!("{n_levels} different texts in {} cells, such as {example}", self.n_cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(origin: Origin, texts: impl IntoIterator<Item = String>) -> Levels {
        let mut levels = Levels::new(origin);
        for text in texts {
            let _ = levels.number(&text);
        }
        levels
    }

    #[test]
    fn levels_are_numbered_in_order_of_appearance() {
        let mut levels = Levels::new(Origin::Found);
        let numbers = ["b", "a", "b", "c", "a"].map(|text| levels.number(text).unwrap());
        assert_eq!((numbers, levels.names().join(",")), ([0.0, 1.0, 0.0, 2.0, 1.0], "b,a,c".to_owned()));
    }

    #[test]
    fn what_the_fit_has_not_seen_is_missing_and_counted() {
        let mut levels = Levels::of_fit(&["b".into(), "a".into()]);
        assert_eq!((levels.number("a"), levels.unknown()), (Some(1.0), None));
        assert!(["x", "y", "x"].iter().all(|text| levels.number(text).unwrap().is_nan()));
        assert_eq!(levels.unknown(), Some((3, "x")));
        assert_eq!(levels.names().len(), 2);
    }

    #[test]
    fn identifiers_are_no_levels() {
        let distinct = |n: u64| (0..n).map(|n| format!("id{n}"));
        assert!(!levels(Origin::Found, distinct(20)).are_too_many(), "few cells may all be different");
        assert!(levels(Origin::Found, distinct(21)).are_too_many());
        assert!(!levels(Origin::Found, distinct(15).chain(distinct(15))).are_too_many());
        assert!(!levels(Origin::Asked, distinct(21)).are_too_many(), "the user knows");
        let mut most = levels(Origin::Asked, distinct(1000));
        assert_eq!((most.number("id7"), most.number("id1000")), (Some(7.0), None));
        assert!(most.described().starts_with("more than 1000 different texts in 1002 cells"));
        let mut most = levels(Origin::Found, distinct(1000));
        assert!(most.number("id1000").is_some_and(f64::is_nan) && most.has_too_many());
    }

    #[test]
    fn a_text_above_numbers_only_may_be_a_header() {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        assert!(levels(Origin::Found, texts(&["a", "1", "2.5", "1"])).is_text_above_numbers());
        assert!(!levels(Origin::Found, texts(&["a", "1", "b"])).is_text_above_numbers());
        assert!(!levels(Origin::Declared, texts(&["a", "1"])).is_text_above_numbers());
    }

    #[test]
    fn a_few_words_among_numbers_or_dates_do_not_make_text() {
        let with =
            |n: u32, cell: &dyn Fn(u32) -> String| (0..n).map(cell).chain(["unknown".to_owned()]).collect::<Vec<_>>();
        let numbers = with(20, &|n| n.to_string());
        assert_eq!(levels(Origin::Found, numbers.clone()).mostly(), Some(CellFormat::Number));
        assert_eq!(levels(Origin::Declared, numbers).mostly(), None, "declared text is text");
        let dates = with(20, &|n| format!("2024-01-{:02}", n + 1));
        assert_eq!(levels(Origin::Declared, dates).mostly(), Some(CellFormat::YearFirst));
        assert_eq!(levels(Origin::Found, with(3, &|n| n.to_string())).mostly(), None);
    }
}
