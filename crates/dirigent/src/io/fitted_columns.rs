//! The columns a model was fitted to, and how they are found again in other files.
//!
//! By name where both have names: in any order, others ignored. Otherwise by number: the selection of the fit where it can be applied, or else
//! exactly as many columns as were fitted.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cell_format::CellFormat;
use super::columns::FileColumns;
use super::left_out::LeftOut;
#[cfg(feature = "files")]
use super::npz;
#[cfg(feature = "parquet")]
use super::parquet;
use super::selection::{ColumnNames, Header, Selection};
use super::{DataSet, Format, Storage, delimited, format, matrix_market, npy, source};
use crate::error::{InputError, Result};

/// The columns a model was fitted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FittedColumns {
    /// How many (for counts: the size of the vocabulary).
    pub n_columns: usize,
    /// Their names in order, where they had some.
    pub names: Option<Vec<String>>,
    /// What was asked for at the fit.
    pub selection: Selection,
    /// The levels of each column that held text; nothing where none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Option<Vec<String>>>,
    /// How the cells of each column were numbers; nothing where all were plain numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<CellFormat>,
    /// The columns that were left out because of what they held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Whether sparse text files numbered their columns from 0, not from 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered_from_zero: bool,
}

/// The most names that a message lists.
const SHOWN: usize = 20;

impl FittedColumns {
    /// Opens files, in the given order, with the columns of the fit. The same text is the same level; a text that the fit has not seen is
    /// a missing cell. Also returns what there is to say about that.
    pub fn open(&self, paths: &[PathBuf]) -> Result<(DataSet, Vec<String>)> {
        self.open_with(paths, &Storage::default())
    }

    /// The same, with what is said about files that are made on the way.
    pub fn open_with(&self, paths: &[PathBuf], storage: &Storage) -> Result<(DataSet, Vec<String>)> {
        let files = format::expand(paths, storage)?;
        let (mut selection, mut notes) = (Selection::default(), Vec::new());
        let header = self.selection.header;
        if let Some(found) = files.first()
            && let Some(columns) = columns_of(&found.file, header).map_err(|error| found.rename(error))?
        {
            (selection, notes) = self.find(&found.name, columns)?;
        }
        let mut columns = FileColumns::of_fit(self);
        let data = DataSet::open_files(paths, &files, &Selection { header, ..selection }, &mut columns, storage)?;
        columns.check_values()?;
        notes.extend(columns.notes().into_iter().map(|note| format!("note: {note}")));
        if data.n_columns() != self.n_columns {
            return Err(self.wrong_count(&paths[0], data.n_columns()).into());
        }
        Ok((data, notes))
    }

    fn find(&self, file: &Path, columns: ColumnNames) -> Result<(Selection, Vec<String>)> {
        let (has_header, found) = (columns.has_header(), columns.into_names());
        match &self.names {
            Some(fitted) if has_header => self.find_by_name(file, fitted, &found),
            names => {
                let selection = self.find_by_number(file, &found)?;
                let by_position = |who: &str, whom: &str| {
                    vec![format!("note: {who} has column names but {whom} has none: columns go by their position")]
                };
                let is_name = |name: &String| name.parse::<usize>().is_err();
                let notes = match (names.as_ref().is_some_and(|names| names.iter().any(is_name)), has_header) {
                    (true, false) => by_position("the model", &file.display().to_string()),
                    (false, true) => by_position(&file.display().to_string(), "the model"),
                    _ => Vec::new(),
                };
                Ok((selection, notes))
            }
        }
    }

    pub(super) fn find_by_name(
        &self,
        file: &Path,
        fitted: &[String],
        found: &[String],
    ) -> Result<(Selection, Vec<String>)> {
        let (in_fit, in_file): (HashSet<&String>, HashSet<&String>) = (fitted.iter().collect(), found.iter().collect());
        let missing: Vec<&String> = fitted.iter().filter(|name| !in_file.contains(name)).collect();
        if !missing.is_empty() {
            let problem = format!("lacks {} of the model: {}", columns_text(missing.len()), listed(&missing));
            let mut hint = format!("its columns are: {}", listed(&found.iter().collect::<Vec<_>>()));
            // only in a table of text may a row be taken for a header
            if !self.levels.is_empty() {
                hint += "; if its first line is a row, say `header` no";
            }
            return Err(InputError::in_file(file, problem).hint(hint).into());
        }
        let Selection { exclude, label_column, .. } = &self.selection;
        let is_known = |name: &String| {
            in_fit.contains(name)
                || exclude.contains(name)
                || label_column.as_ref() == Some(name)
                || self.is_left_out(name)
        };
        let ignored: Vec<&String> = found.iter().filter(|name| !is_known(name)).collect();
        let note = || format!("note: {} not in the model, ignored: {}", columns_text(ignored.len()), listed(&ignored));
        let notes = if ignored.is_empty() { Vec::new() } else { vec![note()] };
        Ok((Selection { columns: Some(fitted.to_vec()), ..Selection::default() }, notes))
    }

    /// The selection of the fit where it gives the right number of columns, or everything where that does.
    pub(super) fn find_by_number(&self, file: &Path, found: &[String]) -> Result<Selection> {
        let everything: Vec<usize> = (0..found.len()).collect();
        let chosen = self.selected(found.len()).filter(|chosen| chosen.len() == self.n_columns);
        match chosen {
            Some(chosen) if chosen != everything => {
                let columns = chosen.into_iter().map(|ix| found[ix].clone()).collect();
                Ok(Selection { columns: Some(columns), ..Selection::default() })
            }
            Some(_) => Ok(Selection::default()),
            None if found.len() == self.n_columns => Ok(Selection::default()),
            None => Err(self.wrong_count(file, found.len()).into()),
        }
    }

    /// What the selection of the fit, by numbers, chooses of `n_columns` columns.
    fn selected(&self, n_columns: usize) -> Option<Vec<usize>> {
        let number = |name: &String| name.parse::<usize>().ok()?.checked_sub(1).filter(|ix| *ix < n_columns);
        let left_out = self.left_out.iter().map(|column| &column.name);
        let mut out: Vec<usize> = self.selection.exclude.iter().chain(left_out).map(number).collect::<Option<_>>()?;
        if let Some(label) = &self.selection.label_column {
            out.push(number(label)?);
        }
        let all = match &self.selection.columns {
            Some(columns) => columns.iter().map(number).collect::<Option<Vec<_>>>()?,
            None => (0..n_columns).collect(),
        };
        Some(all.into_iter().filter(|ix| !out.contains(ix)).collect())
    }

    fn is_left_out(&self, name: &str) -> bool {
        self.left_out.iter().any(|column| column.name == name)
    }

    pub(super) fn wrong_count(&self, file: &Path, found: usize) -> InputError {
        let problem = format!("found {}, but the model was fitted to {}", columns_text(found), self.n_columns);
        InputError::in_file(file, problem).hint("give the columns of the fit, in the same order")
    }
}

/// The columns of a file; nothing for sparse rows, whose columns cannot be chosen.
fn columns_of(file: &Path, header: Header) -> Result<Option<ColumnNames>> {
    Ok(match Format::of_path(file)? {
        Format::Npy => Some(ColumnNames::numbered(npy::n_columns(file)?)),
        Format::Csv => Some(delimited::columns(file, b',', header)?),
        Format::Tsv => Some(delimited::columns(file, b'\t', header)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Some(parquet::columns(file)?),
        Format::MatrixMarket => matrix_market::n_columns(file)?.map(ColumnNames::numbered),
        #[cfg(feature = "files")]
        Format::Npz => npz::n_columns(file)?.map(ColumnNames::numbered),
        Format::Docword | Format::Svmlight => None,
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(super::without_feature(file, "parquet")),
        #[cfg(not(feature = "files"))]
        Format::Npz => return Err(super::without_feature(file, "files")),
    })
}

fn columns_text(number: usize) -> String {
    source::counted(number, "column")
}

fn listed(names: &[&String]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(|name| name.as_str()).collect();
    let rest = names.len().saturating_sub(SHOWN);
    if rest > 0 { format!("{} and {rest} more", shown.join(", ")) } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::test_files::{Files, npy, rows};

    fn fitted(names: Option<&[&str]>, n_columns: usize, selection: Selection) -> FittedColumns {
        let names = names.map(|names| names.iter().map(|name| name.to_string()).collect());
        FittedColumns {
            n_columns,
            names,
            selection,
            levels: Vec::new(),
            formats: Vec::new(),
            left_out: Vec::new(),
            numbered_from_zero: false,
        }
    }

    fn open(columns: &FittedColumns, name: &str, contents: impl AsRef<[u8]>) -> Result<(Vec<Vec<f64>>, Vec<String>)> {
        let files = Files::new();
        let (data, notes) = columns.open(&[files.write(name, contents)])?;
        Ok((rows(&data), notes))
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let columns = fitted(Some(&["x", "y"]), 2, Selection { exclude: vec!["id".into()], ..Selection::default() });
        assert_eq!(open(&columns, "t.csv", "x,y\n1,2\n").unwrap(), (vec![vec![1.0, 2.0]], vec![]));
        assert_eq!(open(&columns, "t.csv", "y,id,x\n2,a,1\n").unwrap(), (vec![vec![1.0, 2.0]], vec![]));
        let (rows, notes) = open(&columns, "t.csv", "y,more,x\n2,b,1\n").unwrap();
        assert_eq!((rows, notes.len()), (vec![vec![1.0, 2.0]], 1));
        assert!(notes[0].contains("more"), "{notes:?}");
        let error = open(&columns, "t.csv", "a,b\n1,2\n").unwrap_err();
        assert!(error.to_string().contains("lacks 2 columns of the model: x, y"), "{error}");
        assert_eq!(error.hint(), Some("its columns are: a, b"));
    }

    #[test]
    fn without_names_the_selection_of_the_fit_is_applied_where_it_can_be() {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let without_third = Selection { label_column: Some("3".into()), ..Selection::default() };
        let columns = fitted(None, 2, without_third);
        assert_eq!(open(&columns, "t.csv", "1,2,a\n").unwrap().0, [[1.0, 2.0]]);
        assert_eq!(open(&columns, "t.csv", "1,2\n").unwrap().0, [[1.0, 2.0]]);
        let error = open(&columns, "t.csv", "1,2,3,4\n").unwrap_err().to_string();
        assert!(error.contains("found 4 columns, but the model was fitted to 2"), "{error}");
        let swapped = fitted(None, 2, Selection { columns: Some(list(&["2", "1"])), ..Selection::default() });
        let cells: Vec<u8> = [1f64, 2.0].iter().flat_map(|cell| cell.to_le_bytes()).collect();
        assert_eq!(open(&swapped, "t.npy", npy("'<f8'", false, "(1, 2)", &cells)).unwrap().0, [[2.0, 1.0]]);
    }

    #[test]
    fn one_side_with_names_goes_by_position_and_says_so() {
        let columns = fitted(Some(&["x", "y"]), 2, Selection::default());
        let (rows, notes) = open(&columns, "t.csv", "1,2\n").unwrap();
        assert_eq!((rows, notes.len()), (vec![vec![1.0, 2.0]], 1));
        assert!(open(&columns, "t.csv", "1,2,3\n").is_err());
        let (rows, notes) = open(&fitted(None, 2, Selection::default()), "t.csv", "a,b\n1,2\n").unwrap();
        assert_eq!((rows, notes.len()), (vec![vec![1.0, 2.0]], 1));
    }

    #[test]
    fn the_same_text_is_the_same_level_and_another_is_missing() {
        let levels = vec![None, Some(vec!["red".to_owned(), "blue".to_owned()])];
        let columns = FittedColumns { levels, ..fitted(Some(&["x", "colour"]), 2, Selection::default()) };
        let (rows, notes) = open(&columns, "t.csv", "colour,x\nblue,1\nred,\ngreen,3\n,4\npink,5\n").unwrap();
        let cells = rows.concat();
        assert_eq!([cells[0], cells[1], cells[3], cells[4]], [1.0, 1.0, 0.0, 3.0]);
        assert!([cells[2], cells[5], cells[7], cells[9]].iter().all(|cell| cell.is_nan()), "{cells:?}");
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("2 cells have") && notes[0].contains("\"green\" in column colour"), "{notes:?}");
        let error = open(&columns, "t.csv", "x,colour\none,blue\n,red\n").unwrap_err().to_string();
        assert!(error.contains("column x: found \"one\", expected numbers as in the fit"), "{error}");
        let (rows, notes) = open(&columns, "t.csv", "x,colour\none,blue\n1,red\n").unwrap();
        assert!(rows[0][0].is_nan() && notes.len() == 1 && notes[0].contains("1 cell does not"), "{notes:?}");
        assert!(open(&columns, "t.csv", "x,colour\n1,blue\n").unwrap().1.is_empty());
    }

    #[test]
    fn word_counts_must_have_the_vocabulary_of_the_fit() {
        let text = "2\n3\n2\n1 1 1\n2 3 1\n";
        assert_eq!(open(&fitted(None, 3, Selection::default()), "docword.t.txt", text).unwrap().0.len(), 2);
        assert!(open(&fitted(None, 4, Selection::default()), "docword.t.txt", text).is_err());
    }
}
