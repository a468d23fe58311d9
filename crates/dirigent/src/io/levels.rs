//! The levels of a text column: its different texts, numbered in order of first appearance.

use std::collections::HashMap;

use super::source::quoted;

/// More levels than this are no categories.
pub(crate) const MOST_LEVELS: usize = 1000;
/// In so few cells every text may be another one.
const FEW_CELLS: u64 = 20;

/// The levels so far.
#[derive(Debug)]
pub(crate) struct Levels {
    origin: Origin,
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    n_cells: u64,
    n_unknown: u64,
    unknown: Option<String>,
}

/// Why a column is a text column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Its first cell is no number.
    Found,
    /// The file's types say so.
    Declared,
    /// Somebody says so.
    Asked,
    /// It was one in the fit, whose levels are all there are.
    Fitted,
}

/// What is wrong with a text column, and the way out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) problem: String,
    pub(crate) hint: String,
}

impl Levels {
    /// No levels yet.
    pub(crate) fn new(origin: Origin) -> Self {
        let (names, numbers) = (Vec::new(), HashMap::new());
        Self { origin, names, numbers, n_cells: 0, n_unknown: 0, unknown: None }
    }

    /// The levels of a fit, to which none is added.
    pub(crate) fn of_fit(names: &[String]) -> Self {
        let numbers = names.iter().zip(0..).map(|(name, number)| (name.clone(), number)).collect();
        Self { names: names.to_vec(), numbers, ..Self::new(Origin::Fitted) }
    }

    /// The number of a cell's level, which may be a new one; of a level that a fit has not seen, NaN. Nothing where there are too many.
    pub(crate) fn number(&mut self, text: &str) -> Option<f64> {
        self.n_cells += 1;
        if let Some(number) = self.numbers.get(text) {
            return Some((*number).into());
        }
        if self.origin == Origin::Fitted {
            self.n_unknown += 1;
            self.unknown.get_or_insert_with(|| text.to_owned());
            return Some(f64::NAN);
        }
        if self.names.len() == MOST_LEVELS {
            return None;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.names.push(text.to_owned());
        Some(number.into())
    }

    /// What the levels are called.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// How many cells hold a level that the fit has not seen, and one of these.
    pub(crate) fn unknown(&self) -> Option<(u64, &str)> {
        self.unknown.as_deref().map(|example| (self.n_unknown, example))
    }

    /// Whether these are levels at all, once all cells were seen. `column` is what the way out calls the column.
    pub(crate) fn problem(&self, column: &str) -> Option<Problem> {
        let (first, others) = self.names.split_first()?;
        if self.origin == Origin::Found && !others.is_empty() && others.iter().all(|name| name.parse::<f64>().is_ok()) {
            return Some(Problem {
                problem: format!("the first cell is {}, and all others are numbers", quoted(first.as_bytes())),
                hint: format!(
                    "if the first line is a header, say `header` yes; else put the cell right, or fit the column as text with `column_families` \
                     {column}=categorical"
                ),
            });
        }
        let is_varied = self.names.len() as u64 > self.n_cells / 2;
        let is_too_many =
            matches!(self.origin, Origin::Found | Origin::Declared) && self.n_cells > FEW_CELLS && is_varied;
        is_too_many.then(|| self.too_many(column))
    }

    /// What there is to say of a column with more different texts than categories have.
    pub(crate) fn too_many(&self, column: &str) -> Problem {
        let n_levels = match self.names.len() {
            MOST_LEVELS => format!("more than {MOST_LEVELS}"),
            n => format!("{n}"),
        };
        let example = self.names.first().map(|name| quoted(name.as_bytes())).unwrap_or_default();
        Problem {
            problem: format!(
                "looks like an identifier or free text: {n_levels} different texts in {} cells, such as {example}",
                self.n_cells
            ),
            hint: format!("leave it out with `exclude` {column}"),
        }
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
        assert_eq!(levels(Origin::Found, distinct(20)).problem("c"), None, "few cells may all be different");
        let problem = levels(Origin::Found, distinct(21)).problem("c").unwrap();
        assert!(problem.problem.contains("identifier or free text") && problem.hint.contains("`exclude` c"));
        assert_eq!(levels(Origin::Found, distinct(15).chain(distinct(15))).problem("c"), None);
        assert_eq!(levels(Origin::Asked, distinct(21)).problem("c"), None, "who says it, knows it");
        let mut most = levels(Origin::Asked, distinct(1000));
        assert_eq!((most.number("id7"), most.number("id1000")), (Some(7.0), None));
        assert!(most.too_many("c").problem.contains("more than 1000"));
    }

    #[test]
    fn a_text_above_numbers_only_is_a_mistake() {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let problem = levels(Origin::Found, texts(&["a", "1", "2.5", "1"])).problem("3").unwrap();
        assert!(problem.problem.contains("\"a\"") && problem.hint.contains("`header` yes"), "{problem:?}");
        assert_eq!(levels(Origin::Found, texts(&["a", "1", "b"])).problem("3"), None);
        assert_eq!(levels(Origin::Asked, texts(&["a", "1"])).problem("3"), None);
    }
}
