//! Which columns of a table are data, and which one holds the true labels.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::left_out::LeftOut;
use crate::error::{InputError, Result};

/// The columns to read. A column is named as in the header; without a header, by its number from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Only these, in this order; `None` is all.
    pub columns: Option<Vec<String>>,
    /// Not these.
    pub exclude: Vec<String>,
    /// Holds the true labels: read, and kept out of the data.
    pub label_column: Option<String>,
    /// Hold text, whatever their cells look like: each different cell is a level. Other columns hold text if their first cell is no number.
    #[serde(default)]
    pub text_columns: Vec<String>,
    /// Are never left out because of what they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// Whether the first line of a text table is a header.
    #[serde(default)]
    pub header: Header,
}

/// Whether the first line of a `.csv` or `.tsv` file is a header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Header {
    /// As the first lines look.
    #[default]
    Auto,
    /// It is.
    Yes,
    /// It is a row.
    No,
}

/// A selection as it falls on one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileSelection {
    /// File columns that are data, in the order of the data.
    pub(crate) columns: Vec<usize>,
    /// The names of these.
    pub(crate) names: Vec<String>,
    /// The file column with the labels.
    pub(crate) label: Option<usize>,
    /// Data columns that hold text, because somebody says so.
    pub(crate) text: Vec<usize>,
}

/// What a file's columns are called.
#[derive(Debug)]
pub(crate) struct ColumnNames {
    names: Vec<String>,
    from_header: bool,
    is_guess: bool,
}

impl ColumnNames {
    /// As the header has them. A column without a name is called by its number.
    pub(crate) fn of_header(names: Vec<String>) -> Self {
        let named = |(ix, name): (usize, String)| if name.is_empty() { (ix + 1).to_string() } else { name };
        Self { names: names.into_iter().enumerate().map(named).collect(), from_header: true, is_guess: false }
    }

    /// Numbered from 1. Columns that are merely claimed by a file must not be counted here: each takes memory.
    pub(crate) fn numbered(n_columns: usize) -> Self {
        Self { names: (1..=n_columns).map(|number| number.to_string()).collect(), from_header: false, is_guess: false }
    }

    /// Numbered, because the first line does not look like a header.
    pub(crate) fn without_header(n_columns: usize) -> Self {
        Self { is_guess: true, ..Self::numbered(n_columns) }
    }

    /// Whether the file has a header.
    pub(crate) fn has_header(&self) -> bool {
        self.from_header
    }

    /// The names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The names, taken over.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// The number of columns.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    fn index(&self, file: &Path) -> Result<HashMap<&str, usize>> {
        let mut index = HashMap::new();
        for (ix, name) in self.names.iter().enumerate() {
            if let Some(other) = index.insert(name.as_str(), ix) {
                let problem = format!("columns {} and {} are both named {name:?}", other + 1, ix + 1);
                return Err(InputError::in_file(file, problem).at_line(1).hint("give each column its own name").into());
            }
        }
        Ok(index)
    }

    fn unknown(&self, file: &Path, name: &str) -> InputError {
        if !self.from_header {
            let problem = format!("there is no column {name:?}: the file has no header");
            let mut hint = format!("name columns by their numbers, 1 to {}", self.len());
            if self.is_guess {
                hint += "; if the first line is a header, say `header` yes";
            }
            return InputError::in_file(file, problem).hint(hint);
        }
        const SHOWN: usize = 30;
        let mut names = self.names[..self.len().min(SHOWN)].join(", ");
        if self.len() > SHOWN {
            names += &format!(" and {} more", self.len() - SHOWN);
        }
        InputError::in_file(file, format!("there is no column {name:?}")).hint(format!("the columns are: {names}"))
    }
}

impl Selection {
    /// Whether every column is data.
    pub(crate) fn is_everything(&self) -> bool {
        // a header is the business of text tables
        *self == Self { header: self.header, kept: self.kept.clone(), ..Self::default() }
    }

    /// Whether the user asks for a column of this name, in whichever way.
    pub(crate) fn keeps(&self, name: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|listed| listed == name);
        self.columns.is_some() || names(&self.kept) || names(&self.text_columns)
    }

    /// Whether it names a column, to be read or not.
    pub(crate) fn names(&self, name: &str) -> bool {
        let of_label = self.label_column.as_deref() == Some(name);
        of_label || self.keeps(name) || self.exclude.iter().any(|excluded| excluded == name)
    }

    /// The same without these columns.
    #[must_use]
    pub(crate) fn without(&self, columns: &[LeftOut]) -> Self {
        let mut selection = self.clone();
        selection.exclude.extend(columns.iter().map(|column| column.name.clone()));
        selection
    }

    /// Refuses columns to choose, where `what` there is has none.
    pub(crate) fn refuse_columns(&self, file: &Path, what: &str) -> Result<(), InputError> {
        if self.columns.is_none() && self.exclude.is_empty() && self.text_columns.is_empty() {
            return Ok(());
        }
        let error = InputError::in_file(file, format!("{what} have no columns to choose from"));
        Err(error.hint("leave `columns`, `exclude` and `column_families` out"))
    }

    /// Refuses a column of labels, where there can be none.
    pub(crate) fn refuse_labels(&self, file: &Path) -> Result<(), InputError> {
        if self.label_column.is_none() {
            return Ok(());
        }
        let error = InputError::in_file(file, "there is no column of labels");
        Err(error.hint("leave `label_column` out; labels come with `truth` FILE"))
    }

    /// Finds the columns in a file.
    pub(crate) fn choose(&self, file: &Path, columns: &ColumnNames) -> Result<FileSelection> {
        let index = columns.index(file)?;
        let find = |name: &String| index.get(name.as_str()).copied().ok_or_else(|| columns.unknown(file, name));
        let label = self.label_column.as_ref().map(find).transpose()?;
        let excluded = self.exclude.iter().map(find).collect::<Result<HashSet<_>, _>>()?;
        let mut chosen: Vec<usize> = match &self.columns {
            Some(names) => names.iter().map(find).collect::<Result<_, _>>()?,
            None => (0..columns.len()).filter(|ix| Some(*ix) != label).collect(),
        };
        chosen.retain(|ix| !excluded.contains(ix));
        check(&chosen, label, file, columns)?;
        let is_chosen = |name: &String| {
            let ix = find(name)?;
            chosen.iter().position(|chosen| *chosen == ix).ok_or_else(|| {
                let error =
                    InputError::new(format!("`column_families` names {name:?}, which is not among the columns read"));
                error.hint("leave it out, or choose the column")
            })
        };
        let text = self.text_columns.iter().map(is_chosen).collect::<Result<_, _>>()?;
        let names = chosen.iter().map(|&ix| columns.names[ix].clone()).collect();
        Ok(FileSelection { columns: chosen, names, label, text })
    }
}

fn check(chosen: &[usize], label: Option<usize>, file: &Path, columns: &ColumnNames) -> Result<(), InputError> {
    let mut seen = HashSet::new();
    if let Some(&twice) = chosen.iter().find(|ix| !seen.insert(**ix)) {
        let name = &columns.names[twice];
        return Err(InputError::new(format!("`columns` names {name:?} twice")).hint("name each column once"));
    }
    if let Some(label) = label.filter(|label| seen.contains(label)) {
        let name = &columns.names[label];
        let error = InputError::new(format!("{name:?} is both in `columns` and the `label_column`"));
        return Err(error.hint("labels are for evaluation only: take it out of `columns`"));
    }
    if chosen.is_empty() {
        return Err(InputError::in_file(file, "no column is left to read").hint("exclude fewer columns"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(columns: Option<&str>, exclude: &str, label: Option<&str>) -> Result<FileSelection> {
        let list = |names: &str| names.split(',').filter(|name| !name.is_empty()).map(String::from).collect();
        let label_column = label.map(String::from);
        let selection =
            Selection { columns: columns.map(list), exclude: list(exclude), label_column, ..Selection::default() };
        let header = ["id", "", "x", "y"].map(String::from).to_vec();
        selection.choose(Path::new("t.csv"), &ColumnNames::of_header(header))
    }

    #[test]
    fn columns_come_in_the_order_asked_for_without_the_label() {
        let chosen = |columns, exclude, label| choose(columns, exclude, label).map(|chosen| chosen.columns).unwrap();
        assert_eq!(chosen(None, "", None), [0, 1, 2, 3]);
        assert_eq!(chosen(Some("y,x"), "", Some("id")), [3, 2]);
        assert_eq!(chosen(None, "id,2", Some("y")), [2]);
        assert_eq!(chosen(None, "y", Some("y")), [0, 1, 2]);
        assert_eq!(choose(Some("y,2"), "", None).unwrap().names, ["y", "2"]);
    }

    #[test]
    fn a_selection_that_makes_no_sense_is_refused() {
        let error = choose(None, "z", None).unwrap_err();
        assert_eq!(error.to_string(), "t.csv: there is no column \"z\"");
        assert_eq!(error.hint(), Some("the columns are: id, 2, x, y"));
        assert!(choose(Some("x,x"), "", None).unwrap_err().to_string().contains("twice"));
        assert!(choose(Some("x,y"), "", Some("x")).unwrap_err().to_string().contains("both"));
        assert!(choose(Some("x"), "x", None).unwrap_err().to_string().contains("no column is left"));
    }

    #[test]
    fn a_text_column_must_be_read() {
        let of = |text: &str| Selection {
            text_columns: vec![text.into()],
            exclude: vec!["1".into()],
            ..Selection::default()
        };
        let choose = |text| of(text).choose(Path::new("t.npy"), &ColumnNames::numbered(3));
        assert_eq!(choose("3").unwrap().text, [1]);
        assert!(choose("1").unwrap_err().to_string().contains("not among the columns read"));
        assert!(choose("x").is_err());
    }

    #[test]
    fn columns_without_a_header_are_numbered() {
        let selection = Selection { exclude: vec!["x".into()], ..Selection::default() };
        let error = selection.choose(Path::new("t.npy"), &ColumnNames::numbered(3)).unwrap_err();
        assert_eq!(error.hint(), Some("name columns by their numbers, 1 to 3"));
    }
}
